//! Whether threads ran on the CPU that they were told to be best on, or near it.

use crate::by_thread::ByThread;
use crate::{Analysis, Begins, Context, SetId, World};
use model::{CpuId, Ns, Rows, SetTo, ThreadKey, ThreadState, ThreadStretch, Tid, Value};

/// How near a CPU is to the ideal one, in the order of the table's columns.
#[derive(Clone, Copy)]
enum Near {
    Ideal,
    SameCore,
    SameL2,
    SameL3,
    Elsewhere,
    Unknown,
}

/// The groups that a CPU is in, each by its first CPU; `None` where nobody told.
#[derive(Clone, Copy, Default)]
struct Groups {
    core: Option<CpuId>,
    l2: Option<CpuId>,
    l3: Option<CpuId>,
}

#[derive(Clone, Copy, Default)]
struct Of {
    tid: Tid,
    ideal: Option<CpuId>,
    /// Whether it was ever told.
    told: bool,
    /// While it runs: where (if that is told), since when, until when.
    runs: Option<(Option<CpuId>, Ns, Ns)>,
    times: [Ns; 6],
    /// Ran while the ideal CPU was none of those where it is allowed.
    barred: Ns,
}

pub(crate) struct IdealCpu {
    /// By the number of the CPU.
    groups: Vec<Groups>,
    threads: ByThread<Of>,
}

impl IdealCpu {
    fn near(&self, ideal: CpuId, cpu: CpuId) -> Near {
        if ideal == cpu {
            return Near::Ideal;
        }
        let of = |cpu: CpuId| self.groups.get(cpu.0 as usize).copied().unwrap_or_default();
        let (a, b) = (of(ideal), of(cpu));
        let same = |a: Option<CpuId>, b: Option<CpuId>| a.is_some() && a == b;
        let told = |a: Option<CpuId>, b: Option<CpuId>| a.is_some() && b.is_some();
        match () {
            () if same(a.core, b.core) => Near::SameCore,
            () if same(a.l2, b.l2) => Near::SameL2,
            () if same(a.l3, b.l3) => Near::SameL3,
            // They share nothing of what is told of both.
            () if told(a.l3, b.l3) || told(a.l2, b.l2) => Near::Elsewhere,
            () => Near::Unknown,
        }
    }

    /// Counts what it ran until now.
    fn until(&mut self, thread: ThreadKey, now: Ns, world: &World) {
        let of = *self.threads.of(thread);
        let Some((cpu, since, end)) = of.runs else { return };
        let now = now.min(end).max(since);
        let near = of.ideal.zip(cpu).map_or(Near::Unknown, |(ideal, cpu)| self.near(ideal, cpu));
        let permission = world.allowed(thread);
        let barred = of.ideal.is_some_and(|ideal| {
            permission.is_known() && world.place(ideal).is_none_or(|place| !world.set(permission).cpus.has(place))
        });
        let of = self.threads.of(thread);
        let sum = &mut of.times[near as usize];
        *sum = *sum + (now - since);
        if barred {
            of.barred = of.barred + (now - since);
        }
        of.runs = Some((cpu, now, end));
    }
}

impl Analysis for IdealCpu {
    fn new(context: &Context<'_>) -> Self {
        let cpus = &context.machine.cpus;
        let mut groups = vec![Groups::default(); cpus.last().map_or(0, |c| c.id.0 as usize + 1)];
        let first = |group: &[CpuId]| group.first().copied();
        for cpu in cpus {
            groups[cpu.id.0 as usize] = Groups { core: first(&cpu.siblings), l2: first(&cpu.l2), l3: first(&cpu.l3) };
        }
        Self { groups, threads: ByThread::new() }
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, world: &World) {
        self.until(stretch.thread, stretch.span.start, world);
        let of = self.threads.of(stretch.thread);
        of.tid = stretch.tid;
        let runs = stretch.state == ThreadState::Running;
        of.runs = runs.then_some((stretch.cpu, stretch.span.start, stretch.span.end));
    }

    fn allowed(&mut self, thread: ThreadKey, _: SetId, world: &World) {
        self.until(thread, world.now, world);
    }

    fn setting(&mut self, thread: ThreadKey, to: &SetTo, world: &World) {
        let SetTo::IdealCpu(cpu) = *to else { return };
        self.until(thread, world.now, world);
        let of = self.threads.of(thread);
        of.ideal = cpu;
        of.told |= of.ideal.is_some();
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        let told: Vec<ThreadKey> = self.threads.iter().filter(|(_, of)| of.told).map(|(key, _)| key).collect();
        for thread in told {
            self.until(thread, world.now, world);
            let Of { tid, times, barred, .. } = *self.threads.of(thread);
            let running: Ns = times.iter().copied().sum();
            let share =
                if running > Ns::ZERO { Value::Float(times[0].0 as f64 / running.0 as f64) } else { Value::Null };
            let mut row: Vec<Value> = vec![thread.0.into(), i64::from(tid.0).into()];
            row.extend(times.iter().map(|ns| Value::from(*ns)));
            row.extend([share, barred.into()]);
            out.row(&row);
        }
    }
}
