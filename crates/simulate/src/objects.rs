//! The state of what threads wait for.

use crate::program::Object;
use std::collections::VecDeque;

/// An object, and the threads that wait for it in the order in which they came.
#[derive(Debug)]
pub(crate) struct Awaited {
    kind: Object,
    /// Of a semaphore: how many can be taken. Of a lock: 1 if it is free. Of a barrier: how many threads are here.
    count: u32,
    /// Those that wait.
    waiting: VecDeque<usize>,
}

impl Awaited {
    pub(crate) fn new(kind: Object) -> Self {
        let count = match kind {
            Object::Semaphore(count) => count,
            Object::Lock => 1,
            Object::Barrier(_) => 0,
        };
        Self { kind, count, waiting: VecDeque::new() }
    }

    /// Takes one, or lets the thread wait; whether it has one.
    pub(crate) fn take(&mut self, thread: usize) -> bool {
        if self.count > 0 {
            self.count -= 1;
            return true;
        }
        self.waiting.push_back(thread);
        false
    }

    /// Adds to a semaphore: the threads that now have one.
    pub(crate) fn post(&mut self, count: u32) -> Vec<usize> {
        let served = self.waiting.len().min(count as usize);
        self.count += count - served as u32;
        self.waiting.drain(..served).collect()
    }

    /// Gives a lock back: the thread that should try to take it.
    pub(crate) fn unlock(&mut self) -> Option<usize> {
        self.count = 1;
        self.waiting.pop_front()
    }

    /// A thread arrives at a barrier: those that go on without it if it is the last one, otherwise `None`, and it waits.
    pub(crate) fn arrive(&mut self, thread: usize) -> Option<Vec<usize>> {
        let Object::Barrier(parties) = self.kind else { return Some(Vec::new()) };
        self.count += 1;
        if self.count < parties {
            self.waiting.push_back(thread);
            return None;
        }
        self.count = 0;
        Some(self.waiting.drain(..).collect())
    }
}
