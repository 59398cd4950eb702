//! The options, the result and the errors of a recording.

use crate::counting::CounterPlan;
use crate::mark_point::MarkPoint;
use crate::needed;
use ingest::RecordingOverhead;
use model::CpuId;
use safefs::{Access, Dir};
use std::path::PathBuf;
use std::time::Duration;
use topology::Machine;

/// What to record. Every variant records the switches, wakeups and migrations of the whole machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// The machine, until the duration is reached or the user stops the recording.
    All,
    /// A process. The recording ends when the process exits.
    Pid(i32),
    /// A command with its arguments, started once everything is attached. The recording ends when the command and its children
    /// have exited.
    Command(Vec<String>),
}

impl Target {
    /// Returns the files that the command is going to map, as far as they are known before it runs.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        match self {
            Self::Command(words) => needed::of_command(words),
            Self::All | Self::Pid(_) => Vec::new(),
        }
    }
}

/// The recording backend.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Backend {
    /// BPF if available, else perf events.
    #[default]
    Auto,
    /// BPF programs at tracepoints.
    Bpf,
    /// `perf_event_open` at tracepoints.
    Perf,
}

/// The number of samples a second of the default options: enough to tell spinning from work within a second of running time. It is not a
/// multiple of the kernel's tick rate.
pub const DEFAULT_SAMPLE_HZ: u32 = 99;

/// Samples of what each CPU runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sampling {
    /// None.
    Off,
    /// So many a second, if this machine and the backend allow it. If not, the recording says so.
    IfPossible(u32),
    /// So many a second; it is an error if that is not possible.
    Required(u32),
}

impl Sampling {
    /// The number of samples a second.
    pub(crate) fn hz(self) -> Option<u32> {
        match self {
            Self::Off => None,
            Self::IfPossible(hz) | Self::Required(hz) => Some(hz),
        }
    }

    /// Whether the recording fails without them.
    pub(crate) fn is_required(self) -> bool {
        matches!(self, Self::Required(_))
    }
}

/// The time between two readings of energy and temperature by default.
pub const DEFAULT_POWER_INTERVAL: Duration = Duration::from_millis(100);

/// Readings of energy and temperature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Energy {
    /// None.
    Off,
    /// At this interval, or once a second, if that costs less than 0.1 % of a CPU. The recording says what was decided.
    IfCheap(Duration),
    /// At this interval. If there is no source, the recording says so.
    Required(Duration),
}

/// What to record, and how.
#[derive(Clone, PartialEq, Debug)]
pub struct RecordOptions {
    /// The trace folder. It must be empty or not exist.
    pub dir: PathBuf,
    /// Which users may read the trace folder.
    pub access: Access,
    /// What to record.
    pub target: Target,
    /// The CPUs to which the command is bound before it begins, and with it all that it starts; empty: it is not bound.
    pub cpus: Vec<CpuId>,
    /// The maximum duration of the recording.
    pub duration: Option<Duration>,
    /// Record interrupts. BPF also records timers by their function and, on x86, interrupts that other CPUs send.
    pub irq: bool,
    /// Flight recorder: keep only this much time before the end.
    pub keep: Option<Duration>,
    /// Drop names and command lines of threads outside the target.
    pub only_focus: bool,
    /// Functions and probes whose calls are recorded as marks; BPF only.
    pub marks: Vec<MarkPoint>,
    /// Record callchains at blocking switch-outs; BPF only.
    pub stacks: bool,
    /// Unwind the user part of callchains by tables, where the kernel can; otherwise they follow frame pointers only.
    pub unwind: bool,
    /// Record what threads wait for in futex calls: the call's arguments and the words of memory that may name the holder of a lock; BPF
    /// only.
    pub wait_objects: bool,
    /// Whether to sample what each CPU runs, with callchains; BPF only.
    pub sampling: Sampling,
    /// The events that each CPU counts while a thread runs there.
    pub counters: CounterPlan,
    /// Whether to read energy and temperature.
    pub energy: Energy,
    /// The folder with the `sys` and `proc` in which sources of energy are looked for.
    pub energy_root: PathBuf,
    /// The recording backend.
    pub backend: Backend,
    /// The machine, if the caller has read it; stored in the facts.
    pub machine: Option<Machine>,
    /// Labels that the user gives the recording: names and values; stored in the facts.
    pub labels: Vec<(String, String)>,
    /// The command line of corewise itself; stored in the conditions.
    pub arguments: Vec<String>,
    /// The build of corewise itself (commit, date, profile), if the caller knows it; stored in the conditions.
    pub build: String,
    /// Size in bytes of the buffer between kernel and recorder: a power of two, at least 1 MiB.
    pub ring_bytes: u32,
    /// Whether to infer switches that the kernel hides from BPF programs. `None`: infer them if the kernel hides some when the
    /// recording begins, or if the CPUs are too busy to find out.
    pub infer_switches: Option<bool>,
}

