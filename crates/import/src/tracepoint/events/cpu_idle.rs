//! The CPU enters or leaves an idle state.

use crate::tracepoint::table::{Meaning, Tracepoint, field};
use model::EventKind;

pub(super) const TRACEPOINTS: &[Tracepoint] = &[Tracepoint {
    name: "cpu_idle",
    lttng: "power_cpu_idle",
    numbers: &[field("state").perfetto(1)],
    printed: &["{*}state={state}"],
    perfetto: 13,
    // The kernel's value for "leaving" is (u32)-1. The event is about the CPU that recorded it.
    meaning: Meaning::Of(|v, out| out.add(EventKind::Idle { state: v.number(0) as i32 })),
    ..Tracepoint::NEW
}];
