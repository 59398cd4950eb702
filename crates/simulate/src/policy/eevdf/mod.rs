//! Linux' scheduler since 6.6: EEVDF for fair threads, with groups and quotas, and the real-time class.
//!
//! | module | what it does | in the kernel |
//! | --- | --- | --- |
//! | `queue` | one queue: who is eligible, who runs | `fair.c`: `pick_eevdf`, `place_entity` |
//! | `fair` | the queues of groups in one another, and their weights | `enqueue_task_fair`, `calc_group_shares` |
//! | `placement` | the CPU of a woken thread | `select_task_rq_fair` |
//! | `balance` | threads that are moved between CPUs | `sched_balance_newidle`, `sched_balance_rq` |
//! | `quota` | groups that may use a limited time | `throttle_cfs_rq` |
//! | `real_time` | `SCHED_FIFO` and `SCHED_RR` | `rt.c` |
//!
//! Left out: `SCHED_DEADLINE`, utilisation clamps, NUMA, the throttle of real-time threads, core scheduling.

mod balance;
mod fair;
mod placement;
mod queue;
mod quota;
mod real_time;

use super::{Leave, Policy, Requests, Soon, Why, World};
use crate::program::{Class, Group, Thread};
use fastrand::Rng;
use queue::{Entity, NICE_0, Placing, Queue};
use quota::Quota;
use real_time::RealTime;
use std::collections::BTreeSet;

/// `sched_prio_to_weight` (`kernel/sched/core.c`): the weights of nice −20 to 19.
const WEIGHTS: [i64; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121, 2501,
    1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
];

/// `WEIGHT_IDLEPRIO` (`kernel/sched/sched.h`).
const WEIGHT_IDLE: i64 = 3;

/// How soon a fair thread takes the place of another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preemption {
    /// Immediately (`full`, `voluntary` and `none` in user mode).
    Full,
    /// At the next tick; real-time threads immediately (`lazy`).
    Lazy,
}

/// `sched_features`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Features {
    /// `PLACE_LAG`.
    pub place_lag: bool,
    /// `PLACE_DEADLINE_INITIAL`.
    pub place_deadline_initial: bool,
    /// `PLACE_REL_DEADLINE`.
    pub place_rel_deadline: bool,
    /// `RUN_TO_PARITY`.
    pub run_to_parity: bool,
    /// `PREEMPT_SHORT`.
    pub preempt_short: bool,
    /// `DELAY_DEQUEUE`, with `DELAY_ZERO`.
    pub delay_dequeue: bool,
    /// `WAKEUP_PREEMPTION`.
    pub wakeup_preemption: bool,
}

/// Settings of the scheduler.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// The time between two ticks, ns: 1 s / `CONFIG_HZ`.
    pub tick_ns: i64,
    /// `base_slice_ns` (`/sys/kernel/debug/sched`).
    pub base_slice_ns: i64,
    /// How soon fair threads are preempted.
    pub preemption: Preemption,
    /// Features.
    pub features: Features,
    /// `migration_cost_ns`: a thread that ran within this time is not moved to another cache.
    pub migration_cost_ns: i64,
    /// The share of the CPUs that become idle that look for a thread on others: the kernel does not if they are idle only shortly.
    pub newidle_share: f64,
    /// Whether the CPU of a woken thread is chosen by capacity (`sched_asym_cpucapacity`).
    pub by_capacity: bool,
}

impl Settings {
    /// The kernel's defaults for a number of CPUs, Linux 6.12 to 6.18: a base slice of 0.7 ms × (1 + log2 of the CPUs, of 8 at most), 250 ticks
    /// a second.
    #[must_use]
    pub fn new(cpus: usize) -> Self {
        Self {
            tick_ns: 4_000_000,
            base_slice_ns: 700_000 * (1 + i64::from(cpus.clamp(1, 8).ilog2())),
            preemption: Preemption::Full,
            features: Features {
                place_lag: true,
                place_deadline_initial: true,
                place_rel_deadline: true,
                run_to_parity: true,
                preempt_short: true,
                delay_dequeue: true,
                wakeup_preemption: true,
            },
            migration_cost_ns: 500_000,
            newidle_share: 1.0,
            by_capacity: false,
        }
    }
}

