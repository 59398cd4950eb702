//! Tables of what threads wait for: locks with their holders, and every object.

use super::columns::{Address, Bool, Count, End, FilePath, FunctionName, Int, Ns, Process, Start, Thread, Tid, Word};
use crate::column::table;

table! {
    /// Each wait for a lock.
    LOCK_WAITS: lock_waits {
        version: 3,
        made_from: Analysis,
        large: true,
        doc: "Each wait for a lock, in a futex call or of the kernel: which thread held the lock, what that thread did meanwhile, and which thread ended the \
              wait, in the order of the ends. `corewise record` reads the call's address and the words of memory that name a holder (on x86-64 and arm64); \
              recordings of other tools have rows if they have the calls of futex. The holder is the first thread that woke the lock's \
              waiters after the wait began, unless the memory named another one. It is unknown for rwlocks that readers hold.",
        key: [THREAD, START_NS],
        columns: {
            THREAD: Thread,
            TID: Tid,
            START_NS: Start,
            END_NS: End,
            WAITED_NS: Ns = "How long it waited, as far as it lies in the requested range.",
            WHOLE: Bool = "Whether begin and end of the wait lie in the requested range.",
            PID: Option<Process>,
            LOCK: Address = "Address of the lock's futex word, in its process; of a lock of the kernel, a number within the recording.",
            KIND: Word = "`mutex`, `pi_mutex` (its holder inherits priority), `rwlock`; locks of the kernel: `kernel_mutex`, `kernel_rwlock`.",
            HOLDER: Option<Thread> = "Key of the thread that held the lock when the wait began; null if unknown.",
            BASIS: Option<Word> =
                "`memory`: the memory named the holder, and it was the first to wake the lock's waiters. `release`: the memory names no thread \
                 (as with Rust's standard library, or if only calls were recorded), and it was the first to wake them; a mutex with waiters is not given \
                 back without that.",
            NAMED: Option<Thread> =
                "Key of the thread that the memory named when the wait began, whether or not it woke the waiters; null if none.",
            HELD_NS: Option<Ns> = "How long of the wait the holder held it.",
            HOLDER_RUNNING_NS: Option<Ns> =
                "The part of `held_ns` in which the holder ran, as far as its last 32 stretches before the end of the part show.",
            HOLDER_READY_NS: Option<Ns> = "The part of `held_ns` in which the holder was ready.",
            HOLDER_BLOCKED_NS: Option<Ns> = "The part of `held_ns` in which the holder was blocked itself.",
            HOLDER_REASON: Option<Word> =
                "What the holder waited for in the longest of these blocked times, as in the column `reason` of the table `waits`.",
            HOLDERS: Count =
                "How many threads in turn held the lock during the wait, by the wakes of its waiters; 0: none was woken.",
            RELEASED_BY: Option<Thread> =
                "Key of the thread that ended the wait by waking the lock's waiters; 0: an interrupt, as at a timeout; null: a signal, or \
                 unknown.",
            STACK: Option<Int> = "The waiting thread's callchain: its number in the event table `stack`; null if not recorded.",
            CALL_SITE: Option<FunctionName> =
                "Where in the program it waited, as in the table `switch_causes`; null without callchains.",
            HOLDER_STACK: Option<Int> =
                "The holder's callchain in the longest of its own waits meanwhile: its number in the event table `stack`. Null if it did not \
                 wait, or that was not recorded: callchains are those of waits, so a holder that only ran has none, and where a thread gave the \
                 lock back is not recorded.",
            HOLDER_CALL_SITE: Option<FunctionName> = "Where in the program the holder waited then.",
            SOURCE_FILE: Option<FilePath> =
                "Path of the source file of `call_site`; null if its lines are not known.",
            LINE: Option<Int> = "The line in it; null without `source_file`.",
        }
    }
}

table! {
    /// The locks that threads waited for.
    LOCKS: locks {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "The locks that threads waited for (table `lock_waits`), those with the longest waits first; at most 10,000.",
        key: [PID, LOCK, KIND],
        columns: {
            PID: Option<Process>,
            LOCK: Address = "Address of the lock's futex word, in its process; of a lock of the kernel, a number within the recording.",
            KIND: Word = "`mutex`, `pi_mutex` (its holder inherits priority), `rwlock`; locks of the kernel: `kernel_mutex`, `kernel_rwlock`.",
            WAITS: Count = "Number of waits.",
            WAITED_NS: Ns = "Their time.",
            MAX_WAITED_NS: Ns = "The longest of them.",
            WAITERS: Count = "Number of threads that waited.",
            HOLDERS: Count = "Number of threads that are known to have held it while others waited.",
            HELD_NS: Ns = "The part of `waited_ns` in which it is known which thread held it.",
            HOLDER: Option<Thread> = "Key of the thread that held it longest while others waited; null if unknown.",
            HOLDER_HELD_NS: Option<Ns> = "The part of `held_ns` in which that thread held it.",
            HOLDER_BLOCKED_NS: Option<Ns> = "The part of `holder_held_ns` in which that thread was blocked itself.",
            RELEASED_BY: Option<Thread> = "Key of the thread that ended most of the waits; null if unknown.",
        }
    }
}

