//! What the CPUs counted (`corewise record --counters`): instructions per cycle by CPU and by thread, the rate of each event, and how
//! much of the time was counted.
//!
//! A value lasts from the reading before to its reading. Where nothing was counted, no thread ran, or a switch between two readings is
//! missing, there is none.

mod order;

use super::{BoxedKind, Kind, KindInfo, Lane, MAX_CPUS, MAX_LANES};
use crate::ServeError;
use crate::build_levels::Target;
use engine::Session;
use levels::{States, Values};
use model::{
    CoreType, Counted, CpuId, Event, EventKind, IpcPart, MIN_COUNTED_SHARE, NameId, Ns, ThreadKey, Tid, ipc_part,
};
use order::Readings;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The maximum number of tracks of CPUs of a kind.
const MAX_CPU_LANES: usize = 4 * MAX_LANES;

/// The counter of a track.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Counter {
    /// The CPU; `None` for a track of a thread.
    pub(crate) cpu: Option<u32>,
    /// The event as the user wrote it; empty for instructions per cycle.
    pub(crate) event: String,
    /// `cycles` or `instructions`, if it counts these.
    pub(crate) part: Option<String>,
}

/// A reading in which one thread ran, or several.
struct Reading {
    cpu: CpuId,
    /// [`Tid::UNKNOWN`]: several ran.
    tid: Tid,
    /// ns.
    start: i64,
    end: i64,
    of: Counted,
}

impl Reading {
    /// Returns the reading of an event. One that began before the recording is left out, as in the tables: how much of it belongs to the
    /// recording is unknown.
    fn of(event: &Event) -> Option<Self> {
        let EventKind::Count { tid, event: name, length, count, running } = event.what else { return None };
        let start = event.at.0.checked_sub(length.0)?;
        let of = Counted { event: name, length, count, running };
        (start >= 0 && length > Ns::ZERO).then_some(Self { cpu: event.cpu, tid, start, end: event.at.0, of })
    }

    /// Whether one thread ran, and which.
    fn has_thread(&self) -> bool {
        self.tid != Tid::IDLE && self.tid != Tid::UNKNOWN
    }

    /// The share of the time in which the event counted.
    fn share(&self) -> f64 {
        self.of.running.0 as f64 / self.of.length.0 as f64
    }

    /// Whether the event counted for enough of the time to be believed.
    fn is_counted(&self) -> bool {
        self.of.running > Ns::ZERO && self.share() >= MIN_COUNTED_SHARE && self.of.count >= 0
    }
}

/// The tracks of CPUs and events, numbered in the order of their first readings: alike in all kinds that have a track for each.
#[derive(Default)]
struct CpuLanes {
    lanes: FxHashMap<(u32, NameId), Lane>,
    left_out: u64,
}

impl CpuLanes {
    fn lane(&mut self, of: &Reading, names: &[Box<str>], suffix: &str) -> Option<&mut Lane> {
        let (next, key) = (self.lanes.len(), (of.cpu.0, of.of.event));
        if next >= MAX_CPU_LANES && !self.lanes.contains_key(&key) {
            self.left_out += 1;
            return None;
        }
        let lane = self.lanes.entry(key).or_insert_with(|| {
            let event = super::name(names, key.1).unwrap_or("?");
            let part = ipc_part(event).map(|part| match part {
                IpcPart::Cycles => "cycles".to_owned(),
                IpcPart::Instructions => "instructions".to_owned(),
            });
            let counter = Some(Counter { cpu: Some(key.0), event: event.to_owned(), part });
            Lane { counter, ..Lane::new(next as u32, format!("CPU {} {event}{suffix}", key.0)) }
        });
        Some(lane)
    }

    /// Returns the tracks by event, then by CPU, and what is not shown.
    fn finish(self, cut: u64) -> (Vec<Lane>, String) {
        let mut lanes: Vec<_> = self.lanes.into_iter().collect();
        lanes.sort_unstable_by_key(|((cpu, event), _)| (*event, *cpu));
        let of_others = (self.left_out > 0)
            .then(|| format!("only the first {MAX_CPU_LANES} are shown; {} readings of others are not", self.left_out));
        (lanes.into_iter().map(|(_, lane)| lane).collect(), note(of_others, cut))
    }
}