/// What it knows of a thread, in addition to its entity.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The CPU in whose queue it is or was.
    cpu: usize,
    /// Its rank by when it ran last, among all.
    ran: u64,
    /// Utilisation: a moving average of the capacity that it used, 0 to 1, and when it was computed.
    util: f64,
    util_at: i64,
}

/// The policy.
#[derive(Debug)]
pub struct Eevdf {
    settings: Settings,
    cpus: usize,
    groups: Vec<Group>,
    quotas: Vec<Option<Quota>>,
    /// Of each thread, then of each group on each CPU.
    entities: Vec<Entity>,
    /// Of each group on each CPU.
    queues: Vec<Queue>,
    /// Of each queue: its average load, and when it was computed.
    loads: Vec<(f64, i64)>,
    /// Of each group: the sum of the average loads of its queues.
    group_loads: Vec<f64>,
    threads: Vec<Known>,
    /// The queues and the entities that run in them, of each CPU, from the root.
    paths: Vec<Vec<(usize, usize)>>,
    /// The fair threads in the queues of each CPU, those first that ran longest ago.
    tasks: Vec<BTreeSet<(u64, usize)>>,
    /// How many of these are `SCHED_IDLE`.
    idle_tasks: Vec<usize>,
    real_time: RealTime,
    /// When each CPU is balanced next, and how often that had no effect.
    balance: Vec<(i64, u32)>,
    ranks: u64,
    random: Rng,
}

impl Eevdf {
    /// Returns the policy for threads in groups on a number of CPUs.
    #[must_use]
    pub fn new(threads: &[Thread], groups: &[Group], cpus: usize, settings: Settings, seed: u64) -> Self {
        let slice = settings.base_slice_ns;
        let of_threads = threads.iter().map(|thread| Entity::new(weight(thread), thread.slice.unwrap_or(slice)));
        let of_groups = groups.iter().flat_map(|_| (0..cpus).map(|_| Entity::new(NICE_0, slice)));
        Self {
            settings,
            cpus,
            groups: groups.to_vec(),
            quotas: groups.iter().map(|group| group.quota.map(|quota| Quota::new(quota, cpus))).collect(),
            entities: of_threads.chain(of_groups).collect(),
            queues: (0..groups.len() * cpus).map(|_| Queue::default()).collect(),
            loads: vec![(0.0, 0); groups.len() * cpus],
            group_loads: vec![0.0; groups.len()],
            threads: vec![Known { cpu: 0, ran: 0, util: 0.0, util_at: 0 }; threads.len()],
            paths: vec![Vec::new(); cpus],
            tasks: vec![BTreeSet::new(); cpus],
            idle_tasks: vec![0; cpus],
            real_time: RealTime::new(cpus),
            balance: vec![(0, 0); cpus],
            ranks: 0,
            random: Rng::with_seed(seed),
        }
    }

    /// How many threads are ready or run on a CPU.
    fn ready(&self, cpu: usize) -> usize {
        self.tasks[cpu].len() + self.real_time.ready(cpu)
    }

    fn placing(&self) -> Placing {
        let features = self.settings.features;
        Placing {
            keeps_lag: features.place_lag,
            halves_first: features.place_deadline_initial,
            tick_ns: self.settings.tick_ns,
        }
    }

    /// How soon a fair thread is preempted.
    fn soon(&self) -> Soon {
        match self.settings.preemption {
            Preemption::Full => Soon::Now,
            Preemption::Lazy => Soon::AtTick,
        }
    }

    /// Counts the time that a thread ran, or did not, in its utilisation: a moving average with a half-life of 32 ms (`pelt.c`).
    fn use_capacity(&mut self, thread: usize, now: i64, capacity: f64) {
        let known = &mut self.threads[thread];
        let kept = kept(now - known.util_at);
        known.util = known.util * kept + capacity * (1.0 - kept);
        known.util_at = now;
    }
}

