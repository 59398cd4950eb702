//! Interrupts, and softirqs.

use crate::tracepoint::table::{FieldValues, Meaning, Tracepoint, field};
use model::{IrqKind, NameId, What};

const IRQ: Tracepoint = Tracepoint { numbers: &[field("irq").perfetto(1)], printed: &["irq={irq}"], ..Tracepoint::NEW };
// vec=1 [action=TIMER]
const SOFTIRQ: Tracepoint =
    Tracepoint { numbers: &[field("vec").perfetto(1)], printed: &["vec={vec}"], ..Tracepoint::NEW };

fn what(kind: IrqKind, begins: bool, v: &FieldValues<'_>, name: NameId) -> What {
    What::Irq { kind, number: v.number(0) as i32, begins, name }
}

pub(super) const TRACEPOINTS: &[Tracepoint] = &[
    Tracepoint {
        name: "irq_handler_entry",
        texts: &[field("name").perfetto(2).optional()],
        printed: &["irq={irq}{} name={name}", "irq={irq}"],
        perfetto: 36,
        meaning: Meaning::Of(|v, names| what(IrqKind::Hard, true, v, names.id(v.text(0)))),
        ..IRQ
    },
    Tracepoint {
        name: "irq_handler_exit",
        perfetto: 37,
        meaning: Meaning::Of(|v, _| what(IrqKind::Hard, false, v, NameId::NONE)),
        ..IRQ
    },
    Tracepoint {
        name: "softirq_entry",
        lttng: "irq_softirq_entry",
        perfetto: 24,
        meaning: Meaning::Of(|v, _| what(IrqKind::Soft, true, v, NameId::NONE)),
        ..SOFTIRQ
    },
    Tracepoint {
        name: "softirq_exit",
        lttng: "irq_softirq_exit",
        perfetto: 25,
        meaning: Meaning::Of(|v, _| what(IrqKind::Soft, false, v, NameId::NONE)),
        ..SOFTIRQ
    },
];
