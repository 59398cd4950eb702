//! Which threads ran on the SMT siblings of each thread, and how long.

use crate::by_thread::ByThread;
use crate::core_times::CoreClocks;
use crate::{Analysis, Begins, Context, World};
use model::{CpuState, CpuStretch, Ns, Rows, ThreadKey, ThreadState, ThreadStretch, Tid};
use std::collections::BTreeMap;

pub(crate) struct SmtPairs {
    clocks: CoreClocks,
    /// For each thread, the time with each other thread on its siblings.
    threads: ByThread<(Tid, Vec<(ThreadKey, Ns)>)>,
}

impl SmtPairs {
    fn add(&mut self, core: usize, elapsed: Ns, world: &World) {
        let core = &world.cores[core];
        if core.busy < 2 || elapsed == Ns::ZERO {
            return;
        }
        let busy = || core.cpus.iter().map(|c| &world.cpus[*c]).filter(|c| c.state == CpuState::Busy);
        for one in busy() {
            let of = &mut self.threads.of(one.thread).1;
            for other in busy().filter(|c| c.cpu != one.cpu) {
                match of.binary_search_by_key(&other.thread, |(thread, _)| *thread) {
                    Ok(at) => of[at].1 += elapsed,
                    Err(at) => of.insert(at, (other.thread, elapsed)),
                }
            }
        }
    }
}

impl Analysis for SmtPairs {
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
        let tids: BTreeMap<ThreadKey, Tid> = self.threads.iter().map(|(thread, (tid, _))| (thread, *tid)).collect();
        for (thread, (tid, others)) in self.threads.iter() {
            for (other, time) in others {
                let other_tid = tids.get(other).copied().unwrap_or(Tid::UNKNOWN);
                out.row(&[
                    thread.into(),
                    i64::from(tid.0).into(),
                    other.0.into(),
                    i64::from(other_tid.0).into(),
                    (*time).into(),
                ]);
            }
        }
    }
}
