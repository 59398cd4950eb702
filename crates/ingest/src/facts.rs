//! The metadata of a source.

use crate::StateSource;
use model::{CallchainEnd, CoreType, CpuId, Ns, Tried};
use serde::{Deserialize, Serialize};
use topology::Machine;

/// A condition of the run, needed to compare recordings.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Condition {
    /// `kernel_release`, `governor.cpu0`, `smt_control`, …
    pub name: String,
    /// Its value at the start, or why it is unknown.
    pub start: Result<String, String>,
    /// Its value at the end, or why it is unknown.
    pub end: Result<String, String>,
}

/// The recording overhead.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RecordingOverhead {
    /// CPU time of the recorder's own process during the recording, ns.
    pub recorder_cpu_ns: i64,
    /// The same before the recording began, to load BPF programs and read tables, ns.
    #[serde(default)]
    pub preparing_cpu_ns: i64,
    /// CPU time of its BPF programs, ns, if the kernel measured it.
    pub bpf_ns: Option<i64>,
    /// Its maximum resident memory, bytes.
    pub max_rss_bytes: i64,
    /// The size of the recorded data, bytes.
    pub spool_bytes: i64,
    /// The number of events recorded.
    pub events: i64,
    /// The number of events that were lost.
    pub lost: i64,
    /// What reading energy and temperature cost, if they were read; its CPU time is part of `recorder_cpu_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<ReadingCost>,
}

/// What it cost to read energy and temperature during a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ReadingCost {
    /// The time between two readings, ns.
    pub interval_ns: i64,
    /// The number of readings of all domains and sensors.
    pub readings: i64,
    /// How often the thread that reads slept and was woken again. Interrupts of other CPUs that reading a register may need are not counted.
    pub wakeups: i64,
    /// The CPU time of this thread, ns.
    pub cpu_ns: i64,
    /// The CPU time before the recording to find the sources and to learn how often they are updated, ns.
    pub start_cpu_ns: i64,
}

/// How many callchains of programs ended how ([`model::CallchainEnd`]): of switches and samples together, each as often as it occurred.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CallchainEnds {
    /// At the root.
    pub root: u64,
    /// At the limit of frames.
    pub depth: u64,
    /// In code without a table for unwinding.
    pub no_table: u64,
    /// At a part of the stack that could not be read.
    pub unreadable: u64,
    /// At a return address that is not in code that was known.
    pub not_code: u64,
    /// At the end of the copy of the stack: of perf.data.
    #[serde(default)]
    pub cut: u64,
    /// Not known: they follow frame pointers, as the recorder did not know the process yet, or had not read a table.
    pub not_yet: u64,
    /// Not known: they follow frame pointers.
    pub unknown: u64,
}

impl CallchainEnds {
    /// Takes the counts in the order of [`CallchainEnd::ALL`].
    #[must_use]
    pub fn of(counts: &[u64; CallchainEnd::ALL.len()]) -> Self {
        let [unknown, root, depth, no_table, unreadable, not_code, not_yet, cut] = *counts;
        Self { root, depth, no_table, unreadable, not_code, not_yet, cut, unknown }
    }

    /// The number of callchains.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.root
            + self.depth
            + self.no_table
            + self.unreadable
            + self.not_code
            + self.not_yet
            + self.cut
            + self.unknown
    }
}

/// What a profiler's samples are of.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Sampled {
    /// The event that interrupted the threads, without modifiers (`cycles`, `cpu-clock`, `page-faults`); empty if not recorded.
    pub event: String,
    /// Whether it counts time or cycles, so that the samples of a thread estimate its running time.
    pub of_time: bool,
    /// The events by type of core, if each PMU of a machine with several types has its own, by the names that perf gives them
    /// (`cpu_core/cycles/`). Their counts are never added up without the type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_core: Vec<(CoreType, String)>,
    /// The other events whose samples the source has. They are not among the samples of any table, as samples of two events do not add up.
    pub others: Vec<String>,
}

/// Names of [`Facts::about`] that begin with this are labels that the user gave the recording.
pub const LABEL: &str = "label.";

/// The metadata of a source, which is available before its first event.
///
/// ```
/// use ingest::Facts;
///
/// let facts = Facts { clock: "CLOCK_MONOTONIC".to_owned(), has_waking: Some(true), ..Facts::default() };
/// // What a source does not say is unknown; the first events decide.
/// assert_eq!((facts.has_waking, facts.has_wakeup), (Some(true), None));
/// assert!(!facts.whole_machine, "unless the source says so, switches of a CPU are no chain");
/// ```
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Facts {
    /// The importer's id.
    pub format: String,
    /// Its clock (`CLOCK_MONOTONIC`, `perf (sched_clock)`, …).
    pub clock: String,
    /// Whether `sched_waking` was recorded; `None`: unknown.
    pub has_waking: Option<bool>,
    /// Whether `sched_wakeup` was recorded; `None`: unknown.
    pub has_wakeup: Option<bool>,
    /// Whether every call of `sched_yield` was recorded, so that a user thread that left its CPU runnable without one was preempted.
    #[serde(default)]
    pub has_yields: bool,
    /// Whether the kernel's charges for running were recorded.
    pub has_charges: bool,
    /// Whether every switch of every CPU was recorded, so that a CPU's switches form a chain. False for recordings of
    /// single threads or processes.
    pub whole_machine: bool,
    /// Each frame of the log is one of many: those at the ends of intervals were logged. How many there were is unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sampled_frames: bool,
    /// The begin of the recording on the source's clock, if it is not the first sample. Earlier events only set the states at the
    /// begin.
    pub begin: Option<Ns>,
    /// Where the states of threads that leave a CPU come from.
    #[serde(default)]
    pub states: StateSource,
    /// The CPUs that were online according to the source.
    pub online: Vec<CpuId>,
    /// The CPUs that the source recorded by its own statement, even if they had no event. Of all others, only an event of a CPU shows
    /// that it was recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recorded: Vec<CpuId>,
    /// The number of CPUs of the machine, if the source states it, whether they were recorded or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_count: Option<u32>,
    /// The machine, as far as the source describes it.
    pub machine: Option<Machine>,
    /// The conditions of the run.
    pub conditions: Vec<Condition>,
    /// Any other metadata (`hostname`, `kernel_release`, `command_line`, …), in its own order. Names that begin with [`LABEL`] are labels.
    pub about: Vec<(String, String)>,
    /// The recording overhead, if the recorder measured it.
    pub cost: Option<RecordingOverhead>,
    /// The process that was recorded.
    pub focus: Option<i32>,
    /// The process that recorded.
    #[serde(default)]
    pub recorder: Option<i32>,
    /// How the callchains of programs ended; `None`: not known, or there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callchain_ends: Option<CallchainEnds>,
    /// What the samples of threads are of; `None`: it has no samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Sampled>,
    /// What is not available from this source, a sentence each, for the user.
    pub lacks: Vec<String>,
    /// The trials of fixes of this recording's findings, from a file next to the recorded data.
    #[serde(skip)]
    pub tried: Vec<Tried>,
    /// Which frames of callchains have no name, a sentence each, for the user: names may be found later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nameless: Vec<String>,
}
