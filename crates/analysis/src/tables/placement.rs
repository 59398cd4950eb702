//! How long each thread ran where it should not have, by the order whole fast cores, whole slower cores, busy cores' siblings.
//!
//! What is said of a running thread depends on its core's class and on its siblings, and on which classes have an idle core:
//! for all threads of one [`Rank`] it is the same at every instant. So each rank has clocks, one for each verdict, and a
//! thread gets what they advanced while it was of that rank.

use crate::by_thread::ByThread;
use crate::{Analysis, Begins, Context, World};
use model::{CpuState, CpuStretch, Ns, Rows, ThreadState, ThreadStretch, Tid, Value};
use topology::Machine;

pub(crate) struct Placement {
    at: Ns,
    cores: Vec<Core>,
    free: Free,
    /// By rank.
    clocks: Vec<Clock>,
    threads: ByThread<(Tid, Times)>,
}

/// What is said of the place of a running thread.
#[derive(Clone, Copy)]
enum Verdict {
    InOrder,
    SlowerCore,
    BusySibling,
    SkippedSlower,
    Unknown,
}

/// Time by verdict.
#[derive(Clone, Copy, Default)]
struct Times {
    by: [Ns; 5],
    /// What a faster core would have saved, and the time on slower ones of which nobody can say.
    cost: f64,
    not_costed: Ns,
}

/// The times of a rank so far, and how they advance.
#[derive(Clone, Copy)]
struct Clock {
    times: Times,
    verdict: Verdict,
    /// The part that the fastest idle class would save; `None` where the capacities do not tell.
    saved: Option<f64>,
}

/// A core's class and what its siblings do.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Rank {
    /// `None` where nobody told.
    class: Option<usize>,
    shares: Shares,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shares {
    No,
    Yes,
    Perhaps,
}

/// A core.
struct Core {
    class: Option<usize>,
    /// All of its CPUs are told.
    whole: bool,
    is: Is,
    rank: Rank,
    /// The clocks of `rank` when it became that.
    since: Times,
}

/// What a core is to threads that run elsewhere.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Is {
    Busy,
    Idle,
    PerhapsIdle,
}

/// The cores that run no thread, by class.
struct Free {
    idle: Vec<usize>,
    perhaps: Vec<usize>,
    /// Those of no class that is told.
    unclassed: usize,
    capacities: Vec<Option<u32>>,
}

impl Times {
    fn advance(&mut self, clock: &Clock, elapsed: Ns) {
        let sum = &mut self.by[clock.verdict as usize];
        *sum = *sum + elapsed;
        match (clock.verdict, clock.saved) {
            (Verdict::SlowerCore, Some(saved)) => self.cost += elapsed.0 as f64 * saved,
            (Verdict::SlowerCore, None) => self.not_costed = self.not_costed + elapsed,
            _ => {}
        }
    }

    /// Adds what a clock advanced.
    fn add(&mut self, since: &Self, now: &Self) {
        for (sum, (since, now)) in self.by.iter_mut().zip(since.by.iter().zip(&now.by)) {
            *sum = *sum + (*now - *since);
        }
        self.cost += now.cost - since.cost;
        self.not_costed = self.not_costed + (now.not_costed - since.not_costed);
    }
}

impl Rank {
    const SHARES: [Shares; 3] = [Shares::No, Shares::Yes, Shares::Perhaps];

    /// Its place among the ranks.
    fn place(self) -> usize {
        self.class.map_or(0, |c| c + 1) * Self::SHARES.len() + self.shares as usize
    }

    fn of_place(place: usize) -> Self {
        let (class, shares) = (place / Self::SHARES.len(), place % Self::SHARES.len());
        Self { class: class.checked_sub(1), shares: Self::SHARES[shares] }
    }
}

impl Core {
    fn is(&self, busy: usize, unknown: usize) -> Is {
        match (busy, unknown, self.whole) {
            (1.., ..) => Is::Busy,
            (0, 0, true) => Is::Idle,
            _ => Is::PerhapsIdle,
        }
    }

    fn rank(&self, busy: usize, unknown: usize) -> Rank {
        let shares = match (busy, unknown, self.whole) {
            (2.., ..) => Shares::Yes,
            (_, 0, true) => Shares::No,
            _ => Shares::Perhaps,
        };
        Rank { class: self.class, shares }
    }
}

impl Free {
    /// Counts a core in or out; says whether that can change a verdict.
    fn count(&mut self, class: Option<usize>, is: Is, by: isize) -> bool {
        let slot = match (class, is) {
            (_, Is::Busy) => return false,
            (None, _) => &mut self.unclassed,
            (Some(class), Is::Idle) => &mut self.idle[class],
            (Some(class), Is::PerhapsIdle) => &mut self.perhaps[class],
        };
        let before = *slot;
        *slot = slot.saturating_add_signed(by);
        (before == 0) != (*slot == 0)
    }

    fn verdict(&self, rank: Rank) -> Verdict {
        let any = |of: &[usize]| of.iter().any(|n| *n > 0);
        let perhaps_any = self.unclassed > 0 || any(&self.perhaps);
        let Some(class) = rank.class else {
            return if perhaps_any || any(&self.idle) { Verdict::Unknown } else { Verdict::InOrder };
        };
        let (slower, faster) = (&self.idle[..class], &self.idle[class + 1..]);
        match rank.shares {
            _ if any(faster) => Verdict::SlowerCore,
            Shares::Yes if self.idle[class] > 0 => Verdict::BusySibling,
            Shares::Yes if any(slower) => Verdict::SkippedSlower,
            Shares::No if self.unclassed > 0 || any(&self.perhaps[class + 1..]) => Verdict::Unknown,
            Shares::Yes if perhaps_any => Verdict::Unknown,
            Shares::Perhaps if perhaps_any || any(&self.idle) => Verdict::Unknown,
            _ => Verdict::InOrder,
        }
    }

