//! How far everything has been told.
//!
//! The recorder reads the CPUs' buffers in rounds, and may leave some of a full buffer for the next round:
//!
//! ```text
//!   round 1            round 2             round 3
//!   cpu0 ──── cpu1 ──  cpu0 ─── cpu1 ────  cpu0 …
//!        latest 100         latest 180     at the end of round 2: nothing before 100 is still to come of a buffer that
//!                                          was read to its end, nor anything before the last event of one that was not
//! ```
//!
//! A CPU without a bundle in a round had nothing to tell. So at the end of each round the sequence has told everything up
//! to the latest event of the rounds before it, or to the least of its CPUs' last events in this round if that is less.
//! Several data sources write sequences of their own: the least of them counts. What a service buffered and wrote CPU by
//! CPU at the end has no rounds, and is sorted whole (on disk, where it is large). A promise that fails all the same
//! (a sequence that shows itself late) is seen by ingest, which then reads the file again and sorts all of it.

use model::{CpuId, Ns};
use rustc_hash::FxHashMap;

/// The rounds of one sequence.
struct Rounds {
    /// Its CPUs in this round, with their last events.
    met: Vec<(CpuId, Ns)>,
    now: CpuId,
    latest: Ns,
    latest_before: Ns,
    until: Ns,
}

/// The rounds of all sequences that carry kernel events.
#[derive(Default)]
pub(super) struct Reached {
    rounds: FxHashMap<u32, Rounds>,
}

impl Reached {
    /// A sequence told a bundle of a CPU, whose last event was then.
    pub(super) fn met(&mut self, sequence: u32, cpu: CpuId, last: Ns) {
        let r = self.rounds.entry(sequence).or_insert_with(|| Rounds {
            met: Vec::new(),
            now: cpu,
            latest: Ns::MIN,
            latest_before: Ns::MIN,
            until: Ns::MIN,
        });
        if r.now != cpu && r.met.iter().any(|(c, _)| *c == cpu) {
            let least = r.met.iter().map(|(_, t)| *t).min().unwrap_or(Ns::MIN);
            r.until = r.until.max(least.min(r.latest_before));
            r.latest_before = r.latest;
            r.met.clear();
        }
        r.now = cpu;
        r.latest = r.latest.max(last);
        match r.met.iter_mut().find(|(c, _)| *c == cpu) {
            Some((_, of)) => *of = (*of).max(last),
            None => r.met.push((cpu, last)),
        }
    }

    /// Up to when all sequences have told everything.
    pub(super) fn until(&self) -> Ns {
        self.rounds.values().map(|r| r.until).min().unwrap_or(Ns::MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_later_and_never_beyond_a_buffer_that_was_left_half_read() {
        let mut reached = Reached::default();
        let mut told = |cpu, last| {
            reached.met(1, CpuId(cpu), Ns(last));
            reached.until()
        };
        assert_eq!(told(0, 90), Ns::MIN);
        assert_eq!(told(1, 100), Ns::MIN);
        assert_eq!(told(0, 170), Ns::MIN); // round 2; the first has none before it
        assert_eq!(told(1, 180), Ns::MIN);
        assert_eq!(told(0, 230), Ns(100));
        assert_eq!(told(1, 120), Ns(100)); // half read
        assert_eq!(told(0, 300), Ns(120));
        assert_eq!(told(1, 310), Ns(120));
        assert_eq!(told(0, 400), Ns(230));
    }

    #[test]
    fn the_slowest_sequence_counts() {
        let mut reached = Reached::default();
        for (sequence, cpu, last) in [(1, 0, 10), (1, 1, 11), (1, 0, 20), (1, 1, 21), (1, 0, 30)] {
            reached.met(sequence, CpuId(cpu), Ns(last));
        }
        assert_eq!(reached.until(), Ns(11));
        reached.met(2, CpuId(0), Ns(40));
        assert_eq!(reached.until(), Ns::MIN);
    }
}
