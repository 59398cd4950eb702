//! The CPU of a woken fair thread (`kernel/sched/fair.c`: `select_task_rq_fair`, `wake_affine`, `select_idle_sibling`,
//! `sched_balance_find_dst_cpu`).

use super::Eevdf;
use crate::policy::World;

impl Eevdf {
    /// Whether a CPU has nothing to do, or only `SCHED_IDLE` threads.
    fn is_free(&self, world: &World<'_>, cpu: usize) -> bool {
        match self.ready(cpu) {
            0 => world.current[cpu]
                .is_none_or(|current| self.entities[current].is_delayed || !self.entities[current].is_queued),
            ready => ready == self.idle_tasks[cpu],
        }
    }

    /// Whether a thread fits on a CPU with a margin of 20 % (`fits_capacity`).
    pub(super) fn fits(&self, world: &World<'_>, thread: usize, cpu: usize) -> bool {
        self.threads[thread].util * 1.25 < world.machine.speed(cpu)
    }

    /// Chooses a CPU.
    pub(super) fn choose_fair(&mut self, world: &World<'_>, thread: usize, waker: Option<usize>) -> usize {
        let allowed: Vec<usize> = (0..self.cpus).filter(|cpu| world.may_run(thread, *cpu)).collect();
        let before = world.place[thread].cpu;
        let Some(first) = allowed.first().copied() else { return before };
        if allowed.len() == 1 {
            return first;
        }
        let before = if world.may_run(thread, before) { before } else { first };
        if self.threads[thread].ran == 0 {
            return self.least_loaded(world, &allowed, before);
        }
        let target = match waker {
            Some(waker) if waker != before && world.may_run(thread, waker) => self.nearer(world, thread, waker, before),
            _ => before,
        };
        self.idle_near(world, thread, target, before)
    }

    /// For a new thread: a CPU with nothing to do, at best on an idle core, the fastest first; otherwise that with the least load.
    fn least_loaded(&self, world: &World<'_>, allowed: &[usize], before: usize) -> usize {
        let rank = |cpu: &usize| {
            let load =
                if self.is_free(world, *cpu) { 0 } else { 1 + (self.load(*cpu) / world.machine.speed(*cpu)) as i64 };
            let speed = -(world.machine.speed(*cpu) * 1e6) as i64;
            (load, !world.core_is_idle(*cpu), speed, *cpu != before, *cpu)
        };
        allowed.iter().copied().min_by_key(rank).unwrap_or(before)
    }

    /// Whether the CPU that wakes a thread or that on which it ran is nearer to an idle one (`wake_affine`).
    fn nearer(&self, world: &World<'_>, thread: usize, waker: usize, before: usize) -> usize {
        let share_cache = world.machine.cpus[waker].cache == world.machine.cpus[before].cache;
        if self.is_free(world, before) {
            return before;
        }
        if share_cache && self.is_free(world, waker) {
            return waker;
        }
        let own = self.entities[thread].weight as f64;
        let here = (self.load(waker) + own) * 100.0 / world.machine.speed(waker);
        // Half of the imbalance of 17 % that is tolerated.
        let there = self.load(before) * 108.0 / world.machine.speed(before);
        if here < there { waker } else { before }
    }

    /// An idle CPU that shares a cache with the target, or the target (`select_idle_sibling`).
    fn idle_near(&self, world: &World<'_>, thread: usize, target: usize, before: usize) -> usize {
        let by_capacity = self.settings.by_capacity;
        let fits = |cpu: usize| !by_capacity || self.fits(world, thread, cpu);
        let is_good = |cpu: usize| self.is_free(world, cpu) && fits(cpu);
        let cache = world.machine.cpus[target].cache;
        for cpu in [target, before] {
            if world.machine.cpus[cpu].cache == cache && is_good(cpu) {
                return cpu;
            }
        }
        // From the one after the target, around.
        let others = (1..=self.cpus).map(|n| (target + n) % self.cpus);
        let free: Vec<usize> = others
            .filter(|cpu| {
                (by_capacity || world.machine.cpus[*cpu].cache == cache)
                    && world.may_run(thread, *cpu)
                    && self.is_free(world, *cpu)
            })
            .collect();
        if by_capacity {
            let fitting = free.iter().copied().find(|cpu| fits(*cpu));
            let largest =
                || free.iter().copied().max_by(|a, b| world.machine.speed(*a).total_cmp(&world.machine.speed(*b)));
            return fitting.or_else(largest).unwrap_or(target);
        }
        let idle_core = free.iter().copied().find(|cpu| world.core_is_idle(*cpu));
        idle_core.or(free.first().copied()).unwrap_or(target)
    }
}
