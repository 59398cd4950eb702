//! What a request may ask for. Words that are no such question are answered with a sentence, and numbers have bounds.

use model::{Ns, Span, ThreadState};
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
    /// Only those whose thread this one woke, by its key.
    pub(crate) waker: Option<i64>,
}

impl Rows {
    /// Which time; or why not.
    pub(crate) fn span(&self) -> Result<Span, String> {
        span(self.from, self.to)
    }
}

fn span(from: i64, to: i64) -> Result<Span, String> {
    if from >= to {
        return Err("`to` must be behind `from`".into());
    }
    Ok(Span { start: Ns(from), end: Ns(to) })
}

/// The first rows of a table of a part of the recording.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    from: i64,
    to: i64,
    most: usize,
    /// By this column; without, in the order of the table.
    pub(crate) by: Option<String>,
    /// The largest first.
    #[serde(default)]
    pub(crate) down: bool,
}

impl Part {
    /// Which time, and how many rows; or why not.
    pub(crate) fn wanted(&self) -> Result<(Span, usize), String> {
        Ok((span(self.from, self.to)?, most(self.most)?))
    }
}

/// So many rows: more than anybody reads.
const MOST_FIRST: usize = 10_000;

fn most(rows: usize) -> Result<usize, String> {
    match rows {
        1..=MOST_FIRST => Ok(rows),
        _ => Err(format!("`most` is a number of rows from 1 to {MOST_FIRST}")),
    }
}

/// How a thread came to run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Chain {
    /// Its key.
    pub(crate) thread: i64,
    pub(crate) at: i64,
}

/// Stretches of threads that are searched for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hits {
    from: i64,
    to: i64,
    most: usize,
    pub(crate) state: Option<String>,
    /// Longer than this, ns.
    pub(crate) longer: Option<i64>,
    /// A part of the thread's name, in any case of its letters.
    pub(crate) name: Option<String>,
    pub(crate) tid: Option<i64>,
    pub(crate) pid: Option<i64>,
    pub(crate) cpu: Option<i64>,
    pub(crate) core: Option<i64>,
    /// A part of the name of the CPU's type.
    #[serde(rename = "type")]
    pub(crate) kind: Option<String>,
}

impl Hits {
    /// Which time, and how many rows; or why not.
    pub(crate) fn wanted(&self) -> Result<(Span, usize), String> {
        let states = ThreadState::ALL.map(ThreadState::as_str);
        if let Some(state) = self.state.as_deref().filter(|state| !states.contains(state)) {
            return Err(format!("no state is called {state}; there are {}", states.join(", ")));
        }
        Ok((span(self.from, self.to)?, most(self.most)?))
    }
}
