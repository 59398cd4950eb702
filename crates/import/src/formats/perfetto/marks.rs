//! What programs mark themselves: `protos/perfetto/trace/track_event/track_event.proto`, also in Chrome's older form
//! (`legacy_event`, times as differences in µs).

use super::tracks::Tracks;
use super::wire::{Broken, Fields, Packed, Value};
use crate::tracepoint::Names;
use model::{Batch, CpuId, Event, Mark, MarkEdge, NameId, Ns, Pid, Tid, What};
use rustc_hash::FxHashMap;

/// Extra counters of one event.
const MOST_EXTRA: usize = 64;

/// What a sequence said for all its events; forgotten when it says so.
#[derive(Default)]
pub(super) struct Told {
    /// Names by `iid`.
    pub(super) names: FxHashMap<u64, NameId>,
    pub(super) track: Option<u64>,
    pub(super) extra: Vec<u64>,
    /// The thread that the sequence is of, in the older form, and its time, µs.
    pub(super) thread: Option<(Tid, Pid)>,
    pub(super) reference_us: i64,
}

/// When a track event says that it was.
pub(super) enum When {
    /// As its packet says.
    Packet,
    /// In µs, of the clock that its sequence uses by default.
    Micros(i64),
}

/// A `TrackEvent`.
#[derive(Default)]
pub(super) struct TrackEvent<'a> {
    kind: u64,
    name: &'a [u8],
    iid: u64,
    track: Option<u64>,
    value: Option<f64>,
    extra: Vec<u64>,
    values: Vec<f64>,
    delta_us: Option<i64>,
    absolute_us: Option<i64>,
    legacy: Legacy,
}

/// Its `legacy_event`.
#[derive(Default)]
struct Legacy {
    phase: u8,
    duration_us: i64,
    id: Option<u64>,
    iid: u64,
    pid: Option<i32>,
    tid: Option<i32>,
}

impl<'a> TrackEvent<'a> {
    pub(super) fn of(message: &'a [u8]) -> Result<Self, Broken> {
        let mut event = Self::default();
        let mut fields = Fields::of(message);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => event.delta_us = Some(value.number() as i64),
                16 => event.absolute_us = Some(value.number() as i64),
                6 => event.legacy = Legacy::of(value.bytes())?,
                9 => event.kind = value.number(),
                10 => event.iid = value.number(),
                11 => event.track = Some(value.number()),
                12 => each(value, |n| push(&mut event.values, n as i64 as f64)),
                23 => event.name = value.bytes(),
                30 => event.value = Some(value.number() as i64 as f64),
                31 => each(value, |n| push(&mut event.extra, n)),
                44 => event.value = Some(f64::from_bits(value.number())),
                _ => {}
            }
        }
        Ok(event)
    }

    /// When it was; moves the sequence's own time where it is told as a difference.
    pub(super) fn when(&self, told: &mut Told) -> When {
        if let Some(us) = self.absolute_us {
            return When::Micros(us);
        }
        match self.delta_us {
            Some(step) => {
                told.reference_us = told.reference_us.saturating_add(step);
                When::Micros(told.reference_us)
            }
            None => When::Packet,
        }
    }

    /// Puts what it tells into `out`.
    pub(super) fn tell(
        &self,
        at: Ns,
        offset: u64,
        told: &Told,
        tracks: &mut Tracks,
        names: &mut Names,
        out: &mut Batch,
    ) {
        let put = |at, what, out: &mut Batch| {
            out.events.push(Event { at, offset, cpu: CpuId::UNKNOWN, current: Tid::UNKNOWN, what })
        };
        let track = self.track.or(told.track);
        if self.kind == COUNTER {
            if let Some(what) = track.zip(self.value).and_then(|(track, n)| value(track, n, tracks)) {
                put(at, what, out);
            }
        } else if let Some((edge, closes)) = self.edge() {
            let name = match self.name {
                [] => told.names.get(&self.iid.max(self.legacy.iid)).copied().unwrap_or_default(),
                text => names.id(text, out),
            };
            let mark = self.mark(track, name, edge, told, tracks);
            put(at, What::Mark(mark), out);
            let end = self.legacy.duration_us.checked_mul(1000).and_then(|d| at.0.checked_add(d)).filter(|_| closes);
            if let Some(end) = end.filter(|end| *end >= at.0 && *end < 1 << 62) {
                put(Ns(end), What::Mark(Mark { name: NameId::NONE, edge: MarkEdge::End, ..mark }), out);
            }
        }
        let extra = if self.extra.is_empty() { &told.extra } else { &self.extra };
        for (track, n) in extra.iter().zip(&self.values) {
            if let Some(what) = value(*track, *n, tracks) {
                put(at, what, out);
            }
        }
    }

    /// Which edge it is, and whether its end is told along.
    fn edge(&self) -> Option<(MarkEdge, bool)> {
        Some(match (self.kind, self.legacy.phase) {
            (1, _) | (_, b'B' | b'b' | b'S') => (MarkEdge::Begin, false),
            (2, _) | (_, b'E' | b'e' | b'F') => (MarkEdge::End, false),
            (3, _) | (_, b'I' | b'i' | b'n' | b'R') => (MarkEdge::Instant, false),
            (_, b'X') => (MarkEdge::Begin, true),
            _ => return None,
        })
    }

    fn mark(&self, track: Option<u64>, name: NameId, edge: MarkEdge, told: &Told, tracks: &Tracks) -> Mark {
        let (mut tid, mut pid) = match track.filter(|t| *t != 0) {
            Some(track) => tracks.owner(track),
            None => told.thread.unwrap_or((Tid::UNKNOWN, Pid::UNKNOWN)),
        };
        tid = self.legacy.tid.map_or(tid, Tid);
        pid = self.legacy.pid.map_or(pid, Pid);
        let own = tid != Tid::UNKNOWN && self.legacy.id.is_none();
        let track = if own { 0 } else { self.legacy.id.or(track).unwrap_or(0) as i64 };
        Mark { tid, pid, track, name, edge }
    }
}

const COUNTER: u64 = 4;

/// A counter's value. One without a name is Chrome's own count of thread time or instructions at each mark.
fn value(uuid: u64, n: f64, tracks: &mut Tracks) -> Option<What> {
    let (_, pid) = tracks.owner(uuid);
    let track = tracks.get(uuid).filter(|t| t.name != NameId::NONE)?;
    let (unit, incremental) = track.unit.unwrap_or((1.0, false));
    track.sum = if incremental { track.sum + n } else { n };
    let value = track.sum * unit;
    value.is_finite().then_some(What::Value { pid, name: track.name, value })
}

impl Legacy {
    fn of(message: &[u8]) -> Result<Self, Broken> {
        let mut legacy = Self::default();
        let mut fields = Fields::of(message);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => legacy.iid = value.number(),
                2 => legacy.phase = value.number() as u8,
                3 => legacy.duration_us = value.number() as i64,
                6 | 10 | 11 => legacy.id = Some(value.number()),
                18 => legacy.pid = Some(value.int()),
                19 => legacy.tid = Some(value.int()),
                _ => {}
            }
        }
        Ok(legacy)
    }
}

/// The numbers of a repeated field, packed or not.
pub(super) fn each(value: Value<'_>, take: impl FnMut(u64)) {
    match value {
        Value::Number(n) => std::iter::once(n).for_each(take),
        Value::Bytes(bytes) => Packed(bytes).for_each(take),
    }
}

/// Keeps a number, unless a hostile file has too many.
pub(super) fn push<T>(to: &mut Vec<T>, n: T) {
    if to.len() < MOST_EXTRA {
        to.push(n);
    }
}
