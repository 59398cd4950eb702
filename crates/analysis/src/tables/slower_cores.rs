//! What faster cores offered while each thread ran on a slower one: an idle core where the thread is not allowed, or a
//! core that ran a thread of lower priority.
//!
//! Nothing changes between two instants, so the threads on slower cores are evaluated once per instant. On machines
//! with one core class there are none.

use super::placement::capacity;
use crate::by_thread::ByThread;
use crate::{Analysis, Begins, Context, CpuNow, SetId, World};
use model::{CpuState, CpuStretch, Ns, Rows, ThreadKey, ThreadState, ThreadStretch, Tid, TimelineEvent, Value};

pub(crate) struct SlowerCores {
    /// The time up to which everything is counted.
    now: Ns,
    /// The CPUs of all classes but the fastest, and their class.
    slow: Vec<(usize, usize)>,
    /// The cores of all classes but the slowest, the fastest first.
    fast: Vec<Fast>,
    capacities: Vec<Option<u32>>,
    threads: ByThread<Thread>,
}

/// A core, by its index in [`World::cores`].
struct Fast {
    core: usize,
    class: usize,
    /// Whether all of its siblings are recorded.
    whole: bool,
}

#[derive(Clone, Default)]
struct Thread {
    tid: Tid,
    by: [Ns; 5],
    /// The cost of [`Found::NotAllowed`] and [`Found::Lower`] by capacities; `None` if it is unknown for a part.
    cost: [Option<f64>; 2],
    ran: bool,
}

/// What faster cores offer.
#[derive(Clone, Copy, PartialEq)]
enum Found {
    Idle,
    NotAllowed,
    Lower,
    Nothing,
    AffinityUnknown,
}

impl SlowerCores {
    /// Returns what a thread on a CPU of this class finds, and in which class.
    fn finds(&self, own: &CpuNow, class: usize, world: &World) -> (Found, usize) {
        let permission = world.allowed(own.thread);
        if !permission.is_known() {
            return (Found::AffinityUnknown, class);
        }
        let (set, mut barred, mut lower) = (world.set(permission), None, None);
        for Fast { core: place, class, whole } in self.fast.iter().take_while(|f| f.class > class) {
            let core = &world.cores[*place];
            let is_allowed = set.cores.has(*place);
            let parked = || core.cpus.iter().all(|cpu| world.cpus[*cpu].parked == Some(true));
            if *whole && core.busy == 0 && core.unknown == 0 && !parked() {
                if is_allowed {
                    return (Found::Idle, *class);
                }
                barred = barred.or(Some(*class));
            }
            let is_lower =
                |cpu: &usize| set.cpus.has(*cpu) && own.prio().is_some() && world.cpus[*cpu].prio() > own.prio();
            if lower.is_none() && is_allowed && core.busy > 0 && core.cpus.iter().any(is_lower) {
                lower = Some(*class);
            }
        }
        match (barred, lower) {
            (Some(class), _) => (Found::NotAllowed, class),
            (_, Some(class)) => (Found::Lower, class),
            _ => (Found::Nothing, class),
        }
    }

    /// Counts the time until now.
    fn settle(&mut self, world: &World) {
        let elapsed = world.now - std::mem::replace(&mut self.now, world.now);
        if elapsed <= Ns::ZERO || self.fast.is_empty() {
            return;
        }
        for (place, class) in &self.slow {
            let cpu = &world.cpus[*place];
            if cpu.state != CpuState::Busy {
                continue;
            }
            let (found, there) = self.finds(cpu, *class, world);
            let thread = self.threads.of(cpu.thread);
            if !thread.ran {
                (thread.ran, thread.cost) = (true, [Some(0.0); 2]);
            }
            let sum = &mut thread.by[found as usize];
            *sum += elapsed;
            let cost = match found {
                Found::NotAllowed => &mut thread.cost[0],
                Found::Lower => &mut thread.cost[1],
                _ => continue,
            };
            let saved = match (self.capacities[*class], self.capacities[there]) {
                (Some(here), Some(there)) if here < there => Some(f64::from(there - here) / f64::from(there)),
                _ => None,
            };
            *cost = cost.zip(saved).map(|(cost, saved)| cost + elapsed.0 as f64 * saved);
        }
    }
}

impl Analysis for SlowerCores {
    fn new(context: &Context<'_>) -> Self {
        let (machine, world) = (context.machine, World::new(context));
        let classes = machine.class_names.len().max(1);
        let class = |cpu: &CpuNow| {
            machine.cpu(cpu.cpu)?;
            Some(machine.core_class(cpu.cpu) as usize).filter(|class| *class < classes)
        };
        let slow = world.cpus.iter().enumerate().filter_map(|(place, cpu)| Some((place, class(cpu)?)));
        let fast = world.cores.iter().enumerate().filter_map(|(core, of)| {
            let first = &world.cpus[of.cpus[0]];
            let whole = machine.cpu(first.cpu).is_some_and(|c| !c.siblings.is_empty());
            Some(Fast { core, class: class(first)?, whole })
        });
        let mut fast: Vec<Fast> = fast.filter(|f| f.class > 0).collect();
        fast.sort_by_key(|f| std::cmp::Reverse(f.class));
        Self {
            now: context.span.start,
            slow: slow.filter(|(_, class)| class + 1 < classes).collect(),
            fast,
            capacities: (0..classes).map(|class| capacity(machine, class)).collect(),
            threads: ByThread::new(),
        }
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, world: &World) {
        self.settle(world);
        if stretch.state == ThreadState::Running && !self.fast.is_empty() {
            self.threads.of(stretch.thread).tid = stretch.tid;
        }
    }

    fn cpu(&mut self, _: &CpuStretch, _: Begins, world: &World) {
        self.settle(world);
    }

    fn event(&mut self, event: &TimelineEvent, _: ThreadKey, _: Begins, world: &World) {
        if event.power().is_some() {
            self.settle(world);
        }
    }

    fn allowed(&mut self, _: ThreadKey, _: SetId, world: &World) {
        self.settle(world);
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        self.settle(world);
        for (key, Thread { tid, by, cost, .. }) in self.threads.iter().filter(|(_, thread)| thread.ran) {
            let running: Ns = by.iter().copied().sum();
            let mut row: Vec<Value> = vec![key.into(), i64::from(tid.0).into(), running.into()];
            row.extend(by.iter().map(|ns| Value::from(*ns)));
            row.extend(cost.iter().map(|cost| Value::from(cost.map(|ns| ns.round() as i64))));
            out.row(&row);
        }
    }
}
