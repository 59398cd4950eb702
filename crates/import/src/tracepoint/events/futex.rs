//! Calls of `futex()`: their arguments and their ends. What a thread waits for between the two is the futex; a thread that wakes it is in such a
//! call, too. Only binary formats: the others print the arguments in several forms.

use crate::tracepoint::table::{FieldValues, Meaning, Reader, Tracepoint, field};
use model::EventKind;

const CALL: Tracepoint = Tracepoint {
    not_read_from: &[Reader::FtraceText, Reader::PerfScript, Reader::SchedViz, Reader::Perfetto],
    ..Tracepoint::NEW
};

/// A call, by its first three arguments, which are the first numbers.
pub(super) fn call(v: &FieldValues<'_>) -> EventKind {
    EventKind::FutexCall {
        tid: v.current,
        address: v.number(0).cast_unsigned(),
        operation: v.number(1) as u16,
        value: v.number(2) as u32,
    }
}

pub(super) const TRACEPOINTS: &[Tracepoint] = &[
    Tracepoint {
        name: "sys_enter_futex",
        lttng: "syscall_entry_futex",
        numbers: &[field("uaddr"), field("op"), field("val")],
        meaning: Meaning::Of(|v, out| out.add(call(v))),
        ..CALL
    },
    Tracepoint {
        name: "sys_exit_futex",
        lttng: "syscall_exit_futex",
        meaning: Meaning::Of(|v, out| out.add(EventKind::FutexReturn { tid: v.current })),
        ..CALL
    },
];
