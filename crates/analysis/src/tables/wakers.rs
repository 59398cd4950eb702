//! How often each thread woke each other thread.

use crate::by_thread::{Before, ByThread};
use crate::{Analysis, Begins, Context, World};
use model::{Ns, Reason, Rows, ThreadKey, ThreadState, ThreadStretch, Value};
use std::collections::BTreeMap;

pub(crate) struct Wakers {
    threads: ByThread<Woken>,
}

#[derive(Clone, Default)]
struct Woken {
    before: Before,
    by: BTreeMap<ThreadKey, Sums>,
}

#[derive(Clone, Copy, Default)]
struct Sums {
    same_cpu: i64,
    other_cpu: i64,
    unknown_cpu: i64,
    ready: Ns,
}

impl Analysis for Wakers {
    fn new(_: &Context<'_>) -> Self {
        Self { threads: ByThread::new() }
    }

    fn weight() -> usize {
        4
    }

    fn thread(&mut self, stretch: &ThreadStretch, begins: Begins, _: &World) {
        let happens = self.threads.of(stretch.thread).before.changes(stretch, begins);
        let woken = matches!(stretch.reason, Reason::Woken | Reason::New | Reason::WokenBefore);
        if stretch.state != ThreadState::Ready || !woken {
            return;
        }
        let waker = stretch.waker_thread;
        // Not recorded: which of the idle tasks it was, and the waker's CPU if the wakeup came before the switch-out.
        let ran = self.threads.get(waker).and_then(|w| w.before.ran());
        let from = ran.filter(|_| waker > ThreadKey::IDLE && stretch.reason != Reason::WokenBefore).and_then(|r| r.cpu);
        let sums = self.threads.of(stretch.thread).by.entry(waker).or_default();
        sums.ready += stretch.span.len();
        if happens {
            match from.zip(stretch.cpu) {
                Some((from, to)) if from == to => sums.same_cpu += 1,
                Some(_) => sums.other_cpu += 1,
                None => sums.unknown_cpu += 1,
            }
        }
    }

    fn finish(&mut self, _: &World, out: &mut dyn Rows) {
        let mut pairs = Vec::new();
        for (thread, woken) in self.threads.iter() {
            let tid = woken.before.tid().unwrap_or_default();
            pairs.extend(woken.by.iter().map(|(waker, sums)| (*waker, thread, tid, *sums)));
        }
        pairs.sort_by_key(|(waker, thread, ..)| (*waker, *thread));
        for (waker, thread, tid, sums) in pairs {
            out.row(&[
                if waker == ThreadKey::UNKNOWN { Value::Null } else { waker.into() },
                thread.into(),
                i64::from(tid.0).into(),
                (sums.same_cpu + sums.other_cpu + sums.unknown_cpu).into(),
                sums.same_cpu.into(),
                sums.other_cpu.into(),
                sums.unknown_cpu.into(),
                sums.ready.into(),
            ]);
        }
    }
}
