//! A channel of a CPU: its files, in the order of time, packet by packet.

use super::layout::{Layouts, NoHead, PacketHead};
use super::records::{Part, Records, Stop};
use super::window::Window;
use ingest::{Fatal, Folder, Ledger, Reach, Stream, Trouble};
use model::{Batch, CpuId, MaybeNs};
use std::sync::{Arc, Mutex};

/// Packets begin in the window at a multiple of this, so that alignments count from the packet's begin.
const LINE: usize = 64;

/// A trace's folder, which all streams read from.
pub(super) type Shared<'a> = Arc<Mutex<Box<dyn Folder + Send + 'a>>>;

/// How much each stream may hold, so that many are not more than few.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// Bytes read at once, and of the largest record.
    window: usize,
    largest: usize,
    events: usize,
}

impl Share {
    pub(super) fn of(streams: usize) -> Self {
        let streams = streams.max(1);
        Self {
            window: ((16 << 20) / streams).clamp(4 << 10, 256 << 10).next_power_of_two(),
            largest: ((64 << 20) / streams).clamp(16 << 10, 8 << 20),
            events: ((128 << 10) / streams).clamp(256, 8192),
        }
    }
}

/// The events of a channel.
pub(super) struct Channel<'a> {
    folder: Shared<'a>,
    /// Those still to be read, the next one last.
    files: Vec<String>,
    open: Option<File>,
    records: Records,
    share: Share,
    /// Whether the name of a file was met that is none of this trace.
    strangers: u64,
}

struct File {
    window: Window,
    packet: Option<Packet>,
}

/// The packet that is being read.
struct Packet {
    head: PacketHead,
    /// Where it begins in the file.
    at: u64,
    /// The next bit, from the window's first byte.
    bit: usize,
}

impl<'a> Channel<'a> {
    /// `files` in the order of time; `strangers` were found beside all channels and are told of here.
    pub(super) fn new(
        folder: Shared<'a>,
        layouts: Arc<Layouts>,
        mut files: Vec<String>,
        strangers: u64,
        share: Share,
    ) -> Self {
        files.reverse();
        Self { folder, files, open: None, records: Records::new(layouts), share, strangers }
    }

    fn next_file(&mut self) -> Result<bool, Fatal> {
        let Some(name) = self.files.pop() else { return Ok(false) };
        let file = {
            let folder = self.folder.lock().map_err(|_| Fatal::new("the folder can no longer be read", 0))?;
            folder.open(&name).map_err(|e| Fatal::new(format!("{name}: {e}"), 0))?
        };
        let window = Window::new(file, self.share.window, self.share.largest);
        self.open = Some(File { window, packet: None });
        Ok(true)
    }
}

impl Stream for Channel<'_> {
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal> {
        for _ in 0..std::mem::take(&mut self.strangers) {
            bad.trouble("a file beside the channels that is none", 0, Trouble::Odd);
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
            let goes_on = match file.packet {
                None => file.begin(&mut self.records, bad)?,
                Some(_) => file.go_on(&mut self.records, out, limit, bad)?,
            };
            if !goes_on {
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
                NoHead::Short => "a packet's head cut off by the end of the file",
                NoHead::Wrong(what) => what,
            };
            if !searching {
                bad.trouble(what, at, Trouble::Lost);
                records.losses.torn(records.cpu, at);
                searching = true;
            }
            self.window.consume(1);
            if !self.search(&layouts)? {
                return Ok(false);
            }
        }
    }

    /// Goes forward to what looks like a packet's begin; `false` where there is none, or where packets have no mark.
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

    /// Reads on in the packet; `false` at the end of the file.
    fn go_on(
        &mut self,
        records: &mut Records,
        out: &mut Batch,
        limit: usize,
        bad: &mut dyn Ledger,
    ) -> Result<bool, Fatal> {
        let Some(packet) = &mut self.packet else { return Ok(true) };
        let (bytes, offset) = (self.window.bytes(), self.window.offset());
        let content = packet.head.sizes.map_or(u64::MAX, |(content, _)| content);
        let whole = content.saturating_sub((offset - packet.at).saturating_mul(8));
        let end = usize::try_from(whole).map_or(bytes.len() * 8, |whole| whole.min(bytes.len() * 8));
        let part = Part { end, whole, offset };
        let wrong = match records.read(packet.head.stream, bytes, &mut packet.bit, part, out, limit) {
            Stop::Full => return Ok(true),
            Stop::Bad(what) => what,
            Stop::Short if end as u64 == whole => {
                if packet.bit >= end {
                    return self.leave(records);
                }
                "an event that goes beyond its packet"
            }
            Stop::Short => {
                let behind = packet.bit / 8 / LINE * LINE;
                packet.bit -= behind * 8;
                let kept = bytes.len() - behind.min(bytes.len());
                self.window.consume(behind);
                if self.window.grow(kept)? {
                    return Ok(true);
                }
                if kept * 8 <= packet.bit && packet.head.sizes.is_none() {
                    return self.leave(records);
                }
                if self.window.ended() { "a packet cut off by the end of the file" } else { "an event too large" }
            }
        };
        bad.trouble(wrong, offset + packet.bit as u64 / 8, Trouble::Lost);
        records.losses.torn(records.cpu, offset);
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
