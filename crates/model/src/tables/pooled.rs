//! The table of threads that run alone in their pool.

use super::columns::{Count, Ns, Thread, ThreadName, Tid};
use crate::column::table;

table! {
    /// How long each thread ran while CPUs were idle, and while no other thread of its pool could run.
    POOLS: pools {
        version: 2,
        made_from: Analysis,
        large: false,
        doc: "How long each thread ran while CPUs were idle, and while no other thread of its pool could run. A pool \
              is all threads whose last names differ only by a number at the end, in all processes: the workers of a \
              program, or processes of one program. Work that one thread does alone while CPUs are idle is what \
              keeps a parallel program from being faster (Amdahl, 1967). An idle CPU is one whose idle time is \
              recorded, whether or not the thread may run there. Threads that did not run have no row.",
        key: [THREAD],
        columns: {
            THREAD: Thread,
            TID: Tid,
            POOL: Option<ThreadName> = "The name of the pool; null if the thread has no name, and then the threads without one count as a pool.",
            RUNNING_NS: Ns = "Time on a CPU.",
            MIDDLE_NS: Ns = "The mean point in time of its running time.",
            SPREAD_NS: Ns =
                "The standard deviation of the points in time of its running time: 0.289 of its length for a run without \
                 pauses.",
            WITH_IDLE_NS: Ns = "The part of `running_ns` in which at least one CPU was idle.",
            IDLE_CPUS_NS: Ns = "Idle time in this part, summed over CPUs.",
            TOGETHER_NS: Ns = "The part of `running_ns` in which another thread of its pool ran.",
            ALONE_NS: Ns =
                "The part of `running_ns` in which at least one CPU was idle, and no other thread of its pool ran or \
                 was ready.",
            ALONE_IDLE_CPUS_NS: Ns = "Idle time in `alone_ns`, summed over CPUs.",
            ALONE_MIDDLE_NS: Option<Ns> =
                "The mean point in time of `alone_ns`: late if the others were done before; null if there is none.",
            TURNS: Count =
                "How often it was the only runnable thread of its pool after another one had been: high if threads \
                 take turns.",
        }
    }
}
