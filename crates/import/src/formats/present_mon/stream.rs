//! From rows to events.

use super::checks::Checks;
use super::rows::{Bad, Reader};
use crate::text::Lines;
use crate::text::frames::Told;
use ingest::{Fatal, Ledger, Reach, Stream, Trouble};
use model::{Batch, MaybeNs, Present};

/// The frames of a log.
pub(super) struct Frames<'a> {
    lines: Lines<'a>,
    reader: Reader,
    checks: Checks,
    told: Told,
}

impl<'a> Frames<'a> {
    /// `lines` stand behind the head.
    pub(super) fn new(lines: Lines<'a>, reader: Reader) -> Self {
        Self { lines, reader, checks: Checks::default(), told: Told::new() }
    }

    fn row(&mut self, line: &[u8], offset: u64, out: &mut Batch, bad: &mut dyn Ledger) {
        let row = match self.reader.read(line) {
            Ok(row) => row,
            Err(why) => {
                let why = match why {
                    Bad::TooManyCells => "a row has more cells than the log has columns",
                    Bad::NoTime => "a row does not say when its frame was",
                };
                bad.trouble(why, offset, Trouble::Lost);
                return self.told.passed();
            }
        };
        if row.unreadable > 0 {
            bad.trouble("a cell that should be a number is none", offset, Trouble::Odd);
        }
        self.checks.row(&row, offset, bad);
        let present = Present {
            frame: 0,
            swap_chain: row.swap_chain,
            pid: row.pid,
            application: self.told.name(row.application, out),
            mode: self.told.name(row.mode, out),
            displayed: row.displayed,
        };
        self.told.frame(row.begin, present, &row.parts, offset, out);
    }
}

impl Stream for Frames<'_> {
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal> {
        // The lines are lent out while a row is read.
        let mut line = Vec::new();
        while let Some(next) = self.lines.peek()? {
            if Told::is_full(out) {
                return Ok(Reach::Until(MaybeNs::new(self.told.until())));
            }
            let (offset, cut) = (next.offset, next.cut);
            line.clear();
            line.extend_from_slice(next.bytes.trim_ascii());
            self.lines.take();
            if cut {
                bad.trouble("a line longer than 256 KiB was cut", offset, Trouble::Odd);
            }
            if !line.is_empty() {
                self.row(&line, offset, out, bad);
            }
        }
        self.told.end(out);
        Ok(Reach::End)
    }
}
