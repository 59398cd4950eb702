//! All tracepoints that are read, one file each (or one per group): their names, their fields, their printed forms,
//! their numbers in Perfetto, and the events they stand for. No reader lists them again.

mod all_calls;
mod block_rq;
mod cpu_frequency;
mod cpu_idle;
mod cpu_parking;
mod futex;
mod irq;
mod irq_unnumbered;
mod sched_migrate_task;
mod sched_pi_setprio;
mod sched_process;
mod sched_stat_runtime;
mod sched_switch;
mod sched_wakeup;
mod sched_yield;

use super::table::{Reader, Tracepoint};

pub(crate) use sched_process::{NEWTASK, OLD_PID};
pub(crate) use sched_switch::SWITCH;
pub(crate) use sched_wakeup::WAKING;
pub(crate) use sched_yield::called;

/// All tracepoints. Their names are unique.
pub(crate) const TRACEPOINTS: &[&[Tracepoint]] = &[
    sched_switch::TRACEPOINTS,
    sched_wakeup::TRACEPOINTS,
    sched_stat_runtime::TRACEPOINTS,
    sched_migrate_task::TRACEPOINTS,
    sched_process::TRACEPOINTS,
    sched_pi_setprio::TRACEPOINTS,
    sched_yield::TRACEPOINTS,
    futex::TRACEPOINTS,
    all_calls::TRACEPOINTS,
    block_rq::TRACEPOINTS,
    cpu_idle::TRACEPOINTS,
    cpu_frequency::TRACEPOINTS,
    cpu_parking::TRACEPOINTS,
    irq::TRACEPOINTS,
    irq_unnumbered::TRACEPOINTS,
    #[cfg(test)]
    super::recipe::TRACEPOINTS,
];

/// The tracepoints that a reader reads.
pub(crate) fn read_by(reader: Reader) -> impl Iterator<Item = &'static Tracepoint> {
    TRACEPOINTS.iter().copied().flatten().filter(move |t| t.is_read_from(reader))
}

/// The tracepoint with this kernel name, if the reader reads it.
pub(crate) fn named(reader: Reader, name: &str) -> Option<&'static Tracepoint> {
    read_by(reader).find(|t| t.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracepoint::pattern::Pattern;
    use crate::tracepoint::table::{MAX_NUMBERS, MAX_TEXTS, Meaning};
    use std::collections::BTreeSet;

    fn all() -> impl Iterator<Item = &'static Tracepoint> {
        TRACEPOINTS.iter().copied().flatten()
    }

    #[test]
    fn names_and_numbers_are_unique() {
        let names: Vec<&str> = all().flat_map(|t| [t.name, t.lttng]).filter(|n| !n.is_empty()).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        let numbers: Vec<u32> = all().map(|t| t.perfetto).filter(|n| *n != 0).collect();
        assert_eq!(numbers.iter().collect::<BTreeSet<_>>().len(), numbers.len());
    }

    /// Without this check, excess fields and pattern fields with an unknown name would be dropped silently.
    #[test]
    fn fields_fit_and_patterns_name_them() {
        for t in all() {
            assert!(t.numbers.len() <= MAX_NUMBERS && t.texts.len() <= MAX_TEXTS, "{}", t.name);
            let from_text = [Reader::FtraceText, Reader::PerfScript].iter().any(|r| t.is_read_from(*r));
            let by_pattern = from_text && matches!(t.meaning, Meaning::Of(_));
            assert_eq!(!t.printed.is_empty(), by_pattern, "{}: printed forms", t.name);
            for printed in t.printed {
                assert!(Pattern::compile(printed, t).is_ok(), "{}: {:?}", t.name, Pattern::compile(printed, t).err());
            }
        }
    }
}
