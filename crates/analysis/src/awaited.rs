//! For what each thread waits while it waits, where that is recorded: for analyses that follow wakeups. [`crate::waited_for`] says more, but only
//! after a wait.

use crate::World;
use crate::waited_for::{MAX_KEPT, Object};
use model::{Change, FutexWait, ObjectWait, Pid, ThreadKey, TimelineEvent, WaitKind};
use rustc_hash::FxHashMap;

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Awaited {
    pub(crate) object: Object,
    pub(crate) kind: WaitKind,
}

impl Awaited {
    /// Whether the thread waits for time, a device or a lock, and not until another thread has something for it or has arrived somewhere.
    pub(crate) fn is_own(self) -> bool {
        use WaitKind::{Device, File, KernelSemaphore, Sleep, TimerFd};
        self.kind.is_lock() || matches!(self.kind, Sleep | TimerFd | File | Device | KernelSemaphore)
    }

    /// Whether a request or an answer can end the wait.
    pub(crate) fn may_receive(self) -> bool {
        !self.is_own() && !matches!(self.kind, WaitKind::Thread | WaitKind::Child)
    }
}

/// Reads what threads wait for.
#[derive(Default)]
pub(crate) struct Objects {
    /// Words whose memory showed that they are locks. Memory is not read at every wait.
    locks: FxHashMap<Object, WaitKind>,
}

impl Objects {
    /// Returns what a thread waits for from now on, if the event says it.
    pub(crate) fn of(&mut self, event: &TimelineEvent, thread: ThreadKey, world: &World) -> Option<Awaited> {
        match event.what {
            Change::FutexWait(wait) => {
                let process = world.groups.process(thread);
                let object = Object::Word(process.unwrap_or(Pid::UNKNOWN), wait.address);
                let (kind, _) = world.numbers.awaited(process, &wait, world.now);
                Some(Awaited { object, kind: self.kind(object, kind, &wait) })
            }
            Change::ObjectWait(ObjectWait { kind, id, .. }) => Some(Awaited { object: Object::Other(kind, id), kind }),
            _ => None,
        }
    }

    fn kind(&mut self, object: Object, kind: WaitKind, wait: &FutexWait) -> WaitKind {
        if wait.read && kind.is_lock() {
            if self.locks.len() >= MAX_KEPT {
                self.locks.clear();
            }
            self.locks.insert(object, kind);
        }
        if wait.is_unclear() { self.locks.get(&object).copied().unwrap_or(kind) } else { kind }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_others_bring_about_ends_a_request() {
        let awaited = |kind| Awaited { object: Object::Other(kind, 1), kind };
        for kind in [WaitKind::Mutex, WaitKind::KernelRwLock, WaitKind::Sleep, WaitKind::File] {
            assert!(awaited(kind).is_own() && !awaited(kind).may_receive(), "{kind:?}");
        }
        assert!(!awaited(WaitKind::Thread).is_own() && !awaited(WaitKind::Thread).may_receive(), "a join");
        for kind in [WaitKind::Socket, WaitKind::Pipe, WaitKind::Signal, WaitKind::Epoll] {
            assert!(awaited(kind).may_receive(), "{kind:?}");
        }
    }
}
