//! The parameters of requests. Invalid ones are answered with a message, and numbers have limits.

use model::{Ns, Span, ThreadKey, ThreadState};
use serde::Deserialize;
use std::ops::RangeInclusive;

/// The maximum number of tracks in an answer: no screen shows more.
const MAX_TRACKS: u32 = 512;
/// The maximum number of pixels per track: more than any screen has.
const MAX_PIXELS: i64 = 1 << 15;
/// The maximum of tracks times pixels: with two slices per pixel, an answer takes at most about 60 MB.
const MAX_AREA: i64 = 1 << 19;

/// A request for slices of some tracks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Slices {
    /// `thread`, `cpu`, or the name of a kind.
    pub(crate) kind: String,
    first: u32,
    last: u32,
    from: i64,
    to: i64,
    /// The time of a pixel, in ns.
    pub(crate) width: i64,
}

impl Slices {
    /// Returns the time range and the tracks, or an error message.
    pub(crate) fn validated(&self) -> Result<(Span, RangeInclusive<u32>), String> {
        let time = self.to.checked_sub(self.from).filter(|time| *time > 0);
        let time = time.ok_or("`to` must be greater than `from`")?;
        let tracks = self.last.checked_sub(self.first).ok_or("`last` must not be less than `first`")?;
        if tracks >= MAX_TRACKS {
            return Err(format!("{} tracks were requested; the maximum is {MAX_TRACKS}", u64::from(tracks) + 1));
        }
        if self.width < 1 {
            return Err("`width`, the time of a pixel, must be at least 1 ns".into());
        }
        let pixels = (time / self.width).saturating_add(1);
        if pixels > MAX_PIXELS || pixels.saturating_mul(i64::from(tracks + 1)) > MAX_AREA {
            return Err(format!(
                "{} tracks of {pixels} pixels were requested; the maximum is {MAX_PIXELS} pixels per track and {MAX_AREA} pixels in total",
                tracks + 1
            ));
        }
        Ok((Span { start: Ns(self.from), end: Ns(self.to) }, self.first..=self.last))
    }
}

/// A request for threads by their tracks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Threads {
    pub(crate) first: usize,
    pub(crate) last: usize,
}

/// A request for rows of a table that overlap a time range.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rows {
    from: i64,
    to: i64,
    /// Only rows of this thread (key).
    pub(crate) thread: Option<ThreadKey>,
    /// Only rows of this CPU.
    pub(crate) cpu: Option<i64>,
    /// Only rows whose thread was woken by this thread (key).
    pub(crate) waker: Option<ThreadKey>,
}

impl Rows {
    /// Returns the time range, or an error message.
    pub(crate) fn span(&self) -> Result<Span, String> {
        span(self.from, self.to)
    }
}

fn span(from: i64, to: i64) -> Result<Span, String> {
    if from >= to {
        return Err("`to` must be greater than `from`".into());
    }
    Ok(Span { start: Ns(from), end: Ns(to) })
}

/// A request for the first rows of a table for a part of the recording.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    from: i64,
    to: i64,
    most: usize,
    /// The column to sort by; by default the table's order.
    pub(crate) by: Option<String>,
    /// Whether to sort in descending order.
    #[serde(default)]
    pub(crate) down: bool,
}

impl Part {
    /// Returns the time range and the number of rows, or an error message.
    pub(crate) fn validated(&self) -> Result<(Span, usize), String> {
        Ok((span(self.from, self.to)?, max_rows(self.most)?))
    }
}

/// The maximum number of rows.
const MAX_ROWS: usize = 10_000;

fn max_rows(rows: usize) -> Result<usize, String> {
    match rows {
        1..=MAX_ROWS => Ok(rows),
        _ => Err(format!("`most`, the number of rows, must be from 1 to {MAX_ROWS}")),
    }
}

/// A request for the chain of wakeups that led to a thread.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Chain {
    /// The thread's key.
    pub(crate) thread: ThreadKey,
    pub(crate) at: i64,
}

/// A search for stretches of threads.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hits {
    from: i64,
    to: i64,
    most: usize,
    pub(crate) state: Option<String>,
    /// Longer than this, in ns.
    pub(crate) longer: Option<i64>,
    /// A part of the thread's name, in upper or lower case.
    pub(crate) name: Option<String>,
    pub(crate) tid: Option<i64>,
    pub(crate) pid: Option<i64>,
    pub(crate) cpu: Option<i64>,
    pub(crate) core: Option<i64>,
    /// A part of the name of the CPU's core type.
    #[serde(rename = "type")]
    pub(crate) kind: Option<String>,
}

impl Hits {
    /// Returns the time range and the number of rows, or an error message.
    pub(crate) fn validated(&self) -> Result<(Span, usize), String> {
        let states = ThreadState::ALL.map(ThreadState::as_str);
        if let Some(state) = self.state.as_deref().filter(|state| !states.contains(state)) {
            return Err(format!("unknown state {state}; the states are {}", states.join(", ")));
        }
        Ok((span(self.from, self.to)?, max_rows(self.most)?))
    }
}
