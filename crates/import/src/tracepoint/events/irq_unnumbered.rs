//! Interrupts that have neither a number nor a softirq vector: timers, and inter-processor interrupts
//! (include/trace/events/timer.h and ipi.h, and x86's irq_vectors.h).
//!
//! A timer is named after its function. Records contain the function's address only; printed text usually contains its
//! name. They are not yet read from CTF, where LTTng uses other names.

use crate::tracepoint::table::{Added, FieldDef, FieldValues, Meaning, Output, Reader, Tracepoint, field};
use model::{EventKind, IrqKind, NameId};

/// The number of an interrupt that has neither an interrupt number nor a softirq vector.
const UNNUMBERED: i32 = -1;

/// The name in printed text; records have an address instead.
const PRINTED: &[FieldDef] = &[field("printed").not_in_records()];

/// hrtimer=0000000012345678 function=hrtimer_wakeup now=12 softexpires=12
const TIMER: Tracepoint = Tracepoint {
    texts: PRINTED,
    printed: &["{} function={printed} ", "{} function={printed}", ""],
    not_read_from: &[Reader::Ctf],
    meaning: Meaning::Of(|v, out| begins(IrqKind::Timer, b"", v, out)),
    ..Tracepoint::NEW
};
const TIMER_EXIT: Tracepoint =
    Tracepoint { printed: &[""], meaning: Meaning::Of(|_, out| ends(IrqKind::Timer, out)), ..TIMER };

/// (Rescheduling interrupts), or vector=236
const IPI: Tracepoint = Tracepoint {
    printed: &["({printed*})", ""],
    meaning: Meaning::Of(|v, out| begins(IrqKind::Ipi, b"", v, out)),
    ..TIMER
};
const CALL: Meaning = Meaning::Of(|v, out| begins(IrqKind::Ipi, b"call_function", v, out));
const IPI_EXIT: Tracepoint =
    Tracepoint { printed: &[""], meaning: Meaning::Of(|_, out| ends(IrqKind::Ipi, out)), ..TIMER };

fn begins(kind: IrqKind, name: &[u8], v: &FieldValues<'_>, mut out: Output<'_>) -> Added {
    let printed = v.text(0);
    // An address is not a name.
    let is_address = printed.starts_with(b"0x") || printed.iter().all(u8::is_ascii_hexdigit);
    let name = out.name(if is_address { name } else { printed });
    out.add(EventKind::Irq { kind, number: UNNUMBERED, begins: true, name })
}

fn ends(kind: IrqKind, out: Output<'_>) -> Added {
    out.add(EventKind::Irq { kind, number: UNNUMBERED, begins: false, name: NameId::NONE })
}

pub(super) const TRACEPOINTS: &[Tracepoint] = &[
    Tracepoint { name: "hrtimer_expire_entry", ..TIMER },
    Tracepoint { name: "hrtimer_expire_exit", ..TIMER_EXIT },
    Tracepoint { name: "timer_expire_entry", ..TIMER },
    Tracepoint { name: "timer_expire_exit", ..TIMER_EXIT },
    Tracepoint { name: "local_timer_entry", ..TIMER },
    Tracepoint { name: "local_timer_exit", ..TIMER_EXIT },
    Tracepoint { name: "ipi_entry", ..IPI },
    Tracepoint { name: "ipi_exit", ..IPI_EXIT },
    Tracepoint {
        name: "reschedule_entry",
        meaning: Meaning::Of(|v, out| begins(IrqKind::Ipi, b"reschedule", v, out)),
        ..IPI
    },
    Tracepoint { name: "reschedule_exit", ..IPI_EXIT },
    Tracepoint { name: "call_function_entry", meaning: CALL, ..IPI },
    Tracepoint { name: "call_function_exit", ..IPI_EXIT },
    Tracepoint { name: "call_function_single_entry", meaning: CALL, ..IPI },
    Tracepoint { name: "call_function_single_exit", ..IPI_EXIT },
    Tracepoint {
        name: "irq_work_entry",
        meaning: Meaning::Of(|v, out| begins(IrqKind::Ipi, b"irq_work", v, out)),
        ..IPI
    },
    Tracepoint { name: "irq_work_exit", ..IPI_EXIT },
];
