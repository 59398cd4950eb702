//! What the importers of text share: lines of a bounded length, numbers read exactly, and what is known of threads and
//! losses while lines become events.

mod lines;
pub(crate) mod scan;
mod told;

pub(crate) use lines::{Line, Lines};
pub(crate) use told::{BATCH, Told};
