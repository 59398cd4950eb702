//! Turns rows into events.

use super::checks::Checks;
use super::rows::{Reader, Row, RowError};
use crate::text::Lines;
use crate::text::frames::FrameWriter;
use ingest::{Anomaly, Fatal, Ledger, Reach, Stream};
use model::{Batch, MaybeNs, Ns, Present};

/// The frames of a log.
pub(super) struct Frames<'a> {
    lines: Lines<'a>,
    reader: Reader,
    writer: RowWriter,
}

impl<'a> Frames<'a> {
    /// `lines` start after the header.
    pub(super) fn new(lines: Lines<'a>, reader: Reader) -> Self {
        Self { lines, reader, writer: RowWriter::new() }
    }
}

/// Checks rows, and writes them as events.
pub(in crate::formats) struct RowWriter {
    checks: Checks,
    frames: FrameWriter,
}

impl RowWriter {
    pub(in crate::formats) fn new() -> Self {
        Self { checks: Checks::default(), frames: FrameWriter::new() }
    }

    /// Adds the next row.
    pub(in crate::formats) fn row(
        &mut self,
        read: Result<Row<'_>, RowError>,
        offset: u64,
        out: &mut Batch,
        bad: &mut dyn Ledger,
    ) {
        let row = match read {
            Ok(row) => row,
            Err(why) => {
                let why = match why {
                    RowError::TooManyCells => "a row has more cells than the log has columns",
                    RowError::NoTime => "a row contains no time of its frame",
                };
                bad.anomaly(why, offset, Anomaly::Lost);
                return self.frames.skip_row();
            }
        };
        if row.unreadable > 0 {
            bad.anomaly("a cell has no number, or a number that cannot be a time", offset, Anomaly::Warning);
        }
        self.checks.row(&row, offset, bad);
        let present = Present {
            frame: 0,
            swap_chain: row.swap_chain,
            pid: row.pid,
            application: self.frames.name(row.application, out),
            mode: self.frames.name(row.mode, out),
            displayed: row.displayed,
        };
        self.frames.frame(row.begin, present, &row.parts, offset, out);
    }

    /// Starts a part of the log in which no frame follows one before.
    pub(in crate::formats) fn start_anew(&mut self) {
        self.checks = Checks::default();
    }

    /// The time before which no more events will come, if rows are in the usual order.
    pub(in crate::formats) fn until(&self) -> Ns {
        self.frames.until()
    }

    /// Adds an event at the end of the last frame.
    pub(in crate::formats) fn end(&self, out: &mut Batch) {
        self.frames.end(out);
    }
}

impl Stream for Frames<'_> {
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal> {
        // A copy, since the row borrows from the line while `self` is modified.
        let mut line = Vec::new();
        while let Some(next) = self.lines.peek()? {
            if FrameWriter::is_full(out) {
                return Ok(Reach::Until(MaybeNs::new(self.writer.until())));
            }
            let (offset, cut) = (next.offset, next.cut);
            line.clear();
            line.extend_from_slice(next.bytes.trim_ascii());
            self.lines.take();
            if cut {
                bad.anomaly("a line longer than 256 KiB was cut", offset, Anomaly::Warning);
            }
            if !line.is_empty() {
                self.writer.row(self.reader.read(&line), offset, out, bad);
            }
        }
        self.writer.end(out);
        Ok(Reach::End)
    }
}
