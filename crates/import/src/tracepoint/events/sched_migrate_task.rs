//! A thread that is not running is moved to another CPU's run queue.

use crate::tracepoint::table::{Meaning, Tracepoint, field};
use model::EventKind;

pub(super) const TRACEPOINTS: &[Tracepoint] = &[Tracepoint {
    name: "sched_migrate_task",
    numbers: &[field("pid").lttng("tid").perfetto(2), field("orig_cpu").perfetto(4), field("dest_cpu").perfetto(5)],
    // The second is the form of Linux 2.6.
    printed: &[
        "{} pid={pid} prio={#} orig_cpu={orig_cpu} dest_cpu={dest_cpu}",
        "task {}:{pid} [{#}] from: {orig_cpu}  to: {dest_cpu}",
    ],
    perfetto: 491,
    meaning: Meaning::Of(|v, out| out.add(EventKind::Migrate { tid: v.tid(0), from: v.cpu(1), to: v.cpu(2) })),
    ..Tracepoint::NEW
}];
