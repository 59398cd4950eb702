//! Of which part of a recording a command tells.

use crate::args::range;
use crate::failure::Failure;
use engine::Session;
use model::Span;

/// A part of a recording.
#[derive(Debug, clap::Args)]
pub struct Period {
    /// Only this part of the recording, as 1.5s..2s, ..10s or 30s..
    #[arg(long, value_name = "FROM..TO", value_parser = range, group = "period")]
    range: Option<Span>,
    /// Only the stretch that a program marked so; of several, the N-th in order of end, as the table mark_stretches has them
    #[arg(long, value_name = "NAME[#N]", group = "period")]
    mark: Option<String>,
    /// Only this frame of the frame log, from its begin to that of the next: which row of the log, from 0
    #[arg(long, value_name = "N", group = "period")]
    frame: Option<i64>,
}

impl Period {
    /// How it was asked for, as a shell takes it.
    pub fn words(&self) -> Option<String> {
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

    /// When it was; all of the recording, where nothing was said.
    ///
    /// # Errors
    /// There is no such mark or frame, or there are several: which there are is told.
    pub fn span(&self, session: &Session) -> Result<Option<Span>, Failure> {
        Ok(match (&self.mark, self.frame) {
            (Some(mark), _) => Some(session.marked_span(mark)?),
            (None, Some(frame)) => Some(session.frame_span(frame)?),
            (None, None) => self.range,
        })
    }
}
