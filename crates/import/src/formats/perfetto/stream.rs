//! From packets to events: `protos/perfetto/trace/trace_packet.proto`.

use super::bundle::Bundles;
use super::clocks::{Clocks, MONOTONIC, OwnClocks};
use super::frames::Frames;
use super::ftrace::Kernel;
use super::marks::{self, Told, TrackEvent, When};
use super::packets::{Packet, Packets};
use super::preface::Preface;
use super::reach::Reached;
use super::states::Numbers;
use super::tracks::{Tracks, Who};
use super::wire::{Broken, Fields};
use crate::tracepoint::Names;
use ingest::{Fatal, Ledger, Reach, Stream, Trouble};
use model::{Batch, CpuId, Event, MaybeNs, Ns, Pid, Tid, What};
use rustc_hash::FxHashMap;

/// Events handed out at once: more than elsewhere, since with each batch goes a promise that knows only the sequences met so far,
/// and one that fails has the file read again, and sorted whole.
const BATCH: usize = 8192;
/// Sequences, and names of all sequences, that are kept apart; a hostile file must not fill the memory.
const MOST_SEQUENCES: usize = 1 << 14;
const MOST_NAMES: usize = 1 << 20;
/// The sequence of those beyond that.
const ANY_OTHER: u32 = u32::MAX;
/// `SequenceFlags`.
const STATE_CLEARED: u64 = 1;

/// A trace's events.
pub(super) struct PerfettoStream<'a> {
    packets: Packets<'a>,
    reader: Reader,
}

/// What is known while packets are read.
struct Reader {
    bundles: Bundles,
    clocks: Clocks,
    names: Names,
    tracks: Tracks,
    frames: Frames,
    sequences: FxHashMap<u32, Sequence>,
    /// Names that sequences have numbered, in all.
    numbered: usize,
    reached: Reached,
    /// Programs may tell of times long past, whenever their buffers are read: nothing is promised.
    programs: bool,
    promised: Ns,
}

/// Packets of one writer.
#[derive(Default)]
struct Sequence {
    told: Told,
    clocks: OwnClocks,
    clock: Option<u32>,
    kernel: bool,
}

/// A packet's own words, and what it carries.
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
    fn of(packet: &[u8]) -> Result<Self, Broken> {
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
    pub(super) fn new(packets: Packets<'a>, preface: &Preface) -> Self {
        let kernel = Kernel::new(Numbers::of_release(&preface.release), preface.own.is_some());
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
            promised: Ns::MIN,
        };
        Self { packets, reader }
    }
}

impl Stream for PerfettoStream<'_> {
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal> {
        while out.events.len() < BATCH {
            let Some(packet) = self.packets.next(bad)? else { return Ok(Reach::End) };
            if self.reader.read(&packet, out, bad).is_err() {
                bad.trouble("a packet that is damaged", packet.offset, Trouble::Lost);
            }
        }
        Ok(Reach::Until(MaybeNs::new(self.reader.promise())))
    }
}

impl Reader {
    fn promise(&mut self) -> Ns {
        if !self.programs {
            self.promised = self.promised.max(self.reached.until());
        }
        self.promised
    }

