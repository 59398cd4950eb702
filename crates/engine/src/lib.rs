//! The one door for everybody below: open a trace of any kind, account for it, hand out its tables, import it into a
//! folder. Wiring only.

mod error;
mod pass;
mod source;

pub use error::EngineError;
pub use pass::{Accounted, PassOptions, account, account_with};
pub use source::{FileSource, Source, formats};
