//! Calls of `sched_yield()`. Ftrace prints them without an event name (`sys_sched_yield()`); [`called`] reads that
//! form.

use crate::tracepoint::table::{Meaning, Reader, Tracepoint};
use model::{EventKind, Tid};

const YIELD: Tracepoint = Tracepoint { printed: &["{*}", ""], not_read_from: &[Reader::Perfetto], ..Tracepoint::NEW };

pub(super) const TRACEPOINTS: &[Tracepoint] = &[
    Tracepoint {
        name: "sys_enter_sched_yield",
        lttng: "syscall_entry_sched_yield",
        meaning: Meaning::Of(|v, out| out.add(EventKind::Yield { tid: v.current, begins: true })),
        ..YIELD
    },
    Tracepoint {
        name: "sys_exit_sched_yield",
        lttng: "syscall_exit_sched_yield",
        meaning: Meaning::Of(|v, out| out.add(EventKind::Yield { tid: v.current, begins: false })),
        ..YIELD
    },
];

/// Parses a system call as ftrace prints it, without an event name; `None` if it is another system call.
pub(crate) fn called(args: &[u8], tid: Tid) -> Option<EventKind> {
    match args.strip_prefix(b"sys_sched_yield")?.trim_ascii() {
        b"()" => Some(EventKind::Yield { tid, begins: true }),
        rest if rest.starts_with(b"->") => Some(EventKind::Yield { tid, begins: false }),
        _ => None,
    }
}
