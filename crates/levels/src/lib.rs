//! Levels of detail: the slices to draw at any zoom, read fast enough for interactive use.
//!
//! A **track** has the stretches of one thread or one CPU, in order. At a **width** (the time of a pixel), every stretch at least
//! that long is kept. Shorter consecutive ones are merged into one [`Slice`] of their own interval, with the state that took most
//! of it, the time in that state, and the number of stretches:
//!
//! ```text
//!  stretches   |rrrrrrrrrrr|b|r|b|r|b|bbbbbbbbbbbbb|r|b|r|
//!  width ──►   |rrrrrrrrrrr|  b: 3 of 5  |bbbbbbbbb| r: 2 of 3
//! ```
//!
//! A track may have a **value** instead (a frequency, a count). It is drawn as a [`Step`] with the minimum, the maximum and the mean
//! over its own interval.
//!
//! [`Writer`] creates all levels in one pass over stretches in order of start. Level 0 has the stretches themselves; each level
//! after it has twice the width. [`Reader`] returns the slices of a time range, a width and some tracks.
//!
//! The file format is corewise's own. Parquet would be slower: its row groups must be thousands of times larger than a screen's row
//! of pixels to outweigh the footer and the column headers, and to open such a file takes longer than to read one of our blocks. The
//! file is a cache: it is created again from `states/` when it is missing or belongs to another trace, so no other tool needs to
//! read it.

mod block;
mod block_writer;
mod detail;
mod error;
mod fold;
mod index;
mod read;
mod states;
mod values;
mod write;

pub use detail::Detail;
pub use error::Error;
pub use fold::Fold;
pub use read::{PART_WIDTHS, Reader};
pub use states::{Slice, States, Stretch};
pub use values::{HeldValue, Step, Values};
pub use write::Writer;
