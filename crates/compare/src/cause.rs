//! Why time passed on the critical path.

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
    Ready(Option<i64>),
    /// Ready while its CPU was idle.
    WakeupLatency,
    /// Kept from running by its cgroup's CPU quota.
    Throttled,
    /// Waiting, by the system call or kernel function; empty if unknown.
    Blocked(String),
    /// The hypervisor ran something else.
    Steal,
    /// Unknown.
    Unknown,
}
