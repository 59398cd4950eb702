//! The additional kinds of tracks, one file each. A kind is present if the trace has its data.

mod block;
mod concurrency;
mod counted;
mod counters;
pub(crate) mod frames;
mod frequency;
mod groups;
mod idle;
mod idle_ends;
mod idle_types;
mod intervals;
mod locks;
mod marks;
mod moments;
mod parking;
mod power;
mod temperature;
mod throttled;

use crate::ServeError;
use crate::build_levels::Target;
use engine::{Interval, IntervalKind, Session};
use model::{CpuStretch, Event, Span, ThreadKey, ThreadState, Value};
use serde::{Deserialize, Serialize};

/// The additional kinds, in the order in which they are shown.
pub(crate) const KINDS: &[KindDef] = &[
    KindDef { name: "concurrency", from: Source::Cpus, values: true, new: concurrency::new },
    KindDef { name: "frames", from: Source::Frames, values: true, new: frames::new },
    KindDef { name: "marks", from: Source::Events, values: false, new: marks::new },
    KindDef { name: "moments", from: Source::Events, values: false, new: moments::new },
    KindDef { name: "periods", from: Source::Intervals, values: false, new: intervals::periods },
    KindDef { name: "requests", from: Source::Intervals, values: false, new: intervals::requests },
    KindDef { name: "regions", from: Source::Intervals, values: false, new: intervals::regions },
    KindDef { name: "locks", from: Source::LockWaits, values: false, new: locks::holders },
    KindDef { name: locks::WAITERS, from: Source::LockWaits, values: true, new: locks::waiters },
    KindDef { name: "throttled", from: Source::Throttled, values: false, new: throttled::new },
    KindDef { name: "power", from: Source::Events, values: true, new: power::new },
    KindDef { name: "temperature", from: Source::Events, values: true, new: temperature::new },
    KindDef { name: "frequency", from: Source::Events, values: true, new: frequency::new },
    KindDef { name: "ipc", from: Source::Events, values: true, new: counted::ipc },
    KindDef { name: "rates", from: Source::Events, values: true, new: counted::rates },
    KindDef { name: "counting", from: Source::Events, values: false, new: counted::counting },
    KindDef { name: "idle_types", from: Source::Events, values: true, new: idle_types::new },
    KindDef { name: "idle", from: Source::Events, values: false, new: idle::new },
    KindDef { name: "idle_ends", from: Source::IdleStays, values: false, new: idle_ends::new },
    KindDef { name: "parking", from: Source::Events, values: false, new: parking::new },
    KindDef { name: "block", from: Source::Events, values: true, new: block::new },
    KindDef { name: "counters", from: Source::Events, values: true, new: counters::new },
    KindDef { name: "groups", from: Source::Threads, values: true, new: groups::new },
];

/// The definition of a kind.
pub(crate) struct KindDef {
    /// Its name in requests and of its file.
    pub(crate) name: &'static str,
    pub(crate) from: Source,
    /// Whether its tracks have values instead of states.
    pub(crate) values: bool,
    pub(crate) new: for<'a> fn(&Session, Target<'a>, &'static str) -> Result<BoxedKind<'a>, ServeError>,
}

/// A kind that is being built.
pub(crate) type BoxedKind<'a> = Box<dyn Kind + Send + 'a>;

/// The data from which a kind is built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The stretches of CPUs, in order of start.
    Cpus,
    /// Events in order.
    Events,
    /// The rows of the table of frames.
    Frames,
    /// The stretches of the threads that are in a group, in order of start.
    Threads,
    /// The rows of the table of stays in idle states, if any states were recorded.
    IdleStays,
    /// Periods, requests and parallel regions; those of a kind in the order of their table.
    Intervals,
    /// The rows of the table of waits for locks, if any were recorded.
    LockWaits,
    /// The rows of the table of throttled times, if throttling was recorded.
    Throttled,
}

