//! From bytes to packets: `Trace.packet` is field 1 of the file's only message (`protos/perfetto/trace/trace.proto`), so a
//! trace is a row of (tag, length, packet). Packets may stand zlib-compressed within one (`compressed_packets`).

use super::wire::{Fields, Value, varint};
use flate2::read::ZlibDecoder;
use ingest::{Fatal, Ledger, Trouble};
use std::io::{ErrorKind, Read};

/// A larger packet is skipped: the largest that the service writes are some megabytes.
const LARGEST: u64 = 64 << 20;
/// What is asked of the source at once.
const READ: usize = 1 << 20;
/// `TracePacket.compressed_packets`.
const COMPRESSED: u32 = 50;

/// The packets of a trace.
pub(super) struct Packets<'a> {
    from: Box<dyn Read + Send + 'a>,
    buffer: Vec<u8>,
    /// What of the buffer is not read yet, and where in the source that begins.
    start: usize,
    end: usize,
    offset: u64,
    ended: bool,
    /// Packets that were unpacked, how many of their bytes are read, and where they stood.
    unpacked: Vec<u8>,
    unpacked_at: usize,
    unpacked_from: u64,
}

/// A packet and where it stands; one that was compressed stands where its wrapping does.
pub(super) struct Packet<'b> {
    pub(super) body: &'b [u8],
    pub(super) offset: u64,
}

/// What stands next at the top of the trace.
enum Next {
    /// A packet: where in the buffer, and where in the source.
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

    /// The next packet; `None` at the end.
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

    /// Where the next of the unpacked packets lies.
    fn next_unpacked(&mut self, bad: &mut dyn Ledger) -> Option<std::ops::Range<usize>> {
        while self.unpacked_at < self.unpacked.len() {
            let mut rest = &self.unpacked[self.unpacked_at..];
            let tag = varint(&mut rest);
            let length = varint(&mut rest).and_then(|n| usize::try_from(n).ok()).filter(|n| *n <= rest.len());
            let (Some(10), Some(length)) = (tag, length) else {
                bad.trouble("compressed packets that are damaged", self.unpacked_from, Trouble::Lost);
                break;
            };
            let begin = self.unpacked.len() - rest.len();
            self.unpacked_at = begin + length;
            let body = begin..self.unpacked_at;
            if compressed(&self.unpacked[body.clone()]).is_none() {
                return Some(body);
            }
            bad.trouble("compressed packets within compressed packets", self.unpacked_from, Trouble::Lost);
        }
        self.unpacked.clear();
        self.unpacked_at = 0;
        None
    }

    fn next_plain(&mut self, bad: &mut dyn Ledger) -> Result<Next, Fatal> {
        self.fill(20)?; // the longest tag and length
        let here = self.offset;
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
            return Err(Fatal::new("no packet begins here: the file is damaged", here));
        };
        // A number at the top of the trace has no size.
        let size = match tag & 7 {
            0 => 0,
            2 => size,
            _ => return Err(Fatal::new("no packet begins here: the file is damaged", here)),
        };
        let head = before - rest.len();
        if size > LARGEST {
            bad.trouble("a packet of more than 64 MiB was skipped", here, Trouble::Lost);
            self.take(head);
            self.skip(size)?;
            return Ok(Next::Skipped);
        }
        let whole = head + usize::try_from(size).unwrap_or(usize::MAX);
        self.fill(whole)?;
        if self.end - self.start < whole {
            return Ok(self.cut_off(bad));
        }
        let body = self.start + head..self.start + whole;
        self.take(whole);
        Ok(if tag == 10 { Next::Packet(body, here) } else { Next::Skipped })
    }

    fn cut_off(&mut self, bad: &mut dyn Ledger) -> Next {
        bad.trouble("a packet cut off by the end of the file", self.offset, Trouble::Lost);
        self.take(self.end - self.start);
        Next::End
    }

    fn take(&mut self, count: usize) {
        self.start += count;
        self.offset += count as u64;
    }

    /// Goes past bytes that nobody needs to see.
    fn skip(&mut self, mut size: u64) -> Result<(), Fatal> {
        while size > 0 {
            self.fill(1)?;
            let here = usize::try_from(size).unwrap_or(usize::MAX).min(self.end - self.start);
            if here == 0 {
                break;
            }
            self.take(here);
            size -= here as u64;
        }
        Ok(())
    }

    /// Sees to it that so many bytes are in the buffer, as far as the source has them. The buffer grows with what came,
    /// not with what a length claims.
    fn fill(&mut self, wanted: usize) -> Result<(), Fatal> {
        while self.end - self.start < wanted && !self.ended {
            if self.start > 0 {
                self.buffer.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
            }
            if self.buffer.len() < self.end + READ {
                self.buffer.resize(self.end + READ, 0);
            }
            match self.from.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Fatal::new(format!("cannot read on: {error}"), self.offset)),
            }
        }
        Ok(())
    }
}

/// The compressed packets of a packet that has some.
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
    if ZlibDecoder::new(packed).take(LARGEST).read_to_end(to).is_err() || to.len() as u64 == LARGEST {
        bad.trouble("compressed packets that are damaged, or larger than 64 MiB", offset, Trouble::Lost);
    }
}
