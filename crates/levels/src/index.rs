//! Where the blocks of a file lie: the last thing that is written, the first that is read.
//!
//! ```text
//!  "corewise levels 1\n"  blocks …  index (postcard, zstd)  length of the index, its CRC-32, "levels end\n"
//! ```

use serde::{Deserialize, Serialize};

/// What the file begins with; the number counts up with the format, and files of other numbers are made anew.
pub(crate) const HEAD: &[u8] = b"corewise levels 1\n";
pub(crate) const TAIL: &[u8] = b"levels end\n";
/// An index beyond this is a damaged length, and would be asked of the memory: 20 million stretches need a hundredth.
pub(crate) const MOST_INDEX: u64 = 1 << 26;

#[derive(Serialize, Deserialize, Default)]
pub(crate) struct Index {
    /// Of which trace, in the caller's words.
    pub(crate) of: String,
    pub(crate) levels: Vec<Level>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Level {
    /// Stretches shorter than this are told together, ns; 0: none.
    pub(crate) width: i64,
    /// In order of time, then of tracks.
    pub(crate) blocks: Vec<Block>,
}

/// Slices of some tracks within a chapter: the time from `from` to `to`. Those that reach over its begin or end stand in both.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Block {
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) at: u64,
    pub(crate) bytes: u32,
    pub(crate) rows: u32,
    pub(crate) crc: u32,
}
