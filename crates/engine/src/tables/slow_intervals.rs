//! The slowest periods, requests and parallel regions, and the causes on the critical path of each.

use super::intervals::{Interval, IntervalKind, Series};
use super::rows::Batches;
use crate::{EngineError, Session};
use analysis::critical::{Causes, ThreadCause};
use analysis::frames::{FrameSelection, SelectedFrames, TimedFrame, TypicalFrames};
use analysis::slow_intervals::SlowSeries;
use model::{Ns, Pid, Span, Tid, tables};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The maximum number of threads or names of a kind among which are those that are shown, and of those that are shown.
const MAX_SERIES: usize = 1000;
const MAX_SHOWN: i64 = 20;
/// The maximum number of different times of a thread or name.
const MAX_TIMES: usize = 1 << 12;

/// Returns an interval as a frame: from its begin until its work was done.
pub(super) fn frame_of(kind: IntervalKind, interval: &Interval<'_>) -> TimedFrame {
    let span = Span { start: interval.span.start, end: interval.done };
    let pid = interval.pid.and_then(|pid| i32::try_from(pid).ok()).map_or(Pid::UNKNOWN, Pid);
    let begun = if kind == IntervalKind::Region { span.start } else { interval.split };
    TimedFrame { pid, number: interval.number, begun, ..TimedFrame::of(span, interval.thread) }
}

/// The selected intervals of a thread or name.
struct Selected {
    kind: IntervalKind,
    series: Series,
    tid: Option<Tid>,
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
        let all = self.selected_intervals(span)?;
        let frames: Vec<&TimedFrame> = all.iter().flat_map(|of| of.frames.slow.iter().chain(&of.typical)).collect();
        let mut causes = vec![Causes::<ThreadCause>::default(); frames.len()];
        self.pieces(&frames, &mut |frame, piece| {
            causes[frame].push(piece);
            Ok(())
        })?;
        let mut causes = causes.into_iter();
        for Selected { kind, series, tid, number, frames, typical } in all {
            let mut table = SlowSeries::new(kind.word(), number, tid, frames.median);
            for (slow, causes) in frames.slow.into_iter().zip(&mut causes) {
                let name = if let Series::Name(_, name) = &series { Some(name.clone()) } else { None };
                table.slow(TimedFrame { name, ..slow }, causes);
            }
            typical.iter().zip(&mut causes).for_each(|(_, causes)| table.typical(&causes));
            table.finish(out);
        }
        Ok(())
    }

    /// Passes on every interval that began and whose work ended within a span. Intervals without a positive duration, from damaged
    /// recordings, are skipped.
    fn intervals_within(
        &self,
        within: Span,
        mut each: impl FnMut((IntervalKind, Series), Option<Tid>, &TimedFrame),
    ) -> Result<(), EngineError> {
        self.all_intervals(&mut |kind, interval| {
            let frame = frame_of(kind, interval);
            let Span { start, end } = frame.span;
            if start < end && start >= within.start && end <= within.end {
                each((kind, Series::of(interval)), interval.tid, &frame);
            }
        })
    }

    /// Returns the slowest and the typical intervals of the threads or names of each kind with the most time in all.
    fn selected_intervals(&self, span: Span) -> Result<Vec<Selected>, EngineError> {
        let mut all = BTreeMap::<(IntervalKind, Series), (Ns, Option<Tid>, FrameSelection)>::new();
        let mut counts = [0; IntervalKind::ALL.len()];
        self.intervals_within(span, |of, tid, frame| {
            let count = &mut counts[of.0 as usize];
            if !all.contains_key(&of) {
                if *count >= MAX_SERIES {
                    return;
                }
                *count += 1;
            }
            let new = || (Ns::ZERO, tid, FrameSelection::new(None, self.slow.max_frames).with_max_times(MAX_TIMES));
            let (time, _, selection) = all.entry(of).or_insert_with(new);
            *time += frame.span.len();
            selection.push(frame);
        })?;
        let mut all: Vec<_> = all.into_iter().collect();
        all.sort_by_key(|((kind, _), (time, ..))| (*kind, Reverse(*time)));
        let (mut selected, mut numbers) = (Vec::new(), [0; IntervalKind::ALL.len()]);
        for ((kind, series), (_, tid, selection)) in all {
            let number = &mut numbers[kind as usize];
            *number += 1;
            if let Some(frames) = selection.finish().filter(|f| *number <= MAX_SHOWN && !f.slow.is_empty()) {
                selected.push(Selected { kind, series, tid, number: *number, frames, typical: Vec::new() });
            }
        }
        if selected.is_empty() {
            return Ok(selected);
        }
        let typical = selected.iter().map(|of| ((of.kind, of.series.clone()), TypicalFrames::new(&of.frames)));
        let mut typical: BTreeMap<(IntervalKind, Series), TypicalFrames> = typical.collect();
        self.intervals_within(span, |of, _, frame| {
            if let Some(typical) = typical.get_mut(&of) {
                typical.push(frame);
            }
        })?;
        for of in &mut selected {
            let typical = typical.remove(&(of.kind, of.series.clone()));
            of.typical = typical.map(TypicalFrames::finish).unwrap_or_default();
        }
        Ok(selected)
    }
}
