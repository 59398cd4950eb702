//! From bytes to records, with compressed ones unpacked on the way.
//!
//! ```text
//!   input ─► [buffer] ─► record ─► record ─► COMPRESSED ─► [unpacked] ─► record ─► record …
//!                                                           a record may be split between two COMPRESSED ones
//! ```

use super::header::{self, failed};
use crate::tracepoint::ByteOrder;
use ingest::Fatal;
use std::io::Read;
use zstd::stream::raw::{Decoder, Operation};

/// Bytes read at once: they are still in the core's second cache when their records are read.
const CHUNK: usize = 1 << 18;
/// A record's size field has 16 bits.
const LARGEST_RECORD: usize = 1 << 16;
/// Bytes unpacked at once: a block of zstd's.
const PART: usize = 128 << 10;
/// Unpacked bytes held at once: a compressed record may hold 64 KiB of zeros a thousand times over.
const UNPACKED: usize = 4 << 20;
/// Tracepoint descriptions take some hundred KiB.
const LARGEST_ASIDE: usize = 16 << 20;
/// Size of a record's head: type (u32), misc (u16), size (u16).
pub(super) const HEAD: usize = 8;

/// A record.
pub(super) struct Record<'b> {
    pub(super) kind: u32,
    pub(super) misc: u16,
    /// What follows the head.
    pub(super) body: &'b [u8],
    /// Where it stands in the file (the compressed record that holds it, for one that was packed).
    pub(super) offset: u64,
}

/// What [`Frames::peek`] met that was no record.
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
    /// Bytes of input that may still be read; `None`: to its end.
    left: Option<u64>,
    unpacked: Buffer,
    unpack: Option<Decoder<'static>>,
    /// Packed bytes that wait for room.
    packed: Vec<u8>,
    /// Size of the record that was peeked, and whether it was unpacked.
    peeked: Option<(usize, bool)>,
    /// Places where records were skipped, for whoever asks.
    gaps: Vec<Gap>,
}

/// Bytes with a mark for those that were used.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    used: usize,
    /// Behind it stands only room for more.
    end: usize,
    /// File offset of `bytes[0]`; for unpacked bytes, of the compressed record they came from last.
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

    /// Room for so many more; what it holds from before need not be cleared to be overwritten.
    fn room(&mut self, size: usize) -> &mut [u8] {
        let end = self.end + size;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        &mut self.bytes[self.end..end]
    }
}

impl<'a> Frames<'a> {
    /// `at`: where the input stands; `end`: where its records end.
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

