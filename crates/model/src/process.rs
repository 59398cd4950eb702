//! The programs that processes ran.

use serde::{Deserialize, Serialize};

/// The file with the programs ([`Process`], JSON), in a spool and in the trace folder made from it.
pub const PROCESSES: &str = "processes.json";

/// A program that a process ran, from `at_ns` on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Process {
    /// The process.
    pub pid: i32,
    /// When the program was seen (after an exec or in a snapshot), ns on the trace's clock.
    pub at_ns: u64,
    /// The executable; `None` for kernel threads and if it is not readable.
    pub exe: Option<String>,
    /// GNU build id of the executable, in hexadecimal.
    pub build_id: Option<String>,
    /// The arguments.
    pub command_line: Vec<String>,
    /// Its autogroup, if recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autogroup: Option<Autogroup>,
}

/// The autogroup of a process: where autogroups are on, the processes of a session in the root cgroup share what the autogroup gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Autogroup {
    /// Its number.
    pub id: u64,
    /// Its nice value relative to other autogroups.
    pub nice: i8,
}

impl Autogroup {
    /// Reads `/proc/PID/autogroup`.
    ///
    /// ```
    /// use model::Autogroup;
    ///
    /// assert_eq!(Autogroup::parse("/autogroup-4 nice -5\n"), Some(Autogroup { id: 4, nice: -5 }));
    /// assert_eq!(Autogroup::parse(""), None);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (id, nice) = text.trim().strip_prefix("/autogroup-")?.split_once(" nice ")?;
        Some(Self { id: id.parse().ok()?, nice: nice.parse().ok()? })
    }
}
