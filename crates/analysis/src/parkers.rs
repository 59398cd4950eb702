//! Functions in which each thread waits for a word of its own, which does not show what for: such a word is neither a lock nor shared.
//!
//! A word in the thread's own stack or among its variables shows that by its address; these words lie elsewhere, so a callchain is necessary.
//!
//! | program | why only one thread waits for the word |
//! | --- | --- |
//! | PostgreSQL | each backend has one semaphore, `PGPROC.sem`, for all its lightweight locks (`storage/proc.h`, `port/posix_sema.c`, `storage/lmgr/lwlock.c`) |
//! | Abseil | each thread has a `PerThreadSem`, for all its mutexes and condition variables (`absl/synchronization/internal/per_thread_sem.cc`) |
//! | OpenJDK | each thread has a `Parker` (`java.util.concurrent`) and a `ParkEvent` (monitors); "only the thread associated with the event may call park()" (`os/posix/os_posix.cpp`) |
//! | Go's runtime | one thread sleeps on a `note`; that on which a thread without work sleeps is its own (`runtime/lock_futex.go`, `stopm` in `runtime/proc.go`) |

use crate::call_site::{is_of_c_library, of_user};
use model::{StackFrame, Stacks};

/// The functions, without their parameters.
const FUNCTIONS: [&str; 6] = [
    "PGSemaphoreLock",
    "os::PlatformEvent::park",
    "PlatformEvent::park",
    "Parker::park",
    "runtime.notesleep",
    "runtime.notetsleep_internal",
];

/// The same, with the version at the end (`AbslInternalPerThreadSemWait_lts_20220623`).
const ABSEIL: &str = "AbslInternalPerThreadSemWait";

/// How the names of functions begin that these call to wait, where they are not in a file of the C library's own.
const PRIMITIVES: [&str; 8] =
    ["pthread_", "__pthread_", "___pthread_", "sem_", "syscall", "__futex_", "runtime.futex", "absl::"];

/// Whether a thread that waits with this callchain, innermost first, waits for a word of its own: in a function of the list, and not in another one
/// that it calls, such as for a safepoint of Java's.
pub(crate) fn parks(stacks: &Stacks, chain: &[StackFrame]) -> bool {
    let name = |frame: &StackFrame| stacks.name(frame.function);
    let waits = |frame: &&StackFrame| {
        is_of_c_library(stacks, frame)
            || name(frame).is_some_and(|name| PRIMITIVES.iter().any(|begin| name.starts_with(begin)))
    };
    of_user(chain).find(|frame| !waits(frame)).and_then(name).is_some_and(|name| {
        let name = name.split('(').next().unwrap_or(name);
        let versioned = |end: &str| end.is_empty() || end.starts_with('_');
        FUNCTIONS.contains(&name) || name.strip_prefix(ABSEIL).is_some_and(versioned)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::NameId;

    /// Whether a thread parks in a chain of functions, innermost first; those that begin with `k:` are of the kernel.
    fn of(chain: &[&str]) -> bool {
        let names = chain.iter().map(|name| name.trim_start_matches("k:").into()).collect();
        let frame = |(at, name): (usize, &&str)| StackFrame {
            function: NameId(at as u32 + 1),
            ..StackFrame::at(if name.starts_with("k:") { u64::MAX << 32 } else { 1 })
        };
        let frames: Vec<StackFrame> = chain.iter().enumerate().map(frame).collect();
        parks(&Stacks { chains: Vec::new(), names }, &frames)
    }

    #[test]
    fn functions_of_the_list_park() {
        assert!(of(&["k:futex_wait", "sem_wait", "PGSemaphoreLock", "LWLockAcquire", "XLogFlush"]));
        assert!(of(&["syscall", "AbslInternalPerThreadSemWait_lts_20220623", "absl::lts_20220623::Mutex::Lock()"]));
        assert!(of(&["pthread_cond_wait", "os::PlatformEvent::park()", "ObjectMonitor::enter(JavaThread*)"]));
        assert!(of(&["pthread_cond_wait", "Parker::park(bool, long)", "Unsafe_Park"]));
        assert!(of(&["runtime.futex", "runtime.futexsleep", "runtime.notesleep", "runtime.stopm"]));
        assert!(!of(&["k:futex_wait", "sem_wait", "next_job", "main"]));
        assert!(!of(&["k:PGSemaphoreLock", "AbslInternalPerThreadSemWaiters"]));
        assert!(!of(&["syscall", "LinuxWaitBarrier::wait(int)", "Parker::park(bool, long)"]), "for a safepoint");
    }
}
