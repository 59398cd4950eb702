//! Callchains of user code that keeps no frame pointers.
//!
//! A compiler writes, for each place in a program, how to find the caller from there: call frame information (`.eh_frame`, `.debug_frame`).
//! [`Table`] turns that of a file into rows of eight bytes, in order of address, which a BPF program can search too. [`walk`] follows them
//! from a thread's registers through its stack. What a row cannot express has no rule, and the walk ends there: no caller is guessed.

mod cfi;
mod elf;
mod row;
mod table;
mod tables;
mod walk;

pub use elf::{Segment, Why};
pub use row::{Kind, Row};
pub use table::Table;
pub use tables::{Endings, Inode, Tables};
pub use walk::{Code, Ended, Memory, Registers, Walk, walk};

/// An instruction set whose call frame information is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Machine {
    /// x86-64 (also called AMD64).
    X86_64,
    /// arm64 (also called AArch64), little-endian.
    Arm64,
}

impl Machine {
    /// The instruction set of this program; `None` if its call frame information is not read.
    #[must_use]
    pub fn of_this_program() -> Option<Self> {
        match std::env::consts::ARCH {
            "x86_64" => Some(Self::X86_64),
            "aarch64" => Some(Self::Arm64),
            _ => None,
        }
    }
}
