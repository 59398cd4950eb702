//! The priorities at which threads ran and waited.

use crate::by_thread::ByThread;
use crate::{Analysis, Begins, Context, World};
use model::{Ns, Rows, ThreadState, ThreadStretch, Tid, Value};
use std::collections::BTreeMap;

pub(crate) struct PriorityResidency {
    threads: ByThread<(Tid, BTreeMap<Option<i16>, Times>)>,
}

#[derive(Clone, Copy, Default)]
struct Times {
    running: Ns,
    ready: Ns,
}

impl Analysis for PriorityResidency {
    fn new(_: &Context<'_>) -> Self {
        Self { threads: ByThread::new() }
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, _: &World) {
        let ran = stretch.state == ThreadState::Running;
        if !ran && stretch.state != ThreadState::Ready {
            return;
        }
        let (tid, by_prio) = self.threads.of(stretch.thread);
        *tid = stretch.tid;
        let times = by_prio.entry(stretch.prio.get()).or_default();
        let sum = if ran { &mut times.running } else { &mut times.ready };
        *sum += stretch.span.len();
    }

    fn finish(&mut self, _: &World, out: &mut dyn Rows) {
        for (thread, (tid, by_prio)) in self.threads.iter() {
            let running: Ns = by_prio.values().map(|t| t.running).sum();
            for (prio, times) in by_prio {
                let share = (running > Ns::ZERO).then(|| Value::Float(times.running.0 as f64 / running.0 as f64));
                out.row(&[
                    thread.into(),
                    i64::from(tid.0).into(),
                    prio.map(i64::from).into(),
                    times.running.into(),
                    times.ready.into(),
                    share.unwrap_or(Value::Null),
                ]);
            }
        }
    }
}
