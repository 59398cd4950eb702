//! Splits bytes into packets: `Trace.packet` is field 1 of the file's only message
//! (`protos/perfetto/trace/trace.proto`), so a trace is a sequence of (tag, length, packet). A packet may contain
//! zlib-compressed packets (`compressed_packets`).

use super::wire::{Fields, Value, varint};
use flate2::read::ZlibDecoder;
use ingest::{Anomaly, Fatal, Ledger};
use std::io::{ErrorKind, Read};

/// The maximum size of a packet; larger ones are skipped. The largest that the service writes have some megabytes.
const MAX_PACKET: u64 = 64 << 20;
/// The number of bytes read in one call.
const READ_SIZE: usize = 1 << 20;
/// `TracePacket.compressed_packets`.
const COMPRESSED: u32 = 50;

/// The packets of a trace.
pub(super) struct Packets<'a> {
    from: Box<dyn Read + Send + 'a>,
    buffer: Vec<u8>,
    /// The range of the buffer that is not read yet, and the offset of its start in the source.
    start: usize,
    end: usize,
    offset: u64,
    ended: bool,
    /// Unpacked packets, the number of their bytes already read, and the offset of the packet that contained them.
    unpacked: Vec<u8>,
    unpacked_at: usize,
    unpacked_from: u64,
}

/// A packet and its offset. A compressed packet has the offset of the packet that contains it.
pub(super) struct Packet<'b> {
    pub(super) body: &'b [u8],
    pub(super) offset: u64,
}

/// What is next at the top level of the trace.
enum Next {
    /// A packet: its place in the buffer, and its offset in the source.
    Packet(std::ops::Range<usize>, u64),
    Skipped,
    End,
}

impl<'a> Packets<'a> {
    pub(super) fn new(from: Box<dyn Read + Send + 'a>) -> Self {
        Self {
            from,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            offset: 0,
            ended: false,
            unpacked: Vec::new(),
            unpacked_at: 0,
            unpacked_from: 0,
        }
    }

    /// Returns the next packet; `None` at the end.
    pub(super) fn next(&mut self, bad: &mut dyn Ledger) -> Result<Option<Packet<'_>>, Fatal> {
        loop {
            if let Some(range) = self.next_unpacked(bad) {
                return Ok(Some(Packet { body: &self.unpacked[range], offset: self.unpacked_from }));
            }
            match self.next_plain(bad)? {
                Next::End => return Ok(None),
                Next::Skipped => {}
                Next::Packet(range, offset) => match compressed(&self.buffer[range.clone()]) {
                    None => return Ok(Some(Packet { body: &self.buffer[range], offset })),
                    Some(packed) => {
                        unpack(packed, &mut self.unpacked, offset, bad);
                        (self.unpacked_at, self.unpacked_from) = (0, offset);
                    }
                },
            }
        }
    }

    /// Returns the place of the next unpacked packet.
    fn next_unpacked(&mut self, bad: &mut dyn Ledger) -> Option<std::ops::Range<usize>> {
        while self.unpacked_at < self.unpacked.len() {
            let mut rest = &self.unpacked[self.unpacked_at..];
            let tag = varint(&mut rest);
            let length = varint(&mut rest).and_then(|n| usize::try_from(n).ok()).filter(|n| *n <= rest.len());
            let (Some(10), Some(length)) = (tag, length) else {
                bad.anomaly("compressed packets are damaged", self.unpacked_from, Anomaly::Lost);
                break;
            };
            let begin = self.unpacked.len() - rest.len();
            self.unpacked_at = begin + length;
            let body = begin..self.unpacked_at;
            if compressed(&self.unpacked[body.clone()]).is_none() {
                return Some(body);
            }
            bad.anomaly("compressed packets contain compressed packets", self.unpacked_from, Anomaly::Lost);
        }
        self.unpacked.clear();
        self.unpacked_at = 0;
        None
    }

    fn next_plain(&mut self, bad: &mut dyn Ledger) -> Result<Next, Fatal> {
        self.fill(20)?; // the longest tag and length
        let offset = self.offset;
        let mut rest = &self.buffer[self.start..self.end];
        let before = rest.len();
        if before == 0 {
            return Ok(Next::End);
        }
        let cut = self.ended && before < 20;
        let Some((tag, size)) = varint(&mut rest).and_then(|tag| Some((tag, varint(&mut rest)?))) else {
            if cut {
                return Ok(self.cut_off(bad));
            }
            return Err(Fatal::new("no packet starts here: the file is damaged", offset));
        };
        // A number at the top level of the trace has no size.
        let size = match tag & 7 {
            0 => 0,
            2 => size,
            _ => return Err(Fatal::new("no packet starts here: the file is damaged", offset)),
        };
        let head = before - rest.len();
        if size > MAX_PACKET {
            bad.anomaly("a packet of more than 64 MiB was skipped", offset, Anomaly::Lost);
            self.take(head);
            self.skip(size)?;
            return Ok(Next::Skipped);
        }
        let total = head + usize::try_from(size).unwrap_or(usize::MAX);
        self.fill(total)?;
        if self.end - self.start < total {
            return Ok(self.cut_off(bad));
        }
        let body = self.start + head..self.start + total;
        self.take(total);
        Ok(if tag == 10 { Next::Packet(body, offset) } else { Next::Skipped })
    }

    fn cut_off(&mut self, bad: &mut dyn Ledger) -> Next {
        bad.anomaly("a packet is cut off by the end of the file", self.offset, Anomaly::Lost);
        self.take(self.end - self.start);
        Next::End
    }

    fn take(&mut self, count: usize) {
        self.start += count;
        self.offset += count as u64;
    }

    /// Skips bytes.
    fn skip(&mut self, mut size: u64) -> Result<(), Fatal> {
        while size > 0 {
            self.fill(1)?;
            let available = usize::try_from(size).unwrap_or(usize::MAX).min(self.end - self.start);
            if available == 0 {
                break;
            }
            self.take(available);
            size -= available as u64;
        }
        Ok(())
    }

    /// Fills the buffer to this many bytes, if the source has them. The buffer grows with the bytes that were read, not
    /// with a length that the file states.
    fn fill(&mut self, wanted: usize) -> Result<(), Fatal> {
        while self.end - self.start < wanted && !self.ended {
            if self.start > 0 {
                self.buffer.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
            }
            if self.buffer.len() < self.end + READ_SIZE {
                self.buffer.resize(self.end + READ_SIZE, 0);
            }
            match self.from.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Fatal::new(format!("cannot read the file: {error}"), self.offset)),
            }
        }
        Ok(())
    }
}

/// Returns the compressed packets of a packet that contains some.
fn compressed(packet: &[u8]) -> Option<&[u8]> {
    let mut fields = Fields::of(packet);
    while let Ok(Some((field, value))) = fields.next() {
        if let (COMPRESSED, Value::Bytes(bytes)) = (field, value) {
            return Some(bytes);
        }
    }
    None
}

fn unpack(packed: &[u8], to: &mut Vec<u8>, offset: u64, bad: &mut dyn Ledger) {
    to.clear();
    if ZlibDecoder::new(packed).take(MAX_PACKET).read_to_end(to).is_err() || to.len() as u64 == MAX_PACKET {
        bad.anomaly("compressed packets are damaged, or larger than 64 MiB", offset, Anomaly::Lost);
    }
}
