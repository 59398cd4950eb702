//! How long each thread ran on an unsuitable CPU. The suitable order is: idle fast cores, idle slower cores, siblings
//! of busy CPUs.
//!
//! The verdict on a running thread depends on the class and siblings of its core, and on the classes that have an idle
//! core where the thread is allowed. At any instant it is the same for all threads of one [`Rank`] and set of CPUs. So
//! there is a clock for each rank and set, with one time for each verdict. A thread gets the advance of its clock while
//! it has that rank and set.

use crate::by_thread::ByThread;
use crate::clocks::{Bits, Clocks};
use crate::{Analysis, Begins, Context, SetId, World};
use model::{
    CpuId, CpuState, CpuStretch, Ns, Power, Reason, Rows, ThreadKey, ThreadState, ThreadStretch, Tid, TimelineEvent,
    Value,
};
use topology::Machine;

pub(crate) struct Placement {
    cores: Vec<Core>,
    free: Free,
    clocks: Clocks<(SetId, Rank), Clock>,
    /// The running thread of each CPU, by index.
    runs: Vec<Option<Run>>,
    /// The number of ready threads on the run queues of each core.
    queued: Vec<usize>,
    threads: ByThread<Thread>,
}

#[derive(Clone, Default)]
struct Thread {
    tid: Option<Tid>,
    /// The index of the CPU on which it runs.
    on: Option<usize>,
    /// The core on whose run queue it is ready.
    queued: Option<usize>,
    /// Set if it was woken onto a CPU with a busy sibling and has not waited since.
    woken: Option<Woken>,
    /// Times while its affinity was known, and while it was not.
    known: Times,
    unknown: Times,
}

/// A wakeup onto a CPU with a busy sibling while a whole core of its class was free.
#[derive(Clone, Copy)]
struct Woken {
    /// The index of the CPU.
    onto: usize,
    /// Whether the thread's affinity was known.
    known: bool,
}

/// A running thread since its last change of verdict inputs.
struct Run {
    thread: ThreadKey,
    woken: Option<Woken>,
    set: SetId,
    rank: Rank,
    /// The reading of the clock at that time.
    since: Times,
}

/// The verdict on the placement of a running thread.
#[derive(Clone, Copy, PartialEq)]
enum Verdict {
    InOrder,
    SlowerCore,
    BusySibling,
    SkippedSlower,
    Unknown,
}

/// The time of each verdict.
#[derive(Clone, Copy, Default)]
struct Times {
    by: [Ns; 5],
    /// The part with a busy sibling after a wakeup onto that core. Always zero in clocks.
    woken: Ns,
    /// The time that a faster core would have saved, and the time on slower cores for which that is unknown.
    cost: f64,
    not_costed: Ns,
}

/// The times of a rank and set up to an instant, and how they advance from there.
struct Clock {
    times: Times,
    since: Ns,
    verdict: Verdict,
    /// The part that the fastest idle class would save; `None` if the capacities are not known.
    saved: Option<f64>,
}

/// The class of a core and the state of its siblings.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Rank {
    /// `None` if not recorded.
    class: Option<usize>,
    shares: Shares,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Shares {
    No,
    Yes,
    Perhaps,
}

/// A core.
struct Core {
    class: Option<usize>,
    /// Whether all of its siblings are recorded.
    whole: bool,
    /// Whether all of its CPUs are parked.
    parked: bool,
    is: Availability,
    rank: Rank,
}

/// Whether a core is available to threads that run elsewhere.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Availability {
    /// Or parked.
    Busy,
    Idle,
    PerhapsIdle,
}

/// The cores that run no thread by class, as indices into [`World::cores`].
struct Free {
    idle: Vec<Bits>,
    perhaps: Vec<Bits>,
    /// The cores without a recorded class.
    unclassed: Bits,
    capacities: Vec<Option<u32>>,
}

