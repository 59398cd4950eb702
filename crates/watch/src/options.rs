//! What to watch, and why it cannot be.

use capture::{CaptureError, CounterPlan};
use std::path::PathBuf;

/// How threads are grouped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum GroupBy {
    /// Not at all.
    None,
    /// By cgroup: containers and systemd units.
    #[default]
    Cgroup,
    /// By the name of their process. Kernel threads of a kind are one group.
    Process,
}

/// What to watch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WatchOptions {
    /// How threads are grouped.
    pub by: GroupBy,
    /// Only these groups, each with all cgroups below it; all other threads are [`crate::snapshot::GroupKind::Other`]. Empty: any group
    /// that is seen.
    pub chosen: Vec<String>,
    /// How many groups a snapshot lists.
    pub top: usize,
    /// The most groups with sums of their own; fewer if they would need more than [`MAX_BYTES`].
    pub max_groups: usize,
    /// The events that the CPUs count; none by default.
    pub counters: CounterPlan,
    /// The root of the files from which energy is read: `/`, or a tree in tests. `None`: it is not read.
    pub energy_root: Option<PathBuf>,
}

/// The default number of listed groups.
pub const DEFAULT_TOP: usize = 20;
/// The most bytes for the sums of groups in the kernel. (Not a limit of groups seen: groups that are no longer active make room.)
pub const MAX_BYTES: usize = 24 << 20;

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            by: GroupBy::default(),
            chosen: Vec::new(),
            top: DEFAULT_TOP,
            max_groups: 1024,
            counters: CounterPlan::default(),
            energy_root: Some(PathBuf::from("/")),
        }
    }
}

/// Why watching is not possible.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// Missing permissions.
    #[error("watching needs CAP_BPF and CAP_PERFMON (or root): run corewise with sudo; `corewise doctor` says more")]
    Rights,
    /// The kernel or libbpf refuse.
    #[error("{0}")]
    Capture(CaptureError),
    /// A cgroup that was chosen does not exist.
    #[error("there is no cgroup {name} in {root} (`systemd-cgls` lists them){meant}")]
    NoCgroup {
        /// The name.
        name: String,
        /// Where the hierarchy is mounted.
        root: String,
        /// A question with the name that may have been meant, or nothing.
        meant: String,
    },
    /// No cgroup hierarchy is mounted.
    #[error("no cgroup hierarchy is mounted: use --by process or --by none")]
    NoHierarchy,
    /// Too many groups were chosen.
    #[error("{chosen} groups were chosen, but only {max} can have sums of their own: choose fewer")]
    TooMany {
        /// How many were chosen.
        chosen: usize,
        /// How many are possible.
        max: usize,
    },
    /// A name that no process can have.
    #[error(
        "{0:?} is not a name of a process: the kernel keeps 1 to 15 bytes of it (the second column of `ps -e -o pid,comm`)"
    )]
    BadName(String),
}

impl From<CaptureError> for WatchError {
    fn from(error: CaptureError) -> Self {
        match error {
            CaptureError::Rights => Self::Rights,
            other => Self::Capture(other),
        }
    }
}
