//! Which CPUs a recording by perf events has, while CPUs go offline and come online.
//!
//! The kernel takes a CPU's events away with the CPU and does not bring them back, so they are opened anew. Nothing tells of it: the list
//! of CPUs is looked at again and again, and a CPU that was away between two looks is known by its events, which no longer count.
//!
//! ```text
//!   look   ·      ·      ·      ·
//!   CPU   ─────╴     ╶────────────       from the look before to where its events are open again
//!   loss                 ├──┤            nobody knows what ran there
//! ```

use std::collections::BTreeMap;

/// What ran on a CPU from here to there is not recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unrecorded {
    pub cpu: u32,
    /// On the trace's clock, ns.
    pub from: u64,
    pub to: u64,
    /// How many events that were; `None`: nobody knows.
    pub events: Option<u64>,
}

/// How a CPU stands.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Standing {
    /// Its events counted at that time, as far as was asked.
    Recorded(u64),
    Offline,
    /// Online since, and its events cannot be opened.
    Refused(u64, String),
}

/// The buffers and events that [`Online`] asks for.
pub trait Events {
    /// Whether a CPU's events still count; `None`: not asked this time.
    fn count(&mut self, cpu: u32, now: u64) -> Option<bool>;
    /// Opens a CPU's events.
    ///
    /// # Errors
    /// Why they cannot be opened.
    fn open(&mut self, cpu: u32) -> Result<(), String>;
    /// Takes what they hold, and closes them; how many events of it were lost.
    fn close(&mut self, cpu: u32) -> u64;
    /// The trace's clock.
    fn now(&self) -> u64;
}

/// The CPUs of a recording.
pub struct Online {
    cpus: BTreeMap<u32, Standing>,
    /// When they were looked at last.
    looked: u64,
    /// How often a CPU's events were opened anew.
    again: BTreeMap<u32, u32>,
    /// Why a CPU's events were refused.
    refused: BTreeMap<u32, String>,
}

impl Online {
    /// Those whose events are open, from the start on.
    pub fn new(cpus: impl Iterator<Item = u32>, now: u64) -> Self {
        let cpus = cpus.map(|cpu| (cpu, Standing::Recorded(now))).collect();
        Self { cpus, looked: now, again: BTreeMap::new(), refused: BTreeMap::new() }
    }

    /// Looks at those that are online now.
    pub fn look(&mut self, online: &[u32], events: &mut impl Events) -> Vec<Unrecorded> {
        let (now, mut all) = (events.now(), Vec::new());
        // That none is online means that the list cannot be read.
        if online.is_empty() {
            return all;
        }
        for (cpu, standing) in self.cpus.iter_mut().filter(|(cpu, _)| !online.contains(cpu)) {
            match std::mem::replace(standing, Standing::Offline) {
                Standing::Recorded(from) => all.extend(lost(events.close(*cpu), *cpu, from, now)),
                Standing::Refused(from, _) => all.push(Unrecorded { cpu: *cpu, from, to: now, events: None }),
                Standing::Offline => {}
            }
        }
        for cpu in online {
            let from = match self.cpus.get(cpu) {
                Some(Standing::Refused(..)) => continue,
                Some(Standing::Recorded(from)) => {
                    let from = *from;
                    match events.count(*cpu, now) {
                        None => continue,
                        Some(true) => {
                            self.cpus.insert(*cpu, Standing::Recorded(now));
                            continue;
                        }
                        Some(false) => all.extend(lost(events.close(*cpu), *cpu, from, now)),
                    }
                    from
                }
                Some(Standing::Offline) | None => self.looked,
            };
            *self.again.entry(*cpu).or_default() += 1;
            let standing = match events.open(*cpu) {
                Ok(()) => {
                    let to = events.now();
                    all.push(Unrecorded { cpu: *cpu, from, to, events: None });
                    Standing::Recorded(to)
                }
                Err(why) => {
                    self.refused.insert(*cpu, why.clone());
                    Standing::Refused(from, why)
                }
            };
            self.cpus.insert(*cpu, standing);
        }
        self.looked = now;
        all
    }

    /// What is not recorded to the end.
    pub fn end(&self, now: u64) -> Vec<Unrecorded> {
        let refused = |(cpu, standing): (&u32, &Standing)| match standing {
            Standing::Refused(from, _) => Some(Unrecorded { cpu: *cpu, from: *from, to: now, events: None }),
            _ => None,
        };
        self.cpus.iter().filter_map(refused).collect()
    }

    /// All CPUs that were online at some time.
    pub fn all(&self) -> impl Iterator<Item = u32> {
        self.cpus.keys().copied()
    }

