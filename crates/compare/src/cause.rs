//! Why time passed on the critical path.

use model::{CoreType, ThreadKey};

/// Why time passed on the critical path, with what is needed to take running time apart.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Cause {
    /// Running: the type of core and whether its SMT sibling was busy.
    Running {
        /// The core type, by its name in tables; empty if unknown.
        core_type: &'static str,
        /// Whether its SMT sibling was busy.
        sibling_busy: bool,
    },
    /// Ready while this thread ran on its CPU; `None` if unknown.
    Ready(Option<ThreadKey>),
    /// Ready while its CPU was idle.
    WakeupLatency,
    /// Kept from running by its cgroup's CPU quota.
    Throttled,
    /// Waiting, by the state letter, the system call or the kernel function; empty if unknown.
    Blocked(String),
    /// The hypervisor or interrupts had the CPU: an estimate from the time that the kernel charged to the thread.
    Steal,
    /// Unknown.
    Unknown,
}

/// The name of a core type as a constant; empty if it is none.
pub(crate) fn core_type(name: &str) -> &'static str {
    const ALL: [CoreType; 5] =
        [CoreType::Performance, CoreType::Middle, CoreType::Efficient, CoreType::LowPower, CoreType::Uniform];
    ALL.iter().map(|of| of.as_str()).find(|word| *word == name).unwrap_or_default()
}
