//! Reported losses as spans: from the last event that a CPU's buffer delivered before, to the first one after.
//!
//! The kernel writes a LOST record just before the first event for which there was room again, so the span ends at the next
//! event of that buffer. What was lost after a buffer's last event is in no LOST record; perf tells it at the end, as
//! LOST_SAMPLES without a time.

use model::{CpuId, Event, LossSpan, MaybeNs, Ns, Tid, What};

#[derive(Default)]
pub(crate) struct Losses {
    cpus: Vec<PerCpu>,
    /// Of records that do not say on which CPU.
    nowhere: PerCpu,
    /// Events that LOST records named, and that the closing LOST_SAMPLES name.
    told: u64,
    told_at_end: u64,
    /// How often something could not be read, and where last.
    torn: (u64, u64),
}

#[derive(Clone, Copy)]
pub(crate) struct PerCpu {
    last: Ns,
    /// Lost since `last`: how many events, where that is told, and the place of the record.
    lost: Option<(Option<u64>, u64)>,
    /// How often something had not been read until `last`.
    torn: u64,
}

impl PerCpu {
    /// The loss that ends here, if there is one; of what could not be read nobody knows how many events it was.
    #[inline]
    fn take(&mut self, (torn, offset): (u64, u64)) -> Option<(Option<u64>, u64)> {
        let unread = std::mem::replace(&mut self.torn, torn) < torn;
        let told = self.lost.take();
        if unread { Some((None, offset)) } else { told }
    }
}

impl Default for PerCpu {
    fn default() -> Self {
        Self { last: Ns::MIN, lost: None, torn: 0 }
    }
}

/// More CPUs than Linux can have.
const MOST_CPUS: usize = 1 << 16;

impl Losses {
    /// An event was delivered; gives the loss that it ends.
    #[inline]
    pub(crate) fn delivered(&mut self, cpu: CpuId, at: Ns) -> Option<Event> {
        let torn = self.torn;
        let slot = self.slot(cpu);
        let ended = slot.take(torn).map(|(events, offset)| loss(cpu, slot.last, at, events, offset));
        slot.last = at;
        ended
    }

    /// A LOST record.
    pub(crate) fn lost(&mut self, cpu: CpuId, events: u64, offset: u64) {
        self.told = self.told.saturating_add(events);
        let slot = self.slot(cpu);
        let sum = match slot.lost {
            Some((before, _)) => before.map(|n| n.saturating_add(events)),
            None => Some(events),
        };
        slot.lost = Some((sum, offset));
    }

    /// Events were lost, and nobody counted them.
    pub(crate) fn lost_uncounted(&mut self, cpu: CpuId, offset: u64) {
        self.slot(cpu).lost = Some((None, offset));
    }

    /// Something could not be read: nobody knows of which CPU it was, so each one's next event ends a loss.
    pub(crate) fn torn(&mut self, offset: u64) {
        self.torn = (self.torn.0 + 1, offset);
    }

    /// A LOST_SAMPLES record without a time: how many were lost in all.
    pub(crate) fn lost_in_all(&mut self, events: u64) {
        self.told_at_end = self.told_at_end.saturating_add(events);
    }

    /// At the end of the recording: losses that no event ended.
    pub(crate) fn at_end(&mut self, end: Ns, offset: u64) -> Vec<Event> {
        let mut losses = Vec::new();
        let named = self.cpus.iter_mut().enumerate().map(|(cpu, slot)| (CpuId(cpu as u32), slot));
        for (cpu, slot) in named.chain([(CpuId::UNKNOWN, &mut self.nowhere)]) {
            if let Some((events, offset)) = slot.take(self.torn).filter(|_| slot.last != Ns::MIN) {
                losses.push(loss(cpu, slot.last, end, events, offset));
            }
        }
        if self.told_at_end > self.told {
            // Which buffer they were lost from is not told, so each that may have fallen silent is meant.
            let from = self.cpus.iter().filter(|c| c.last != Ns::MIN).map(|c| c.last).min().into();
            let events = Some(self.told_at_end - self.told).into();
            let span = LossSpan { from, to: MaybeNs::new(end), cpu: None, events };
            losses.push(Event { at: end, offset, cpu: CpuId(0), current: Tid::UNKNOWN, what: What::Loss(span) });
        }
        losses
    }

    #[inline]
    fn slot(&mut self, cpu: CpuId) -> &mut PerCpu {
        let at = cpu.0 as usize;
        if at >= self.cpus.len() {
            if at >= MOST_CPUS {
                return &mut self.nowhere;
            }
            self.cpus.resize(at + 1, PerCpu::default());
        }
        &mut self.cpus[at]
    }
}

fn loss(cpu: CpuId, from: Ns, to: Ns, events: Option<u64>, offset: u64) -> Event {
    let of = (cpu != CpuId::UNKNOWN).then_some(cpu);
    let span = LossSpan { from: MaybeNs::new(from), to: MaybeNs::new(to), cpu: of, events: events.into() };
    Event { at: to, offset, cpu, current: Tid::UNKNOWN, what: What::Loss(span) }
}