    /// What the recording lacks for it, a sentence each.
    pub fn lacks(&self) -> Vec<String> {
        let of = |(cpu, times): (&u32, &u32)| match self.refused.get(cpu) {
            Some(why) => format!("CPU {cpu} came online during the recording and could not be recorded: {why}."),
            None => format!(
                "CPU {cpu} came online during the recording (x {times}): what ran there before that was noticed is lost."
            ),
        };
        self.again.iter().map(of).collect()
    }
}

fn lost(events: u64, cpu: u32, from: u64, to: u64) -> Option<Unrecorded> {
    (events > 0).then_some(Unrecorded { cpu, from, to, events: Some(events) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// A machine whose clock moves on by 1 with each reading.
    #[derive(Default)]
    struct Machine {
        now: std::cell::Cell<u64>,
        open: BTreeSet<u32>,
        dead: BTreeSet<u32>,
        forbidden: BTreeSet<u32>,
        full: u64,
        /// Nobody asks before then.
        asked: u64,
    }

    impl Events for Machine {
        fn count(&mut self, cpu: u32, now: u64) -> Option<bool> {
            (now >= self.asked).then(|| self.open.contains(&cpu) && !self.dead.contains(&cpu))
        }

        fn open(&mut self, cpu: u32) -> Result<(), String> {
            if self.forbidden.contains(&cpu) {
                return Err("no".into());
            }
            self.dead.remove(&cpu);
            assert!(self.open.insert(cpu), "CPU {cpu} is open already");
            Ok(())
        }

        fn close(&mut self, cpu: u32) -> u64 {
            assert!(self.open.remove(&cpu), "CPU {cpu} is closed already");
            std::mem::take(&mut self.full)
        }

        fn now(&self) -> u64 {
            self.now.set(self.now.get() + 1);
            self.now.get()
        }
    }

    fn gap(cpu: u32, from: u64, to: u64) -> Unrecorded {
        Unrecorded { cpu, from, to, events: None }
    }

    #[test]
    fn a_cpu_that_comes_back_is_recorded_again() {
        let mut machine = Machine { open: [0, 1].into(), ..Machine::default() };
        let mut online = Online::new([0, 1].into_iter(), 0);
        let mut look = |machine: &mut Machine, at: u64, cpus: &[u32]| {
            machine.now.set(at);
            online.look(cpus, machine)
        };
        assert_eq!(look(&mut machine, 10, &[0, 1]), []);
        assert_eq!(look(&mut machine, 20, &[0]), []);
        assert_eq!(look(&mut machine, 30, &[0]), []);
        // From the last look that saw it offline, to when its events were open.
        assert_eq!(look(&mut machine, 40, &[0, 1]), [gap(1, 31, 42)]);
        assert_eq!(look(&mut machine, 50, &[0, 1]), []);
        // Away and back between two looks: from the last look at which its events counted.
        machine.dead.insert(1);
        assert_eq!(look(&mut machine, 60, &[0, 1]), [gap(1, 51, 62)]);
        // Not asked between: from where it was known to count.
        machine.asked = 68;
        machine.dead.insert(1);
        assert_eq!(look(&mut machine, 65, &[0, 1]), []);
        assert_eq!(look(&mut machine, 68, &[0, 1]), [gap(1, 62, 70)]);
        machine.asked = 0;
        // One that was not there when the recording began.
        assert_eq!(look(&mut machine, 80, &[0, 1, 5]), [gap(5, 69, 82)]);
        // A list that cannot be read says nothing.
        assert_eq!(look(&mut machine, 90, &[]), []);
        // What its buffer had no room for goes with it.
        machine.full = 7;
        assert_eq!(look(&mut machine, 100, &[0, 1]), [Unrecorded { cpu: 5, from: 82, to: 101, events: Some(7) }]);
        assert_eq!(machine.open, [0, 1].into());
        assert_eq!(online.all().collect::<Vec<_>>(), [0, 1, 5]);
        let lacks = online.lacks();
        assert!(lacks.len() == 2 && lacks[0].starts_with("CPU 1 came online during the recording (x 3)"), "{lacks:?}");
        assert_eq!(online.end(99), []);
    }

    #[test]
    fn one_that_is_refused_is_told_to_the_end() {
        let mut machine = Machine { open: [0].into(), forbidden: [1].into(), ..Machine::default() };
        let mut online = Online::new([0].into_iter(), 0);
        machine.now.set(10);
        assert_eq!(online.look(&[0, 1], &mut machine), []);
        assert_eq!(online.look(&[0, 1], &mut machine), []);
        assert_eq!(online.end(50), [gap(1, 0, 50)]);
        assert!(online.lacks()[0].contains("could not be recorded: no"), "{:?}", online.lacks());
        machine.now.set(60);
        assert_eq!(online.look(&[0], &mut machine), [gap(1, 0, 61)]);
        assert_eq!(online.end(70), []);
    }
}
