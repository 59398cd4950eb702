//! From pages to events.
//!
//! One stream for all CPUs: whichever is furthest behind is read on, so that each one's events wait only for the others'
//! next pages, texts are numbered once, and the reading of a file runs on a thread of its own (`ingest::run`).

use super::blocks::{Blocks, Got, Region};
use super::kernel_stack::{KernelStacks, StackFormat};
use super::options::Stats;
use crate::tracepoint::table::Reader;
use crate::tracepoint::{BadPage, ByteOrder, Decoder, EventFormat, Mark, Names, PageLayout, events, marker};
use ingest::{BATCH, Fatal, Ledger, Reach, Stream, Trouble};
use model::{Batch, CpuId, Event, LossSpan, MaybeCount, MaybeNs, NameId, Ns, Pid, StackId, Tid, What};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events handed out at once at most: a page may hold more than [`BATCH`].
const MOST: usize = 1 << 16;

/// From a page's time to nanoseconds.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    /// Ticks × first >> second = ns.
    pub(super) ticks: Option<(u32, u32)>,
    /// Added to every time.
    pub(super) offset: i64,
}

impl Scale {
    #[inline]
    fn ns(self, time: u64) -> Option<Ns> {
        let ns = match self.ticks {
            None => i64::try_from(time).ok()?,
            Some((by, shift)) => i64::try_from((u128::from(time) * u128::from(by)).checked_shr(shift)?).ok()?,
        };
        // The difference of any two must be a number too; this is 146 years.
        ns.checked_add(self.offset).filter(|ns| ns.unsigned_abs() < 1 << 62).map(Ns)
    }
}

/// What a recording says of its records.
pub(super) struct Records {
    order: ByteOrder,
    decoder: Decoder,
    /// `print`, which holds what programs write: its number, and where its text begins.
    print: Option<(u16, usize)>,
    /// Where `common_pid` stands.
    current: usize,
    /// Callchains, in words of so many bytes.
    stack: Option<StackFormat>,
    long: usize,
}

impl Records {
    pub(super) fn new(order: ByteOrder, long: usize) -> Self {
        Self { order, decoder: Decoder::new(Reader::TraceDat, order), print: None, current: 4, stack: None, long }
    }

    /// Whether anything is read of an event's records but their time and who was current.
    pub(super) fn reads(name: &str) -> bool {
        matches!(name, "print" | "kernel_stack") || events::named(Reader::TraceDat, name).is_some()
    }

    /// Learns an event.
    pub(super) fn learn(&mut self, format: &EventFormat) {
        if let Some(pid) = format.field("common_pid").filter(|f| f.size == 4) {
            self.current = pid.offset;
        }
        if let (true, Some(buf), Ok(id)) = (format.name == "print", format.field("buf"), u16::try_from(format.id)) {
            self.print = Some((id, buf.offset));
        }
        self.stack = self.stack.or(StackFormat::of(format));
        self.decoder.learn(format);
    }

    /// The callers in a record of a callchain.
    #[inline]
    fn callers(&self, raw: &[u8]) -> Option<impl Iterator<Item = u64>> {
        self.stack?.callers(raw, self.order, self.long)
    }

    /// The task that was current; `None` where the record is shorter than its description.
    #[inline]
    fn current(&self, raw: &[u8]) -> Option<Tid> {
        Some(Tid(self.order.u32_at(raw, self.current)? as i32))
    }

    /// Adds what a record says happened, `event` with its `what`; `None` where it is shorter than its description.
    #[inline]
    fn read(&self, raw: &[u8], event: Event, told: &mut Told, out: &mut Batch) -> Option<()> {
        if let Some((id, text)) = self.print
            && self.order.u16_at(raw, 0) == Some(id)
        {
            let current = event.current;
            let pid = told.processes.get(&current).copied().unwrap_or(Pid::UNKNOWN);
            let said = marker(raw.get(text..)?, current, pid, &mut |name| told.names.id(name, out));
            out.events.push(Event { what: said.unwrap_or(What::Sample), ..event });
            return Some(());
        }
        self.decoder.decode(raw, event, StackId::NONE, &mut told.names, out).ok()
    }
}

