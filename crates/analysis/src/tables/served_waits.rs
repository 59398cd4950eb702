//! For which threads others waited while these waited themselves, and whether they got requests.
//!
//! ```text
//!   A   run │ waits for S                 │ run            A asks S: it ends a wait of S, and waits. S sleeps, and then ends A's wait:
//!   S   wait ▲ run │ sleeps          │ run ▲ run │ sleeps  the first wait that it ends, so A had waited for what it asked.
//!   B      run │ waits for S                               B waits during A's sleep, too.
//! ```
//!
//! A thread that hands out work looks similar: idle workers wait for it. But they do not end its waits, or the next worker is another one.

use crate::by_thread::ByThread;
use crate::waited_for::{EachWait, MAX_KEPT, MAX_OBJECTS, OfWaits, Wait};
use crate::{ReasonId, World};
use model::{Ns, Rows, Span, ThreadKey, Tid, WaitKind, call_waits};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

pub(crate) type ServedWaits = EachWait<Table>;

/// How many of its own waits are kept of each thread.
const REMEMBERED: usize = 64;

#[derive(Default)]
pub(crate) struct Table {
    servers: ByThread<Server>,
    /// By the thread that waited and the one that ended the waits.
    pairs: FxHashMap<(ThreadKey, ThreadKey), Sums>,
}

/// What a thread did as one for which others wait.
#[derive(Clone, Default)]
struct Server {
    tid: Tid,
    /// Its last waits for time, a file or a device.
    own: VecDeque<Span>,
    waits: i64,
    waited: Ns,
    /// For how long it was in each call.
    reasons: BTreeMap<ReasonId, Ns>,
    /// The thread that ended its last other wait, when, and whether the server had a wait of its own since.
    asked: Option<(ThreadKey, Ns, bool)>,
}

impl Server {
    /// Returns how long it waited within a past time.
    fn within(&self, time: Span) -> Ns {
        let last = self.own.iter().rev().take_while(|own| own.end > time.start);
        last.filter_map(|own| own.overlap(time)).map(|part| part.len()).sum()
    }
}

/// What kind of a wait it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Is {
    /// For time, a file or a device: no thread brings it about.
    Own,
    /// For a lock, or for the end of a thread or of a process.
    Other,
    /// For what another thread has to bring about.
    Request,
}

impl Is {
    fn of(wait: &Wait, world: &World) -> Self {
        match wait.object {
            Some((_, WaitKind::Sleep | WaitKind::File)) => Self::Own,
            Some((_, kind)) if kind.is_lock() => Self::Other,
            Some((_, WaitKind::Thread | WaitKind::Child | WaitKind::TimerFd | WaitKind::KernelSemaphore)) => {
                Self::Other
            }
            Some((_, WaitKind::Device)) => Self::of_call(wait, world, Self::Other),
            Some(_) => Self::Request,
            None => Self::of_call(wait, world, Self::Request),
        }
    }

    /// By the call, if that waits for time or a device; else `other`.
    fn of_call(wait: &Wait, world: &World, other: Self) -> Self {
        let call = wait.reason.and_then(|reason| world.reason(reason));
        if call.and_then(call_waits).is_some() { Self::Own } else { other }
    }
}

/// The waits of a thread that another one ended.
#[derive(Clone, Copy, Default)]
struct Sums {
    waits: i64,
    waited: Ns,
    both_waited: Ns,
    asked: i64,
    answered: i64,
}

impl Table {
    /// A thread ended a wait of `client`, which was for what the server has to bring about.
    fn answers(&mut self, server: ThreadKey, client: ThreadKey, wait: &Wait) {
        let of = self.servers.of(server);
        let (both_waited, asked) = (of.within(wait.span), of.asked.take());
        if let Some((by, at, true)) = asked {
            let is_it = by == client && wait.span.start >= at;
            let sums = self.pairs.entry((by, server)).or_default();
            sums.asked += 1;
            sums.answered += i64::from(is_it);
        }
        let sums = self.pairs.entry((client, server)).or_default();
        sums.waits += 1;
        sums.waited += wait.span.len();
        sums.both_waited += both_waited;
    }

    /// Keeps those with the longest waits.
    fn longest(&mut self) -> Vec<((ThreadKey, ThreadKey), Sums)> {
        let mut rows: Vec<_> = self.pairs.drain().collect();
        rows.sort_by_key(|(key, sums)| (Reverse(sums.both_waited), Reverse(sums.waited), Reverse(sums.asked), *key));
        rows.truncate(MAX_OBJECTS);
        rows
    }
}

impl OfWaits for Table {
    fn wait(&mut self, wait: &Wait, world: &World) {
        let is = Is::of(wait, world);
        let by = wait.released_by.filter(|by| *by > ThreadKey::IDLE && *by != wait.thread);
        let of = self.servers.of(wait.thread);
        of.tid = wait.tid;
        match is {
            Is::Own => {
                if of.own.len() == REMEMBERED {
                    of.own.pop_front();
                }
                of.own.push_back(wait.span);
                of.waits += 1;
                of.waited += wait.span.len();
                if let Some(reason) = wait.reason {
                    *of.reasons.entry(reason).or_default() += wait.span.len();
                }
                if let Some((_, _, waited)) = &mut of.asked {
                    *waited = true;
                }
            }
            Is::Other => {}
            Is::Request => {
                of.asked = by.filter(|_| wait.is_over).map(|by| (by, wait.span.end, false));
                if let Some(server) = by {
                    self.answers(server, wait.thread, wait);
                    if self.pairs.len() > MAX_KEPT {
                        self.pairs = self.longest().into_iter().collect();
                    }
                }
            }
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        for ((thread, server), sums) in self.longest() {
            let tid = self.servers.of(thread).tid;
            let of = self.servers.of(server);
            let most = of.reasons.iter().max_by_key(|(reason, waited)| (**waited, Reverse(**reason)));
            out.row(&[
                thread.into(),
                i64::from(tid.0).into(),
                server.into(),
                i64::from(of.tid.0).into(),
                sums.waits.into(),
                sums.waited.into(),
                sums.both_waited.into(),
                sums.asked.into(),
                sums.answered.into(),
                of.waits.into(),
                of.waited.into(),
                most.and_then(|(reason, _)| world.reason(*reason)).into(),
            ]);
        }
    }
}
