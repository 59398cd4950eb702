//! How long each thread ran at each frequency, by core type.

use crate::by_thread::ByThread;
use crate::{Analysis, Begins, Context, CpuNow, World};
use model::{
    CoreType, CpuState, CpuStretch, Ns, Power, Rows, ThreadKey, ThreadState, ThreadStretch, Tid, TimelineEvent,
};
use std::collections::BTreeMap;

/// The maximum number of frequencies of a thread.
const MAX_FREQUENCIES: usize = 128;

pub(crate) struct ThreadByFrequency {
    /// Since when each CPU has its current state and frequency, indexed as in [`World::cpus`].
    since: Vec<Ns>,
    threads: ByThread<(Tid, At)>,
}

/// By kHz.
type At = BTreeMap<(CoreType, Option<u32>), Ns>;

impl ThreadByFrequency {
    fn advance(&mut self, place: usize, world: &World) {
        let CpuNow { state, thread, core_type, khz, .. } = world.cpus[place];
        let elapsed = world.now - std::mem::replace(&mut self.since[place], world.now);
        if state == CpuState::Busy && elapsed > Ns::ZERO {
            let at = &mut self.threads.of(thread).1;
            let known = at.len() < MAX_FREQUENCIES || at.contains_key(&(core_type, khz));
            let time = at.entry((core_type, khz.filter(|_| known))).or_default();
            *time += elapsed;
        }
    }
}

impl Analysis for ThreadByFrequency {
    fn new(context: &Context<'_>) -> Self {
        Self { since: vec![context.span.start; World::new(context).cpus.len()], threads: ByThread::new() }
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, _: &World) {
        if stretch.state == ThreadState::Running {
            self.threads.of(stretch.thread).0 = stretch.tid;
        }
    }

    fn cpu(&mut self, stretch: &CpuStretch, _: Begins, world: &World) {
        if let Some(place) = world.place(stretch.cpu) {
            self.advance(place, world);
        }
    }

    fn event(&mut self, event: &TimelineEvent, _: ThreadKey, _: Begins, world: &World) {
        if let Some((cpu, Power::Frequency(_))) = event.power()
            && let Some(place) = world.place(cpu)
        {
            self.advance(place, world);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        (0..self.since.len()).for_each(|place| self.advance(place, world));
        for (thread, (tid, at)) in self.threads.iter() {
            for ((core_type, khz), time) in at {
                out.row(&[
                    thread.into(),
                    i64::from(tid.0).into(),
                    core_type.as_str().into(),
                    khz.map(i64::from).into(),
                    (*time).into(),
                ]);
            }
        }
    }
}
