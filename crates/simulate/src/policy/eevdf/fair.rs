//! Fair threads: the queues of groups within one another.
//!
//! A group has a queue on each CPU, and an entity in the queue of its parent there while it has ready threads. The entity's weight is the group's, shared
//! out by the load of its queues (`calc_group_shares` in `kernel/sched/fair.c`).

use super::{Eevdf, kept};
use crate::policy::{Requests, Why, World};
use crate::program::Class;

/// The weights of a group's entity are at least this (`MIN_SHARES`).
const LEAST_WEIGHT: f64 = 2.0;

impl Eevdf {
    /// The queue of a group on a CPU.
    pub(super) fn queue_of(&self, group: usize, cpu: usize) -> usize {
        group * self.cpus + cpu
    }

    /// The entity of a group on a CPU.
    pub(super) fn entity_of(&self, group: usize, cpu: usize) -> usize {
        self.threads.len() + self.queue_of(group, cpu)
    }

    /// The groups from a thread's own to the root, with the entity in the queue of each.
    pub(super) fn path(&self, group: usize, cpu: usize, thread: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let mut path = vec![(group, thread)];
        let mut at = group;
        while let Some(parent) = self.groups[at].parent {
            path.push((parent, self.entity_of(at, cpu)));
            at = parent;
        }
        path.into_iter()
    }

    /// Puts a thread into the queues of a CPU.
    pub(super) fn add(&mut self, world: &World<'_>, cpu: usize, thread: usize, why: Why) {
        let of = &world.threads[thread];
        let placing = self.placing();
        if self.entities[thread].is_delayed {
            // DELAY_ZERO: it keeps no lag that it would have gained while it waited.
            let queue = self.queue_of(of.group, cpu);
            self.queues[queue].remove(&mut self.entities, thread, placing);
            self.entities[thread].lag = self.entities[thread].lag.min(0);
            self.queues[queue].place(&mut self.entities, thread, false, false, placing);
            self.count_task(world, cpu, thread, true);
            return self.weigh(world, of.group, cpu);
        }
        self.threads[thread].cpu = cpu;
        for (group, entity) in self.path(of.group, cpu, thread) {
            if self.entities[entity].is_queued {
                break;
            }
            let keeps = why == Why::Moved && entity == thread && self.settings.features.place_rel_deadline;
            let queue = self.queue_of(group, cpu);
            self.queues[queue].place(&mut self.entities, entity, why == Why::New && entity == thread, keeps, placing);
            if self.is_throttled(group, cpu) {
                break;
            }
        }
        self.count_task(world, cpu, thread, true);
        self.weigh(world, of.group, cpu);
    }

    /// Takes a thread out of the queues of its CPU, and the groups that have no other.
    pub(super) fn remove(&mut self, world: &World<'_>, cpu: usize, thread: usize) {
        if !self.entities[thread].is_delayed {
            self.count_task(world, cpu, thread, false);
        }
        let group = world.threads[thread].group;
        let placing = self.placing();
        for (group, entity) in self.path(group, cpu, thread) {
            if !self.entities[entity].is_queued {
                break;
            }
            let queue = self.queue_of(group, cpu);
            self.queues[queue].remove(&mut self.entities, entity, placing);
            if self.queues[queue].count > 0 {
                break;
            }
        }
        self.weigh(world, group, cpu);
    }

    /// Whether a thread that waits stays in its queue: it has had more than the others.
    pub(super) fn is_to_delay(&self, thread: usize, world: &World<'_>, cpu: usize) -> bool {
        let queue = self.queue_of(world.threads[thread].group, cpu);
        self.settings.features.delay_dequeue
            && self.queues[queue].count > 1
            && !self.queues[queue].is_eligible(&self.entities[thread])
    }

    pub(super) fn delay(&mut self, world: &World<'_>, cpu: usize, thread: usize) {
        self.entities[thread].is_delayed = true;
        self.count_task(world, cpu, thread, false);
    }

    /// A thread is one of the ready ones of a CPU, or no longer.
    pub(super) fn count_task(&mut self, world: &World<'_>, cpu: usize, thread: usize, is_ready: bool) {
        let task = (self.threads[thread].ran, thread);
        let is_idle = usize::from(world.threads[thread].class == Class::Idle);
        if !is_ready {
            if self.tasks[cpu].remove(&task) {
                self.idle_tasks[cpu] -= is_idle;
            }
        } else if !self.is_held(world.threads[thread].group, cpu) && self.tasks[cpu].insert(task) {
            self.idle_tasks[cpu] += is_idle;
        }
    }

    /// Sets the weights of a group's entity and those of the groups above it on a CPU, by the load of its queue there.
    pub(super) fn weigh(&mut self, world: &World<'_>, group: usize, cpu: usize) {
        let mut at = group;
        while let Some(parent) = self.groups[at].parent {
            let queue = self.queue_of(at, cpu);
            let load = self.queues[queue].weight as f64;
            let (before, since) = self.loads[queue];
            let kept = kept(world.now - since);
            let average = before * kept + load * (1.0 - kept);
            self.loads[queue] = (average, world.now);
            self.group_loads[at] += average - before;
            if load > 0.0 {
                let here = load.max(average);
                let all = (self.group_loads[at] - average + here).max(here);
                let whole = f64::from(self.groups[at].weight);
                let weight = (whole * here / all).clamp(LEAST_WEIGHT, whole.max(LEAST_WEIGHT));
                let parents = self.queue_of(parent, cpu);
                let entity = self.entity_of(at, cpu);
                self.queues[parents].reweigh(&mut self.entities, entity, weight as i64);
            }
            at = parent;
        }
    }

