//! The open marked stretches and the state times of their threads, for tables of marks.

use crate::parking;
use crate::{Begins, World};
use model::{Mark, MarkEdge, NameId, Ns, Pid, ThreadKey, ThreadState, ThreadStretch, Tid, Value};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The time in each state, in the order of [`ThreadState::ALL`].
pub(crate) type Clocks = [Ns; 5];

/// The current state of a living thread, and its clocks until that began.
#[derive(Clone, Copy)]
struct ThreadTimes {
    state: ThreadState,
    since: Ns,
    clocks: Clocks,
}

impl ThreadTimes {
    fn read(&self, now: Ns) -> Clocks {
        let mut clocks = self.clocks;
        let clock = &mut clocks[self.state as usize];
        *clock += now - self.since;
        clocks
    }
}

/// The scope in which stretches nest: a thread's own track, or another track of a process.
type Track = (ThreadKey, Scope, i64);

/// What else distinguishes tracks. Marks of a thread have no process here, since older Androids write it at the begin of
/// a stretch, but not at its end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Scope {
    Thread,
    /// A thread that the recording does not know, such as one without switches.
    Tid(Tid),
    Process(Pid),
}

struct Open {
    pid: Pid,
    name: NameId,
    at: Ns,
    clocks: Clocks,
    parking: parking::Clocks,
    /// Whether it began within the span.
    begun: bool,
}

/// A marked stretch that ended or that the span cuts off.
pub(crate) struct Stretch {
    pub(crate) thread: ThreadKey,
    pub(crate) pid: Pid,
    pub(crate) name: NameId,
    pub(crate) start: Ns,
    pub(crate) end: Ns,
    /// Whether its end was marked.
    pub(crate) ended: bool,
    /// The state times of its thread between start and end.
    pub(crate) clocks: Clocks,
    /// For how long CPUs were parked between start and end.
    pub(crate) parking: parking::Clocks,
    /// Whether it began and ended within the span.
    pub(crate) whole: bool,
}

/// The open stretches, and the clocks of every thread.
#[derive(Default)]
pub(crate) struct Tracks {
    threads: FxHashMap<ThreadKey, ThreadTimes>,
    open: BTreeMap<Track, Vec<Open>>,
}

impl Tracks {
    fn clocks(&self, thread: ThreadKey, now: Ns) -> Clocks {
        self.threads.get(&thread).map_or(Clocks::default(), |times| times.read(now))
    }

    fn end(&self, (thread, ..): Track, open: &Open, world: &World, ended: bool) -> Stretch {
        let (pid, end) = (open.pid, world.now);
        let mut clocks = self.clocks(thread, end);
        clocks.iter_mut().zip(open.clocks).for_each(|(clock, begin)| *clock -= begin);
        let parking = world.parking.read(end).since(open.parking);
        let whole = ended && open.begun;
        Stretch { thread, pid, name: open.name, start: open.at, end, ended, clocks, parking, whole }
    }

    /// Handles the begin of a thread's stretch.
    pub(crate) fn thread(&mut self, stretch: &ThreadStretch, world: &World) {
        let clocks = self.clocks(stretch.thread, world.now);
        let first = (stretch.thread, Scope::Thread, i64::MIN);
        let marks = || self.open.range(first..).take_while(|(track, _)| track.0 == stretch.thread);
        if stretch.state == ThreadState::Exited && marks().all(|(_, open)| open.is_empty()) {
            self.threads.remove(&stretch.thread);
            return;
        }
        let times = ThreadTimes { state: stretch.state, since: world.now, clocks };
        self.threads.insert(stretch.thread, times);
    }

    /// Handles a begin or an end mark. Returns the stretch that ends, if it overlaps the span.
    pub(crate) fn marked(&mut self, mark: &Mark, thread: ThreadKey, begins: Begins, world: &World) -> Option<Stretch> {
        let scope = match thread {
            ThreadKey::UNKNOWN if mark.tid == Tid::UNKNOWN => Scope::Process(mark.pid),
            ThreadKey::UNKNOWN => Scope::Tid(mark.tid),
            _ => Scope::Thread,
        };
        let track = (thread, scope, mark.track);
        match mark.edge {
            MarkEdge::Begin => {
                let clocks = self.clocks(thread, world.now);
                let (parking, begun) = (world.parking.read(world.now), begins == Begins::Here);
                let open = Open { pid: mark.pid, name: mark.name, at: world.now, clocks, parking, begun };
                self.open.entry(track).or_default().push(open);
                None
            }
            MarkEdge::End => {
                let open = self.open.get_mut(&track)?.pop()?;
                // A stretch that ended before the span is not part of it.
                (begins == Begins::Here).then(|| self.end(track, &open, world, true))
            }
            MarkEdge::Instant => None,
        }
    }

    /// Returns the stretches still open at the end of the span.
    pub(crate) fn rest(&mut self, world: &World) -> Vec<Stretch> {
        let open = std::mem::take(&mut self.open);
        let all = open.iter().flat_map(|(track, open)| open.iter().map(|open| (*track, open)));
        all.map(|(track, open)| self.end(track, open, world, false)).collect()
    }
}

/// Returns the cells for the thread of a stretch or a sum: its key and its process.
pub(crate) fn thread_cells(thread: ThreadKey, pid: Pid) -> [Value; 2] {
    let of_thread = (thread != ThreadKey::UNKNOWN).then_some(thread);
    [of_thread.into(), (pid != Pid::UNKNOWN).then_some(i64::from(pid.0)).into()]
}

/// Returns the cells for the state times of a thread: running, ready, blocked, unknown. Null if the mark belongs to no
/// thread.
pub(crate) fn time_cells(thread: ThreadKey, clocks: &Clocks) -> [Value; 4] {
    [ThreadState::Running, ThreadState::Ready, ThreadState::Blocked, ThreadState::Unknown]
        .map(|state| Value::from((thread != ThreadKey::UNKNOWN).then_some(clocks[state as usize])))
}
