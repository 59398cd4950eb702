//! The threads of each process by their numbers, and waits for the end of one.

use model::{FutexWait, Ns, Pid, ThreadKey, ThreadState, ThreadStretch, Tid, WaitKind};
use rustc_hash::FxHashMap;

/// The threads by their TIDs in their own PID namespaces, which are those that programs store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    of: FxHashMap<(Pid, Tid), ThreadKey>,
    /// Of all processes.
    everywhere: FxHashMap<Tid, Vec<ThreadKey>>,
    /// By thread key.
    threads: Vec<Thread>,
}

#[derive(Clone, Copy, Debug)]
struct Thread {
    state: State,
    /// Its TID in another namespace than that of the recording, if it is in one.
    inner: Option<Tid>,
    tid: Tid,
    /// When it ended.
    over: Ns,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Unseen,
    Alive,
    Over,
}

impl Thread {
    const UNSEEN: Self = Self { state: State::Unseen, inner: None, tid: Tid::UNKNOWN, over: Ns::MAX };

    fn number(&self) -> Tid {
        self.inner.unwrap_or(self.tid)
    }
}

impl Numbers {
    /// Takes a stretch of a thread of this process.
    #[inline]
    pub(crate) fn thread(&mut self, stretch: &ThreadStretch, process: impl FnOnce() -> Option<Pid>) {
        let state = if stretch.state == ThreadState::Exited { State::Over } else { State::Alive };
        if self.get(stretch.thread).is_none_or(|thread| thread.state != state) {
            self.changes(stretch, state, process());
        }
    }

    #[cold]
    fn changes(&mut self, stretch: &ThreadStretch, state: State, process: Option<Pid>) {
        let Some(thread) = self.place(stretch.thread) else { return };
        let is_new = thread.state == State::Unseen;
        (thread.state, thread.tid) = (state, stretch.tid);
        thread.over = if state == State::Over { stretch.span.start } else { Ns::MAX };
        let number = thread.number();
        if is_new {
            self.numbered(stretch.thread, process, number);
        }
    }

    /// Takes the TID of a thread in its own namespace.
    pub(crate) fn inner(&mut self, thread: ThreadKey, process: Option<Pid>, tid: Tid) {
        if let Some(place) = self.place(thread) {
            place.inner = Some(tid);
            self.numbered(thread, process, tid);
        }
    }

    fn numbered(&mut self, thread: ThreadKey, process: Option<Pid>, number: Tid) {
        self.of.insert((process.unwrap_or(Pid::UNKNOWN), number), thread);
        let same = self.everywhere.entry(number).or_default();
        if !same.contains(&thread) {
            same.push(thread);
        }
    }

    fn place(&mut self, thread: ThreadKey) -> Option<&mut Thread> {
        let key = usize::try_from(thread.0).ok()?;
        if key >= self.threads.len() {
            self.threads.resize(key + 1, Thread::UNSEEN);
        }
        self.threads.get_mut(key)
    }

    #[inline]
    fn get(&self, thread: ThreadKey) -> Option<&Thread> {
        usize::try_from(thread.0).ok().and_then(|key| self.threads.get(key))
    }

    /// The last thread of a process with this number.
    pub(crate) fn last(&self, process: Option<Pid>, number: Tid) -> Option<ThreadKey> {
        self.of.get(&(process.unwrap_or(Pid::UNKNOWN), number)).copied()
    }

    /// The thread with a number that stands in memory which several processes share. `waiter`, a thread of `process`, waits for it. The thread of its own
    /// process comes first, then the only one in any process. Threads in PID namespaces may have the same numbers as others, so those in the
    /// waiter's kind of namespace, the recording's own or another, come first. `None`: there is none that has not ended, or several.
    pub(crate) fn anywhere(&self, waiter: ThreadKey, process: Option<Pid>, number: Tid) -> Option<ThreadKey> {
        let is_inner = |thread: ThreadKey| self.get(thread).is_some_and(|thread| thread.inner.is_some());
        let is_there = |thread: ThreadKey| {
            self.get(thread).is_some_and(|thread| thread.state == State::Alive && thread.number() == number)
        };
        let only = |inner: bool| {
            let of = self.everywhere.get(&number).into_iter().flatten().copied();
            let mut of = of.filter(|thread| is_there(*thread) && is_inner(*thread) == inner);
            (of.next(), of.next())
        };
        if let Some(own) = self.last(process, number).filter(|thread| is_there(*thread)) {
            return Some(own);
        }
        match only(is_inner(waiter)) {
            (Some(one), None) => Some(one),
            (Some(_), Some(_)) => None,
            (None, _) => Some(only(!is_inner(waiter))).filter(|(_, second)| second.is_none())?.0,
        }
    }

    /// Whether a process has a thread with this number that lived at an instant, or began since.
    fn exists(&self, process: Pid, number: Tid, at: Ns) -> bool {
        let thread = self.last(Some(process), number).and_then(|thread| self.get(thread));
        thread.is_some_and(|thread| thread.state != State::Unseen && thread.over > at)
    }

