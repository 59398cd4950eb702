//! Which thread ended each thread's waits, and the state times of that thread during the wait.
//!
//! ```text
//!   A   run │ blocked                          │ ready      A waited for B, which ran for a part of the wait,
//!   B       run  │ ready (preempted) │ run     ▲ run        was preempted for a part, and then ran and woke A.
//!                                              └ B wakes A
//! ```

use crate::by_thread::ByThread;
use crate::call_site::{CallSite, CallSites};
use crate::recent::Recent;
use crate::{Analysis, Begins, Context, ReasonId, World};
use model::{Ns, Reason, Rows, Span, StackId, ThreadKey, ThreadState, ThreadStretch, Tid, Value};
use std::collections::BTreeMap;

pub(crate) struct Waits {
    ready_known: bool,
    threads: ByThread<Thread>,
}

#[derive(Clone, Default)]
struct Thread {
    tid: Tid,
    recent: Recent,
    /// The open wait: its span, the state letter (0 if unknown) and what the thread waits for, if known.
    open: Option<(Span, u8, Option<ReasonId>)>,
    /// The call site of that wait, if known.
    call_site: Option<CallSite>,
    by: BTreeMap<Ended, Sums>,
    /// The thread that it woke last in its present stretch, the kind of that wait, and whether it counts as woken together with others.
    woke: Option<(ThreadKey, Ended, bool)>,
}

/// What ended a wait, and the kind of the wait.
type Ended = (ThreadKey, u8, Option<ReasonId>);

#[derive(Clone, Default)]
struct Sums {
    waits: i64,
    together: i64,
    blocked: Ns,
    /// In the order of the columns.
    waker: [Ns; 4],
    call_sites: CallSites,
}

impl Waits {
    /// Returns whether the waker ends this wait together with others: it has not left its CPU since it woke the one before, and that one
    /// has not waited again. That wait then counts too.
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
        thread.recent.push(stretch);
        thread.woke = None;
        let (ended, call_site) = (thread.open.take(), thread.call_site.take());
        if stretch.state == ThreadState::Blocked {
            let letter = if let Reason::State(letter) = stretch.reason { letter } else { 0 };
            thread.open = Some((stretch.span, letter, None));
        }
        let (Some((span, letter, reason)), ThreadState::Ready | ThreadState::Running) = (ended, stretch.state) else {
            return;
        };
        let ready = stretch.state == ThreadState::Ready;
        let waker = if ready { stretch.waker_thread } else { ThreadKey::UNKNOWN };
        let waker_times = self
            .threads
            .get(waker)
            .filter(|_| waker > ThreadKey::IDLE)
            .map_or([Ns::ZERO; 4], |waker| waker.recent.during(span));
        let ended = (waker, letter, reason);
        let together = waker > ThreadKey::IDLE && self.together(stretch.thread, ended);
        let sums = self.threads.of(stretch.thread).by.entry(ended).or_default();
        sums.waits += 1;
        sums.together += i64::from(together);
        sums.blocked += span.len();
        sums.call_sites.add(call_site, span.len());
        for (sum, time) in sums.waker.iter_mut().zip(waker_times) {
            *sum += time;
        }
    }

    fn blocked_by(&mut self, thread: ThreadKey, by: ReasonId, world: &World) {
        if let Some((span, _, reason)) = &mut self.threads.of(thread).open
            && span.start == world.now
        {
            *reason = Some(by);
        }
    }

    fn blocked_at(&mut self, thread: ThreadKey, stack: StackId, world: &World) {
        let of = self.threads.of(thread);
        if of.open.is_some_and(|(span, ..)| span.start == world.now) {
            of.call_site = world.functions.call_site(stack);
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
                    key.into(),
                    i64::from(thread.tid.0).into(),
                    Some(*waker).filter(|key| *key >= ThreadKey::IDLE).into(),
                    letter.into(),
                    reason.and_then(|by| world.reason(by)).into(),
                    sums.waits.into(),
                    Some(sums.together).filter(|_| *waker > ThreadKey::IDLE).into(),
                    sums.blocked.into(),
                ];
                row.extend(sums.waker.map(|ns| Value::from(Some(ns).filter(|_| *waker > ThreadKey::IDLE))));
                row.push(world.functions.of_site(sums.call_sites.longest()));
                out.row(&row);
            }
        }
    }
}
