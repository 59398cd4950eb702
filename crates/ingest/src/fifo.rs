//! Events of one CPU that wait for their turn.

use model::Event;

/// Events in the order in which they came. They lie in one piece, so that a run of them is copied at once.
#[derive(Default)]
pub(crate) struct Fifo {
    events: Vec<Event>,
    /// So many have left.
    left: usize,
}

impl Fifo {
    pub(crate) fn waiting(&self) -> &[Event] {
        &self.events[self.left..]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting().is_empty()
    }

    pub(crate) fn push(&mut self, event: Event) {
        self.tidy();
        self.events.push(event);
    }

    pub(crate) fn extend(&mut self, run: &[Event]) {
        self.tidy();
        self.events.extend_from_slice(run);
    }

    /// The place of those that have left is used again when they are more than those that wait.
    fn tidy(&mut self) {
        if self.left * 2 > self.events.len() {
            self.events.drain(..std::mem::take(&mut self.left));
        }
    }

    /// The first ones leave.
    pub(crate) fn leave(&mut self, count: usize) {
        self.left = (self.left + count).min(self.events.len());
    }

    /// By time; those of one instant stay in their order.
    pub(crate) fn sort(&mut self) {
        self.events[self.left..].sort_by_key(|e| e.at);
    }

    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.left = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{CpuId, Ns, Tid, What};

    #[test]
    fn first_in_is_first_out_and_those_that_left_hold_no_place() {
        let event = |at| Event { at: Ns(at), offset: 0, cpu: CpuId(0), current: Tid::UNKNOWN, what: What::Sample };
        let mut fifo = Fifo::default();
        let (mut next, mut left) = (0, 0);
        for round in 0..1000 {
            for _ in 0..round % 7 {
                fifo.push(event(next));
                next += 1;
            }
            fifo.extend(&[event(next), event(next + 1)]);
            next += 2;
            let leave = (round * 5 % 9).min(next - left);
            fifo.leave(leave as usize);
            left += leave;
            assert!(fifo.waiting().iter().map(|e| e.at.0).eq(left..next));
            assert!(fifo.events.len() as i64 <= 2 * (next - left) + 20, "{} for {}", fifo.events.len(), next - left);
        }
    }
}
