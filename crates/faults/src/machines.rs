//! Simulated machines: uniform without and with SMT, P and E cores with SMT on P, big.LITTLE.

use crate::program::Cpus;
use testkit::Rng;

/// A CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Its core; CPUs of one core are siblings.
    pub core: usize,
    /// Its speed while its sibling is idle, in thousandths of the fastest CPU.
    pub speed: i64,
}

/// What a scheduler must know about a machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machine {
    /// CPUs by number.
    pub places: Vec<Place>,
    core_types: Vec<char>,
    kind: Kind,
}

/// The kind of a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// All CPUs are equal.
    Uniform,
    /// Performance cores with two CPUs each, efficient ones with one.
    Hybrid,
    /// Big and little cores, no siblings.
    BigLittle,
    /// Equal cores with two CPUs each.
    Smt,
}

/// Speed of each of two busy siblings, in thousandths of one alone: together they are a quarter faster.
pub const SHARED: i64 = 625;

impl Machine {
    /// Draws a machine of this kind with 4 to 64 CPUs.
    #[must_use]
    pub fn drawn(kind: Kind, rng: &mut Rng) -> Machine {
        let fours = [4, 8, 12, 16, 24, 32, 64][rng.below(7)];
        let (cores, smt, slow) = match kind {
            Kind::Uniform => (fours, 0, 0),
            Kind::Hybrid => (fours * 3 / 4, fours / 4, fours / 2),
            Kind::BigLittle => (fours, 0, fours / 2),
            Kind::Smt => (fours / 2, fours / 2, 0),
        };
        let speed = 500 + 10 * rng.below(16) as i64;
        let mut machine = Machine { places: Vec::new(), core_types: Vec::new(), kind };
        for core in 0..cores {
            let (core_type, speed) = match (kind, core >= cores - slow) {
                (Kind::Uniform | Kind::Smt, _) => ('U', 1000),
                (_, false) => ('P', 1000),
                (_, true) => ('E', speed),
            };
            for _ in 0..1 + usize::from(core < smt) {
                machine.places.push(Place { core, speed });
                machine.core_types.push(core_type);
            }
        }
        machine
    }

    /// The number of CPUs.
    #[must_use]
    pub fn cpus(&self) -> usize {
        self.places.len()
    }

    /// All CPUs.
    #[must_use]
    pub fn all(&self) -> Cpus {
        Cpus::MAX >> (64 - self.cpus())
    }

    /// The CPUs of the fastest cores.
    #[must_use]
    pub fn fast(&self) -> Cpus {
        self.places.iter().enumerate().filter(|(_, p)| p.speed == 1000).map(|(n, _)| 1 << n).sum()
    }

    /// The CPUs of slower cores.
    #[must_use]
    pub fn slow(&self) -> Cpus {
        self.all() & !self.fast()
    }

    /// The number of cores of the fastest type.
    #[must_use]
    pub fn fast_cores(&self) -> usize {
        let mut cores: Vec<usize> = self.places.iter().filter(|p| p.speed == 1000).map(|p| p.core).collect();
        cores.dedup();
        cores.len()
    }

    /// The other CPU of its core.
    #[must_use]
    pub fn sibling(&self, cpu: usize) -> Option<usize> {
        (0..self.cpus()).find(|other| *other != cpu && self.places[*other].core == self.places[cpu].core)
    }

    /// Returns the machine as the topology crate describes it: with capacities only if Linux would have them, which it does not on x86
    /// with SMT (`intel_pstate`).
    #[must_use]
    pub fn described(&self) -> topology::Machine {
        let line = |(cpu, place): (usize, &Place)| format!("cpu{cpu} {}{}\n", self.core_types[cpu], place.core);
        let mut machine = testkit::machine(&self.places.iter().enumerate().map(line).collect::<String>());
        if self.kind == Kind::BigLittle {
            let capacities = self.places.iter().map(|p| u32::try_from(p.speed * 1024 / 1000).ok());
            machine.cpus.iter_mut().zip(capacities).for_each(|(cpu, capacity)| cpu.capacity = capacity);
        }
        machine
    }
}