/// What the tracks do not show.
fn note(left_out: Option<String>, cut: u64) -> String {
    let cut = (cut > 0).then(|| format!("{cut} readings are shown from a later time on than they began"));
    left_out.into_iter().chain(cut).collect::<Vec<_>>().join("; ")
}

/// The rates of events.
struct Rates<'a> {
    readings: Readings<'a, Values>,
    lanes: CpuLanes,
    /// The maximum of each event.
    most: FxHashMap<NameId, Most>,
}

pub(crate) fn rates<'a>(session: &Session, to: Target<'a>, name: &'static str) -> Result<BoxedKind<'a>, ServeError> {
    let readings = Readings::new(session, to, name);
    Ok(Box::new(Rates { readings, lanes: CpuLanes::default(), most: FxHashMap::default() }))
}

/// The largest value of a track, for its scale.
#[derive(Clone, Copy, Default)]
struct Most {
    /// Of readings of [`STEADY`] or more, if there is one.
    steady: f64,
    any: f64,
}

/// The rate of a shorter reading depends on the nanosecond at which each of its ends was read: one such value would set the scale.
const STEADY: Ns = Ns(50_000);

impl Most {
    fn see(&mut self, value: f64, counted: Ns) {
        self.any = self.any.max(value);
        if counted >= STEADY {
            self.steady = self.steady.max(value);
        }
    }

    fn value(&self) -> f64 {
        if self.steady > 0.0 { self.steady } else { self.any }
    }
}

impl Kind for Rates<'_> {
    fn event(&mut self, event: &Event, names: &[Box<str>]) {
        let Some(of) = Reading::of(event) else { return };
        if let Some(lane) = self.lanes.lane(&of, names, " per s")
            && of.has_thread()
            && of.is_counted()
        {
            let rate = of.of.count as f64 * 1e9 / of.of.running.0 as f64;
            self.most.entry(of.of.event).or_default().see(rate, of.of.running);
            self.readings.add(lane.track, of.start, of.end, rate);
        }
        self.readings.read_until(of.cpu, of.start);
    }

    fn finish(self: Box<Self>) -> Result<Option<KindInfo>, ServeError> {
        let Self { readings, mut lanes, most } = *self;
        // CPUs are compared by height, so an event has one scale.
        for ((_, event), lane) in &mut lanes.lanes {
            lane.most = most.get(event).map_or(0.0, Most::value);
        }
        let (is_any, cut) = readings.finish()?;
        let (lanes, note) = lanes.finish(cut);
        let title = "Counted events per second that they were counted, while threads ran".into();
        Ok(is_any.then(|| KindInfo { title, unit: "/s".into(), note, ..KindInfo::of_values(lanes) }))
    }
}

/// How an event was counted. A zero is a count.
const COUNTING: [&str; 5] = [
    "counted",
    "multiplexed: counted for a part of the time",
    "counted for under 5 % of the time: no value",
    "not counted",
    "unknown: a switch between two readings is missing",
];

/// How much of the time each event was counted.
struct Counting<'a> {
    readings: Readings<'a, States>,
    lanes: CpuLanes,
    /// The tracks that are not always counted.
    partly: FxHashSet<u32>,
}

pub(crate) fn counting<'a>(session: &Session, to: Target<'a>, name: &'static str) -> Result<BoxedKind<'a>, ServeError> {
    let readings = Readings::new(session, to, name);
    Ok(Box::new(Counting { readings, lanes: CpuLanes::default(), partly: FxHashSet::default() }))
}

impl Kind for Counting<'_> {
    fn event(&mut self, event: &Event, names: &[Box<str>]) {
        let Some(of) = Reading::of(event) else { return };
        if let Some(lane) = self.lanes.lane(&of, names, " counted")
            && of.tid != Tid::IDLE
        {
            let state = match () {
                () if of.tid == Tid::UNKNOWN => 4,
                () if of.of.running <= Ns::ZERO || of.of.count < 0 => 3,
                () if !of.is_counted() => 2,
                () if of.of.running < of.of.length => 1,
                () => 0,
            };
            if state != 0 {
                self.partly.insert(lane.track);
            }
            // In percent.
            let share = (100.0 * of.share()).clamp(0.0, 100.0).round() as i64;
            self.readings.add(lane.track, of.start, of.end, (state, share));
        }
        self.readings.read_until(of.cpu, of.start);
    }

    fn finish(self: Box<Self>) -> Result<Option<KindInfo>, ServeError> {
        let Self { readings, lanes, partly } = *self;
        if partly.is_empty() {
            return Ok(None);
        }
        let (is_any, cut) = readings.finish()?;
        let (mut lanes, note) = lanes.finish(cut);
        lanes.retain(|lane| partly.contains(&lane.track));
        let states = COUNTING.map(str::to_owned).into();
        let title = "How much of the time events were counted".into();
        Ok(is_any.then(|| KindInfo { title, note, ..KindInfo::of_states(lanes, states) }))
    }
}

