//! A progress line on standard error, on a terminal only.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// The interval between updates.
const INTERVAL: Duration = Duration::from_millis(200);

/// A progress line, erased when dropped.
pub struct Line {
    shown: bool,
    /// When it was last written; `None` if standard error is not a terminal.
    last: Option<Instant>,
}

impl Line {
    /// Creates a progress line; it stays silent unless standard error is a terminal.
    pub fn new() -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        Self { shown: false, last: is_terminal.then(Instant::now) }
    }

    /// Shows the text of `message`, at most once per interval.
    pub fn show(&mut self, message: impl FnOnce() -> String) {
        let Some(last) = self.last.filter(|l| l.elapsed() >= INTERVAL || !self.shown) else { return };
        let _ = last;
        let mut err = std::io::stderr().lock();
        let _ = write!(err, "\r\u{1b}[K{}", message());
        let _ = err.flush();
        (self.last, self.shown) = (Some(Instant::now()), true);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr().lock(), "\r\u{1b}[K");
        }
    }
}

/// Shows the progress of an import.
pub fn show_import(line: &mut Line, p: engine::Progress) {
    line.show(|| match p.stretches {
        false => format!("Reading: {} events", p.events),
        true => format!("{} events read; writing stretches", p.events),
    });
}

/// Shows the progress of an export.
pub fn show_export(line: &mut Line, written: u64) {
    line.show(|| format!("Writing: {written} rows"));
}