    /// A fair thread has run.
    pub(super) fn ran_fair(&mut self, world: &World<'_>, cpu: usize, thread: usize, ns: i64, requests: &mut Requests) {
        let group = world.threads[thread].group;
        for (group, entity) in self.path(group, cpu, thread) {
            let queue = self.queue_of(group, cpu);
            if self.queues[queue].current != Some(entity) {
                break;
            }
            let has_used_slice = self.queues[queue].ran(&mut self.entities, ns);
            let others = self.queues[queue].count > 1;
            if others && (has_used_slice || !self.queues[queue].is_protected(&self.entities)) {
                self.entities[entity].protected = i64::MIN;
                requests.choose(cpu, self.soon());
            }
            self.use_quota(world, group, cpu, ns, requests);
        }
        self.weigh(world, group, cpu);
    }

    /// Whether a fair thread that has just become ready takes the place of the current one (`check_preempt_wakeup_fair`).
    pub(super) fn preempts_fair(&mut self, world: &World<'_>, thread: usize, current: usize) -> bool {
        let (of, of_current) = (&world.threads[thread], &world.threads[current]);
        if !self.settings.features.wakeup_preemption || self.entities[thread].is_delayed {
            return false;
        }
        match (of.class, of_current.class) {
            (Class::Idle, Class::Idle) => {}
            (Class::Idle | Class::Batch, _) => return false,
            (_, Class::Idle) => return true,
            _ => {}
        }
        let cpu = self.threads[thread].cpu;
        let currents: Vec<_> = self.path(of_current.group, cpu, current).collect();
        // The first queue in which both are.
        let both = self.path(of.group, cpu, thread).find_map(|(group, entity)| {
            currents.iter().find(|(other, _)| *other == group).map(|(_, current)| (group, entity, *current))
        });
        let Some((group, entity, current)) = both else { return false };
        let queue = self.queue_of(group, cpu);
        if entity == current || self.queues[queue].current != Some(current) || !self.entities[entity].is_queued {
            return false;
        }
        if self.settings.features.preempt_short && self.entities[entity].slice < self.entities[current].slice
            || !self.settings.features.run_to_parity
        {
            self.entities[current].protected = i64::MIN;
        }
        self.queues[queue].pick(&self.entities) == Some(entity)
    }

    /// No fair thread is the current one of a CPU from now on.
    pub(super) fn put_back(&mut self, cpu: usize) {
        for (queue, entity) in std::mem::take(&mut self.paths[cpu]) {
            if self.queues[queue].current == Some(entity) {
                self.queues[queue].put_back(&self.entities);
            }
        }
    }

    /// Chooses the next fair thread.
    pub(super) fn next_fair(&mut self, world: &World<'_>, cpu: usize) -> Option<usize> {
        let (thread, path) = loop {
            let (thread, path) = self.pick(cpu)?;
            if !self.entities[thread].is_delayed {
                break (thread, path);
            }
            self.remove(world, cpu, thread);
            // DELAY_ZERO, as when it is woken.
            self.entities[thread].lag = self.entities[thread].lag.min(0);
        };
        for (queue, entity) in std::mem::take(&mut self.paths[cpu]) {
            if self.queues[queue].current == Some(entity) && !path.contains(&(queue, entity)) {
                self.queues[queue].put_back(&self.entities);
            }
        }
        for (queue, entity) in &path {
            if self.queues[*queue].current != Some(*entity) {
                self.queues[*queue].set_current(&mut self.entities, *entity);
            }
        }
        self.paths[cpu] = path;
        let task = (self.threads[thread].ran, thread);
        if self.tasks[cpu].remove(&task) {
            self.ranks += 1;
            self.threads[thread].ran = self.ranks;
            self.tasks[cpu].insert((self.ranks, thread));
        }
        Some(thread)
    }

    /// Picks an entity of the root queue and of each one below, down to a thread.
    fn pick(&self, cpu: usize) -> Option<(usize, Vec<(usize, usize)>)> {
        let (mut path, mut group) = (Vec::new(), 0);
        loop {
            let queue = self.queue_of(group, cpu);
            let entity = self.queues[queue].pick(&self.entities)?;
            path.push((queue, entity));
            match entity.checked_sub(self.threads.len()) {
                None => return Some((entity, path)),
                Some(of) => group = of / self.cpus,
            }
        }
    }

    /// The load of a thread in that of its CPU (`task_h_load`).
    pub(super) fn load_of(&self, world: &World<'_>, cpu: usize, thread: usize) -> f64 {
        let mut load = 1.0;
        for (group, entity) in self.path(world.threads[thread].group, cpu, thread) {
            let all = self.queues[self.queue_of(group, cpu)].weight.max(1) as f64;
            load *= self.entities[entity].weight as f64 / if group == 0 { 1.0 } else { all };
        }
        load
    }

    /// The load of a CPU: the weights in its root queue.
    pub(super) fn load(&self, cpu: usize) -> f64 {
        self.queues[self.queue_of(0, cpu)].weight as f64
    }
}
