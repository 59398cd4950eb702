//! perf's own records: `--show-switch-events`, `--show-task-events`, `--show-lost-events`.

use crate::text::scan::{blanks, find_last, integer, number};
use model::{Pid, Tid};

/// The content of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Record<'l> {
    /// The thread of the line leaves its CPU or comes to it.
    Switch { leaves: bool, preempted: bool },
    /// The name of a thread.
    Comm { pid: Pid, tid: Tid, name: &'l [u8] },
    /// A thread was created.
    Fork { pid: Pid, tid: Tid, parent: Tid },
    /// Events were lost.
    Lost { events: u64 },
    /// A record of another kind.
    Other,
}

/// Parses the text after a line's time; `None` if it is not a record of perf's own or cannot be read.
pub(super) fn record(text: &[u8]) -> Option<Record<'_>> {
    let text = text.strip_prefix(b"PERF_RECORD_")?;
    let end =
        text.iter().position(|b| !(b.is_ascii_uppercase() || *b == b'_' || b.is_ascii_digit())).unwrap_or(text.len());
    let (kind, rest) = text.split_at(end);
    Some(match kind {
        b"SWITCH" | b"SWITCH_CPU_WIDE" => {
            let direction = blanks(rest);
            let leaves = direction.starts_with(b"OUT");
            if !leaves && !direction.starts_with(b"IN") {
                return None;
            }
            Record::Switch { leaves, preempted: direction.starts_with(b"OUT preempt") }
        }
        b"COMM" => {
            // ` exec: name:process/thread`, and the name may hold anything.
            let rest = rest.strip_prefix(b" exec").unwrap_or(rest).strip_prefix(b": ")?;
            let slash = find_last(rest, b"/")?;
            let colon = find_last(&rest[..slash], b":")?;
            let (pid, _) = integer(&rest[colon + 1..])?;
            let (tid, _) = integer(&rest[slash + 1..])?;
            Record::Comm { pid: Pid(pid as i32), tid: Tid(tid as i32), name: &rest[..colon] }
        }
        b"FORK" => {
            // `(process:thread):(parent's process:its thread)`
            let (pid, rest) = integer(rest.strip_prefix(b"(")?)?;
            let (tid, rest) = integer(rest.strip_prefix(b":")?)?;
            let (_, rest) = integer(rest.strip_prefix(b"):(")?)?;
            let (parent, _) = integer(rest.strip_prefix(b":")?)?;
            Record::Fork { pid: Pid(pid as i32), tid: Tid(tid as i32), parent: Tid(parent as i32) }
        }
        b"LOST" | b"LOST_SAMPLES" => {
            let (events, _) = number(blanks(&rest[find_last(rest, b"lost")? + "lost".len()..]))?;
            Record::Lost { events }
        }
        _ => Record::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_printed_by_perf_are_read() {
        let switch = |leaves, preempted| Some(Record::Switch { leaves, preempted });
        for (text, expected) in [
            ("PERF_RECORD_SWITCH_CPU_WIDE IN           prev pid/tid:     0/0    ", switch(false, false)),
            ("PERF_RECORD_SWITCH_CPU_WIDE OUT          next pid/tid:     0/0    ", switch(true, false)),
            ("PERF_RECORD_SWITCH_CPU_WIDE OUT preempt  next pid/tid:   944/944  ", switch(true, true)),
            ("PERF_RECORD_SWITCH         OUT preempt", switch(true, true)),
            ("PERF_RECORD_SWITCH         IN ", switch(false, false)),
            (
                "PERF_RECORD_COMM exec: a:b/c:781/782",
                Some(Record::Comm { pid: Pid(781), tid: Tid(782), name: b"a:b/c" }),
            ),
            ("PERF_RECORD_FORK(7:8):(5:6)", Some(Record::Fork { pid: Pid(7), tid: Tid(8), parent: Tid(6) })),
            ("PERF_RECORD_LOST lost 1234", Some(Record::Lost { events: 1234 })),
            ("PERF_RECORD_LOST_SAMPLES lost 5", Some(Record::Lost { events: 5 })),
            ("PERF_RECORD_EXIT(7:8):(5:6)", Some(Record::Other)),
            ("PERF_RECORD_MMAP2 7/7: [0x4(0x1) @ 0]: r-xp /x", Some(Record::Other)),
            ("PERF_RECORD_SWITCH x", None),
            ("PERF_RECORD_COMM: x", None),
            ("PERF_RECORD_FORK(x)", None),
            ("sched:sched_switch: x", None),
        ] {
            assert_eq!(record(text.as_bytes()), expected, "{text}");
        }
    }
}
