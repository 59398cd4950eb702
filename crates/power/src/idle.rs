//! Idle states: what the kernel requested of each CPU (cpuidle, the kernel's Documentation/ABI/testing/sysfs-devices-system-cpu: times in µs),
//! and where the hardware was (the PMUs `cstate_core` and `cstate_pkg`, whose counts are compared with the time-stamp counter, as cpupower
//! does).

use crate::perf::{PerfCount, events, readers};
use crate::source::Lack;
use crate::tree::{Tree, ValueFile};

const CPUS: &str = "/sys/devices/system/cpu";
/// The maximum number of idle states of a CPU: `CPUIDLE_STATE_MAX` of linux/cpuidle.h.
const MAX_STATES: usize = 10;

/// An idle state of a CPU, and its counts when it was read first.
#[derive(Debug)]
struct State {
    cpu: u32,
    state: usize,
    files: [Option<ValueFile>; FILES.len()],
    begin: [Option<i64>; FILES.len()],
}

/// The counts of a state, in the order of [`IdleState`].
const FILES: [&str; 5] = ["time", "usage", "above", "below", "rejected"];

/// What an idle state was used for, by all CPUs that have it.
#[derive(Clone, PartialEq, Debug)]
pub struct IdleState {
    /// Its number.
    pub state: usize,
    /// Its name.
    pub name: String,
    /// The time for which it must last to be worth it, µs (`residency`), as the driver states it.
    pub residency_us: Option<i64>,
    /// The time to leave it, µs.
    pub latency_us: Option<i64>,
    /// The CPUs that have it.
    pub cpus: usize,
    /// The time in it by the kernel's measure, µs, of all CPUs.
    pub time_us: i64,
    /// How often it was entered.
    pub usage: i64,
    /// How often it was too deep: the CPU woke before `residency`. `None`: not in this kernel.
    pub above: Option<i64>,
    /// How often a deeper state would have fit.
    pub below: Option<i64>,
    /// How often the request for it was refused.
    pub rejected: Option<i64>,
}

/// A state in which the hardware was.
#[derive(Clone, PartialEq, Debug)]
pub struct Resident {
    /// The PMU's event: `cstate_core/c6-residency/`.
    pub event: String,
    /// The part of the time, over all cores or packages.
    pub share: f64,
}

/// The idle counters of a machine.
#[derive(Debug, Default)]
pub struct Idle {
    states: Vec<State>,
    names: Vec<(usize, String, Option<i64>, Option<i64>)>,
    residencies: Vec<(String, PerfCount, u64)>,
    tsc: Option<(PerfCount, u64)>,
    /// The kernel's driver: `intel_idle`, `haltpoll`.
    pub driver: String,
    /// Why there is no residency of the hardware, or no idle state.
    pub lacks: Vec<Lack>,
}

/// Returns the CPUs that are online.
#[must_use]
pub fn online(tree: &Tree) -> Vec<u32> {
    tree.read(&format!("{CPUS}/online")).map(|list| crate::perf::cpu_list(&list)).unwrap_or_default()
}

impl Idle {
    /// Finds the idle states.
    #[must_use]
    pub fn find(tree: &Tree) -> Self {
        let driver = tree.read(&format!("{CPUS}/cpuidle/current_driver")).unwrap_or_default();
        let mut idle = Self { driver, ..Self::default() };
        for cpu in online(tree) {
            let dir = format!("{CPUS}/cpu{cpu}/cpuidle");
            let names = match tree.list(&dir) {
                Ok(names) => names,
                Err(error) => {
                    if idle.lacks.is_empty() {
                        let absent = "the kernel has no cpuidle driver for this CPU";
                        idle.lacks.push(Lack::of("idle states by cpuidle", &dir, &error, absent));
                    }
                    continue;
                }
            };
            for state in names.iter().filter_map(|name| name.strip_prefix("state")?.parse().ok()).take(MAX_STATES) {
                let path = |file: &str| format!("{dir}/state{state}/{file}");
                if !idle.names.iter().any(|(known, ..)| *known == state) {
                    let name = tree.read(&path("name")).unwrap_or_else(|_| format!("state{state}"));
                    let (residency, latency) =
                        (tree.number(&path("residency")).ok(), tree.number(&path("latency")).ok());
                    idle.names.push((state, name, residency, latency));
                }
                let files = FILES.map(|file| tree.value(&path(file)).ok());
                idle.states.push(State { cpu, state, files, begin: [None; FILES.len()] });
            }
        }
        idle.names.sort_unstable_by_key(|(state, ..)| *state);
        idle.find_residencies(tree);
        idle
    }

