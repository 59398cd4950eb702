//! A CPU switches from one thread to another. Each reader has a fast path for it ([`Meaning::Switch`]).

use crate::tracepoint::table::{Meaning, Tracepoint, field};

pub(crate) const SWITCH: Tracepoint = Tracepoint {
    name: "sched_switch",
    numbers: &[
        field("prev_pid").lttng("prev_tid").perfetto(2),
        field("prev_prio").priority().perfetto(3),
        field("prev_state").perfetto(4),
        field("next_pid").lttng("next_tid").perfetto(6),
        field("next_prio").priority().perfetto(7),
    ],
    texts: &[field("prev_comm").perfetto(1), field("next_comm").perfetto(5)],
    perfetto: 4,
    meaning: Meaning::Switch,
    ..Tracepoint::NEW
};

pub(super) const TRACEPOINTS: &[Tracepoint] = &[SWITCH];
