//! The thread instances: those of live threads in memory, all others in a file.
//!
//! An instance ends when the next one with the same TID begins. In a damaged or lossy source, events may still name a thread
//! after its exit: its instance is archived in the file, and restored if an event names it again.
//!
//! ```text
//!   begin ──▶ in memory ──exit──▶ archived ──next instance of the TID, or end of the recording──▶ ended
//!                 ▲──named again──────╯
//! ```

use crate::Threads;
use crate::instance::{Instance, ThreadPhase};
use model::{Ns, Span, ThreadKey, Tid};
use rustc_hash::FxHashMap;
use std::ops::{Index, IndexMut};
use std::sync::Arc;

/// Smaller TIDs are looked up in an array, others in a map: twice the default of `kernel.pid_max`.
const MAX_DIRECT_TID: usize = 1 << 16;

/// Where the current instance of a TID is.
#[derive(Clone, Copy)]
enum Location {
    /// In memory, at this slot.
    Memory(u32),
    /// In the file, with this key.
    Archived(u32),
}

/// All thread instances.
#[derive(Default)]
pub(crate) struct Instances {
    live: Vec<Instance>,
    /// Free slots in `live`.
    free: Vec<u32>,
    by_tid: FxHashMap<Tid, Location>,
    /// For small TIDs, the slot of the instance in memory, plus 1. Every event looks it up, some several times.
    tid_slots: Vec<u32>,
    threads: Threads,
    /// Sums are kept only for this part of the recording, not for instances that ended before it or begin after it.
    part: Option<Span>,
}

impl Index<usize> for Instances {
    type Output = Instance;
    #[inline]
    fn index(&self, at: usize) -> &Instance {
        &self.live[at]
    }
}

impl IndexMut<usize> for Instances {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut Instance {
        &mut self.live[at]
    }
}

impl Instances {
    pub(crate) fn new(part: Option<Span>) -> Self {
        Self { part, ..Self::default() }
    }

    /// Returns the slot of the current instance of a TID, which is restored if it is archived.
    #[inline]
    pub(crate) fn slot_of(&mut self, tid: Tid) -> Option<usize> {
        if let Some(at) = self.direct_slot(tid) {
            return Some(at);
        }
        match self.by_tid.get(&tid)? {
            Location::Memory(at) => Some(*at as usize),
            Location::Archived(key) => Some(self.restore(*key)),
        }
    }

    /// Returns the current instance of a TID, unless it has exited.
    #[inline]
    pub(crate) fn alive(&mut self, tid: Tid) -> Option<&mut Instance> {
        let at = match self.direct_slot(tid) {
            Some(at) => at,
            None => match self.by_tid.get(&tid)? {
                Location::Memory(at) => *at as usize,
                Location::Archived(_) => return None,
            },
        };
        self.live.get_mut(at).filter(|instance| instance.phase != ThreadPhase::Exited)
    }

    /// Returns the key of the current instance of a TID.
    #[inline]
    pub(crate) fn key(&self, tid: Tid) -> Option<ThreadKey> {
        if let Some(at) = self.direct_slot(tid) {
            return Some(self.live[at].totals.thread);
        }
        match self.by_tid.get(&tid)? {
            Location::Memory(at) => Some(self.live[*at as usize].totals.thread),
            Location::Archived(key) => Some(ThreadKey(i64::from(*key))),
        }
    }

    /// Begins the next instance of a TID and ends the previous one, if there is one.
    pub(crate) fn begin(&mut self, tid: Tid, begin: Ns, place: u64) -> usize {
        let former = self.slot_of(tid);
        let number = former.map_or(0, |at| self.live[at].totals.instance + 1);
        if let Some(former) = former {
            self.end(former);
        }
        let key = self.threads.reserve();
        self.take(Instance::new(key, tid, number, begin, place))
    }

    /// Ends an instance: its sums leave memory.
    pub(crate) fn end(&mut self, at: usize) {
        let instance = &mut self.live[at];
        // An instance that ended before the recording or the part is excluded. A thread that had just exited when the recording
        // began is included in the whole recording, and so in a part from its begin.
        let from_begin = |part: Span| part.start == Ns::ZERO && instance.totals.begin == Ns::ZERO;
        let of = |part| from_begin(part) || instance.totals.did_something();
        if instance.since >= Ns::ZERO && self.part.is_none_or(of) {
            instance.totals.by_cpu.sort_unstable();
            self.threads.end(instance);
        } else {
            self.threads.discard(instance.totals.thread);
        }
        self.free_slot(at);
    }

    /// Moves the instance of an exited thread to the file ([`Instance::can_be_archived`]); it may be restored.
    pub(crate) fn archive(&mut self, at: usize) {
        let instance = &self.live[at];
        let (tid, key) = (instance.totals.tid, instance.totals.thread);
        self.threads.archive(instance);
        self.put(tid, Location::Archived(key.0 as u32));
        self.free_slot(at);
    }

    /// Returns the slots of all current instances in memory.
    pub(crate) fn live_threads(&self) -> Vec<usize> {
        let in_memory = |at: &Location| if let Location::Memory(at) = at { Some(*at as usize) } else { None };
        self.by_tid.values().filter_map(in_memory).collect()
    }

    /// Returns the TIDs of the archived instances, in order of their keys.
    pub(crate) fn archived_tids(&self) -> Vec<Tid> {
        let archived =
            |(tid, at): (&Tid, &Location)| if let Location::Archived(key) = at { Some((*key, *tid)) } else { None };
        let mut all: Vec<_> = self.by_tid.iter().filter_map(archived).collect();
        all.sort_unstable();
        all.into_iter().map(|(_, tid)| tid).collect()
    }

    /// Returns the sums of all instances, after each has ended. The index of a name is its [`NameId`].
    pub(crate) fn finish(self, names: Vec<Arc<str>>) -> Threads {
        self.threads.with_names(names)
    }

    #[cold]
    fn restore(&mut self, key: u32) -> usize {
        let instance = self.threads.archived(ThreadKey(i64::from(key)));
        self.take(instance)
    }

    fn take(&mut self, instance: Instance) -> usize {
        let tid = instance.totals.tid;
        let at = match self.free.pop() {
            Some(at) => {
                self.live[at as usize] = instance;
                at
            }
            None => {
                self.live.push(instance);
                self.live.len() as u32 - 1
            }
        };
        self.put(tid, Location::Memory(at));
        at as usize
    }

    #[inline]
    fn direct_slot(&self, tid: Tid) -> Option<usize> {
        self.tid_slots.get(tid.0 as usize).and_then(|at| at.checked_sub(1)).map(|at| at as usize)
    }

    fn put(&mut self, tid: Tid, place: Location) {
        self.by_tid.insert(tid, place);
        let number = tid.0 as usize;
        if number >= MAX_DIRECT_TID {
            return;
        }
        if self.tid_slots.len() <= number {
            self.tid_slots.resize((number + 1).next_power_of_two(), 0);
        }
        self.tid_slots[number] = match place {
            Location::Memory(at) => at + 1,
            Location::Archived(_) => 0,
        };
    }

    fn free_slot(&mut self, at: usize) {
        self.live[at].totals.by_cpu = Vec::new();
        self.free.push(at as u32);
    }
}
