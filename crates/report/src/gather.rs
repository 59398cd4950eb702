//! Groups of threads: the first ones in a sort order, and the sums of the others. A trace may have far more threads than are
//! shown, so no more are kept in memory than that.

use crate::select::Thread;
use crate::{Options, Sort, words};
use model::ThreadKey;
use std::cmp::Reverse;

/// The number of threads kept beyond those shown, so that sorting is rare.
const ROOM: usize = 1000;

/// A group of threads.
pub struct Group {
    /// What the threads have in common.
    pub title: String,
    /// The threads that are shown, in order.
    pub shown: Vec<Thread>,
    /// The number of the other threads, and their sum.
    pub others: Option<(usize, Thread)>,
    /// The sum of all threads.
    pub all: Thread,
    /// Whether all threads are of one process.
    pub one_process: bool,
    /// The keys of all threads, if a process was requested.
    pub keys: Vec<ThreadKey>,
}

/// A group that is being collected.
pub struct Gathering {
    sort: Sort,
    top: usize,
    best: Vec<Thread>,
    left_out: usize,
    others: Thread,
    count: usize,
    all: Thread,
    pid: Option<i64>,
    one_process: bool,
    /// Collected if a process was requested.
    keys: Option<Vec<ThreadKey>>,
}

impl Gathering {
    pub fn new(options: &Options) -> Self {
        Self {
            sort: options.sort,
            top: options.top,
            best: Vec::new(),
            left_out: 0,
            others: Thread::default(),
            count: 0,
            all: Thread::default(),
            pid: None,
            one_process: true,
            keys: options.process.is_some().then(Vec::new),
        }
    }

    pub fn add(&mut self, thread: Thread) {
        if self.count == 0 {
            self.pid = thread.pid;
        }
        self.one_process &= thread.pid.is_some() && thread.pid == self.pid;
        self.count += 1;
        self.keys.iter_mut().for_each(|keys| keys.push(thread.key));
        self.all.add(&thread);
        self.best.push(thread);
        if self.best.len() > self.top.saturating_add(ROOM) {
            self.sort_out();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn finish(mut self, title: String) -> Group {
        self.sort_out();
        self.all.name = format!("all {}", self.count);
        self.others.name = words::plural(self.left_out as u64, "other");
        Group {
            title,
            shown: self.best,
            others: (self.left_out > 0).then_some((self.left_out, self.others)),
            all: self.all,
            one_process: self.one_process && self.count > 0,
            keys: self.keys.unwrap_or_default(),
        }
    }

    fn sort_out(&mut self) {
        sort(&mut self.best, self.sort);
        let rest = self.top.min(self.best.len())..;
        for thread in self.best.drain(rest) {
            self.others.add(&thread);
            self.left_out += 1;
        }
    }
}

fn sort(threads: &mut [Thread], by: Sort) {
    let largest = |t: &Thread| match by {
        Sort::Running => t.running.0,
        Sort::Ready => t.ready.0,
        Sort::MaxReady => t.max_ready.0,
        Sort::Blocked => t.blocked.0,
        Sort::Unknown => t.unknown.0,
        Sort::Switches => t.involuntary.saturating_add(t.voluntary),
        Sort::Migrations => t.migrations,
        Sort::Name => 0,
    };
    match by {
        Sort::Name => threads.sort_by(|a, b| (&a.name, a.key).cmp(&(&b.name, b.key))),
        _ => threads.sort_by_key(|t| (Reverse(largest(t)), t.key)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Ns;

    fn thread(key: i64, name: &str, running: i64) -> Thread {
        Thread {
            key: ThreadKey(key),
            tid: key,
            pid: Some(1),
            name: name.to_owned(),
            running: Ns(running),
            ready: Ns(1),
            ..Thread::default()
        }
    }

    fn gathered(threads: impl IntoIterator<Item = Thread>, options: &Options) -> Group {
        let mut gathering = Gathering::new(options);
        threads.into_iter().for_each(|t| gathering.add(t));
        gathering.finish("Threads".to_owned())
    }

    #[test]
    fn threads_that_are_not_shown_are_summed() {
        let all = [thread(1, "a", 1), thread(2, "b", 5), thread(3, "c", 9)];
        let group = gathered(all, &Options { top: 1, ..Options::default() });
        assert_eq!(group.shown[0].name, "c");
        let (count, others) = group.others.unwrap();
        assert_eq!((count, others.running, others.ready), (2, Ns(6), Ns(2)));
        assert_eq!(group.all.running, Ns(15));
        assert!(group.one_process);
    }

    #[test]
    fn no_more_threads_are_kept_than_are_shown() {
        let many = 10 * ROOM as i64;
        let all = (0..many).map(|n| thread(n, "t", n * 7919 % many));
        let group = gathered(all, &Options { top: 3, ..Options::default() });
        assert_eq!(group.shown.iter().map(|t| t.running.0).collect::<Vec<_>>(), [many - 1, many - 2, many - 3]);
        assert!(group.shown.capacity() < 2 * ROOM);
        let (count, others) = group.others.unwrap();
        assert_eq!((count as i64, others.running.0), (many - 3, (0..many - 3).sum()));
    }

    #[test]
    fn sorted_by_name() {
        let mut all = vec![thread(1, "b", 1), thread(2, "a", 0)];
        sort(&mut all, Sort::Name);
        assert_eq!(all[0].name, "a");
    }
}
