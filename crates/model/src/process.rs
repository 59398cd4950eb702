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
}
