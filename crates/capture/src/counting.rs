//! The events that each CPU counts (`--counters`). The BPF programs read them at every switch (bpf/counters.h).
//!
//! The events are of the CPUs, not of the threads: no descriptor for each thread, and nothing is missed of a thread that has just been
//! created. Those of a group share the CPU's counters as a whole; if there are more groups than counters, the kernel lets them take turns.

use crate::online::{EnabledTime, Events, Online, TIME_ENABLED};
use crate::options::CaptureError;
use crate::counter_trial::open_event;
use crate::{procfs, samples};
use libbpf_rs::libbpf_sys;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, RawFd};

/// How many events each CPU can have, as in bpf/counters.h.
pub const MAX_COUNTERS: usize = 32;

/// An event to count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CounterEvent {
    /// Its name in the recording, as the user wrote it.
    pub name: String,
    /// For each PMU that has it: the PMU's CPUs, and the event there. A CPU in none of them does not count it.
    pub on: Vec<(Vec<u32>, counters::Attr)>,
}

/// Events that are counted together: always all or none of them.
pub type CounterGroup = Vec<CounterEvent>;

/// The events of a recording.
pub struct Counters {
    groups: Vec<CounterGroup>,
    cpus: Open,
    online: Online,
}

/// The open events of each CPU, and the map where the BPF programs find them.
struct Open {
    groups: Vec<CounterGroup>,
    map: RawFd,
    cpus: BTreeMap<u32, OfCpu>,
}

struct OfCpu {
    events: Vec<File>,
    /// That of the first.
    enabled: EnabledTime,
}

impl Counters {
    /// Opens the events on each online CPU that has them, and passes them to the BPF programs by their map `counter_events`.
    ///
    /// # Errors
    /// A CPU has an event by its description but cannot open it, or a group has more events than a CPU can count together.
    pub fn start(groups: &[CounterGroup], map: RawFd) -> Result<Self, CaptureError> {
        let events = groups.iter().map(Vec::len).sum::<usize>();
        if events > MAX_COUNTERS {
            return Err(CaptureError::Counters(format!("{events} events: at most {MAX_COUNTERS} can be counted in a recording")));
        }
        let groups = groups.to_vec();
        let mut cpus = Open { groups: groups.clone(), map, cpus: BTreeMap::new() };
        let online = procfs::online();
        for cpu in &online {
            cpus.open_on(*cpu)?;
        }
        Ok(Self { groups, cpus, online: Online::new(online.into_iter(), samples::now()) })
    }

    /// The names of the events, by the number under which the BPF programs know them.
    pub fn names(groups: &[CounterGroup]) -> Vec<String> {
        groups.iter().flatten().map(|event| event.name.clone()).collect()
    }

    /// Opens the events of CPUs that have come online.
    pub fn follow_cpus(&mut self) {
        // What was not counted meanwhile is missing in the recording, which shows it.
        let _ = self.online.update(&procfs::online(), &mut self.cpus);
    }

    /// One sentence for each event that no CPU counts, and for each CPU that came online.
    pub fn lacks(&self) -> Vec<String> {
        let mut all: Vec<String> = self
            .groups
            .iter()
            .flatten()
            .filter(|event| event.on.iter().all(|(cpus, _)| cpus.is_empty()))
            .map(|event| format!("{} is not counted: no CPU has this event.", event.name))
            .collect();
        all.extend(self.online.reopened().map(|cpu| {
            format!("CPU {cpu} came online during the recording: what it counted before its events were open is unknown.")
        }));
        all
    }
}

impl Open {
    fn open_on(&mut self, cpu: u32) -> Result<(), CaptureError> {
        let mut events: Vec<File> = Vec::new();
        let mut slot = 0;
        for group in &self.groups {
            let mut leader: Option<usize> = None;
            for (place, event) in group.iter().enumerate() {
                let key = cpu * MAX_COUNTERS as u32 + slot;
                slot += 1;
                let Some((_, attr)) = event.on.iter().find(|(cpus, _)| cpus.contains(&cpu)) else { continue };
                let first = leader.and_then(|at| events.get(at)).map(AsFd::as_fd);
                let fd = open_event(attr, cpu, first, TIME_ENABLED, 0).map_err(|why| refused(group, place, cpu, &why))?;
                let number = fd.as_raw_fd();
                // SAFETY: the kernel reads a key and a value of four bytes each.
                let failed = unsafe {
                    libbpf_sys::bpf_map_update_elem(self.map, (&raw const key).cast(), (&raw const number).cast(), 0)
                };
                if failed != 0 {
                    let why = std::io::Error::last_os_error();
                    return Err(CaptureError::Counters(format!("{}: BPF cannot read it: {why}", event.name)));
                }
                leader = leader.or(Some(events.len()));
                events.push(fd.into());
            }
        }
        self.cpus.insert(cpu, OfCpu { events, enabled: EnabledTime::default() });
        Ok(())
    }
}

/// Returns the error for the event at `place` of a group, which could not be opened.
fn refused(group: &[CounterEvent], place: usize, cpu: u32, why: &std::io::Error) -> CaptureError {
    let name = group.get(place).map_or("", |event| event.name.as_str());
    let text = match why.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => return CaptureError::Rights,
        Some(libc::EINVAL) if place > 0 => format!(
            "CPU {cpu} can count the first {place} of these events together, not all {}: {}; separate them (without braces, they \
             take turns)",
            group.len(),
            group.iter().map(|event| event.name.as_str()).collect::<Vec<_>>().join(", ")
        ),
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => {
            format!("{name}: CPU {cpu} does not have this event; corewise counters lists those that it has")
        }
        Some(libc::EBUSY) => format!("{name}: another program has taken all of the counters of CPU {cpu} for itself"),
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
