//! Levels of detail: what can be drawn of a trace at any zoom, read in the time that a picture may take.
//!
//! A **track** is what one thread or one CPU did; its stretches follow one another. At a **width** (the time of a pixel) every
//! stretch at least so long stays what it is; shorter ones that follow each other are told together, as one [`Slice`] of
//! their own interval, which says the state that took most of it, for how long, and how many stretches they were:
//!
//! ```text
//!  stretches   |rrrrrrrrrrr|b|r|b|r|b|bbbbbbbbbbbbb|r|b|r|
//!  width ──►   |rrrrrrrrrrr|  b: 3 of 5  |bbbbbbbbb| r: 2 of 3
//! ```
//!
//! [`Writer`] makes all levels in one pass over stretches in order of start; level 0 holds the stretches themselves, each next
//! one is of twice the width before. [`Reader`] answers a time, a width and some tracks from the blocks that hold them.
//!
//! The file is corewise's own and no table: Parquet, whose row groups must be thousands of times larger than a screen's row
//! of pixels to pay for its footer and column headers, costs more to open than a block of ours costs to read. It is made anew
//! from `states/` whenever it is not there or not of this trace, so no other tool needs to read it.

mod block;
mod error;
mod fold;
mod index;
mod read;
mod write;

pub use error::Error;
pub use fold::Fold;
pub use read::Reader;
pub use write::Writer;

/// What the writer is told: a thread or a CPU was in one state for a while.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stretch {
    /// Whose.
    pub track: u32,
    /// First instant, ns.
    pub start: i64,
    /// First instant after it, ns.
    pub end: i64,
    /// Which state; the numbers are the caller's.
    pub state: u8,
    /// A thread's CPU, a CPU's thread; −1 where there is none.
    pub what: i64,
}

/// A part of a track that is drawn as one: a stretch, or short stretches that follow one another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slice {
    /// Whose.
    pub track: u32,
    /// First instant, ns.
    pub start: i64,
    /// First instant after it, ns.
    pub end: i64,
    /// The state that takes most of it; of equal ones the lower number.
    pub state: u8,
    /// For how long, ns.
    pub state_ns: i64,
    /// The CPU, or the thread, that takes most of that state's time; of equal ones the lower number.
    pub what: i64,
    /// For how long, ns.
    pub what_ns: i64,
    /// Of how many stretches.
    pub stretches: u32,
}

impl From<Stretch> for Slice {
    fn from(s: Stretch) -> Self {
        let len = s.end.saturating_sub(s.start);
        Self {
            track: s.track,
            start: s.start,
            end: s.end,
            state: s.state,
            state_ns: len,
            what: s.what,
            what_ns: len,
            stretches: 1,
        }
    }
}
