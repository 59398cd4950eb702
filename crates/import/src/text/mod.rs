//! What the importers of text share: lines of a bounded length, cells between commas, numbers read exactly, and what is
//! known of threads, losses and frames while lines become events.

pub(crate) mod csv;
pub(crate) mod frames;
mod lines;
pub(crate) mod scan;
mod told;

pub(crate) use lines::{Line, Lines};
pub(crate) use told::Told;
