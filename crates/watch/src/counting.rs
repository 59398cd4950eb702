//! What the CPUs' counters count, added up by event, PMU and class of cores. A count without its class of cores says nothing: cores of
//! different classes do different work in a cycle.
//!
//! ```text
//!   CPU        ───────────────╴          ╶──────────     offline: the kernel removes its events, they are opened again
//!   its event  ▓▓▓▓▓▓▓▓░░▓▓▓▓▓             ▓▓▓▓▓▓▓▓▓     ░ not on its counter: others need it too
//!              counted  estimated       missing
//! ```
//!
//! The events are of whole CPUs and only counted: there are no samples, and nothing happens at a switch. A reading interrupts each CPU once
//! for each set of events.

use crate::snapshot::CounterSums;
use capture::{CounterPlan, open_event};
use model::CpuId;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use topology::Machine;

/// `PERF_FORMAT_TOTAL_TIME_ENABLED`, `_TOTAL_TIME_RUNNING` and `_GROUP`.
const READ_GROUP: u64 = 1 | 2 | 8;
/// The most events of a set; no PMU has as many counters.
const MAX_EVENTS: usize = 64;
/// The most open files that are asked for.
const MAX_FILES: u64 = 1 << 16;
/// Times of the event and of the watcher's clock may differ by as much, ns.
const SLACK_NS: u64 = 1_000_000;

/// The open events of the CPUs, and their sums.
#[derive(Default)]
pub struct Counting {
    plan: CounterPlan,
    cpus: BTreeMap<u32, Vec<Set>>,
    /// CPUs whose events cannot be opened while they are online.
    refused: BTreeSet<u32>,
    sums: BTreeMap<(usize, String, usize), CounterSums>,
    /// Events that the plan has once more under the same name, which would be two sums of one name.
    again: BTreeSet<usize>,
    /// What is not counted, a sentence each.
    pub lacks: Vec<String>,
}

/// A set of events of a CPU.
struct Set {
    /// Which one of the plan.
    of: usize,
    /// The leader first.
    events: Vec<File>,
    last: Reading,
}

/// The values of a set.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Reading {
    /// Before and after it was read, which takes long if the thread that reads has to wait for a CPU.
    at_ns: [u64; 2],
    enabled: u64,
    running: u64,
    counts: Vec<u64>,
}

/// What happened between two readings of a set.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Difference {
    counts: Vec<u64>,
    counted_ns: u64,
    estimated_ns: u64,
    missing_ns: u64,
    /// Whether its events have been removed: their CPU was offline meanwhile.
    is_dead: bool,
}

impl Reading {
    /// Decodes what the kernel returns with [`READ_GROUP`]: the number of events, both times, the counts.
    fn decode(bytes: &[u8], at_ns: [u64; 2]) -> Option<Self> {
        let mut words = bytes.chunks_exact(8).filter_map(|word| Some(u64::from_ne_bytes(word.try_into().ok()?)));
        let (events, enabled, running) = (words.next()?, words.next()?, words.next()?);
        let counts: Vec<u64> = words.collect();
        (counts.len() as u64 == events).then_some(Self { at_ns, enabled, running, counts })
    }

    /// What happened since an earlier reading.
    fn since(&self, before: &Self) -> Difference {
        let enabled = self.enabled.saturating_sub(before.enabled);
        let ran = self.running.saturating_sub(before.running).min(enabled);
        // At least.
        let passed = self.at_ns[0].saturating_sub(before.at_ns[1]);
        // The kernel removes the events of a CPU that goes offline, and then the time for which they are enabled stands still.
        let is_dead = enabled + SLACK_NS < passed / 2;
        let is_short = enabled + SLACK_NS < passed - passed / 20;
        let gap = if is_short { passed - enabled } else { 0 };
        let counts = self.counts.iter().zip(&before.counts).map(|(now, then)| {
            let count = u128::from(now.saturating_sub(*then));
            // The rest is as the part that was counted.
            u64::try_from(count * u128::from(enabled.max(ran)) / u128::from(ran.max(1))).unwrap_or(u64::MAX)
        });
        Difference {
            counts: if ran == 0 { Vec::new() } else { counts.collect() },
            counted_ns: ran,
            estimated_ns: if ran == 0 { 0 } else { enabled - ran },
            missing_ns: gap + if ran == 0 { enabled } else { 0 },
            is_dead,
        }
    }
}

