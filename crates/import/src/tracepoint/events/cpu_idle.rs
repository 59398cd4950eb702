//! The CPU enters an idle state, or leaves it.

use crate::tracepoint::table::{Meaning, Tracepoint, field};
use model::What;

pub(super) const TRACEPOINTS: &[Tracepoint] = &[Tracepoint {
    name: "cpu_idle",
    lttng: "power_cpu_idle",
    numbers: &[field("state").perfetto(1)],
    printed: &["{*}state={state}"],
    perfetto: 13,
    // The kernel's "leaving" is (u32)-1; the CPU meant is the one it is written on.
    meaning: Meaning::Of(|v, out| out.add(What::Idle { state: v.number(0) as i32 })),
    ..Tracepoint::NEW
}];
