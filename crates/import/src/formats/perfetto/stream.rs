//! Turns packets into events: `protos/perfetto/trace/trace_packet.proto`.

mod samples;

use super::bundle::Bundles;
use super::clocks::{Clocks, MONOTONIC, OwnClocks};
use super::frames::Frames;
use super::ftrace::Kernel;
use super::marks::{self, SequenceDefaults, TrackEvent, When};
use super::packets::{Packet, Packets};
use super::preface::Preface;
use super::profile::{Form, Interned, Maker};
use super::reach::Reached;
use super::sample;
use super::states::Numbers;
use super::symbols::Symbols;
use super::tracks::{NamedThread, Tracks};
use super::wire::{Fields, Malformed};
use crate::callchains::Callchains;
use crate::tracepoint::Names;
use ingest::{Anomaly, Fatal, Ledger, Reach, Stream};
use model::{Batch, CpuId, Event, EventKind, MaybeNs, Ns, Pid, Tid};
use rustc_hash::FxHashMap;

/// The number of events in a batch. It is larger than elsewhere: each batch comes with a complete time that takes only
/// the sequences so far into account, and if an event is too early, the file is read again and sorted as a whole.
const BATCH: usize = 8192;
/// The maximum numbers of sequences, and of names of all sequences, that are kept, so that a hostile file cannot
/// exhaust memory.
const MAX_SEQUENCES: usize = 1 << 14;
const MAX_NAMES: usize = 1 << 20;
/// The ID for all further sequences.
const OTHER_SEQUENCES: u32 = u32::MAX;
/// `SequenceFlags`.
const STATE_CLEARED: u64 = 1;

/// The events of a trace.
pub(super) struct PerfettoStream<'a> {
    packets: Packets<'a>,
    reader: Reader,
}

/// The state kept while packets are read.
struct Reader {
    bundles: Bundles,
    clocks: Clocks,
    names: Names,
    tracks: Tracks,
    frames: Frames,
    sequences: FxHashMap<u32, Sequence>,
    /// The number of names that sequences have defined.
    numbered: usize,
    reached: Reached,
    /// Whether programs' events may be in the trace. These may be of any earlier time, so no time is complete before
    /// the end.
    programs: bool,
    /// Whether a list of processes was read.
    has_processes: bool,
    complete_until: Ns,
    chains: Callchains,
    symbols: Symbols,
    /// The event whose samples are the profile, if there are several.
    sampled: Option<String>,
    /// By how much addresses of callers are less than return addresses: traced_perf subtracts it on this machine.
    back: u64,
    /// Whether corewise wrote the trace: samples are then in order, with the kernel's events, and counts are in notes.
    is_own: bool,
}

/// The state of one writer's packets.
#[derive(Default)]
struct Sequence {
    defaults: SequenceDefaults,
    profile: Interned,
    clocks: OwnClocks,
    clock: Option<u32>,
    kernel: bool,
    /// The event of its samples.
    event: Option<String>,
}

/// The common fields of a packet.
#[derive(Default)]
struct Envelope {
    at: Option<u64>,
    clock: Option<u32>,
    sequence: u32,
    flags: u64,
    cleared: bool,
    dropped: bool,
}

impl Envelope {
    fn of(packet: &[u8]) -> Result<Self, Malformed> {
        let mut envelope = Self::default();
        let mut fields = Fields::of(packet);
        while let Some((field, value)) = fields.next()? {
            match field {
                8 => envelope.at = Some(value.number()),
                10 => envelope.sequence = value.number() as u32,
                13 => envelope.flags = value.number(),
                41 => envelope.cleared = value.number() != 0,
                42 => envelope.dropped = value.number() != 0,
                58 => envelope.clock = Some(value.number() as u32),
                _ => {}
            }
        }
        Ok(envelope)
    }
}

