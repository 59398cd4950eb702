//! Splits bytes into records, and unpacks compressed ones.
//!
//! ```text
//!   input ─► [buffer] ─► record ─► record ─► COMPRESSED ─► [unpacked] ─► record ─► record …
//!                                                           a record may span two COMPRESSED ones
//! ```

use super::header::{self, failed};
use crate::tracepoint::ByteOrder;
use ingest::Fatal;
use std::io::Read;
use zstd::stream::raw::{Decoder, Operation};

/// The number of bytes read in one call: they are still in the core's L2 cache when their records are read.
const CHUNK: usize = 1 << 18;
/// The size field of a record has 16 bits.
const MAX_RECORD: usize = 1 << 16;
/// The number of bytes unpacked in one call: a block of zstd.
const UNPACK_SIZE: usize = 128 << 10;
/// The maximum number of unpacked bytes held: a compressed record may contain a thousand times 64 KiB of zeros.
const MAX_UNPACKED: usize = 4 << 20;
/// The maximum size of a record's payload; tracepoint descriptions take some hundred KiB.
const MAX_PAYLOAD: usize = 16 << 20;
/// The size of a record's head: type (u32), misc (u16), size (u16).
pub(super) const HEAD: usize = 8;

/// A record.
pub(super) struct Record<'b> {
    pub(super) kind: u32,
    pub(super) misc: u16,
    /// The bytes after the head.
    pub(super) body: &'b [u8],
    /// The offset of the record in the file; for a packed one, of the compressed record that contains it.
    pub(super) offset: u64,
}

/// Bytes that are not a record, met by [`Frames::peek`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Gap {
    pub(super) offset: u64,
    pub(super) what: &'static str,
}

/// The records of a recording.
pub(super) struct Frames<'a> {
    input: Box<dyn Read + Send + 'a>,
    order: ByteOrder,
    buffer: Buffer,
    /// The number of bytes of input left to read; `None` to read to its end.
    left: Option<u64>,
    unpacked: Buffer,
    unpack: Option<Decoder<'static>>,
    /// Packed bytes that wait for room.
    packed: Vec<u8>,
    /// The size of the record that was peeked, and whether it was unpacked.
    peeked: Option<(usize, bool)>,
    /// Places where records were skipped, not yet reported.
    gaps: Vec<Gap>,
}

/// Bytes, with a position up to which they were consumed.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    used: usize,
    /// The end of the valid bytes; the rest is room for more.
    end: usize,
    /// The file offset of `bytes[0]`; for unpacked bytes, of the compressed record that they came from last.
    offset: u64,
}

impl Buffer {
    fn rest(&self) -> &[u8] {
        self.bytes.get(self.used..self.end).unwrap_or_default()
    }

    fn compact(&mut self) {
        self.bytes.copy_within(self.used..self.end, 0);
        (self.used, self.end) = (0, self.end - self.used);
    }

    /// Makes room for more bytes. Old content need not be cleared before it is overwritten.
    fn room(&mut self, size: usize) -> &mut [u8] {
        let end = self.end + size;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        &mut self.bytes[self.end..end]
    }
}

impl<'a> Frames<'a> {
    /// `at` is the current offset of the input, `end` the offset of the end of its records.
    pub(super) fn new(input: Box<impl Read + Send + ?Sized + 'a>, order: ByteOrder, at: u64, end: Option<u64>) -> Self {
        Self {
            input: Box::new(input),
            order,
            buffer: Buffer { offset: at, ..Buffer::default() },
            left: end.map(|e| e.saturating_sub(at)),
            unpacked: Buffer::default(),
            unpack: None,
            packed: Vec::new(),
            peeked: None,
            gaps: Vec::new(),
        }
    }

