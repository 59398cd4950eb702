//! The names that every machine has: the kernel's generic hardware events and its software events. The numbers are those of
//! `linux/perf_event.h` (`PERF_COUNT_HW_*`, `PERF_COUNT_SW_*`), the names are perf's.

/// `PERF_TYPE_HARDWARE`.
pub(crate) const TYPE_HARDWARE: u32 = 0;
/// `PERF_TYPE_SOFTWARE`.
pub(crate) const TYPE_SOFTWARE: u32 = 1;

/// A generic hardware event. The kernel knows its encoding on each PMU.
#[derive(PartialEq, Eq, Debug)]
pub struct Hardware {
    /// The name.
    pub name: &'static str,
    /// Another name for the same.
    pub alias: Option<&'static str>,
    /// The kernel's number (`PERF_COUNT_HW_*`).
    pub number: u8,
    /// What is counted.
    pub doc: &'static str,
}

/// A software event: the kernel counts it itself, on every machine.
#[derive(PartialEq, Eq, Debug)]
pub struct Software {
    /// The name.
    pub name: &'static str,
    /// Another name for the same.
    pub alias: Option<&'static str>,
    /// The kernel's number (`PERF_COUNT_SW_*`).
    pub number: u8,
    /// What is counted, with the unit if it is not a number of events.
    pub doc: &'static str,
}

const fn hardware(number: u8, name: &'static str, alias: Option<&'static str>, doc: &'static str) -> Hardware {
    Hardware { name, alias, number, doc }
}

const fn software(number: u8, name: &'static str, alias: Option<&'static str>, doc: &'static str) -> Software {
    Software { name, alias, number, doc }
}

/// The generic hardware events, in the order of lists.
pub const HARDWARE: &[Hardware] = &[
    hardware(0, "cycles", Some("cpu-cycles"), "Cycles in which the core was not halted, at its present frequency."),
    hardware(1, "instructions", None, "Retired instructions."),
    hardware(4, "branches", Some("branch-instructions"), "Retired branch instructions."),
    hardware(5, "branch-misses", None, "Mispredicted branch instructions."),
    hardware(2, "cache-references", None, "Accesses of a cache, usually the last level."),
    hardware(3, "cache-misses", None, "Misses of a cache, usually the last level."),
    hardware(9, "ref-cycles", None, "Cycles in which the core was not halted, at a constant frequency."),
    hardware(6, "bus-cycles", None, "Cycles of the bus."),
    hardware(
        7,
        "stalled-cycles-frontend",
        Some("idle-cycles-frontend"),
        "Cycles in which the frontend delivered nothing.",
    ),
    hardware(8, "stalled-cycles-backend", Some("idle-cycles-backend"), "Cycles in which the backend accepted nothing."),
];

/// The software events, in the order of lists.
pub const SOFTWARE: &[Software] = &[
    software(1, "task-clock", None, "Time on a CPU, ns."),
    software(0, "cpu-clock", None, "Time of a CPU, ns."),
    software(2, "page-faults", Some("faults"), "Page faults, minor and major."),
    software(5, "minor-faults", None, "Page faults that read nothing from a disk."),
    software(6, "major-faults", None, "Page faults that read from a disk."),
    software(3, "context-switches", Some("cs"), "Switches to another thread."),
    software(4, "cpu-migrations", Some("migrations"), "Migrations to another CPU."),
    software(11, "cgroup-switches", None, "Switches to a thread of another cgroup."),
    software(7, "alignment-faults", None, "Unaligned accesses that the kernel completed."),
    software(8, "emulation-faults", None, "Instructions that the kernel emulated."),
    software(9, "dummy", None, "Counts nothing."),
];

/// Returns the generic hardware event of a name.
pub(crate) fn hardware_named(name: &str) -> Option<&'static Hardware> {
    HARDWARE.iter().find(|e| e.name == name || e.alias == Some(name))
}

/// Returns the software event of a name.
pub(crate) fn software_named(name: &str) -> Option<&'static Software> {
    SOFTWARE.iter().find(|e| e.name == name || e.alias == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_and_numbers_are_unique() {
        let names = HARDWARE
            .iter()
            .flat_map(|e| [Some(e.name), e.alias])
            .chain(SOFTWARE.iter().flat_map(|e| [Some(e.name), e.alias]));
        let names: Vec<&str> = names.flatten().collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert_eq!(HARDWARE.iter().map(|e| e.number).collect::<BTreeSet<_>>(), (0..10).collect());
        assert_eq!(SOFTWARE.iter().map(|e| e.number).collect::<BTreeSet<_>>().len(), SOFTWARE.len());
    }
}
