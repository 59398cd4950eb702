//! Options that select a part of a recording.

use crate::args::range;
use crate::failure::Failure;
use engine::{IntervalName, Redact, Session};
use model::{Ns, Span, ThreadKey};

/// A part of a recording: by its times, or by what was found in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Range {
    /// From a time to another.
    Times(Span),
    /// A period, a request or a parallel region.
    Of(IntervalName),
}

impl Range {
    /// Parses `1.5s..2s` or `period:THREAD#N`.
    ///
    /// # Errors
    /// The message for the user.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(name) => Ok(Self::Of(name)),
            // Times have no colon.
            Err(why) if text.contains(':') => Err(why),
            Err(_) => range(text).map(Self::Times),
        }
    }

    /// Returns its times.
    ///
    /// # Errors
    /// The trace has no such interval; the message states which ones it has.
    pub fn span(&self, session: &Session) -> Result<Span, Failure> {
        Ok(match self {
            Self::Times(span) => *span,
            Self::Of(name) => session.interval(name)?.span,
        })
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = |at: Ns| format!("{}s", at.0 as f64 / 1e9);
        match self {
            Self::Times(Span { start, end: Ns::MAX }) => write!(out, "{}..", seconds(*start)),
            Self::Times(Span { start, end }) => write!(out, "{}..{}", seconds(*start), seconds(*end)),
            Self::Of(name) => write!(out, "{name}"),
        }
    }
}

/// The selected part of a recording.
#[derive(Debug, clap::Args)]
pub struct Period {
    /// Use only this part of the recording, such as 1.5s..2s, ..10s or 30s.. (times since its start), or only one of what the tables
    /// periods, requests and parallel_regions list: period:THREAD#N, request:THREAD#N or region:NAME#N. THREAD is a name or TID; N
    /// counts in the order of the table
    #[arg(long, value_name = "FROM..TO|KIND:NAME#N", value_parser = Range::parse, group = "period")]
    range: Option<Range>,
    /// Use only the time of the mark NAME. If several have this name, N selects one in order of their end, as in the table mark_stretches
    #[arg(long, value_name = "NAME[#N]", group = "period")]
    mark: Option<String>,
    /// Use only frame N of the frame log (row number, from 0): from its begin to the begin of the next frame
    #[arg(long, value_name = "N", group = "period")]
    frame: Option<i64>,
}

impl Period {
    /// Returns the option as the user would type it in a shell; the times, if it has a name that the session does not show.
    pub fn as_option(&self, session: &Session) -> Option<String> {
        let is_named = self.mark.is_some() || matches!(self.range, Some(Range::Of(_)));
        if is_named && session.redaction().is_some_and(|of| of.level() == Redact::Names) {
            return session.range().map(|span| format!("--range {}", Range::Times(span)));
        }
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
        match (&self.mark, self.frame, &self.range) {
            (Some(mark), ..) => Some(format!("--mark {}", quoted(mark))),
            (None, Some(frame), _) => Some(format!("--frame {frame}")),
            (None, None, Some(range @ Range::Times(_))) => Some(format!("--range {range}")),
            (None, None, Some(range)) => Some(format!("--range {}", quoted(&range.to_string()))),
            (None, None, None) => None,
        }
    }

    /// Returns the selected time; `None` selects the whole recording.
    ///
    /// # Errors
    /// There is no such mark, frame or interval, or several match; the message lists them.
    pub fn span(&self, session: &Session) -> Result<Option<Span>, Failure> {
        self.selected(session).map(|selected| selected.map(|(span, _)| span))
    }

    /// [`Self::span`], and the thread that does the work of the selected interval, with which its critical path ends.
    ///
    /// # Errors
    /// As [`Self::span`].
    pub fn selected(&self, session: &Session) -> Result<Option<(Span, ThreadKey)>, Failure> {
        let of_no_thread = |span| (span, ThreadKey::UNKNOWN);
        Ok(match (&self.mark, self.frame, &self.range) {
            (Some(mark), ..) => Some(of_no_thread(session.marked_span(mark)?)),
            (None, Some(frame), _) => Some(of_no_thread(session.frame_span(frame)?)),
            (None, None, Some(Range::Of(name))) => {
                let found = session.interval(name)?;
                Some((found.span, found.thread))
            }
            (None, None, Some(Range::Times(span))) => Some(of_no_thread(*span)),
            (None, None, None) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_of_times_or_of_an_interval() {
        let times = |start, end| Ok(Range::Times(Span { start: Ns(start), end: Ns(end) }));
        assert_eq!(Range::parse("1.5s..2s"), times(1_500_000_000, 2_000_000_000));
        for named in ["period:game#3", "request:42", "region:a:b..c#1"] {
            assert_eq!(Range::parse(named).map(|range| range.to_string()), Ok(named.to_owned()));
        }
        for bad in ["period:", "frame:x#1", "periods:game#1", "x"] {
            assert!(Range::parse(bad).is_err(), "{bad}");
        }
        assert!(Range::parse("frame:x").unwrap_err().contains("expected period:THREAD#N"));
    }
}
