//! Function names: where a machine stores them, and which of them belong to the recorded code.
//!
//! A name is used only if the build ids are equal. A different file at the same path, or another kernel, is never used.

pub mod build_id;
mod demangle;
pub mod functions;
mod path;
mod spin;
mod stacks;

pub use path::SymbolPath;
pub use stacks::{Nameless, name};
