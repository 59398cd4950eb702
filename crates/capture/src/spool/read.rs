//! Reads a spool as a source of events.

use super::frame::{self, Frames, Stop};
use super::lane::Lane;
use super::only_focus::OnlyFocus;
use super::rare::Decoder;
use super::waiting::Waiting;
use super::{Meta, segments, spool_of};
use crate::places::{self, Place};
use crate::wire::{self, Bytes};
use ingest::{Anomaly, Condition, Fatal, Ledger, Opened, Reach, Stream};
use model::{Batch, CpuId, Event, EventKind, LossSpan, MaybeCount, MaybeNs, Ns, Tid};
use safefs::Dir;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// Approximate number of events that one call returns.
const BATCH_EVENTS: usize = 4096;
/// Maximum number of bytes between two marks that are held in memory; no recorder writes as many.
const MAX_BETWEEN_MARKS: u64 = 192 << 20;
/// An event's offset contains the segment's number from this bit up, and the byte offset below it.
const SEGMENT_SHIFT: u32 = 40;

/// Opens the spool in a trace folder, after the recording or after a crash of the recorder.
///
/// # Errors
/// If there is no spool, or it cannot be read.
pub fn open_spool(dir: &Path) -> Result<Opened<'static>, Fatal> {
    let dir = Dir::open(dir).map_err(|why| Fatal::new(format!("cannot open {}: {why}", dir.display()), 0))?;
    open_spool_folder(&spool_of(&dir).map_err(|why| Fatal::new(why, 0))?)
}

/// Like [`open_spool`], for a spool folder that is already open.
///
/// # Errors
/// As [`open_spool`].
pub fn open_spool_folder(spool: &Dir) -> Result<Opened<'static>, Fatal> {
    let meta = Meta::load(spool).map_err(|why| Fatal::new(why, 0))?;
    let found = segments(spool).map_err(|e| Fatal::new(format!("cannot read {}: {e}", spool.path().display()), 0))?;
    if found.is_empty() {
        let path = spool.path().display();
        let why = format!("{path} has no segment: the recorder ended before its first event; record again");
        return Err(Fatal::new(why, 0));
    }
    let only_focus = meta.only_focus.then(|| OnlyFocus::new(meta.facts.focus));
    let mut facts = meta.facts;
    if meta.started_realtime_ns > 0 {
        facts.about.push(("started".into(), model::words::date(meta.started_realtime_ns)));
    }
    if !meta.finished {
        facts.about.push(("ended".into(), "the recorder was killed; recovered from its spool".into()));
        for Condition { end, .. } in &mut facts.conditions {
            *end = Err("the recorder was killed before the end".into());
        }
    }
    if let Some(error) = &meta.error {
        facts.about.push(("ended".into(), error.clone()));
    }
    let mut stream = SpoolStream::new(spool.clone(), found);
    let mut places = places::load(spool).map_err(|why| Fatal::new(why, 0))?;
    if !meta.finished {
        name_now(&mut places, &meta.boot_id);
    }
    stream.decoder.callchains.places(places);
    stream.decoder.only_focus = only_focus;
    facts.begin = stream.segments.front().and_then(|(_, name)| begin_of(spool, name));
    Ok(Opened { facts, streams: vec![Box::new(stream)] })
}

/// Returns whether the recording in a trace folder, which a recorder may still write, has begun: whether the recorder is prepared, and the
/// first snapshot is complete and written. What happens before that is recorded, but lies before the begin.
#[must_use]
pub fn has_begun(dir: &Path) -> bool {
    let Some(spool) = Dir::open(dir).ok().and_then(|dir| spool_of(&dir).ok()) else { return false };
    if Meta::load(&spool).map_or(true, |meta| meta.preparing) {
        return false;
    }
    let first = segments(&spool).ok().and_then(|found| found.into_iter().next());
    first.is_some_and(|(_, name)| begin_of(&spool, &name).is_some())
}

/// Names the functions that a killed recorder could not name: in files by build id, on any machine; in the kernel if it still runs.
fn name_now(places: &mut [Place], boot_id: &str) {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    if !boot_id.is_empty() && boot.trim() == boot_id {
        let list = File::open("/proc/kallsyms").map(BufReader::new);
        let _ = list.and_then(|list| places::name_kernel(places, list));
    }
    places::name_by_build_id(places);
}

