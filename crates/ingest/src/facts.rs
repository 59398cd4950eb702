//! What a source says of itself.

use model::{CpuId, Ns};
use serde::{Deserialize, Serialize};
use topology::Machine;

/// One condition of the run, without which two recordings cannot honestly be compared.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Condition {
    /// `kernel_release`, `governor.cpu0`, `smt_control`, …
    pub name: String,
    /// Its value at the start; or why it is unknown.
    pub start: Result<String, String>,
    /// Its value at the end; or why it is unknown.
    pub end: Result<String, String>,
}

/// What recording cost the machine.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct OwnCost {
    /// CPU time of the recorder's own process, ns.
    pub recorder_cpu_ns: i64,
    /// CPU time of its BPF programs, ns, where the kernel counted it.
    pub bpf_ns: Option<i64>,
    /// Its largest resident memory, bytes.
    pub max_rss_bytes: i64,
    /// What it wrote, bytes.
    pub spool_bytes: i64,
    /// Events recorded.
    pub events: i64,
    /// Events it could not deliver.
    pub lost: i64,
}

/// What a source says of itself before its first event.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Facts {
    /// The importer's id.
    pub format: String,
    /// Its clock (`CLOCK_MONOTONIC`, `perf (sched_clock)`, …).
    pub clock: String,
    /// Whether `sched_waking` was recorded; `None`: the source does not say.
    pub has_waking: Option<bool>,
    /// Whether `sched_wakeup` was recorded; `None`: the source does not say.
    pub has_wakeup: Option<bool>,
    /// Whether every call of `sched_yield` was recorded as such, so that a thread of a program that left its CPU runnable without one
    /// was preempted.
    #[serde(default)]
    pub has_yields: bool,
    /// Whether the kernel's charges for running were recorded.
    pub has_charges: bool,
    /// Whether every switch of every CPU was recorded, so that a CPU's switches form a chain. False for recordings of
    /// single threads or processes.
    pub whole_machine: bool,
    /// Where the recording begins, on the source's clock, if that is not at its first sample. Earlier events only tell
    /// the states at the begin.
    pub begin: Option<Ns>,
    /// The CPUs that the source itself says were online.
    pub online: Vec<CpuId>,
    /// The machine, as far as the source describes it.
    pub machine: Option<Machine>,
    /// The conditions of the run.
    pub conditions: Vec<Condition>,
    /// Anything else it says (`hostname`, `kernel_release`, `command_line`, …), in its own order.
    pub about: Vec<(String, String)>,
    /// What recording cost, where the recorder measured it.
    pub cost: Option<OwnCost>,
    /// The process that the recording was made for.
    pub focus: Option<i32>,
    /// What this source cannot tell, a sentence each, for the user.
    pub lacks: Vec<String>,
}