    fn find_residencies(&mut self, tree: &Tree) {
        let source = "idle states by the cstate PMUs";
        let mut refused = None;
        let mut any = false;
        for pmu in ["cstate_core", "cstate_pkg"] {
            let Ok(names) = events(tree, pmu) else { continue };
            any = true;
            for cpu in readers(tree, pmu) {
                for name in &names {
                    match PerfCount::open(tree, pmu, name, cpu) {
                        Ok(count) => self.residencies.push((format!("{pmu}/{name}/"), count, 0)),
                        Err(error) => refused = Some(error),
                    }
                }
            }
        }
        if !any {
            let why = "the kernel has no cstate PMU for this processor, so what the hardware did with the kernel's requests is unknown";
            self.lacks.push(Lack { source: source.to_owned(), why: why.to_owned(), rights: false });
            return;
        }
        self.tsc = PerfCount::open(tree, "msr", "tsc", online(tree).first().copied().unwrap_or(0))
            .ok()
            .map(|count| (count, 0));
        if let Some(error) = refused {
            self.lacks.push(Lack::of(source, "cstate_core or cstate_pkg", &error, "an event is missing"));
        } else if self.tsc.is_none() {
            let why = "the event msr/tsc/, with which the counts are compared, cannot be opened".to_owned();
            self.lacks.push(Lack { source: source.to_owned(), why, rights: false });
        }
    }

    /// Reads the counts from which the others are counted.
    pub fn begin(&mut self) {
        for state in &mut self.states {
            state.begin = state.counts();
        }
        for (_, count, begin) in &mut self.residencies {
            *begin = count.read().unwrap_or(0);
        }
        if let Some((count, begin)) = &mut self.tsc {
            *begin = count.read().unwrap_or(0);
        }
    }

    /// Returns what each state was used for since [`Self::begin`], the shallowest first.
    #[must_use]
    pub fn since_begin(&self) -> Vec<IdleState> {
        let mut states: Vec<IdleState> = Vec::new();
        for (number, name, residency, latency) in &self.names {
            let mut sums = [None; FILES.len()];
            let mut cpus = Vec::new();
            for state in self.states.iter().filter(|state| state.state == *number) {
                cpus.push(state.cpu);
                for ((sum, begin), end) in sums.iter_mut().zip(state.begin).zip(state.counts()) {
                    // A counter that went back, or one of a CPU that went offline, adds nothing.
                    if let (Some(begin), Some(end)) = (begin, end) {
                        *sum = Some(sum.unwrap_or(0) + (end - begin).max(0));
                    }
                }
            }
            let [time, usage, above, below, rejected] = sums;
            states.push(IdleState {
                state: *number,
                name: name.clone(),
                residency_us: *residency,
                latency_us: *latency,
                cpus: cpus.len(),
                time_us: time.unwrap_or(0),
                usage: usage.unwrap_or(0),
                above,
                below,
                rejected,
            });
        }
        states
    }

    /// Returns where the hardware was since [`Self::begin`].
    #[must_use]
    pub fn resident(&self) -> Vec<Resident> {
        let Some(tsc) = self.tsc.as_ref().and_then(|(count, begin)| count.read().ok()?.checked_sub(*begin)) else {
            return Vec::new();
        };
        let mut sums: Vec<(String, u64, u64)> = Vec::new();
        for (event, count, begin) in &self.residencies {
            let Some(counted) = count.read().ok().and_then(|end| end.checked_sub(*begin)) else { continue };
            match sums.iter_mut().find(|(known, ..)| known == event) {
                Some((_, sum, n)) => (*sum, *n) = (*sum + counted, *n + 1),
                None => sums.push((event.clone(), counted, 1)),
            }
        }
        let share = |(event, sum, n): (String, u64, u64)| Resident {
            event,
            share: sum as f64 / (tsc.max(1) as f64 * n as f64),
        };
        sums.into_iter().map(share).collect()
    }
}

impl State {
    fn counts(&self) -> [Option<i64>; FILES.len()] {
        std::array::from_fn(|at| self.files.get(at)?.as_ref()?.read().ok())
    }
}
