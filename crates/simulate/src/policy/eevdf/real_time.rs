//! Real-time threads: the most urgent one runs, the others of its priority after it (`kernel/sched/rt.c`).

use super::Eevdf;
use crate::policy::{Requests, World};
use crate::program::Class;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

/// `sched_rr_timeslice_ms`.
const SLICE: i64 = 100_000_000;

/// The ready real-time threads of each CPU, by priority. The first of the most urgent ones runs.
#[derive(Debug)]
pub(super) struct RealTime {
    cpus: Vec<BTreeMap<Reverse<u8>, VecDeque<usize>>>,
    /// For how long the current thread of each CPU has run of its slice.
    used: Vec<i64>,
}

fn priority(world: &World<'_>, thread: usize) -> u8 {
    world.threads[thread].class.real_time().unwrap_or(0)
}

impl RealTime {
    pub(super) fn new(cpus: usize) -> Self {
        Self { cpus: vec![BTreeMap::new(); cpus], used: vec![0; cpus] }
    }

    pub(super) fn ready(&self, cpu: usize) -> usize {
        self.cpus[cpu].values().map(VecDeque::len).sum()
    }

    /// A thread is ready: after the others of its priority.
    pub(super) fn add(&mut self, world: &World<'_>, cpu: usize, thread: usize) {
        self.cpus[cpu].entry(Reverse(priority(world, thread))).or_default().push_back(thread);
    }

    pub(super) fn remove(&mut self, world: &World<'_>, cpu: usize, thread: usize) {
        let priority = Reverse(priority(world, thread));
        if let Some(same) = self.cpus[cpu].get_mut(&priority) {
            same.retain(|other| *other != thread);
            if same.is_empty() {
                self.cpus[cpu].remove(&priority);
            }
        }
        self.used[cpu] = 0;
    }

    /// The current thread has run; whether it makes way for the next of its priority.
    pub(super) fn ran(&mut self, world: &World<'_>, cpu: usize, thread: usize, ns: i64) -> bool {
        self.used[cpu] += ns;
        if !matches!(world.threads[thread].class, Class::RoundRobin(_)) || self.used[cpu] < SLICE {
            return false;
        }
        self.used[cpu] = 0;
        let Some(same) = self.cpus[cpu].get_mut(&Reverse(priority(world, thread))) else { return false };
        if same.front() == Some(&thread) {
            same.rotate_left(1);
        }
        same.len() > 1
    }

    fn first(&self, cpu: usize) -> Option<usize> {
        self.cpus[cpu].values().next().and_then(|same| same.front()).copied()
    }
}

impl Eevdf {
    /// The CPU of a woken real-time thread (`select_task_rq_rt`): where it was, unless a thread as urgent runs there.
    pub(super) fn choose_real_time(&mut self, world: &World<'_>, thread: usize) -> usize {
        let own = priority(world, thread);
        let before = world.place[thread].cpu;
        let of = |cpu: usize| world.current[cpu].map_or(0, |current| 1 + priority(world, current));
        let allowed = || (0..self.cpus).filter(|cpu| world.may_run(thread, *cpu));
        if world.may_run(thread, before) && of(before) <= own {
            return before;
        }
        let least = allowed().min_by_key(|cpu| (of(*cpu), *cpu != before, *cpu));
        match least {
            Some(cpu) if of(cpu) <= own => cpu,
            _ if world.may_run(thread, before) => before,
            least => least.unwrap_or(before),
        }
    }

    /// The most urgent thread of a CPU, or one that waits on another CPU and is more urgent.
    pub(super) fn next_real_time(&mut self, world: &World<'_>, cpu: usize, requests: &mut Requests) -> Option<usize> {
        let first = self.real_time.first(cpu);
        let urgent = first.map_or(0, |thread| priority(world, thread));
        let waiting = (0..self.cpus).filter(|other| *other != cpu).flat_map(|other| {
            let all = self.real_time.cpus[other].values().flatten();
            all.map(move |thread| (other, *thread))
        });
        let other = waiting
            .filter(|(other, thread)| {
                world.current[*other] != Some(*thread)
                    && world.may_run(*thread, cpu)
                    && priority(world, *thread) > urgent
            })
            .min_by_key(|(_, thread)| (Reverse(priority(world, *thread)), *thread));
        let Some((from, thread)) = other else { return first };
        self.real_time.remove(world, from, thread);
        self.real_time.add(world, cpu, thread);
        requests.moved(thread, cpu);
        Some(thread)
    }
}
