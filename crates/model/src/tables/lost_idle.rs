//! The table of idleness that was lost.

use super::columns::{Count, Ns, Thread, Tid, Word};
use crate::column::table;

table! {
    /// Idleness that threads and ticks cost.
    LOST_IDLENESS: lost_idleness {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How much idleness was lost because something divided it. Idle periods with runs of one thread only between them would be one \
              period without that thread; stays in idle states with ticks only between them would be one stay without these. For each \
              break-even time (the minimum stay with which an idle state saves energy), `lost_ns` is the time in periods or stays shorter than \
              that, which would be part of one that is at least as long. It is measured for each CPU, and for each package: a package is \
              idle while all of its CPUs are. An idle period between two threads counts for both, and one of a CPU also for its \
              package, so the rows do not sum. Idle periods without a known begin and end are left out. Break-even times \
              without a loss have no row.",
        key: [SCOPE, CAUSE, THREAD, BREAK_EVEN_NS],
        columns: {
            SCOPE: Word = "`cpu`, or `package`: of packages with several CPUs.",
            CAUSE: Word = "`thread`, or `tick`: the scheduler's tick, with no thread (only of CPUs, if idle states and interrupts were recorded).",
            THREAD: Option<Thread> = "Key of the thread; null for ticks.",
            TID: Option<Tid> = "The kernel's thread ID; null for ticks.",
            BREAK_EVEN_NS: Ns = "The break-even time: 16000, 32000, …, 16384000.",
            ENDED: Count = "Number of runs or ticks between two idle periods or stays, whatever the break-even time.",
            SHORT: Count = "Number of lost idle periods or stays.",
            LOST_NS: Ns = "Idle time in these.",
        }
    }
}
