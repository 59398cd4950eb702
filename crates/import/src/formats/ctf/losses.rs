//! Discarded events as spans.
//!
//! A packet's `events_discarded` counts, at its end, all that its stream has lost. A tracer discards when a record does not
//! fit and no other packet is free, so what a packet adds to the count was lost behind its last records: behind the last one
//! that still had room for the largest record after it, since smaller ones may have fitted in after the first was lost.
//!
//! ```text
//!   packet k    e e e e e e e . e │ packet k+1   e e e
//!   room for the largest ──┘  ^lost              └── first event after
//!                          └───── the span ──────┘
//! ```

use model::{CpuId, Event, LossSpan, MaybeNs, Ns, Tid, What};

/// Losses of one stream.
pub(super) struct Losses {
    /// Time of the last event delivered.
    last: Ns,
    /// Of the last one behind which the packet had room for the largest record met.
    roomy: Ns,
    largest: u64,
    /// What this packet adds to the count.
    discarding: u64,
    /// Lost, and no event was delivered since.
    open: Option<Open>,
    before: Option<Counts>,
}

#[derive(Clone, Copy)]
struct Open {
    from: Ns,
    cpu: CpuId,
    /// `None`: nobody knows how many.
    events: Option<u64>,
    offset: u64,
}

#[derive(Clone, Copy)]
struct Counts {
    sequence: Option<u64>,
    discarded: Option<u64>,
}

impl Losses {
    pub(super) fn new() -> Self {
        Self { last: Ns::MIN, roomy: Ns::MIN, largest: 0, discarding: 0, open: None, before: None }
    }

    /// A packet begins: its place in its stream, and the count and its width in bits.
    pub(super) fn packet(&mut self, sequence: Option<u64>, discarded: Option<(u64, u32)>, cpu: CpuId, offset: u64) {
        let missing = match (self.before.and_then(|b| b.sequence), sequence) {
            (Some(before), Some(now)) => now != before.wrapping_add(1),
            _ => false,
        };
        if missing {
            self.lost(self.last, cpu, None, offset);
        }
        self.discarding = match (self.before.and_then(|b| b.discarded), discarded) {
            // Where packets are missing, what they lost is in the count as well.
            (Some(before), Some((now, bits))) => now.wrapping_sub(before) & u64::MAX >> (64 - bits.clamp(1, 64)),
            // The first packet of the recording counts from 0; of a later one nobody knows what stood before.
            (None, Some((now, _))) if sequence.unwrap_or(0) == 0 => now,
            _ => 0,
        };
        self.roomy = self.last;
        self.before = Some(Counts { sequence, discarded: discarded.map(|(count, _)| count) });
    }

    /// The packet has been read.
    pub(super) fn packet_ends(&mut self, cpu: CpuId, offset: u64) {
        let lost = std::mem::take(&mut self.discarding);
        if lost > 0 {
            self.lost(self.roomy, cpu, Some(lost), offset);
        }
    }

    /// Something could not be read.
    pub(super) fn torn(&mut self, cpu: CpuId, offset: u64) {
        self.lost(self.last, cpu, None, offset);
    }

    fn lost(&mut self, from: Ns, cpu: CpuId, events: Option<u64>, offset: u64) {
        let earlier = self.open.take();
        let events = match earlier {
            Some(open) => open.events.zip(events).map(|(a, b)| a.saturating_add(b)),
            None => events,
        };
        let from = earlier.map_or(from, |open| open.from.min(from));
        self.open = Some(Open { from, cpu, events, offset });
    }

    /// An event of so many bits was delivered, with so many bits of its packet behind it; gives the loss that it ends.
    #[inline]
    pub(super) fn delivered(&mut self, at: Ns, bits: u64, left: u64) -> Option<Event> {
        self.last = at;
        self.largest = self.largest.max(bits);
        if left >= self.largest {
            self.roomy = at;
        }
        if self.open.is_some() { self.open.take().map(|open| open.until(at, MaybeNs::new(at))) } else { None }
    }

    /// The stream ends: a loss that no event ended.
    pub(super) fn end(&mut self) -> Option<Event> {
        let open = self.open.take()?;
        let at = self.last.max(open.from);
        (at != Ns::MIN).then(|| open.until(at, MaybeNs::NONE))
    }
}

impl Open {
    fn until(self, at: Ns, to: MaybeNs) -> Event {
        let cpu = (self.cpu != CpuId::UNKNOWN).then_some(self.cpu);
        let span = LossSpan { from: MaybeNs::new(self.from), to, cpu, events: self.events.into() };
        Event { at, offset: self.offset, cpu: self.cpu, current: Tid::UNKNOWN, what: What::Loss(span) }
    }
}
