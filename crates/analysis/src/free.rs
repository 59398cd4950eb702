//! What was free while a thread was ready, without looking at the thread meanwhile.
//!
//! Of each class of cores and set of CPUs, a clock tells for how long a thread that is allowed on those, and on the queue of a
//! CPU of that class, finds nothing free, a CPU of another class, one of the same, only parked ones, only those where it is not
//! allowed, or nobody can say. A ready thread's share is the difference of what it shows at the thread's begin and at its end. Whether the
//! very CPU on whose queue it is was idle is told by that CPU's own clocks.
//!
//! ```text
//!   a class's clock    │ same │ other │ nothing │ same │          one at a time runs
//!   its queue's CPU    │ idle │ busy  │  busy   │ busy │          idle: taken out of same
//!   thread                ├── ready ──────────────┤
//! ```

use crate::clocks::{Bits, Clocks};
use crate::{Context, SetId, World};
use model::{CpuState, Ns};
use std::ops::{Add, Sub};

/// What a thread on the queue of a CPU of some class finds, but for that CPU itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Finds {
    Nothing,
    NotAllowed,
    Parked,
    Other,
    Same,
    Unknown,
}

/// Of a class and a set.
struct Clock {
    finds: Finds,
    since: Ns,
    /// For how long it found what until `since`.
    found: [Ns; 6],
}

/// For how long a CPU was unknown while another of its class and of some set was idle: it may have been idle or not, whatever
/// that one was.
struct Doubt {
    /// Until `same_since`.
    ns: Ns,
    /// What the set's clock of the same class showed when the CPU began or ceased to be unknown.
    same_since: Ns,
}

/// What a CPU is to those who wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Is {
    Busy,
    Idle,
    /// It runs no thread, as far as is known, but may not be used.
    Parked,
    Unknown,
}

impl Is {
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
    is: Is,
    since: Ns,
    /// How long it was idle until `since`.
    idle: Ns,
    doubts: Clocks<SetId, Doubt>,
}

/// The CPUs that run no thread, by their places in [`World::cpus`].
struct Now {
    idle: Bits,
    parked: Bits,
    unknown: Bits,
    /// Of each class.
    classes: Vec<Bits>,
}

/// The clocks.
pub(crate) struct Free {
    now: Now,
    cpus: Vec<Cpu>,
    clocks: Clocks<(SetId, u32), Clock>,
}

/// A place to wait for a CPU.
#[derive(Clone, Copy)]
pub(crate) struct Queue {
    /// The place of its CPU; `None`: nobody knows which.
    pub(crate) place: Option<usize>,
    /// On which CPUs the thread is allowed.
    pub(crate) set: SetId,
}

/// What the clocks show, or the difference: how long what was free.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Found {
    /// Every CPU ran a thread.
    pub(crate) nothing: Ns,
    /// None where it is allowed was idle or parked, one of the rest was idle.
    pub(crate) not_allowed: Ns,
    /// None where it is allowed was idle, but for parked ones.
    pub(crate) parked: Ns,
    /// None of the same class was idle, one of another was.
    pub(crate) other_class: Ns,
    /// One of the same class was idle, and its own busy.
    pub(crate) same_class: Ns,
    /// Its own was idle.
    pub(crate) own: Ns,
    /// Nobody can say.
    pub(crate) unknown: Ns,
}

impl Found {
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

impl Add for Found {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.each(other, Ns::add)
    }
}

impl Sub for Found {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.each(other, Ns::sub)
    }
}

impl Clock {
    fn show(&self, what: Finds, now: Ns) -> Ns {
        let running = if self.finds == what { now - self.since } else { Ns::ZERO };
        self.found[what as usize] + running
    }

    fn find(&mut self, finds: Finds, now: Ns) {
        if finds != self.finds {
            self.found[self.finds as usize] = self.show(self.finds, now);
            (self.finds, self.since) = (finds, now);
        }
    }
}

impl Doubt {
    fn show(&self, is: Is, same: Ns) -> Ns {
        self.ns + if is == Is::Unknown { same - self.same_since } else { Ns::ZERO }
    }
}

impl Cpu {
    fn idle_until(&self, now: Ns) -> Ns {
        self.idle + if self.is == Is::Idle { now - self.since } else { Ns::ZERO }
    }
}

impl Now {
    fn put(&mut self, place: usize, is: Is) {
        self.idle.put(place, is == Is::Idle);
        self.parked.put(place, is == Is::Parked);
        self.unknown.put(place, is == Is::Unknown);
    }

    /// Whether any is idle, or unknown.
    fn any(&self) -> (bool, bool) {
        (!self.idle.is_empty(), !self.unknown.is_empty())
    }

