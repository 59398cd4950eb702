//! A thread inherits the priority of a lock's waiters, or loses it again. The fields do not identify the waiter.

use crate::tracepoint::table::{Meaning, Tracepoint, field};
use model::{Donor, EventKind, InheritedPriority, Prio};

pub(super) const TRACEPOINTS: &[Tracepoint] = &[Tracepoint {
    name: "sched_pi_setprio",
    numbers: &[
        field("pid").lttng("tid").perfetto(4),
        field("oldprio").priority().perfetto(3),
        field("newprio").priority().perfetto(2),
    ],
    printed: &["{*} pid={pid} oldprio={oldprio} newprio={newprio}"],
    perfetto: 353,
    meaning: Meaning::Of(|v, out| {
        let [old_prio, prio] = [1, 2].map(|at| Prio::new(v.number(at) as i16));
        let priority = InheritedPriority { donor: Donor::NotRecorded, old_prio, prio };
        out.add(EventKind::Inherit { tid: v.tid(0), priority })
    }),
    ..Tracepoint::NEW
}];
