//! Marks of programs: `protos/perfetto/trace/track_event/track_event.proto`, also in Chrome's older form
//! (`legacy_event`, times as differences in µs).

use super::tracks::Tracks;
use super::wire::{Fields, Malformed, Packed, Value};
use crate::tracepoint::Names;
use model::{Batch, CpuId, Event, EventKind, Mark, MarkEdge, NameId, Ns, Pid, Tid};
use rustc_hash::FxHashMap;

/// The maximum number of extra counters of one event.
const MAX_EXTRA: usize = 64;

/// The defaults of a sequence for its events; cleared when the sequence requests it.
#[derive(Default)]
pub(super) struct SequenceDefaults {
    /// Names by `iid`.
    pub(super) names: FxHashMap<u64, NameId>,
    pub(super) track: Option<u64>,
    pub(super) extra: Vec<u64>,
    /// The thread of the sequence, in the older form, and its time in µs.
    pub(super) thread: Option<(Tid, Pid)>,
    pub(super) reference_us: i64,
}

/// The time of a track event.
pub(super) enum When {
    /// The time of its packet.
    Packet,
    /// In µs, on the default clock of its sequence.
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
    pub(super) fn of(message: &'a [u8]) -> Result<Self, Malformed> {
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
                12 => for_each_number(value, |n| push_bounded(&mut event.values, n as i64 as f64)),
                23 => event.name = value.bytes(),
                30 => event.value = Some(value.number() as i64 as f64),
                31 => for_each_number(value, |n| push_bounded(&mut event.extra, n)),
                44 => event.value = Some(f64::from_bits(value.number())),
                _ => {}
            }
        }
        Ok(event)
    }

    /// Whether it shows to viewers a count of which corewise has written a note.
    pub(super) fn repeats_a_note(&self) -> bool {
        self.kind == COUNTER && self.track.is_some_and(|track| track >> 32 == OWN_COUNTERS)
    }

    /// Returns the time. If it is a difference, advances the sequence's time.
    pub(super) fn when(&self, defaults: &mut SequenceDefaults) -> When {
        if let Some(us) = self.absolute_us {
            return When::Micros(us);
        }
        match self.delta_us {
            Some(step) => {
                defaults.reference_us = defaults.reference_us.saturating_add(step);
                When::Micros(defaults.reference_us)
            }
            None => When::Packet,
        }
    }

    /// Adds the event's marks and values to `out`.
    pub(super) fn add_to(
        &self,
        at: Ns,
        offset: u64,
        defaults: &SequenceDefaults,
        tracks: &mut Tracks,
        names: &mut Names,
        out: &mut Batch,
    ) {
        let add_event = |at, what, out: &mut Batch| {
            out.events.push(Event { at, offset, cpu: CpuId::UNKNOWN, current: Tid::UNKNOWN, what })
        };
        let track = self.track.or(defaults.track);
        if self.kind == COUNTER {
            if let Some(what) = track.zip(self.value).and_then(|(track, n)| value(track, n, tracks)) {
                add_event(at, what, out);
            }
        } else if let Some((edge, closes)) = self.edge() {
            let name = match self.name {
                [] => defaults.names.get(&self.iid.max(self.legacy.iid)).copied().unwrap_or_default(),
                text => names.id(text, out),
            };
            let mark = self.mark(track, name, edge, defaults, tracks);
            add_event(at, EventKind::Mark(mark), out);
            let end = self.legacy.duration_us.checked_mul(1000).and_then(|d| at.0.checked_add(d)).filter(|_| closes);
            if let Some(end) = end.filter(|end| *end >= at.0 && *end < 1 << 62) {
                add_event(Ns(end), EventKind::Mark(Mark { name: NameId::NONE, edge: MarkEdge::End, ..mark }), out);
            }
        }
        let extra = if self.extra.is_empty() { &defaults.extra } else { &self.extra };
        for (track, n) in extra.iter().zip(&self.values) {
            if let Some(what) = value(*track, *n, tracks) {
                add_event(at, what, out);
            }
        }
    }

    /// Returns which edge the mark is, and whether the event also contains its end.
    fn edge(&self) -> Option<(MarkEdge, bool)> {
        Some(match (self.kind, self.legacy.phase) {
            (1, _) | (_, b'B' | b'b' | b'S') => (MarkEdge::Begin, false),
            (2, _) | (_, b'E' | b'e' | b'F') => (MarkEdge::End, false),
            (3, _) | (_, b'I' | b'i' | b'n' | b'R') => (MarkEdge::Instant, false),
            (_, b'X') => (MarkEdge::Begin, true),
            _ => return None,
        })
    }

    fn mark(
        &self,
        track: Option<u64>,
        name: NameId,
        edge: MarkEdge,
        defaults: &SequenceDefaults,
        tracks: &Tracks,
    ) -> Mark {
        let (mut tid, mut pid) = match track.filter(|t| *t != 0) {
            Some(track) => tracks.owner(track),
            None => defaults.thread.unwrap_or((Tid::UNKNOWN, Pid::UNKNOWN)),
        };
        tid = self.legacy.tid.map_or(tid, Tid);
        pid = self.legacy.pid.map_or(pid, Pid);
        let own = tid != Tid::UNKNOWN && self.legacy.id.is_none();
        let track = if own { 0 } else { self.legacy.id.or(track).unwrap_or(0) as i64 };
        Mark { tid, pid, track, name, edge }
    }
}

const COUNTER: u64 = 4;
/// The upper half of the numbers of the tracks on which corewise shows counts: "cwct" in ASCII.
const OWN_COUNTERS: u64 = 0x6377_6374;

/// Returns a counter's value. Counters without a name are Chrome's counts of thread time or instructions at each mark.
fn value(uuid: u64, n: f64, tracks: &mut Tracks) -> Option<EventKind> {
    let (_, pid) = tracks.owner(uuid);
    let track = tracks.get(uuid).filter(|t| t.name != NameId::NONE)?;
    let (unit, incremental) = track.unit.unwrap_or((1.0, false));
    track.sum = if incremental { track.sum + n } else { n };
    let value = track.sum * unit;
    value.is_finite().then_some(EventKind::Value { pid, name: track.name, value })
}

impl Legacy {
    fn of(message: &[u8]) -> Result<Self, Malformed> {
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

/// Calls `take` for the numbers of a repeated field, packed or not.
pub(super) fn for_each_number(value: Value<'_>, take: impl FnMut(u64)) {
    match value {
        Value::Number(n) => std::iter::once(n).for_each(take),
        Value::Bytes(bytes) => Packed(bytes).for_each(take),
    }
}

/// Adds a number, unless a hostile file has too many.
pub(super) fn push_bounded<T>(to: &mut Vec<T>, n: T) {
    if to.len() < MAX_EXTRA {
        to.push(n);
    }
}
