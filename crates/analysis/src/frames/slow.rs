//! The slowest frames and why they took longer than others. Applies to frames of logs and to marked stretches.
//!
//! Frames are read three times: to find the median and the slowest ([`FrameSelection`]), to find those of about the median
//! time ([`TypicalFrames`]), and, for these few only, to sum up their critical paths ([`SlowFrames`]).

use super::times::Times;
use crate::critical::Causes;
use model::{CoreType, Ns, Pid, Rows, Span, ThreadKey};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The maximum number of different frame times.
const MAX_TIMES: usize = 1 << 18;
/// The maximum number of typical frames.
const MAX_TYPICAL: u64 = 9;
/// One of this many frames is typical.
const TYPICAL_SHARE: u64 = 8;

/// A frame from any source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimedFrame {
    /// From its begin to its end.
    pub span: Span,
    /// The thread that marked it, if any.
    pub thread: ThreadKey,
    /// Its process, if recorded.
    pub pid: Pid,
    /// Its name: the mark, or the program.
    pub name: Option<Box<str>>,
    /// Of a period or a request: its number among those of its thread, from 1; otherwise 0.
    pub number: u64,
    /// When its thread began: after its begin if a wakeup came late, or a request was queued.
    pub begun: Ns,
}

impl TimedFrame {
    /// A frame of a thread, without a name.
    #[must_use]
    pub fn of(span: Span, thread: ThreadKey) -> Self {
        Self { span, thread, pid: Pid::UNKNOWN, name: None, number: 0, begun: span.start }
    }
}

/// Keeps the items with the smallest keys; of equal keys, those that came first.
#[derive(Debug)]
struct Smallest<K> {
    max: usize,
    came: u64,
    kept: BTreeMap<(K, u64), TimedFrame>,
}

impl<K: Ord + Copy> Smallest<K> {
    fn new(max: usize) -> Self {
        Self { max, came: 0, kept: BTreeMap::new() }
    }

    fn push(&mut self, key: K, frame: &TimedFrame) {
        let key = (key, self.came);
        self.came += 1;
        let room = self.kept.len() < self.max;
        if room || self.kept.last_key_value().is_some_and(|(last, _)| key < *last) {
            self.kept.insert(key, frame.clone());
            if !room {
                self.kept.pop_last();
            }
        }
    }

    fn finish(self) -> Vec<TimedFrame> {
        self.kept.into_values().collect()
    }
}

/// The first pass over all frames.
#[derive(Debug)]
pub struct FrameSelection {
    budget: Option<Ns>,
    times: Times,
    slowest: Smallest<Reverse<Ns>>,
    max_times: usize,
}

/// The result of the first pass.
#[derive(Debug)]
pub struct SelectedFrames {
    /// The frame budget.
    pub budget: Ns,
    /// The slowest frames over the budget, the slowest first.
    pub slow: Vec<TimedFrame>,
    /// The median frame time; slightly more if there are too many different times.
    pub median: Ns,
    /// The number of frames.
    pub frames: u64,
}

impl FrameSelection {
    /// `budget`: the frame budget, if there is one. `max`: the maximum number of slow frames.
    #[must_use]
    pub fn new(budget: Option<Ns>, max: usize) -> Self {
        Self { budget, times: Times::default(), slowest: Smallest::new(max), max_times: MAX_TIMES }
    }

    /// Limits the number of different times, for one of many selections. With more, the median is slightly more than the exact one.
    #[must_use]
    pub fn with_max_times(self, max_times: usize) -> Self {
        Self { max_times, ..self }
    }

    /// Adds the next frame.
    pub fn push(&mut self, frame: &TimedFrame) {
        let took = frame.span.len();
        self.times.add(took);
        while self.times.different() > self.max_times {
            self.times.widen();
        }
        self.slowest.push(Reverse(took), frame);
    }

    /// Ends the pass. `None`: there are no frames.
    #[must_use]
    pub fn finish(self) -> Option<SelectedFrames> {
        let (median, budget) = (self.times.quantile(500)?, self.times.budget(self.budget)?);
        let mut slow = self.slowest.finish();
        slow.retain(|frame| frame.span.len() > budget);
        Some(SelectedFrames { budget, slow, median, frames: self.times.count })
    }
}

/// The second pass over the same frames.
#[derive(Debug)]
pub struct TypicalFrames {
    median: Ns,
    nearest: Smallest<i64>,
}

impl TypicalFrames {
    /// Selects the frames closest to the median time: one of eight frames, at max nine.
    #[must_use]
    pub fn new(picked: &SelectedFrames) -> Self {
        let max = (picked.frames / TYPICAL_SHARE).clamp(1, MAX_TYPICAL);
        Self { median: picked.median, nearest: Smallest::new(max as usize) }
    }

    /// Adds the next frame.
    pub fn push(&mut self, frame: &TimedFrame) {
        self.nearest.push((frame.span.len() - self.median).0.saturating_abs(), frame);
    }

