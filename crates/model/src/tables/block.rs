//! The table of block I/O.

use super::columns::{Count, Int, Ns, Thread};
use crate::Text;
use crate::column::table;

table! {
    /// Requests to block devices, and how long threads waited meanwhile.
    BLOCK_IO: block_io {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "Requests to block devices by device, operation and the thread that issued them, how long they took from issue to \
              completion, and for how long that thread was blocked while one of them was under way. A thread that reads mostly issues \
              its own requests; written data mostly is issued by a kernel thread, so that a thread which waits for it has no row.",
        key: [DEVICE, OPERATION, THREAD],
        columns: {
            DEVICE: Text = "The device by its numbers, as lsblk prints them.",
            OPERATION: Text = "read, write, flush, discard or other.",
            THREAD: Option<Thread> = "The thread that issued them; null: an interrupt did, or it is not known.",
            REQUESTS: Count = "Requests issued within the time asked for.",
            BYTES: Int = "How much of the device they are about.",
            COMPLETED: Count = "Requests done within the time asked for, whenever they were issued.",
            IO_NS: Ns = "From issue to completion, summed over requests, as far as it lies in the time asked for.",
            LONGEST_NS: Option<Ns> = "The longest of those that were issued and done within it; null: there is none.",
            BLOCKED_NS: Option<Ns> =
                "The thread was blocked while at least one of these requests was under way: it waited for the device, or for something \
                 else at the same time. Null without a thread.",
            UNISSUED: Count =
                "Completions of requests whose issue was not recorded: from before the recording, too many at once, or, as a write that \
                 only asks for a flush, never issued as such.",
        }
    }
}
