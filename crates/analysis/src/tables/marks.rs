//! How long marked stretches took, and what their threads did meanwhile.

use crate::{Analysis, Begins, Context, World};
use model::{MarkEdge, Marked, NameId, Ns, Pid, Rows, ThreadKey, ThreadState, ThreadStretch, Value};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Time in each state, in the order of [`ThreadState::ALL`].
type Clocks = [Ns; 5];

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
}

#[derive(Default)]
struct Sums {
    count: i64,
    open: i64,
    duration: Ns,
    longest: Ns,
    clocks: Clocks,
}

pub(crate) struct Marks {
    ready_known: bool,
    lives: FxHashMap<ThreadKey, Life>,
    open: BTreeMap<Track, Vec<Open>>,
    sums: BTreeMap<(ThreadKey, Pid, NameId), Sums>,
}

impl Marks {
    fn clocks(&self, thread: ThreadKey, now: Ns) -> Clocks {
        self.lives.get(&thread).map_or(Clocks::default(), |life| life.read(now))
    }

    fn end(&mut self, (thread, pid, _): Track, open: &Open, now: Ns, ended: bool) {
        let clocks = self.clocks(thread, now);
        let sums = self.sums.entry((thread, pid, open.name)).or_default();
        *(if ended { &mut sums.count } else { &mut sums.open }) += 1;
        let duration = now - open.at;
        sums.duration = sums.duration + duration;
        sums.longest = sums.longest.max(duration);
        for ((sum, end), begin) in sums.clocks.iter_mut().zip(clocks).zip(open.clocks) {
            *sum = *sum + (end - begin);
        }
    }
}

impl Analysis for Marks {
    fn new(context: &Context<'_>) -> Self {
        Self {
            ready_known: context.ready_known,
            lives: FxHashMap::default(),
            open: BTreeMap::new(),
            sums: BTreeMap::new(),
        }
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, world: &World) {
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

    fn marked(&mut self, marked: &Marked, thread: ThreadKey, begins: Begins, world: &World) {
        let mark = marked.mark;
        let track = (thread, mark.pid, mark.track);
        match mark.edge {
            MarkEdge::Begin => {
                let open = Open { name: mark.name, at: world.now, clocks: self.clocks(thread, world.now) };
                self.open.entry(track).or_default().push(open);
            }
            MarkEdge::End => {
                // What ended before the span is no part of it.
                if let Some(open) = self.open.get_mut(&track).and_then(Vec::pop)
                    && begins == Begins::Here
                {
                    self.end(track, &open, world.now, true);
                }
            }
            MarkEdge::Instant if begins == Begins::Before => {}
            MarkEdge::Instant => self.sums.entry((thread, mark.pid, mark.name)).or_default().count += 1,
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        for (track, open) in std::mem::take(&mut self.open) {
            for open in open {
                self.end(track, &open, world.now, false);
            }
        }
        for ((thread, pid, name), sums) in &self.sums {
            let of_thread = *thread != ThreadKey::UNKNOWN;
            let time = |state| Value::from(of_thread.then_some(sums.clocks[state as usize]));
            out.row(&[
                of_thread.then_some(thread.0).into(),
                (*pid != Pid::UNKNOWN).then_some(i64::from(pid.0)).into(),
                world.name(*name).into(),
                sums.count.into(),
                sums.open.into(),
                sums.duration.into(),
                sums.longest.into(),
                time(ThreadState::Running),
                if self.ready_known { time(ThreadState::Ready) } else { Value::Null },
                time(ThreadState::Blocked),
                time(ThreadState::Unknown),
            ]);
        }
    }
}
