//! What was free while a thread was ready, without looking at the thread meanwhile.
//!
//! Of each class of cores, clocks tell for how long its threads found nothing free, a CPU of another class, one of the
//! same, or nobody can say. A ready thread's share is the difference of what they show at its begin and at its end. Whether
//! the very CPU on whose queue it is was idle is told by that CPU's own clocks.
//!
//! ```text
//!   a class's clock    │ same │ other │ nothing │ same │          one at a time runs
//!   its queue's CPU    │ idle │ busy  │  busy   │ busy │          idle: taken out of same
//!   thread                ├── ready ──────────────┤
//! ```

use crate::{Context, World};
use model::{CpuState, Ns};
use std::ops::{Add, Sub};

/// What a thread on the queue of a CPU of some class finds, but for that CPU itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Finds {
    Nothing,
    Other,
    Same,
    Unknown,
}

struct Class {
    idle: usize,
    unknown: usize,
    finds: Finds,
    /// For how long it found what.
    found: [Ns; 4],
}

struct Cpu {
    class: usize,
    state: CpuState,
    since: Ns,
    /// How long it was idle until `since`.
    idle: Ns,
    /// How long it was unknown until `since` while another CPU of its class was idle.
    unknown: Ns,
    /// What its class's clock of the same type showed at `since`.
    same_since: Ns,
}

/// The clocks.
pub(crate) struct Free {
    at: Ns,
    classes: Vec<Class>,
    /// By their places in [`World::cpus`].
    cpus: Vec<Cpu>,
}

/// What they show, or the difference: how long what was free.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Found {
    /// Every CPU ran a thread.
    pub(crate) nothing: Ns,
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

impl Free {
    pub(crate) fn new(context: &Context<'_>) -> Self {
        let world = World::new(context);
        let mut numbers: Vec<u32> = world.cpus.iter().map(|c| c.class).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let class = |_| Class { idle: 0, unknown: 0, finds: Finds::Unknown, found: [Ns::ZERO; 4] };
        let mut classes: Vec<Class> = numbers.iter().map(class).collect();
        let cpu = |class: usize| Cpu {
            class,
            state: CpuState::Unknown,
            since: world.now,
            idle: Ns::ZERO,
            unknown: Ns::ZERO,
            same_since: Ns::ZERO,
        };
        let class_of = |number| numbers.binary_search(&number).unwrap_or(0);
        let cpus: Vec<Cpu> = world.cpus.iter().map(|c| cpu(class_of(c.class))).collect();
        for cpu in &cpus {
            classes[cpu.class].unknown += 1;
        }
        Self { at: world.now, classes, cpus }
    }

    /// A CPU changes.
    pub(crate) fn change(&mut self, place: usize, state: CpuState, now: Ns) {
        self.advance(now);
        let cpu = &mut self.cpus[place];
        let class = &mut self.classes[cpu.class];
        let same = class.found[Finds::Same as usize];
        match cpu.state {
            CpuState::Busy => {}
            CpuState::Idle => {
                cpu.idle = cpu.idle + (now - cpu.since);
                class.idle -= 1;
            }
            CpuState::Unknown => {
                cpu.unknown = cpu.unknown + (same - cpu.same_since);
                class.unknown -= 1;
            }
        }
        match state {
            CpuState::Busy => {}
            CpuState::Idle => class.idle += 1,
            CpuState::Unknown => class.unknown += 1,
        }
        (cpu.state, cpu.since, cpu.same_since) = (state, now, same);
        self.find();
    }

    /// What the clocks show to a thread on the run queue of the CPU at this place; on nobody knows which, if none.
    pub(crate) fn show(&mut self, place: Option<usize>, now: Ns) -> Found {
        self.advance(now);
        let Some(cpu) = place.and_then(|p| self.cpus.get(p)) else {
            return Found { unknown: now, ..Found::default() };
        };
        let found = &self.classes[cpu.class].found;
        let same = found[Finds::Same as usize];
        let own = cpu.idle + if cpu.state == CpuState::Idle { now - cpu.since } else { Ns::ZERO };
        // Where it is unknown itself, it may be idle or not, whatever others are.
        let unknown = cpu.unknown + if cpu.state == CpuState::Unknown { same - cpu.same_since } else { Ns::ZERO };
        Found {
            nothing: found[Finds::Nothing as usize],
            other_class: found[Finds::Other as usize],
            same_class: same - own - unknown,
            own,
            unknown: found[Finds::Unknown as usize] + unknown,
        }
    }

    fn advance(&mut self, now: Ns) {
        if now > self.at {
            for class in &mut self.classes {
                let found = &mut class.found[class.finds as usize];
                *found = *found + (now - self.at);
            }
            self.at = now;
        }
    }

    fn find(&mut self) {
        let idle: usize = self.classes.iter().map(|c| c.idle).sum();
        let unknown: usize = self.classes.iter().map(|c| c.unknown).sum();
        for class in &mut self.classes {
            class.finds = match (class.idle > 0, class.unknown > 0) {
                (true, _) => Finds::Same,
                (false, true) => Finds::Unknown,
                (false, false) if idle > 0 => Finds::Other,
                (false, false) if unknown > 0 => Finds::Unknown,
                (false, false) => Finds::Nothing,
            };
        }
    }
}
