//! Shared by the importers of text: lines of bounded length, cells between commas, exact numbers, and the state of
//! threads, losses and frames kept while lines become events.

pub(crate) mod csv;
pub(crate) mod frames;
pub(crate) mod json;
mod lines;
pub(crate) mod scan;
mod state;

pub(crate) use lines::{Line, Lines};
pub(crate) use state::TextState;
