//! SlowFrameOptions frames, and the causes on the critical path of each.

use super::TableCache;
use super::rows::Batches;
use crate::{EngineError, Session};
use analysis::frames::{FrameSelection, SlowFrames, TimedFrame, TypicalFrames};
use model::{FramePart, MadeFrom, Ns, Pid, Span, TableDef, ThreadKey, tables};

/// Tables made from marks.
const OF_MARKS: [&TableDef; 2] = [&tables::MARK_STRETCHES, &tables::FRAMES_PARKED];

/// Tables of locks, and the events of which they are made.
const OF_LOCKS: [&TableDef; 4] = [&tables::LOCKS, &tables::LOCK_HOLDERS, &tables::LOCK_WAITS, &tables::DEADLOCKS];
const LOCK_EVENTS: [&str; 3] = ["futex_wait", "futex_call", "object_wait"];

/// What counts as a frame, and which frames are slow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlowFrameOptions {
    /// The name of the marks that are frames (a final `*` matches any ending); by default the frames of the frame log.
    pub mark_name: Option<String>,
    /// The frame budget; by default the median frame time.
    pub budget: Option<Ns>,
    /// The maximum number of slow frames to explain.
    pub max_frames: usize,
}

/// How many frames there are, and how many of them are slow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameCounts {
    /// The number of frames.
    pub frames: u64,
    /// The number of frames that took longer than the budget.
    pub over: u64,
    /// The frame budget: the requested one, otherwise the median frame time.
    pub budget: Ns,
    /// The median frame time.
    pub median: Ns,
    /// The longest frame time.
    pub longest: Ns,
    /// Whether the budget was requested.
    pub is_budget_set: bool,
}

impl SlowFrameOptions {
    /// The upper limit of `max_frames`.
    pub const MAX_FRAMES: usize = 100;
}

impl Default for SlowFrameOptions {
    fn default() -> Self {
        Self { mark_name: None, budget: None, max_frames: 10 }
    }
}

impl Session {
    /// Returns whether a table is made from slow frames.
    #[must_use]
    pub fn is_of_slow_frames(def: &TableDef) -> bool {
        def.made_from == MadeFrom::SlowFrames
    }

    /// Returns whether a table explains the slowest of something, of which [`SlowFrameOptions::max_frames`] are explained.
    #[must_use]
    pub fn takes_slowest(def: &TableDef) -> bool {
        Self::is_of_slow_frames(def) || def.name == tables::SLOW_INTERVALS.name
    }

    /// Sets the options for slow frames, with at most [`SlowFrameOptions::MAX_FRAMES`] frames. The budget applies to [`tables::FRAMES_PARKED`] too.
    #[must_use]
    pub fn with_slow_frames(mut self, slow: SlowFrameOptions) -> Self {
        if slow.budget != self.slow.budget {
            self.cache = TableCache::default();
        }
        self.slow = SlowFrameOptions { max_frames: slow.max_frames.min(SlowFrameOptions::MAX_FRAMES), ..slow };
        self
    }

