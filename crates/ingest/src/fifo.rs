//! Events of one CPU that wait for their turn.

use crate::BATCH;
use model::Event;
use std::collections::VecDeque;

/// Events in the order in which they came, in blocks: a batch of one CPU waits in the memory it was read into, and what has left
/// makes room for what is read next, while caches still hold it.
#[derive(Default)]
pub(crate) struct Fifo {
    /// None is empty.
    blocks: VecDeque<Vec<Event>>,
    /// So many of the first block have left.
    left: usize,
}

/// Room for so many at least: a page. A hostile source tells one event each of thousands of CPUs.
const LEAST: usize = 64;

/// Memory to be filled again.
#[derive(Default)]
pub(crate) struct Spares {
    /// Blocks that all have left.
    blocks: Vec<Vec<Event>>,
    /// Where events are sorted.
    sorted: Vec<Event>,
}

impl Spares {
    /// One with room for so many, or any that was used before.
    fn take(&mut self, room: usize) -> Vec<Event> {
        self.blocks.pop().unwrap_or_else(|| Vec::with_capacity(room))
    }

    fn keep(&mut self, mut block: Vec<Event>) {
        block.clear();
        self.blocks.push(block);
    }
}

impl Fifo {
    /// The first ones, as far as they lie together; none where none waits.
    pub(crate) fn waiting(&self) -> &[Event] {
        self.blocks.front().and_then(|block| block.get(self.left..)).unwrap_or_default()
    }

    pub(crate) fn last(&self) -> Option<&Event> {
        self.blocks.back().and_then(|block| block.last())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub(crate) fn extend(&mut self, mut run: &[Event], spares: &mut Spares) {
        while !run.is_empty() {
            // Growing would move what waits.
            let room = self.blocks.back().map_or(0, |block| block.capacity() - block.len());
            let (now, later) = run.split_at(room.min(run.len()));
            match self.blocks.back_mut().filter(|_| room > 0) {
                Some(block) => block.extend_from_slice(now),
                None => self.blocks.push_back(spares.take(run.len().max(LEAST))),
            }
            run = later;
        }
    }

    /// As [`Self::extend`], of a whole batch, which is left empty. Where it fills its memory well, that is taken as it is.
    pub(crate) fn extend_with(&mut self, batch: &mut Vec<Event>, spares: &mut Spares) {
        if batch.len() * 2 > batch.capacity() {
            self.blocks.push_back(std::mem::replace(batch, spares.take(BATCH)));
        } else {
            self.extend(batch, spares);
            batch.clear();
        }
    }

    /// So many of those that lie together at the front leave.
    pub(crate) fn leave(&mut self, count: usize, spares: &mut Spares) {
        self.left += count;
        if self.blocks.front().is_some_and(|block| block.len() <= self.left) {
            self.left = 0;
            self.blocks.pop_front().into_iter().for_each(|block| spares.keep(block));
        }
    }

    /// Sorts by time; those of one instant stay in their order. A source without order has this done again and again: the blocks
    /// stay as they are, and what they hold is sorted apart, in memory that is kept.
    pub(crate) fn sort(&mut self, spares: &mut Spares) {
        let mut sorted = std::mem::take(&mut spares.sorted);
        for block in self.blocks.drain(..) {
            sorted.extend_from_slice(block.get(std::mem::take(&mut self.left)..).unwrap_or_default());
            spares.keep(block);
        }
        sorted.sort_by_key(|e| e.at);
        self.extend(&sorted, spares);
        sorted.clear();
        spares.sorted = sorted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{CpuId, Ns, Tid, What};

    fn event(at: i64) -> Event {
        Event { at: Ns(at), offset: 0, cpu: CpuId(0), current: Tid::UNKNOWN, what: What::Sample }
    }

    fn all(fifo: &mut Fifo, spares: &mut Spares) -> Vec<i64> {
        let mut times = Vec::new();
        while !fifo.is_empty() {
            times.extend(fifo.waiting().iter().map(|e| e.at.0));
            fifo.leave(fifo.waiting().len(), spares);
        }
        times
    }

    #[test]
    fn first_in_is_first_out_and_those_that_left_make_room() {
        let (mut fifo, mut spares) = (Fifo::default(), Spares::default());
        let (mut next, mut left) = (0, 0);
        let mut more = |count: i64| (0..count).map(|_| (next, next += 1).0).map(event).collect::<Vec<_>>();
        for round in 0..2000 {
            // Long ones, short ones, and batches that use half of their memory or less.
            fifo.extend(&more(round % 7), &mut spares);
            let mut batch = more(round * 31 % 3000 + 1);
            batch.reserve_exact(round as usize % 2 * 4000);
            let count = batch.len();
            fifo.extend_with(&mut batch, &mut spares);
            assert!(batch.is_empty() && fifo.last().is_some_and(|e| e.at.0 >= left + count as i64 - 1));
            for _ in 0..3 {
                let run = fifo.waiting();
                let leave = run.len().min(round as usize * 1009 % 2100);
                assert!(run.iter().take(leave).map(|e| e.at.0).eq(left..left + leave as i64));
                left += leave as i64;
                fifo.leave(leave, &mut spares);
            }
            if round % 500 == 499 {
                let rest = all(&mut fifo, &mut spares);
                left += rest.len() as i64;
                assert!(rest.last().is_none_or(|last| last + 1 == left) && rest.is_sorted());
            }
        }
        // No more memory than the most that waited at once, of which some batches use half of theirs.
        assert!(spares.blocks.len() < 1000, "{}", spares.blocks.len());
    }

    #[test]
    fn sorted_stays_in_order_within_an_instant() {
        let (mut fifo, mut spares) = (Fifo::default(), Spares::default());
        let told = |at, offset| Event { offset, ..event(at) };
        fifo.extend_with(&mut vec![told(5, 0), told(9, 1)], &mut spares);
        fifo.leave(1, &mut spares);
        fifo.extend_with(&mut vec![told(9, 2), told(3, 3)], &mut spares);
        fifo.extend(&[told(9, 4), told(1, 5)], &mut spares);
        fifo.sort(&mut spares);
        assert_eq!(fifo.waiting().iter().map(|e| e.offset).collect::<Vec<_>>(), [5, 3, 1, 2, 4]);
        assert_eq!(all(&mut fifo, &mut spares), [1, 3, 9, 9, 9]);
        fifo.sort(&mut spares);
        assert!(fifo.is_empty() && fifo.waiting().is_empty() && fifo.last().is_none());
    }

    #[test]
    fn sorted_again_and_again_takes_no_more_memory() {
        let (mut fifo, mut spares) = (Fifo::default(), Spares::default());
        for at in 0..3000 {
            fifo.extend(&[event(at), event(at - 5)], &mut spares);
            fifo.sort(&mut spares);
        }
        let held: usize = spares.blocks.iter().chain(&fifo.blocks).chain([&spares.sorted]).map(Vec::capacity).sum();
        assert!(held < 4 * 6000, "{held} for 6000");
        assert_eq!(all(&mut fifo, &mut spares).len(), 6000);
    }
}
