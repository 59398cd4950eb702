//! Events that do not fit in memory: each CPU's queue is a sorted segment of one temporary file, merged once at the end.

use crate::fifo::{Fifo, Spares};
use model::{CpuId, Event, EventKind, Ns, Tid};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};

/// The size of a read from a segment. Few segments of a CPU overlap in time, so there are few buffers at the same time.
const BUFFER: usize = 64 * 1024;

pub(crate) struct Spill {
    file: BufWriter<File>,
    written: u64,
    segments: BTreeMap<CpuId, Vec<Segment>>,
    merge: Option<Merge>,
}

struct Segment {
    first: Ns,
    /// Keeps the order of segments of one CPU for events at one instant.
    number: u64,
    start: u64,
    end: u64,
}

impl Spill {
    pub(crate) fn new() -> std::io::Result<Self> {
        // Not larger: larger writes allocate folios that the host of a virtual machine may have reclaimed (see `account`'s rows).
        let file = BufWriter::with_capacity(1 << 18, tempfile::tempfile()?);
        Ok(Self { file, written: 0, segments: BTreeMap::new(), merge: None })
    }

    /// Writes a queue as a segment and empties it.
    pub(crate) fn write(&mut self, cpu: CpuId, events: &mut Fifo, spares: &mut Spares) -> std::io::Result<()> {
        let Some(first) = events.waiting().first().map(|e| e.at) else { return Ok(()) };
        let start = self.written;
        let mut bytes = [0_u8; 160];
        while !events.is_empty() {
            let run = events.waiting();
            for event in run {
                let encoded = postcard::to_slice(event, &mut bytes[1..]).map_err(std::io::Error::other)?.len();
                bytes[0] = u8::try_from(encoded).map_err(std::io::Error::other)?;
                self.file.write_all(&bytes[..=encoded])?;
                self.written += 1 + encoded as u64;
            }
            events.leave(run.len(), spares);
        }
        let number = start;
        self.segments.entry(cpu).or_default().push(Segment { first, number, start, end: self.written });
        Ok(())
    }

    /// Appends up to `count` events in their final order; none at the end.
    pub(crate) fn merge_next(&mut self, count: usize, out: &mut Vec<Event>) -> std::io::Result<()> {
        if self.merge.is_none() {
            self.file.flush()?;
            self.merge = Some(Merge::new(std::mem::take(&mut self.segments), self.file.get_mut())?);
        }
        match &mut self.merge {
            Some(merge) => merge.next(count, self.file.get_mut(), out),
            None => Ok(()),
        }
    }
}

/// The cross-CPU merge over per-CPU merges.
struct Merge {
    lanes: Vec<Lane>,
    heads: BinaryHeap<Reverse<(Ns, bool, CpuId, usize)>>,
}

impl Merge {
    fn new(segments: BTreeMap<CpuId, Vec<Segment>>, file: &mut File) -> std::io::Result<Self> {
        let mut merge = Self { lanes: Vec::new(), heads: BinaryHeap::new() };
        for (cpu, mut waiting) in segments {
            waiting.sort_by_key(|s| (Reverse(s.first), Reverse(s.number))); // in reverse order, to be popped
            let mut lane = Lane { cpu, waiting, active: Vec::new(), next: None };
            lane.advance(file)?;
            merge.push(lane, None);
        }
        Ok(merge)
    }

    fn push(&mut self, lane: Lane, at: Option<usize>) {
        let place = at.unwrap_or(self.lanes.len());
        let head = lane.next.as_ref().map(|e| (e.at, matches!(e.what, EventKind::Switch(_)), lane.cpu, place));
        self.heads.extend(head.map(Reverse));
        if at.is_none() {
            self.lanes.push(lane);
        }
    }

    fn next(&mut self, count: usize, file: &mut File, out: &mut Vec<Event>) -> std::io::Result<()> {
        while out.len() < count {
            let Some(Reverse((_, _, cpu, at))) = self.heads.pop() else { break };
            let lane = &mut self.lanes[at];
            out.extend(lane.next.take());
            lane.advance(file)?;
            let head = lane.next.as_ref().map(|e| (e.at, matches!(e.what, EventKind::Switch(_)), cpu, at));
            self.heads.extend(head.map(Reverse));
        }
        Ok(())
    }
}

/// The segments of one CPU, merged by time.
struct Lane {
    cpu: CpuId,
    /// Segments that are not open yet, latest first.
    waiting: Vec<Segment>,
    active: Vec<Reader>,
    next: Option<Event>,
}

impl Lane {
    fn advance(&mut self, file: &mut File) -> std::io::Result<()> {
        loop {
            let earliest = (0..self.active.len()).min_by_key(|i| (self.active[*i].head.at, self.active[*i].number));
            let opens = self.waiting.last().is_some_and(|s| {
                earliest.is_none_or(|i| (s.first, s.number) < (self.active[i].head.at, self.active[i].number))
            });
            if opens {
                if let Some(segment) = self.waiting.pop() {
                    self.active.extend(Reader::open(&segment, file)?);
                }
                continue;
            }
            let Some(at) = earliest else { return Ok(()) };
            self.next = Some(self.active[at].head);
            if !self.active[at].advance(file)? {
                self.active.swap_remove(at);
            }
            return Ok(());
        }
    }
}

struct Reader {
    number: u64,
    head: Event,
    at: u64,
    end: u64,
    buffer: Vec<u8>,
    used: usize,
}

impl Reader {
    fn open(segment: &Segment, file: &mut File) -> std::io::Result<Option<Self>> {
        let nothing = Event { at: Ns::MIN, offset: 0, cpu: CpuId(0), current: Tid::UNKNOWN, what: EventKind::Sample };
        let (at, end, number) = (segment.start, segment.end, segment.number);
        let mut reader = Self { number, head: nothing, at, end, buffer: Vec::new(), used: 0 };
        Ok(reader.advance(file)?.then_some(reader))
    }

    fn advance(&mut self, file: &mut File) -> std::io::Result<bool> {
        let left = self.buffer.len() - self.used;
        if left < 256 && self.at < self.end {
            self.buffer.drain(..self.used);
            self.used = 0;
            let more = usize::try_from(self.end - self.at).unwrap_or(BUFFER).min(BUFFER);
            let from = self.buffer.len();
            self.buffer.resize(from + more, 0);
            file.seek(SeekFrom::Start(self.at))?;
            file.read_exact(&mut self.buffer[from..])?;
            self.at += more as u64;
        }
        let Some((&len, rest)) = self.buffer[self.used..].split_first() else { return Ok(false) };
        let bytes = rest.get(..usize::from(len)).ok_or(std::io::ErrorKind::UnexpectedEof)?;
        self.head = postcard::from_bytes(bytes).map_err(std::io::Error::other)?;
        self.used += 1 + usize::from(len);
        Ok(true)
    }
}
