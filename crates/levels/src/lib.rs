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
//! A track may hold a **value** instead (a frequency, a count): what is drawn of it is a [`Step`], with the least, the most and the mean
//! over its own interval.
//!
//! [`Writer`] makes all levels in one pass over stretches in order of start; level 0 holds the stretches themselves, each next
//! one is of twice the width before. [`Reader`] answers a time, a width and some tracks from the blocks that hold them.
//!
//! The file is corewise's own and no table: Parquet, whose row groups must be thousands of times larger than a screen's row
//! of pixels to pay for its footer and column headers, costs more to open than a block of ours costs to read. It is made anew
//! from `states/` whenever it is not there or not of this trace, so no other tool needs to read it.

mod binder;
mod block;
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
pub use read::{PART, Reader};
pub use states::{Slice, States, Stretch};
pub use values::{Held, Step, Values};
pub use write::Writer;
