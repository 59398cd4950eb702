//! A channel of a CPU: its files in the order of time, packet by packet.

use super::layout::{Layouts, NoHead, PacketHead};
use super::records::{Part, Records, Stop};
use super::window::Window;
use ingest::{Anomaly, Fatal, Folder, Ledger, Reach, Stream};
use model::{Batch, CpuId, MaybeNs};
use std::sync::{Arc, Mutex};

/// Packets start in the window at a multiple of this, so that alignments count from the packet's start.
const PACKET_ALIGN: usize = 64;

/// A trace's folder, from which all streams read.
pub(super) type Shared<'a> = Arc<Mutex<Box<dyn Folder + Send + 'a>>>;

/// The memory limits of each stream, so that many streams need no more memory than few.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// The number of bytes read in one call, and the maximum size of a record.
    window: usize,
    max_record: usize,
    events: usize,
}

impl Share {
    pub(super) fn of(streams: usize) -> Self {
        let streams = streams.max(1);
        Self {
            window: ((16 << 20) / streams).clamp(4 << 10, 256 << 10).next_power_of_two(),
            max_record: ((64 << 20) / streams).clamp(16 << 10, 8 << 20),
            events: ((128 << 10) / streams).clamp(256, 8192),
        }
    }
}

/// The events of a channel.
pub(super) struct Channel<'a> {
    folder: Shared<'a>,
    /// The files still to be read, the next one last.
    files: Vec<String>,
    open: Option<File>,
    records: Records,
    share: Share,
    /// The number of files that do not belong to this trace, not yet reported.
    foreign_files: u64,
}

struct File {
    window: Window,
    packet: Option<Packet>,
}

/// The packet being read.
struct Packet {
    head: PacketHead,
    /// Its offset in the file.
    at: u64,
    /// The next bit, counted from the window's first byte.
    bit: usize,
}

impl<'a> Channel<'a> {
    /// `files` are in the order of time. `foreign_files` is the number of files that belong to no channel, which this
    /// channel reports.
    pub(super) fn new(
        folder: Shared<'a>,
        layouts: Arc<Layouts>,
        mut files: Vec<String>,
        foreign_files: u64,
        share: Share,
    ) -> Self {
        files.reverse();
        Self { folder, files, open: None, records: Records::new(layouts), share, foreign_files }
    }

    fn next_file(&mut self) -> Result<bool, Fatal> {
        let Some(name) = self.files.pop() else { return Ok(false) };
        let file = {
            let folder = self.folder.lock().map_err(|_| Fatal::new("the folder can no longer be read", 0))?;
            folder.open(&name).map_err(|e| Fatal::new(format!("{name}: {e}"), 0))?
        };
        let window = Window::new(file, self.share.window, self.share.max_record);
        self.open = Some(File { window, packet: None });
        Ok(true)
    }
}

impl Stream for Channel<'_> {
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal> {
        for _ in 0..std::mem::take(&mut self.foreign_files) {
            bad.anomaly("a file does not belong to a channel", 0, Anomaly::Warning);
        }
        let limit = out.events.len() + self.share.events;
        while out.events.len() < limit {
            let Some(file) = &mut self.open else {
                if self.next_file()? {
                    continue;
                }
                out.events.extend(self.records.losses.end());
                return Ok(Reach::End);
            };
            let continues = match file.packet {
                None => file.begin(&mut self.records, bad)?,
                Some(_) => file.continue_packet(&mut self.records, out, limit, bad)?,
            };
            if !continues {
                self.open = None;
            }
        }
        Ok(Reach::Until(MaybeNs::new(self.records.now)))
    }
}