/// What was told of threads so far.
struct Told {
    names: Names,
    processes: FxHashMap<Tid, Pid>,
}

/// A CPU's buffer, as far as it was read.
struct Buffer {
    cpu: CpuId,
    region: Region,
    /// A switch with which its last page ended: its callchain may follow.
    held: Option<Event>,
    /// Its latest event; nothing earlier will come of it.
    last: Ns,
    /// Events were lost since the last one: how many, −1 where nobody counted.
    lost: Option<i64>,
    /// Events that its pages say were lost, and whether some did not say how many.
    counted: u64,
    uncounted: bool,
}

impl Buffer {
    /// Holds the last event back if it is a switch.
    fn hold(&mut self, from: usize, out: &mut Batch) {
        if let (true, Some(Event { what: What::Switch(_), .. })) = (out.events.len() > from, out.events.last()) {
            self.held = out.events.pop();
        }
    }

    fn lose(&mut self, events: Option<i64>) {
        self.lost = Some(match (self.lost, events) {
            (None, Some(n)) => n,
            (Some(before), Some(n)) if before >= 0 => before.saturating_add(n),
            _ => -1,
        });
    }

    /// The loss that ends at `to`.
    fn loss(&mut self, at: Ns, to: MaybeNs, offset: u64) -> Option<Event> {
        let events = MaybeCount::new(self.lost.take()?);
        let loss = LossSpan { from: MaybeNs::new(self.last), to, cpu: Some(self.cpu), events };
        Some(Event { at, offset, cpu: self.cpu, current: Tid::UNKNOWN, what: What::Loss(loss) })
    }
}

/// What a file tells of threads apart from its events.
struct Aside {
    /// "tid name", a line each.
    cmdlines: Vec<u8>,
    tgids: Vec<(Tid, Pid)>,
}

/// What a stream is made of.
pub(super) struct Parts<'a> {
    pub(super) blocks: Blocks<'a>,
    pub(super) layout: PageLayout,
    pub(super) page_size: usize,
    pub(super) scale: Scale,
    pub(super) records: Records,
    pub(super) stacks: KernelStacks,
    pub(super) regions: Vec<(CpuId, Region)>,
    pub(super) stats: Vec<Stats>,
    pub(super) cmdlines: Vec<u8>,
    pub(super) tgids: Vec<(Tid, Pid)>,
}

/// A trace.dat's events.
pub(super) struct DatStream<'a> {
    blocks: Blocks<'a>,
    layout: PageLayout,
    page_size: usize,
    scale: Scale,
    records: Records,
    stacks: KernelStacks,
    /// The first callchain was met: the names of functions are to be read.
    unnamed: bool,
    told: Told,
    buffers: Vec<Buffer>,
    /// Those that wait, the one that is furthest behind first.
    waiting: BinaryHeap<Reverse<(Ns, usize)>>,
    /// Whose pages stand in `blocks`, and how far they were read.
    of: Option<usize>,
    read: usize,
    /// How far the page under way was read, where it holds more than is handed out at once.
    within: Option<Mark>,
    stats: Vec<Stats>,
    /// Until it was handed out.
    aside: Option<Aside>,
}

