//! Turns pages into events.
//!
//! There is one stream for all CPUs. The CPU whose events are earliest is read next, so that each one's events wait
//! only for the others' next pages, texts are numbered once, and a file is read by one thread (`ingest::run`).

use super::blocks::{BlockResult, Blocks, Region};
use super::kernel_stack::{KernelStacks, StackFormat};
use super::options::Stats;
use crate::tracepoint::table::Reader;
use crate::tracepoint::{BadPage, ByteOrder, Decoder, EventFormat, Names, PageLayout, Position, events, marker};
use ingest::{Anomaly, BATCH, Fatal, Ledger, Reach, Stream};
use model::{Batch, CpuId, Event, EventKind, LossSpan, MaybeCount, MaybeNs, NameId, Ns, Pid, StackId, Tid};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The maximum number of events in a batch: a page may contain more than [`BATCH`].
const MAX_BATCH: usize = 1 << 16;

/// Converts a page's times to nanoseconds.
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
        // The difference of any two times must fit as well; the limit is 146 years.
        ns.checked_add(self.offset).filter(|ns| ns.unsigned_abs() < 1 << 62).map(Ns)
    }
}

/// The descriptions of records.
pub(super) struct Records {
    order: ByteOrder,
    decoder: Decoder,
    /// `print`, which contains what programs write: its number, and the offset of its text.
    print: Option<(u16, usize)>,
    /// The offset of `common_pid`.
    current: usize,
    /// The format of callchains, and the size of their words in bytes.
    stack: Option<StackFormat>,
    long: usize,
}

impl Records {
    pub(super) fn new(order: ByteOrder, long: usize) -> Self {
        Self { order, decoder: Decoder::new(Reader::TraceDat, order), print: None, current: 4, stack: None, long }
    }

    /// Whether more than the time and the current task is read of an event's records.
    pub(super) fn reads(name: &str) -> bool {
        matches!(name, "print" | "kernel_stack") || events::named(Reader::TraceDat, name).is_some()
    }

    /// Adds an event.
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

    /// Sets the recorded machine's architecture.
    pub(super) fn set_machine(&mut self, machine: &str) {
        self.decoder.set_machine(Some(machine));
    }

    /// Returns the callers in a callchain record.
    #[inline]
    fn callers(&self, raw: &[u8]) -> Option<impl Iterator<Item = u64>> {
        self.stack?.callers(raw, self.order, self.long)
    }

    /// Returns the current task; `None` if the record is shorter than its description.
    #[inline]
    fn current(&self, raw: &[u8]) -> Option<Tid> {
        Some(Tid(self.order.u32_at(raw, self.current)? as i32))
    }

    /// Adds the event of a record: `event` with its `what` filled in. `None` if the record is shorter than its
    /// description.
    #[inline]
    fn read(&self, raw: &[u8], event: Event, threads: &mut Threads, out: &mut Batch) -> Option<()> {
        if let Some((id, text)) = self.print
            && self.order.u16_at(raw, 0) == Some(id)
        {
            let current = event.current;
            let pid = threads.processes.get(&current).copied().unwrap_or(Pid::UNKNOWN);
            let mark = marker(raw.get(text..)?, current, pid, &mut |name| threads.names.id(name, out));
            out.events.push(Event { what: mark.unwrap_or(EventKind::Sample), ..event });
            return Some(());
        }
        self.decoder.decode(raw, event, StackId::NONE, &mut threads.names, out).ok()
    }
}

/// The names and processes of threads so far.
struct Threads {
    names: Names,
    processes: FxHashMap<Tid, Pid>,
}

/// The state of reading a CPU's buffer.
struct Buffer {
    cpu: CpuId,
    region: Region,
    /// The switch with which its last page ended: a callchain may follow.
    held: Option<Event>,
    /// The time of its latest event; no earlier one will come.
    last: Ns,
    /// The number of events lost since the last event; −1 if unknown.
    lost: Option<i64>,
    /// The number of lost events according to its pages, and whether some did not contain it.
    counted: u64,
    uncounted: bool,
}

impl Buffer {
    /// Holds back the last event if it is a switch.
    fn hold(&mut self, from: usize, out: &mut Batch) {
        if let (true, Some(Event { what: EventKind::Switch(_), .. })) = (out.events.len() > from, out.events.last()) {
            self.held = out.events.pop();
        }
    }

    fn add_loss(&mut self, events: Option<i64>) {
        self.lost = Some(match (self.lost, events) {
            (None, Some(n)) => n,
            (Some(before), Some(n)) if before >= 0 => before.saturating_add(n),
            _ => -1,
        });
    }

