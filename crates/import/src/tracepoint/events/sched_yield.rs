//! Calls of `sched_yield()`. Ftrace's own text has no name before them (`sys_sched_yield()`); [`called`] reads that.

use crate::tracepoint::table::{Meaning, Reader, Tracepoint};
use model::{Tid, What};

const YIELD: Tracepoint = Tracepoint { printed: &["{*}", ""], not_read_from: &[Reader::Perfetto], ..Tracepoint::NEW };

pub(super) const TRACEPOINTS: &[Tracepoint] = &[
    Tracepoint {
        name: "sys_enter_sched_yield",
        lttng: "syscall_entry_sched_yield",
        meaning: Meaning::Of(|v, out| out.add(What::Yield { tid: v.current, begins: true })),
        ..YIELD
    },
    Tracepoint {
        name: "sys_exit_sched_yield",
        lttng: "syscall_exit_sched_yield",
        meaning: Meaning::Of(|v, out| out.add(What::Yield { tid: v.current, begins: false })),
        ..YIELD
    },
];

/// A system call as ftrace prints it, without an event's name before it; `None`: another one.
pub(crate) fn called(args: &[u8], tid: Tid) -> Option<What> {
    match args.strip_prefix(b"sys_sched_yield")?.trim_ascii() {
        b"()" => Some(What::Yield { tid, begins: true }),
        rest if rest.starts_with(b"->") => Some(What::Yield { tid, begins: false }),
        _ => None,
    }
}
