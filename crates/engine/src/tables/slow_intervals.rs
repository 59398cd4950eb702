//! The slowest periods, requests and parallel regions, and the causes on the critical path of each.

use super::intervals::{Interval, IntervalKind};
use super::rows::Batches;
use crate::{EngineError, Session};
use analysis::critical::{Causes, ThreadCause};
use analysis::frames::{FrameSelection, SelectedFrames, TimedFrame, TypicalFrames};
use analysis::slow_intervals::SlowSeries;
use model::{Pid, Span, ThreadKey, tables};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The maximum number of threads or names of a kind among which are those that are shown, and of those that are shown.
const MAX_SERIES: usize = 1000;
const MAX_SHOWN: usize = 20;
/// The maximum number of different times of a thread or name.
const MAX_TIMES: usize = 1 << 12;

/// The intervals of a thread, or of a process and a name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Series {
    Thread(ThreadKey),
    Name(Option<i64>, Box<str>),
}

impl Series {
    fn of(interval: &Interval<'_>) -> Self {
        match interval.name {
            Some(name) => Self::Name(interval.pid, name.into()),
            None => Self::Thread(interval.thread),
        }
    }
}

/// Returns an interval as a frame: from its begin until its work was done.
fn frame_of(kind: IntervalKind, interval: &Interval<'_>) -> TimedFrame {
    let span = Span { start: interval.span.start, end: interval.done };
    let pid = interval.pid.and_then(|pid| i32::try_from(pid).ok()).map_or(Pid::UNKNOWN, Pid);
    let begun = if kind == IntervalKind::Region { span.start } else { interval.split };
    TimedFrame { pid, number: interval.number, begun, ..TimedFrame::of(span, interval.thread) }
}

/// The selected intervals of a thread or name.
struct Selected {
    kind: IntervalKind,
    series: Series,
    /// Its number in its kind.
    number: i64,
    frames: SelectedFrames,
    typical: Vec<TimedFrame>,
}

impl Session {
    /// Writes the rows of the table of slow intervals.
    pub(crate) fn slow_interval_rows(&self, span: Option<Span>, out: &mut Batches<'_>) -> Result<(), EngineError> {
        let Some(span) = self.within(span).filter(|_| self.may_have_rows(&tables::SLOW_INTERVALS)) else {
            return Ok(());
        };
        let mut all = Vec::new();
        for kind in IntervalKind::ALL {
            all.extend(self.selected_intervals(kind, span)?);
        }
        let frames: Vec<&TimedFrame> = all.iter().flat_map(|of| of.frames.slow.iter().chain(&of.typical)).collect();
        let mut causes = vec![Causes::<ThreadCause>::default(); frames.len()];
        self.pieces(&frames, &mut |frame, piece| {
            causes[frame].push(piece);
            Ok(())
        })?;
        let mut causes = causes.into_iter();
        for Selected { kind, series, number, frames, typical } in all {
            let mut table = SlowSeries::new(kind.word(), number, frames.median);
            for (slow, causes) in frames.slow.into_iter().zip(&mut causes) {
                let name = if let Series::Name(_, name) = &series { Some(name.clone()) } else { None };
                table.slow(TimedFrame { name, ..slow }, causes);
            }
            typical.iter().zip(&mut causes).for_each(|(_, causes)| table.typical(&causes));
            table.finish(out);
        }
        Ok(())
    }

    /// Passes on every interval of a kind that began and whose work ended within a span. Intervals without a positive duration, from
    /// damaged recordings, are skipped.
    fn intervals_within(
        &self,
        kind: IntervalKind,
        within: Span,
        mut each: impl FnMut(Series, &TimedFrame),
    ) -> Result<(), EngineError> {
        self.intervals(kind, |interval| {
            let frame = frame_of(kind, interval);
            let Span { start, end } = frame.span;
            if start < end && start >= within.start && end <= within.end {
                each(Series::of(interval), &frame);
            }
        })
    }

    /// Returns the slowest and the typical intervals of the threads or names with the most time in all.
    fn selected_intervals(&self, kind: IntervalKind, span: Span) -> Result<Vec<Selected>, EngineError> {
        let mut all = BTreeMap::<Series, (i64, FrameSelection)>::new();
        self.intervals_within(kind, span, |series, frame| {
            if all.len() >= MAX_SERIES && !all.contains_key(&series) {
                return;
            }
            let new = || (0, FrameSelection::new(None, self.slow.max_frames).with_max_times(MAX_TIMES));
            let (time, selection) = all.entry(series).or_insert_with(new);
            *time = time.saturating_add(frame.span.len().0);
            selection.push(frame);
        })?;
        let mut all: Vec<_> = all.into_iter().collect();
        all.sort_by_key(|(_, (time, _))| Reverse(*time));
        all.truncate(MAX_SHOWN);
        let selected = (1..).zip(all).filter_map(|(number, (series, (_, selection)))| {
            let frames = selection.finish().filter(|frames| !frames.slow.is_empty())?;
            Some(Selected { kind, series, number, frames, typical: Vec::new() })
        });
        let mut selected: Vec<Selected> = selected.collect();
        if selected.is_empty() {
            return Ok(selected);
        }
        let typical = selected.iter().map(|of| (of.series.clone(), TypicalFrames::new(&of.frames)));
        let mut typical: BTreeMap<Series, TypicalFrames> = typical.collect();
        self.intervals_within(kind, span, |series, frame| {
            if let Some(typical) = typical.get_mut(&series) {
                typical.push(frame);
            }
        })?;
        for of in &mut selected {
            of.typical = typical.remove(&of.series).map(TypicalFrames::finish).unwrap_or_default();
        }
        Ok(selected)
    }
}
