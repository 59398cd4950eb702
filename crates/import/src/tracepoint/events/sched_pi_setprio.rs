//! A lock's waiters lend a thread their priority, or no longer.

use crate::tracepoint::table::{Meaning, Tracepoint, field};
use model::{Prio, What};

pub(super) const TRACEPOINTS: &[Tracepoint] = &[Tracepoint {
    name: "sched_pi_setprio",
    numbers: &[field("pid").lttng("tid").perfetto(4), field("newprio").priority().perfetto(2)],
    printed: &["{*} pid={pid}{*} newprio={newprio}"],
    perfetto: 353,
    meaning: Meaning::Of(|v, out| {
        out.add(What::Priority { tid: v.tid(0), prio: Prio::new(v.number(1) as i16), policy: None, nice: None })
    }),
    ..Tracepoint::NEW
}];
