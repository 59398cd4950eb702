//! Where the lives of threads are: those of threads that live in memory, all others on file.
//!
//! A number's life is over when its next one begins. A thread that exited may still be heard of, by a damaged or lossy
//! source: its life rests on file, and is taken back should an event name it again.
//!
//! ```text
//!   begin ──▶ here ──exit──▶ resting ──the number's next life, or the end──▶ over
//!               ▲──named again──╯
//! ```

use crate::Threads;
use crate::life::{Doing, Life};
use model::{Ns, Span, ThreadKey, Tid};
use rustc_hash::FxHashMap;
use std::ops::{Index, IndexMut};
use std::sync::Arc;

/// Twice as many numbers as Linux gives out where nobody raised `kernel.pid_max`; larger ones are looked up in a map.
const NEAR: usize = 1 << 16;

/// Where the present life of a number is.
#[derive(Clone, Copy)]
enum Where {
    /// In memory, at this index.
    Here(u32),
    /// On file, under this key.
    Resting(u32),
}

/// All lives.
#[derive(Default)]
pub(crate) struct Lives {
    here: Vec<Life>,
    /// Places in `here` that a new life may take.
    free: Vec<u32>,
    by_tid: FxHashMap<Tid, Where>,
    /// Of small numbers, the place of a life that is here, plus 1: every event asks for it, some several times.
    near: Vec<u32>,
    threads: Threads,
    /// Sums are kept of this part of the recording only: not of lives that were over before it, or begin after it.
    part: Option<Span>,
}

impl Index<usize> for Lives {
    type Output = Life;
    #[inline]
    fn index(&self, at: usize) -> &Life {
        &self.here[at]
    }
}

impl IndexMut<usize> for Lives {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut Life {
        &mut self.here[at]
    }
}

impl Lives {
    pub(crate) fn new(part: Option<Span>) -> Self {
        Self { part, ..Self::default() }
    }

    /// The place of a number's present life, which is taken back into memory if it rests.
    #[inline]
    pub(crate) fn of(&mut self, tid: Tid) -> Option<usize> {
        if let Some(at) = self.near(tid) {
            return Some(at);
        }
        match self.by_tid.get(&tid)? {
            Where::Here(at) => Some(*at as usize),
            Where::Resting(key) => Some(self.wake(*key)),
        }
    }

    /// A number's present life, unless it has exited.
    #[inline]
    pub(crate) fn alive(&mut self, tid: Tid) -> Option<&mut Life> {
        let at = match self.near(tid) {
            Some(at) => at,
            None => match self.by_tid.get(&tid)? {
                Where::Here(at) => *at as usize,
                Where::Resting(_) => return None,
            },
        };
        self.here.get_mut(at).filter(|life| life.doing != Doing::Exited)
    }

    /// The key of a number's present life.
    #[inline]
    pub(crate) fn key(&self, tid: Tid) -> Option<ThreadKey> {
        if let Some(at) = self.near(tid) {
            return Some(self.here[at].totals.thread);
        }
        match self.by_tid.get(&tid)? {
            Where::Here(at) => Some(self.here[*at as usize].totals.thread),
            Where::Resting(key) => Some(ThreadKey(i64::from(*key))),
        }
    }

    /// Begins a number's next life; the former one, if there is any, is over.
    pub(crate) fn begin(&mut self, tid: Tid, begin: Ns, place: u64) -> usize {
        let former = self.of(tid);
        let number = former.map_or(0, |at| self.here[at].totals.life + 1);
        if let Some(former) = former {
            self.end(former);
        }
        let key = self.threads.reserve();
        self.take(Life::new(key, tid, number, begin, place))
    }

    /// A life is over: its sums leave memory.
    pub(crate) fn end(&mut self, at: usize) {
        let life = &mut self.here[at];
        // One that was over before the recording, or the part, began is none of its. Who had just exited when the recording
        // began is told of in all of it, and so in a part from there on.
        let from_begin = |part: Span| part.start == Ns::ZERO && life.totals.begin == Ns::ZERO;
        let of = |part| from_begin(part) || life.totals.did_something();
        if life.since >= Ns::ZERO && self.part.is_none_or(of) {
            life.totals.by_cpu.sort_unstable();
            self.threads.end(life);
        } else {
            self.threads.forget(life.totals.thread);
        }
        self.leave(at);
    }

    /// A thread has exited ([`Life::can_rest`]): its life leaves memory, but may come back.
    pub(crate) fn rest(&mut self, at: usize) {
        let life = &self.here[at];
        let (tid, key) = (life.totals.tid, life.totals.thread);
        self.threads.rest(life);
        self.put(tid, Where::Resting(key.0 as u32));
        self.leave(at);
    }

    /// The places of all present lives in memory.
    pub(crate) fn here(&self) -> Vec<usize> {
        let here = |at: &Where| if let Where::Here(at) = at { Some(*at as usize) } else { None };
        self.by_tid.values().filter_map(here).collect()
    }

    /// The numbers of those that rest, in order of their keys.
    pub(crate) fn resting(&self) -> Vec<Tid> {
        let resting = |(tid, at): (&Tid, &Where)| if let Where::Resting(key) = at { Some((*key, *tid)) } else { None };
        let mut all: Vec<_> = self.by_tid.iter().filter_map(resting).collect();
        all.sort_unstable();
        all.into_iter().map(|(_, tid)| tid).collect()
    }

    /// The sums of all, after each has ended. The place of a text is its [`NameId`].
    pub(crate) fn finish(self, names: Vec<Arc<str>>) -> Threads {
        self.threads.named(names)
    }

    #[cold]
    fn wake(&mut self, key: u32) -> usize {
        let life = self.threads.resting(ThreadKey(i64::from(key)));
        self.take(life)
    }

    fn take(&mut self, life: Life) -> usize {
        let tid = life.totals.tid;
        let at = match self.free.pop() {
            Some(at) => {
                self.here[at as usize] = life;
                at
            }
            None => {
                self.here.push(life);
                self.here.len() as u32 - 1
            }
        };
        self.put(tid, Where::Here(at));
        at as usize
    }

    #[inline]
    fn near(&self, tid: Tid) -> Option<usize> {
        self.near.get(tid.0 as usize).and_then(|at| at.checked_sub(1)).map(|at| at as usize)
    }

    fn put(&mut self, tid: Tid, place: Where) {
        self.by_tid.insert(tid, place);
        let number = tid.0 as usize;
        if number >= NEAR {
            return;
        }
        if self.near.len() <= number {
            self.near.resize((number + 1).next_power_of_two(), 0);
        }
        self.near[number] = match place {
            Where::Here(at) => at + 1,
            Where::Resting(_) => 0,
        };
    }

    fn leave(&mut self, at: usize) {
        self.here[at].totals.by_cpu = Vec::new();
        self.free.push(at as u32);
    }
}
