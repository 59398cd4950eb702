//! Blocks of which reports are made, for texts of other crates that look like a report's.

pub use crate::grid::Column;
pub use crate::page::{Block, Page};
pub use crate::text::text as terminal;
