//! Who ended each thread's waiting, and what that one did meanwhile.
//!
//! ```text
//!   A   run │ blocked                          │ ready      A waited for B, which ran for a while of it,
//!   B       run  │ ready (preempted) │ run     ▲ run        was preempted for a while, and then ran and woke it.
//!                                              └ B wakes A
//! ```

use crate::by_thread::ByThread;
use crate::{Analysis, Begins, Context, ReasonId, World};
use model::{Ns, Reason, Rows, Span, ThreadKey, ThreadState, ThreadStretch, Tid, Value};
use std::collections::{BTreeMap, VecDeque};

/// So many stretches of each thread are remembered: what a waker did in a long wait is known from the last ones only, and each
/// thread needs the same room however long the recording is.
const REMEMBERED: usize = 32;

pub(crate) struct Waits {
    ready_known: bool,
    threads: ByThread<Thread>,
}

#[derive(Clone, Default)]
struct Thread {
    tid: Tid,
    /// The last ones in the order of time, with which of the columns they count for.
    did: VecDeque<(Span, Option<usize>)>,
    /// Blocked since when, with the kernel's letter, 0 where it is not known, and what it waits for, where that is.
    open: Option<(Span, u8, Option<ReasonId>)>,
    by: BTreeMap<Ended, Sums>,
    /// Whom it woke last, from which wait, and whether that counts as one of several.
    woke: Option<(ThreadKey, Ended, bool)>,
}

/// What ended a wait of which kind.
type Ended = (ThreadKey, u8, Option<ReasonId>);

#[derive(Clone, Copy, Default)]
struct Sums {
    waits: i64,
    together: i64,
    blocked: Ns,
    /// In the order of the columns.
    waker: [Ns; 4],
}

/// Which of the columns of what a waker did a stretch counts for.
fn column(stretch: &ThreadStretch) -> Option<usize> {
    match (stretch.state, stretch.reason) {
        (ThreadState::Running, _) => Some(0),
        (ThreadState::Ready, reason) if reason.left_runnable() => Some(1),
        (ThreadState::Ready, _) => Some(2),
        (ThreadState::Blocked, _) => Some(3),
        (ThreadState::Unknown | ThreadState::Exited, _) => None,
    }
}

impl Thread {
    fn remember(&mut self, stretch: &ThreadStretch) {
        if self.did.len() == REMEMBERED {
            self.did.pop_front();
        }
        self.did.push_back((stretch.span, column(stretch)));
    }

    /// What it did within a time that is over.
    fn during(&self, time: Span) -> [Ns; 4] {
        let mut sums = [Ns::ZERO; 4];
        for (span, column) in self.did.iter().rev().take_while(|(span, _)| span.end > time.start) {
            if let (Some(at), Some(within)) = (*column, span.overlap(time)) {
                sums[at] = sums[at] + within.len();
            }
        }
        sums
    }
}

impl Waits {
    /// Whether the waker ends this wait with others: whom it woke before has not waited again since. That one's then counts too.
    fn together(&mut self, thread: ThreadKey, ended: Ended) -> bool {
        let waker = ended.0;
        let before = self.threads.of(waker).woke;
        let before = before.filter(|(other, ..)| *other != thread && self.threads.of(*other).open.is_none());
        if let Some((other, of, false)) = before
            && let Some(sums) = self.threads.of(other).by.get_mut(&of)
        {
            sums.together += 1;
        }
        self.threads.of(waker).woke = Some((thread, ended, before.is_some()));
        before.is_some()
    }
}

impl Analysis for Waits {
    fn new(context: &Context<'_>) -> Self {
        Self { ready_known: context.ready_known, threads: ByThread::new() }
    }

    fn weight() -> usize {
        8
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, _: &World) {
        let thread = self.threads.of(stretch.thread);
        thread.tid = stretch.tid;
        thread.remember(stretch);
        let ended = thread.open.take();
        if stretch.state == ThreadState::Blocked {
            let letter = if let Reason::State(letter) = stretch.reason { letter } else { 0 };
            thread.open = Some((stretch.span, letter, None));
        }
        let (Some((span, letter, reason)), ThreadState::Ready | ThreadState::Running) = (ended, stretch.state) else {
            return;
        };
        let ready = stretch.state == ThreadState::Ready;
        let waker = if ready { stretch.waker_thread } else { ThreadKey::UNKNOWN };
        let did = self.threads.get(waker).filter(|_| waker.0 > 0).map_or([Ns::ZERO; 4], |waker| waker.during(span));
        let ended = (waker, letter, reason);
        let together = waker.0 > 0 && self.together(stretch.thread, ended);
        let sums = self.threads.of(stretch.thread).by.entry(ended).or_default();
        sums.waits += 1;
        sums.together += i64::from(together);
        sums.blocked = sums.blocked + span.len();
        for (sum, time) in sums.waker.iter_mut().zip(did) {
            *sum = *sum + time;
        }
    }

    fn blocked_by(&mut self, thread: ThreadKey, by: ReasonId, world: &World) {
        if let Some((span, _, reason)) = &mut self.threads.of(thread).open
            && span.start == world.now
        {
            *reason = Some(by);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        if !self.ready_known {
            return;
        }
        for (key, thread) in self.threads.iter() {
            for ((waker, letter, reason), sums) in &thread.by {
                let letter = Some(*letter).filter(|l| *l != 0).map(|l| char::from(l).to_string());
                let mut row = vec![
                    key.0.into(),
                    i64::from(thread.tid.0).into(),
                    Some(waker.0).filter(|key| *key >= 0).into(),
                    letter.into(),
                    reason.and_then(|by| world.reason(by)).into(),
                    sums.waits.into(),
                    Some(sums.together).filter(|_| waker.0 > 0).into(),
                    sums.blocked.into(),
                ];
                row.extend(sums.waker.map(|ns| Value::from(Some(ns).filter(|_| waker.0 > 0))));
                out.row(&row);
            }
        }
    }
}