impl Set {
    fn read(&mut self) -> Option<Reading> {
        let mut bytes = [0; 24 + 8 * MAX_EVENTS];
        let before_ns = crate::now_ns();
        let read = self.events.first_mut()?.read(&mut bytes).ok()?;
        Reading::decode(bytes.get(..read)?, [before_ns, crate::now_ns()])
    }
}

impl Counting {
    /// Prepares to count; nothing is opened yet.
    pub fn new(plan: CounterPlan) -> Self {
        if !plan.sets.is_empty() {
            allow_files();
        }
        let lacks = plan.lacks.clone();
        let is_again = |at: &usize| plan.events.iter().take(*at).any(|before| plan.events.get(*at) == Some(before));
        let again = (0..plan.events.len()).filter(is_again).collect();
        Self { plan, again, lacks, ..Self::default() }
    }

    /// Reads the events of all CPUs, and opens those of CPUs that came online if `opens`; the first time, of all.
    pub fn read(&mut self, machine: &Machine, online: &[bool], opens: bool) {
        if self.plan.sets.is_empty() {
            return;
        }
        for cpu in 0..online.len() as u32 {
            let is_online = online.get(cpu as usize).copied().unwrap_or(false);
            let class = machine.core_class(CpuId(cpu)) as usize;
            let is_dead = self.add(cpu, class);
            if is_dead || !is_online {
                self.cpus.remove(&cpu);
            }
            if !is_online {
                self.refused.remove(&cpu);
            } else if opens && !self.cpus.contains_key(&cpu) && !self.refused.contains(&cpu) {
                self.open(cpu);
            }
        }
    }

    /// Adds what a CPU counted since the last reading. Returns whether its events have been removed.
    fn add(&mut self, cpu: u32, class: usize) -> bool {
        let mut is_dead = false;
        for set in self.cpus.get_mut(&cpu).into_iter().flatten() {
            let Some(now) = set.read() else {
                is_dead = true;
                continue;
            };
            let difference = now.since(&set.last);
            is_dead |= difference.is_dead;
            set.last = now;
            let Some(of) = self.plan.sets.get(set.of) else { continue };
            for (place, (event, _)) in
                of.events.iter().enumerate().filter(|(_, (event, _))| !self.again.contains(event))
            {
                let name = || self.plan.events.get(*event).cloned().unwrap_or_default();
                let new = || CounterSums { event: name(), pmu: of.pmu.clone(), class, ..CounterSums::default() };
                let sums = self.sums.entry((*event, of.pmu.clone(), class)).or_insert_with(new);
                sums.count += difference.counts.get(place).copied().unwrap_or(0);
                sums.counted_ns += difference.counted_ns;
                sums.estimated_ns += difference.estimated_ns;
                sums.missing_ns += difference.missing_ns;
            }
        }
        is_dead
    }

    fn open(&mut self, cpu: u32) {
        let mut sets = Vec::new();
        for (at, of) in self.plan.sets.iter().enumerate().filter(|(_, of)| of.cpus.contains(&CpuId(cpu))) {
            let mut set = Set { of: at, events: Vec::new(), last: Reading::default() };
            for (event, attr) in &of.events {
                match open_event(attr, cpu, set.events.first().map(AsFd::as_fd), READ_GROUP, 0) {
                    Ok(fd) => set.events.push(fd.into()),
                    Err(why) => {
                        let name = self.plan.events.get(*event).map_or("", String::as_str);
                        let why = capture::refused(name, cpu, &why);
                        self.lacks.push(format!("CPU {cpu} counts nothing: {why}."));
                        self.refused.insert(cpu);
                        return;
                    }
                }
            }
            if let Some(first) = set.read() {
                set.last = first;
                sets.push(set);
            }
        }
        self.cpus.insert(cpu, sets);
    }

    /// Returns the sums up to the last reading, by event, PMU and class.
    pub fn sums(&self) -> Vec<CounterSums> {
        self.sums.values().cloned().collect()
    }
}

