//! The queue of a CPU and a group, by virtual time.
//!
//! An entity is a thread or a group. Its virtual run time grows by the time for which it ran, divided by its weight. An entity that has had less
//! than the weighted average of its queue is eligible; of these, the one with the earliest virtual deadline runs (I. Stoica, H. Abdel-Wahab,
//! "Earliest Eligible Virtual Deadline First", 1995; `kernel/sched/fair.c`: `avg_vruntime`, `entity_eligible`, `pick_eevdf`,
//! `place_entity`, `update_entity_lag`, Linux 6.12 to 6.18).

use std::collections::BTreeSet;

/// The weight of nice 0 and of a group by default (`NICE_0_LOAD`).
pub(super) const NICE_0: i64 = 1024;

/// What a queue knows of a thread or a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entity {
    pub(super) weight: i64,
    /// Virtual run time, ns at the weight of nice 0.
    pub(super) ran: i64,
    /// Its virtual deadline.
    pub(super) deadline: i64,
    /// Its time slice, ns.
    pub(super) slice: i64,
    /// While it is in no queue: by how much it had run less than the average, in virtual time.
    pub(super) lag: i64,
    pub(super) is_queued: bool,
    /// It waits, but stays in the queue until it has used up what it had run too much (`DELAY_DEQUEUE`).
    pub(super) is_delayed: bool,
    /// The virtual run time up to which no other entity takes its place, unless that has a shorter slice (`RUN_TO_PARITY`).
    pub(super) protected: i64,
}

impl Entity {
    pub(super) fn new(weight: i64, slice: i64) -> Self {
        Self { weight, ran: 0, deadline: 0, slice, lag: 0, is_queued: false, is_delayed: false, protected: i64::MIN }
    }

    /// A time as virtual time of this entity.
    pub(super) fn virtual_of(&self, ns: i64) -> i64 {
        (i128::from(ns) * i128::from(NICE_0) / i128::from(self.weight.max(1))) as i64
    }
}

/// Which features are used for a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placing {
    /// `PLACE_LAG`: an entity that comes back has the lag with which it left.
    pub(super) keeps_lag: bool,
    /// `PLACE_DEADLINE_INITIAL`: a new one has half a slice at first.
    pub(super) halves_first: bool,
    /// A lag is at most this and two slices, ns.
    pub(super) tick_ns: i64,
}

/// Entities that are ready on one CPU in one group.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// All but the current one, by deadline.
    waiting: BTreeSet<(i64, usize)>,
    /// The one that runs, or that has the one that runs.
    pub(super) current: Option<usize>,
    /// The sum of weight × virtual run time of all.
    sum: i128,
    /// The sum of the weights of all.
    pub(super) weight: i64,
    /// How many there are.
    pub(super) count: usize,
}

impl Queue {
    /// The weighted average of the virtual run times.
    pub(super) fn average(&self) -> i64 {
        if self.weight > 0 { (self.sum.div_euclid(i128::from(self.weight))) as i64 } else { 0 }
    }

    /// Whether an entity has had no more than the average.
    pub(super) fn is_eligible(&self, entity: &Entity) -> bool {
        self.sum >= i128::from(entity.ran) * i128::from(self.weight)
    }

    /// Puts an entity in, which has its place already.
    fn insert(&mut self, all: &mut [Entity], id: usize) {
        let entity = &mut all[id];
        entity.is_queued = true;
        self.waiting.insert((entity.deadline, id));
        self.sum += i128::from(entity.ran) * i128::from(entity.weight);
        self.weight += entity.weight;
        self.count += 1;
    }

    /// Takes an entity out, which keeps its lag.
    pub(super) fn remove(&mut self, all: &mut [Entity], id: usize, placing: Placing) {
        self.keep_lag(all, id, placing);
        let entity = &mut all[id];
        if self.current == Some(id) {
            self.current = None;
        } else {
            self.waiting.remove(&(entity.deadline, id));
        }
        self.sum -= i128::from(entity.ran) * i128::from(entity.weight);
        self.weight -= entity.weight;
        self.count -= 1;
        entity.is_queued = false;
        entity.is_delayed = false;
        // Relative to its virtual run time while it is in no queue.
        entity.deadline -= entity.ran;
    }

    fn keep_lag(&self, all: &mut [Entity], id: usize, placing: Placing) {
        let entity = &mut all[id];
        let limit = entity.virtual_of((2 * entity.slice).max(placing.tick_ns));
        entity.lag = (self.average() - entity.ran).clamp(-limit, limit);
    }

