//! Discarded events as time spans.
//!
//! A packet's `events_discarded` is the number of all events that its stream has lost, at the packet's end. A tracer
//! discards a record if it does not fit and no other packet is free. So what a packet adds to the count was lost after
//! its last records: after the last record that left room for the largest record seen, since smaller ones may have
//! fitted after the first loss.
//! ```text
//!   packet k    e e e e e e e . e │ packet k+1   e e e
//!   room for the largest ──┘  ^lost              └── first event after
//!                          └───── the span ──────┘
//! ```

use model::{CpuId, Event, EventKind, LossSpan, MaybeNs, Ns, Tid};

/// The losses of one stream.
pub(super) struct Losses {
    /// The time of the last delivered event.
    last: Ns,
    /// The time of the last event after which the packet had room for the largest record so far.
    last_with_room: Ns,
    largest: u64,
    /// What this packet adds to the count.
    discarding: u64,
    /// The current loss: no event was delivered since.
    open: Option<Open>,
    before: Option<Counts>,
}

#[derive(Clone, Copy)]
struct Open {
    from: Ns,
    cpu: CpuId,
    /// `None` if the number is unknown.
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
        Self { last: Ns::MIN, last_with_room: Ns::MIN, largest: 0, discarding: 0, open: None, before: None }
    }

    /// Starts a packet: its number in the stream, and the count and its width in bits.
    pub(super) fn packet(&mut self, sequence: Option<u64>, discarded: Option<(u64, u32)>, cpu: CpuId, offset: u64) {
        let missing = match (self.before.and_then(|b| b.sequence), sequence) {
            (Some(before), Some(now)) => now != before.wrapping_add(1),
            _ => false,
        };
        if missing {
            self.lost(self.last, cpu, None, offset);
        }
        self.discarding = match (self.before.and_then(|b| b.discarded), discarded) {
            // If packets are missing, the count includes what they lost.
            (Some(before), Some((now, bits))) => now.wrapping_sub(before) & u64::MAX >> (64 - bits.clamp(1, 64)),
            // The first packet of the recording counts from 0. The count before a later one is unknown.
            (None, Some((now, _))) if sequence.unwrap_or(0) == 0 => now,
            _ => 0,
        };
        self.last_with_room = self.last;
        self.before = Some(Counts { sequence, discarded: discarded.map(|(count, _)| count) });
    }

    /// Ends the packet.
    pub(super) fn packet_ends(&mut self, cpu: CpuId, offset: u64) {
        let lost = std::mem::take(&mut self.discarding);
        if lost > 0 {
            self.lost(self.last_with_room, cpu, Some(lost), offset);
        }
    }

    /// Records that something could not be read.
    pub(super) fn unreadable(&mut self, cpu: CpuId, offset: u64) {
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

    /// Delivers an event of this many bits, with this many bits of its packet left after it. Returns the loss that it
    /// ends.
    #[inline]
    pub(super) fn delivered(&mut self, at: Ns, bits: u64, left: u64) -> Option<Event> {
        self.last = at;
        self.largest = self.largest.max(bits);
        if left >= self.largest {
            self.last_with_room = at;
        }
        if self.open.is_some() { self.open.take().map(|open| open.until(at, MaybeNs::new(at))) } else { None }
    }

    /// Ends the stream and returns a loss that is not followed by an event.
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
        Event { at, offset: self.offset, cpu: self.cpu, current: Tid::UNKNOWN, what: EventKind::Loss(span) }
    }
}
