//! Verifies from a recording where threads ran and how often they moved.

use crate::thread::Evidence;
use model::CpuId;
use std::collections::HashMap;

/// Records this process while rounds are measured.
pub trait Recorder {
    /// Begins to record. When it returns, every switch is recorded.
    ///
    /// # Errors
    /// Why nothing can be recorded.
    fn start(&mut self) -> Result<(), String>;
    /// Ends the recording and returns where each thread of this process ran.
    ///
    /// # Errors
    /// Why the recording cannot be read.
    fn finish(&mut self) -> Result<Runs, String>;
}

/// Where and when threads ran: by thread id, the stretches in order of time.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Runs(pub HashMap<i32, Vec<Run>>);

/// A stretch in which a thread ran on one CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// `CLOCK_MONOTONIC` at its begin, ns.
    pub start_ns: i64,
    /// Its end, ns.
    pub end_ns: i64,
    /// The CPU.
    pub cpu: CpuId,
}

/// What a recording showed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verified {
    /// The threads of all repetitions that the recording has.
    pub threads: u64,
    /// Of these, the threads that ran only where they should, and moved as often as they should.
    pub as_expected: u64,
    /// The moves that were requested.
    pub moves_requested: u64,
    /// The moves that the recording has.
    pub moves_found: u64,
    /// Threads that the recording does not have.
    pub missing: u64,
    /// The first differences, one sentence each.
    pub differences: Vec<String>,
}

/// Sums of comparisons.
#[derive(Clone, Debug, Default)]
pub struct Placements {
    sums: Option<Verified>,
}

/// The most differences that are kept.
const DIFFERENCES: usize = 5;

impl Placements {
    /// Compares what a thread should have done with the recording.
    pub fn add(&mut self, series: &str, thread: &Evidence, runs: &Runs) {
        let sums = self.sums.get_or_insert(Verified {
            threads: 0,
            as_expected: 0,
            moves_requested: 0,
            moves_found: 0,
            missing: 0,
            differences: Vec::new(),
        });
        let [from, to] = thread.span_ns;
        let all = runs.0.get(&thread.tid).map(Vec::as_slice).unwrap_or_default();
        let during: Vec<&Run> = all.iter().filter(|run| run.end_ns > from && run.start_ns < to).collect();
        if during.is_empty() {
            sums.missing += 1;
            return;
        }
        let moves = during.windows(2).filter(|pair| pair[0].cpu != pair[1].cpu).count() as u64;
        let elsewhere = during.iter().find(|run| !thread.expected.contains(&run.cpu));
        sums.threads += 1;
        let free = thread.moves == Evidence::ANY_MOVES;
        if !free {
            sums.moves_requested += thread.moves;
            sums.moves_found += moves;
        }
        let difference = match elsewhere {
            Some(run) => Some(format!("{series}: a thread ran on CPU {}, where it should not", run.cpu.0)),
            None if !free && moves != thread.moves => {
                Some(format!("{series}: {} moves were requested, {moves} recorded", thread.moves))
            }
            None => None,
        };
        match difference {
            None => sums.as_expected += 1,
            Some(of) if sums.differences.len() < DIFFERENCES => sums.differences.push(of),
            Some(_) => {}
        }
    }

    /// Returns the sums; `None` if nothing was recorded.
    #[must_use]
    pub fn verified(self) -> Option<Verified> {
        self.sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(moves: u64) -> Evidence {
        Evidence {
            tid: 7,
            span_ns: [1_000, 5_000],
            expected: vec![CpuId(0), CpuId(1)],
            found: [CpuId(0); 2],
            moves,
            ready_ns: None,
            ran_ns: 1_000_000,
            preempted: 0,
            slept: 0,
            as_meant: true,
            disturbed: false,
        }
    }

    fn runs(of: &[(i64, i64, u32)]) -> Runs {
        let of =
            of.iter().map(|(start_ns, end_ns, cpu)| Run { start_ns: *start_ns, end_ns: *end_ns, cpu: CpuId(*cpu) });
        Runs([(7, of.collect())].into())
    }

    #[test]
    fn moves_are_counted_one_by_one() {
        // The move before the measured part does not count, and a preemption is no move.
        let recorded = runs(&[(0, 500, 1), (500, 2_000, 0), (2_100, 2_500, 0), (2_600, 3_000, 1), (3_100, 9_000, 0)]);
        let mut placements = Placements::default();
        placements.add("a", &thread(2), &recorded);
        placements.add("a", &thread(3), &recorded);
        let found = placements.verified().unwrap();
        assert_eq!((found.threads, found.as_expected, found.moves_requested, found.moves_found), (2, 1, 5, 4));
        assert_eq!(found.differences, ["a: 3 moves were requested, 2 recorded"]);
    }

    #[test]
    fn a_thread_that_may_move_is_only_held_to_its_cpus() {
        let mut placements = Placements::default();
        placements.add("c", &thread(Evidence::ANY_MOVES), &runs(&[(0, 2_000, 0), (2_000, 6_000, 1)]));
        placements.add("c", &thread(Evidence::ANY_MOVES), &runs(&[(0, 2_000, 0), (2_000, 6_000, 5)]));
        let found = placements.verified().unwrap();
        assert_eq!((found.as_expected, found.moves_requested, found.moves_found), (1, 0, 0));
    }

    #[test]
    fn a_thread_elsewhere_or_missing_is_seen() {
        let mut placements = Placements::default();
        placements.add("b", &thread(1), &runs(&[(0, 2_000, 0), (2_000, 6_000, 5)]));
        placements.add("b", &thread(0), &Runs::default());
        let found = placements.verified().unwrap();
        assert_eq!((found.as_expected, found.missing), (0, 1));
        assert!(found.differences[0].contains("CPU 5"), "{:?}", found.differences);
    }
}
