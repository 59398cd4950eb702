//! What a request may ask for. Words that are no such question are answered with a sentence, and numbers have bounds.

use model::{Ns, Span};
use serde::Deserialize;
use std::ops::RangeInclusive;

/// Tracks at once: no screen shows more, and what one answer takes stays small.
const MOST_TRACKS: u32 = 512;
/// A track's pixels at once: a wall of screens.
const MOST_PIXELS: i64 = 1 << 15;
/// Tracks times pixels: with two slices a pixel, an answer's memory is bounded by some 60 MB.
const MOST_AREA: i64 = 1 << 19;

/// A part of a recording at a width.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Slices {
    /// `thread`, `cpu`, or the name of a kind.
    pub(crate) kind: String,
    first: u32,
    last: u32,
    from: i64,
    to: i64,
    /// Of a pixel, ns.
    pub(crate) width: i64,
}

impl Slices {
    /// Which time and which tracks; or why not.
    pub(crate) fn wanted(&self) -> Result<(Span, RangeInclusive<u32>), String> {
        let time = self.to.checked_sub(self.from).filter(|time| *time > 0);
        let time = time.ok_or("`to` must be behind `from`")?;
        let tracks = self.last.checked_sub(self.first).ok_or("`last` must not be before `first`")?;
        if tracks >= MOST_TRACKS {
            return Err(format!("these are {} tracks; ask for {MOST_TRACKS} at most", u64::from(tracks) + 1));
        }
        if self.width < 1 {
            return Err("`width` is the time of a pixel, 1 ns at least".into());
        }
        let pixels = (time / self.width).saturating_add(1);
        if pixels > MOST_PIXELS || pixels.saturating_mul(i64::from(tracks + 1)) > MOST_AREA {
            return Err(format!(
                "these are {} tracks of {pixels} pixels; ask for {MOST_PIXELS} pixels a track and {MOST_AREA} in all at most",
                tracks + 1
            ));
        }
        Ok((Span { start: Ns(self.from), end: Ns(self.to) }, self.first..=self.last))
    }
}

/// Threads by their tracks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Threads {
    pub(crate) first: usize,
    pub(crate) last: usize,
}

/// Rows of a table that overlap a time.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rows {
    from: i64,
    to: i64,
    /// Only those of a thread, by its key.
    pub(crate) thread: Option<i64>,
    /// Only those of a CPU.
    pub(crate) cpu: Option<i64>,
}

impl Rows {
    /// Which time; or why not.
    pub(crate) fn span(&self) -> Result<Span, String> {
        if self.from >= self.to {
            return Err("`to` must be behind `from`".into());
        }
        Ok(Span { start: Ns(self.from), end: Ns(self.to) })
    }
}
