//! Tables of frames, made of the events of a frame log as they come.

use super::rows::Batches;
use crate::{EngineError, Session};
use analysis::frames::{Frame, FrameSums, Frames};
use model::{Rows as _, Span, TableDef, tables};

impl Session {
    /// The rows of one of them; of a part, of the frames that overlap it.
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

    /// When the frame was that is this row of its log.
    ///
    /// # Errors
    /// The trace cannot be read, or the number is that of no frame, or of frames of several logs: which there are is told.
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
                Err(EngineError::Other(format!("{path}: it has no frame log; --mark takes marked stretches")))
            }
            [] => Err(EngineError::Other(format!("{path}: no frame is row {row} of its log; the last one is {last}"))),
            _ => Err(EngineError::Other(format!(
                "{path}: frames of several logs are row {row}: say when with --range (`corewise table {path} frames` lists them)"
            ))),
        }
    }

    /// Every frame, in order of begin.
    pub(crate) fn frames(&self, each: &mut dyn FnMut(&Frame<'_>)) -> Result<(), EngineError> {
        let mut frames = Frames::default();
        let mut names: Vec<Box<str>> = Vec::new();
        self.events(&mut |events, told| {
            frames.push(events, told, each);
            names.extend(told.iter().skip(names.len()).cloned());
            Ok(())
        })?;
        frames.finish(&names, each);
        Ok(())
    }
}