/// Returns when the opening snapshot of a segment was complete.
fn begin_of(spool: &Dir, name: &str) -> Option<Ns> {
    let mut frames = Frames::open(BufReader::new(spool.open_file(name).ok()?)).ok()?;
    let mut payload = Vec::new();
    while frames.next(&mut payload).is_ok() {
        if payload.first() == Some(&frame::SNAP_DONE) {
            return Some(Bytes::new(&payload[1..]).ns());
        }
    }
    None
}

struct SpoolStream {
    spool: Dir,
    segments: VecDeque<(u64, String)>,
    frames: Option<(u64, Frames<BufReader<File>>)>,
    payload: Vec<u8>,
    /// The expected number of the next segment.
    expected: Option<u64>,
    lanes: BTreeMap<u16, Lane>,
    decoder: Decoder,
    /// Everything up to this time is in `lanes` and may be handed out.
    mark: Ns,
    /// Whether the recording ended at `mark`.
    ended: bool,
    /// Losses that no later block reports; handed out after everything else.
    final_losses: Vec<Event>,
    handing_out: bool,
    /// Whether rows become events: at the beginning, after a gap, and at the end.
    emit_rows: bool,
    /// The last mark before a gap.
    gap: Option<Ns>,
    waiting: Waiting,
}

impl SpoolStream {
    fn new(spool: Dir, found: Vec<(u64, String)>) -> Self {
        Self {
            spool,
            expected: None,
            segments: found.into(),
            frames: None,
            payload: Vec::new(),
            lanes: BTreeMap::new(),
            decoder: Decoder::default(),
            mark: Ns::MIN,
            ended: false,
            final_losses: Vec::new(),
            handing_out: false,
            emit_rows: true,
            gap: None,
            waiting: Waiting::default(),
        }
    }

    fn lane(&mut self, cpu: u16) -> &mut Lane {
        self.lanes.entry(cpu).or_insert_with(|| Lane::new(CpuId(u32::from(cpu))))
    }

    /// Drops pending events: from here to the next segment's snapshot nothing is known.
    fn start_gap(&mut self) {
        for lane in self.lanes.values_mut() {
            lane.clear();
        }
        self.emit_rows = true;
        self.decoder.energy.forget();
        if self.mark > Ns::MIN && self.gap.is_none() {
            self.gap = Some(self.mark);
        }
    }

    /// Opens the next segment. Returns `false` if there is none.
    fn open_next(&mut self, bad: &mut dyn Ledger) -> bool {
        let Some((number, name)) = self.segments.pop_front() else { return false };
        let place = number << SEGMENT_SHIFT;
        if self.expected.is_some_and(|n| n != number) {
            bad.anomaly("a segment of the spool is missing", place, Anomaly::Lost);
            self.start_gap();
        }
        self.expected = Some(number + 1);
        match self
            .spool
            .open_file(&name)
            .map_err(|_| "a segment of the spool cannot be opened")
            .and_then(|f| Frames::open(BufReader::with_capacity(1 << 18, f)))
        {
            Ok(frames) => self.frames = Some((number, frames)),
            Err(why) => {
                bad.anomaly(why, place, Anomaly::Lost);
                self.start_gap();
            }
        }
        true
    }

    /// Reads frames up to the next mark. Returns `false` if there is none.
    fn fill(&mut self, bad: &mut dyn Ledger) -> bool {
        let mut held = 0;
        loop {
            let Some((number, frames)) = &mut self.frames else {
                if self.open_next(bad) {
                    continue;
                }
                return false;
            };
            let place = (*number << SEGMENT_SHIFT) + frames.offset;
            let mut payload = std::mem::take(&mut self.payload);
            let result = frames.next(&mut payload);
            held += payload.len() as u64;
            if held > MAX_BETWEEN_MARKS {
                bad.anomaly("too much data between two marks of the spool", place, Anomaly::Lost);
                held = 0;
                self.frames = None;
                self.start_gap();
                continue;
            }
            let marked = match result {
                Ok(()) => self.frame(&payload, place, bad),
                Err(stop) => {
                    self.frames = None;
                    match stop {
                        Stop::Whole => {}
                        Stop::Torn => bad.anomaly("a segment of the spool is truncated", place, Anomaly::Lost),
                        Stop::Damaged => {
                            bad.anomaly("a segment of the spool is damaged (wrong checksum)", place, Anomaly::Lost)
                        }
                    }
                    if stop != Stop::Whole {
                        self.start_gap();
                    }
                    false
                }
            };
            self.payload = payload;
            if marked {
                return true;
            }
        }
    }

