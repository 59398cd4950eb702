//! The slowest frames, and why they took longer than others: frames of logs and marked stretches alike.
//!
//! Frames are told three times over: to find the median and the slowest ([`Picking`]), to find those of about the median time
//! ([`Typical`]), and, these few only, by what happened on their critical paths ([`SlowFrames`]).

use super::times::Times;
use crate::critical::{Cause, Causes};
use model::{CoreType, Ns, Pid, Rows, Span, ThreadKey};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Different frame times that are told apart.
const MOST_TIMES: usize = 1 << 18;
/// So many frames are typical at most.
const MOST_TYPICAL: u64 = 9;
/// One of so many frames is typical.
const TYPICAL_OF: u64 = 8;

/// A frame, however it was told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Marked {
    /// From its begin to its end.
    pub span: Span,
    /// The thread that marked it, where one did.
    pub thread: ThreadKey,
    /// Its process, where told.
    pub pid: Pid,
    /// What it is called: the mark, or the program.
    pub name: Option<Box<str>>,
}

/// The few of many with the least key, of equal ones those that came first.
#[derive(Debug)]
struct Least<K> {
    most: usize,
    came: u64,
    kept: BTreeMap<(K, u64), Marked>,
}

impl<K: Ord + Copy> Least<K> {
    fn new(most: usize) -> Self {
        Self { most, came: 0, kept: BTreeMap::new() }
    }

    fn push(&mut self, key: K, frame: &Marked) {
        let key = (key, self.came);
        self.came += 1;
        let room = self.kept.len() < self.most;
        if room || self.kept.last_key_value().is_some_and(|(last, _)| key < *last) {
            self.kept.insert(key, frame.clone());
            if !room {
                self.kept.pop_last();
            }
        }
    }

    fn finish(self) -> Vec<Marked> {
        self.kept.into_values().collect()
    }
}

/// All frames, told for the first time.
#[derive(Debug)]
pub struct Picking {
    budget: Option<Ns>,
    times: Times,
    slowest: Least<Reverse<Ns>>,
}

/// What came of it.
#[derive(Debug)]
pub struct Picked {
    /// What a frame may take.
    pub budget: Ns,
    /// The slowest that took longer, the slowest first.
    pub slow: Vec<Marked>,
    /// The median of all frames' times; where they differ more than can be told apart, a little more.
    pub median: Ns,
    /// How many frames there are.
    pub frames: u64,
}

impl Picking {
    /// `budget`: what a frame may take, where it was said. At most so many are kept.
    #[must_use]
    pub fn new(budget: Option<Ns>, most: usize) -> Self {
        Self { budget, times: Times::default(), slowest: Least::new(most) }
    }

    /// The next frame.
    pub fn push(&mut self, frame: &Marked) {
        let took = frame.span.len();
        self.times.add(took);
        while self.times.different() > MOST_TIMES {
            self.times.widen();
        }
        self.slowest.push(Reverse(took), frame);
    }

    /// `None`: there are no frames.
    #[must_use]
    pub fn finish(self) -> Option<Picked> {
        let (median, budget) = (self.times.quantile(500)?, self.times.budget(self.budget)?);
        let mut slow = self.slowest.finish();
        slow.retain(|frame| frame.span.len() > budget);
        Some(Picked { budget, slow, median, frames: self.times.count })
    }
}

/// The same frames, told again.
#[derive(Debug)]
pub struct Typical {
    median: Ns,
    nearest: Least<i64>,
}

impl Typical {
    /// Those of about the median time: one of eight frames, nine at most.
    #[must_use]
    pub fn new(picked: &Picked) -> Self {
        let most = (picked.frames / TYPICAL_OF).clamp(1, MOST_TYPICAL);
        Self { median: picked.median, nearest: Least::new(most as usize) }
    }

    /// The next frame.
    pub fn push(&mut self, frame: &Marked) {
        self.nearest.push((frame.span.len() - self.median).0.saturating_abs(), frame);
    }

    /// The nearest to it first.
    #[must_use]
    pub fn finish(self) -> Vec<Marked> {
        self.nearest.finish()
    }
}

/// A slow frame, and what happened on its path.
#[derive(Clone, Debug)]
struct Slow {
    frame: Marked,
    /// Whose end the path leads to.
    ends: ThreadKey,
    causes: Causes,
}

/// Slow frames beside typical ones.
#[derive(Clone, Debug, Default)]
pub struct SlowFrames {
    budget: Ns,
    slow: Vec<Slow>,
    typical: Causes,
    /// How many frames that is the sum of.
    frames: i64,
}

impl SlowFrames {
    /// With this budget.
    #[must_use]
    pub fn new(budget: Ns) -> Self {
        Self { budget, ..Self::default() }
    }

    /// The next of the slow ones, and what happened on the path to the end of this thread.
    pub fn slow(&mut self, frame: Marked, ends: ThreadKey, causes: Causes) {
        self.slow.push(Slow { frame, ends, causes });
    }

