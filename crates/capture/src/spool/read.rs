//! A spool as a source of events.

use super::frame::{self, Frames, Stop};
use super::lane::Lane;
use super::rare::Telling;
use super::{Meta, segments, spool_of};
use crate::places::{self, Place};
use crate::wire::{self, Bytes};
use ingest::{Condition, Fatal, Ledger, Opened, Reach, Stream, Trouble};
use model::{Batch, CpuId, Event, LossSpan, MaybeCount, MaybeNs, Ns, Tid, What};
use safefs::Dir;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// Events that one call hands out, about.
const ENOUGH: usize = 4096;
/// More bytes than this between two marks are not held in memory: no recorder writes so many.
const BETWEEN_MARKS: u64 = 192 << 20;
/// A segment's number stands above this bit of an event's offset, its byte below.
const SEGMENT_SHIFT: u32 = 40;

/// Opens the spool in a trace folder, right after the recording or after a crash of the recorder.
///
/// # Errors
/// Where there is no spool, or nothing of it can be read.
pub fn open_spool(dir: &Path) -> Result<Opened<'static>, Fatal> {
    let dir = Dir::open(dir).map_err(|why| Fatal::new(format!("{}: {why}", dir.display()), 0))?;
    open_spool_folder(&spool_of(&dir).map_err(|why| Fatal::new(why, 0))?)
}

/// [`open_spool`] of a spool that is held open.
///
/// # Errors
/// As there.
pub fn open_spool_folder(spool: &Dir) -> Result<Opened<'static>, Fatal> {
    let meta = Meta::load(spool).map_err(|why| Fatal::new(why, 0))?;
    let found = segments(spool).map_err(|e| Fatal::new(format!("{}: {e}", spool.path().display()), 0))?;
    if found.is_empty() {
        return Err(Fatal::new("the spool holds no segment: the recorder ended before its first event", 0));
    }
    let mut facts = meta.facts;
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
    stream.telling.callchains.places(places);
    facts.begin = stream.segments.front().and_then(|(_, name)| begin_of(spool, name));
    Ok(Opened { facts, streams: vec![Box::new(stream)] })
}

/// Names functions that its recorder did not come to name: of files by build id, on any machine; of the kernel while it still
/// runs.
fn name_now(places: &mut [Place], boot_id: &str) {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    if !boot_id.is_empty() && boot.trim() == boot_id {
        let list = File::open("/proc/kallsyms").map(BufReader::new);
        let _ = list.and_then(|list| places::name_kernel(places, list));
    }
    places::name_files(places, &|_| false);
}

