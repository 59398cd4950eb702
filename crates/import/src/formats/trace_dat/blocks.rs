//! Reads the pages of each CPU in blocks, plain or packed in chunks.

use super::options::CpuData;
use super::packed::Codec;
use super::reader::read_error;
use crate::tracepoint::ByteOrder;
use ingest::{Fatal, ReadSeek};
use std::io::SeekFrom;

/// The number of bytes read ahead for all CPUs together: their decoded events wait in memory.
const READ_AHEAD: u64 = 8 << 20;
/// The maximum number of bytes read in one call.
const MAX_BLOCK: u64 = 256 << 10;
/// The maximum unpacked size of a chunk (trace-cmd packs ten pages in one), and the maximum size of a page.
const MAX_CHUNK: u64 = 16 << 20;
pub(super) const MAX_PAGE: u64 = 8 << 20;

/// The rest of a CPU's data.
pub(super) struct Region {
    at: u64,
    end: u64,
    /// Whether the file ends before it does.
    cut: bool,
    /// The number of remaining chunks, if it is packed and their number was read.
    chunks: Option<u32>,
}

impl Region {
    pub(super) fn new(data: &CpuData, length: u64, packed: bool) -> Self {
        let end = data.at.saturating_add(data.size);
        // The size of packed data does not include the number of chunks before them.
        let count = if packed { 4 } else { 0 };
        Self { at: data.at, end: end.saturating_add(count).min(length), cut: end > length, chunks: None }
    }
}

/// The result of reading a block.
pub(super) enum BlockResult {
    Pages,
    /// Some data cannot be read, for this reason; more may follow.
    Unreadable(&'static str),
    End,
}

/// The file, and the pages that were read last.
pub(super) struct Blocks<'a> {
    file: Box<dyn ReadSeek + Send + 'a>,
    order: ByteOrder,
    codec: Codec,
    page_size: u64,
    block: u64,
    packed: Vec<u8>,
    pub(super) pages: Vec<u8>,
    /// The offset of the pages in the file, or of the chunk that contained them.
    pub(super) place: u64,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(
        file: Box<dyn ReadSeek + Send + 'a>,
        order: ByteOrder,
        codec: Codec,
        page_size: u64,
        cpus: usize,
    ) -> Self {
        let share = (READ_AHEAD / cpus.max(1) as u64).min(MAX_BLOCK);
        let block = (share / page_size).max(1) * page_size;
        Self { file, order, codec, page_size, block, packed: Vec::new(), pages: Vec::new(), place: 0 }
    }

    /// Returns the file, to read other parts of it.
    pub(super) fn file(&mut self) -> &mut dyn ReadSeek {
        &mut *self.file
    }

    /// Whether the offsets of events in the file are known.
    pub(super) fn is_plain(&self) -> bool {
        self.codec.is_plain()
    }

    /// Reads the next pages of a region.
    pub(super) fn load(&mut self, region: &mut Region) -> Result<BlockResult, Fatal> {
        self.place = region.at;
        let left = region.end.saturating_sub(region.at);
        if left == 0 || region.chunks == Some(0) {
            self.pages.clear();
            return Ok(ended(region));
        }
        if !self.is_plain() {
            self.pages.clear();
            return self.chunk(region, left);
        }
        let size = left.min(self.block);
        // The bytes of the last block need not be cleared before they are overwritten.
        self.pages.resize(size as usize, 0);
        read_at(&mut *self.file, region.at, &mut self.pages)?;
        region.at += size;
        Ok(BlockResult::Pages)
    }

    /// Reads the number of chunks, then of each chunk: packed size, size, and the packed bytes.
    fn chunk(&mut self, region: &mut Region, left: u64) -> Result<BlockResult, Fatal> {
        let mut head = [0; 12];
        let (count, size) = if region.chunks.is_none() { (4, 12) } else { (0, 8) };
        if left < size as u64 {
            return Ok(cut_off(region));
        }
        read_at(&mut *self.file, region.at, &mut head[..size])?;
        let word = |at| self.order.u32_at(&head, at).unwrap_or(0);
        let chunks = region.chunks.unwrap_or_else(|| word(0));
        if chunks == 0 {
            region.at = region.end;
            return Ok(BlockResult::Unreadable("a CPU's packed events have a chunk count of 0"));
        }
        let (packed, unpacked) = (u64::from(word(count)), u64::from(word(count + 4)));
        if packed > left - size as u64 {
            return Ok(cut_off(region));
        }
        let begin = region.at + size as u64;
        (region.at, region.chunks) = (begin + packed, Some(chunks - 1));
        if unpacked == 0 || unpacked > MAX_CHUNK.max(self.page_size) || packed > MAX_CHUNK {
            return Ok(BlockResult::Unreadable("a packed chunk has an invalid size"));
        }
        self.packed.resize(packed as usize, 0);
        read_at(&mut *self.file, begin, &mut self.packed)?;
        if !self.codec.unpack(&self.packed, &mut self.pages, unpacked as usize) {
            self.pages.clear();
            return Ok(BlockResult::Unreadable("a packed chunk cannot be unpacked"));
        }
        Ok(BlockResult::Pages)
    }
}

/// Ends a region. If the file contains less of it than it should, this is reported once.
fn ended(region: &mut Region) -> BlockResult {
    if std::mem::take(&mut region.cut) { cut_off(region) } else { BlockResult::End }
}

fn cut_off(region: &mut Region) -> BlockResult {
    (region.at, region.cut) = (region.end, false);
    BlockResult::Unreadable("the file ends before a CPU's events do")
}

fn read_at(file: &mut dyn ReadSeek, at: u64, bytes: &mut [u8]) -> Result<(), Fatal> {
    file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(bytes)).map_err(|e| read_error(&e, at))
}