impl Clock {
    fn show(&self, now: Ns) -> Times {
        let (mut times, elapsed) = (self.times, now - self.since);
        let sum = &mut times.by[self.verdict as usize];
        *sum += elapsed;
        match (self.verdict, self.saved) {
            (Verdict::SlowerCore, Some(saved)) => times.cost += elapsed.0 as f64 * saved,
            (Verdict::SlowerCore, None) => times.not_costed += elapsed,
            _ => {}
        }
        times
    }

    fn judge(&mut self, (verdict, saved): (Verdict, Option<f64>), now: Ns) {
        if (verdict, saved) != (self.verdict, self.saved) {
            *self = Self { times: self.show(now), since: now, verdict, saved };
        }
    }
}

impl Times {
    /// Adds the advance of a clock.
    fn add(&mut self, since: &Self, now: &Self) {
        for (sum, (since, now)) in self.by.iter_mut().zip(since.by.iter().zip(&now.by)) {
            *sum += *now - *since;
        }
        self.woken += now.woken - since.woken;
        self.cost += now.cost - since.cost;
        self.not_costed += now.not_costed - since.not_costed;
    }
}

impl Core {
    fn is(&self, busy: usize, unknown: usize) -> Availability {
        match (busy, unknown, self.whole) {
            // A parked core was not available.
            _ if self.parked => Availability::Busy,
            (1.., ..) => Availability::Busy,
            (0, 0, true) => Availability::Idle,
            _ => Availability::PerhapsIdle,
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
    /// Adds a core to a set or removes it.
    fn put(&mut self, place: usize, class: Option<usize>, is: Availability, is_in: bool) {
        match (class, is) {
            (_, Availability::Busy) => {}
            (None, _) => self.unclassed.put(place, is_in),
            (Some(class), Availability::Idle) => self.idle[class].put(place, is_in),
            (Some(class), Availability::PerhapsIdle) => self.perhaps[class].put(place, is_in),
        }
    }

    /// Returns the verdict on a thread that is allowed on these cores, and the part of its time that it would save.
    fn judge(&self, rank: Rank, allowed: &Bits) -> (Verdict, Option<f64>) {
        (self.verdict(rank, allowed), self.saved(rank.class, allowed))
    }

    fn verdict(&self, rank: Rank, allowed: &Bits) -> Verdict {
        let any = |of: &[Bits]| of.iter().any(|cores| cores.meets(allowed));
        let unclassed = self.unclassed.meets(allowed);
        let perhaps_any = unclassed || any(&self.perhaps);
        let Some(class) = rank.class else {
            return if perhaps_any || any(&self.idle) { Verdict::Unknown } else { Verdict::InOrder };
        };
        let (slower, faster) = (&self.idle[..class], &self.idle[class + 1..]);
        match rank.shares {
            _ if any(faster) => Verdict::SlowerCore,
            Shares::Yes if self.idle[class].meets(allowed) => Verdict::BusySibling,
            Shares::Yes if any(slower) => Verdict::SkippedSlower,
            Shares::No if unclassed || any(&self.perhaps[class + 1..]) => Verdict::Unknown,
            Shares::Yes if perhaps_any => Verdict::Unknown,
            Shares::Perhaps if perhaps_any || any(&self.idle) => Verdict::Unknown,
            _ => Verdict::InOrder,
        }
    }

    /// Returns the part of its time that a thread of a class would save on the fastest idle one.
    fn saved(&self, class: Option<usize>, allowed: &Bits) -> Option<f64> {
        let fastest = self.idle.iter().rposition(|cores| cores.meets(allowed))?;
        let (here, there) = (self.capacities[class?]?, self.capacities[fastest]?);
        // Equal capacities of different classes come from a kernel that does not know the classes.
        (here < there).then(|| f64::from(there - here) / f64::from(there))
    }
}

impl Placement {
    fn enter(&mut self, place: usize, thread: ThreadKey, set: SetId, world: &World) {
        let rank = self.cores[world.cpus[place].core].rank;
        let clock = || {
            let (verdict, saved) = self.free.judge(rank, &world.set(set).cores);
            Clock { times: Times::default(), since: world.now, verdict, saved }
        };
        let since = self.clocks.enter((set, rank), clock).show(world.now);
        let of = self.threads.of(thread);
        of.on = Some(place);
        of.woken = of.woken.filter(|woken| woken.onto == place);
        self.runs[place] = Some(Run { thread, woken: of.woken, set, rank, since });
    }

    /// Adds the advance of its clock to the thread on a CPU. Returns the thread.
    fn leave(&mut self, place: usize, world: &World) -> Option<ThreadKey> {
        let Run { thread, woken, set, rank, since } = self.runs[place].take()?;
        let now = self.clocks.get((set, rank)).map_or(since, |clock| clock.show(world.now));
        self.clocks.leave((set, rank));
        let of = self.threads.of(thread);
        // The thread may already be on another CPU at this instant.
        of.on = of.on.filter(|on| *on != place);
        let times = if set.is_known() { &mut of.known } else { &mut of.unknown };
        times.add(&since, &now);
        if let Some(woken) = woken {
            let times = if set.is_known() && woken.known { times } else { &mut of.unknown };
            let busy_sibling = Verdict::BusySibling as usize;
            times.woken += now.by[busy_sibling] - since.by[busy_sibling];
        }
        Some(thread)
    }

    /// Evaluates a wakeup onto this CPU. A core with a queued thread is not free: its CPU is idle only until that
    /// thread runs.
    fn woken(&self, onto: usize, set: SetId, world: &World) -> Option<Woken> {
        let (cpu, allowed) = (&world.cpus[onto], &world.set(set).cores);
        let idle = &self.free.idle[self.cores[cpu.core].class?];
        let is_free = |core: usize| idle.has(core) && allowed.has(core) && self.queued[core] == 0;
        let busy_sibling = cpu.state == CpuState::Idle && world.cores[cpu.core].busy > 0;
        (busy_sibling && (0..self.cores.len()).any(is_free)).then_some(Woken { onto, known: set.is_known() })
    }

    /// Puts a ready thread on the run queue of a CPU, or takes it off.
    fn queue(&mut self, thread: ThreadKey, on: Option<usize>, world: &World) {
        let core = on.map(|place| world.cpus[place].core);
        core.iter().for_each(|core| self.queued[*core] += 1);
        let before = std::mem::replace(&mut self.threads.of(thread).queued, core);
        before.iter().for_each(|core| self.queued[*core] -= 1);
    }

    /// Sets the number of busy CPUs of a core and the number with unknown state.
    fn change(&mut self, place: usize, busy: usize, unknown: usize, world: &World) {
        let core = &mut self.cores[place];
        core.rank = core.rank(busy, unknown);
        let (class, was) = (core.class, core.is);
        core.is = core.is(busy, unknown);
        if was != core.is {
            self.free.put(place, class, was, false);
            self.free.put(place, class, core.is, true);
            for ((set, rank), clock) in self.clocks.iter_mut() {
                let allowed = &world.set(set).cores;
                if allowed.has(place) {
                    clock.judge(self.free.judge(rank, allowed), world.now);
                }
            }
        }
    }
}

/// Returns the capacity of the CPUs of a class, if it is recorded and the same for all.
pub(super) fn capacity(machine: &Machine, class: usize) -> Option<u32> {
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
            Core {
                class,
                whole,
                parked: false,
                is: Availability::PerhapsIdle,
                rank: Rank { class, shares: Shares::Perhaps },
            }
        });
        let cores: Vec<Core> = cores.collect();
        let none = || Bits::none(cores.len());
        let mut free = Free {
            idle: vec![none(); classes],
            perhaps: vec![none(); classes],
            unclassed: none(),
            capacities: (0..classes).map(|class| capacity(machine, class)).collect(),
        };
        for (place, core) in cores.iter().enumerate() {
            free.put(place, core.class, core.is, true);
        }
        let (runs, queued) = (world.cpus.iter().map(|_| None).collect(), vec![0; cores.len()]);
        Self { cores, free, clocks: Clocks::new(), runs, queued, threads: ByThread::new() }
    }

    fn weight() -> usize {
        3
    }

    fn thread(&mut self, stretch: &ThreadStretch, begins: Begins, world: &World) {
        let place = stretch.cpu.and_then(|cpu| world.place(cpu));
        let ready = stretch.state == ThreadState::Ready;
        self.queue(stretch.thread, place.filter(|_| ready), world);
        let is_woken = ready && begins == Begins::Here && matches!(stretch.reason, Reason::Woken | Reason::New);
        let woken = place.filter(|_| is_woken).and_then(|p| self.woken(p, world.allowed(stretch.thread), world));
        let of = self.threads.of(stretch.thread);
        match stretch.state {
            ThreadState::Running => of.tid = Some(stretch.tid),
            // A preempted thread is still where the wakeup placed it.
            ThreadState::Ready if !is_woken => {}
            _ => of.woken = woken,
        }
    }

    fn moved(&mut self, thread: ThreadKey, to: CpuId, world: &World) {
        self.queue(thread, world.place(to), world);
    }

    fn cpu(&mut self, stretch: &CpuStretch, _: Begins, world: &World) {
        let Some(place) = world.place(stretch.cpu) else { return };
        let before = &world.cpus[place];
        let core = &world.cores[before.core];
        let count = |all: usize, of| all - usize::from(before.state == of) + usize::from(stretch.state == of);
        let (busy, unknown) = (count(core.busy, CpuState::Busy), count(core.unknown, CpuState::Unknown));
        self.change(before.core, busy, unknown, world);
        for cpu in &core.cpus {
            let stays = self.leave(*cpu, world);
            let comes = (stretch.state == CpuState::Busy).then_some(stretch.thread);
            if let Some(thread) = if *cpu == place { comes } else { stays } {
                self.enter(*cpu, thread, world.allowed(thread), world);
            }
        }
    }

    fn event(&mut self, event: &TimelineEvent, _: ThreadKey, _: Begins, world: &World) {
        let Some((cpu, Power::Parked(parked))) = event.power() else { return };
        let Some(place) = world.place(cpu) else { return };
        let of = world.cpus[place].core;
        let core = &world.cores[of];
        let is_parked = |cpu: &usize| if *cpu == place { parked } else { world.cpus[*cpu].parked == Some(true) };
        self.cores[of].parked = core.cpus.iter().all(is_parked);
        self.change(of, core.busy, core.unknown, world);
    }

    fn allowed(&mut self, thread: ThreadKey, set: SetId, world: &World) {
        if let Some(place) = self.threads.get(thread).and_then(|t| t.on)
            && let Some(thread) = self.leave(place, world)
        {
            self.enter(place, thread, set, world);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        for place in 0..self.runs.len() {
            self.leave(place, world);
        }
        for (key, Thread { tid, known, unknown, .. }) in self.threads.iter() {
            let both = |verdict: Verdict| known.by[verdict as usize] + unknown.by[verdict as usize];
            let range = |verdict: Verdict| [known.by[verdict as usize], both(verdict)];
            let running: Ns = known.by.iter().chain(&unknown.by).copied().sum();
            if running == Ns::ZERO {
                continue;
            }
            let cells = [running, both(Verdict::InOrder)].into_iter();
            let ranges = [Verdict::SlowerCore, Verdict::BusySibling, Verdict::SkippedSlower].map(range);
            let cells = cells.chain(ranges.into_iter().flatten()).chain([both(Verdict::Unknown)]);
            let cost = |times: Times| (times.not_costed == Ns::ZERO).then_some(times.cost.round() as i64);
            let mut all = *known;
            all.add(&Times::default(), unknown);
            let mut row: Vec<Value> = vec![key.into(), i64::from(tid.unwrap_or(Tid::UNKNOWN).0).into()];
            row.extend(cells.map(Value::from));
            row.extend([cost(*known), cost(all), Some(unknown.by.iter().copied().sum::<Ns>().0)].map(Value::from));
            row.extend([known.woken, all.woken].map(Value::from));
            out.row(&row);
        }
    }
}
