//! The machine on which a program is replayed.

/// A set of CPUs.
///
/// ```
/// use simulate::Cpus;
///
/// let cpus = Cpus::of([0, 70]);
/// assert!(cpus.has(70) && !cpus.has(1) && !cpus.has(1000));
/// assert_eq!(cpus.iter().collect::<Vec<_>>(), [0, 70]);
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cpus(Vec<u64>);

impl Cpus {
    /// Returns the set of these CPUs.
    #[must_use]
    pub fn of(cpus: impl IntoIterator<Item = usize>) -> Self {
        let mut words = Vec::new();
        for cpu in cpus {
            if words.len() <= cpu / 64 {
                words.resize(cpu / 64 + 1, 0);
            }
            words[cpu / 64] |= 1 << (cpu % 64);
        }
        Self(words)
    }

    /// Whether a CPU is in it.
    #[must_use]
    pub fn has(&self, cpu: usize) -> bool {
        self.0.get(cpu / 64).is_some_and(|word| word >> (cpu % 64) & 1 == 1)
    }

    /// Returns its CPUs in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.0.len() * 64).filter(|cpu| self.has(*cpu))
    }
}

/// A type of core.
#[derive(Clone, PartialEq, Debug)]
pub struct Type {
    /// Its name.
    pub name: String,
    /// Its speed relative to the fastest type: 1 for that.
    pub speed: f64,
}

/// A CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cpu {
    /// The type of its core: a place in [`Machine::types`].
    pub kind: usize,
    /// Its core. CPUs of one core are siblings.
    pub core: usize,
    /// The last-level cache that it shares.
    pub cache: usize,
}

/// A machine.
#[derive(Clone, PartialEq, Debug)]
pub struct Machine {
    /// The types of cores.
    pub types: Vec<Type>,
    /// The CPUs.
    pub cpus: Vec<Cpu>,
    /// The speed of a CPU whose sibling is busy, relative to that with an idle one.
    pub with_busy_sibling: f64,
    /// The speed of all CPUs if 1, 2, … CPUs are busy, relative to nominal; the last one for more; empty: 1.
    pub speed_by_busy: Vec<f64>,
    /// From a wakeup to the switch on an idle CPU, ns.
    pub idle_exit_ns: i64,
    /// From a wakeup on another CPU that preempts to the switch, ns.
    pub interrupt_ns: i64,
    /// What a switch costs the thread that is switched in, ns.
    pub switch_ns: i64,
    /// What moving to another CPU costs it in addition, ns.
    pub move_ns: i64,
}

impl Machine {
    /// Returns a machine of equal CPUs with one cache, whose switches cost nothing.
    #[must_use]
    pub fn uniform(cpus: usize) -> Self {
        Self {
            types: vec![Type { name: String::new(), speed: 1.0 }],
            cpus: (0..cpus).map(|core| Cpu { kind: 0, core, cache: 0 }).collect(),
            with_busy_sibling: 1.0,
            speed_by_busy: Vec::new(),
            idle_exit_ns: 0,
            interrupt_ns: 0,
            switch_ns: 0,
            move_ns: 0,
        }
    }

    /// The siblings of a CPU, without it.
    pub fn siblings(&self, cpu: usize) -> impl Iterator<Item = usize> + '_ {
        let core = self.cpus[cpu].core;
        (0..self.cpus.len()).filter(move |other| *other != cpu && self.cpus[*other].core == core)
    }

    /// The nominal speed of a CPU.
    #[must_use]
    pub fn speed(&self, cpu: usize) -> f64 {
        self.types[self.cpus[cpu].kind].speed
    }
}
