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