    /// Returns the gaps since the last call.
    pub(super) fn gaps(&mut self) -> std::vec::Drain<'_, Gap> {
        self.gaps.drain(..)
    }

    pub(super) fn has_gaps(&self) -> bool {
        !self.gaps.is_empty()
    }

    /// Returns the size of the first record, if it is complete.
    fn complete_record(&self, bytes: &[u8]) -> Option<usize> {
        let size = usize::from(self.order.u16_at(bytes, 6)?);
        (size >= HEAD && size <= bytes.len()).then_some(size)
    }

    /// Returns the next record without consuming it; `None` at the end.
    #[inline]
    pub(super) fn peek(&mut self) -> Result<Option<Record<'_>>, Fatal> {
        if self.peeked.is_none() {
            self.peeked = self.buffered_record();
            if self.peeked.is_none() {
                self.find()?;
            }
        }
        let Some((size, unpacked)) = self.peeked else { return Ok(None) };
        let buffer = if unpacked { &self.unpacked } else { &self.buffer };
        let offset = if unpacked { buffer.offset } else { buffer.offset + buffer.used as u64 };
        let Some(bytes) = buffer.bytes.get(buffer.used..buffer.used + size) else { return Ok(None) };
        let (Some(kind), Some(misc)) = (self.order.u32_at(bytes, 0), self.order.u16_at(bytes, 4)) else {
            return Ok(None);
        };
        Ok(Some(Record { kind, misc, body: &bytes[HEAD..], offset }))
    }

    /// Consumes the record that was peeked.
    #[inline]
    pub(super) fn take(&mut self) {
        if let Some((size, unpacked)) = self.peeked.take() {
            if unpacked { &mut self.unpacked } else { &mut self.buffer }.used += size;
        }
    }

    /// Returns the next record if it is not compressed and already read, which is almost always the case.
    #[inline]
    fn buffered_record(&self) -> Option<(usize, bool)> {
        if self.unpacked.used < self.unpacked.end || !self.packed.is_empty() {
            return None;
        }
        let rest = self.buffer.rest();
        let size = self.complete_record(rest)?;
        let kind = self.order.u32_at(rest, 0)?;
        (kind != header::COMPRESSED && kind != header::COMPRESSED2).then_some((size, false))
    }

    /// Finds the next record and stores its size in `peeked`.
    fn find(&mut self) -> Result<(), Fatal> {
        loop {
            if let Some(size) = self.complete_record(self.unpacked.rest()) {
                self.peeked = Some((size, true));
                return Ok(());
            }
            if self.order.u16_at(self.unpacked.rest(), 6).is_some_and(|size| usize::from(size) < HEAD) {
                self.skip_unpacked(self.unpacked.offset, "unpacked bytes are not a record");
            }
            if !self.packed.is_empty() {
                self.unpack_more()?;
                continue;
            }
            let Some(size) = self.complete_record(self.buffer.rest()) else {
                if !self.refill()? {
                    return Ok(());
                }
                continue;
            };
            let rest = self.buffer.rest();
            let kind = self.order.u32_at(rest, 0).unwrap_or(0);
            if kind != header::COMPRESSED && kind != header::COMPRESSED2 {
                self.peeked = Some((size, false));
                return Ok(());
            }
            let mut body = rest.get(HEAD..size).unwrap_or_default();
            if kind == header::COMPRESSED2 {
                let length = self.order.u64_at(body, 0).unwrap_or(0) as usize;
                body = body.get(8..8_usize.saturating_add(length)).unwrap_or_default();
            }
            self.packed = body.to_vec();
            self.unpacked.offset = self.buffer.offset + self.buffer.used as u64;
            self.buffer.used += size;
        }
    }

    /// Unpacks as much as fits.
    fn unpack_more(&mut self) -> Result<(), Fatal> {
        let offset = self.unpacked.offset;
        self.unpacked.compact();
        if self.unpacked.end >= MAX_UNPACKED {
            // More than the maximum size of a record without a record: the unpacked bytes are not one.
            self.skip_unpacked(offset, "unpacked bytes are not a record");
            return Ok(());
        }
        let decoder = match &mut self.unpack {
            Some(decoder) => decoder,
            none => none.insert(Decoder::new().map_err(|e| failed("cannot unpack zstd", &e, offset))?),
        };
        match decoder.run_on_buffers(&self.packed, self.unpacked.room(UNPACK_SIZE)) {
            Ok(status) => {
                self.unpacked.end += status.bytes_written;
                self.packed.drain(..status.bytes_read);
                if status.bytes_read == 0 && status.bytes_written == 0 {
                    self.packed.clear();
                }
            }
            Err(_) => {
                self.unpack = None;
                self.skip_unpacked(offset, "a compressed record cannot be unpacked");
            }
        }
        Ok(())
    }

    fn skip_unpacked(&mut self, offset: u64, what: &'static str) {
        self.gaps.push(Gap { offset, what });
        (self.unpacked.used, self.unpacked.end) = (0, 0);
        self.packed.clear();
    }

    /// Completes the next record; `false` if there are no more.
    fn refill(&mut self) -> Result<bool, Fatal> {
        let rest = self.buffer.rest();
        if rest.len() >= HEAD && self.order.u16_at(rest, 6).is_some_and(|s| usize::from(s) < HEAD) {
            return self.resync();
        }
        let cut = rest.len();
        if self.read_on()? {
            return Ok(true);
        }
        if cut > 0 {
            let offset = self.buffer.offset + self.buffer.used as u64;
            self.gaps.push(Gap { offset, what: "a record is cut off by the end of the file" });
            self.buffer.used = self.buffer.end;
        }
        Ok(false)
    }

    /// Reads another chunk after the unconsumed bytes; `false` at the end of the input.
    fn read_on(&mut self) -> Result<bool, Fatal> {
        self.buffer.offset += self.buffer.used as u64;
        self.buffer.compact();
        let at = self.buffer.offset + self.buffer.end as u64;
        let max = self.left.map_or(CHUNK, |left| usize::try_from(left).unwrap_or(CHUNK).min(CHUNK));
        let mut room = self.buffer.room(max);
        let mut count = 0;
        let read = loop {
            match self.input.read(room) {
                Ok(0) => break Ok(()),
                Ok(n) => {
                    count += n;
                    room = &mut room[n..];
                }
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => break Err(failed("cannot read perf.data", &e, at)),
            }
        };
        self.buffer.end += count;
        read?;
        if let Some(left) = &mut self.left {
            *left -= count as u64;
        }
        Ok(count > 0)
    }

    /// After an impossible record size, searches for the next three records in a row and continues there; `false` at
    /// the end.
    fn resync(&mut self) -> Result<bool, Fatal> {
        let offset = self.buffer.offset + self.buffer.used as u64;
        self.gaps.push(Gap { offset, what: "bytes are not a record" });
        self.buffer.used += 8;
        let mut more = true;
        loop {
            let rest = self.buffer.rest();
            if let Some(at) = (0..rest.len()).step_by(8).find(|at| self.three_records(&rest[*at..], !more)) {
                self.buffer.used += at;
                return Ok(true);
            }
            if !more {
                self.buffer.used = self.buffer.end;
                return Ok(false);
            }
            // Three records may start in the bytes in memory and end after them.
            self.buffer.used += rest.len().saturating_sub(3 * MAX_RECORD) & !7;
            more = self.read_on()?;
        }
    }

    /// Whether three records follow each other here, or fewer up to the end of the input.
    fn three_records(&self, bytes: &[u8], ends: bool) -> bool {
        let mut rest = bytes;
        (0..3).all(|nth| {
            if ends && nth > 0 && rest.is_empty() {
                return true;
            }
            let (Some(kind), Some(size)) = (self.order.u32_at(rest, 0), self.order.u16_at(rest, 6)) else {
                return false;
            };
            let known = (1..=header::LAST_KERNEL_RECORD).contains(&kind)
                || (header::FIRST_SYNTHETIC..=header::LAST_SYNTHETIC).contains(&kind);
            let size = usize::from(size);
            let Some(next) = rest.get(size..).filter(|_| known && size >= HEAD && size % 8 == 0) else {
                return false;
            };
            rest = next;
            true
        })
    }

    /// Reads the payload that follows a record which announces it.
    pub(super) fn take_payload(&mut self, size: usize) -> Result<Vec<u8>, Fatal> {
        if size > MAX_PAYLOAD {
            return Err(Fatal::new(
                format!("a block of {size} bytes exceeds the limit of 16 MiB: the file is damaged"),
                self.buffer.offset,
            ));
        }
        let padded = size.next_multiple_of(8);
        let mut bytes = Vec::new();
        self.read_payload(padded, |part| bytes.extend_from_slice(part))?;
        bytes.truncate(size);
        Ok(bytes)
    }

    /// Skips such a payload.
    pub(super) fn skip_payload(&mut self, size: usize) -> Result<(), Fatal> {
        self.read_payload(size, |_| {})
    }

    fn read_payload(&mut self, mut size: usize, mut each: impl FnMut(&[u8])) -> Result<(), Fatal> {
        loop {
            let take = size.min(self.buffer.rest().len());
            each(&self.buffer.rest()[..take]);
            self.buffer.used += take;
            size -= take;
            if size == 0 {
                return Ok(());
            }
            let at = self.buffer.offset + self.buffer.used as u64;
            self.buffer.compact();
            self.buffer.offset = at;
            let max = self.left.map_or(CHUNK, |left| usize::try_from(left).unwrap_or(CHUNK).min(CHUNK));
            let count = self.input.read(self.buffer.room(max)).map_err(|e| failed("cannot read perf.data", &e, at))?;
            self.buffer.end += count;
            if let Some(left) = &mut self.left {
                *left -= count as u64;
            }
            if count == 0 {
                return Err(Fatal::new("the file is cut off inside a block of data", at));
            }
        }
    }
}