    /// Takes one frame. Returns `true` at a mark.
    fn frame(&mut self, payload: &[u8], place: u64, bad: &mut dyn Ledger) -> bool {
        let mut b = Bytes::new(payload);
        match b.u8() {
            wire::KIND_BLOCK => match wire::block_head(payload) {
                Some(head) => self.lane(head.cpu).push_block(head, payload, place),
                None => bad.anomaly("a block of events has an invalid head", place, Anomaly::Warning),
            },
            wire::KIND_RARE => {
                let mut events = Vec::new();
                if !self.decoder.rare(payload, place, &mut |e| events.push(e)) {
                    bad.anomaly("an invalid event", place, Anomaly::Warning);
                }
                self.push_all(events);
            }
            wire::KIND_ROW => match wire::row(payload) {
                Some(row) => {
                    let mut events = Vec::new();
                    let mut emit = |e| events.push(e);
                    self.decoder.row(&row, place, if self.emit_rows { Some(&mut emit) } else { None });
                    self.push_all(events);
                }
                None => bad.anomaly("an invalid thread row in a snapshot", place, Anomaly::Warning),
            },
            frame::SNAP_BEGIN => self.emit_rows |= b.u8() == frame::CLOSING,
            frame::SNAP_DONE => {
                self.emit_rows = false;
                let at = b.ns();
                self.waiting.begin.get_or_insert(at);
                if let Some(from) = self.gap.take() {
                    let what = EventKind::Loss(LossSpan {
                        from: MaybeNs::new(from),
                        to: MaybeNs::new(at),
                        cpu: None,
                        events: MaybeCount::UNKNOWN,
                    });
                    self.lane(0).push(Event { at, offset: place, cpu: CpuId(0), current: Tid::UNKNOWN, what });
                }
            }
            frame::MARK => {
                self.mark = self.mark.max(b.ns());
                self.decoder.forget_ended();
                return true;
            }
            frame::END => {
                self.mark = self.mark.max(b.ns());
                self.end(&mut b, place);
                return true;
            }
            frame::STEAL => {
                let at = b.ns();
                while !b.rest().is_empty() && b.complete {
                    let (cpu, total) = (b.u32(), b.ns());
                    let event = Event {
                        at,
                        offset: place,
                        cpu: CpuId(cpu),
                        current: Tid::UNKNOWN,
                        what: EventKind::Steal { total },
                    };
                    self.lane(cpu as u16).push(event);
                }
            }
            frame::CLOCK => {
                while b.rest().len() >= 17 {
                    let (at, which, reading) = (b.ns(), b.u8(), b.u64().cast_signed());
                    if let Some(which) = wire::clock_of(which) {
                        let what = EventKind::Clock { which, reading };
                        self.lane(0).push(Event { at, offset: place, cpu: CpuId(0), current: Tid::UNKNOWN, what });
                    }
                }
            }
            frame::CGROUP_PATH => {
                let id = b.u64();
                self.decoder.path(id, &String::from_utf8_lossy(b.rest()));
            }
            frame::IRQ_NAME => {
                let number = b.i32();
                self.decoder.irq(number, &String::from_utf8_lossy(b.rest()));
            }
            frame::MARK_NAME => {
                let (number, stretch) = (b.u32(), b.u8() != 0);
                self.decoder.mark(number, stretch, &String::from_utf8_lossy(b.rest()));
            }
            frame::COUNTER_NAME => {
                let number = b.u32();
                self.decoder.counter(number, &String::from_utf8_lossy(b.rest()));
            }
            frame::THROTTLES if self.emit_rows => {
                let what = EventKind::Throttle { tid: None, begins: false };
                self.lane(0).push(Event { at: b.ns(), offset: place, cpu: CpuId(0), current: Tid::UNKNOWN, what });
            }
            frame::PARKING if self.emit_rows => {
                let at = b.ns();
                while !b.rest().is_empty() && b.complete {
                    let (of, parked) = (CpuId(b.u32()), b.u8() != 0);
                    let what = EventKind::Parking { of, parked };
                    self.lane(0).push(Event { at, offset: place, cpu: CpuId(0), current: Tid::UNKNOWN, what });
                }
            }
            frame::THROTTLES | frame::PARKING => {}
            frame::CGROUP_LIMITS | frame::CGROUP_STAT => {
                let mut events = Vec::new();
                if !self.decoder.cgroups(payload, place, &mut |e| events.push(e)) {
                    bad.anomaly("invalid settings of a cgroup", place, Anomaly::Warning);
                }
                self.push_all(events);
            }
            frame::ENERGY_DOMAIN | frame::ENERGY | frame::TEMPERATURE_ZONE | frame::TEMPERATURE => {
                let mut events = Vec::new();
                let Decoder { energy, names, .. } = &mut self.decoder;
                if !energy.frame(payload, place, names, &mut |e| events.push(e)) {
                    bad.anomaly("an invalid reading of energy or temperature", place, Anomaly::Warning);
                }
                self.push_all(events);
            }
            frame::STACK => {
                if !self.decoder.callchains.add(&mut b) {
                    bad.anomaly("an invalid callchain, or too many callchains", place, Anomaly::Warning);
                }
            }
            frame::LOSS => {
                let (from, to, events) = (b.ns(), b.ns(), MaybeCount::new(b.u64().cast_signed()));
                let of = (b.rest().len() >= 4).then(|| CpuId(b.u32()));
                let what =
                    EventKind::Loss(LossSpan { from: MaybeNs::new(from), to: MaybeNs::new(to), cpu: of, events });
                let cpu = of.unwrap_or(CpuId(0));
                self.lane(cpu.0 as u16).push(Event { at: to, offset: place, cpu, current: Tid::UNKNOWN, what });
            }
            _ => bad.anomaly("a frame of an unknown kind", place, Anomaly::Warning),
        }
        false
    }