/// Each event of a CPU is a file: permits as many as this process may have.
fn allow_files() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes one rlimit, and reads it.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_cur.max(limit.rlim_max.min(MAX_FILES));
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;

    fn reading(at_ns: u64, enabled: u64, running: u64, counts: &[u64]) -> Reading {
        Reading { at_ns: [at_ns; 2], enabled, running, counts: counts.into() }
    }

    #[test]
    fn what_shared_its_counter_is_estimated_and_what_never_ran_is_missing() {
        const MS: u64 = 1_000_000;
        let before = reading(0, 0, 0, &[100, 7]);
        let all = reading(10 * MS, 10 * MS, 10 * MS, &[1100, 17]).since(&before);
        assert_eq!((all.counts, all.counted_ns, all.estimated_ns, all.missing_ns), (vec![1000, 10], 10 * MS, 0, 0));
        let shared = reading(10 * MS, 10 * MS, 4 * MS, &[500, 7]).since(&before);
        assert_eq!((shared.counts, shared.counted_ns), (vec![1000, 0], 4 * MS));
        assert_eq!((shared.estimated_ns, shared.missing_ns, shared.is_dead), (6 * MS, 0, false));
        let never = reading(10 * MS, 10 * MS, 0, &[100, 7]).since(&before);
        assert_eq!((never.counts, never.counted_ns, never.missing_ns), (vec![], 0, 10 * MS));
    }

    #[test]
    fn events_whose_time_stands_still_were_removed_with_their_cpu() {
        const S: u64 = 1_000_000_000;
        let off = reading(10 * S, 2 * S, 2 * S, &[200]).since(&reading(0, 0, 0, &[0]));
        assert_eq!((off.counts, off.counted_ns, off.missing_ns, off.is_dead), (vec![200], 2 * S, 8 * S, true));
    }

    /// A thread that waited for a CPU after it had read the events, or before: no time is missing.
    #[test]
    fn a_reading_that_took_long_misses_nothing() {
        const MS: u64 = 1_000_000;
        let before = Reading { at_ns: [0, 40 * MS], ..reading(0, 0, 0, &[0]) };
        let now = Reading { at_ns: [60 * MS, 200 * MS], ..reading(0, 60 * MS, 60 * MS, &[60]) };
        let found = now.since(&before);
        assert_eq!((found.counted_ns, found.estimated_ns, found.missing_ns, found.is_dead), (60 * MS, 0, 0, false));
        let late = Reading { at_ns: [60 * MS, 600 * MS], ..now };
        assert_eq!((late.since(&before).missing_ns, late.since(&before).is_dead), (0, false));
    }

    /// Software events exist on every machine. One that is named twice has one sum. The clock of a CPU counts ns: each CPU counts for at least
    /// the time between the two readings, and at most for the time from before the first one to after the second one.
    #[test]
    #[ignore = "needs perf events"]
    fn the_kernels_own_events_are_counted_on_every_cpu() {
        let attr = counters::Attr { kind: 1, config: 0, ..Default::default() }; // cpu-clock
        let machine = topology::live();
        let cpus: Vec<CpuId> = machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
        let set =
            |event| capture::CounterSet { pmu: "software".into(), cpus: cpus.clone(), events: vec![(event, attr)] };
        let events = vec!["cpu-clock".to_owned(); 2];
        let mut counting = Counting::new(CounterPlan { events, sets: vec![set(0), set(1)], lacks: vec![] });
        let online: Vec<bool> = (0..=u32::from(u8::MAX)).map(|cpu| cpus.contains(&CpuId(cpu))).collect();
        let begin = crate::now_ns();
        counting.read(&machine, &online, true);
        let read = crate::now_ns();
        std::thread::sleep(std::time::Duration::from_millis(50));
        let read_again = crate::now_ns();
        counting.read(&machine, &online, true);
        let end = crate::now_ns();
        let sums = counting.sums();
        let [one] = &sums[..] else { panic!("{sums:?}") };
        assert_eq!((one.estimated_ns, one.missing_ns), (0, 0));
        // The kernel's clock of a CPU is another one than ours: their rates differ by less than 1 %.
        let [least, most] = [read_again - read, end - begin].map(|ns| ns * cpus.len() as u64);
        for counted in [one.counted_ns, one.count] {
            assert!(counted >= least / 100 * 99 && counted <= most / 100 * 101, "{least} to {most}: {one:?}");
        }
    }

    #[test]
    fn a_reading_that_is_not_of_the_set_is_none() {
        let bytes = |words: &[u64]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
        assert_eq!(Reading::decode(&bytes(&[2, 9, 8, 5, 6]), [3; 2]), Some(reading(3, 9, 8, &[5, 6])));
        assert_eq!(Reading::decode(&bytes(&[2, 9, 8, 5]), [3; 2]), None);
        assert_eq!(Reading::decode(&[], [3; 2]), None);
    }
}
