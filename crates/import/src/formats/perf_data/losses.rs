//! Reported losses as time spans: from the last event that a CPU's buffer delivered before the loss to the first one
//! after it.
//!
//! The kernel writes a LOST record just before the first event for which there is room again, so the span ends at the
//! next event of that buffer. Losses after a buffer's last event are in no LOST record; perf reports them at the end,
//! as LOST_SAMPLES without a time.

use model::{CpuId, Event, EventKind, LossSpan, MaybeNs, Ns, Tid};

#[derive(Default)]
pub(crate) struct Losses {
    cpus: Vec<PerCpu>,
    /// The state for records without a CPU.
    unknown_cpu: PerCpu,
    /// The number of lost events according to LOST records, and according to the final LOST_SAMPLES.
    reported: u64,
    reported_at_end: u64,
    /// The number of unreadable places, and the offset of the last.
    unreadable: (u64, u64),
}

#[derive(Clone, Copy)]
pub(crate) struct PerCpu {
    last: Ns,
    /// Losses since `last`: the number of events if it is known, and the offset of the record.
    lost: Option<(Option<u64>, u64)>,
    /// The number of unreadable places before `last`.
    unreadable: u64,
}

impl PerCpu {
    /// Returns the loss that ends here, if any. For unreadable places, the number of events is unknown.
    #[inline]
    fn take(&mut self, (unreadable, offset): (u64, u64)) -> Option<(Option<u64>, u64)> {
        let unread = std::mem::replace(&mut self.unreadable, unreadable) < unreadable;
        let reported = self.lost.take();
        if unread { Some((None, offset)) } else { reported }
    }
}

impl Default for PerCpu {
    fn default() -> Self {
        Self { last: Ns::MIN, lost: None, unreadable: 0 }
    }
}

/// More CPUs than Linux supports.
const MAX_CPUS: usize = 1 << 16;

impl Losses {
    /// Delivers an event and returns the loss that it ends.
    #[inline]
    pub(crate) fn delivered(&mut self, cpu: CpuId, at: Ns) -> Option<Event> {
        let unreadable = self.unreadable;
        let slot = self.slot(cpu);
        let ended = slot.take(unreadable).map(|(events, offset)| loss(cpu, slot.last, at, events, offset));
        slot.last = at;
        ended
    }

    /// Records the loss of a LOST record.
    pub(crate) fn lost(&mut self, cpu: CpuId, events: u64, offset: u64) {
        self.reported = self.reported.saturating_add(events);
        let slot = self.slot(cpu);
        let sum = match slot.lost {
            Some((before, _)) => before.map(|n| n.saturating_add(events)),
            None => Some(events),
        };
        slot.lost = Some((sum, offset));
    }

    /// Records a loss of an unknown number of events.
    pub(crate) fn lost_uncounted(&mut self, cpu: CpuId, offset: u64) {
        self.slot(cpu).lost = Some((None, offset));
    }

    /// Records an unreadable place. Its CPU is unknown, so the next event of each CPU ends a loss.
    pub(crate) fn unreadable(&mut self, offset: u64) {
        self.unreadable = (self.unreadable.0 + 1, offset);
    }

    /// Records a LOST_SAMPLES record without a time: the total number of lost events.
    pub(crate) fn lost_in_all(&mut self, events: u64) {
        self.reported_at_end = self.reported_at_end.saturating_add(events);
    }

    /// Returns the losses that are not followed by an event, at the end of the recording.
    pub(crate) fn at_end(&mut self, end: Ns, offset: u64) -> Vec<Event> {
        let mut losses = Vec::new();
        let known = self.cpus.iter_mut().enumerate().map(|(cpu, slot)| (CpuId(cpu as u32), slot));
        for (cpu, slot) in known.chain([(CpuId::UNKNOWN, &mut self.unknown_cpu)]) {
            if let Some((events, offset)) = slot.take(self.unreadable).filter(|_| slot.last != Ns::MIN) {
                losses.push(loss(cpu, slot.last, end, events, offset));
            }
        }
        if self.reported_at_end > self.reported {
            // The buffer of these losses is unknown, so the span covers each that may have stopped delivering.
            let from = self.cpus.iter().filter(|c| c.last != Ns::MIN).map(|c| c.last).min().into();
            let events = Some(self.reported_at_end - self.reported).into();
            let span = LossSpan { from, to: MaybeNs::new(end), cpu: None, events };
            losses.push(Event { at: end, offset, cpu: CpuId(0), current: Tid::UNKNOWN, what: EventKind::Loss(span) });
        }
        losses
    }

    #[inline]
    fn slot(&mut self, cpu: CpuId) -> &mut PerCpu {
        let at = cpu.0 as usize;
        if at >= self.cpus.len() {
            if at >= MAX_CPUS {
                return &mut self.unknown_cpu;
            }
            self.cpus.resize(at + 1, PerCpu::default());
        }
        &mut self.cpus[at]
    }
}

fn loss(cpu: CpuId, from: Ns, to: Ns, events: Option<u64>, offset: u64) -> Event {
    let of = (cpu != CpuId::UNKNOWN).then_some(cpu);
    let span = LossSpan { from: MaybeNs::new(from), to: MaybeNs::new(to), cpu: of, events: events.into() };
    Event { at: to, offset, cpu, current: Tid::UNKNOWN, what: EventKind::Loss(span) }
}
