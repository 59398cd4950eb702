//! The index of the blocks of a file. It is written last and read first.
//!
//! ```text
//!  "corewise levels 1\n"  blocks …  index (postcard, zstd)  length of the index, its CRC-32, "levels end\n"
//! ```

use serde::{Deserialize, Serialize};

/// The start of the file. The number is the format version; files of other versions are created again.
pub(crate) const HEAD: &[u8] = b"corewise levels 1\n";
pub(crate) const TAIL: &[u8] = b"levels end\n";
/// The maximum length of the index. A larger one means a damaged length and would allocate too much memory; 20 million stretches
/// need a hundredth of this.
pub(crate) const MAX_INDEX_BYTES: u64 = 1 << 26;

#[derive(Serialize, Deserialize, Default)]
pub(crate) struct Index {
    /// The trace's identity, as passed by the caller.
    pub(crate) trace: String,
    pub(crate) levels: Vec<Level>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Level {
    /// Shorter stretches are merged, ns; 0: none are.
    pub(crate) width: i64,
    /// The blocks, in order of time, then of tracks.
    pub(crate) blocks: Vec<Block>,
}

/// A block: slices of some tracks within a chunk, the time from `from` to `to`. A slice that crosses the begin or end of a chunk is
/// in both chunks.
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
