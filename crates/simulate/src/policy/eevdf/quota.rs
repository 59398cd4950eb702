//! Quotas: a group's threads may run for a limited time in each period (`kernel/sched/fair.c`: `account_cfs_rq_runtime`, `throttle_cfs_rq`,
//! `distribute_cfs_runtime`).

use super::Eevdf;
use crate::policy::{Requests, Soon, World};

/// `sched_cfs_bandwidth_slice_us`: how much of a group's time a CPU takes each time.
const SLICE: i64 = 5_000_000;

/// The quota of a group.
#[derive(Debug)]
pub(super) struct Quota {
    quota: i64,
    period: i64,
    /// What no CPU has taken yet.
    left: i64,
    /// Of each CPU: what it has taken and not used, and whether its threads are held until the next period.
    taken: Vec<(i64, bool)>,
}

impl Quota {
    pub(super) fn new((quota, period): (i64, i64), cpus: usize) -> Self {
        Self { quota, period, left: quota, taken: vec![(0, false); cpus] }
    }

    /// Takes more on a CPU that has used what it had; whether it can go on.
    fn refill(&mut self, cpu: usize) -> bool {
        let (taken, _) = &mut self.taken[cpu];
        if *taken <= 0 {
            let more = (SLICE - *taken).min(self.left);
            self.left -= more;
            *taken += more;
        }
        *taken > 0
    }
}

impl Eevdf {
    /// Whether a group's threads on a CPU are held, after it has tried to take more time.
    pub(super) fn is_throttled(&mut self, group: usize, cpu: usize) -> bool {
        let Some(quota) = &mut self.quotas[group] else { return false };
        if !quota.taken[cpu].1 {
            let goes_on = quota.refill(cpu);
            quota.taken[cpu].1 = !goes_on;
        }
        quota.taken[cpu].1
    }

    /// Whether a group, or one that it is in, is held on a CPU.
    pub(super) fn is_held(&self, group: usize, cpu: usize) -> bool {
        let mut at = Some(group);
        while let Some(group) = at {
            if self.quotas[group].as_ref().is_some_and(|quota| quota.taken[cpu].1) {
                return true;
            }
            at = self.groups[group].parent;
        }
        false
    }

    /// A group's thread has run on a CPU.
    pub(super) fn use_quota(&mut self, world: &World<'_>, group: usize, cpu: usize, ns: i64, requests: &mut Requests) {
        let Some(quota) = &mut self.quotas[group] else { return };
        quota.taken[cpu].0 -= ns;
        if quota.taken[cpu].1 || !self.is_throttled(group, cpu) {
            return;
        }
        let placing = self.placing();
        let mut entity = self.entity_of(group, cpu);
        let mut at = self.groups[group].parent;
        // Its entity leaves, and those of the groups above it that have no other.
        while let Some(parent) = at {
            let queue = self.queue_of(parent, cpu);
            if !self.entities[entity].is_queued {
                break;
            }
            self.queues[queue].remove(&mut self.entities, entity, placing);
            if self.queues[queue].count > 0 {
                break;
            }
            entity = self.entity_of(parent, cpu);
            at = self.groups[parent].parent;
        }
        for (_, thread) in self.tasks[cpu].clone() {
            if self.is_held(world.threads[thread].group, cpu) {
                self.count_task(world, cpu, thread, false);
            }
        }
        requests.choose(cpu, Soon::Now);
    }

    /// A new period of a group begins: it gets its quota, and its threads go on.
    pub(super) fn begin_period(&mut self, world: &World<'_>, group: usize, requests: &mut Requests) {
        let Some(quota) = &mut self.quotas[group] else { return };
        requests.timer(world.now + quota.period, group);
        quota.left = quota.quota;
        let mut freed = Vec::new();
        for cpu in 0..quota.taken.len() {
            if quota.taken[cpu].1 {
                // As little as it needs, so that all have something.
                let more = (1 - quota.taken[cpu].0).min(quota.left);
                quota.left -= more;
                quota.taken[cpu].0 += more;
                if quota.taken[cpu].0 > 0 {
                    quota.taken[cpu].1 = false;
                    freed.push(cpu);
                }
            }
        }
        for cpu in freed {
            self.let_go(world, group, cpu);
            requests.choose(cpu, Soon::Now);
        }
    }

    /// The threads of a group on a CPU are no longer held.
    fn let_go(&mut self, world: &World<'_>, group: usize, cpu: usize) {
        let placing = self.placing();
        if self.queues[self.queue_of(group, cpu)].count > 0 {
            let mut entity = self.entity_of(group, cpu);
            let mut at = self.groups[group].parent;
            while let Some(parent) = at {
                if self.entities[entity].is_queued {
                    break;
                }
                let queue = self.queue_of(parent, cpu);
                self.queues[queue].place(&mut self.entities, entity, false, false, placing);
                if self.is_throttled(parent, cpu) {
                    break;
                }
                entity = self.entity_of(parent, cpu);
                at = self.groups[parent].parent;
            }
        }
        for thread in 0..self.threads.len() {
            let of = &self.entities[thread];
            if of.is_queued && !of.is_delayed && self.threads[thread].cpu == cpu {
                self.count_task(world, cpu, thread, true);
            }
        }
        self.weigh(world, group, cpu);
    }
}
