//! Blocks of which reports are made, for texts and pages of other crates that look like a report's.

pub use crate::grid::{Column, push};
pub use crate::html::page as web_page;
pub use crate::page::{Block, Page};
pub use crate::picture::{Bar, Bars};
pub use crate::text::text as terminal;
