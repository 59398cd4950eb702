//! Threads that wait for each other's locks until the end.

use crate::World;
use crate::waited_for::{EachWait, OfWaits, Wait};
use model::{Coded, Rows, ThreadKey, WaitKind};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) type Deadlocks = EachWait<Table>;

/// The last wait of each thread, if it is for a lock that was not given back, and the memory names its holder.
#[derive(Default)]
pub(crate) struct Table(BTreeMap<ThreadKey, Wait>);

impl Table {
    /// Returns the threads of the cycle to which a chain of holders leads, from the one with the lowest key on.
    fn cycle(&self, from: ThreadKey) -> Option<Vec<ThreadKey>> {
        let next = |thread: ThreadKey| self.0.get(&thread)?.named;
        let mut seen = vec![from];
        loop {
            let thread = next(*seen.last()?)?;
            if let Some(at) = seen.iter().position(|known| *known == thread) {
                let mut cycle = seen.split_off(at);
                let lowest = cycle.iter().enumerate().min_by_key(|(_, key)| **key)?.0;
                cycle.rotate_left(lowest);
                return Some(cycle);
            }
            seen.push(thread);
        }
    }
}

impl OfWaits for Table {
    fn wait(&mut self, wait: &Wait, _: &World) {
        let is_of_lock = wait.named.is_some() && wait.object.is_some_and(|(_, kind)| kind.is_lock());
        // Any wake of the word shows that the holder gave it back. A wait that ends otherwise, and is the last one, ends with the program: it is
        // killed or exits.
        if is_of_lock && wait.holders == 0 && (!wait.is_over || wait.released_by.is_none()) {
            self.0.insert(wait.thread, *wait);
        } else {
            self.0.remove(&wait.thread);
        }
    }

    fn finish(&mut self, _: &World, out: &mut dyn Rows) {
        let cycles: BTreeSet<Vec<ThreadKey>> = self.0.keys().filter_map(|thread| self.cycle(*thread)).collect();
        for (number, cycle) in (1_i64..).zip(cycles) {
            for wait in cycle.iter().filter_map(|thread| self.0.get(thread)) {
                let (Some((object, kind)), Some(holder)) = (wait.object, wait.named) else { continue };
                out.row(&[
                    number.into(),
                    wait.thread.into(),
                    i64::from(wait.tid.0).into(),
                    wait.span.start.into(),
                    wait.span.len().into(),
                    object.process(),
                    object.text().into(),
                    WaitKind::word(kind).into(),
                    holder.into(),
                ]);
            }
        }
    }
}