/// Whose instructions per cycle a track has. CPUs are first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    Cpu(u32),
    /// The rank by running time, and the type of the core.
    Thread(usize, CoreType),
}

/// The threads that have tracks.
struct Threads {
    /// The key and the name, by rank.
    shown: Vec<(ThreadKey, String)>,
    /// The instances of each TID, in order of their begin: that, and the rank if it has tracks.
    instances: FxHashMap<i32, Vec<(i64, Option<usize>)>>,
    /// Whether more threads ran.
    has_others: bool,
}

impl Threads {
    /// Chooses the threads that ran longest.
    fn new(tracks: &crate::Tracks) -> Self {
        let mut ran: Vec<_> = tracks
            .instances()
            .filter(|(tid, _, key, running, _)| *tid != 0 && *key != ThreadKey::IDLE && *running > 0)
            .collect();
        ran.sort_unstable_by_key(|(.., key, running, _)| (Reverse(*running), *key));
        let has_others = ran.len() > MAX_LANES;
        ran.truncate(MAX_LANES);
        let shown = ran.iter().map(|(tid, _, key, _, name)| (*key, format!("{name} {tid}"))).collect();
        let ranks: FxHashMap<ThreadKey, usize> =
            ran.iter().enumerate().map(|(rank, (_, _, key, ..))| (*key, rank)).collect();
        let mut instances: FxHashMap<i32, Vec<_>> = ran.iter().map(|(tid, ..)| (*tid, Vec::new())).collect();
        for (tid, begin, key, ..) in tracks.instances() {
            if let Some(of) = instances.get_mut(&tid) {
                of.push((begin, ranks.get(&key).copied()));
            }
        }
        instances.values_mut().for_each(|of| of.sort_unstable());
        Self { shown, instances, has_others }
    }

    /// Returns the rank of the thread that had a TID before a time.
    fn rank(&self, tid: Tid, before: i64) -> Option<usize> {
        let of = self.instances.get(&tid.0)?;
        let began = of.partition_point(|(begin, _)| *begin < before);
        of.get(began.checked_sub(1)?)?.1
    }
}

/// Instructions per cycle.
struct Ipc<'a> {
    to: Target<'a>,
    readings: Readings<'a, Values>,
    /// What each name counts.
    names: FxHashMap<NameId, Option<IpcPart>>,
    /// The last reading of each CPU that waits for the other of its interval.
    waiting: FxHashMap<u32, (IpcPart, Reading)>,
    core_types: FxHashMap<u32, CoreType>,
    /// Made when there is a first reading.
    threads: Option<Threads>,
    lanes: BTreeMap<Owner, Lane>,
    /// How many of these are of CPUs.
    cpus: usize,
    most: Most,
    left_out: u64,
}

pub(crate) fn ipc<'a>(session: &Session, to: Target<'a>, name: &'static str) -> Result<BoxedKind<'a>, ServeError> {
    let machine = session.machine();
    Ok(Box::new(Ipc {
        to,
        readings: Readings::new(session, to, name),
        names: FxHashMap::default(),
        waiting: FxHashMap::default(),
        core_types: machine.cpus.iter().map(|cpu| (cpu.id.0, machine.core_type(cpu.id))).collect(),
        threads: None,
        lanes: BTreeMap::new(),
        cpus: 0,
        most: Most::default(),
        left_out: 0,
    }))
}

