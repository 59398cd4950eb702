//! Which CPUs were free while a thread was ready, calculated without visiting the thread in between.
//!
//! For each core class and set of CPUs there is a clock. It counts how long a thread that is allowed on these CPUs, and
//! queued on a CPU of this class, finds nothing free, a free CPU of another class, one of the same class, only parked
//! ones, only ones where it is not allowed, or cannot know. The share of a ready thread is the difference between the
//! clock at its end and at its begin. Whether the CPU of its own run queue was idle is counted by the clocks of that
//! CPU.
//!
//! ```text
//!   a class's clock    │ same │ other │ nothing │ same │          one state at a time
//!   its queue's CPU    │ idle │ busy  │  busy   │ busy │          idle: subtracted from same
//!   thread                ├── ready ──────────────┤
//! ```

use crate::clocks::{Bits, Clocks};
use crate::{Context, SetId, World};
use model::{CpuState, Ns};
use std::ops::{Add, Sub};

/// What a thread queued on a CPU of some class finds, apart from that CPU itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Finding {
    Nothing,
    NotAllowed,
    Parked,
    Other,
    Same,
    Unknown,
}

/// The clock of a class and a set.
struct Clock {
    finds: Finding,
    since: Ns,
    /// The time spent in each state until `since`.
    found: [Ns; 6],
}

/// How long a CPU's state was unknown while another CPU of its class and of some set was idle. Whether this CPU was
/// idle then makes no difference to what a thread finds.
struct Doubt {
    /// Until `same_since`.
    ns: Ns,
    /// The value of the set's clock of the same class when the CPU's state became unknown or known.
    same_since: Ns,
}

/// Whether a waiting thread could use a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Availability {
    Busy,
    Idle,
    /// It runs no thread, as far as is known, but is parked.
    Parked,
    Unknown,
}

impl Availability {
    pub(crate) fn of(state: CpuState, parked: Option<bool>) -> Self {
        match (state, parked) {
            (CpuState::Busy, _) => Self::Busy,
            (_, Some(true)) => Self::Parked,
            (CpuState::Idle, _) => Self::Idle,
            (CpuState::Unknown, _) => Self::Unknown,
        }
    }
}

struct Cpu {
    class: u32,
    is: Availability,
    since: Ns,
    /// How long it was idle until `since`.
    idle: Ns,
    doubts: Clocks<SetId, Doubt>,
}

/// The CPUs that run no thread, as indices into [`World::cpus`].
struct IdleCpus {
    idle: Bits,
    parked: Bits,
    unknown: Bits,
    /// For each class.
    classes: Vec<Bits>,
}

/// All clocks of the machine.
pub(crate) struct Free {
    now: IdleCpus,
    cpus: Vec<Cpu>,
    clocks: Clocks<(SetId, u32), Clock>,
}

/// What a ready thread waits for: the CPU of its run queue and the CPUs where it is allowed.
#[derive(Clone, Copy)]
pub(crate) struct Queue {
    /// The index of the queue's CPU; `None` if unknown.
    pub(crate) place: Option<usize>,
    /// The set of CPUs on which the thread is allowed.
    pub(crate) set: SetId,
}

/// What the clocks show, or a difference of two readings: how long what was free.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct FreeTimes {
    /// Every CPU ran a thread.
    pub(crate) nothing: Ns,
    /// No allowed CPU was idle or parked, another one was idle.
    pub(crate) not_allowed: Ns,
    /// No allowed CPU was idle, but one was parked.
    pub(crate) parked: Ns,
    /// No CPU of the same class was idle, one of another class was.
    pub(crate) other_class: Ns,
    /// A CPU of the same class was idle, the queue's own CPU was busy.
    pub(crate) same_class: Ns,
    /// The queue's own CPU was idle.
    pub(crate) own: Ns,
    /// Unknown.
    pub(crate) unknown: Ns,
}

impl FreeTimes {
    fn each(self, other: Self, of: fn(Ns, Ns) -> Ns) -> Self {
        Self {
            nothing: of(self.nothing, other.nothing),
            not_allowed: of(self.not_allowed, other.not_allowed),
            parked: of(self.parked, other.parked),
            other_class: of(self.other_class, other.other_class),
            same_class: of(self.same_class, other.same_class),
            own: of(self.own, other.own),
            unknown: of(self.unknown, other.unknown),
        }
    }
}

impl Add for FreeTimes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.each(other, Ns::add)
    }
}

impl Sub for FreeTimes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.each(other, Ns::sub)
    }
}

impl Clock {
    fn show(&self, what: Finding, now: Ns) -> Ns {
        let running = if self.finds == what { now - self.since } else { Ns::ZERO };
        self.found[what as usize] + running
    }

    fn find(&mut self, finds: Finding, now: Ns) {
        if finds != self.finds {
            self.found[self.finds as usize] = self.show(self.finds, now);
            (self.finds, self.since) = (finds, now);
        }
    }
}

impl Doubt {
    fn show(&self, is: Availability, same: Ns) -> Ns {
        self.ns + if is == Availability::Unknown { same - self.same_since } else { Ns::ZERO }
    }
}

impl Cpu {
    fn idle_until(&self, now: Ns) -> Ns {
        self.idle + if self.is == Availability::Idle { now - self.since } else { Ns::ZERO }
    }
}

impl IdleCpus {
    fn put(&mut self, place: usize, is: Availability) {
        self.idle.put(place, is == Availability::Idle);
        self.parked.put(place, is == Availability::Parked);
        self.unknown.put(place, is == Availability::Unknown);
    }

