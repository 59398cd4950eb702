//! How long each thread ran while its SMT sibling was busy, and how long while it was idle.

use crate::by_thread::ByThread;
use crate::core_times::CoreClocks;
use crate::{Analysis, Begins, Context, CoreNow, World};
use model::{CpuState, CpuStretch, Ns, Rows, ThreadState, ThreadStretch, Tid, Value};

pub(crate) struct SmtThreads {
    clocks: CoreClocks,
    threads: ByThread<(Tid, [Ns; 4])>,
}

/// The possible states of a running thread's SMT siblings.
pub(super) const SIBLING_STATES: [&str; 4] = ["idle", "busy", "unknown", "none"];

/// Returns the state of a running thread's SMT siblings, as an index into [`SIBLING_STATES`] and its times.
pub(super) fn sibling_state(core: &CoreNow) -> usize {
    const ALONE: usize = 0;
    const BUSY: usize = 1;
    const UNKNOWN: usize = 2;
    const NO_SIBLING: usize = 3;
    match (core.cpus.len(), core.busy, core.unknown) {
        (1, ..) => NO_SIBLING,
        (_, 2.., _) => BUSY,
        (.., 1..) => UNKNOWN,
        _ => ALONE,
    }
}

impl SmtThreads {
    fn add(&mut self, core: usize, elapsed: Ns, world: &World) {
        let core = &world.cores[core];
        if core.busy == 0 || elapsed == Ns::ZERO {
            return;
        }
        for cpu in core.cpus.iter().map(|c| &world.cpus[*c]).filter(|c| c.state == CpuState::Busy) {
            let sum = &mut self.threads.of(cpu.thread).1[sibling_state(core)];
            *sum += elapsed;
        }
    }
}

impl Analysis for SmtThreads {
    fn new(context: &Context<'_>) -> Self {
        Self { clocks: CoreClocks::new(context), threads: ByThread::new() }
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, _: &World) {
        if stretch.state == ThreadState::Running {
            self.threads.of(stretch.thread).0 = stretch.tid;
        }
    }

    fn cpu(&mut self, stretch: &CpuStretch, _: Begins, world: &World) {
        if let Some((core, elapsed)) = self.clocks.elapsed(stretch.cpu, world) {
            self.add(core, elapsed, world);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        for (core, elapsed) in self.clocks.rest(world) {
            self.add(core, elapsed, world);
        }
        for (thread, (tid, times)) in self.threads.iter() {
            let running: Ns = times.iter().copied().sum();
            if running == Ns::ZERO {
                continue;
            }
            let [alone, busy, unknown, no_sibling] = *times;
            let known = alone + busy;
            out.row(&[
                thread.into(),
                i64::from(tid.0).into(),
                running.into(),
                alone.into(),
                busy.into(),
                unknown.into(),
                no_sibling.into(),
                Value::from((known > Ns::ZERO).then(|| busy.0 as f64 / known.0 as f64)),
            ]);
        }
    }
}
