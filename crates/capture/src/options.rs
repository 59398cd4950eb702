//! What is asked of a recording, and what comes of it.

use crate::mark_point::MarkPoint;
use ingest::OwnCost;
use safefs::{Access, Dir};
use std::path::PathBuf;
use std::time::Duration;
use topology::Machine;

/// What a recording is made for. Every form records the switches, wakings and migrations of the whole machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// The machine, until the duration is over or the user stops it.
    All,
    /// A process; ends when it ends.
    Pid(i32),
    /// A command with its arguments; started once everything is attached, ends when it and its children have ended.
    Command(Vec<String>),
}

/// How the kernel is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Backend {
    /// BPF where it works, else perf events.
    #[default]
    Auto,
    /// BPF programs at tracepoints.
    Bpf,
    /// `perf_event_open` at tracepoints.
    Perf,
}

/// What to record, and how.
#[derive(Clone, PartialEq, Debug)]
pub struct RecordOptions {
    /// The trace folder; it must not exist, or be empty.
    pub dir: PathBuf,
    /// Who may read it.
    pub access: Access,
    /// What the recording is made for.
    pub target: Target,
    /// Ends it after this time at the latest.
    pub duration: Option<Duration>,
    /// Interrupts too; BPF: also timers by their function, and on x86 those that other CPUs send.
    pub irq: bool,
    /// Flight recorder: keeps the last such time only.
    pub keep: Option<Duration>,
    /// Drops names and command lines of threads that are not of the target.
    pub only_focus: bool,
    /// Functions and probes whose calls are marked; BPF only.
    pub marks: Vec<MarkPoint>,
    /// Where in their code threads go to wait: callchains at blocking switch-outs; BPF only.
    pub stacks: bool,
    /// How the kernel is asked.
    pub backend: Backend,
    /// The machine, where the caller has read it; goes into the facts.
    pub machine: Option<Machine>,
    /// The command line of corewise itself; goes into the conditions.
    pub arguments: Vec<String>,
    /// Bytes of the buffer between kernel and recorder: a power of two, at least 1 MiB.
    pub ring_bytes: u32,
    /// Whether switches are inferred that the kernel hides from BPF programs; `None`: where it is seen to hide some when the recording
    /// begins, and where CPUs are too busy to see it.
    pub infer_switches: Option<bool>,
}

impl RecordOptions {
    /// Everything at its default, the whole machine into `dir`.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            access: Access::default(),
            target: Target::All,
            duration: None,
            irq: false,
            keep: None,
            only_focus: false,
            marks: Vec::new(),
            stacks: false,
            backend: Backend::Auto,
            machine: None,
            arguments: Vec::new(),
            ring_bytes: 64 << 20,
            infer_switches: None,
        }
    }
}

/// How far a running recording is: told when everything is attached, and each second.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Progress {
    /// Since everything was attached.
    pub elapsed: Duration,
    /// Events recorded.
    pub events: u64,
    /// Bytes spooled.
    pub bytes: u64,
    /// Events that could not be delivered.
    pub lost: u64,
}

/// Why a recording ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// Its duration was over.
    Duration,
    /// The process or command had ended.
    Target,
    /// The user stopped it (SIGINT or SIGTERM).
    Stopped,
}

/// A recording that ended well.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The trace folder, which now holds a spool ([`crate::spool_of`]) that is on disk.
    pub folder: Dir,
    /// Which backend recorded, and why that one.
    pub backend: String,
    /// Why it ended.
    pub ended: Ended,
    /// Exit code of the command, 128 + signal where a signal ended it.
    pub exit_code: Option<i32>,
    /// From the first to the last moment recorded.
    pub elapsed: Duration,
    /// What it cost.
    pub cost: OwnCost,
    /// What could not be recorded, a sentence each.
    pub lacks: Vec<String>,
}

/// Why there is no recording, or why it ended early.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The folder has something in it.
    #[error("{0} already exists and is not empty: corewise overwrites nothing; choose another folder with -o")]
    Exists(PathBuf),
    /// Not permitted.
    #[error(
        "recording needs CAP_BPF and CAP_PERFMON (or root): run corewise with sudo, or grant them once with `sudo \
         setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search+ep $(command -v corewise)`"
    )]
    Rights,
    /// BPF does not work here.
    #[error("BPF: {0}")]
    Bpf(String),
    /// perf events do not work here.
    #[error("perf events: {0}")]
    Perf(String),
    /// The process to record is not there.
    #[error("there is no process {0}")]
    NoProcess(i32),
    /// A function or probe cannot be marked.
    #[error("--mark {name}: {why}")]
    Mark {
        /// What its marks were to be called.
        name: String,
        /// Why not, in words.
        why: String,
    },
    /// The command could not be run.
    #[error("{command}: {why}")]
    Command {
        /// The command.
        command: String,
        /// What the system says.
        why: std::io::Error,
    },
    /// The disk is full; what was spooled until then is whole.
    #[error("the disk is full: the recording ended early; what was recorded until then is whole, in {0}")]
    DiskFull(PathBuf),
    /// Writing or reading failed.
    #[error("{what}: {why}")]
    Io {
        /// What was done to what.
        what: String,
        /// What the system says.
        why: std::io::Error,
    },
}

impl CaptureError {
    /// Writing into the spool failed.
    pub(crate) fn spool(dir: &std::path::Path, why: std::io::Error) -> Self {
        match why.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG) => Self::DiskFull(dir.to_owned()),
            _ => Self::Io { what: format!("writing into {}", dir.display()), why },
        }
    }
}
