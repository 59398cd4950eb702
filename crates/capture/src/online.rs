//! The CPUs of a perf recording, while CPUs go offline and come online.
//!
//! The kernel removes a CPU's events when it goes offline and does not restore them, so they are reopened. The kernel does not notify of
//! this: the list of CPUs is polled, and a CPU that was offline between two checks is detected by its events, which no longer count.
//!
//! ```text
//!   check  ·      ·      ·      ·
//!   CPU   ─────╴     ╶────────────
//!   gap           ├──────┤               from the check before to where its events are open again
//! ```

use crate::{samples, wire};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;

/// Reading an event returns, after its count, how long it was enabled, ns (`PERF_FORMAT_TOTAL_TIME_ENABLED`).
pub const TIME_ENABLED: u64 = 1;

/// Interval between two checks whether a CPU's events still count, ns. Each check interrupts that CPU.
const CHECK_NS: u64 = 1_000_000_000;

/// For how long an event of a CPU had been enabled at the last check.
#[derive(Default)]
pub struct EnabledTime {
    enabled: u64,
    /// No earlier than the reading; 0: not read yet.
    at: u64,
}

impl EnabledTime {
    /// Whether the event, opened with [`TIME_ENABLED`], still counts; `None`: not checked, or unclear. When the kernel removes events
    /// with their CPU, the time for which they are enabled stops. That time uses the scheduler's clock, which is imprecise on some
    /// machines: an unclear result is checked again.
    pub fn check(&mut self, event: &mut File, now: u64) -> Option<bool> {
        let (before, at) = (self.enabled, self.at);
        if now.saturating_sub(at) < CHECK_NS {
            return None;
        }
        // The count, and the time enabled.
        let mut words = [0; 16];
        if event.read_exact(&mut words).is_err() {
            return Some(false);
        }
        self.enabled = wire::Bytes::new(&words[8..]).u64();
        self.at = samples::now();
        let (more, passed) = (self.enabled.saturating_sub(before), now - at);
        match at {
            0 => Some(true),
            _ if more >= passed - passed / 20 => Some(true),
            _ if more < passed / 2 => Some(false),
            _ => None,
        }
    }
}

/// A time for which a CPU was not recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap {
    pub cpu: u32,
    /// On the trace's clock, ns.
    pub from: u64,
    pub to: u64,
    /// The number of lost events; `None`: unknown.
    pub events: Option<u64>,
}

/// The state of a CPU's recording.
#[derive(Clone, PartialEq, Eq, Debug)]
enum CpuState {
    /// Recorded, and checked last at this time.
    Recorded(u64),
    Offline,
    /// Online since this time, but its events cannot be opened.
    Refused(u64, String),
}

/// Opens and closes the events that [`Online`] manages.
pub trait Events {
    /// Whether a CPU's events still count; `None`: not checked this time.
    fn count(&mut self, cpu: u32, now: u64) -> Option<bool>;
    /// Opens a CPU's events.
    ///
    /// # Errors
    /// The reason why they cannot be opened.
    fn open(&mut self, cpu: u32) -> Result<(), String>;
    /// Drains a CPU's events and closes them. Returns how many events were lost.
    fn close(&mut self, cpu: u32) -> u64;
    /// Returns the time on the trace's clock.
    fn now(&self) -> u64;
}

/// The CPUs of a recording.
pub struct Online {
    cpus: BTreeMap<u32, CpuState>,
    /// When they were last checked.
    checked_at: u64,
    /// How often each CPU's events were reopened.
    reopened: BTreeMap<u32, u32>,
    /// Why a CPU's events could not be opened.
    refused: BTreeMap<u32, String>,
}

impl Online {
    /// Starts with the CPUs whose events are open.
    pub fn new(cpus: impl Iterator<Item = u32>, now: u64) -> Self {
        let cpus = cpus.map(|cpu| (cpu, CpuState::Recorded(now))).collect();
        Self { cpus, checked_at: now, reopened: BTreeMap::new(), refused: BTreeMap::new() }
    }

    /// Compares with the CPUs that are online now, and opens and closes events. Returns the gaps.
    pub fn update(&mut self, online: &[u32], events: &mut impl Events) -> Vec<Gap> {
        let (now, mut all) = (events.now(), Vec::new());
        // If the list is empty, it could not be read.
        if online.is_empty() {
            return all;
        }
        for (cpu, standing) in self.cpus.iter_mut().filter(|(cpu, _)| !online.contains(cpu)) {
            match std::mem::replace(standing, CpuState::Offline) {
                CpuState::Recorded(from) => all.extend(lost(events.close(*cpu), *cpu, from, now)),
                CpuState::Refused(from, _) => all.push(Gap { cpu: *cpu, from, to: now, events: None }),
                CpuState::Offline => {}
            }
        }
        for cpu in online {
            let from = match self.cpus.get(cpu) {
                Some(CpuState::Refused(..)) => continue,
                Some(CpuState::Recorded(from)) => {
                    let from = *from;
                    match events.count(*cpu, now) {
                        None => continue,
                        Some(true) => {
                            self.cpus.insert(*cpu, CpuState::Recorded(now));
                            continue;
                        }
                        Some(false) => all.extend(lost(events.close(*cpu), *cpu, from, now)),
                    }
                    from
                }
                Some(CpuState::Offline) | None => self.checked_at,
            };
            *self.reopened.entry(*cpu).or_default() += 1;
            let standing = match events.open(*cpu) {
                Ok(()) => {
                    let to = events.now();
                    all.push(Gap { cpu: *cpu, from, to, events: None });
                    CpuState::Recorded(to)
                }
                Err(why) => {
                    self.refused.insert(*cpu, why.clone());
                    CpuState::Refused(from, why)
                }
            };
            self.cpus.insert(*cpu, standing);
        }
        self.checked_at = now;
        all
    }