table! {
    /// For which locks each thread waited, by holder.
    LOCK_HOLDERS: lock_holders {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "For which locks each thread waited, and which thread held them: the sums of the table `lock_waits`. The 10,000 rows with the longest \
              waits.",
        key: [THREAD, PID, LOCK, KIND, HOLDER, BASIS],
        columns: {
            THREAD: Thread,
            TID: Tid,
            PID: Option<Process>,
            LOCK: Address = "Address of the lock's futex word, in its process; of a lock of the kernel, a number within the recording.",
            KIND: Word = "`mutex`, `pi_mutex` (its holder inherits priority), `rwlock`; locks of the kernel: `kernel_mutex`, `kernel_rwlock`.",
            HOLDER: Option<Thread> =
                "Key of the thread that held the lock when the waits began; null if unknown, and if a lock whose memory names no thread had only \
                 one wait, which may be another kind of wait.",
            BASIS: Option<Word> = "How that is known: `memory` or `release`, as in the table `lock_waits`.",
            HOLDER_TID: Option<Tid> = "TID of that thread.",
            WAITS: Count = "Number of waits.",
            WAITED_NS: Ns = "Their time.",
            HELD_NS: Option<Ns> = "How long of `waited_ns` that thread held the lock.",
            MAX_HELD_NS: Option<Ns> = "The longest of these times in one wait.",
            HOLDER_RUNNING_NS: Option<Ns> = "The part of `held_ns` in which the holder ran.",
            HOLDER_READY_NS: Option<Ns> = "The part of `held_ns` in which the holder was ready.",
            HOLDER_BLOCKED_NS: Option<Ns> = "The part of `held_ns` in which the holder was blocked itself.",
            HOLDER_REASON: Option<Word> =
                "What the holder waited for in most of these blocked times, as in the column `reason` of the table `waits`.",
        }
    }
}

table! {
    /// Threads that wait for each other's locks.
    DEADLOCKS: deadlocks {
        version: 2,
        made_from: Analysis,
        large: false,
        doc: "Threads that wait for locks until the end of the requested range, or until their program is killed or exits, each for one that the \
              next of them holds, according to the memory at the lock: none of them goes on. They may be threads of several processes that share the locks. A thread that waits for a lock that it holds itself is a cycle of one.",
        key: [CYCLE, THREAD],
        columns: {
            CYCLE: Count = "Number of the cycle, from 1.",
            THREAD: Thread,
            TID: Tid,
            SINCE_NS: Start,
            WAITED_NS: Ns = "How long it has waited, as far as it lies in the requested range.",
            PID: Option<Process>,
            LOCK: Address = "Address of the futex word of the lock for which it waits, in its process.",
            KIND: Word = "`mutex`, `pi_mutex` or `rwlock`.",
            HOLDER: Thread = "Key of the thread that holds it: the next of the cycle.",
        }
    }
}

table! {
    /// Each wait.
    OBJECT_WAITS: object_waits {
        version: 3,
        made_from: Analysis,
        large: true,
        doc: "Each wait of each thread: the system call, what it is for, and which thread ended it, in the order of the ends. For locks, the table \
              `lock_waits` says more of the holder; the table `wait_objects` has the sums.",
        key: [THREAD, START_NS],
        columns: {
            THREAD: Thread,
            TID: Tid,
            START_NS: Start,
            END_NS: End,
            WAITED_NS: Ns = "How long it waited, as far as it lies in the requested range.",
            WHOLE: Bool = "Whether begin and end of the wait lie in the requested range.",
            REASON: Option<Word> = "The system call that waits, as in the table `wait_objects`; null if unknown.",
            KIND: Word = "What it waits for, as in the table `wait_objects`, without `other`.",
            OBJECT: Option<Address> = "Which one, as in the table `wait_objects`; null if `kind` is unknown.",
            NAME: Option<FilePath> = "Its path, or its addresses, as in the table `wait_objects`.",
            READY_KIND: Option<Word> = "Of an epoll set, what became ready in it and ended the wait, with words as in `kind`; null if unknown.",
            READY_OBJECT: Option<Address> = "Which one of its kind.",
            READY_PATH: Option<FilePath> = "Its path, or its addresses.",
            HOLDER: Option<Thread> = "Of a lock, key of the thread that held it when the wait began; null if unknown.",
            RELEASED_BY: Option<Thread> =
                "Key of the thread that ended the wait; 0: an interrupt, as at a timeout; null if unknown.",
            STACK: Option<Int> = "The waiting thread's callchain: its number in the event table `stack`; null if not recorded.",
            SOURCE_FILE: Option<FilePath> =
                "Path of the source file of the function in the program that waited, as in the table `lock_waits`; null if unknown.",
            LINE: Option<Int> = "The line in it; null without `source_file`.",
        }
    }
}

