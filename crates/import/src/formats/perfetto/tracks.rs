//! Tracks that programs' events are on: `protos/perfetto/trace/track_event/track_descriptor.proto`, with
//! `process_descriptor.proto`, `thread_descriptor.proto` and `counter_descriptor.proto` beside it.

use super::wire::{Broken, Fields};
use crate::tracepoint::Names;
use model::{Batch, NameId, Pid, Tid};
use rustc_hash::FxHashMap;

/// Tracks kept; a hostile file must not fill the memory.
const MOST: usize = 1 << 18;
/// No track has more ancestors.
const DEEPEST: usize = 16;

/// What a track is of.
#[derive(Clone, Copy)]
pub(super) struct Track {
    parent: u64,
    pub(super) name: NameId,
    /// A thread's own.
    pub(super) tid: Tid,
    pub(super) pid: Pid,
    /// What its values are to be multiplied with, and whether they are differences; `None`: it has no values.
    pub(super) unit: Option<(f64, bool)>,
    /// The sum of its differences.
    pub(super) sum: f64,
}

/// A process or thread, as a descriptor names it.
pub(super) struct Who<'a> {
    pub(super) pid: i32,
    pub(super) tid: i32,
    pub(super) name: &'a [u8],
    /// `reference_timestamp_us` of the older form.
    pub(super) reference_us: i64,
}

impl<'a> Who<'a> {
    /// A `ThreadDescriptor`.
    pub(super) fn thread(message: &'a [u8]) -> Result<Self, Broken> {
        let mut who = Self { pid: -1, tid: -1, name: &[], reference_us: 0 };
        let mut fields = Fields::of(message);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => who.pid = value.int(),
                2 => who.tid = value.int(),
                5 => who.name = value.bytes(),
                6 => who.reference_us = value.number() as i64,
                _ => {}
            }
        }
        Ok(who)
    }
}

/// All tracks, by their `uuid`.
#[derive(Default)]
pub(super) struct Tracks(FxHashMap<u64, Track>);

impl Tracks {
    /// Learns a `TrackDescriptor`; gives the thread that it names.
    pub(super) fn learn<'a>(
        &mut self,
        message: &'a [u8],
        names: &mut Names,
        out: &mut Batch,
    ) -> Result<Option<Who<'a>>, Broken> {
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
                    let who = Who::thread(value.bytes())?;
                    (track.tid, track.pid) = (Tid(who.tid), Pid(who.pid));
                    thread = Some(who);
                }
                8 => track.unit = Some(counter(value.bytes())?),
                _ => {}
            }
        }
        if self.0.len() < MOST || self.0.contains_key(&uuid) {
            self.0.insert(uuid, track);
        } else {
            out.left_out.entries += 1;
        }
        Ok(thread)
    }

    pub(super) fn get(&mut self, uuid: u64) -> Option<&mut Track> {
        self.0.get_mut(&uuid)
    }

    /// Whose a track is: the thread for its own track, and the process, which may be an ancestor's.
    pub(super) fn owner(&self, uuid: u64) -> (Tid, Pid) {
        let Some(track) = self.0.get(&uuid) else { return (Tid::UNKNOWN, Pid::UNKNOWN) };
        let (tid, mut above) = (track.tid, track);
        for _ in 0..DEEPEST {
            if above.pid != Pid::UNKNOWN {
                break;
            }
            let Some(next) = self.0.get(&above.parent) else { break };
            above = next;
        }
        (tid, above.pid)
    }
}

/// A `ProcessDescriptor`'s process.
fn process(message: &[u8]) -> Result<Pid, Broken> {
    let mut pid = Pid::UNKNOWN;
    let mut fields = Fields::of(message);
    while let Some((field, value)) = fields.next()? {
        if field == 1 {
            pid = Pid(value.int());
        }
    }
    Ok(pid)
}

/// A `CounterDescriptor`'s multiplier, and whether it counts differences.
fn counter(message: &[u8]) -> Result<(f64, bool), Broken> {
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
