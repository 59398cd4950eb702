//! Threads that are moved between CPUs (`kernel/sched/fair.c`: `sched_balance_newidle`, `sched_balance_rq`, `task_hot`, `update_misfit_status`).

use super::Eevdf;
use crate::policy::{Requests, Soon, Why, World};

/// How many threads of a CPU are looked at (`sched_nr_migrate`).
const LOOKED_AT: usize = 32;
/// A busy CPU is balanced this many times less often than an idle one (`busy_factor`).
const BUSY_FACTOR: i64 = 16;
/// After this many failures, threads that ran just before are moved too (`cache_nice_tries`).
const CACHE_NICE_TRIES: u32 = 1;
/// The imbalance that is tolerated (`imbalance_pct`).
const TOLERATED: f64 = 1.17;

impl Eevdf {
    /// Takes a ready thread from another CPU for one that becomes idle; whether there was one.
    pub(super) fn pull(&mut self, world: &World<'_>, cpu: usize, requests: &mut Requests) -> bool {
        let machine = world.machine;
        let mut others: Vec<usize> = (0..self.cpus).filter(|other| *other != cpu && self.ready(*other) > 1).collect();
        others.sort_by_key(|other| {
            let cache = machine.cpus[*other].cache != machine.cpus[cpu].cache;
            (cache, std::cmp::Reverse(self.ready(*other)), *other)
        });
        let found =
            others.into_iter().find_map(|other| Some((other, self.movable(world, other, cpu, false, |_| true)?)));
        let Some((from, thread)) = found else { return false };
        self.move_task(world, thread, from, cpu, requests);
        true
    }

    /// The thread of a CPU that ran longest ago and may be moved. `also_hot`: even if it ran just before.
    fn movable(
        &self,
        world: &World<'_>,
        from: usize,
        to: usize,
        also_hot: bool,
        is_wanted: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let also_hot = also_hot || world.siblings[to].contains(&from);
        let is_hot =
            |thread: usize| !also_hot && world.now - world.place[thread].since < self.settings.migration_cost_ns;
        let mut oldest = self.tasks[from].iter().map(|(_, thread)| *thread).take(LOOKED_AT);
        oldest.find(|thread| {
            world.current[from] != Some(*thread) && world.may_run(*thread, to) && !is_hot(*thread) && is_wanted(*thread)
        })
    }

    fn move_task(&mut self, world: &World<'_>, thread: usize, from: usize, to: usize, requests: &mut Requests) {
        self.remove(world, from, thread);
        requests.moved(thread, to);
        self.add(world, to, thread, Why::Moved);
    }

    /// At a tick of a busy CPU: idle CPUs look for its ready threads, its current thread moves to a faster idle CPU if it does not fit,
    /// and from time to time the CPU takes a thread from one with more load.
    pub(super) fn balance_at_tick(&mut self, world: &World<'_>, cpu: usize, requests: &mut Requests) {
        let idle = |other: &usize| world.current[*other].is_none() && self.ready(*other) == 0;
        if self.ready(cpu) > 1 {
            for other in (0..self.cpus).filter(idle) {
                requests.choose(other, Soon::Now);
            }
        } else if let Some(current) = world.current[cpu].filter(|current| {
            self.settings.by_capacity && self.entities[*current].is_queued && !self.fits(world, *current, cpu)
        }) {
            let speed = world.machine.speed(cpu);
            let faster = (0..self.cpus)
                .filter(idle)
                .filter(|other| world.may_run(current, *other) && world.machine.speed(*other) > speed);
            let fastest =
                faster.max_by(|a, b| world.machine.speed(*a).total_cmp(&world.machine.speed(*b)).then(b.cmp(a)));
            if let Some(to) = fastest {
                requests.push(cpu, to);
            }
        }
        let (next, failed) = self.balance[cpu];
        if world.now < next {
            return;
        }
        let interval = self.cpus as i64 * 1_000_000 * BUSY_FACTOR;
        let load = |cpu: usize| self.load(cpu) / world.machine.speed(cpu);
        let own = load(cpu);
        let busiest = (0..self.cpus).filter(|other| *other != cpu && self.ready(*other) > 1);
        let busiest = busiest.max_by(|a, b| load(*a).total_cmp(&load(*b)).then(b.cmp(a)));
        let mut failures = 0;
        if let Some(from) = busiest.filter(|from| load(*from) > own * TOLERATED) {
            let average = (load(from) + own) / 2.0;
            let imbalance = (load(from) - average).min(average - own) * world.machine.speed(from);
            // After failures, larger threads are moved too.
            let fits = |thread: usize| self.load_of(world, from, thread) / f64::from(1 << failed.min(20)) <= imbalance;
            match self.movable(world, from, cpu, failed > CACHE_NICE_TRIES, fits) {
                Some(thread) => self.move_task(world, thread, from, cpu, requests),
                None => failures = failed + 1,
            }
        }
        self.balance[cpu] = (world.now + interval, failures);
    }
}
