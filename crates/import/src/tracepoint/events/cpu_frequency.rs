//! A CPU's frequency changes.

use crate::tracepoint::table::{Meaning, Tracepoint, field};
use model::EventKind;

pub(super) const TRACEPOINTS: &[Tracepoint] = &[Tracepoint {
    name: "cpu_frequency",
    lttng: "power_cpu_frequency",
    numbers: &[field("state").perfetto(1), field("cpu_id").perfetto(2)],
    printed: &["{}state={state}{}cpu_id={cpu_id}"],
    perfetto: 11,
    meaning: Meaning::Of(|v, out| out.add(EventKind::Frequency { of: v.cpu(1), khz: v.number(0) as u32 })),
    ..Tracepoint::NEW
}];
