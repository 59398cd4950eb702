//! Limits a session to a part of its recording.

use crate::read::folder::account_events;
use crate::read::{Accounted, account};
use crate::session::{Kind, RangeSums};
use crate::tables::TableCache;
use crate::{EngineError, Infer, PassOptions, Session, Summary};
use account::{Laws, Totals};
use model::{InferredStretch, Ns, Span};

impl Session {
    /// Limits the trace to a part: its sums, the tables of its stretches, its frames.
    ///
    /// ```
    /// use engine::{PassOptions, Session};
    /// use model::{Ns, Span};
    ///
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/fixtures/ftrace_text/trace.txt");
    /// # let path = std::path::Path::new(path);
    /// let session = Session::open(path, PassOptions::default())?.limited_to(Span::new(Ns(0), Ns(1_000_000)))?;
    /// assert_eq!(session.summary().span_ns, 1_000_000);
    /// assert!(session.summary().events <= session.full_summary().events);
    /// // A part must overlap the recording.
    /// let end = Ns(session.full_summary().span_ns);
    /// assert!(session.limited_to(Span::new(end, Ns::MAX)).is_err());
    /// # Ok::<(), engine::EngineError>(())
    /// ```
    ///
    /// # Errors
    /// The trace cannot be read, or the part lies outside of it.
    pub fn limited_to(mut self, span: Span) -> Result<Self, EngineError> {
        let end = Ns(self.whole.span_ns);
        let Some(span) = span.overlap(Span { start: Ns::ZERO, end }) else {
            let path = self.path().display();
            let seconds = |at: Ns| at.0 as f64 / 1e9;
            return Err(EngineError::Unfit(format!(
                "{path}: the range {:.6}s..{:.6}s is outside the recording, which lasts {:.6} s; times without a unit are in seconds (also: 30ms..40ms)",
                seconds(span.start),
                seconds(span.end),
                seconds(end)
            )));
        };
        let totals = self.sums_within(span)?;
        let laws = Laws::check(&totals)?;
        let mut summary = self.whole.clone();
        summary.set_sums(&totals, &laws);
        if self.whole.frames > 0 {
            summary.frames = 0;
            self.frames(&mut |frame| summary.frames += u64::from(frame.span().overlap(span).is_some()))?;
        }
        self.part = Some(Box::new(RangeSums { span, totals, summary }));
        // The tables made so far are those of the whole recording.
        self.cache = TableCache::default();
        Ok(self)
    }

    /// The part to which the session is limited; `None` for the whole recording.
    #[must_use]
    pub fn range(&self) -> Option<Span> {
        self.part.as_ref().map(|part| part.span)
    }

    /// Whether samples are all that the trace has of what threads did. Without switches, it is unknown when they ran and for what they
    /// waited.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn is_of_samples(&self) -> Result<bool, EngineError> {
        use model::tables::threads::{BLOCKED_NS, EXITED_NS, INVOLUNTARY, RUNNING_NS, Table, VOLUNTARY};
        let mut is_known = self.facts().sampled.is_none() || self.whole.switches > 0;
        if !is_known {
            // Switches of single threads may have no CPU.
            self.each(Table, |row| {
                is_known |= row.all([RUNNING_NS, BLOCKED_NS, EXITED_NS]).iter().any(|ns| *ns > Ns::ZERO)
                    || row.all([INVOLUNTARY, VOLUNTARY]).iter().any(|n| *n > 0);
            })?;
        }
        Ok(!is_known)
    }

    /// Counts, sums and laws of the whole recording, even if the session is limited to a part.
    #[must_use]
    pub fn full_summary(&self) -> &Summary {
        &self.whole
    }

    /// Returns the time before which events belong to a part (`None`: the whole recording). A part has no events at its own end, except
    /// where the recording ends, too: its last event belongs to the part that reaches it.
    #[must_use]
    pub fn events_until(&self, part: Option<Span>) -> Ns {
        part.map(|part| part.end).filter(|end| end.0 < self.whole.span_ns).unwrap_or(Ns::MAX)
    }

    /// The sums of a part: all events are accounted for, but only this part is summed.
    pub(crate) fn sums_within(&self, span: Span) -> Result<Totals, EngineError> {
        let within = Some(Span { end: self.events_until(Some(span)), ..span });
        match self.kind() {
            Kind::Source(of) => {
                let options = PassOptions { within, ..of.reread_options(self.options()) };
                account(of.source.as_ref(), &options).map(|Accounted { totals, .. }| totals)
            }
            Kind::Folder(folder, filled) => {
                let options = PassOptions { within, infer: Infer::No, ..self.options().clone() };
                let (mut totals, ()) = account_events(folder, self.facts(), &options, || ())?;
                if let Some(filled) = filled {
                    let inside = |s: &InferredStretch| Some(InferredStretch { span: s.span.overlap(span)?, ..*s });
                    totals.inferred = filled.totals.inferred.iter().filter_map(inside).collect();
                    totals = totals.with_inferred();
                }
                Ok(totals)
            }
        }
    }
}
