//! Which marked stretches are open, and what their threads do meanwhile: for tables of marks.

use crate::parking;
use crate::{Begins, World};
use model::{Mark, MarkEdge, NameId, Ns, Pid, ThreadKey, ThreadState, ThreadStretch, Value};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Time in each state, in the order of [`ThreadState::ALL`].
pub(crate) type Clocks = [Ns; 5];

/// What a living thread does, and its clocks up to then.
#[derive(Clone, Copy)]
struct Life {
    state: ThreadState,
    since: Ns,
    clocks: Clocks,
}

impl Life {
    fn read(&self, now: Ns) -> Clocks {
        let mut clocks = self.clocks;
        let clock = &mut clocks[self.state as usize];
        *clock = *clock + (now - self.since);
        clocks
    }
}

/// Where stretches nest: a thread's own track, or another of a process.
type Track = (ThreadKey, Pid, i64);

struct Open {
    name: NameId,
    at: Ns,
    clocks: Clocks,
    parking: parking::Clocks,
    /// Whether it began within the span.
    begun: bool,
}

/// A marked stretch that is over, or that the span cuts.
pub(crate) struct Stretch {
    pub(crate) thread: ThreadKey,
    pub(crate) pid: Pid,
    pub(crate) name: NameId,
    pub(crate) start: Ns,
    pub(crate) end: Ns,
    /// Whether its end was marked.
    pub(crate) ended: bool,
    /// What its thread did from start to end.
    pub(crate) clocks: Clocks,
    /// For how long CPUs were parked meanwhile.
    pub(crate) parking: parking::Clocks,
    /// Whether it began and ended within the span.
    pub(crate) whole: bool,
}

/// The stretches that are open, and every thread's clocks.
#[derive(Default)]
pub(crate) struct Tracks {
    lives: FxHashMap<ThreadKey, Life>,
    open: BTreeMap<Track, Vec<Open>>,
}

impl Tracks {
    fn clocks(&self, thread: ThreadKey, now: Ns) -> Clocks {
        self.lives.get(&thread).map_or(Clocks::default(), |life| life.read(now))
    }

    fn end(&self, (thread, pid, _): Track, open: &Open, world: &World, ended: bool) -> Stretch {
        let end = world.now;
        let mut clocks = self.clocks(thread, end);
        clocks.iter_mut().zip(open.clocks).for_each(|(clock, begin)| *clock = *clock - begin);
        let parking = world.parking.read(end).since(open.parking);
        let whole = ended && open.begun;
        Stretch { thread, pid, name: open.name, start: open.at, end, ended, clocks, parking, whole }
    }

    /// A thread's stretch begins.
    pub(crate) fn thread(&mut self, stretch: &ThreadStretch, world: &World) {
        let clocks = self.clocks(stretch.thread, world.now);
        let first = (stretch.thread, Pid(i32::MIN), i64::MIN);
        let marks = || self.open.range(first..).take_while(|(track, _)| track.0 == stretch.thread);
        if stretch.state == ThreadState::Exited && marks().all(|(_, open)| open.is_empty()) {
            self.lives.remove(&stretch.thread);
            return;
        }
        let life = Life { state: stretch.state, since: world.now, clocks };
        self.lives.insert(stretch.thread, life);
    }

    /// A begin or an end; the stretch that ends here, if it reaches into the span.
    pub(crate) fn marked(&mut self, mark: &Mark, thread: ThreadKey, begins: Begins, world: &World) -> Option<Stretch> {
        let track = (thread, mark.pid, mark.track);
        match mark.edge {
            MarkEdge::Begin => {
                let clocks = self.clocks(thread, world.now);
                let (parking, begun) = (world.parking.read(world.now), begins == Begins::Here);
                let open = Open { name: mark.name, at: world.now, clocks, parking, begun };
                self.open.entry(track).or_default().push(open);
                None
            }
            MarkEdge::End => {
                let open = self.open.get_mut(&track)?.pop()?;
                // What ended before the span is no part of it.
                (begins == Begins::Here).then(|| self.end(track, &open, world, true))
            }
            MarkEdge::Instant => None,
        }
    }

    /// Those that had not ended when the span did.
    pub(crate) fn rest(&mut self, world: &World) -> Vec<Stretch> {
        let open = std::mem::take(&mut self.open);
        let all = open.iter().flat_map(|(track, open)| open.iter().map(|open| (*track, open)));
        all.map(|(track, open)| self.end(track, open, world, false)).collect()
    }
}

/// The cells of a stretch's or a sum's thread: its key, and its process.
pub(crate) fn whose(thread: ThreadKey, pid: Pid) -> [Value; 2] {
    let of_thread = (thread != ThreadKey::UNKNOWN).then_some(thread.0);
    [of_thread.into(), (pid != Pid::UNKNOWN).then_some(i64::from(pid.0)).into()]
}

/// The cells of what a thread did meanwhile: running, ready, blocked, unknown. Null where the mark is of no thread.
pub(crate) fn meanwhile(thread: ThreadKey, clocks: &Clocks, ready_known: bool) -> [Value; 4] {
    let time = |state| Value::from((thread != ThreadKey::UNKNOWN).then_some(clocks[state as usize]));
    [
        time(ThreadState::Running),
        if ready_known { time(ThreadState::Ready) } else { Value::Null },
        time(ThreadState::Blocked),
        time(ThreadState::Unknown),
    ]
}