impl File {
    /// Reads the next packet's head; `false` at the end of the file.
    fn begin(&mut self, records: &mut Records, bad: &mut dyn Ledger) -> Result<bool, Fatal> {
        let layouts = records.layouts.clone();
        let mut searching = false;
        loop {
            let length = self.window.bytes().len();
            let why = if length == 0 {
                NoHead::Short
            } else {
                match layouts.head(self.window.bytes(), &mut records.values) {
                    Ok(head) => {
                        self.enter(head, records);
                        return Ok(true);
                    }
                    Err(why) => why,
                }
            };
            let at = self.window.offset();
            if why == NoHead::Short && self.window.grow(length)? {
                continue;
            }
            let what = match why {
                NoHead::Short if length == 0 || searching => return Ok(false),
                NoHead::Short => "a packet's head is cut off by the end of the file",
                NoHead::Wrong(what) => what,
            };
            if !searching {
                bad.anomaly(what, at, Anomaly::Lost);
                records.losses.unreadable(records.cpu, at);
                searching = true;
            }
            self.window.consume(1);
            if !self.search(&layouts)? {
                return Ok(false);
            }
        }
    }

    /// Skips to what looks like a packet's start; `false` if there is none, or if packets have no magic number.
    fn search(&mut self, layouts: &Layouts) -> Result<bool, Fatal> {
        let mark = layouts.begin.as_slice();
        let Some(first) = mark.first() else { return Ok(false) };
        loop {
            let bytes = self.window.bytes();
            if let Some(at) = bytes.windows(mark.len()).position(|w| w[0] == *first && w == mark) {
                self.window.consume(at);
                return Ok(true);
            }
            let kept = bytes.len().min(mark.len() - 1);
            self.window.consume(bytes.len() - kept);
            if !self.window.grow(kept)? {
                return Ok(false);
            }
        }
    }

    fn enter(&mut self, head: PacketHead, records: &mut Records) {
        let at = self.window.offset();
        if let Some(begin) = head.begin {
            records.clock = begin;
        }
        records.cpu = head.cpu.unwrap_or(CpuId::UNKNOWN);
        records.losses.packet(head.sequence, head.discarded, records.cpu, at);
        self.packet = Some(Packet { head, at, bit: head.bits });
    }

    /// Continues to read the packet; `false` at the end of the file.
    fn continue_packet(
        &mut self,
        records: &mut Records,
        out: &mut Batch,
        limit: usize,
        bad: &mut dyn Ledger,
    ) -> Result<bool, Fatal> {
        let Some(packet) = &mut self.packet else { return Ok(true) };
        let (bytes, offset) = (self.window.bytes(), self.window.offset());
        let content = packet.head.sizes.map_or(u64::MAX, |(content, _)| content);
        let remaining = content.saturating_sub((offset - packet.at).saturating_mul(8));
        let end = usize::try_from(remaining).map_or(bytes.len() * 8, |remaining| remaining.min(bytes.len() * 8));
        let part = Part { end, remaining, offset };
        let wrong = match records.read(packet.head.stream, bytes, &mut packet.bit, part, out, limit) {
            Stop::Full => return Ok(true),
            Stop::Bad(what) => what,
            Stop::Short if end as u64 == remaining => {
                if packet.bit >= end {
                    return self.leave(records);
                }
                "an event extends beyond the end of its packet"
            }
            Stop::Short => {
                let consumed = packet.bit / 8 / PACKET_ALIGN * PACKET_ALIGN;
                packet.bit -= consumed * 8;
                let kept = bytes.len() - consumed.min(bytes.len());
                self.window.consume(consumed);
                if self.window.grow(kept)? {
                    return Ok(true);
                }
                if kept * 8 <= packet.bit && packet.head.sizes.is_none() {
                    return self.leave(records);
                }
                if self.window.ended() {
                    "a packet is cut off by the end of the file"
                } else {
                    "an event exceeds the maximum size"
                }
            }
        };
        bad.anomaly(wrong, offset + packet.bit as u64 / 8, Anomaly::Lost);
        records.losses.unreadable(records.cpu, offset);
        self.leave(records)
    }

    /// Leaves the packet for the next one.
    fn leave(&mut self, records: &mut Records) -> Result<bool, Fatal> {
        let Some(packet) = self.packet.take() else { return Ok(true) };
        records.losses.packet_ends(records.cpu, packet.at);
        let Some((_, size)) = packet.head.sizes else { return Ok(false) };
        let Some(next) = packet.at.checked_add(size / 8) else { return Ok(false) };
        self.window.skip_to(next)?;
        Ok(true)
    }
}
