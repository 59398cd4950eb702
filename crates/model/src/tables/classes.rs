//! What kind of task each thread is.

use super::columns::{Bool, Count, Ns, Thread, Tid, Word};
use crate::column::table;

table! {
    /// The class of each thread, and the figures that it follows from.
    TASK_CLASSES: task_classes {
        version: 3,
        made_from: Analysis,
        large: false,
        doc: "What kind of task each thread is, by how often and how long it runs, how many threads of its program run at the same time, \
              and whether threads wait for it; and on which type of core it should run. docs/accounting.md has the definitions.",
        key: [THREAD],
        columns: {
            THREAD: Thread,
            TID: Tid,
            CLASS: Option<Word> =
                "`light`: runs most of the time, or long without a wait, while few threads of its program do. `sustained`: the same \
                 while many do. `bursty`: runs for a short time, often with threads that wait for it. `background`: runs little and \
                 none but background threads wait for it, or its priority is low. Null: it ran too little.",
            CORES: Option<Word> =
                "Type of core on which it should run: `performance` or another type, or `all`; null on a machine with one type of \
                 cores, or without a class.",
            RUNNING_NS: Ns = "Time in which it ran.",
            READY_NS: Ns = "Time in which it was ready; if the source does not record wakeups, a lower bound.",
            BLOCKED_NS: Ns =
                "Time in which it waited for something other than a CPU; if the source does not record wakeups, an upper bound.",
            BURSTS: Count = "Number of CPU bursts, including those whose begin or end was not recorded.",
            WAKING_BURSTS: Option<Count> =
                "Number of bursts in which it woke a waiting thread that is not a kernel thread; null if the source does not record \
                 wakeups.",
            AWAITED_BURSTS: Option<Count> =
                "Of these, at most how many woke a thread whose class is not `background`: a thread that only background work waits for \
                 is background work itself.",
            LONGEST_NS: Ns = "Running time of its longest burst.",
            LONG_NS: Ns = "Running time in bursts of 100 ms or more.",
            CROWDED_NS: Ns =
                "Running time in which more threads of its program ran or were ready than are few: the number of the fastest cores, or \
                 half of the cores if all have one type.",
            IS_LOW_PRIORITY: Bool = "Whether its last recorded priority is low: a nice value of 10 or more, or the policy batch or idle.",
        }
    }
}