impl<'a> PerfettoStream<'a> {
    pub(super) fn new(packets: Packets<'a>, preface: &Preface, symbols: Symbols, sampled: Option<String>) -> Self {
        let (own, foreign) = (preface.own.is_some(), preface.numbering.is_foreign());
        let kernel = Kernel::new(Numbers::of_release(&preface.release), own, foreign);
        let reader = Reader {
            bundles: Bundles::new(kernel),
            clocks: Clocks::new(preface.clock),
            names: Names::new(),
            tracks: Tracks::default(),
            frames: Frames::default(),
            sequences: FxHashMap::default(),
            numbered: 0,
            reached: Reached::default(),
            programs: preface.programs,
            has_processes: false,
            complete_until: Ns::MIN,
            chains: Callchains::default(),
            symbols,
            sampled,
            back: if preface.arch.as_deref().is_some_and(|arch| arch.starts_with("aarch64")) { 4 } else { 1 },
            is_own: preface.own.is_some(),
        };
        Self { packets, reader }
    }
}

impl Stream for PerfettoStream<'_> {
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal> {
        out.left_out.entries += std::mem::take(&mut self.reader.symbols.left_out);
        while out.events.len() < BATCH {
            let Some(packet) = self.packets.next(bad)? else { return Ok(Reach::End) };
            if self.reader.read(&packet, out, bad).is_err() {
                bad.anomaly("a packet is damaged", packet.offset, Anomaly::Lost);
            }
        }
        Ok(Reach::Until(MaybeNs::new(self.reader.complete_time())))
    }
}

impl Reader {
    fn complete_time(&mut self) -> Ns {
        if !self.programs {
            self.complete_until = self.complete_until.max(self.reached.until());
        }
        self.complete_until
    }

    fn read(&mut self, packet: &Packet<'_>, out: &mut Batch, bad: &mut dyn Ledger) -> Result<(), Malformed> {
        let envelope = Envelope::of(packet.body)?;
        let known = self.sequences.contains_key(&envelope.sequence) || self.sequences.len() < MAX_SEQUENCES;
        let id = if known { envelope.sequence } else { OTHER_SEQUENCES };
        // Removed while the packet is read, so that the rest can be modified at the same time.
        let mut sequence = self.sequences.remove(&id).unwrap_or_default();
        if envelope.cleared || envelope.flags & STATE_CLEARED != 0 {
            self.numbered = self.numbered.saturating_sub(sequence.defaults.names.len() + sequence.profile.len());
            sequence.defaults = SequenceDefaults::default();
            sequence.profile = Interned::default();
            sequence.clock = None;
            sequence.event = None;
        }
        if envelope.dropped && sequence.kernel {
            self.bundles.dropped();
        }
        let mut reading = Reading { reader: self, sequence: &mut sequence, envelope: &envelope, id, packet };
        let result = reading.contents(out, bad);
        self.sequences.insert(id, sequence);
        result
    }
}

/// A packet being read.
struct Reading<'r, 'p> {
    reader: &'r mut Reader,
    sequence: &'r mut Sequence,
    envelope: &'r Envelope,
    id: u32,
    packet: &'r Packet<'p>,
}