    fn finds(&self, set: &Bits, class: u32) -> Finds {
        let of_class = &self.classes[class as usize];
        let mut seen = [0; 7];
        let states = self.idle.words().zip(self.parked.words()).zip(self.unknown.words());
        for ((set, same), ((idle, parked), unknown)) in set.words().zip(of_class.words()).zip(states) {
            let here =
                [set & same & idle, set & same & unknown, set & idle, set & unknown, set & parked, idle, unknown];
            seen.iter_mut().zip(here).for_each(|(seen, here)| *seen |= here);
        }
        match seen.map(|of| of != 0) {
            [true, ..] => Finds::Same,
            [_, true, ..] => Finds::Unknown,
            [_, _, true, ..] => Finds::Other,
            [_, _, _, true, ..] => Finds::Unknown,
            [_, _, _, _, true, ..] => Finds::Parked,
            [.., true, _] => Finds::NotAllowed,
            [.., true] => Finds::Unknown,
            _ => Finds::Nothing,
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
        let cpu = |class| Cpu { class, is: Is::Unknown, since: world.now, idle: Ns::ZERO, doubts: Clocks::new() };
        let class_of = |number| numbers.binary_search(&number).unwrap_or(0) as u32;
        let cpus: Vec<Cpu> = world.cpus.iter().map(|c| cpu(class_of(c.class))).collect();
        let of = |class| Bits::of((0..many).filter(|place| cpus[*place].class == class), many);
        let classes = (0..numbers.len() as u32).map(of).collect();
        let none = || Bits::none(many);
        let now = Now { idle: none(), parked: none(), unknown: Bits::of(0..many, many), classes };
        Self { now, cpus, clocks: Clocks::new() }
    }

    /// A CPU changes.
    pub(crate) fn change(&mut self, place: usize, is: Is, world: &World) {
        let (cpu, now) = (&mut self.cpus[place], world.now);
        if cpu.is == is {
            return;
        }
        cpu.idle = cpu.idle_until(now);
        if cpu.is == Is::Unknown || is == Is::Unknown {
            for (set, doubt) in cpu.doubts.iter_mut() {
                let same = self.clocks.get((set, cpu.class)).map_or(Ns::ZERO, |c| c.show(Finds::Same, now));
                doubt.ns = doubt.show(cpu.is, same);
                doubt.same_since = same;
            }
        }
        (cpu.is, cpu.since) = (is, now);
        let any = self.now.any();
        self.now.put(place, is);
        let any_changes = any != self.now.any();
        for ((set, class), clock) in self.clocks.iter_mut() {
            // Of CPUs where a thread is not allowed it matters only whether there is any.
            let set = &world.set(set).cpus;
            if any_changes || set.has(place) {
                clock.find(self.now.finds(set, class), now);
            }
        }
    }

    /// A thread comes: what the clocks show to it.
    pub(crate) fn enter(&mut self, queue: Queue, world: &World) -> Found {
        if let Some(place) = queue.place {
            let (class, now) = (self.cpus[place].class, world.now);
            let finds = self.now.finds(&world.set(queue.set).cpus, class);
            let clock = self.clocks.enter((queue.set, class), || Clock { finds, since: now, found: [Ns::ZERO; 6] });
            let same_since = clock.show(Finds::Same, now);
            self.cpus[place].doubts.enter(queue.set, || Doubt { ns: Ns::ZERO, same_since });
        }
        self.show(queue, world)
    }

    /// It leaves: what they show now.
    pub(crate) fn leave(&mut self, queue: Queue, world: &World) -> Found {
        let found = self.show(queue, world);
        if let Some(place) = queue.place {
            self.clocks.leave((queue.set, self.cpus[place].class));
            self.cpus[place].doubts.leave(queue.set);
        }
        found
    }

    fn show(&self, queue: Queue, world: &World) -> Found {
        let (set, now) = (queue.set, world.now);
        let nobody_knows = Found { unknown: now, ..Found::default() };
        let Some(place) = queue.place else { return nobody_knows };
        let cpu = &self.cpus[place];
        let Some((clock, doubt)) = self.clocks.get((set, cpu.class)).zip(cpu.doubts.get(set)) else {
            return nobody_knows;
        };
        let same = clock.show(Finds::Same, now);
        let (mut own, mut doubt) = (cpu.idle_until(now), doubt.show(cpu.is, same));
        if !world.set(set).cpus.has(place) {
            // Its queue's CPU is to the thread as any other where it is not allowed.
            (own, doubt) = (Ns::ZERO, Ns::ZERO);
        }
        Found {
            nothing: clock.show(Finds::Nothing, now),
            not_allowed: clock.show(Finds::NotAllowed, now),
            parked: clock.show(Finds::Parked, now),
            other_class: clock.show(Finds::Other, now),
            same_class: same - own - doubt,
            own,
            unknown: clock.show(Finds::Unknown, now) + doubt,
        }
    }
}
