//! The tracks of programs' events: `protos/perfetto/trace/track_event/track_descriptor.proto`, with
//! `process_descriptor.proto`, `thread_descriptor.proto` and `counter_descriptor.proto`.

use super::wire::{Fields, Malformed};
use crate::tracepoint::Names;
use model::{Batch, NameId, Pid, Tid};
use rustc_hash::FxHashMap;

/// The maximum number of tracks kept, so that a hostile file cannot exhaust memory.
const MAX_TRACKS: usize = 1 << 18;
/// The maximum number of ancestors searched.
const MAX_ANCESTORS: usize = 16;

/// A track.
#[derive(Clone, Copy)]
pub(super) struct Track {
    parent: u64,
    pub(super) name: NameId,
    /// Set for a thread's own track.
    pub(super) tid: Tid,
    pub(super) pid: Pid,
    /// The factor of its values, and whether they are differences; `None` if the track has no values.
    pub(super) unit: Option<(f64, bool)>,
    /// The sum of its differences.
    pub(super) sum: f64,
}

/// A process or thread, as a descriptor names it.
pub(super) struct NamedThread<'a> {
    pub(super) pid: i32,
    pub(super) tid: i32,
    pub(super) name: &'a [u8],
    /// `reference_timestamp_us` of the older form.
    pub(super) reference_us: i64,
}

impl<'a> NamedThread<'a> {
    /// Reads a `ThreadDescriptor`.
    pub(super) fn thread(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut thread = Self { pid: -1, tid: -1, name: &[], reference_us: 0 };
        let mut fields = Fields::of(message);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => thread.pid = value.int(),
                2 => thread.tid = value.int(),
                5 => thread.name = value.bytes(),
                6 => thread.reference_us = value.number() as i64,
                _ => {}
            }
        }
        Ok(thread)
    }
}

/// All tracks, by their `uuid`.
#[derive(Default)]
pub(super) struct Tracks(FxHashMap<u64, Track>);

impl Tracks {
    /// Adds a `TrackDescriptor`; returns the thread that it names.
    pub(super) fn learn<'a>(
        &mut self,
        message: &'a [u8],
        names: &mut Names,
        out: &mut Batch,
    ) -> Result<Option<NamedThread<'a>>, Malformed> {
        let mut track =
            Track { parent: 0, name: NameId::NONE, tid: Tid::UNKNOWN, pid: Pid::UNKNOWN, unit: None, sum: 0.0 };
        let (mut uuid, mut thread) = (0, None);
        let mut fields = Fields::of(message);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => uuid = value.number(),
                5 => track.parent = value.number(),
                2 | 10 | 13 => track.name = names.id(value.bytes(), out),
                3 => track.pid = process(value.bytes())?,
                4 => {
                    let named = NamedThread::thread(value.bytes())?;
                    (track.tid, track.pid) = (Tid(named.tid), Pid(named.pid));
                    thread = Some(named);
                }
                8 => track.unit = Some(counter(value.bytes())?),
                _ => {}
            }
        }
        if self.0.len() < MAX_TRACKS || self.0.contains_key(&uuid) {
            self.0.insert(uuid, track);
        } else {
            out.left_out.entries += 1;
        }
        Ok(thread)
    }

    pub(super) fn get(&mut self, uuid: u64) -> Option<&mut Track> {
        self.0.get_mut(&uuid)
    }

    /// Returns the owner of a track: the thread for its own track, and the process, which may be an ancestor's.
    pub(super) fn owner(&self, uuid: u64) -> (Tid, Pid) {
        let Some(track) = self.0.get(&uuid) else { return (Tid::UNKNOWN, Pid::UNKNOWN) };
        let (tid, mut ancestor) = (track.tid, track);
        for _ in 0..MAX_ANCESTORS {
            if ancestor.pid != Pid::UNKNOWN {
                break;
            }
            let Some(next) = self.0.get(&ancestor.parent) else { break };
            ancestor = next;
        }
        (tid, ancestor.pid)
    }
}

/// Returns the process of a `ProcessDescriptor`.
fn process(message: &[u8]) -> Result<Pid, Malformed> {
    let mut pid = Pid::UNKNOWN;
    let mut fields = Fields::of(message);
    while let Some((field, value)) = fields.next()? {
        if field == 1 {
            pid = Pid(value.int());
        }
    }
    Ok(pid)
}

/// Returns the factor of a `CounterDescriptor`, and whether it counts differences.
fn counter(message: &[u8]) -> Result<(f64, bool), Malformed> {
    let (mut unit, mut incremental) = (1.0, false);
    let mut fields = Fields::of(message);
    while let Some((field, value)) = fields.next()? {
        match field {
            4 if value.number() != 0 => unit = value.number() as i64 as f64,
            5 => incremental = value.number() != 0,
            _ => {}
        }
    }
    Ok((unit, incremental))
}
