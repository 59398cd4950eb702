//! The table of parallel regions.

use super::columns::{Count, End, Int, MarkName, Ns, Start, Thread, Word};
use crate::column::table;

table! {
    /// Parallel regions, and the time threads waited at their end.
    PARALLEL_REGIONS: parallel_regions {
        version: 11,
        made_from: Analysis,
        large: true,
        doc: "Every parallel region: the time from the first begin to the last end in which two or more threads of a \
              process have marked stretches of the same name, in order of end. Asynchronous stretches, which belong to no thread, are none. A thread that begins within one \
              second after all others have ended belongs to the region too if it got no CPU meanwhile: it was ready \
              at that time and had been ready for half of the region. A thread arrives at the end of its last \
              stretch and waits until the last thread arrives (the tail of a barrier). The potential saving is an \
              estimated range, `recoverable_from_ns` to `recoverable_to_ns`: what a distribution of the work in \
              which all threads arrive at the same time would save. With n chunks distributed one by one, up to \
              `slowest_ns` / n of the tail remains while the slowest thread finishes the last chunk. The cost of \
              distributing the work is not included. Regions that the requested range cuts have no row. In processes \
              that mark nothing, regions are detected: a thread wakes or creates others of its process, and all of them, and \
              itself if it works too, run for 20 µs and a twentieth of the region or more until each waits again; the last \
              one wakes the thread that released them, or is that thread, and wakes them again without having waited \
              for something else for long before. Two threads that wake each other may as well pass on a lock, if one \
              waited for less than 6 µs and both go on, or the items of a pipeline, if the same one always arrives last and \
              the other always has something to do: these are no regions. Where it is recorded what threads wait for, waits for locks, time, \
              files and devices are no arrivals, and two threads that were seen to wait for the same futex word, as for a barrier, pass on no items. A detected region that others fill by less than half \
              replaces them. How many pieces each of \
              them took is then not known, so `stretches` is `threads`; uninterruptible waits do not count, and threads \
              that spin at the end have not arrived.",
        key: [PID, NAME, START_NS],
        columns: {
            PID: Option<Int> = "Process ID; null if not recorded.",
            NAME: MarkName = "Name that the program gave the stretches; the name of the threads if it marks none.",
            START_NS: Start,
            END_NS: End,
            THREADS: Count =
                "Number of threads that marked such stretches.",
            STRETCHES: Count =
                "Number of marked stretches, not counting nested ones: the chunks, if each chunk is marked.",
            WORKED_NS: Ns = "Total duration of these stretches.",
            FIRST_ARRIVAL_NS: Ns = "When the first thread arrived.",
            TAIL_NS: Ns = "Time from the first to the last arrival.",
            WAITING_NS: Ns = "Time from each thread's arrival to the last arrival, summed over threads.",
            IDLE_PERFORMANCE_NS: Ns = "Idle time of cores of type performance within the tail, summed over cores.",
            IDLE_MIDDLE_NS: Ns = "The same for cores of type middle.",
            IDLE_EFFICIENT_NS: Ns = "The same for cores of type efficient.",
            IDLE_LOW_POWER_NS: Ns = "The same for cores of type low_power.",
            IDLE_UNIFORM_NS: Ns = "The same for cores of machines with one core type or none known.",
            IDLE_UNKNOWN_NS: Ns =
                "Time of cores within the tail in which it is unknown whether they were idle, summed over cores.",
            RECOVERABLE_FROM_NS: Ns =
                "Lower bound of the potential saving. Two models estimate it: all threads are equally fast \
                 (`waiting_ns` / `threads`), or all stretches are equal work, so that a thread that takes longer for \
                 each is slower. This is the smaller estimate.",
            RECOVERABLE_TO_NS: Ns = "Upper bound of the potential saving: the larger of the two estimates.",
            WAITING_RUNNING_NS: Ns =
                "The part of `waiting_ns` in which the waiting threads ran: they spun or did other work.",
            LAST_READY_NS: Option<Ns> =
                "How long the last thread to arrive was ready since its part of the region began, and directly before \
                 that while another thread had already arrived; the minimum if several arrived last; null if the \
                 source has no wakeups.",
            SLOWEST_NS: Ns = "Time that all of the work takes a single thread at the speed of the slowest thread.",
            SOURCE: Word = "`marked`, or `detected` from wakeups and waits; `name` is then the name of its threads.",
            LAST_THREAD: Thread = "Key of the thread that arrived last.",
        }
    }
}