impl Ipc<'_> {
    fn draw(&mut self, owner: Owner, of: &Reading, ipc: f64) {
        let next = self.lanes.len();
        // Threads have a limit of their own.
        if matches!(owner, Owner::Cpu(_)) && !self.lanes.contains_key(&owner) {
            if self.cpus >= MAX_CPU_LANES {
                self.left_out += 1;
                return;
            }
            self.cpus += 1;
        }
        let threads = &self.threads;
        let lane = self.lanes.entry(owner).or_insert_with(|| {
            let (cpu, thread, label) = match owner {
                Owner::Cpu(cpu) => (Some(cpu), None, format!("CPU {cpu} IPC")),
                Owner::Thread(rank, on) => {
                    let shown = threads.as_ref().and_then(|threads| threads.shown.get(rank));
                    let (key, name) = shown.map_or((ThreadKey::IDLE, "?"), |(key, name)| (*key, name));
                    let on = if on == CoreType::Uniform { String::new() } else { format!(" on {}", on.as_str()) };
                    (None, Some(key), format!("{name} IPC{on}"))
                }
            };
            let counter = Some(Counter { cpu, event: String::new(), part: None });
            Lane { thread, counter, ..Lane::new(next as u32, label) }
        });
        self.readings.add(lane.track, of.start, of.end, ipc);
    }

    /// Returns instructions per cycle once both of an interval are read.
    fn both(&mut self, part: IpcPart, of: Reading) -> Option<f64> {
        let other = self
            .waiting
            .get(&of.cpu.0)
            .filter(|(has, other)| *has != part && (other.start, other.end) == (of.start, of.end));
        let ratio =
            other.filter(|(_, other)| other.is_counted() && of.is_counted() && other.of.running == of.of.running);
        let (instructions, cycles) = match (ratio, part) {
            (Some((_, other)), IpcPart::Cycles) => (other.of.count, of.of.count),
            (Some((_, other)), IpcPart::Instructions) => (of.of.count, other.of.count),
            (None, _) => (0, 0),
        };
        if self.waiting.len() < MAX_CPUS || self.waiting.contains_key(&of.cpu.0) {
            self.waiting.insert(of.cpu.0, (part, of));
        }
        (cycles > 0).then(|| instructions as f64 / cycles as f64)
    }
}

impl Kind for Ipc<'_> {
    fn event(&mut self, event: &Event, names: &[Box<str>]) {
        let Some(of) = Reading::of(event) else { return };
        let (cpu, start, end, tid) = (of.cpu, of.start, of.end, of.tid);
        let part = *self.names.entry(of.of.event).or_insert_with(|| super::name(names, of.of.event).and_then(ipc_part));
        if let (Some(part), true) = (part, of.has_thread()) {
            let interval = Reading { of: of.of, ..of };
            if let Some(ipc) = self.both(part, of) {
                self.most.see(ipc, interval.of.running);
                self.draw(Owner::Cpu(cpu.0), &interval, ipc);
                let tracks = self.to.tracks;
                let rank = self.threads.get_or_insert_with(|| Threads::new(tracks)).rank(tid, end);
                if let Some(rank) = rank {
                    let on = self.core_types.get(&cpu.0).copied().unwrap_or(CoreType::Uniform);
                    self.draw(Owner::Thread(rank, on), &interval, ipc);
                }
            }
        }
        self.readings.read_until(cpu, start);
    }

    fn finish(self: Box<Self>) -> Result<Option<KindInfo>, ServeError> {
        let Self { readings, lanes, most, left_out, threads, .. } = *self;
        let (is_any, cut) = readings.finish()?;
        // Tracks are compared by height, so all have one scale.
        let most = most.value();
        let lanes = lanes.into_values().map(|lane| Lane { most, ..lane }).collect();
        let others = threads.is_some_and(|threads| threads.has_others);
        let of_others = (left_out > 0)
            .then(|| format!("only the first {MAX_CPU_LANES} CPUs are shown; {left_out} readings of others are not"))
            .into_iter()
            .chain(others.then(|| format!("only the {MAX_LANES} threads that ran longest are shown")));
        let note = note(Some(of_others.collect::<Vec<_>>().join("; ")).filter(|text| !text.is_empty()), cut);
        let title = "Instructions per cycle (mean per pixel; lighter: maximum)".into();
        Ok(is_any.then(|| KindInfo {
            title,
            unit: "instructions per cycle".into(),
            note,
            ..KindInfo::of_values(lanes)
        }))
    }
}

#[cfg(test)]
#[path = "counted/tests.rs"]
mod tests;
