//! The table of block I/O requests.

use super::columns::{Count, Int, Ns, Thread, Word};
use crate::column::table;

table! {
    /// Requests to block devices, and how long threads were blocked meanwhile.
    BLOCK_IO: block_io {
        version: 2,
        made_from: Analysis,
        large: false,
        doc: "Requests to block devices by device, operation and issuing thread, their time from issue to \
              completion, and how long the issuing thread was blocked meanwhile. A reading thread usually issues its \
              own requests; while the device is busy, a kernel thread may issue them later. A request that is issued \
              again before it completes, as the driver could not take it, counts once. Written data is usually \
              written back by a kernel thread, so a thread that waits for it has no row.",
        key: [DEVICE, OPERATION, THREAD],
        columns: {
            DEVICE: Word = "Device as `major:minor`, as lsblk prints it.",
            OPERATION: Word = "`read`, `write`, `flush`, `discard` or `other`.",
            THREAD: Option<Thread> =
                "Key of the thread that issued the requests; null if an interrupt issued them or the thread is \
                 unknown.",
            REQUESTS: Count = "Number of requests issued in the requested range.",
            BYTES: Int = "Total size of these requests in bytes.",
            COMPLETED: Count = "Number of requests completed in the requested range, whenever they were issued.",
            IO_NS: Ns =
                "Time from issue to completion, summed over all requests, as far as it lies in the requested range.",
            LONGEST_NS: Option<Ns> =
                "The longest request issued and completed in the requested range; null if there is none.",
            BLOCKED_NS: Option<Ns> =
                "Time the thread was blocked while at least one of these requests was in flight. It waited for the \
                 device, or for something else at the same time. Null if `thread` is null.",
            MISSING_ISSUES: Count =
                "Number of completions without a recorded issue: issued before the recording, too many requests in \
                 flight at the same time, or never issued as such (a write that only requests a flush).",
        }
    }
}
