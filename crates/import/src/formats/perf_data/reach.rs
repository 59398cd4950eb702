//! How far everything has been told.
//!
//! perf reads the CPUs' buffers in turn, each whole, then marks the round:
//!
//! ```text
//!   cpu0 ──────── 90  cpu1 ─────── 120  mark   cpu0 ──── 180  cpu1 ──┈
//!                                    at the mark: what was written before the round began, as perf's own ordered-events has it
//!                       while cpu1 is read: up to 90 at most, for cpu0 has told all up to there, and cpu1 goes in order
//! ```
//!
//! The second needs that each buffer is a CPU's own, as `ID_INDEX` says, and in order. It lets what other CPUs told leave as the
//! last one's buffer is read: with large buffers a round is some hundred thousand events. A promise that fails all the same is seen
//! by ingest, which then reads the file again and sorts all of it.

use model::{CpuId, Ns};

/// An event is told behind those of an interrupt that came while it was written: longer than interrupts take.
const NESTED: i64 = 10_000_000;

pub(super) struct Reached {
    /// The latest time met.
    latest: Ns,
    /// The latest before the last round mark.
    before_round: Ns,
    /// By CPU, the latest that it told; [`Ns::MAX`] where none is awaited of it.
    of_cpus: Vec<Ns>,
    /// Whether buffers are CPUs' own, and in order so far.
    in_order: bool,
}

impl Reached {
    /// `cpus`: those that have a buffer of their own, if that is told of all buffers; none otherwise.
    pub(super) fn new(cpus: impl Iterator<Item = CpuId> + Clone) -> Self {
        let count = cpus.clone().map(|cpu| cpu.0 as usize + 1).max().unwrap_or(0);
        let mut of_cpus = vec![Ns::MAX; count.min(super::sample::MOST_CPUS as usize)];
        for cpu in cpus {
            if let Some(last) = of_cpus.get_mut(cpu.0 as usize) {
                *last = Ns::MIN;
            }
        }
        Self { latest: Ns::MIN, before_round: Ns::MIN, in_order: !of_cpus.is_empty(), of_cpus }
    }

    /// An event of this CPU was read.
    #[inline]
    pub(super) fn met(&mut self, cpu: CpuId, at: Ns) {
        self.latest = self.latest.max(at);
        match self.of_cpus.get_mut(cpu.0 as usize) {
            Some(last) if at >= *last => *last = at,
            Some(last) => self.in_order &= last.0 - at.0 <= NESTED,
            None => self.in_order = false,
        }
    }

    /// A round mark was read: all up to this has been told.
    pub(super) fn round(&mut self) -> Ns {
        let until = self.before_round.max(self.within_round());
        self.before_round = self.latest;
        until
    }

    /// All up to this has been told, as far as the buffers' own order tells.
    pub(super) fn within_round(&self) -> Ns {
        let least = self.of_cpus.iter().min().filter(|_| self.in_order);
        least.filter(|at| **at > Ns::MIN && **at < Ns::MAX).map_or(Ns::MIN, |at| Ns(at.0 - NESTED))
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
    fn a_round_tells_what_came_before_the_one_before() {
        let mut r = reached(&[]);
        for (mark, told) in [(5, i64::MIN), (9, 5 * S), (7, 9 * S)] {
            r.met(CpuId(0), Ns(mark * S));
            assert_eq!((r.within_round(), r.round()), (Ns::MIN, Ns(told)));
        }
        assert_eq!(r.latest(), Ns(9 * S));
    }

    #[test]
    fn buffers_of_cpus_tell_as_far_as_the_last_of_them() {
        let mut r = reached(&[0, 2]);
        r.met(CpuId(0), Ns(5 * S));
        assert_eq!(r.within_round(), Ns::MIN, "CPU 2 has told nothing");
        r.met(CpuId(2), Ns(3 * S));
        assert_eq!(r.within_round(), Ns(3 * S - NESTED));
        r.met(CpuId(2), Ns(3 * S - NESTED));
        r.met(CpuId(2), Ns(8 * S));
        assert_eq!(r.within_round(), Ns(5 * S - NESTED));
        assert_eq!(r.round(), Ns(5 * S - NESTED), "more than the rounds tell");
        r.met(CpuId(0), Ns(9 * S));
        assert_eq!(r.round(), Ns(8 * S), "more than the buffers tell");
    }

    #[test]
    fn what_is_out_of_order_or_of_no_known_buffer_is_not_trusted() {
        for (cpu, at) in [(0, 5 * S - NESTED - 1), (1, 9 * S), (7, 9 * S), (u32::MAX, 9 * S)] {
            let mut r = reached(&[0, 2]);
            r.met(CpuId(0), Ns(5 * S));
            r.met(CpuId(2), Ns(3 * S));
            r.met(CpuId(cpu), Ns(at));
            assert_eq!(r.within_round(), Ns::MIN, "{cpu} {at}");
        }
    }
}
