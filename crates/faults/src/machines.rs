//! Machines to draw traces of: uniform, P and E cores with SMT on P, big.LITTLE.

use crate::program::Cpus;
use testkit::Rng;

/// A CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Its core; CPUs of one core are siblings.
    pub core: usize,
    /// What a thread computes here in a second, in thousandths of the fastest, while the sibling idles.
    pub speed: i64,
}

/// What of a machine a scheduler must know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machine {
    /// CPUs by number.
    pub places: Vec<Place>,
    letters: Vec<char>,
    make: Kind,
}

/// How a machine is made up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// All CPUs alike.
    Uniform,
    /// Performance cores with two CPUs each, efficient ones with one.
    Hybrid,
    /// Big and little cores, no siblings.
    BigLittle,
}

/// Speed of both siblings while both compute, in thousandths of one alone: two together do a quarter more.
pub const SHARED: i64 = 625;

impl Machine {
    /// One of this kind with 4 to 64 CPUs.
    #[must_use]
    pub fn drawn(kind: Kind, rng: &mut Rng) -> Machine {
        let fours = [4, 8, 12, 16, 24, 32, 64][rng.below(7)];
        let (cores, smt, slow) = match kind {
            Kind::Uniform => (fours, 0, 0),
            Kind::Hybrid => (fours * 3 / 4, fours / 4, fours / 2),
            Kind::BigLittle => (fours, 0, fours / 2),
        };
        let speed = 500 + 10 * rng.below(16) as i64;
        let mut machine = Machine { places: Vec::new(), letters: Vec::new(), make: kind };
        for core in 0..cores {
            let (letter, speed) = match (kind, core >= cores - slow) {
                (Kind::Uniform, _) => ('U', 1000),
                (_, false) => ('P', 1000),
                (_, true) => ('E', speed),
            };
            for _ in 0..1 + usize::from(core < smt) {
                machine.places.push(Place { core, speed });
                machine.letters.push(letter);
            }
        }
        machine
    }

    /// How many CPUs it has.
    #[must_use]
    pub fn cpus(&self) -> usize {
        self.places.len()
    }

    /// All CPUs.
    #[must_use]
    pub fn all(&self) -> Cpus {
        Cpus::MAX >> (64 - self.cpus())
    }

    /// CPUs of the fastest cores.
    #[must_use]
    pub fn fast(&self) -> Cpus {
        self.places.iter().enumerate().filter(|(_, p)| p.speed == 1000).map(|(n, _)| 1 << n).sum()
    }

    /// CPUs of slower cores.
    #[must_use]
    pub fn slow(&self) -> Cpus {
        self.all() & !self.fast()
    }

    /// The cores of the fastest type.
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

    /// As topology has it: with capacities where Linux has them, which is not on x86 with SMT on (`intel_pstate`).
    #[must_use]
    pub fn described(&self) -> topology::Machine {
        let line = |(cpu, place): (usize, &Place)| format!("cpu{cpu} {}{}\n", self.letters[cpu], place.core);
        let mut machine = testkit::machine(&self.places.iter().enumerate().map(line).collect::<String>());
        if self.make == Kind::BigLittle {
            let capacities = self.places.iter().map(|p| u32::try_from(p.speed * 1024 / 1000).ok());
            machine.cpus.iter_mut().zip(capacities).for_each(|(cpu, capacity)| cpu.capacity = capacity);
        }
        machine
    }
}
