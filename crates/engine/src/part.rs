//! A part of a recording, asked as if it were all of it.

use crate::read::{Accounted, account, rules};
use crate::session::{Kind, Part};
use crate::tables::Made;
use crate::{EngineError, Infer, PassOptions, Session, Summary};
use account::{Accountant, Laws, Totals};
use model::{Batch, InferredStretch, Ns, Span};

impl Session {
    /// The same trace, of which only this part is told: its sums, the tables of its stretches, its frames.
    ///
    /// # Errors
    /// The trace cannot be read, or nothing of it lies there.
    pub fn of_part(mut self, span: Span) -> Result<Self, EngineError> {
        let end = Ns(self.whole.span_ns);
        let Some(span) = span.overlap(Span { start: Ns::ZERO, end }) else {
            let path = self.path().display();
            let seconds = |at: Ns| at.0 as f64 / 1e9;
            return Err(EngineError::Other(format!(
                "{path}: nothing of it lies in {:.6}s..{:.6}s: it lasts {:.6} s",
                seconds(span.start),
                seconds(span.end),
                seconds(end)
            )));
        };
        let totals = self.sums_within(span)?;
        let laws = Laws::of(&totals)?;
        let mut summary = self.whole.clone();
        summary.sums(&totals, &laws);
        if self.whole.frames > 0 {
            summary.frames = 0;
            self.frames(&mut |frame| summary.frames += u64::from(frame.span().overlap(span).is_some()))?;
        }
        self.part = Some(Box::new(Part { span, totals, summary }));
        // What was made so far is of the whole.
        self.made = Made::default();
        Ok(self)
    }

    /// Which part is told, where it is not all of the recording.
    #[must_use]
    pub fn part(&self) -> Option<Span> {
        self.part.as_ref().map(|part| part.span)
    }

    /// Counts, sums and laws of all of the recording, also where only a part of it is told.
    #[must_use]
    pub fn whole(&self) -> &Summary {
        &self.whole
    }

    /// The sums of a part: the same accounting of all events, summed only there.
    pub(crate) fn sums_within(&self, span: Span) -> Result<Totals, EngineError> {
        // Switches at the very end are of a part that reaches there.
        let end = if span.end.0 >= self.whole.span_ns { Ns::MAX } else { span.end };
        let within = Some(Span { end, ..span });
        match self.kind() {
            Kind::Source(of) => {
                let options = PassOptions { within, ..of.again(self.options()) };
                account(of.source.as_ref(), &options).map(|Accounted { totals, .. }| totals)
            }
            Kind::Folder(_, filled) => {
                let options = PassOptions { within, infer: Infer::No, ..self.options().clone() };
                let mut totals = self.sums_of_events(&options)?;
                if let Some(filled) = filled {
                    let inside = |s: &InferredStretch| Some(InferredStretch { span: s.span.overlap(span)?, ..*s });
                    totals.inferred = filled.totals.inferred.iter().filter_map(inside).collect();
                    totals = totals.with_inferred();
                }
                Ok(totals)
            }
        }
    }

    /// Of a folder, by its events: twice, where some were lost.
    fn sums_of_events(&self, options: &PassOptions) -> Result<Totals, EngineError> {
        let mut losses = None;
        loop {
            let mut accountant = Accountant::new(rules(self.facts(), losses.take(), options));
            let (mut batch, mut told) = (Batch::default(), 0);
            self.events(&mut |events, names| {
                batch.clear();
                batch.events.extend_from_slice(events);
                batch.names.extend_from_slice(&names[told..]);
                told = names.len();
                accountant.push(&batch, &mut ());
                Ok(())
            })?;
            let totals = accountant.finish(&mut ());
            if totals.lossy_complete {
                return Ok(totals);
            }
            losses = Some(totals.loss_index());
        }
    }
}