    /// Whether any CPU is idle, and whether any is unknown.
    fn any(&self) -> (bool, bool) {
        (!self.idle.is_empty(), !self.unknown.is_empty())
    }

    fn finds(&self, set: &Bits, class: u32) -> Finding {
        let of_class = &self.classes[class as usize];
        let mut seen = [0; 7];
        let states = self.idle.words().zip(self.parked.words()).zip(self.unknown.words());
        for ((set, same), ((idle, parked), unknown)) in set.words().zip(of_class.words()).zip(states) {
            let here =
                [set & same & idle, set & same & unknown, set & idle, set & unknown, set & parked, idle, unknown];
            seen.iter_mut().zip(here).for_each(|(seen, here)| *seen |= here);
        }
        match seen.map(|of| of != 0) {
            [true, ..] => Finding::Same,
            [_, true, ..] => Finding::Unknown,
            [_, _, true, ..] => Finding::Other,
            [_, _, _, true, ..] => Finding::Unknown,
            [_, _, _, _, true, ..] => Finding::Parked,
            [.., true, _] => Finding::NotAllowed,
            [.., true] => Finding::Unknown,
            _ => Finding::Nothing,
        }
    }
}

impl Free {
    pub(crate) fn new(context: &Context<'_>) -> Self {
        let world = World::new(context);
        let many = world.cpus.len();
        let mut numbers: Vec<u32> = world.cpus.iter().map(|c| c.class).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let cpu =
            |class| Cpu { class, is: Availability::Unknown, since: world.now, idle: Ns::ZERO, doubts: Clocks::new() };
        let class_of = |number| numbers.binary_search(&number).unwrap_or(0) as u32;
        let cpus: Vec<Cpu> = world.cpus.iter().map(|c| cpu(class_of(c.class))).collect();
        let of = |class| Bits::of((0..many).filter(|place| cpus[*place].class == class), many);
        let classes = (0..numbers.len() as u32).map(of).collect();
        let none = || Bits::none(many);
        let now = IdleCpus { idle: none(), parked: none(), unknown: Bits::of(0..many, many), classes };
        Self { now, cpus, clocks: Clocks::new() }
    }

    /// Handles a change of a CPU.
    pub(crate) fn change(&mut self, place: usize, is: Availability, world: &World) {
        let (cpu, now) = (&mut self.cpus[place], world.now);
        if cpu.is == is {
            return;
        }
        cpu.idle = cpu.idle_until(now);
        if cpu.is == Availability::Unknown || is == Availability::Unknown {
            for (set, doubt) in cpu.doubts.iter_mut() {
                let same = self.clocks.get((set, cpu.class)).map_or(Ns::ZERO, |c| c.show(Finding::Same, now));
                doubt.ns = doubt.show(cpu.is, same);
                doubt.same_since = same;
            }
        }
        (cpu.is, cpu.since) = (is, now);
        let any = self.now.any();
        self.now.put(place, is);
        let any_changes = any != self.now.any();
        for ((set, class), clock) in self.clocks.iter_mut() {
            // For CPUs where a thread is not allowed, only whether one is idle matters.
            let set = &world.set(set).cpus;
            if any_changes || set.has(place) {
                clock.find(self.now.finds(set, class), now);
            }
        }
    }

    /// Adds a waiting thread. Returns the reading of its clocks.
    pub(crate) fn enter(&mut self, queue: Queue, world: &World) -> FreeTimes {
        if let Some(place) = queue.place {
            let (class, now) = (self.cpus[place].class, world.now);
            let finds = self.now.finds(&world.set(queue.set).cpus, class);
            let clock = self.clocks.enter((queue.set, class), || Clock { finds, since: now, found: [Ns::ZERO; 6] });
            let same_since = clock.show(Finding::Same, now);
            self.cpus[place].doubts.enter(queue.set, || Doubt { ns: Ns::ZERO, same_since });
        }
        self.show(queue, world)
    }

    /// Removes a waiting thread. Returns the reading of its clocks.
    pub(crate) fn leave(&mut self, queue: Queue, world: &World) -> FreeTimes {
        let found = self.show(queue, world);
        if let Some(place) = queue.place {
            self.clocks.leave((queue.set, self.cpus[place].class));
            self.cpus[place].doubts.leave(queue.set);
        }
        found
    }

    fn show(&self, queue: Queue, world: &World) -> FreeTimes {
        let (set, now) = (queue.set, world.now);
        let unknown_times = FreeTimes { unknown: now, ..FreeTimes::default() };
        let Some(place) = queue.place else { return unknown_times };
        let cpu = &self.cpus[place];
        let Some((clock, doubt)) = self.clocks.get((set, cpu.class)).zip(cpu.doubts.get(set)) else {
            return unknown_times;
        };
        let same = clock.show(Finding::Same, now);
        let (mut own, mut doubt) = (cpu.idle_until(now), doubt.show(cpu.is, same));
        if !world.set(set).cpus.has(place) {
            // If the thread is not allowed on its queue's CPU, that CPU counts like any other.
            (own, doubt) = (Ns::ZERO, Ns::ZERO);
        }
        FreeTimes {
            nothing: clock.show(Finding::Nothing, now),
            not_allowed: clock.show(Finding::NotAllowed, now),
            parked: clock.show(Finding::Parked, now),
            other_class: clock.show(Finding::Other, now),
            same_class: same - own - doubt,
            own,
            unknown: clock.show(Finding::Unknown, now) + doubt,
        }
    }
}
