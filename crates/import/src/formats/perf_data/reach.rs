//! Determines the time up to which all events have been read.
//!
//! perf reads the CPUs' buffers in turn, each completely, then marks the end of the round:
//!
//! ```text
//!   cpu0 ──────── 90  cpu1 ─────── 120  mark   cpu0 ──── 180  cpu1 ──┈
//!                                    at the mark: everything before the start of the round, like perf's ordered-events
//!                       while cpu1 is read: up to 90, since cpu0 was read up to there and cpu1 is in order
//! ```
//!
//! The second rule requires that each buffer belongs to one CPU, as `ID_INDEX` states, and is in order. It releases the
//! events of other CPUs while the last buffer is read: with large buffers, a round has some hundred thousand events. If
//! an event is too early nevertheless, ingest detects it, reads the file again and sorts all of it.

use model::{CpuId, Ns};

/// An event is recorded after those of an interrupt that came while it was written. This is longer than interrupts
/// take.
const MAX_NESTING: i64 = 10_000_000;

pub(super) struct Reached {
    /// The latest time so far.
    latest: Ns,
    /// The latest time before the last round mark.
    before_round: Ns,
    /// The latest time of each CPU; [`Ns::MAX`] if it has no buffer.
    of_cpus: Vec<Ns>,
    /// Whether each buffer belongs to one CPU, and is in order so far.
    in_order: bool,
}

impl Reached {
    /// `cpus` are the CPUs with a buffer of their own, if that is known of all buffers; otherwise none.
    pub(super) fn new(cpus: impl Iterator<Item = CpuId> + Clone) -> Self {
        let count = cpus.clone().map(|cpu| cpu.0 as usize + 1).max().unwrap_or(0);
        let mut of_cpus = vec![Ns::MAX; count.min(super::sample::MAX_CPUS as usize)];
        for cpu in cpus {
            if let Some(last) = of_cpus.get_mut(cpu.0 as usize) {
                *last = Ns::MIN;
            }
        }
        Self { latest: Ns::MIN, before_round: Ns::MIN, in_order: !of_cpus.is_empty(), of_cpus }
    }

    /// Records an event of this CPU.
    #[inline]
    pub(super) fn add(&mut self, cpu: CpuId, at: Ns) {
        self.latest = self.latest.max(at);
        match self.of_cpus.get_mut(cpu.0 as usize) {
            Some(last) if at >= *last => *last = at,
            Some(last) => self.in_order &= last.0 - at.0 <= MAX_NESTING,
            None => self.in_order = false,
        }
    }

    /// Handles a round mark: returns the time up to which all events have been read.
    pub(super) fn round(&mut self) -> Ns {
        let until = self.before_round.max(self.within_round());
        self.before_round = self.latest;
        until
    }

    /// Returns the time up to which all events have been read according to the order of the buffers.
    pub(super) fn within_round(&self) -> Ns {
        let earliest = self.of_cpus.iter().min().filter(|_| self.in_order);
        earliest.filter(|at| **at > Ns::MIN && **at < Ns::MAX).map_or(Ns::MIN, |at| Ns(at.0 - MAX_NESTING))
    }

    pub(super) fn latest(&self) -> Ns {
        self.latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn reached(cpus: &[u32]) -> Reached {
        Reached::new(cpus.iter().map(|cpu| CpuId(*cpu)))
    }

    #[test]
    fn a_round_completes_what_came_before_the_previous_round() {
        let mut r = reached(&[]);
        for (mark, until) in [(5, i64::MIN), (9, 5 * S), (7, 9 * S)] {
            r.add(CpuId(0), Ns(mark * S));
            assert_eq!((r.within_round(), r.round()), (Ns::MIN, Ns(until)));
        }
        assert_eq!(r.latest(), Ns(9 * S));
    }

    #[test]
    fn buffers_of_cpus_are_complete_up_to_the_earliest_of_them() {
        let mut r = reached(&[0, 2]);
        r.add(CpuId(0), Ns(5 * S));
        assert_eq!(r.within_round(), Ns::MIN, "CPU 2 has no events yet");
        r.add(CpuId(2), Ns(3 * S));
        assert_eq!(r.within_round(), Ns(3 * S - MAX_NESTING));
        r.add(CpuId(2), Ns(3 * S - MAX_NESTING));
        r.add(CpuId(2), Ns(8 * S));
        assert_eq!(r.within_round(), Ns(5 * S - MAX_NESTING));
        assert_eq!(r.round(), Ns(5 * S - MAX_NESTING), "more than the rounds show");
        r.add(CpuId(0), Ns(9 * S));
        assert_eq!(r.round(), Ns(8 * S), "more than the buffers show");
    }

    #[test]
    fn out_of_order_events_and_unknown_buffers_disable_the_shortcut() {
        for (cpu, at) in [(0, 5 * S - MAX_NESTING - 1), (1, 9 * S), (7, 9 * S), (u32::MAX, 9 * S)] {
            let mut r = reached(&[0, 2]);
            r.add(CpuId(0), Ns(5 * S));
            r.add(CpuId(2), Ns(3 * S));
            r.add(CpuId(cpu), Ns(at));
            assert_eq!(r.within_round(), Ns::MIN, "{cpu} {at}");
        }
    }
}
