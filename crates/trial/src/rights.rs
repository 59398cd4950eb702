//! Which fixes the user may apply on this machine.

use crate::cgroup::{CPU, Hierarchy};

/// Which fixes can be applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rights {
    /// Whether threads may get higher priorities and real-time policies (`CAP_SYS_NICE`).
    pub raises_priorities: bool,
    /// Whether files of the kernel may be written: cgroups, CPUs, interrupts (root).
    pub writes_kernel_files: bool,
    /// The version of the cgroup hierarchy with the CPU controller; `None` if there is none.
    pub cgroups: Option<u32>,
}

/// The number of the capability (linux/capability.h).
const CAP_SYS_NICE: u32 = 23;

impl Rights {
    /// Those of this process.
    #[must_use]
    pub fn of_this_process() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        // SAFETY: no memory is involved.
        let is_root = unsafe { libc::geteuid() } == 0;
        Self {
            raises_priorities: capabilities(&status).is_some_and(|all| all >> CAP_SYS_NICE & 1 == 1),
            writes_kernel_files: is_root,
            cgroups: Hierarchy::of_this_machine(CPU).map(|of| if of.is_v1 { 1 } else { 2 }),
        }
    }
}

/// The effective capabilities in `/proc/PID/status`.
fn capabilities(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_capability_is_one_bit() {
        assert_eq!(capabilities("Name:\tx\nCapEff:\t0000000000800000\n"), Some(1 << CAP_SYS_NICE));
        assert_eq!(capabilities("Name:\tx\n"), None);
    }
}