    /// Returns the gaps that last to the end.
    pub fn end(&self, now: u64) -> Vec<Gap> {
        let refused = |(cpu, standing): (&u32, &CpuState)| match standing {
            CpuState::Refused(from, _) => Some(Gap { cpu: *cpu, from: *from, to: now, events: None }),
            _ => None,
        };
        self.cpus.iter().filter_map(refused).collect()
    }

    /// Returns all CPUs that were online at any time.
    pub fn all(&self) -> impl Iterator<Item = u32> {
        self.cpus.keys().copied()
    }

    /// Returns the CPUs that came online.
    pub fn reopened(&self) -> impl Iterator<Item = u32> {
        self.reopened.keys().copied()
    }

    /// Returns one sentence for each CPU that came online.
    pub fn lacks(&self) -> Vec<String> {
        let of = |(cpu, times): (&u32, &u32)| match self.refused.get(cpu) {
            Some(why) => format!("CPU {cpu} came online during the recording and could not be recorded: {why}."),
            None => format!(
                "CPU {cpu} came online during the recording (x {times}): events on it before this was detected are lost."
            ),
        };
        self.reopened.iter().map(of).collect()
    }
}

fn lost(events: u64, cpu: u32, from: u64, to: u64) -> Option<Gap> {
    (events > 0).then_some(Gap { cpu, from, to, events: Some(events) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// A machine whose clock advances by 1 with each reading.
    #[derive(Default)]
    struct Machine {
        now: std::cell::Cell<u64>,
        open: BTreeSet<u32>,
        dead: BTreeSet<u32>,
        forbidden: BTreeSet<u32>,
        full: u64,
        /// Before this time [`Events::count`] does not check.
        count_from: u64,
    }

    impl Events for Machine {
        fn count(&mut self, cpu: u32, now: u64) -> Option<bool> {
            (now >= self.count_from).then(|| self.open.contains(&cpu) && !self.dead.contains(&cpu))
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

    fn gap(cpu: u32, from: u64, to: u64) -> Gap {
        Gap { cpu, from, to, events: None }
    }

    #[test]
    fn a_cpu_that_comes_back_is_recorded_again() {
        let mut machine = Machine { open: [0, 1].into(), ..Machine::default() };
        let mut online = Online::new([0, 1].into_iter(), 0);
        let mut update = |machine: &mut Machine, at: u64, cpus: &[u32]| {
            machine.now.set(at);
            online.update(cpus, machine)
        };
        assert_eq!(update(&mut machine, 10, &[0, 1]), []);
        assert_eq!(update(&mut machine, 20, &[0]), []);
        assert_eq!(update(&mut machine, 30, &[0]), []);
        // From the last check that saw it offline, to when its events were open.
        assert_eq!(update(&mut machine, 40, &[0, 1]), [gap(1, 31, 42)]);
        assert_eq!(update(&mut machine, 50, &[0, 1]), []);
        // Offline and back between two checks: from the last check at which its events counted.
        machine.dead.insert(1);
        assert_eq!(update(&mut machine, 60, &[0, 1]), [gap(1, 51, 62)]);
        // Not checked in between: from when its events are known to have counted.
        machine.count_from = 68;
        machine.dead.insert(1);
        assert_eq!(update(&mut machine, 65, &[0, 1]), []);
        assert_eq!(update(&mut machine, 68, &[0, 1]), [gap(1, 62, 70)]);
        machine.count_from = 0;
        // A CPU that was not online when the recording began.
        assert_eq!(update(&mut machine, 80, &[0, 1, 5]), [gap(5, 69, 82)]);
        // A list that cannot be read changes nothing.
        assert_eq!(update(&mut machine, 90, &[]), []);
        // Events for which its buffer had no room.
        machine.full = 7;
        assert_eq!(update(&mut machine, 100, &[0, 1]), [Gap { cpu: 5, from: 82, to: 101, events: Some(7) }]);
        assert_eq!(machine.open, [0, 1].into());
        assert_eq!(online.all().collect::<Vec<_>>(), [0, 1, 5]);
        let lacks = online.lacks();
        assert!(lacks.len() == 2 && lacks[0].starts_with("CPU 1 came online during the recording (x 3)"), "{lacks:?}");
        assert_eq!(online.end(99), []);
    }

    #[test]
    fn a_cpu_that_cannot_be_opened_is_a_gap_to_the_end() {
        let mut machine = Machine { open: [0].into(), forbidden: [1].into(), ..Machine::default() };
        let mut online = Online::new([0].into_iter(), 0);
        machine.now.set(10);
        assert_eq!(online.update(&[0, 1], &mut machine), []);
        assert_eq!(online.update(&[0, 1], &mut machine), []);
        assert_eq!(online.end(50), [gap(1, 0, 50)]);
        assert!(online.lacks()[0].contains("could not be recorded: no"), "{:?}", online.lacks());
        machine.now.set(60);
        assert_eq!(online.update(&[0], &mut machine), [gap(1, 0, 61)]);
        assert_eq!(online.end(70), []);
    }
}
