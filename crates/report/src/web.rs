//! What pages of other crates share with the report's page: the document with its style and policy, escaping, and pictures.

pub use crate::html::{Document, Escaped, Inline, STYLE, axis, cells, escaped, labels, legend, shades};
pub use crate::picture::{Lane, Timeline, Tone};
pub use crate::timeline::cpus as cpu_timeline;