    /// Returns the loss that ends at `to`.
    fn loss(&mut self, at: Ns, to: MaybeNs, offset: u64) -> Option<Event> {
        let events = MaybeCount::new(self.lost.take()?);
        let loss = LossSpan { from: MaybeNs::new(self.last), to, cpu: Some(self.cpu), events };
        Some(Event { at, offset, cpu: self.cpu, current: Tid::UNKNOWN, what: EventKind::Loss(loss) })
    }
}

/// The facts about threads outside of events.
struct ThreadFacts {
    /// "tid name", one per line.
    cmdlines: Vec<u8>,
    tgids: Vec<(Tid, Pid)>,
}

/// The parts of a stream.
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

/// The events of a trace.dat.
pub(super) struct DatStream<'a> {
    blocks: Blocks<'a>,
    layout: PageLayout,
    page_size: usize,
    scale: Scale,
    records: Records,
    stacks: KernelStacks,
    /// Whether there was a callchain, so that the names of functions must be read.
    needs_names: bool,
    threads: Threads,
    buffers: Vec<Buffer>,
    /// The buffers that wait, the earliest first.
    waiting: BinaryHeap<Reverse<(Ns, usize)>>,
    /// The CPU whose pages are in `blocks`, and the number of bytes read of them.
    current_cpu: Option<usize>,
    read: usize,
    /// The place in the current page, if it contains more events than a batch.
    within: Option<Position>,
    stats: Vec<Stats>,
    /// Set until it was returned.
    thread_facts: Option<ThreadFacts>,
}

impl<'a> DatStream<'a> {
    pub(super) fn new(parts: Parts<'a>) -> Self {
        let buffer =
            |(cpu, region)| Buffer { cpu, region, held: None, last: Ns::MIN, lost: None, counted: 0, uncounted: false };
        let waiting = (0..parts.regions.len()).map(|current_cpu| Reverse((Ns::MIN, current_cpu))).collect();
        Self {
            blocks: parts.blocks,
            layout: parts.layout,
            page_size: parts.page_size,
            scale: parts.scale,
            records: parts.records,
            stacks: parts.stacks,
            needs_names: false,
            threads: Threads { names: Names::new(), processes: parts.tgids.iter().copied().collect() },
            buffers: parts.regions.into_iter().map(buffer).collect(),
            waiting,
            current_cpu: None,
            read: 0,
            within: None,
            stats: parts.stats,
            thread_facts: Some(ThreadFacts { cmdlines: parts.cmdlines, tgids: parts.tgids }),
        }
    }

    /// Adds the facts about threads. They come before everything, since the events' own names are newer.
    fn add_thread_facts(&mut self, out: &mut Batch) {
        let Some(ThreadFacts { cmdlines, tgids }) = self.thread_facts.take() else { return };
        let event = |what| Event { at: Ns::MIN, offset: 0, cpu: CpuId::UNKNOWN, current: Tid::UNKNOWN, what };
        for line in cmdlines.split(|b| *b == b'\n') {
            let Some(blank) = line.iter().position(|b| *b == b' ') else { continue };
            let tid = std::str::from_utf8(&line[..blank]).ok().and_then(|t| t.parse().ok());
            // "<...>": the kernel did not know the name either.
            if let Some(tid) = tid.filter(|t| *t > 0 && &line[blank + 1..] != b"<...>") {
                let name = self.threads.names.id(&line[blank + 1..], out);
                out.events.push(event(EventKind::Name { tid: Tid(tid), pid: Pid::UNKNOWN, name }));
            }
        }
        for (tid, pid) in tgids {
            out.events.push(event(EventKind::Name { tid, pid, name: NameId::NONE }));
        }
    }

