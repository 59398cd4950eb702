//! Measures one run: what a comparison uses of a recording, a frame log or a printed table.

mod conditions;
mod path;
mod recording;
pub(crate) mod series;
mod stub;
pub mod threads;

pub use stub::{frames, printed};
pub use recording::{MeasureOptions, recording};