table! {
    /// What each thread waited for.
    WAIT_OBJECTS: wait_objects {
        version: 4,
        made_from: Analysis,
        large: false,
        doc: "What each thread waited for: all its blocked time by system call and object. `corewise record` reads the object where a thread waits (on \
              x86-64 and arm64). The times of a thread's rows sum to its \
              `blocked_ns` in the table `threads`. At most 10,000 objects have rows of their own, those with the longest waits.",
        key: [THREAD, REASON, KIND, OBJECT, NAME, READY_KIND, READY_OBJECT, READY_PATH],
        columns: {
            THREAD: Thread,
            TID: Tid,
            REASON: Option<Word> =
                "The system call that waits, or page_fault, for a kernel thread the first function outside the scheduler, as in the table \
                 `waits`; null if unknown.",
            KIND: Word =
                "In a futex call: `mutex`, `pi_mutex`, `rwlock`: a lock. `thread`: the end of another thread. `signal`: what another thread \
                 has to bring about, with a condition variable, a semaphore, a barrier or a queue. `parker`: a word that only this thread \
                 waits for, which does not show for what: by its place in the thread's own memory or, with callchains, by the function that waits \
                 (PostgreSQL's lightweight locks, Abseil, OpenJDK, Go's runtime); without callchains, these functions' words are `signal`. In other calls: \
                 `pipe`, `socket`, `file`, `device`, `eventfd`, `timerfd`, `signalfd`, `epoll`, `inotify`, `io_uring`, `descriptor` (any other), `several` (descriptors, or futex words), `child`, `semaphores`, \
                 `messages`, `sleep` (only time). In the kernel: `kernel_mutex`, `kernel_rwlock`, `kernel_semaphore`. `unknown`: no object \
                 was recorded. `other`: objects beyond the 10,000.",
            OBJECT: Option<Address> =
                "Address of the futex word, in the thread's process; the inode of a pipe or a socket (of connected sockets that of one end, for \
                 both); device and inode of a file or a named pipe; PID of the child, −1 for any; how many descriptors or words `several` has, 0 for a select that was not read; for other kinds, a number \
                 within the recording; after a close, the next object may get the same number. Null if `kind` is unknown or other.",
            NAME: Option<FilePath> =
                "Path of the file or of the Unix socket, or the addresses of the connection's two ends; of `several`, the first eight of them, as far as they were read. If a descriptor was closed before it was \
                 looked up, the path is that within its file system.",
            READY_KIND: Option<Word> =
                "Of an epoll set, what became ready in it and ended these waits, with words as in `kind`; null if unknown, as after a timeout.",
            READY_OBJECT: Option<Address> = "Which one of its kind.",
            READY_PATH: Option<FilePath> = "Its path, or its addresses.",
            WAITS: Count = "Number of waits, with those that the begin or the end of the range cuts.",
            BLOCKED_NS: Ns = "Their time, as far as it lies in the requested range.",
            MAX_BLOCKED_NS: Ns = "The longest of them.",
            CUT_NS: Ns = "The part of `blocked_ns` in waits that the begin or the end of the range cuts.",
            RELEASED_BY: Option<Thread> =
                "Key of the thread that ended these waits; of several threads, the one that ended most of the time. 0: only interrupts, as at timeouts. \
                 Null if unknown.",
            INTERRUPT_NS: Ns = "The part of `blocked_ns` in waits that interrupts ended.",
            CALL_SITE: Option<FunctionName> =
                "Where in the program it waited, as in the table `switch_causes`; of several functions, the one with the most blocked time. Null \
                 without callchains.",
            WOKEN_TOGETHER: Count =
                "Number of `waits` that a thread ended within 100 µs of another thread's wait for the same object, as with a broadcast.",
        }
    }
}

table! {
    /// The threads for which others waited, with what these waited for themselves.
    SERVED_WAITS: served_waits {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "Waits of each thread that another one, the server, ended, and how long the server waited itself meanwhile, for time, a file or a \
              device. Waits for locks and for the end of threads do not count. Workers that wait for work look similar: `asked` and `answered` show \
              which thread asks the other. The 10,000 rows with the longest `both_waited_ns`.",
        key: [THREAD, SERVER],
        columns: {
            THREAD: Thread,
            TID: Tid,
            SERVER: Thread = "Key of the thread that ended the waits.",
            SERVER_TID: Tid = "Its TID.",
            WAITS: Count = "Number of these waits.",
            WAITED_NS: Ns = "Their time, as far as it lies in the requested range.",
            BOTH_WAITED_NS: Ns =
                "The part of `waited_ns` in which the server waited for time, a file or a device. Its last 64 such waits are known.",
            ASKED: Count =
                "How often the thread ended another wait of the server, and the server's next steps were to wait for time, a file or a device, \
                 and to end a wait of some thread.",
            ANSWERED: Count =
                "How often of `asked` that was a wait of the thread itself that began after it asked.",
            SERVER_WAITS: Count = "Number of the server's waits for time, a file or a device, also those for which no thread waited.",
            SERVER_WAITED_NS: Ns = "Their time, as far as it lies in the requested range.",
            SERVER_REASON: Option<Word> =
                "The system call of most of this time, as in the column `reason` of the table `wait_objects`; null if unknown.",
        }
    }
}
