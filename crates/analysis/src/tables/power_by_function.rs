//! What each function cost: CPU time, switches and idleness.
//!
//! ```text
//!   thread A   │ running: samples in f, f, g │ blocked, in poll() │ ready │
//!   cpu0 (A's CPU then)                      │ idle                       │ A     an idle wakeup of poll()
//! ```

use super::idle_residency::target;
use crate::by_thread::{Before, ByThread, left_to_wait};
use crate::counted::{core_type, count_of};
use crate::functions::FunctionId;
use crate::idle_ends::{By, Ended, IdleEnds};
use crate::{Analysis, Begins, Context, World};
use model::{
    Change, CoreType, CpuId, CpuStretch, IpcPart, NameId, Ns, Rows, StackId, ThreadKey, ThreadState, ThreadStretch,
    TimelineEvent, Value, ipc_part,
};
use std::collections::BTreeMap;
use topology::Machine;

type Place = (Option<FunctionId>, CoreType);

#[derive(Clone, Copy, Default)]
struct Sums {
    samples: i64,
    cpu: Ns,
    cycles: i64,
    sync_switches: i64,
    wait: Ns,
    preemption_switches: i64,
    inactive: Ns,
    idle_wakeups: i64,
    idle_wakeups_below: i64,
    idle: Ns,
    too_short: i64,
    too_short_time: Ns,
}

#[derive(Clone, Default)]
struct Thread {
    before: Before,
    /// The callchain of its last wait, if it is known.
    waited: StackId,
    /// The wait that began last, whose callchain comes after its begin: the type of the core, whether it is a switch, and how
    /// long it is.
    wait: Option<(CoreType, bool, Ns)>,
    /// Running time by type of core.
    running: Vec<(CoreType, Ns)>,
}

/// What is shared out by samples.
#[derive(Default)]
struct Shares {
    running: Ns,
    cycles: i64,
    samples: Vec<(Option<FunctionId>, i64)>,
}

pub(crate) struct PowerByFunction {
    machine: Machine,
    start: Ns,
    ends: IdleEnds,
    threads: ByThread<Thread>,
    samples: BTreeMap<(ThreadKey, CoreType, Option<FunctionId>), i64>,
    /// By thread, type of core and event.
    cycles: BTreeMap<(ThreadKey, CoreType, NameId), i64>,
    rows: BTreeMap<Place, Sums>,
}

impl PowerByFunction {
    fn of(&mut self, function: Option<FunctionId>, core_type: CoreType) -> &mut Sums {
        self.rows.entry((function, core_type)).or_default()
    }

    /// Books the last wait of a thread, now that its callchain is known, if it has one.
    fn book_wait(&mut self, thread: ThreadKey, world: &World) {
        let of = self.threads.of(thread);
        let Some((core_type, switches, time)) = of.wait.take() else { return };
        let function = world.functions.waiting(of.waited).first().copied();
        let sums = self.of(function, core_type);
        sums.sync_switches += i64::from(switches);
        sums.wait += time;
    }

    fn take(&mut self, ended: Option<Ended>, world: &World) {
        let Some(ended) = ended.filter(|ended| ended.period && ended.by != By::Cut) else { return };
        let core_type = core_type(ended.cpu, world);
        // Others did not wait, or not for what ended the period.
        let waited = !matches!(ended.by, By::Pulled | By::Requeued | By::Unknown);
        let stack = self.threads.get(ended.thread).filter(|_| waited).map_or(StackId::NONE, |of| of.waited);
        let chain = world.functions.waiting(stack);
        let short =
            target(&self.machine, ended.cpu, ended.state).zip(ended.stay).filter(|(target, stay)| stay < target);
        let sums = self.of(chain.first().copied(), core_type);
        sums.idle_wakeups += 1;
        sums.idle += ended.idle;
        sums.too_short += i64::from(short.is_some());
        sums.too_short_time += short.map_or(Ns::ZERO, |(_, stay)| stay);
        if chain.is_empty() {
            sums.idle_wakeups_below += 1;
        }
        for function in chain {
            self.of(Some(*function), core_type).idle_wakeups_below += 1;
        }
    }

    /// Shares out running time and cycles by samples.
    fn share_out(&mut self) {
        let mut shares: BTreeMap<(ThreadKey, CoreType), Shares> = BTreeMap::new();
        for (thread, of) in self.threads.iter() {
            for (core_type, time) in &of.running {
                shares.entry((thread, *core_type)).or_default().running = *time;
            }
        }
        for ((thread, core_type, _), count) in &self.cycles {
            // Several events of this kind count the same cycles.
            let of = shares.entry((*thread, *core_type)).or_default();
            of.cycles = of.cycles.max(*count);
        }
        for ((thread, core_type, function), count) in &self.samples {
            shares.entry((*thread, *core_type)).or_default().samples.push((*function, *count));
        }
        for ((_, core_type), of) in shares {
            let all: i64 = of.samples.iter().map(|(_, count)| count).sum();
            if all == 0 {
                let sums = self.of(None, core_type);
                (sums.cpu, sums.cycles) = (sums.cpu + of.running, sums.cycles.saturating_add(of.cycles));
            }
            let mut seen = 0;
            for (function, count) in of.samples {
                // The difference of two cumulative shares, so that the sum is exact.
                let part = |whole: i64| {
                    let until = |samples: i64| i128::from(whole) * i128::from(samples) / i128::from(all);
                    (until(seen + count) - until(seen)) as i64
                };
                let (running, cycles) = (part(of.running.0), part(of.cycles));
                seen += count;
                let sums = self.of(function, core_type);
                sums.samples += count;
                (sums.cpu, sums.cycles) = (sums.cpu + Ns(running), sums.cycles.saturating_add(cycles));
            }
        }
    }
}