    /// Puts an entity in that was in no queue, or in another one: at the average, less the lag that it keeps. `keeps_deadline`: it was taken from another CPU in the
    /// middle of its slice.
    pub(super) fn place(
        &mut self,
        all: &mut [Entity],
        id: usize,
        is_new: bool,
        keeps_deadline: bool,
        placing: Placing,
    ) {
        let average = self.average();
        let entity = &mut all[id];
        let mut lag = 0;
        if placing.keeps_lag && self.count > 0 {
            // Its coming moves the average: with this, its lag to the new one is what it was.
            let load = self.weight.max(1);
            lag = (i128::from(entity.lag) * i128::from(load + entity.weight) / i128::from(load)) as i64;
        }
        entity.ran = average - lag;
        if keeps_deadline {
            entity.deadline += entity.ran;
        } else {
            let slice = entity.virtual_of(entity.slice);
            entity.deadline = entity.ran + if is_new && placing.halves_first { slice / 2 } else { slice };
        }
        self.insert(all, id);
    }

    /// Changes the weight of an entity, which keeps its lag in time.
    pub(super) fn reweigh(&mut self, all: &mut [Entity], id: usize, weight: i64) {
        let old = all[id].weight;
        if old == weight {
            return;
        }
        if !all[id].is_queued {
            let entity = &mut all[id];
            entity.lag = scaled(entity.lag, old, weight);
            entity.weight = weight;
            return;
        }
        let average = self.average();
        let is_current = self.current == Some(id);
        let entity = &mut all[id];
        if !is_current {
            self.waiting.remove(&(entity.deadline, id));
        }
        self.sum -= i128::from(entity.ran) * i128::from(old);
        self.weight += weight - old;
        let [lag, deadline, protected] =
            [average - entity.ran, entity.deadline - entity.ran, entity.protected.saturating_sub(entity.ran)];
        entity.weight = weight;
        entity.ran = average - scaled(lag, old, weight);
        entity.deadline = entity.ran + scaled(deadline, old, weight);
        if protected > 0 {
            entity.protected = entity.ran + scaled(protected, old, weight);
        }
        self.sum += i128::from(entity.ran) * i128::from(weight);
        if !is_current {
            self.waiting.insert((entity.deadline, id));
        }
    }

    /// The current entity has run. Returns whether it has used its slice.
    pub(super) fn ran(&mut self, all: &mut [Entity], ns: i64) -> bool {
        let Some(id) = self.current else { return false };
        let entity = &mut all[id];
        let more = entity.virtual_of(ns);
        entity.ran += more;
        self.sum += i128::from(more) * i128::from(entity.weight);
        if entity.ran < entity.deadline {
            return false;
        }
        entity.deadline = entity.ran + entity.virtual_of(entity.slice);
        true
    }

    /// Whether the current entity may go on although others are eligible.
    pub(super) fn is_protected(&self, all: &[Entity]) -> bool {
        self.current.is_some_and(|id| all[id].protected > all[id].ran)
    }

    /// The current entity is one of those that wait from now on.
    pub(super) fn put_back(&mut self, all: &[Entity]) {
        if let Some(id) = self.current.take() {
            self.waiting.insert((all[id].deadline, id));
        }
    }

    /// An entity runs from now on.
    pub(super) fn set_current(&mut self, all: &mut [Entity], id: usize) {
        let entity = &mut all[id];
        self.waiting.remove(&(entity.deadline, id));
        entity.protected = entity.deadline;
        self.current = Some(id);
    }

    /// Returns which entity should run.
    pub(super) fn pick(&self, all: &[Entity]) -> Option<usize> {
        let current = self.current.filter(|id| self.is_eligible(&all[*id]));
        if self.waiting.is_empty() {
            return self.current;
        }
        if current.is_some() && self.is_protected(all) {
            return current;
        }
        let first = self.waiting.iter().find(|(_, id)| self.is_eligible(&all[*id])).map(|(_, id)| *id);
        match (current, first) {
            (Some(current), Some(first)) if all[current].deadline <= all[first].deadline => Some(current),
            // Rounding may leave none: the one that has had the least.
            (_, first) => first.or(current).or_else(|| {
                let ids = self.waiting.iter().map(|(_, id)| *id).chain(self.current);
                ids.min_by_key(|id| (all[*id].ran, *id))
            }),
        }
    }
}

fn scaled(value: i64, old: i64, new: i64) -> i64 {
    (i128::from(value) * i128::from(old) / i128::from(new.max(1))) as i64
}
