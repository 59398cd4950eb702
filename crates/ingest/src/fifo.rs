//! A queue of the events of one CPU.

use crate::BATCH;
use model::Event;
use std::collections::VecDeque;

/// Events in the order in which they were added, in blocks. A batch of one CPU stays in the memory into which it was read, and memory
/// of events that left is reused while it is still in the caches.
#[derive(Default)]
pub(crate) struct Fifo {
    /// The blocks, none of them empty.
    blocks: VecDeque<Vec<Event>>,
    /// The number of events of the first block that have left.
    left: usize,
}

/// The minimum size of a block: a page. Limits the memory for a malicious source with one event on each of thousands of CPUs.
const MIN_BLOCK: usize = 64;

/// Memory to reuse.
#[derive(Default)]
pub(crate) struct Spares {
    /// Unused blocks.
    blocks: Vec<Vec<Event>>,
    /// A buffer to sort events.
    sorted: Vec<Event>,
}

impl Spares {
    /// Returns an unused block, or a new one for this many events.
    fn take(&mut self, room: usize) -> Vec<Event> {
        self.blocks.pop().unwrap_or_else(|| Vec::with_capacity(room))
    }

    fn keep(&mut self, mut block: Vec<Event>) {
        block.clear();
        self.blocks.push(block);
    }
}

impl Fifo {
    /// Returns the contiguous events at the front; empty if there are none.
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
            // Growing a block would move its events.
            let room = self.blocks.back().map_or(0, |block| block.capacity() - block.len());
            let (now, later) = run.split_at(room.min(run.len()));
            match self.blocks.back_mut().filter(|_| room > 0) {
                Some(block) => block.extend_from_slice(now),
                None => self.blocks.push_back(spares.take(run.len().max(MIN_BLOCK))),
            }
            run = later;
        }
    }

    /// Like [`Self::extend`] for a whole batch, which is left empty. If the batch uses most of its memory, the memory is taken over.
    pub(crate) fn extend_with(&mut self, batch: &mut Vec<Event>, spares: &mut Spares) {
        if batch.len() * 2 > batch.capacity() {
            self.blocks.push_back(std::mem::replace(batch, spares.take(BATCH)));
        } else {
            self.extend(batch, spares);
            batch.clear();
        }
    }

    /// Removes this many of the contiguous events at the front.
    pub(crate) fn leave(&mut self, count: usize, spares: &mut Spares) {
        self.left += count;
        if self.blocks.front().is_some_and(|block| block.len() <= self.left) {
            self.left = 0;
            self.blocks.pop_front().into_iter().for_each(|block| spares.keep(block));
        }
    }

    /// Sorts by time, keeping the order of events at one instant. Unordered sources call this often: events are sorted in a separate
    /// buffer, which is kept, and the blocks are reused.
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
    use model::{CpuId, EventKind, Ns, Tid};

    fn event(at: i64) -> Event {
        Event { at: Ns(at), offset: 0, cpu: CpuId(0), current: Tid::UNKNOWN, what: EventKind::Sample }
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
    fn first_in_first_out_reuses_memory() {
        let (mut fifo, mut spares) = (Fifo::default(), Spares::default());
        let (mut next, mut left) = (0, 0);
        let mut more = |count: i64| (0..count).map(|_| (next, next += 1).0).map(event).collect::<Vec<_>>();
        for round in 0..2000 {
            // Long runs, short runs, and batches that use half of their memory or less.
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
        // No more memory than for the maximum number of queued events; some batches use half of their memory.
        assert!(spares.blocks.len() < 1000, "{}", spares.blocks.len());
    }

    #[test]
    fn sorting_is_stable() {
        let (mut fifo, mut spares) = (Fifo::default(), Spares::default());
        let event_at = |at, offset| Event { offset, ..event(at) };
        fifo.extend_with(&mut vec![event_at(5, 0), event_at(9, 1)], &mut spares);
        fifo.leave(1, &mut spares);
        fifo.extend_with(&mut vec![event_at(9, 2), event_at(3, 3)], &mut spares);
        fifo.extend(&[event_at(9, 4), event_at(1, 5)], &mut spares);
        fifo.sort(&mut spares);
        assert_eq!(fifo.waiting().iter().map(|e| e.offset).collect::<Vec<_>>(), [5, 3, 1, 2, 4]);
        assert_eq!(all(&mut fifo, &mut spares), [1, 3, 9, 9, 9]);
        fifo.sort(&mut spares);
        assert!(fifo.is_empty() && fifo.waiting().is_empty() && fifo.last().is_none());
    }

    #[test]
    fn repeated_sorting_takes_no_more_memory() {
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