    /// A typical one.
    pub fn typical(&mut self, causes: &Causes) {
        causes.iter().for_each(|(cause, time)| self.typical.add(cause, time));
        self.frames += 1;
    }

    /// The mean of the typical ones. Rounded in sums, so that it tiles their mean time, whole nanoseconds both.
    fn mean(&self) -> Causes {
        let (mut mean, mut sum, mut told) = (Causes::default(), 0, 0);
        for (cause, time) in self.typical.iter() {
            sum += time.0;
            mean.add(cause, Ns(sum / self.frames.max(1) - told));
            told = sum / self.frames.max(1);
        }
        mean
    }

    /// The rows of [`model::tables::SLOW_FRAMES`].
    pub fn finish(self, out: &mut dyn Rows) {
        let typical = self.mean();
        let typical_frame = typical.sum();
        for (rank, Slow { frame, ends, causes }) in (1i64..).zip(&self.slow) {
            let took = frame.span.len();
            let longer = took - typical_frame;
            let all: BTreeSet<Cause> = causes.iter().chain(typical.iter()).map(|(cause, _)| cause).collect();
            let mut rows: Vec<(Ns, Cause)> =
                all.into_iter().map(|cause| (causes.time(cause) - typical.time(cause), cause)).collect();
            rows.sort_by_key(|(more, cause)| (Reverse(*more), *cause));
            for (more, cause) in rows {
                out.row(&[
                    rank.into(),
                    frame.name.as_deref().into(),
                    Some(ends.0).filter(|_| *ends != ThreadKey::UNKNOWN).into(),
                    frame.span.start.into(),
                    frame.span.end.into(),
                    took.into(),
                    self.budget.into(),
                    (took - self.budget).into(),
                    cause.word().into(),
                    cause.core_type().map(CoreType::as_str).into(),
                    cause.behind().map(|thread| thread.0).into(),
                    causes.time(cause).into(),
                    typical.time(cause).into(),
                    more.into(),
                    (longer > Ns::ZERO).then(|| more.0 as f64 / longer.0 as f64).into(),
                ]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(start: i64, took: i64) -> Marked {
        Marked { span: Span::new(Ns(start), Ns(start + took)), thread: ThreadKey(1), pid: Pid(1), name: None }
    }

    fn starts(frames: &[Marked]) -> Vec<i64> {
        frames.iter().map(|f| f.span.start.0).collect()
    }

    fn picked(budget: Option<Ns>, most: usize, frames: &[Marked]) -> Option<Picked> {
        let mut picking = Picking::new(budget, most);
        frames.iter().for_each(|f| picking.push(f));
        picking.finish()
    }

    /// Times 10 to 17, and 17 once more: the median of nine is the fifth, 14.
    #[test]
    fn the_slowest_come_first_and_of_equal_ones_the_earliest() {
        let mut frames: Vec<Marked> = (0..8).map(|n| frame(100 * n, 10 + n)).collect();
        frames.push(frame(800, 17));
        let told = |budget, most| picked(budget, most, &frames).map(|p| (p.budget.0, starts(&p.slow)));
        assert_eq!(told(None, 10), Some((14, vec![700, 800, 600, 500])));
        assert_eq!(told(None, 2), Some((14, vec![700, 800])));
        assert_eq!(told(Some(Ns(16)), 10), Some((16, vec![700, 800])));
        assert_eq!(told(Some(Ns(17)), 10), Some((17, vec![])), "within its budget");
        assert_eq!(picked(None, 3, &[]).map(|p| p.frames), None);
    }

    #[test]
    fn typical_are_those_nearest_the_median() {
        let frames: Vec<Marked> = (0..24).map(|n| frame(100 * n, 10 + n * 7 % 24)).collect();
        let Some(picked) = picked(None, 1, &frames) else { return assert_eq!(frames.len(), 0) };
        assert_eq!(picked.median, Ns(21), "the twelfth of 10 to 33");
        let mut typical = Typical::new(&picked);
        frames.iter().for_each(|f| typical.push(f));
        let times: Vec<i64> = typical.finish().iter().map(|f| f.span.len().0).collect();
        assert_eq!(times.len(), 3, "an eighth of them");
        assert!(times[0] == 21 && times.contains(&20) && times.contains(&22), "{times:?}");
    }

    /// 10 and 11 ns, of which 3 and 4 blocked: 3 of 10 in whole nanoseconds, the mean of 3.5 of 10.5.
    #[test]
    fn the_mean_of_typical_frames_sums_to_their_mean_time() {
        let mut all = SlowFrames::new(Ns(10));
        for (running, blocked) in [(7, 3), (7, 4)] {
            let mut causes = Causes::default();
            causes.add(Cause::Running(None), Ns(running));
            causes.add(Cause::Blocked, Ns(blocked));
            all.typical(&causes);
        }
        let mean = all.mean();
        assert_eq!((mean.time(Cause::Running(None)), mean.time(Cause::Blocked)), (Ns(7), Ns(3)));
        assert_eq!(mean.sum(), Ns(10));
    }
}
