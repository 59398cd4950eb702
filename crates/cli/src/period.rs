//! Options that select a part of a recording.

use crate::args::range;
use crate::failure::Failure;
use engine::Session;
use model::Span;

/// The selected part of a recording.
#[derive(Debug, clap::Args)]
pub struct Period {
    /// Use only this part of the recording, such as 1.5s..2s, ..10s or 30s.. (times since its start)
    #[arg(long, value_name = "FROM..TO", value_parser = range, group = "period")]
    range: Option<Span>,
    /// Use only the time of the mark NAME. If several have this name, N selects one in order of their end, as in the table mark_stretches
    #[arg(long, value_name = "NAME[#N]", group = "period")]
    mark: Option<String>,
    /// Use only frame N of the frame log (row number, from 0): from its begin to the begin of the next frame
    #[arg(long, value_name = "N", group = "period")]
    frame: Option<i64>,
}

impl Period {
    /// Returns the option as the user would type it in a shell.
    pub fn as_option(&self) -> Option<String> {
        let seconds = |at: model::Ns| format!("{}s", at.0 as f64 / 1e9);
        match (&self.mark, self.frame, self.range) {
            (Some(mark), ..) => Some(format!("--mark '{}'", mark.replace('\'', "'\\''"))),
            (None, Some(frame), _) => Some(format!("--frame {frame}")),
            (None, None, Some(Span { start, end })) => {
                let end = if end == model::Ns::MAX { String::new() } else { seconds(end) };
                Some(format!("--range {}..{end}", seconds(start)))
            }
            (None, None, None) => None,
        }
    }

    /// Returns the selected time; `None` selects the whole recording.
    ///
    /// # Errors
    /// There is no such mark or frame, or several marks match; the message lists them.
    pub fn span(&self, session: &Session) -> Result<Option<Span>, Failure> {
        Ok(match (&self.mark, self.frame) {
            (Some(mark), _) => Some(session.marked_span(mark)?),
            (None, Some(frame)) => Some(session.frame_span(frame)?),
            (None, None) => self.range,
        })
    }
}
