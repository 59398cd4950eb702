//! A line that is written over while something takes long; on a terminal only.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// How often the line changes.
const EVERY: Duration = Duration::from_millis(200);

/// The line.
pub struct Line {
    shown: bool,
    /// When it was written last; `None`: it may not be.
    last: Option<Instant>,
}

impl Line {
    /// A line, if standard error is a terminal.
    pub fn new() -> Self {
        let there = std::io::stderr().is_terminal();
        Self { shown: false, last: there.then(Instant::now) }
    }

    /// Shows what `words` says, now and then.
    pub fn show(&mut self, words: impl FnOnce() -> String) {
        let Some(last) = self.last.filter(|l| l.elapsed() >= EVERY || !self.shown) else { return };
        let _ = last;
        let mut err = std::io::stderr().lock();
        let _ = write!(err, "\r\u{1b}[K{}", words());
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

/// What an import shows.
pub fn of_import(line: &mut Line, p: engine::Progress) {
    line.show(|| match p.stretches {
        false => format!("reading: {} events", p.events),
        true => format!("{} events read; writing what each thread did", p.events),
    });
}

/// What the making of levels of detail shows.
pub fn of_levels(line: &mut Line, read: u64) {
    line.show(|| format!("preparing the trace for all zooms: {read} stretches"));
}

/// What an export shows.
pub fn of_export(line: &mut Line, written: u64) {
    line.show(|| format!("writing: {written} rows"));
}
