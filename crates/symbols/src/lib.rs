//! Function names: where a machine stores them, and which of them belong to the recorded code.
//!
//! A name is used only if the build ids are equal. A different file at the same path, or another kernel, is never used.

pub mod build_id;
mod debug_files;
mod demangle;
pub mod functions;
pub mod generated;
mod lines;
mod package;
mod path;
mod sections;
mod spin;
mod stacks;
mod why;

pub use debug_files::decompressed;
pub use functions::Named;
pub use lines::Function;
pub use path::{LINES_FOR, SymbolPath};
pub use stacks::{Nameless, name, name_again};
pub use why::{NoLines, Why};
