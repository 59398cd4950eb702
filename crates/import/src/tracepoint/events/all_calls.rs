//! All system calls, by number (`raw_syscalls`), as `perf trace record` records them: those that other tracepoints record by name.
//!
//! The numbers depend on the machine's architecture. Those of 32-bit programs on a 64-bit machine are others, which records do not show.

use super::futex;
use crate::tracepoint::table::{Call, FieldDef, Meaning, Reader, Tracepoint, field};
use model::EventKind;

/// Only binary formats of the kernel's own records: printed texts and LTTng have names of calls.
const CALL: Tracepoint = Tracepoint {
    not_read_from: &[Reader::FtraceText, Reader::PerfScript, Reader::SchedViz, Reader::Ctf, Reader::Perfetto],
    ..Tracepoint::NEW
};

const fn argument(at: usize) -> FieldDef {
    field("args").element(at, 6)
}

pub(super) const TRACEPOINTS: &[Tracepoint] = &[
    Tracepoint {
        name: "sys_enter",
        numbers: &[argument(0), argument(1), argument(2), field("id")],
        meaning: Meaning::Of(|v, out| {
            out.add(match v.calls.call(v.number(3)) {
                Some(Call::Futex) => futex::call(v),
                Some(Call::Yield) => EventKind::Yield { tid: v.current, begins: true },
                None => EventKind::Sample,
            })
        }),
        ..CALL
    },
    Tracepoint {
        name: "sys_exit",
        numbers: &[field("id")],
        meaning: Meaning::Of(|v, out| {
            out.add(match v.calls.call(v.number(0)) {
                Some(Call::Futex) => EventKind::FutexReturn { tid: v.current },
                Some(Call::Yield) => EventKind::Yield { tid: v.current, begins: false },
                None => EventKind::Sample,
            })
        }),
        ..CALL
    },
];
