//! The threads that are not of the program.

use model::{ThreadKey, ThreadStretch};
use rustc_hash::FxHashSet;

/// How the names of the threads begin that handle what interrupts leave to do (softirqs; Linux).
const SOFTIRQS: &str = "ksoftirqd/";

/// The threads that are not of the program, those of the kernel among them.
#[derive(Clone, Debug, Default)]
pub struct Outside {
    threads: FxHashSet<ThreadKey>,
    softirqs: FxHashSet<ThreadKey>,
}

impl Outside {
    /// Adds a thread and its name.
    pub fn insert(&mut self, thread: ThreadKey, name: &str) {
        self.threads.insert(thread);
        if name.starts_with(SOFTIRQS) {
            self.softirqs.insert(thread);
        }
    }

    /// Whether a thread is not of the program.
    #[must_use]
    pub fn contains(&self, thread: ThreadKey) -> bool {
        self.threads.contains(&thread)
    }

    /// Returns a stretch as the path needs it. The kernel wakes the thread of softirqs at the end of an interrupt, where the interrupted thread
    /// is current (`wakeup_softirqd` in kernel/softirq.c). If that is not of the program, it did not cause the wakeup: the interrupt did.
    #[must_use]
    pub fn without_interrupted(&self, stretch: &ThreadStretch) -> ThreadStretch {
        let is_interrupted = self.softirqs.contains(&stretch.thread) && self.contains(stretch.waker_thread);
        let waker_thread = if is_interrupted { ThreadKey::IDLE } else { stretch.waker_thread };
        ThreadStretch { waker_thread, ..*stretch }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{MaybeNs, Ns, Prio, Reason, Span, ThreadState, Tid};

    #[test]
    fn an_interrupted_thread_of_another_program_does_not_wake_the_thread_of_softirqs() {
        let mut outside = Outside::default();
        outside.insert(ThreadKey(3), "ksoftirqd/0");
        outside.insert(ThreadKey(4), "rustc");
        let waker = |thread, waker| {
            let stretch = ThreadStretch {
                span: Span::new(Ns(0), Ns(1)),
                thread: ThreadKey(thread),
                tid: Tid(1),
                state: ThreadState::Ready,
                reason: Reason::Woken,
                cpu: None,
                waker_thread: ThreadKey(waker),
                exec: MaybeNs::NONE,
                prio: Prio::UNKNOWN,
            };
            outside.without_interrupted(&stretch).waker_thread
        };
        assert_eq!(waker(3, 4), ThreadKey::IDLE);
        assert_eq!(waker(3, 1), ThreadKey(1), "the program sent something to itself");
        assert_eq!(waker(1, 4), ThreadKey(4), "it waited for the other program");
    }
}