    /// What a thread of this process waits for in a futex call from now on, and the thread that the call or the memory names.
    ///
    /// A wait for the end of a thread may look like one for a number that other programs count in memory that they share, as with older versions of
    /// glibc: then the number has to be that of a thread that has not ended.
    pub(crate) fn awaited(&self, process: Option<Pid>, wait: &FutexWait, now: Ns) -> (WaitKind, Option<Tid>) {
        match (wait.joins(), process) {
            (Some(of), Some(process)) if self.exists(process, of, now) => (WaitKind::Thread, Some(of)),
            _ => (wait.kind(), wait.owner()),
        }
    }

    /// The same of a wait that began at `since` and is over now, if that is known better by now: the number of a new thread in its namespace may be
    /// recorded after the wait has begun.
    pub(crate) fn awaited_since(
        &self,
        process: Option<Pid>,
        wait: &FutexWait,
        since: Ns,
    ) -> Option<(WaitKind, Option<Tid>)> {
        let (of, process) = wait.joins().zip(process)?;
        match self.exists(process, of, since) {
            true => Some((WaitKind::Thread, Some(of))),
            // Recordings with memory know all threads.
            false => Some((WaitKind::Signal, None)).filter(|_| wait.read && wait.kind() == WaitKind::Thread),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{MaybeNs, Prio, Reason, Span};

    fn wait(operation: u16, expected: u32, read: bool) -> FutexWait {
        FutexWait { tid: Tid(1), address: 0x1000, operation, expected, read, own: false, words: [expected, 0, 0] }
    }

    /// The calls that wait for the end of a thread in glibc 2.31 and 2.36, and the latter with the monotonic clock.
    const JOINS: [u16; 3] = [0, 265, 9];

    fn stretch(thread: i64, tid: i32, state: ThreadState) -> ThreadStretch {
        ThreadStretch {
            span: Span::new(Ns(0), Ns(1)),
            thread: ThreadKey(thread),
            tid: Tid(tid),
            state,
            reason: Reason::None,
            cpu: None,
            waker_thread: ThreadKey::UNKNOWN,
            exec: MaybeNs::NONE,
            prio: Prio::UNKNOWN,
        }
    }

    #[test]
    fn shared_memory_names_a_thread_of_any_process_if_only_one_has_the_number() {
        let mut all = Numbers::default();
        let runs = |all: &mut Numbers, thread: i64, tid: i32, process: i32| {
            all.thread(&stretch(thread, tid, ThreadState::Running), || Some(Pid(process)));
        };
        runs(&mut all, 1, 700, 700);
        runs(&mut all, 2, 800, 800);
        let of = |all: &Numbers, number| all.anywhere(ThreadKey(1), Some(Pid(700)), Tid(number)).map(|key| key.0);
        assert_eq!((of(&all, 800), of(&all, 900)), (Some(2), None));
        runs(&mut all, 3, 5000, 5000);
        all.inner(ThreadKey(3), Some(Pid(5000)), Tid(800));
        assert_eq!(of(&all, 800), Some(2), "in the same namespace");
        assert_eq!(of(&all, 5000), None, "its own number is another");
        runs(&mut all, 4, 6000, 6000);
        all.inner(ThreadKey(4), Some(Pid(6000)), Tid(9));
        assert_eq!(of(&all, 9), Some(4));
        runs(&mut all, 5, 7000, 7000);
        all.inner(ThreadKey(5), Some(Pid(7000)), Tid(9));
        assert_eq!(of(&all, 9), None, "two namespaces");
        all.thread(&stretch(5, 7000, ThreadState::Exited), || Some(Pid(7000)));
        assert_eq!(of(&all, 9), Some(4), "the other is over");
    }

    #[test]
    fn a_number_is_a_thread_if_one_lives_that_has_it() {
        let mut all = Numbers::default();
        let process = Some(Pid(9));
        let kinds = |all: &Numbers, of| JOINS.map(|join| all.awaited(of, &wait(join, 700, true), Ns(0)).0);
        let later = |all: &Numbers, of| {
            JOINS.map(|join| all.awaited_since(of, &wait(join, 700, true), Ns(0)).map(|(kind, _)| kind))
        };
        let by_call = [WaitKind::Signal, WaitKind::Thread, WaitKind::Signal];
        assert_eq!(kinds(&all, process), by_call, "it may be unknown still");
        assert_eq!(later(&all, process), [None, Some(WaitKind::Signal), None], "there is none");
        all.thread(&stretch(3, 700, ThreadState::Running), || process);
        assert_eq!(kinds(&all, process), [WaitKind::Thread; 3]);
        assert_eq!(kinds(&all, Some(Pid(8))), by_call, "of another process");
        assert_eq!((kinds(&all, None), later(&all, None)), (by_call, [None; 3]), "its process is unknown");
        let end = ThreadStretch { span: Span::new(Ns(5), Ns(6)), ..stretch(3, 700, ThreadState::Exited) };
        all.thread(&end, || process);
        assert_eq!(later(&all, process), [Some(WaitKind::Thread); 3], "it ended meanwhile");
        assert_eq!(all.awaited(process, &wait(0, 700, true), Ns(5)), (WaitKind::Signal, None), "it has ended");
        all.inner(ThreadKey(3), process, Tid(4));
        let named = all.awaited_since(process, &wait(0, 4, true), Ns(0));
        assert_eq!(named, Some((WaitKind::Thread, Some(Tid(4)))), "its number in its namespace");
        let unread = all.awaited_since(process, &wait(265, 800, false), Ns(0));
        assert_eq!(unread, None, "not all threads may be known");
    }
}
