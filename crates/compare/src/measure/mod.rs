//! Measures one run: what a comparison uses of a recording, a frame log or a printed table.

mod conditions;
pub(crate) mod frames;
mod path;
pub(crate) mod printed;
mod recording;
pub(crate) mod series;
pub mod threads;

pub use recording::{MeasureOptions, recording};
