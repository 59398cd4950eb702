//! How much of a file was read, for progress.
//!
//! ```text
//!   file    [ block 0 | block 1 | block 2 | … ]     at most MAX_BLOCKS of equal size
//!   read at   ██        ██                          share: 2 of all
//! ```
//!
//! Some formats are read twice, or at several places in turn. After all blocks were read, the next read begins a new pass.

use std::io::{Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

/// The maximum number of blocks.
const MAX_BLOCKS: u64 = 1000;

/// The blocks that were read in the current pass over a file.
pub(super) struct Coverage {
    /// Size of a block, in bytes.
    block: u64,
    pass: Mutex<Pass>,
}

struct Pass {
    is_read: Vec<bool>,
    read: usize,
}

impl Coverage {
    /// Creates the coverage of a file of this size, in bytes, of which nothing was read.
    pub(super) fn new(bytes: u64) -> Self {
        let block = bytes.div_ceil(MAX_BLOCKS).max(1);
        let blocks = usize::try_from(bytes.div_ceil(block)).unwrap_or(0);
        Self { block, pass: Mutex::new(Pass { is_read: vec![false; blocks], read: 0 }) }
    }

    /// Returns the share of the file that was read in this pass, 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "at most 1000 blocks")]
    pub(super) fn share(&self) -> f64 {
        let pass = self.pass.lock().unwrap_or_else(PoisonError::into_inner);
        if pass.is_read.is_empty() { 1.0 } else { pass.read as f64 / pass.is_read.len() as f64 }
    }

    /// Adds `count` bytes that were read at `at`.
    fn add(&self, at: u64, count: u64) {
        if count == 0 {
            return;
        }
        let mut pass = self.pass.lock().unwrap_or_else(PoisonError::into_inner);
        if pass.read == pass.is_read.len() {
            pass.is_read.fill(false);
            pass.read = 0;
        }
        let [first, last] =
            [at / self.block, (at + count - 1) / self.block].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        let blocks = pass.is_read.iter_mut().skip(first).take(last.saturating_sub(first) + 1);
        let new = blocks.map(|is_read| usize::from(!std::mem::replace(is_read, true))).sum::<usize>();
        pass.read += new;
    }
}

/// A reader whose reads are counted.
pub(super) struct Covered<R> {
    inner: R,
    at: u64,
    coverage: Arc<Coverage>,
}

impl<R> Covered<R> {
    /// Counts the reads of a reader that is at the start of its file.
    pub(super) fn new(inner: R, coverage: Arc<Coverage>) -> Self {
        Self { inner, at: 0, coverage }
    }
}

impl<R: Read> Read for Covered<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(into)?;
        self.coverage.add(self.at, count as u64);
        self.at += count as u64;
        Ok(count)
    }
}

impl<R: Seek> Seek for Covered<R> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.at = self.inner.seek(to)?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    #[expect(clippy::float_cmp, reason = "exact shares")]
    fn each_block_counts_once_and_a_new_pass_begins_after_the_last() {
        let coverage = Arc::new(Coverage::new(4));
        let mut file = Covered::new(Cursor::new([0u8; 4]), Arc::clone(&coverage));
        let mut two = [0; 2];
        file.read_exact(&mut two).unwrap();
        assert_eq!(coverage.share(), 0.5);
        file.seek(SeekFrom::Start(1)).unwrap();
        file.read_exact(&mut two).unwrap();
        assert_eq!(coverage.share(), 0.75);
        file.read_exact(&mut two[..1]).unwrap();
        assert_eq!(coverage.share(), 1.0);
        assert_eq!(file.read(&mut two).unwrap(), 0);
        assert_eq!(coverage.share(), 1.0, "the end is no new pass");
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_exact(&mut two[..1]).unwrap();
        assert_eq!(coverage.share(), 0.25);
        assert_eq!(Coverage::new(0).share(), 1.0);
        assert_eq!(Coverage::new(1_000_001).share(), 0.0);
    }
}
