//! Names of functions: where a machine keeps them, and which of those are of the very code that was recorded.
//!
//! A name is told only where the build ids are the same; what else lies at a path, or was the kernel then, is nobody's guess.

pub mod build_id;
pub mod functions;
mod path;
mod stacks;

pub use path::SymbolPath;
pub use stacks::{Nameless, name};