    /// The part of its time that a thread of a class would save on the fastest idle one.
    fn saved(&self, class: Option<usize>) -> Option<f64> {
        let fastest = self.idle.iter().rposition(|n| *n > 0)?;
        let (here, there) = (self.capacities[class?]?, self.capacities[fastest]?);
        // Equal capacities of unequal classes are those of a kernel that does not know the classes.
        (here < there).then(|| f64::from(there - here) / f64::from(there))
    }
}

impl Placement {
    /// Judges every rank anew.
    fn judge(&mut self) {
        for (place, clock) in self.clocks.iter_mut().enumerate() {
            let rank = Rank::of_place(place);
            (clock.verdict, clock.saved) = (self.free.verdict(rank), self.free.saved(rank.class));
        }
    }

    fn advance(&mut self, to: Ns) {
        let elapsed = to - self.at;
        if elapsed > Ns::ZERO {
            self.at = to;
            for clock in &mut self.clocks {
                let now = *clock;
                clock.times.advance(&now, elapsed);
            }
        }
    }

    /// Gives the threads on a core what its rank's clocks advanced.
    fn settle(&mut self, core: usize, world: &World) {
        let Core { rank, since, .. } = &self.cores[core];
        let now = &self.clocks[rank.place()].times;
        for cpu in world.cores[core].cpus.iter().map(|c| &world.cpus[*c]).filter(|c| c.state == CpuState::Busy) {
            self.threads.of(cpu.thread).1.add(since, now);
        }
    }
}

/// The capacity of all CPUs of a class, where it is told and one.
fn capacity(machine: &Machine, class: usize) -> Option<u32> {
    let of = |c: &&topology::Cpu| c.online && machine.core_class(c.id) as usize == class;
    let mut capacities = machine.cpus.iter().filter(of).map(|c| c.capacity);
    let first = capacities.next()??;
    capacities.all(|c| c == Some(first)).then_some(first)
}

impl Analysis for Placement {
    fn new(context: &Context<'_>) -> Self {
        let machine = context.machine;
        let world = World::new(context);
        let classes = machine.class_names.len().max(1);
        let cores = world.cores.iter().map(|core| {
            let first = world.cpus[core.cpus[0]].cpu;
            let listed = machine.cpu(first);
            let class = (listed.is_some() || classes == 1).then(|| machine.core_class(first) as usize);
            let whole = listed.is_some_and(|c| !c.siblings.is_empty());
            let class = class.filter(|c| *c < classes);
            let rank = Rank { class, shares: Shares::Perhaps };
            Core { class, whole, is: Is::PerhapsIdle, rank, since: Times::default() }
        });
        let cores: Vec<Core> = cores.collect();
        let mut free = Free {
            idle: vec![0; classes],
            perhaps: vec![0; classes],
            unclassed: 0,
            capacities: (0..classes).map(|class| capacity(machine, class)).collect(),
        };
        for core in &cores {
            free.count(core.class, core.is, 1);
        }
        let clock = Clock { times: Times::default(), verdict: Verdict::InOrder, saved: None };
        let clocks = vec![clock; (classes + 1) * Rank::SHARES.len()];
        let mut new = Self { at: context.span.start, cores, free, clocks, threads: ByThread::new() };
        new.judge();
        new
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, _: &World) {
        if stretch.state == ThreadState::Running {
            self.threads.of(stretch.thread).0 = stretch.tid;
        }
    }

    fn cpu(&mut self, stretch: &CpuStretch, _: Begins, world: &World) {
        let Some(before) = world.of(stretch.cpu) else { return };
        self.advance(world.now);
        self.settle(before.core, world);
        let now = &world.cores[before.core];
        let count = |all: usize, of| all - usize::from(before.state == of) + usize::from(stretch.state == of);
        let (busy, unknown) = (count(now.busy, CpuState::Busy), count(now.unknown, CpuState::Unknown));
        let core = &mut self.cores[before.core];
        let (was, is) = (core.is, core.is(busy, unknown));
        core.is = is;
        core.rank = core.rank(busy, unknown);
        core.since = self.clocks[core.rank.place()].times;
        if was != is {
            let gone = self.free.count(core.class, was, -1);
            let come = self.free.count(core.class, is, 1);
            if gone || come {
                self.judge();
            }
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        self.advance(world.now);
        (0..self.cores.len()).for_each(|core| self.settle(core, world));
        for (thread, (tid, times)) in self.threads.iter() {
            let running: Ns = times.by.iter().copied().sum();
            if running == Ns::ZERO {
                continue;
            }
            let [in_order, slower_core, busy_sibling, skipped_slower, unknown] = times.by;
            // Nothing tells yet on which CPUs a thread was allowed.
            let lower = Ns::ZERO;
            out.row(&[
                thread.0.into(),
                i64::from(tid.0).into(),
                running.into(),
                in_order.into(),
                lower.into(),
                slower_core.into(),
                lower.into(),
                busy_sibling.into(),
                lower.into(),
                skipped_slower.into(),
                unknown.into(),
                Value::from((times.not_costed == Ns::ZERO).then_some(times.cost.round() as i64)),
            ]);
        }
    }
}