    /// Returns the frames, the closest to the median first.
    #[must_use]
    pub fn finish(self) -> Vec<TimedFrame> {
        self.nearest.finish()
    }
}

/// A slow frame and the causes on its critical path.
#[derive(Clone, Debug)]
struct Slow {
    frame: TimedFrame,
    /// The thread at the end of the path.
    ends: ThreadKey,
    causes: Causes,
}

/// Slow frames compared with typical ones.
#[derive(Clone, Debug, Default)]
pub struct SlowFrames {
    budget: Ns,
    /// The number of slower frames that are not among these.
    slower: i64,
    slow: Vec<Slow>,
    typical: Causes,
    /// The number of typical frames in the sum.
    frames: i64,
}

impl SlowFrames {
    /// Starts with this budget.
    #[must_use]
    pub fn new(budget: Ns) -> Self {
        Self { budget, ..Self::default() }
    }

    /// The same for frames of which as many slower ones are not among these.
    #[must_use]
    pub fn after(self, slower: i64) -> Self {
        Self { slower, ..self }
    }

    /// Adds the next slow frame, with the causes on the path to the end of this thread.
    pub fn slow(&mut self, frame: TimedFrame, ends: ThreadKey, causes: Causes) {
        self.slow.push(Slow { frame, ends, causes });
    }

    /// Adds a typical frame.
    pub fn typical(&mut self, causes: &Causes) {
        causes.iter().for_each(|(cause, time)| self.typical.add(cause, time));
        self.frames += 1;
    }

    /// Writes the rows of [`model::tables::SLOW_FRAMES`].
    pub fn finish(self, out: &mut dyn Rows) {
        let typical = self.typical.mean(self.frames);
        let typical_frame = typical.sum();
        for (rank, Slow { frame, ends, causes }) in (self.slower + 1..).zip(&self.slow) {
            let took = frame.span.len();
            let longer = took - typical_frame;
            for (more, cause) in causes.longer_than(&typical) {
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
                    cause.ran_instead().into(),
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
    use crate::critical::Cause;

    fn frame(start: i64, took: i64) -> TimedFrame {
        TimedFrame::of(Span::new(Ns(start), Ns(start + took)), ThreadKey(1))
    }

    fn starts(frames: &[TimedFrame]) -> Vec<i64> {
        frames.iter().map(|f| f.span.start.0).collect()
    }

    fn picked(budget: Option<Ns>, max: usize, frames: &[TimedFrame]) -> Option<SelectedFrames> {
        let mut picking = FrameSelection::new(budget, max);
        frames.iter().for_each(|f| picking.push(f));
        picking.finish()
    }

    /// Times 10 to 17, and 17 once more: the median of nine is the fifth, 14.
    #[test]
    fn the_slowest_come_first_and_of_equal_ones_the_earliest() {
        let mut frames: Vec<TimedFrame> = (0..8).map(|n| frame(100 * n, 10 + n)).collect();
        frames.push(frame(800, 17));
        let select = |budget, max| picked(budget, max, &frames).map(|p| (p.budget.0, starts(&p.slow)));
        assert_eq!(select(None, 10), Some((14, vec![700, 800, 600, 500])));
        assert_eq!(select(None, 2), Some((14, vec![700, 800])));
        assert_eq!(select(Some(Ns(16)), 10), Some((16, vec![700, 800])));
        assert_eq!(select(Some(Ns(17)), 10), Some((17, vec![])), "within its budget");
        assert_eq!(picked(None, 3, &[]).map(|p| p.frames), None);
    }

    #[test]
    fn typical_frames_are_those_closest_to_the_median() {
        let frames: Vec<TimedFrame> = (0..24).map(|n| frame(100 * n, 10 + n * 7 % 24)).collect();
        let Some(picked) = picked(None, 1, &frames) else { return assert_eq!(frames.len(), 0) };
        assert_eq!(picked.median, Ns(21), "the twelfth of 10 to 33");
        let mut typical = TypicalFrames::new(&picked);
        frames.iter().for_each(|f| typical.push(f));
        let times: Vec<i64> = typical.finish().iter().map(|f| f.span.len().0).collect();
        assert_eq!(times.len(), 3, "an eighth of them");
        assert!(times[0] == 21 && times.contains(&20) && times.contains(&22), "{times:?}");
    }

    /// 10 and 11 ns, of which 3 and 4 blocked: the mean 3.5 of 10.5 is 3 of 10 in whole nanoseconds.
    #[test]
    fn the_causes_of_the_mean_add_up_to_its_time() {
        let mut all = Causes::default();
        for (running, blocked) in [(7, 3), (7, 4)] {
            all.add(Cause::Running(None), Ns(running));
            all.add(Cause::Blocked, Ns(blocked));
        }
        let mean = all.mean(2);
        assert_eq!((mean.time(Cause::Running(None)), mean.time(Cause::Blocked)), (Ns(7), Ns(3)));
        assert_eq!(mean.sum(), Ns(10));
    }
}