impl RecordOptions {
    /// Returns the default options: record the whole machine into `dir`.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            access: Access::default(),
            target: Target::All,
            cpus: Vec::new(),
            duration: None,
            irq: true,
            keep: None,
            only_focus: false,
            marks: Vec::new(),
            stacks: false,
            unwind: true,
            wait_objects: true,
            sampling: Sampling::IfPossible(DEFAULT_SAMPLE_HZ),
            counters: CounterPlan::default(),
            energy: Energy::IfCheap(DEFAULT_POWER_INTERVAL),
            energy_root: PathBuf::from("/"),
            backend: Backend::Auto,
            machine: None,
            labels: Vec::new(),
            arguments: Vec::new(),
            build: String::new(),
            ring_bytes: 64 << 20,
            infer_switches: None,
        }
    }
}

/// The progress of a recording, reported when everything is attached and then each second.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Progress {
    /// Time since everything was attached.
    pub elapsed: Duration,
    /// Events recorded.
    pub events: u64,
    /// Bytes written to the spool.
    pub bytes: u64,
    /// Events that could not be delivered.
    pub lost: u64,
}

/// Why a recording ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The requested duration was reached.
    Duration,
    /// The process or command ended.
    Target,
    /// The user stopped it (SIGINT or SIGTERM).
    Stopped,
}

/// A completed recording.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The trace folder. It contains a spool ([`crate::spool_of`]) that is synced to disk.
    pub folder: Dir,
    /// The backend, and the reason for its choice.
    pub backend: String,
    /// Why the recording ended.
    pub ended: Ended,
    /// The command's exit code; 128 + the signal's number if a signal killed it.
    pub exit_code: Option<i32>,
    /// Time from the start to the end of the recording.
    pub elapsed: Duration,
    /// The recording overhead.
    pub cost: RecordingOverhead,
    /// What could not be recorded, one sentence each.
    pub lacks: Vec<String>,
}

/// Why a recording failed, or ended early.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The trace folder is not empty.
    #[error("{0} already exists and is not empty: choose another folder with -o (corewise does not overwrite files)")]
    Exists(PathBuf),
    /// Missing permissions.
    #[error(
        "recording needs CAP_BPF and CAP_PERFMON (or root): run corewise with sudo, or grant the capabilities once with `sudo \
         setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search+ep $(command -v corewise)`"
    )]
    Rights,
    /// BPF is not available, or failed.
    #[error("BPF: {0}")]
    Bpf(String),
    /// perf events are not available, or failed.
    #[error("perf events: {0}")]
    Perf(String),
    /// The process to record does not exist.
    #[error("process {0} does not exist")]
    NoProcess(i32),
    /// A mark for a function or probe cannot be set.
    #[error("--mark {name}: {why}")]
    Mark {
        /// The mark's name.
        name: String,
        /// The reason.
        why: String,
    },
    /// The requested events cannot be counted.
    #[error("--counters: {0}")]
    Counters(String),
    /// The command cannot be run.
    #[error("cannot run {command}: {why}")]
    Command {
        /// The command.
        command: String,
        /// The system error.
        why: std::io::Error,
    },
    /// The command cannot be bound to CPUs.
    #[error("cannot bind the command to {cpus}: {why}")]
    Bind {
        /// The CPUs, for users.
        cpus: String,
        /// The system error.
        why: std::io::Error,
    },
    /// The disk is full; everything spooled until then is intact.
    #[error("the disk is full: the recording ended early; everything recorded until then is intact in {0}")]
    DiskFull(PathBuf),
    /// Writing or reading failed.
    #[error("{what}: {why}")]
    Io {
        /// The operation and its file.
        what: String,
        /// The system error.
        why: std::io::Error,
    },
}

impl CaptureError {
    /// Returns the error for a failed write to the spool.
    pub(crate) fn spool(dir: &std::path::Path, why: std::io::Error) -> Self {
        match why.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG) => Self::DiskFull(dir.to_owned()),
            _ => Self::Io { what: format!("cannot write to {}", dir.display()), why },
        }
    }
}
