//! Each CPU's pages, some at a time: as they stand in the file, or packed in chunks.

use super::options::CpuData;
use super::packed::Codec;
use super::reader::unreadable;
use crate::tracepoint::ByteOrder;
use ingest::{Fatal, ReadSeek};
use std::io::SeekFrom;

/// Bytes that are read ahead of all CPUs together: what is decoded of them waits for its turn in memory.
const AHEAD: u64 = 8 << 20;
/// Bytes read at once, where there are few CPUs.
const BLOCK: u64 = 256 << 10;
/// No chunk unpacks to more (trace-cmd packs ten pages at once), and no page is larger.
const LARGEST_CHUNK: u64 = 16 << 20;
pub(super) const LARGEST_PAGE: u64 = 8 << 20;

/// What is left of a CPU's data.
pub(super) struct Region {
    at: u64,
    end: u64,
    /// The file ends before it does.
    cut: bool,
    /// How many chunks are to come, where it is packed and its count was read.
    chunks: Option<u32>,
}

impl Region {
    pub(super) fn new(data: &CpuData, length: u64, packed: bool) -> Self {
        let end = data.at.saturating_add(data.size);
        // The size of packed data leaves out the count of chunks that stands before them.
        let count = if packed { 4 } else { 0 };
        Self { at: data.at, end: end.saturating_add(count).min(length), cut: end > length, chunks: None }
    }
}

/// What reading on gave.
pub(super) enum Got {
    Pages,
    /// Some cannot be read, why; there may be more behind them.
    Torn(&'static str),
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
    /// Where in the file the pages (or the chunk that they were packed in) stand.
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
        let share = (AHEAD / cpus.max(1) as u64).min(BLOCK);
        let block = (share / page_size).max(1) * page_size;
        Self { file, order, codec, page_size, block, packed: Vec::new(), pages: Vec::new(), place: 0 }
    }

    /// The file, to read elsewhere in it.
    pub(super) fn file(&mut self) -> &mut dyn ReadSeek {
        &mut *self.file
    }

    /// Whether an event's own place in the file is known.
    pub(super) fn is_plain(&self) -> bool {
        self.codec.is_plain()
    }

    /// Reads the next pages of a region.
    pub(super) fn load(&mut self, region: &mut Region) -> Result<Got, Fatal> {
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
        // The last block's bytes need not be cleared to be overwritten.
        self.pages.resize(size as usize, 0);
        read_at(&mut *self.file, region.at, &mut self.pages)?;
        region.at += size;
        Ok(Got::Pages)
    }

    /// A count of chunks, then for each: packed size, size, and the packed bytes.
    fn chunk(&mut self, region: &mut Region, left: u64) -> Result<Got, Fatal> {
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
            return Ok(Got::Torn("a CPU's packed events say that there are none"));
        }
        let (packed, unpacked) = (u64::from(word(count)), u64::from(word(count + 4)));
        if packed > left - size as u64 {
            return Ok(cut_off(region));
        }
        let begin = region.at + size as u64;
        (region.at, region.chunks) = (begin + packed, Some(chunks - 1));
        if unpacked == 0 || unpacked > LARGEST_CHUNK.max(self.page_size) || packed > LARGEST_CHUNK {
            return Ok(Got::Torn("a packed chunk of a size that nobody writes"));
        }
        self.packed.resize(packed as usize, 0);
        read_at(&mut *self.file, begin, &mut self.packed)?;
        if !self.codec.unpack(&self.packed, &mut self.pages, unpacked as usize) {
            self.pages.clear();
            return Ok(Got::Torn("a packed chunk that cannot be unpacked"));
        }
        Ok(Got::Pages)
    }
}

/// The end of a region; where the file has less of it than it should, that is told once.
fn ended(region: &mut Region) -> Got {
    if std::mem::take(&mut region.cut) { cut_off(region) } else { Got::End }
}

fn cut_off(region: &mut Region) -> Got {
    (region.at, region.cut) = (region.end, false);
    Got::Torn("the file ends before a CPU's events do")
}

fn read_at(file: &mut dyn ReadSeek, at: u64, bytes: &mut [u8]) -> Result<(), Fatal> {
    file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(bytes)).map_err(|e| unreadable(&e, at))
}