    fn push_all(&mut self, events: Vec<Event>) {
        for event in events {
            self.lane(event.cpu.0 as u16).push(event);
        }
    }

    /// Takes the recorder's last frame, with the losses that no later block reports.
    fn end(&mut self, b: &mut Bytes<'_>, place: u64) {
        self.ended = true;
        let at = self.mark;
        while b.rest().len() >= 12 {
            let (cpu, lost) = (b.u32(), b.u64());
            let from = MaybeNs::new(self.lane(cpu as u16).last());
            let events = MaybeCount::new(i64::try_from(lost).unwrap_or(-1));
            let what = EventKind::Loss(LossSpan { from, to: MaybeNs::NONE, cpu: Some(CpuId(cpu)), events });
            self.final_losses.push(Event { at, offset: place, cpu: CpuId(cpu), current: Tid::UNKNOWN, what });
        }
    }

    /// Hands out events up to a time that all lanes have reached. Returns that time.
    fn hand_out(&mut self, out: &mut Batch) -> Ns {
        let decoder = &mut self.decoder;
        let reach = self.lanes.values_mut().filter_map(|lane| lane.reach(decoder)).min();
        let until = reach.map_or(self.mark, |r| r.min(self.mark));
        let from = out.events.len();
        for lane in self.lanes.values_mut() {
            lane.take(until, decoder, &mut |event| out.events.push(event));
        }
        self.waiting.follow(&mut out.events, from, until);
        self.handing_out = until < self.mark;
        until
    }

    /// Handles the end of the spool: reports events that are not used.
    fn finish(&mut self, out: &mut Batch, bad: &mut dyn Ledger) {
        let mut left = 0;
        for lane in self.lanes.values_mut() {
            left += lane.clear();
            if lane.bad > 0 {
                bad.anomaly("a block of events could not be read completely", 0, Anomaly::Warning);
            }
        }
        if self.ended {
            out.events.append(&mut self.final_losses);
        } else if left > 0 {
            bad.anomaly("events after the last mark of an unfinished spool were not used", 0, Anomaly::Warning);
        }
    }
}

impl Stream for SpoolStream {
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal> {
        let mut until = Ns::MIN;
        let before = out.events.len();
        let mut more = true;
        while more && out.events.len() - before < BATCH_EVENTS {
            if !self.handing_out {
                more = !self.ended && self.fill(bad);
            }
            if more {
                until = self.hand_out(out);
            }
        }
        if !more {
            self.finish(out, bad);
        }
        out.names.append(&mut self.decoder.names.fresh);
        out.stacks.append(&mut self.decoder.callchains.fresh);
        out.left_out.callchains += std::mem::take(&mut self.decoder.callchains.left_out);
        Ok(if more { Reach::Until(MaybeNs::new(until)) } else { Reach::End })
    }
}