    /// Where records could not be read since this was last asked.
    pub(super) fn gaps(&mut self) -> std::vec::Drain<'_, Gap> {
        self.gaps.drain(..)
    }

    pub(super) fn has_gaps(&self) -> bool {
        !self.gaps.is_empty()
    }

    /// Whether the next record can be had without reading on.
    fn whole(&self, bytes: &[u8]) -> Option<usize> {
        let size = usize::from(self.order.u16_at(bytes, 6)?);
        (size >= HEAD && size <= bytes.len()).then_some(size)
    }

    /// The next record, without going past it; `None` at the end.
    #[inline]
    pub(super) fn peek(&mut self) -> Result<Option<Record<'_>>, Fatal> {
        if self.peeked.is_none() {
            self.peeked = self.at_hand();
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

    /// Goes past the record that was peeked.
    #[inline]
    pub(super) fn take(&mut self) {
        if let Some((size, unpacked)) = self.peeked.take() {
            if unpacked { &mut self.unpacked } else { &mut self.buffer }.used += size;
        }
    }

    /// The next record of a recording that is not compressed, where it has been read already: nearly always.
    #[inline]
    fn at_hand(&self) -> Option<(usize, bool)> {
        if self.unpacked.used < self.unpacked.end || !self.packed.is_empty() {
            return None;
        }
        let rest = self.buffer.rest();
        let size = self.whole(rest)?;
        let kind = self.order.u32_at(rest, 0)?;
        (kind != header::COMPRESSED && kind != header::COMPRESSED2).then_some((size, false))
    }

    /// Finds the next record and leaves its size in `peeked`.
    fn find(&mut self) -> Result<(), Fatal> {
        loop {
            if let Some(size) = self.whole(self.unpacked.rest()) {
                self.peeked = Some((size, true));
                return Ok(());
            }
            if self.order.u16_at(self.unpacked.rest(), 6).is_some_and(|size| usize::from(size) < HEAD) {
                self.skip_unpacked(self.unpacked.offset, "unpacked bytes that are no record");
            }
            if !self.packed.is_empty() {
                self.unpack_more()?;
                continue;
            }
            let Some(size) = self.whole(self.buffer.rest()) else {
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

    /// Unpacks what fits.
    fn unpack_more(&mut self) -> Result<(), Fatal> {
        let offset = self.unpacked.offset;
        self.unpacked.compact();
        if self.unpacked.end >= UNPACKED {
            // More than a record's largest size and still no record: what was unpacked is no record.
            self.skip_unpacked(offset, "unpacked bytes that are no record");
            return Ok(());
        }
        let decoder = match &mut self.unpack {
            Some(decoder) => decoder,
            none => none.insert(Decoder::new().map_err(|e| failed("cannot unpack zstd", &e, offset))?),
        };
        match decoder.run_on_buffers(&self.packed, self.unpacked.room(PART)) {
            Ok(status) => {
                self.unpacked.end += status.bytes_written;
                self.packed.drain(..status.bytes_read);
                if status.bytes_read == 0 && status.bytes_written == 0 {
                    self.packed.clear();
                }
            }
            Err(_) => {
                self.unpack = None;
                self.skip_unpacked(offset, "a compressed record that cannot be unpacked");
            }
        }
        Ok(())
    }

    fn skip_unpacked(&mut self, offset: u64, what: &'static str) {
        self.gaps.push(Gap { offset, what });
        (self.unpacked.used, self.unpacked.end) = (0, 0);
        self.packed.clear();
    }

    /// Makes the next record whole; `false` where no further one can come.
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
            self.gaps.push(Gap { offset, what: "a record cut off by the end of the file" });
            self.buffer.used = self.buffer.end;
        }
        Ok(false)
    }

    /// Reads another chunk behind what is not used yet; `false` at the end of the input.
    fn read_on(&mut self) -> Result<bool, Fatal> {
        self.buffer.offset += self.buffer.used as u64;
        self.buffer.compact();
        let at = self.buffer.offset + self.buffer.end as u64;
        let most = self.left.map_or(CHUNK, |left| usize::try_from(left).unwrap_or(CHUNK).min(CHUNK));
        let mut room = self.buffer.room(most);
        let mut got = 0;
        let read = loop {
            match self.input.read(room) {
                Ok(0) => break Ok(()),
                Ok(n) => {
                    got += n;
                    room = &mut room[n..];
                }
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => break Err(failed("cannot read on", &e, at)),
            }
        };
        self.buffer.end += got;
        read?;
        if let Some(left) = &mut self.left {
            *left -= got as u64;
        }
        Ok(got > 0)
    }

    /// A size that no record can have: looks for the next three records in a row, and goes on there; `false` at the end.
    fn resync(&mut self) -> Result<bool, Fatal> {
        let offset = self.buffer.offset + self.buffer.used as u64;
        self.gaps.push(Gap { offset, what: "bytes that are no record" });
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
            // Three records may begin in what is at hand and end in what is not.
            self.buffer.used += rest.len().saturating_sub(3 * LARGEST_RECORD) & !7;
            more = self.read_on()?;
        }
    }

    /// Whether three records stand here in a row, or fewer up to the end of the input.
    fn three_records(&self, bytes: &[u8], ends: bool) -> bool {
        let mut rest = bytes;
        (0..3).all(|nth| {
            if ends && nth > 0 && rest.is_empty() {
                return true;
            }
            let (Some(kind), Some(size)) = (self.order.u32_at(rest, 0), self.order.u16_at(rest, 6)) else {
                return false;
            };
            let known = (1..=header::LAST_OF_KERNEL).contains(&kind)
                || (header::FIRST_SYNTHETIC..=header::LAST_SYNTHETIC).contains(&kind);
            let size = usize::from(size);
            let Some(behind) = rest.get(size..).filter(|_| known && size >= HEAD && size % 8 == 0) else {
                return false;
            };
            rest = behind;
            true
        })
    }

    /// Takes bytes that stand between records: the payload of a record that announces them.
    pub(super) fn take_aside(&mut self, size: usize) -> Result<Vec<u8>, Fatal> {
        if size > LARGEST_ASIDE {
            return Err(Fatal::new(
                format!("a block of {size} bytes is larger than any that perf writes"),
                self.buffer.offset,
            ));
        }
        let padded = size.next_multiple_of(8);
        let mut bytes = Vec::new();
        self.aside(padded, |part| bytes.extend_from_slice(part))?;
        bytes.truncate(size);
        Ok(bytes)
    }

    /// Goes past such bytes.
    pub(super) fn skip_aside(&mut self, size: usize) -> Result<(), Fatal> {
        self.aside(size, |_| {})
    }

    fn aside(&mut self, mut size: usize, mut each: impl FnMut(&[u8])) -> Result<(), Fatal> {
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
            let most = self.left.map_or(CHUNK, |left| usize::try_from(left).unwrap_or(CHUNK).min(CHUNK));
            let got = self.input.read(self.buffer.room(most)).map_err(|e| failed("cannot read on", &e, at))?;
            self.buffer.end += got;
            if let Some(left) = &mut self.left {
                *left -= got as u64;
            }
            if got == 0 {
                return Err(Fatal::new("the file is cut off inside a block of data", at));
            }
        }
    }
}
