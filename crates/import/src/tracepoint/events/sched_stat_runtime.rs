//! The run time that the kernel charged to a thread. Perfetto's `FtraceEvent` does not contain it.

use crate::tracepoint::table::{Meaning, Tracepoint, field};
use model::{EventKind, Ns};

pub(super) const TRACEPOINTS: &[Tracepoint] = &[Tracepoint {
    name: "sched_stat_runtime",
    numbers: &[field("pid").lttng("tid"), field("runtime")],
    // comm=NAME pid=7 runtime=4287 [ns] vruntime=…
    printed: &["{} pid={pid} runtime={runtime}"],
    meaning: Meaning::Of(|v, out| out.add(EventKind::Charge { tid: v.tid(0), ns: Ns(v.number(1)) })),
    ..Tracepoint::NEW
}];