/// When the opening snapshot of a segment was complete.
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
    /// The number that the next segment should have.
    expected: Option<u64>,
    lanes: BTreeMap<u16, Lane>,
    telling: Telling,
    /// Everything up to here is in `lanes` and may be handed out.
    mark: Ns,
    /// The segment's recording ended at its `mark`.
    ended: bool,
    /// What was lost for good, told behind everything else.
    last_words: Vec<Event>,
    handing_out: bool,
    /// Rows are told: at the begin, after a gap, and at the end.
    tell_rows: bool,
    /// The last mark before a gap.
    gap: Option<Ns>,
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
            telling: Telling::default(),
            mark: Ns::MIN,
            ended: false,
            last_words: Vec::new(),
            handing_out: false,
            tell_rows: true,
            gap: None,
        }
    }

    fn lane(&mut self, cpu: u16) -> &mut Lane {
        self.lanes.entry(cpu).or_insert_with(|| Lane::new(CpuId(u32::from(cpu))))
    }

    /// From here to the next segment's snapshot nothing is known.
    fn lose_track(&mut self) {
        for lane in self.lanes.values_mut() {
            lane.clear();
        }
        self.tell_rows = true;
        if self.mark > Ns::MIN && self.gap.is_none() {
            self.gap = Some(self.mark);
        }
    }

    /// Opens the next segment; `false`: there is none.
    fn open_next(&mut self, bad: &mut dyn Ledger) -> bool {
        let Some((number, name)) = self.segments.pop_front() else { return false };
        let place = number << SEGMENT_SHIFT;
        if self.expected.is_some_and(|n| n != number) {
            bad.trouble("a segment of the spool is missing", place, Trouble::Lost);
            self.lose_track();
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
                bad.trouble(why, place, Trouble::Lost);
                self.lose_track();
            }
        }
        true
    }

    /// Reads frames up to the next mark; `false`: there is none.
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
            let got = frames.next(&mut payload);
            held += payload.len() as u64;
            if held > BETWEEN_MARKS {
                bad.trouble("too much between two marks of the spool", place, Trouble::Lost);
                held = 0;
                self.frames = None;
                self.lose_track();
                continue;
            }
            let marked = match got {
                Ok(()) => self.frame(&payload, place, bad),
                Err(stop) => {
                    self.frames = None;
                    match stop {
                        Stop::Whole => {}
                        Stop::Torn => bad.trouble("segment cut off", place, Trouble::Lost),
                        Stop::Damaged => bad.trouble("segment damaged: a checksum differs", place, Trouble::Lost),
                    }
                    if stop != Stop::Whole {
                        self.lose_track();
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

    /// Takes in one frame; `true`: a mark was reached.
    fn frame(&mut self, payload: &[u8], place: u64, bad: &mut dyn Ledger) -> bool {
        let mut b = Bytes::new(payload);
        match b.u8() {
            wire::KIND_BLOCK => match wire::block_head(payload) {
                Some(head) => self.lane(head.cpu).push_block(head, payload, place),
                None => bad.trouble("a block without a head", place, Trouble::Odd),
            },
            wire::KIND_RARE => {
                let mut told = Vec::new();
                if !self.telling.rare(payload, place, &mut |e| told.push(e)) {
                    bad.trouble("an event that makes no sense", place, Trouble::Odd);
                }
                self.push_all(told);
            }
            wire::KIND_ROW => match wire::row(payload) {
                Some(row) => {
                    let mut told = Vec::new();
                    let mut tell = |e| told.push(e);
                    self.telling.row(&row, place, if self.tell_rows { Some(&mut tell) } else { None });
                    self.push_all(told);
                }
                None => bad.trouble("a thread's row that makes no sense", place, Trouble::Odd),
            },
            frame::SNAP_BEGIN => self.tell_rows |= b.u8() == frame::CLOSING,
            frame::SNAP_DONE => {
                self.tell_rows = false;
                let at = b.ns();
                if let Some(from) = self.gap.take() {
                    let what = What::Loss(LossSpan {
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
                self.telling.settle();
                return true;
            }
            frame::END => {
                self.mark = self.mark.max(b.ns());
                self.end(&mut b, place);
                return true;
            }
            frame::STEAL => {
                let at = b.ns();
                while !b.rest().is_empty() && b.whole {
                    let (cpu, total) = (b.u32(), b.ns());
                    let event = Event {
                        at,
                        offset: place,
                        cpu: CpuId(cpu),
                        current: Tid::UNKNOWN,
                        what: What::Steal { total },
                    };
                    self.lane(cpu as u16).push(event);
                }
            }
            frame::CLOCK => {
                while b.rest().len() >= 17 {
                    let (at, which, reading) = (b.ns(), b.u8(), b.u64().cast_signed());
                    if let Some(which) = wire::clock_of(which) {
                        let what = What::Clock { which, reading };
                        self.lane(0).push(Event { at, offset: place, cpu: CpuId(0), current: Tid::UNKNOWN, what });
                    }
                }
            }
            frame::CGROUP_PATH => {
                let id = b.u64();
                self.telling.path(id, &String::from_utf8_lossy(b.rest()));
            }
            frame::IRQ_NAME => {
                let number = b.i32();
                self.telling.irq(number, &String::from_utf8_lossy(b.rest()));
            }
            frame::MARK_NAME => {
                let (number, stretch) = (b.u32(), b.u8() != 0);
                self.telling.mark(number, stretch, &String::from_utf8_lossy(b.rest()));
            }
            frame::THROTTLES if self.tell_rows => {
                let what = What::Throttle { tid: None, begins: false };
                self.lane(0).push(Event { at: b.ns(), offset: place, cpu: CpuId(0), current: Tid::UNKNOWN, what });
            }
            frame::PARKING if self.tell_rows => {
                let at = b.ns();
                while !b.rest().is_empty() && b.whole {
                    let (of, parked) = (CpuId(b.u32()), b.u8() != 0);
                    let what = What::Parking { of, parked };
                    self.lane(0).push(Event { at, offset: place, cpu: CpuId(0), current: Tid::UNKNOWN, what });
                }
            }
            frame::THROTTLES | frame::PARKING => {}
            frame::CGROUP_LIMITS | frame::CGROUP_STAT => {
                let mut told = Vec::new();
                if !self.telling.cgroups(payload, place, &mut |e| told.push(e)) {
                    bad.trouble("a cgroup's settings that make no sense", place, Trouble::Odd);
                }
                self.push_all(told);
            }
            frame::STACK => {
                if !self.telling.callchains.tell(&mut b) {
                    bad.trouble("a callchain that makes no sense, or too many", place, Trouble::Odd);
                }
            }
            frame::LOSS => {
                let (from, to, events) = (b.ns(), b.ns(), MaybeCount::new(b.u64().cast_signed()));
                let of = (b.rest().len() >= 4).then(|| CpuId(b.u32()));
                let what = What::Loss(LossSpan { from: MaybeNs::new(from), to: MaybeNs::new(to), cpu: of, events });
                let cpu = of.unwrap_or(CpuId(0));
                self.lane(cpu.0 as u16).push(Event { at: to, offset: place, cpu, current: Tid::UNKNOWN, what });
            }
            _ => bad.trouble("a frame of a kind that is not known", place, Trouble::Odd),
        }
        false
    }

    fn push_all(&mut self, told: Vec<Event>) {
        for event in told {
            self.lane(event.cpu.0 as u16).push(event);
        }
    }

    /// The recorder's last frame: what no later block could tell of.
    fn end(&mut self, b: &mut Bytes<'_>, place: u64) {
        self.ended = true;
        let at = self.mark;
        while b.rest().len() >= 12 {
            let (cpu, lost) = (b.u32(), b.u64());
            let from = MaybeNs::new(self.lane(cpu as u16).last());
            let events = MaybeCount::new(i64::try_from(lost).unwrap_or(-1));
            let what = What::Loss(LossSpan { from, to: MaybeNs::NONE, cpu: Some(CpuId(cpu)), events });
            self.last_words.push(Event { at, offset: place, cpu: CpuId(cpu), current: Tid::UNKNOWN, what });
        }
    }

    /// Hands out events up to a time that all lanes have reached; that time.
    fn hand_out(&mut self, out: &mut Batch) -> Ns {
        let telling = &mut self.telling;
        let reach = self.lanes.values_mut().filter_map(|lane| lane.reach(telling)).min();
        let until = reach.map_or(self.mark, |r| r.min(self.mark));
        for lane in self.lanes.values_mut() {
            lane.take(until, telling, &mut |event| out.events.push(event));
        }
        self.handing_out = until < self.mark;
        until
    }

    /// Nothing more can be read: says what of it is not used.
    fn finish(&mut self, out: &mut Batch, bad: &mut dyn Ledger) {
        let mut left = 0;
        for lane in self.lanes.values_mut() {
            left += lane.clear();
            if lane.bad > 0 {
                bad.trouble("a block that cannot be read to its end", 0, Trouble::Odd);
            }
        }
        if self.ended {
            out.events.append(&mut self.last_words);
        } else if left > 0 {
            bad.trouble("events behind the last mark of an unfinished spool are not used", 0, Trouble::Odd);
        }
    }
}

impl Stream for SpoolStream {
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal> {
        let mut until = Ns::MIN;
        let before = out.events.len();
        let mut more = true;
        while more && out.events.len() - before < ENOUGH {
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
        out.names.append(&mut self.telling.names.fresh);
        out.stacks.append(&mut self.telling.callchains.fresh);
        out.left_out.callchains += std::mem::take(&mut self.telling.callchains.left_out);
        Ok(if more { Reach::Until(MaybeNs::new(until)) } else { Reach::End })
    }
}