    /// Reads the next pages of the CPU that is earliest; `false` if all have ended.
    fn load(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<bool, Fatal> {
        if let Some(current_cpu) = self.current_cpu.take() {
            self.waiting.push(Reverse((self.buffers[current_cpu].last, current_cpu)));
        }
        let Some(Reverse((_, current_cpu))) = self.waiting.pop() else { return Ok(false) };
        (self.current_cpu, self.read) = (Some(current_cpu), 0);
        let buffer = &mut self.buffers[current_cpu];
        match self.blocks.load(&mut buffer.region)? {
            BlockResult::Pages => {}
            BlockResult::Unreadable(why) => {
                bad.anomaly(why, self.blocks.place, Anomaly::Lost);
                buffer.add_loss(None);
            }
            BlockResult::End => {
                self.current_cpu = None;
                out.events.extend(buffer.held.take());
                let at = buffer.last;
                out.events.extend(buffer.loss(at, MaybeNs::NONE, self.blocks.place));
                let stats = self.stats.iter().find(|s| s.cpu == buffer.cpu);
                out.events.extend(stats.and_then(|stats| loss_without_time(buffer, stats)));
            }
        }
        Ok(true)
    }

    /// Reads one of the loaded pages.
    fn page(&mut self, out: &mut Batch, bad: &mut dyn Ledger) {
        let Some(current_cpu) = self.current_cpu else { return };
        let from = out.events.len();
        out.events.extend(self.buffers.get_mut(current_cpu).and_then(|buffer| buffer.held.take()));
        self.records_of(current_cpu, from, out, bad);
        if let (true, Some(buffer)) = (self.records.stack.is_some(), self.buffers.get_mut(current_cpu)) {
            buffer.hold(from, out);
        }
    }

    /// Reads a page's records; the buffer's events start at `from` in `out`.
    fn records_of(&mut self, current_cpu: usize, from: usize, out: &mut Batch, bad: &mut dyn Ledger) {
        let Some(buffer) = self.buffers.get_mut(current_cpu) else { return };
        let end = (self.read + self.page_size).min(self.blocks.pages.len());
        let bytes = &self.blocks.pages[self.read..end];
        // In a packed page, only the offset of the chunk is known.
        let plain = self.blocks.is_plain();
        let place = if plain { self.blocks.place + self.read as u64 } else { self.blocks.place };
        let begin = std::mem::replace(&mut self.read, end);
        let mut page = match self.layout.open(bytes) {
            Ok(page) => page,
            Err(BadPage(why)) => {
                bad.anomaly(why, place, Anomaly::Lost);
                return buffer.add_loss(None);
            }
        };
        if let Some(mark) = self.within.take() {
            page.records.resume(mark);
        } else if let Some(lost) = page.missed {
            buffer.add_loss(Some(lost).filter(|n| *n >= 0));
            buffer.counted = buffer.counted.saturating_add(u64::try_from(lost).unwrap_or(0));
            buffer.uncounted |= lost < 0;
        }
        loop {
            if out.events.len() >= MAX_BATCH {
                (self.read, self.within) = (begin, Some(page.records.position()));
                return;
            }
            let before = page.records.position();
            let record = match page.records.next() {
                Some(Ok(record)) => record,
                None => return,
                Some(Err(BadPage(why))) => {
                    bad.anomaly(why, place, Anomaly::Lost);
                    return buffer.add_loss(None);
                }
            };
            let offset = if plain { place + (self.layout.data() + record.at) as u64 } else { place };
            let Some(at) = self.scale.ns(record.time) else {
                bad.anomaly("a page has a time that is out of range", offset, Anomaly::Lost);
                return buffer.add_loss(None);
            };
            let callers = self.records.callers(record.raw);
            if callers.is_some() && !self.stacks.is_named() {
                // The names are elsewhere in the file; reading then continues here.
                (self.read, self.within) = (begin, Some(before));
                self.needs_names = true;
                return;
            }
            let current = self.records.current(record.raw);
            let event = current.map(|current| Event { at, offset, cpu: buffer.cpu, current, what: EventKind::Sample });
            if event.and_then(|event| self.records.read(record.raw, event, &mut self.threads, out)).is_none() {
                bad.anomaly("a record is shorter than its description", offset, Anomaly::Lost);
                buffer.add_loss(None);
                continue;
            }
            // A callchain of the thread that left at the preceding switch is that switch's.
            if let Some(callers) = callers {
                let stack = self.stacks.id(callers, &mut self.threads.names, out);
                if let [.., Event { what: EventKind::Switch(switch), .. }, own] = &mut out.events[from..]
                    && switch.prev == own.current
                {
                    switch.stack = stack;
                }
            }
            // A loss ends here, before the event that was added last.
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

/// Returns what the kernel counted as lost beyond what the pages contain. Its time is unknown.
fn loss_without_time(buffer: &Buffer, stats: &Stats) -> Option<Event> {
    let overwritten = if buffer.uncounted { 0 } else { stats.overrun.saturating_sub(buffer.counted) };
    let events = i64::try_from(stats.dropped.saturating_add(overwritten)).unwrap_or(-1);
    let loss =
        LossSpan { from: MaybeNs::NONE, to: MaybeNs::NONE, cpu: Some(buffer.cpu), events: MaybeCount::new(events) };
    (events != 0).then_some(Event {
        at: buffer.last,
        offset: 0,
        cpu: buffer.cpu,
        current: Tid::UNKNOWN,
        what: EventKind::Loss(loss),
    })
}

impl Stream for DatStream<'_> {
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal> {
        self.add_thread_facts(out);
        while out.events.len() < BATCH {
            if self.read < self.blocks.pages.len() {
                self.page(out, bad);
                if std::mem::take(&mut self.needs_names) {
                    self.stacks.read_names(self.blocks.file(), bad);
                }
            } else if !self.load(out, bad)? {
                return Ok(Reach::End);
            }
        }
        let waits = self.waiting.peek().map_or(Ns::MAX, |Reverse((until, _))| *until);
        Ok(Reach::Until(MaybeNs::new(
            self.current_cpu.map_or(waits, |current_cpu| waits.min(self.buffers[current_cpu].last)),
        )))
    }
}
