//! What ended the stays of CPUs in idle states.

use super::idle_residency::target;
use super::idle_wakeups::interrupt_name;
use crate::by_thread::ByThread;
use crate::idle_ends::{By, Ended, IdleEnds};
use crate::{Analysis, Begins, Context, World};
use model::{
    CoreType, CpuId, CpuStretch, Interrupt, NameId, Ns, Rows, SetTo, ThreadKey, ThreadStretch, TimelineEvent, Value,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use topology::Machine;

type Key<Name> = (CpuId, Option<u32>, By, Option<Name>, ThreadKey, ThreadKey);

#[derive(Clone, Copy, Default)]
struct Sums {
    stays: i64,
    periods: i64,
    idle: Ns,
    whole: i64,
    stay: Ns,
    too_short: i64,
    too_short_time: Ns,
    missing: Ns,
}

pub(crate) struct IdleEndsTable {
    machine: Machine,
    ends: IdleEnds,
    rows: BTreeMap<Key<Interrupt>, Sums>,
    /// The id of each thread's cgroup, and the path of each.
    cgroups: (ByThread<Option<u64>>, FxHashMap<u64, NameId>),
}

impl Sums {
    fn add(&mut self, more: &Self) {
        self.stays += more.stays;
        self.periods += more.periods;
        self.idle += more.idle;
        self.whole += more.whole;
        self.stay += more.stay;
        self.too_short += more.too_short;
        self.too_short_time += more.too_short_time;
        self.missing += more.missing;
    }
}

impl IdleEndsTable {
    fn take(&mut self, ended: Option<Ended>) {
        let Some(ended) = ended else { return };
        let mut sums = Sums {
            stays: ended.state.is_some().into(),
            periods: ended.period.into(),
            idle: ended.idle,
            whole: ended.stay.is_some().into(),
            stay: ended.stay.unwrap_or(Ns::ZERO),
            ..Sums::default()
        };
        if let Some((stay, target)) = ended.stay.zip(target(&self.machine, ended.cpu, ended.state))
            && stay < target
        {
            (sums.too_short, sums.too_short_time, sums.missing) = (1, stay, target - stay);
        }
        let key = (ended.cpu, ended.state, ended.by, ended.interrupt, ended.waker, ended.thread);
        self.rows.entry(key).or_default().add(&sums);
    }
}

pub(super) fn key(thread: ThreadKey) -> Value {
    if thread == ThreadKey::UNKNOWN { Value::Null } else { thread.into() }
}

impl Analysis for IdleEndsTable {
    fn new(context: &Context<'_>) -> Self {
        Self {
            machine: context.machine.clone(),
            ends: IdleEnds::default(),
            rows: BTreeMap::new(),
            cgroups: (ByThread::new(), FxHashMap::default()),
        }
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, _: &World) {
        self.ends.thread(stretch);
    }

    fn cpu(&mut self, stretch: &CpuStretch, begins: Begins, world: &World) {
        let ended = self.ends.cpu(stretch, begins, world);
        self.take(ended);
    }

    fn moved(&mut self, thread: ThreadKey, to: CpuId, world: &World) {
        self.ends.moved(thread, to, world.now);
    }

    fn setting(&mut self, thread: ThreadKey, to: &SetTo, _: &World) {
        let (SetTo::Cgroup { id, path } | SetTo::Limits { id, path, .. }) = *to else { return };
        let (of, paths) = &mut self.cgroups;
        if matches!(to, SetTo::Cgroup { .. }) {
            *of.of(thread) = Some(id);
        }
        if path != NameId::NONE {
            paths.insert(id, path);
        }
    }

    fn event(&mut self, event: &TimelineEvent, thread: ThreadKey, begins: Begins, world: &World) {
        let ended = self.ends.event(event, thread, begins, world);
        self.take(ended);
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        self.ends.finish().into_iter().for_each(|ended| self.take(Some(ended)));
        // Ordered by name: the name numbers differ between a file and the trace folder imported from it.
        let mut rows: BTreeMap<Key<String>, Sums> = BTreeMap::new();
        for ((cpu, state, by, interrupt, waker, thread), sums) in &self.rows {
            let interrupt = interrupt.map(|of| interrupt_name(of, world));
            rows.entry((*cpu, *state, *by, interrupt, *waker, *thread)).or_default().add(sums);
        }
        for ((cpu, state, by, interrupt, waker, thread), sums) in rows {
            let of = self.machine.cpu(cpu);
            let name = state.and_then(|at| of?.idle_states.get(at as usize)).map(|state| state.name.as_str());
            let target = target(&self.machine, cpu, state);
            let (of_threads, paths) = &self.cgroups;
            let cgroup = of_threads.get(thread).copied().flatten().and_then(|id| paths.get(&id));
            let known = |value: Value| if target.is_some() { value } else { Value::Null };
            out.row(&[
                i64::from(cpu.0).into(),
                of.map_or(CoreType::Uniform, |_| self.machine.core_type(cpu)).as_str().into(),
                state.map(i64::from).into(),
                name.into(),
                target.into(),
                by.word().into(),
                interrupt.into(),
                key(waker),
                key(thread),
                world.groups.process(thread).map(|pid| i64::from(pid.0)).into(),
                cgroup.and_then(|path| world.name(*path)).into(),
                sums.stays.into(),
                sums.periods.into(),
                sums.idle.into(),
                sums.whole.into(),
                sums.stay.into(),
                known(sums.too_short.into()),
                known(sums.too_short_time.into()),
                known(sums.missing.into()),
            ]);
        }
    }
}
