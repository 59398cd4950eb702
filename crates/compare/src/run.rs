//! One measured run: everything that a comparison uses. Nothing after this reads a trace.

use model::{Span, ThreadKey};
use std::collections::BTreeMap;

/// One side's run: a recording, a frame log or a printed table.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Run {
    /// The path, as given.
    pub path: String,
    /// What it was made from: the id of a format, such as `corewise`, `perf_data`, `presentmon`, or a printed table such as `perf_stat`.
    pub format: String,
    /// The length of the recording, ns; 0 for printed tables.
    pub span_ns: i64,
    /// When it began, on the clock of the machine, ns; `None` if unknown. Only for the order of runs.
    pub began_ns: Option<i64>,
    /// Conditions by name (`kernel_release`, `governor`, …): the values at start and end; `None` if unknown.
    pub conditions: BTreeMap<String, [Option<String>; 2]>,
    /// The labels that the user gave it (`os` is `new`), by name.
    pub labels: BTreeMap<String, String>,
    /// Time of all CPUs in each idle state, by its name, ns; the time of idle CPUs in no recorded state has the name "".
    pub idle_states: BTreeMap<String, f64>,
    /// What identifies the machine (processor, CPUs by core type), by name.
    pub machine: BTreeMap<String, String>,
    /// The speed of each core type relative to the fastest, by the kernel's capacities; empty if these are unknown.
    pub core_speeds: BTreeMap<&'static str, f64>,
    /// The speed of a thread while its SMT sibling is busy, relative to alone, as measured on the machine; `None`: not measured.
    pub sibling_speed: Option<f64>,
    /// Whether `core_speeds` were measured on the machine, as the kernel's capacities are unknown.
    pub core_speeds_measured: bool,
    /// What is wrong with it, a sentence each: lost events, a truncated file.
    pub defects: Vec<String>,
    /// What corewise cannot know from it, a sentence each.
    pub lacks: Vec<String>,
    /// Its threads, for the roles.
    pub threads: Vec<ThreadFacts>,
    /// Values of the whole run by the id of the metric, such as `elapsed`, `frame.p99` or `instructions`.
    pub values: BTreeMap<String, f64>,
    /// Values by the name of a role or a table's row, then by metric, for sources without threads.
    pub rows: BTreeMap<String, BTreeMap<String, f64>>,
    /// The frames, periods or requests of the run.
    pub series: Vec<Series>,
    /// The metric that the run is judged by: `elapsed`, `mark:frame.mean`, …; empty if it shows none.
    pub objective: String,
    /// The critical path to the objective: of `elapsed`, its parts sum to it; of frames, periods or requests, to the time of all of `path_windows`.
    pub path_parts: Vec<PathPart>,
    /// The number of frames, periods or requests in `path_parts`; 1 for `elapsed`.
    pub path_windows: usize,
}

/// What one thread did. Times in ns.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ThreadFacts {
    /// The key of the thread instance in its trace.
    pub thread: ThreadKey,
    /// The TID.
    pub tid: i64,
    /// The process; `None` if unknown.
    pub pid: Option<i64>,
    /// The last known name; empty if unknown.
    pub name: String,
    /// The name of the process: of its main thread; empty if unknown.
    pub process: String,
    /// Whether it belongs to the recorded program (all do, if the recording was not made for one).
    pub is_own: bool,
    /// Whether it belongs to the process that the recording was made for.
    pub is_focus: bool,
    /// Whether it is a kernel thread.
    pub is_kernel: bool,
    /// When the thread instance began.
    pub begin_ns: i64,
    /// Whether it exited within the recording.
    pub exited: bool,
    /// Its values by the id of the metric: `running_ns`, `ready_ns`, `blocked_ns`, `voluntary`, `migrations`, `running_count`, `queued_behind_own_ns`, …
    pub values: BTreeMap<&'static str, f64>,
    /// The threads that woke it, and how often; 0: interrupts.
    pub wakers: Vec<(ThreadKey, i64)>,
    /// How long it waited by cause (the system call or kernel function), ns.
    pub waits: Vec<(String, i64)>,
}

/// Intervals of one kind: the unit in which the program works.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Series {
    /// `mark:NAME`, `period:THREAD`, `request:THREAD`; of a frame log `frame`.
    pub name: String,
    /// What it measures, as a user reads it: `frame time`, `response time of Game`.
    pub title: String,
    /// Begin and end of each, in order of begin, from the start of the recording.
    pub spans: Vec<Span>,
    /// The time of each, ns.
    pub ns: Vec<f64>,
    /// The thread that did the work of each, or with which it ends; `None` if unknown.
    pub threads: Vec<Option<ThreadKey>>,
}

/// A part of the critical path: one cause of one thread. The parts sum to the objective.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathPart {
    /// The thread on the path.
    pub thread: ThreadKey,
    /// The cause, see [`crate::Cause`].
    pub cause: crate::Cause,
    /// The time, ns.
    pub ns: i64,
    /// Of running time with known frequencies: the sum of frequency times time, kHz × ns; otherwise 0.
    pub khz_ns: i128,
}
