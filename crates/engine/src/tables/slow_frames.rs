//! Slow frames, and what happened on the critical path of each.

use super::Made;
use super::rows::Batches;
use crate::{EngineError, Session};
use analysis::frames::{Marked, Picking, SlowFrames, Typical};
use model::{FramePart, MadeFrom, Ns, Pid, Span, TableDef, ThreadKey, tables};

/// Tables that are made of marks.
const OF_MARKS: [&TableDef; 3] = [&tables::MARK_STRETCHES, &tables::PARALLEL_REGIONS, &tables::FRAMES_PARKED];

/// Which frames are slow, of which kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slow {
    /// Frames are the stretches that a program marked so (with `*` at the end: that begin so); unsaid, those of the frame log.
    pub marked: Option<String>,
    /// What a frame may take; unsaid, the median of their times.
    pub budget: Option<Ns>,
    /// So many are told.
    pub most: usize,
}

impl Slow {
    /// No more can be told.
    pub const MOST: usize = 100;
}

impl Default for Slow {
    fn default() -> Self {
        Self { marked: None, budget: None, most: 10 }
    }
}

impl Session {
    /// Whether it is the table of slow frames.
    #[must_use]
    pub fn is_of_slow_frames(def: &TableDef) -> bool {
        def.made_from == MadeFrom::SlowFrames
    }

    /// Which frames the table of slow frames tells of, no more than [`Slow::MOST`]; the budget is that of
    /// [`tables::FRAMES_PARKED`] too.
    #[must_use]
    pub fn slow(mut self, slow: Slow) -> Self {
        if slow.budget != self.slow.budget {
            self.made = Made::default();
        }
        self.slow = Slow { most: slow.most.min(Slow::MOST), ..slow };
        self
    }

    /// Whether a table tells what took longer than a frame may.
    #[must_use]
    pub fn takes_budget(def: &TableDef) -> bool {
        Self::is_of_slow_frames(def) || def.name == tables::FRAMES_PARKED.name
    }

    /// Which marked stretches are frames, where it was said.
    #[must_use]
    pub fn frames_of(&self) -> Option<&str> {
        self.slow.marked.as_deref()
    }

    /// What a frame may take, where it was said.
    #[must_use]
    pub fn budget(&self) -> Option<Ns> {
        self.slow.budget
    }

    /// The median of the times of a frame log's frames, which is their budget where none was said; `None`: there are none.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn median_frame(&self) -> Result<Option<Ns>, EngineError> {
        if self.whole().frames == 0 {
            return Ok(None);
        }
        let mut picking = Picking::new(None, 0);
        self.each_frame(Span::new(Ns(i64::MIN), Ns(i64::MAX)), &mut |frame| picking.push(frame))?;
        Ok(picking.finish().map(|picked| picked.budget))
    }

    /// Whether a table can have rows here: of a frame log alone those of threads are empty, without frames those of
    /// frames, and where nothing is marked, those of what is.
    #[must_use]
    pub fn may_have_rows(&self, def: &TableDef) -> bool {
        let summary = self.whole();
        match def {
            _ if def.made_from == MadeFrom::Frames => summary.frames > 0,
            _ if summary.is_of_frames() => false,
            _ if Self::is_of_slow_frames(def) => self.slow.marked.is_some() || summary.frames > 0,
            _ if OF_MARKS.iter().any(|of| of.name == def.name) => self.has_marks(),
            _ => true,
        }
    }

    /// Its rows; none where the trace has no such frames.
    pub(crate) fn slow_rows(&self, span: Option<Span>, out: &mut Batches<'_>) -> Result<(), EngineError> {
        let Some(span) = self.within(span) else { return Ok(()) };
        if !self.may_have_rows(&tables::SLOW_FRAMES) {
            return Ok(());
        }
        let mut picking = Picking::new(self.slow.budget, self.slow.most);
        self.each_frame(span, &mut |frame| picking.push(frame))?;
        let Some(picked) = picking.finish().filter(|p| !p.slow.is_empty()) else { return Ok(()) };
        let mut typical = Typical::new(&picked);
        self.each_frame(span, &mut |frame| typical.push(frame))?;
        let typical = typical.finish();
        let frames: Vec<&Marked> = picked.slow.iter().chain(&typical).collect();
        let mut causes = self.causes(&frames)?.into_iter();
        let mut table = SlowFrames::new(picked.budget);
        for (frame, (ends, causes)) in picked.slow.iter().zip(&mut causes) {
            table.slow(frame.clone(), ends, causes);
        }
        causes.for_each(|(_, causes)| table.typical(&causes));
        table.finish(out);
        Ok(())
    }

    /// Every frame that lies within a span; those of damaged logs may last no time, or less.
    fn each_frame(&self, within: Span, each: &mut dyn FnMut(&Marked)) -> Result<(), EngineError> {
        let mut each = |frame: &Marked| {
            let Span { start, end } = frame.span;
            if start < end && start >= within.start && end <= within.end {
                each(frame);
            }
        };
        if let Some(name) = &self.slow.marked {
            return self.marked(name, &mut each);
        }
        self.frames(&mut |frame| {
            if frame.part(FramePart::Whole).is_some() {
                let (span, pid) = (frame.span(), frame.present.pid);
                let pid = if pid == Pid::UNKNOWN { self.facts().focus.map_or(pid, Pid) } else { pid };
                each(&Marked { span, thread: ThreadKey::UNKNOWN, pid, name: frame.application.map(Into::into) });
            }
        })
    }
}
