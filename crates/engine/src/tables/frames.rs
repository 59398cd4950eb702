//! Tables of frames, made from the events of a frame log while they are read.

use super::rows::Batches;
use crate::{EngineError, Session};
use analysis::frames::{Frame, FrameSums, Frames};
use model::{Rows as _, Span, TableDef, tables};

impl Session {
    /// Writes the rows of a table of frames; for a part, those of the frames that overlap it.
    pub(crate) fn frame_rows(
        &self,
        def: &TableDef,
        span: Option<Span>,
        out: &mut Batches<'_>,
    ) -> Result<(), EngineError> {
        if self.whole.frames == 0 {
            return Ok(());
        }
        let within = |of: Span| span.is_none_or(|s| of.start < s.end && of.end > s.start);
        if def.name == tables::FRAMES.name {
            return self.frames(&mut |frame| {
                if within(frame.span()) {
                    out.row(&frame.row());
                }
            });
        }
        let mut sums = FrameSums::default();
        self.frames(&mut |frame| {
            if within(frame.span()) {
                sums.push(frame);
            }
        })?;
        sums.finish(out);
        Ok(())
    }

    /// Returns the time of the frame in this row of its log.
    ///
    /// # Errors
    /// The trace cannot be read, no frame has this row, or frames of several logs do; the message lists them.
    pub fn frame_span(&self, row: i64) -> Result<Span, EngineError> {
        let (mut found, mut last) = (Vec::new(), -1);
        if self.whole.frames > 0 {
            self.frames(&mut |frame| {
                last = last.max(frame.present.frame);
                if frame.present.frame == row && found.len() < 2 {
                    found.push(frame.span());
                }
            })?;
        }
        let path = self.path().display();
        match found[..] {
            [span] => Ok(span),
            [] if last < 0 => {
                Err(EngineError::NotFound(format!("{path}: the trace has no frame log; use --mark to select a mark")))
            }
            [] => Err(EngineError::NotFound(format!(
                "{path}: there is no frame {row} in the frame log; the last one is {last}"
            ))),
            _ => Err(EngineError::Unfit(format!(
                "{path}: several frame logs have a frame {row}: use --range instead (`corewise table {path} frames` lists the frames)"
            ))),
        }
    }

    /// Passes on every frame, in order of begin.
    pub(crate) fn frames(&self, each: &mut dyn FnMut(&Frame<'_>)) -> Result<(), EngineError> {
        let mut frames = Frames::default();
        let mut names: Vec<Box<str>> = Vec::new();
        self.events(&mut |events, all_names| {
            frames.push(events, all_names, each);
            names.extend(all_names.iter().skip(names.len()).cloned());
            Ok(())
        })?;
        frames.finish(&names, each);
        Ok(())
    }
}
