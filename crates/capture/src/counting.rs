//! The events that each CPU counts (`--counters`). The BPF programs read them at every switch (bpf/counters.h).
//!
//! The events are of the CPUs, not of the threads: no descriptor for each thread, and nothing is missed of a thread that has just been
//! created. Those of a group share the CPU's counters as a whole; if there are more groups than counters, the kernel lets them take turns.

use crate::counter_trial::open_event;
use crate::online::{EnabledTime, Events, Online, TIME_ENABLED};
use crate::options::CaptureError;
use crate::{procfs, samples};
use libbpf_rs::libbpf_sys;
use model::CpuId;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, RawFd};

/// How many events each CPU can have, as in bpf/counters.h.
pub const MAX_COUNTERS: usize = 32;

/// Which events each CPU counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CounterPlan {
    /// The names of the events, as the user wrote them. The other fields refer to them by index.
    pub events: Vec<String>,
    /// Events of some CPUs. A CPU counts an event in one of its sets, or not at all.
    pub sets: Vec<CounterSet>,
    /// What is not counted, one sentence each.
    pub lacks: Vec<String>,
}

/// Events that a CPU counts at the same time: all or none of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CounterSet {
    /// The name of their PMU; `software` for the kernel's own events.
    pub pmu: String,
    /// The CPUs.
    pub cpus: Vec<CpuId>,
    /// The index of each event, and what the kernel is asked to count.
    pub events: Vec<(usize, counters::Attr)>,
}

/// The events of a recording.
pub struct Counters {
    cpus: Open,
    online: Online,
}

/// The open events of each CPU, and the map where the BPF programs find them.
struct Open {
    plan: CounterPlan,
    map: RawFd,
    cpus: BTreeMap<u32, OfCpu>,
}

struct OfCpu {
    events: Vec<File>,
    /// That of the first.
    enabled: EnabledTime,
}

impl Counters {
    /// Opens the events on each online CPU, and passes them to the BPF programs by their map `counter_events`.
    ///
    /// # Errors
    /// There are too many events, or the kernel cannot count one where the plan has it.
    pub fn start(plan: &CounterPlan, map: RawFd) -> Result<Self, CaptureError> {
        let events = plan.events.len();
        if events > MAX_COUNTERS {
            let why = format!("{events} events: a recording can have at most {MAX_COUNTERS}");
            return Err(CaptureError::Counters(why));
        }
        let mut cpus = Open { plan: plan.clone(), map, cpus: BTreeMap::new() };
        let online = procfs::online();
        for cpu in &online {
            cpus.open_on(*cpu)?;
        }
        Ok(Self { cpus, online: Online::new(online.into_iter(), samples::now()) })
    }

    /// Opens the events of CPUs that have come online.
    pub fn follow_cpus(&mut self) {
        // What was not counted meanwhile is missing in the recording, which shows it.
        let _ = self.online.update(&procfs::online(), &mut self.cpus);
    }

    /// What is not counted, one sentence each.
    pub fn lacks(&self) -> Vec<String> {
        let of_cpu = |cpu| {
            format!(
                "CPU {cpu} came online during the recording: what it counted before its events were open is unknown."
            )
        };
        self.cpus.plan.lacks.iter().cloned().chain(self.online.reopened().map(of_cpu)).collect()
    }
}

impl Open {
    fn open_on(&mut self, cpu: u32) -> Result<(), CaptureError> {
        let mut events: Vec<File> = Vec::new();
        for set in self.plan.sets.iter().filter(|set| set.cpus.contains(&CpuId(cpu))) {
            let first = events.len();
            for (slot, attr) in &set.events {
                let name = || self.plan.events.get(*slot).map_or("", String::as_str);
                let leader = events.get(first).map(AsFd::as_fd);
                let fd = open_event(attr, cpu, leader, TIME_ENABLED, 0).map_err(|why| refused(name(), cpu, &why))?;
                let key = cpu * MAX_COUNTERS as u32 + *slot as u32;
                let number = fd.as_raw_fd();
                // SAFETY: the kernel reads a key and a value of four bytes each.
                let failed = unsafe {
                    libbpf_sys::bpf_map_update_elem(self.map, (&raw const key).cast(), (&raw const number).cast(), 0)
                };
                if failed != 0 {
                    let why = std::io::Error::last_os_error();
                    return Err(CaptureError::Counters(format!("{}: BPF cannot read it: {why}", name())));
                }
                events.push(fd.into());
            }
        }
        self.cpus.insert(cpu, OfCpu { events, enabled: EnabledTime::default() });
        Ok(())
    }
}

/// Returns the error for an event that could not be opened.
pub fn refused(name: &str, cpu: u32, why: &std::io::Error) -> CaptureError {
    let text = match why.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => return CaptureError::Rights,
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => {
            format!("{name}: CPU {cpu} does not have this event; `corewise counters` lists those that it has")
        }
        Some(libc::EBUSY) => format!("{name}: another program has taken the counters of CPU {cpu} for itself"),
        _ => format!("{name}: the kernel cannot count it on CPU {cpu}: {why}"),
    };
    CaptureError::Counters(text)
}

impl Events for Open {
    fn count(&mut self, cpu: u32, now: u64) -> Option<bool> {
        let of = self.cpus.get_mut(&cpu)?;
        of.events.first_mut().map_or(Some(true), |first| of.enabled.check(first, now))
    }

    fn open(&mut self, cpu: u32) -> Result<(), String> {
        self.open_on(cpu).map_err(|why| why.to_string())
    }

    fn close(&mut self, cpu: u32) -> u64 {
        self.cpus.remove(&cpu);
        0
    }

    fn now(&self) -> u64 {
        samples::now()
    }
}
