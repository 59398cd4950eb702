//! Hardware interrupts and softirqs.

use crate::tracepoint::table::{Added, FieldValues, Meaning, Output, Tracepoint, field};
use model::{EventKind, IrqKind};

const IRQ: Tracepoint = Tracepoint { numbers: &[field("irq").perfetto(1)], printed: &["irq={irq}"], ..Tracepoint::NEW };
// vec=1 [action=TIMER]
const SOFTIRQ: Tracepoint =
    Tracepoint { numbers: &[field("vec").perfetto(1)], printed: &["vec={vec}"], ..Tracepoint::NEW };

fn add(kind: IrqKind, begins: bool, v: &FieldValues<'_>, mut out: Output<'_>) -> Added {
    let name = out.name(v.text(0));
    out.add(EventKind::Irq { kind, number: v.number(0) as i32, begins, name })
}

pub(super) const TRACEPOINTS: &[Tracepoint] = &[
    Tracepoint {
        name: "irq_handler_entry",
        texts: &[field("name").perfetto(2).optional()],
        printed: &["irq={irq}{} name={name}", "irq={irq}"],
        perfetto: 36,
        meaning: Meaning::Of(|v, out| add(IrqKind::Hard, true, v, out)),
        ..IRQ
    },
    Tracepoint {
        name: "irq_handler_exit",
        perfetto: 37,
        meaning: Meaning::Of(|v, out| add(IrqKind::Hard, false, v, out)),
        ..IRQ
    },
    Tracepoint {
        name: "softirq_entry",
        lttng: "irq_softirq_entry",
        perfetto: 24,
        meaning: Meaning::Of(|v, out| add(IrqKind::Soft, true, v, out)),
        ..SOFTIRQ
    },
    Tracepoint {
        name: "softirq_exit",
        lttng: "irq_softirq_exit",
        perfetto: 25,
        meaning: Meaning::Of(|v, out| add(IrqKind::Soft, false, v, out)),
        ..SOFTIRQ
    },
];