impl Analysis for PowerByFunction {
    fn new(context: &Context<'_>) -> Self {
        Self {
            machine: context.machine.clone(),
            start: context.span.start,
            ends: IdleEnds::default(),
            threads: ByThread::new(),
            samples: BTreeMap::new(),
            cycles: BTreeMap::new(),
            rows: BTreeMap::new(),
        }
    }

    fn thread(&mut self, stretch: &ThreadStretch, begins: Begins, world: &World) {
        self.ends.thread(stretch);
        self.book_wait(stretch.thread, world);
        let core_type = stretch.cpu.map_or(CoreType::Uniform, |cpu| core_type(cpu, world));
        let (time, of) = (stretch.span.len(), self.threads.of(stretch.thread));
        // As the table `switch_causes` counts them.
        let ran = of.before.ran().is_some();
        let left = of.before.changes(stretch, begins);
        match stretch.state {
            ThreadState::Running => {
                of.waited = StackId::NONE;
                let at = of.running.iter().position(|(on, _)| *on == core_type).unwrap_or(of.running.len());
                if at == of.running.len() {
                    of.running.push((core_type, Ns::ZERO));
                }
                of.running[at].1 += time;
            }
            ThreadState::Blocked => {
                let switches = left && left_to_wait(stretch, ran);
                (of.waited, of.wait) = (StackId::NONE, Some((core_type, switches, time)));
            }
            // It left to wait, and was woken before it did or at a time that is not known.
            ThreadState::Ready | ThreadState::Unknown if left && left_to_wait(stretch, ran) => {
                (of.waited, of.wait) = (StackId::NONE, Some((core_type, true, Ns::ZERO)));
            }
            ThreadState::Ready if stretch.reason.left_runnable() => {
                let sums = self.of(None, core_type);
                sums.preemption_switches += i64::from(left);
                sums.inactive += time;
            }
            ThreadState::Ready | ThreadState::Unknown | ThreadState::Exited => {}
        }
    }

    fn cpu(&mut self, stretch: &CpuStretch, begins: Begins, world: &World) {
        let ended = self.ends.cpu(stretch, begins, world);
        self.take(ended, world);
    }

    fn moved(&mut self, thread: ThreadKey, to: CpuId, world: &World) {
        self.ends.moved(thread, to, world.now);
    }

    fn blocked_at(&mut self, thread: ThreadKey, stack: StackId, _: &World) {
        self.threads.of(thread).waited = stack;
    }

    fn event(&mut self, event: &TimelineEvent, thread: ThreadKey, begins: Begins, world: &World) {
        if let Change::Sampled(cpu, _, _, stack) = event.what {
            if begins == Begins::Here {
                let function = world.functions.of(stack).first().copied();
                *self.samples.entry((thread, core_type(cpu, world), function)).or_default() += 1;
            }
        } else if let Some((cpu, counted)) = count_of(event, begins, self.start) {
            if thread != ThreadKey::UNKNOWN && world.name(counted.event).and_then(ipc_part) == Some(IpcPart::Cycles) {
                let sum = self.cycles.entry((thread, core_type(cpu, world), counted.event)).or_default();
                *sum = sum.saturating_add(counted.count);
            }
        } else {
            let ended = self.ends.event(event, thread, begins, world);
            self.take(ended, world);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        let waiting: Vec<ThreadKey> =
            self.threads.iter().filter(|(_, of)| of.wait.is_some()).map(|(thread, _)| thread).collect();
        waiting.into_iter().for_each(|thread| self.book_wait(thread, world));
        self.share_out();
        let has_cycles = !self.cycles.is_empty();
        let mut states = self.machine.cpus.iter().flat_map(|cpu| &cpu.idle_states);
        let has_targets = states.any(|state| state.target_residency_us.is_some());
        let known = |has: bool, value: Value| if has { value } else { Value::Null };
        for ((function, core_type), sums) in &self.rows {
            let (function, file) = function.map_or((None, None), |id| world.functions.named(id));
            out.row(&[
                function.into(),
                file.into(),
                core_type.as_str().into(),
                sums.samples.into(),
                sums.cpu.into(),
                known(has_cycles, sums.cycles.into()),
                sums.sync_switches.into(),
                sums.wait.into(),
                sums.preemption_switches.into(),
                sums.inactive.into(),
                sums.idle_wakeups.into(),
                sums.idle_wakeups_below.into(),
                sums.idle.into(),
                known(has_targets, sums.too_short.into()),
                known(has_targets, sums.too_short_time.into()),
            ]);
        }
    }
}
