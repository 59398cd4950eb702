//! What the kernel charged a thread for running. Perfetto's `FtraceEvent` has it not.

use crate::tracepoint::table::{Meaning, Tracepoint, field};
use model::{Ns, What};

pub(super) const TRACEPOINTS: &[Tracepoint] = &[Tracepoint {
    name: "sched_stat_runtime",
    numbers: &[field("pid").lttng("tid"), field("runtime")],
    // comm=NAME pid=7 runtime=4287 [ns] vruntime=…
    printed: &["{} pid={pid} runtime={runtime}"],
    meaning: Meaning::Of(|v, out| out.add(What::Charge { tid: v.tid(0), ns: Ns(v.number(1)) })),
    ..Tracepoint::NEW
}];