/// Builds the tracks of a kind; only the method for its own [`Source`] is called.
pub(crate) trait Kind {
    fn cpu(&mut self, _: &CpuStretch) {}
    /// A stretch of a thread of a group of [`crate::Tracks`].
    fn thread(&mut self, _: u32, _: ThreadState, _: Span) {}
    fn event(&mut self, _: &Event, _: &[Box<str>]) {}
    fn frame(&mut self, _: &[Value]) {}
    fn idle_stay(&mut self, _: &[Value]) {}
    fn lock_wait(&mut self, _: &[Value]) {}
    fn throttled(&mut self, _: &[Value]) {}
    /// The name is that of the thread or region.
    fn interval(&mut self, _: IntervalKind, _: &Interval<'_>, _: &str) {}
    /// Returns the description of the kind, or `None` if the trace has no such data.
    fn finish(self: Box<Self>) -> Result<Option<KindInfo>, ServeError>;
}

/// The description of a kind for the page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KindInfo {
    pub(crate) kind: String,
    pub(crate) title: String,
    /// The unit of values; empty for counts.
    pub(crate) unit: String,
    /// Whether the tracks have values instead of states.
    pub(crate) values: bool,
    /// The names of the states, by number.
    pub(crate) states: Vec<String>,
    pub(crate) lanes: Vec<Lane>,
    /// What these tracks do not show, if anything.
    pub(crate) note: String,
    /// The value at which a line is drawn across the tracks.
    pub(crate) line: Option<f64>,
    /// What ended stays in idle states, by the numbers of their slices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) ends: Vec<idle_ends::End>,
}

/// A track.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Lane {
    pub(crate) track: u32,
    pub(crate) label: String,
    /// The maximum of its values.
    pub(crate) most: f64,
    /// The key of the thread that the track is about.
    pub(crate) thread: Option<ThreadKey>,
    /// What `--range` calls its intervals, without their numbers.
    pub(crate) range: Option<String>,
    /// The counter that the track is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) counter: Option<counted::Counter>,
    /// The lock that the track is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lock: Option<locks::Lock>,
    /// The layers of stacked values, from the top; empty unless values are stacked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) layers: Vec<Layer>,
}

/// A layer of a track of stacked values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Layer {
    /// The track that has the sum of this layer and of those below it. That of the topmost layer is the lane's own.
    pub(crate) track: u32,
    pub(crate) label: String,
    /// The number of its colour.
    pub(crate) tone: u32,
}

impl Lane {
    fn new(track: u32, label: String) -> Self {
        Self { track, label, most: 0.0, thread: None, range: None, counter: None, lock: None, layers: Vec::new() }
    }
}

/// The maximum number of tracks of a kind.
const MAX_LANES: usize = 256;
/// The maximum number of CPUs; no kernel supports more.
const MAX_CPUS: usize = 1 << 14;

impl KindInfo {
    fn of_values(lanes: Vec<Lane>) -> Self {
        Self { values: true, ..Self::of_states(lanes, Vec::new()) }
    }

    fn of_states(lanes: Vec<Lane>, states: Vec<String>) -> Self {
        let [kind, title, unit, note] = [const { String::new() }; 4];
        Self { kind, title, unit, values: false, states, lanes, note, line: None, ends: Vec::new() }
    }
}

/// Returns whether there is room for a CPU, or it is present already.
fn room<T>(cpus: &std::collections::BTreeMap<u32, T>, cpu: u32) -> bool {
    cpus.len() < MAX_CPUS || cpus.contains_key(&cpu)
}

/// Returns a name by its id.
fn name(names: &[Box<str>], name: model::NameId) -> Option<&str> {
    names.get((name.0 as usize).checked_sub(1)?).map(|text| &**text)
}

/// What the tests of several kinds share.
#[cfg(test)]
mod tests {
    use super::{BoxedKind, KindInfo};
    use crate::build_levels;
    use crate::prepare::Levels;
    use engine::{PassOptions, Session, Target};
    use model::{Event, EventKind};