    fn read(&mut self, packet: &Packet<'_>, out: &mut Batch, bad: &mut dyn Ledger) -> Result<(), Broken> {
        let envelope = Envelope::of(packet.body)?;
        let known = self.sequences.contains_key(&envelope.sequence) || self.sequences.len() < MOST_SEQUENCES;
        let id = if known { envelope.sequence } else { ANY_OTHER };
        // Taken out while the packet is read, so that the rest can be changed beside it.
        let mut sequence = self.sequences.remove(&id).unwrap_or_default();
        if envelope.cleared || envelope.flags & STATE_CLEARED != 0 {
            self.numbered = self.numbered.saturating_sub(sequence.told.names.len());
            sequence.told = Told::default();
            sequence.clock = None;
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
    fn contents(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<(), Broken> {
        // What the packet's own event refers to may stand behind it.
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
                44 => self.thread(&Who::thread(body)?, out),
                60 => {
                    if let Some(who) = self.reader.tracks.learn(body, &mut self.reader.names, out)? {
                        self.name(&who, out);
                    }
                }
                76 => self.frame(body, out, bad)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn bundle(&mut self, body: &[u8], out: &mut Batch, bad: &mut dyn Ledger) {
        let r = &mut *self.reader;
        self.sequence.kernel = true;
        if let Some(met) = r.bundles.read(body, self.packet.offset, &mut r.names, out, bad) {
            r.reached.met(self.id, met.cpu, met.last);
        }
    }

    fn interned(&mut self, body: &[u8], out: &mut Batch) -> Result<(), Broken> {
        let mut fields = Fields::of(body);
        while let Some((field, value)) = fields.next()? {
            if field != 2 {
                continue;
            }
            if self.reader.numbered >= MOST_NAMES {
                out.left_out.texts += 1;
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
            self.reader.numbered += usize::from(self.sequence.told.names.insert(iid, name).is_none());
        }
        Ok(())
    }

    fn defaults(&mut self, body: &[u8]) -> Result<(), Broken> {
        let mut fields = Fields::of(body);
        while let Some((field, value)) = fields.next()? {
            match field {
                58 => self.sequence.clock = Some(value.number() as u32),
                11 => {
                    let told = &mut self.sequence.told;
                    told.extra.clear();
                    let mut fields = Fields::of(value.bytes());
                    while let Some((field, value)) = fields.next()? {
                        match field {
                            11 => told.track = Some(value.number()),
                            31 => marks::each(value, |n| marks::push(&mut told.extra, n)),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn clocks(&mut self, body: &[u8], out: &mut Batch) -> Result<(), Broken> {
        self.reader.clocks.learn(body, &mut self.sequence.clocks, self.packet.offset, out)
    }

    /// When the packet was written, on the trace's clock.
    fn at(&mut self) -> Option<Ns> {
        let r = &mut *self.reader;
        let clock = self.envelope.clock.or(self.sequence.clock).unwrap_or(r.clocks.primary);
        r.clocks.convert(clock, self.envelope.at?, &mut self.sequence.clocks)
    }

    /// Puts an event that no CPU wrote. What is told without a time holds since the latest event.
    fn put(&mut self, at: Option<Ns>, what: What, out: &mut Batch) {
        let at = at.unwrap_or(self.reader.bundles.latest());
        out.events.push(Event { at, offset: self.packet.offset, cpu: CpuId::UNKNOWN, current: Tid::UNKNOWN, what });
    }

    fn process_tree(&mut self, body: &[u8], out: &mut Batch) -> Result<(), Broken> {
        let at = self.at();
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
                self.reader.bundles.kernel.belongs(tid, pid, &mut out.left_out);
                self.put(at, What::Name { tid, pid, name }, out);
            }
        }
        Ok(())
    }

    /// The older form: the sequence is of this thread.
    fn thread(&mut self, who: &Who<'_>, out: &mut Batch) {
        self.sequence.told.thread = Some((Tid(who.tid), Pid(who.pid)));
        self.sequence.told.reference_us = who.reference_us;
        self.name(who, out);
    }

    fn name(&mut self, who: &Who<'_>, out: &mut Batch) {
        if who.tid > 0 {
            let at = self.at();
            let name = self.reader.names.id(who.name, out);
            self.put(at, What::Name { tid: Tid(who.tid), pid: Pid(who.pid), name }, out);
        }
    }

    fn track_event(&mut self, body: &[u8], out: &mut Batch, bad: &mut dyn Ledger) -> Result<(), Broken> {
        let event = TrackEvent::of(body)?;
        let at = match event.when(&mut self.sequence.told) {
            When::Packet => self.at(),
            When::Micros(us) => {
                let clock = self.sequence.clock.unwrap_or(MONOTONIC);
                let ns = us.checked_mul(1000).and_then(|ns| u64::try_from(ns).ok());
                ns.and_then(|ns| self.reader.clocks.convert(clock, ns, &mut self.sequence.clocks))
            }
        };
        let Some(at) = at else {
            bad.trouble("a mark whose clock is not known", self.packet.offset, Trouble::Lost);
            return Ok(());
        };
        self.late(at, bad);
        let r = &mut *self.reader;
        event.tell(at, self.packet.offset, &self.sequence.told, &mut r.tracks, &mut r.names, out);
        Ok(())
    }

    fn frame(&mut self, body: &[u8], out: &mut Batch, bad: &mut dyn Ledger) -> Result<(), Broken> {
        let at = self.at();
        let r = &mut *self.reader;
        match (r.frames.read(body, &mut r.names, out)?, at) {
            (Some(frame), Some(at)) => {
                self.late(at, bad);
                self.put(Some(at), What::Frame(frame), out);
            }
            _ => bad.trouble("the end of a frame that did not begin", self.packet.offset, Trouble::Odd),
        }
        Ok(())
    }

    /// A trace that said it would hold no program's events has some.
    fn late(&mut self, at: Ns, bad: &mut dyn Ledger) {
        self.reader.programs = true;
        if at < self.reader.promised {
            bad.trouble(
                "a mark that came after its time had passed holds from later on",
                self.packet.offset,
                Trouble::Odd,
            );
        }
    }

    /// What the service says it lost (`TraceStats`): no time is told, so it is no span.
    fn stats(&mut self, body: &[u8], bad: &mut dyn Ledger) -> Result<(), Broken> {
        let mut fields = Fields::of(body);
        while let Some((field, value)) = fields.next()? {
            let lost = match field {
                1 => buffer_lost(value.bytes())?,
                8..=10 => value.number() != 0,
                _ => false,
            };
            if lost {
                bad.trouble("the tracing service says that packets were lost", self.packet.offset, Trouble::Lost);
            }
        }
        Ok(())
    }
}

/// Whether a `BufferStats` tells of lost packets: those that writers had no room for, or that were damaged.
fn buffer_lost(body: &[u8]) -> Result<bool, Broken> {
    let mut lost = false;
    let mut fields = Fields::of(body);
    while let Some((field, value)) = fields.next()? {
        lost |= matches!(field, 6 | 9 | 18 | 19 | 22) && value.number() != 0;
    }
    Ok(lost)
}