/// The share of a moving average that is left after a time.
fn kept(ns: i64) -> f64 {
    0.5_f64.powf(ns as f64 / 32e6)
}

fn weight(thread: &Thread) -> i64 {
    match thread.class {
        Class::Idle => WEIGHT_IDLE,
        _ => weight_of(thread.nice),
    }
}

/// The weight of a nice value, of a thread or an autogroup.
#[must_use]
pub fn weight_of(nice: i8) -> i64 {
    WEIGHTS[(i32::from(nice) + 20).clamp(0, 39) as usize]
}

impl Policy for Eevdf {
    fn begin(&mut self, world: &World<'_>, requests: &mut Requests) {
        for (group, of) in self.groups.iter().enumerate() {
            if let Some((_, period)) = of.quota {
                requests.timer(world.now + period, group);
            }
        }
    }

    fn choose_cpu(&mut self, world: &World<'_>, thread: usize, waker: Option<usize>) -> usize {
        if world.threads[thread].class.real_time().is_some() {
            self.choose_real_time(world, thread)
        } else if self.entities[thread].is_delayed {
            // It never left the queue.
            self.threads[thread].cpu
        } else {
            self.choose_fair(world, thread, waker)
        }
    }

    fn enqueue(&mut self, world: &World<'_>, cpu: usize, thread: usize, why: Why, _requests: &mut Requests) {
        if world.threads[thread].class.real_time().is_some() {
            return self.real_time.add(world, cpu, thread);
        }
        if why != Why::Moved {
            self.use_capacity(thread, world.now, 0.0);
        }
        self.add(world, cpu, thread, why);
    }

    fn leave(&mut self, world: &World<'_>, cpu: usize, thread: usize, how: Leave) {
        if world.threads[thread].class.real_time().is_some() {
            return self.real_time.remove(world, cpu, thread);
        }
        if how == Leave::Waits && self.is_to_delay(thread, world, cpu) {
            self.delay(world, cpu, thread);
        } else {
            self.remove(world, cpu, thread);
        }
    }

    fn ran(&mut self, world: &World<'_>, cpu: usize, thread: usize, ns: i64, requests: &mut Requests) {
        if world.threads[thread].class.real_time().is_some() {
            if self.real_time.ran(world, cpu, thread, ns) {
                requests.choose(cpu, Soon::Now);
            }
            return;
        }
        self.use_capacity(thread, world.now, world.machine.speed(cpu));
        self.ran_fair(world, cpu, thread, ns, requests);
    }

    fn preempts(&mut self, world: &World<'_>, cpu: usize, thread: usize) -> Option<Soon> {
        let current = world.current[cpu]?;
        let (class, of_current) = (world.threads[thread].class, world.threads[current].class);
        match (class.real_time(), of_current.real_time()) {
            (Some(priority), of_current) => (Some(priority) > of_current).then_some(Soon::Now),
            (None, Some(_)) => None,
            (None, None) => self.preempts_fair(world, thread, current).then(|| self.soon()),
        }
    }

    fn next(&mut self, world: &World<'_>, cpu: usize, requests: &mut Requests) -> Option<usize> {
        if let Some(thread) = self.next_real_time(world, cpu, requests) {
            self.put_back(cpu);
            return Some(thread);
        }
        let next = self.next_fair(world, cpu);
        if next.is_some() || self.random.f64() >= self.settings.newidle_share {
            return next;
        }
        if self.pull(world, cpu, requests) { self.next_fair(world, cpu) } else { None }
    }

    fn tick_ns(&self) -> i64 {
        self.settings.tick_ns
    }

    fn tick(&mut self, world: &World<'_>, cpu: usize, requests: &mut Requests) {
        self.balance_at_tick(world, cpu, requests);
    }

    fn timer(&mut self, world: &World<'_>, key: usize, requests: &mut Requests) {
        self.begin_period(world, key, requests);
    }
}