    /// Completes options that name no frames: without a frame log, the marks that look most like frames are taken.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn found_frames(&self, mut slow: SlowFrameOptions) -> Result<SlowFrameOptions, EngineError> {
        if slow.mark_name.is_none() && self.full_summary().frames == 0 {
            slow.mark_name = self.frame_marks()?.into_iter().next().map(|of| of.name);
        }
        Ok(slow)
    }

    /// Returns whether a table depends on the frame budget.
    #[must_use]
    pub fn takes_budget(def: &TableDef) -> bool {
        Self::is_of_slow_frames(def) || def.name == tables::FRAMES_PARKED.name
    }

    /// Returns the name of the marks that are frames, if set.
    #[must_use]
    pub fn frames_of(&self) -> Option<&str> {
        self.slow.mark_name.as_deref()
    }

    /// Returns the frame budget, if set.
    #[must_use]
    pub fn budget(&self) -> Option<Ns> {
        self.slow.budget
    }

    /// Returns the median frame time of the frame log, which is the default budget; `None` without frames.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn median_frame(&self) -> Result<Option<Ns>, EngineError> {
        if self.full_summary().frames == 0 {
            return Ok(None);
        }
        let mut picking = FrameSelection::new(None, 0);
        self.each_frame(None, Span::new(Ns(i64::MIN), Ns(i64::MAX)), &mut |frame| picking.push(frame))?;
        Ok(picking.finish().map(|picked| picked.budget))
    }

    /// Counts the frames of the recording, or of the part to which the session is limited; `None` without frames.
    ///
    /// # Errors
    /// The trace cannot be read, or it has no marks of the requested name.
    pub fn frame_counts(&self, span: Option<Span>) -> Result<Option<FrameCounts>, EngineError> {
        if self.slow.mark_name.is_none() && self.full_summary().frames == 0 {
            return Ok(None);
        }
        let Some(span) = self.within(span) else { return Ok(None) };
        let mut picking = FrameSelection::new(self.slow.budget, 0);
        let mut longest = Ns::ZERO;
        self.each_frame(self.frames_of(), span, &mut |frame| {
            longest = longest.max(frame.span.len());
            picking.push(frame);
        })?;
        let Some(picked) = picking.finish() else { return Ok(None) };
        let mut over = 0;
        self.each_frame(self.frames_of(), span, &mut |frame| over += u64::from(frame.span.len() > picked.budget))?;
        Ok(Some(FrameCounts {
            frames: picked.frames,
            over,
            budget: picked.budget,
            median: picked.median,
            longest,
            is_budget_set: self.slow.budget.is_some(),
        }))
    }

    /// Returns whether a table can have rows in this trace. Tables of threads are empty for a frame log, tables of frames without
    /// frames, tables of marks without marks, and those of locks and of throttled time without their events.
    #[must_use]
    pub fn may_have_rows(&self, def: &TableDef) -> bool {
        let summary = self.full_summary();
        match def {
            _ if def.made_from == MadeFrom::Frames => summary.frames > 0,
            _ if summary.is_of_frames() => false,
            _ if Self::is_of_slow_frames(def) => self.slow.mark_name.is_some() || summary.frames > 0,
            _ if OF_MARKS.iter().any(|of| of.name == def.name) => self.has_marks(),
            _ if OF_LOCKS.iter().any(|of| of.name == def.name) => self.may_have_events(&LOCK_EVENTS),
            _ if def.name == tables::THROTTLED.name => self.may_have_events(&["throttle"]),
            _ => true,
        }
    }

    /// Writes the rows of the table of slow frames; none if the trace has no such frames.
    pub(crate) fn slow_rows(&self, span: Option<Span>, out: &mut Batches<'_>) -> Result<(), EngineError> {
        let Some(span) = self.within(span) else { return Ok(()) };
        if !self.may_have_rows(&tables::SLOW_FRAMES) {
            return Ok(());
        }
        let mut picking = FrameSelection::new(self.slow.budget, self.slow.max_frames);
        self.each_frame(self.frames_of(), span, &mut |frame| picking.push(frame))?;
        let Some(picked) = picking.finish().filter(|p| !p.slow.is_empty()) else { return Ok(()) };
        let mut typical = TypicalFrames::new(&picked);
        self.each_frame(self.frames_of(), span, &mut |frame| typical.push(frame))?;
        let typical = typical.finish();
        let frames: Vec<&TimedFrame> = picked.slow.iter().chain(&typical).collect();
        let mut causes = self.causes(&frames)?.into_iter();
        let mut table = SlowFrames::new(picked.budget);
        for (frame, (ends, causes)) in picked.slow.iter().zip(&mut causes) {
            table.slow(frame.clone(), ends, causes);
        }
        causes.for_each(|(_, causes)| table.typical(&causes));
        table.finish(out);
        Ok(())
    }

    /// Passes on every frame within a span: the marks with a name, or the frames of the frame log. Frames without a positive duration,
    /// from damaged logs, are skipped.
    pub(super) fn each_frame(
        &self,
        marks: Option<&str>,
        within: Span,
        each: &mut dyn FnMut(&TimedFrame),
    ) -> Result<(), EngineError> {
        let mut each = |frame: &TimedFrame| {
            let Span { start, end } = frame.span;
            if start < end && start >= within.start && end <= within.end {
                each(frame);
            }
        };
        if let Some(name) = marks {
            return self.marked(name, &mut each);
        }
        self.frames(&mut |frame| {
            if frame.part(FramePart::Whole).is_some() {
                let (span, pid) = (frame.span(), frame.present.pid);
                let pid = if pid == Pid::UNKNOWN { self.facts().focus.map_or(pid, Pid) } else { pid };
                let name = frame.application.map(Into::into);
                each(&TimedFrame { pid, name, ..TimedFrame::of(span, ThreadKey::UNKNOWN) });
            }
        })
    }
}