    /// Imports lines of ftrace text of a machine with two CPUs, and returns the steps of a kind: track, start and end in
    /// ms, and value.
    pub(super) fn steps(kind: &str, lines: &[&str]) -> Vec<(u32, f64, f64, f64)> {
        let (_, levels) = built(kind, lines);
        let Levels::Values(levels) = levels else { panic!("{kind} has states") };
        let steps = levels.slices(0..i64::MAX, 0, 0..=u32::MAX, 1000).unwrap();
        steps.iter().map(|s| (s.track, s.start as f64 / 1e6, s.end as f64 / 1e6, s.mean)).collect()
    }

    /// Imports lines likewise, and returns the description of a kind.
    pub(super) fn info(kind: &str, lines: &[&str]) -> KindInfo {
        built(kind, lines).0
    }

    /// Track, start and end in ms, state, and CPU or thread.
    type StateSlice = (u32, f64, f64, u8, i64);

    /// Imports lines likewise, and returns the description of a kind and its slices.
    pub(super) fn states(kind: &str, lines: &[&str]) -> (KindInfo, Vec<StateSlice>) {
        let (info, levels) = built(kind, lines);
        let Levels::States(levels) = levels else { panic!("{kind} has values") };
        let slices = levels.slices(0..i64::MAX, 0, 0..=u32::MAX, 1000).unwrap();
        let slice = |s: &levels::Slice| (s.track, s.start as f64 / 1e6, s.end as f64 / 1e6, s.state, s.what);
        (info, slices.iter().map(slice).collect())
    }

    /// Feeds events, one each 100 ns of 400, to a kind that has values. Returns its description, and of each step its track, start and end
    /// in ns, and value.
    pub(super) fn fed(
        name: &str,
        kind: for<'a> fn(build_levels::Target<'a>) -> BoxedKind<'a>,
        events: &[EventKind],
        names: &[&str],
    ) -> (KindInfo, Vec<(u32, i64, i64, f64)>) {
        let folder = tempfile::tempdir().unwrap();
        let place = safefs::Dir::open(folder.path()).unwrap();
        let tracks = crate::Tracks::default();
        let mut kind =
            kind(build_levels::Target { place: &place, stamp: "fed", tracks: &tracks, first: 4, whole: 400 });
        let names: Vec<Box<str>> = names.iter().map(|name| (*name).into()).collect();
        for (at, what) in (0..).zip(events) {
            let (cpu, current) = (model::CpuId::UNKNOWN, model::Tid::UNKNOWN);
            kind.event(&Event { at: model::Ns(100 * at), offset: 0, cpu, current, what: *what }, &names);
        }
        let info = kind.finish().unwrap().unwrap();
        let reader = levels::Reader::<levels::Values>::open(&folder.path().join(format!("{name}.levels"))).unwrap();
        let slices = reader.slices(0..400, 1, 0..=9, usize::MAX).unwrap();
        (info, slices.iter().map(|s| (s.track, s.start, s.end, s.mean)).collect())
    }

    /// Imports lines likewise, and returns the names of the kinds.
    pub(super) fn names(lines: &[&str]) -> Vec<String> {
        all(lines).into_iter().map(|(info, _)| info.kind).collect()
    }

    fn built(kind: &str, lines: &[&str]) -> (KindInfo, Levels) {
        all(lines).into_iter().find(|(info, _)| info.kind == kind).unwrap()
    }

    fn all(lines: &[&str]) -> Vec<(KindInfo, Levels)> {
        let dir = tempfile::tempdir().unwrap();
        let (file, folder) = (dir.path().join("drawn.txt"), dir.path().join("drawn.cw"));
        std::fs::write(&file, format!("cpus=2\n{}\n", lines.join("\n"))).unwrap();
        let source = engine::open_source(&file).unwrap();
        engine::import(source.as_ref(), Target::New(&folder), &PassOptions::default(), &mut |_| ()).unwrap();
        let session = Session::open(&folder, PassOptions::default()).unwrap();
        let tracks = crate::Tracks::of(&session).unwrap();
        crate::prepare(&session, &tracks, &mut |_| ()).unwrap().kinds
    }
}
