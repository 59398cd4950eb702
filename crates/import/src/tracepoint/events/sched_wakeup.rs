//! A thread is woken. Each reader has a fast path for it ([`Meaning::Wake`]).

use crate::tracepoint::table::{Meaning, Tracepoint, field};
use model::WakeKind;

pub(crate) const WAKING: Tracepoint = Tracepoint {
    name: "sched_waking",
    numbers: &[
        field("pid").lttng("tid").perfetto(2),
        field("prio").priority().perfetto(3),
        field("target_cpu").older("cpu").perfetto(5).optional(),
        // The kernel's own records, and perf's CTF, contain whether the waker was interrupted.
        field("common_flags").optional(),
    ],
    texts: &[field("comm").perfetto(1)],
    perfetto: 20,
    meaning: Meaning::Wake(WakeKind::Waking),
    ..Tracepoint::NEW
};

pub(super) const TRACEPOINTS: &[Tracepoint] = &[
    WAKING,
    Tracepoint { name: "sched_wakeup", perfetto: 17, meaning: Meaning::Wake(WakeKind::Wakeup), ..WAKING },
    Tracepoint { name: "sched_wakeup_new", perfetto: 114, meaning: Meaning::Wake(WakeKind::New), ..WAKING },
];
