//! Whether threads ran on or close to their ideal CPU.

use crate::by_thread::ByThread;
use crate::{Analysis, Begins, Context, SetId, World};
use model::{CpuId, Ns, Rows, SetTo, ThreadKey, ThreadState, ThreadStretch, Tid, Value};

/// The topological distance of a CPU from the ideal one, in the order of the table's columns.
#[derive(Clone, Copy)]
enum Distance {
    Ideal,
    SameCore,
    SameL2,
    SameL3,
    Elsewhere,
    Unknown,
}

/// The groups that contain a CPU, each identified by its first CPU; `None` if not recorded.
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
    /// Whether an ideal CPU was ever recorded.
    has_ideal: bool,
    /// While it runs: the CPU (if recorded), since when, until when.
    runs: Option<(Option<CpuId>, Ns, Ns)>,
    times: [Ns; 6],
    /// The running time during which the thread was not allowed on its ideal CPU.
    barred: Ns,
}

pub(crate) struct IdealCpu {
    /// By CPU number.
    groups: Vec<Groups>,
    threads: ByThread<Of>,
}

impl IdealCpu {
    fn distance(&self, ideal: CpuId, cpu: CpuId) -> Distance {
        if ideal == cpu {
            return Distance::Ideal;
        }
        let of = |cpu: CpuId| self.groups.get(cpu.0 as usize).copied().unwrap_or_default();
        let (a, b) = (of(ideal), of(cpu));
        let same = |a: Option<CpuId>, b: Option<CpuId>| a.is_some() && a == b;
        let both_known = |a: Option<CpuId>, b: Option<CpuId>| a.is_some() && b.is_some();
        match () {
            () if same(a.core, b.core) => Distance::SameCore,
            () if same(a.l2, b.l2) => Distance::SameL2,
            () if same(a.l3, b.l3) => Distance::SameL3,
            // They share no group that is recorded for both.
            () if both_known(a.l3, b.l3) || both_known(a.l2, b.l2) => Distance::Elsewhere,
            () => Distance::Unknown,
        }
    }

    /// Counts the running time until now.
    fn until(&mut self, thread: ThreadKey, now: Ns, world: &World) {
        let of = *self.threads.of(thread);
        let Some((cpu, since, end)) = of.runs else { return };
        let now = now.min(end).max(since);
        let distance = of.ideal.zip(cpu).map_or(Distance::Unknown, |(ideal, cpu)| self.distance(ideal, cpu));
        let permission = world.allowed(thread);
        let barred = of.ideal.is_some_and(|ideal| {
            permission.is_known() && world.place(ideal).is_none_or(|place| !world.set(permission).cpus.has(place))
        });
        let of = self.threads.of(thread);
        let sum = &mut of.times[distance as usize];
        *sum += now - since;
        if barred {
            of.barred += now - since;
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
        of.has_ideal |= of.ideal.is_some();
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        let threads: Vec<ThreadKey> = self.threads.iter().filter(|(_, of)| of.has_ideal).map(|(key, _)| key).collect();
        for thread in threads {
            self.until(thread, world.now, world);
            let Of { tid, times, barred, .. } = *self.threads.of(thread);
            let running: Ns = times.iter().copied().sum();
            let share =
                if running > Ns::ZERO { Value::Float(times[0].0 as f64 / running.0 as f64) } else { Value::Null };
            let mut row: Vec<Value> = vec![thread.into(), i64::from(tid.0).into()];
            row.extend(times.iter().map(|ns| Value::from(*ns)));
            row.extend([share, barred.into()]);
            out.row(&row);
        }
    }
}