impl<'a> DatStream<'a> {
    pub(super) fn new(parts: Parts<'a>) -> Self {
        let buffer =
            |(cpu, region)| Buffer { cpu, region, held: None, last: Ns::MIN, lost: None, counted: 0, uncounted: false };
        let waiting = (0..parts.regions.len()).map(|of| Reverse((Ns::MIN, of))).collect();
        Self {
            blocks: parts.blocks,
            layout: parts.layout,
            page_size: parts.page_size,
            scale: parts.scale,
            records: parts.records,
            stacks: parts.stacks,
            unnamed: false,
            told: Told { names: Names::new(), processes: parts.tgids.iter().copied().collect() },
            buffers: parts.regions.into_iter().map(buffer).collect(),
            waiting,
            of: None,
            read: 0,
            within: None,
            stats: parts.stats,
            aside: Some(Aside { cmdlines: parts.cmdlines, tgids: parts.tgids }),
        }
    }

    /// Hands out what the file tells of threads: before everything, since the events' own names are newer.
    fn tell_aside(&mut self, out: &mut Batch) {
        let Some(Aside { cmdlines, tgids }) = self.aside.take() else { return };
        let event = |what| Event { at: Ns::MIN, offset: 0, cpu: CpuId::UNKNOWN, current: Tid::UNKNOWN, what };
        for line in cmdlines.split(|b| *b == b'\n') {
            let Some(blank) = line.iter().position(|b| *b == b' ') else { continue };
            let tid = std::str::from_utf8(&line[..blank]).ok().and_then(|t| t.parse().ok());
            // "<...>": the kernel did not know it either.
            if let Some(tid) = tid.filter(|t| *t > 0 && &line[blank + 1..] != b"<...>") {
                let name = self.told.names.id(&line[blank + 1..], out);
                out.events.push(event(What::Name { tid: Tid(tid), pid: Pid::UNKNOWN, name }));
            }
        }
        for (tid, pid) in tgids {
            out.events.push(event(What::Name { tid, pid, name: NameId::NONE }));
        }
    }