impl Reading<'_, '_> {
    fn contents(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<(), Malformed> {
        // Data that the packet's own event refers to may follow it.
        let mut fields = Fields::of(self.packet.body);
        while let Some((field, value)) = fields.next()? {
            match field {
                12 => self.interned(value.bytes(), out)?,
                59 => self.defaults(value.bytes())?,
                6 => self.clocks(value.bytes(), out)?,
                _ => {}
            }
        }
        let mut fields = Fields::of(self.packet.body);
        while let Some((field, value)) = fields.next()? {
            let body = value.bytes();
            match field {
                1 => self.bundle(body, out, bad),
                2 => self.process_tree(body, out)?,
                11 => self.track_event(body, out, bad)?,
                35 => self.stats(body, bad)?,
                44 => self.thread(&NamedThread::thread(body)?, out),
                54 => self.streaming(body, out, bad)?,
                60 => {
                    if let Some(thread) = self.reader.tracks.learn(body, &mut self.reader.names, out)? {
                        self.name(&thread, out);
                    }
                }
                66 => self.sample(body, out, bad)?,
                76 => self.frame(body, out, bad)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn bundle(&mut self, body: &[u8], out: &mut Batch, bad: &mut dyn Ledger) {
        let r = &mut *self.reader;
        self.sequence.kernel = true;
        if let Some(add) = r.bundles.read(body, self.packet.offset, &mut r.names, out, bad) {
            r.reached.add(self.id, add.cpu, add.last);
        }
    }

    fn interned(&mut self, body: &[u8], out: &mut Batch) -> Result<(), Malformed> {
        let mut fields = Fields::of(body);
        while let Some((field, value)) = fields.next()? {
            if field != 2 && !Interned::has(field) {
                continue;
            }
            if self.reader.numbered >= MAX_NAMES {
                out.left_out.texts += 1;
                continue;
            }
            if field != 2 {
                let profile = &mut self.sequence.profile;
                let before = profile.len();
                let with = (&mut self.reader.names, &self.reader.symbols);
                let callchain = profile.learn(field, value.bytes(), with, out)?;
                self.reader.numbered += profile.len() - before;
                let kernel = &self.reader.bundles.kernel;
                if let Some(iid) = callchain.filter(|_| kernel.own && kernel.own_stacks.len() < MAX_NAMES) {
                    let Reader { symbols, chains, names, .. } = &mut *self.reader;
                    let stack = profile.stack(iid, Form::default(), &mut Maker { symbols, chains, names }, out);
                    self.reader.bundles.kernel.own_stacks.insert(iid, stack);
                }
                continue;
            }
            let (mut iid, mut name) = (0, &[][..]);
            let mut entry = Fields::of(value.bytes());
            while let Some((field, value)) = entry.next()? {
                match field {
                    1 => iid = value.number(),
                    2 => name = value.bytes(),
                    _ => {}
                }
            }
            let name = self.reader.names.id(name, out);
            self.reader.numbered += usize::from(self.sequence.defaults.names.insert(iid, name).is_none());
        }
        Ok(())
    }

    fn defaults(&mut self, body: &[u8]) -> Result<(), Malformed> {
        let mut fields = Fields::of(body);
        while let Some((field, value)) = fields.next()? {
            match field {
                58 => self.sequence.clock = Some(value.number() as u32),
                12 => self.sequence.event = sample::event(value.bytes())?,
                11 => {
                    let defaults = &mut self.sequence.defaults;
                    defaults.extra.clear();
                    let mut fields = Fields::of(value.bytes());
                    while let Some((field, value)) = fields.next()? {
                        match field {
                            11 => defaults.track = Some(value.number()),
                            31 => marks::for_each_number(value, |n| marks::push_bounded(&mut defaults.extra, n)),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn clocks(&mut self, body: &[u8], out: &mut Batch) -> Result<(), Malformed> {
        self.reader.clocks.learn(body, &mut self.sequence.clocks, self.packet.offset, out)
    }

    /// Returns when the packet was written, on the trace's clock.
    fn at(&mut self) -> Option<Ns> {
        let r = &mut *self.reader;
        let clock = self.envelope.clock.or(self.sequence.clock).unwrap_or(r.clocks.primary);
        r.clocks.convert(clock, self.envelope.at?, &mut self.sequence.clocks)
    }

    /// Adds an event that was not recorded on a CPU. Without a time, it holds since the latest event.
    fn add_event(&mut self, at: Option<Ns>, what: EventKind, out: &mut Batch) {
        let at = at.unwrap_or(self.reader.bundles.latest());
        out.events.push(Event { at, offset: self.packet.offset, cpu: CpuId::UNKNOWN, current: Tid::UNKNOWN, what });
    }

    fn process_tree(&mut self, body: &[u8], out: &mut Batch) -> Result<(), Malformed> {
        // corewise begins with the last name of every thread, and repeats all names at their times.
        let is_first = !std::mem::replace(&mut self.reader.has_processes, true);
        let at = if self.reader.is_own && is_first { Some(Ns::MIN) } else { self.at() };
        let mut fields = Fields::of(body);
        while let Some((field, value)) = fields.next()? {
            let (mut tid, mut pid, mut name) = (0, None, &[][..]);
            let mut entry = Fields::of(value.bytes());
            while let Some((part, value)) = entry.next()? {
                match (field, part) {
                    (_, 1) => tid = value.int(),
                    (2, 3) => pid = Some(value.int()),
                    (2, 2) => name = value.bytes(),
                    _ => {}
                }
            }
            if tid > 0 && (field == 1 || field == 2) {
                let (tid, pid) = (Tid(tid), Pid(pid.unwrap_or(tid)));
                let name = self.reader.names.id(name, out);
                self.reader.bundles.kernel.set_process(tid, pid, &mut out.left_out);
                self.add_event(at, EventKind::Name { tid, pid, name }, out);
            }
        }
        Ok(())
    }

    /// Handles the older form: the sequence belongs to this thread.
    fn thread(&mut self, thread: &NamedThread<'_>, out: &mut Batch) {
        self.sequence.defaults.thread = Some((Tid(thread.tid), Pid(thread.pid)));
        self.sequence.defaults.reference_us = thread.reference_us;
        self.name(thread, out);
    }

    fn name(&mut self, thread: &NamedThread<'_>, out: &mut Batch) {
        if thread.tid > 0 {
            let at = self.at();
            let name = self.reader.names.id(thread.name, out);
            self.add_event(at, EventKind::Name { tid: Tid(thread.tid), pid: Pid(thread.pid), name }, out);
        }
    }

    fn track_event(&mut self, body: &[u8], out: &mut Batch, bad: &mut dyn Ledger) -> Result<(), Malformed> {
        let event = TrackEvent::of(body)?;
        if self.reader.is_own && event.repeats_a_note() {
            return Ok(());
        }
        let at = match event.when(&mut self.sequence.defaults) {
            When::Packet => self.at(),
            When::Micros(us) => self.at_micros(us),
        };
        let Some(at) = at else {
            bad.anomaly("a mark has an unknown clock", self.packet.offset, Anomaly::Lost);
            return Ok(());
        };
        self.check_late(at, bad);
        let r = &mut *self.reader;
        event.add_to(at, self.packet.offset, &self.sequence.defaults, &mut r.tracks, &mut r.names, out);
        Ok(())
    }

    /// Returns a time in µs on the clock of the sequence, in the older form.
    fn at_micros(&mut self, us: i64) -> Option<Ns> {
        let clock = self.sequence.clock.unwrap_or(MONOTONIC);
        let ns = us.checked_mul(1000).and_then(|ns| u64::try_from(ns).ok())?;
        self.reader.clocks.convert(clock, ns, &mut self.sequence.clocks)
    }

    fn frame(&mut self, body: &[u8], out: &mut Batch, bad: &mut dyn Ledger) -> Result<(), Malformed> {
        let at = self.at();
        let r = &mut *self.reader;
        match (r.frames.read(body, &mut r.names, out)?, at) {
            (Some(frame), Some(at)) => {
                self.check_late(at, bad);
                self.add_event(Some(at), EventKind::Frame(frame), out);
            }
            _ => bad.anomaly("a frame ends that did not start", self.packet.offset, Anomaly::Warning),
        }
        Ok(())
    }

    /// Handles an event of a program in a trace that declared no such events.
    fn check_late(&mut self, at: Ns, bad: &mut dyn Ledger) {
        self.reader.programs = true;
        if at < self.reader.complete_until {
            bad.anomaly(
                "a mark or sample came too late and takes effect at a later time",
                self.packet.offset,
                Anomaly::Warning,
            );
        }
    }

    /// Reports what the service states that it lost (`TraceStats`). There is no time, so it is not a span.
    fn stats(&mut self, body: &[u8], bad: &mut dyn Ledger) -> Result<(), Malformed> {
        let mut fields = Fields::of(body);
        while let Some((field, value)) = fields.next()? {
            let lost = match field {
                1 => buffer_lost(value.bytes())?,
                // invalid_packets. Chunks and patches that the service discards (8, 9) were not meant for this trace, or came twice.
                10 => value.number() != 0,
                _ => false,
            };
            if lost {
                bad.anomaly("the tracing service reports lost packets", self.packet.offset, Anomaly::Lost);
            }
        }
        Ok(())
    }
}

/// Whether a `BufferStats` reports lost packets: those for which writers had no room, or that were damaged.
fn buffer_lost(body: &[u8]) -> Result<bool, Malformed> {
    let mut lost = false;
    let mut fields = Fields::of(body);
    while let Some((field, value)) = fields.next()? {
        lost |= matches!(field, 6 | 9 | 18 | 19 | 22) && value.number() != 0;
    }
    Ok(lost)
}
