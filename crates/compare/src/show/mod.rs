//! A comparison as text for a terminal, as Markdown for a pull request, and as one page with pictures.

mod markdown;
mod page;
#[cfg(test)]
mod samples;
mod select;
mod text;
pub(crate) mod words;

pub use markdown::markdown;
pub use page::html;
pub use text::text;
pub use words::change_words;

/// How busy each CPU, or each role, of a side's median run was: see `report::cpu_timeline`.
pub type Lanes = ::page::Timeline;