    /// Reads the next pages of the CPU that is furthest behind; `false` where all have ended.
    fn load(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<bool, Fatal> {
        if let Some(of) = self.of.take() {
            self.waiting.push(Reverse((self.buffers[of].last, of)));
        }
        let Some(Reverse((_, of))) = self.waiting.pop() else { return Ok(false) };
        (self.of, self.read) = (Some(of), 0);
        let buffer = &mut self.buffers[of];
        match self.blocks.load(&mut buffer.region)? {
            Got::Pages => {}
            Got::Torn(why) => {
                bad.trouble(why, self.blocks.place, Trouble::Lost);
                buffer.lose(None);
            }
            Got::End => {
                self.of = None;
                out.events.extend(buffer.held.take());
                let at = buffer.last;
                out.events.extend(buffer.loss(at, MaybeNs::NONE, self.blocks.place));
                let told = self.stats.iter().find(|s| s.cpu == buffer.cpu);
                out.events.extend(told.and_then(|stats| lost_somewhere(buffer, stats)));
            }
        }
        Ok(true)
    }

    /// Reads a page of those loaded.
    fn page(&mut self, out: &mut Batch, bad: &mut dyn Ledger) {
        let Some(of) = self.of else { return };
        let from = out.events.len();
        out.events.extend(self.buffers.get_mut(of).and_then(|buffer| buffer.held.take()));
        self.records_of(of, from, out, bad);
        if let (true, Some(buffer)) = (self.records.stack.is_some(), self.buffers.get_mut(of)) {
            buffer.hold(from, out);
        }
    }

    /// The same for a page's records; the buffer's events stand in `out` from `from` on.
    fn records_of(&mut self, of: usize, from: usize, out: &mut Batch, bad: &mut dyn Ledger) {
        let Some(buffer) = self.buffers.get_mut(of) else { return };
        let end = (self.read + self.page_size).min(self.blocks.pages.len());
        let bytes = &self.blocks.pages[self.read..end];
        // Of a packed page only the chunk's place is known.
        let plain = self.blocks.is_plain();
        let place = if plain { self.blocks.place + self.read as u64 } else { self.blocks.place };
        let begin = std::mem::replace(&mut self.read, end);
        let mut page = match self.layout.open(bytes) {
            Ok(page) => page,
            Err(BadPage(why)) => {
                bad.trouble(why, place, Trouble::Lost);
                return buffer.lose(None);
            }
        };
        if let Some(mark) = self.within.take() {
            page.records.go_on(mark);
        } else if let Some(lost) = page.missed {
            buffer.lose(Some(lost).filter(|n| *n >= 0));
            buffer.counted = buffer.counted.saturating_add(u64::try_from(lost).unwrap_or(0));
            buffer.uncounted |= lost < 0;
        }
        loop {
            if out.events.len() >= MOST {
                (self.read, self.within) = (begin, Some(page.records.mark()));
                return;
            }
            let before = page.records.mark();
            let record = match page.records.next() {
                Some(Ok(record)) => record,
                None => return,
                Some(Err(BadPage(why))) => {
                    bad.trouble(why, place, Trouble::Lost);
                    return buffer.lose(None);
                }
            };
            let offset = if plain { place + (self.layout.data() + record.at) as u64 } else { place };
            let Some(at) = self.scale.ns(record.time) else {
                bad.trouble("a page with a time that no clock has", offset, Trouble::Lost);
                return buffer.lose(None);
            };
            let callers = self.records.callers(record.raw);
            if callers.is_some() && !self.stacks.is_named() {
                // The names stand elsewhere in the file; then on from here.
                (self.read, self.within) = (begin, Some(before));
                self.unnamed = true;
                return;
            }
            let current = self.records.current(record.raw);
            let event = current.map(|current| Event { at, offset, cpu: buffer.cpu, current, what: What::Sample });
            if event.and_then(|event| self.records.read(record.raw, event, &mut self.told, out)).is_none() {
                bad.trouble("a record shorter than its description", offset, Trouble::Lost);
                buffer.lose(None);
                continue;
            }
            // A callchain of the thread that left at the switch before tells where it did.
            if let Some(callers) = callers {
                let stack = self.stacks.id(callers, &mut self.told.names, out);
                if let [.., Event { what: What::Switch(switch), .. }, own] = &mut out.events[from..]
                    && switch.prev == own.current
                {
                    switch.stack = stack;
                }
            }
            // A loss ends here: before what was added last.
            if buffer.lost.is_some()
                && let Some(event) = out.events.pop()
            {
                out.events.extend(buffer.loss(at, MaybeNs::new(at), offset));
                out.events.push(event);
            }
            buffer.last = buffer.last.max(at);
        }
    }
}

/// What the kernel counted as lost beyond what the pages tell: nobody knows when.
fn lost_somewhere(buffer: &Buffer, stats: &Stats) -> Option<Event> {
    let overwritten = if buffer.uncounted { 0 } else { stats.overrun.saturating_sub(buffer.counted) };
    let events = i64::try_from(stats.dropped.saturating_add(overwritten)).unwrap_or(-1);
    let loss =
        LossSpan { from: MaybeNs::NONE, to: MaybeNs::NONE, cpu: Some(buffer.cpu), events: MaybeCount::new(events) };
    (events != 0).then_some(Event {
        at: buffer.last,
        offset: 0,
        cpu: buffer.cpu,
        current: Tid::UNKNOWN,
        what: What::Loss(loss),
    })
}

impl Stream for DatStream<'_> {
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal> {
        self.tell_aside(out);
        while out.events.len() < BATCH {
            if self.read < self.blocks.pages.len() {
                self.page(out, bad);
                if std::mem::take(&mut self.unnamed) {
                    self.stacks.read_names(self.blocks.file(), bad);
                }
            } else if !self.load(out, bad)? {
                return Ok(Reach::End);
            }
        }
        let waits = self.waiting.peek().map_or(Ns::MAX, |Reverse((until, _))| *until);
        Ok(Reach::Until(MaybeNs::new(self.of.map_or(waits, |of| waits.min(self.buffers[of].last)))))
    }
}
