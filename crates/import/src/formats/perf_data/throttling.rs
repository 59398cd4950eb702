//! For how long events were not sampled, from the records THROTTLE and UNTHROTTLE.
//!
//! If the samples of an event come faster than the kernel allows, it stops sampling the event until the next tick, or until the thread
//! runs on that CPU again:
//!
//! ```text
//!   sample   sample   THROTTLE sample   …nothing…   UNTHROTTLE   sample
//! ```
//!
//! perf opens an event of a thread once for each CPU, and a thread may move to another one. So the time of a thread ends with the next
//! UNTHROTTLE of any of these, which is an upper bound. The records are paired in order of time, which is not that of the file.

use super::stream::ById;
use model::{Ns, SamplingOff};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The maximum number of records that wait for earlier ones, if the file has no rounds.
const MAX_WAITING: usize = 1 << 16;
/// The maximum number of CPUs and threads that are distinguished, and of those in the result.
const MAX_SUBJECTS: usize = 1 << 12;
const MAX_ROWS: usize = 64;

/// What is sampled: an event, by its attribute, of a CPU or a thread, as far as they are recorded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Subject {
    pub(super) event: Option<usize>,
    pub(super) cpu: Option<u32>,
    pub(super) tid: Option<i32>,
}

#[derive(Default)]
struct Off {
    since: Option<Ns>,
    sum: SamplingOff,
}

/// The records so far.
pub(super) struct Throttling {
    /// The names of the events, by attribute.
    names: Vec<String>,
    of_id: ById,
    /// By time: what, and whether sampling stopped.
    waiting: Vec<(Ns, Subject, bool)>,
    subjects: BTreeMap<Subject, Off>,
}

impl Throttling {
    pub(super) fn new(names: Vec<String>, of_id: ById) -> Self {
        Self { names, of_id, waiting: Vec::new(), subjects: BTreeMap::new() }
    }

    /// Returns the attribute of an event's ID.
    pub(super) fn event(&self, id: u64) -> Option<usize> {
        if self.names.len() == 1 { Some(0) } else { self.of_id.get(id) }
    }

    /// Takes a record: sampling stopped, or goes on.
    pub(super) fn add(&mut self, at: Ns, of: Subject, stopped: bool) {
        if self.waiting.len() >= MAX_WAITING {
            self.settle(Ns::MAX);
        }
        self.waiting.push((at, of, stopped));
    }

    /// Pairs the records up to a time, up to which all have been read.
    pub(super) fn settle(&mut self, until: Ns) {
        if self.waiting.is_empty() {
            return;
        }
        self.waiting.sort_by_key(|(at, ..)| *at);
        let ready = self.waiting.partition_point(|(at, ..)| *at <= until);
        for (at, of, stopped) in self.waiting.drain(..ready) {
            let is_beyond = self.subjects.len() >= MAX_SUBJECTS && !self.subjects.contains_key(&of);
            let of = if is_beyond { Subject { cpu: None, tid: None, ..of } } else { of };
            let off = self.subjects.entry(of).or_default();
            if stopped {
                off.sum.times += 1;
                off.since.get_or_insert(at);
            } else if let Some(since) = off.since.take() {
                off.sum.off_ns = off.sum.off_ns.saturating_add((at - since).0);
            }
        }
    }

    /// Returns the sums, the longest first, at the end of the recording. Beyond the first ones, CPUs and threads are added up by event.
    pub(super) fn finish(&mut self, end: Ns) -> Vec<SamplingOff> {
        self.settle(Ns::MAX);
        let mut all: Vec<(Subject, SamplingOff)> = Vec::new();
        for (of, off) in std::mem::take(&mut self.subjects) {
            let mut sum = off.sum;
            if let Some(since) = off.since {
                sum.off_ns = sum.off_ns.saturating_add((end - since).0.max(0));
                sum.until_end += 1;
            }
            if sum.times > 0 {
                all.push((of, sum));
            }
        }
        all.sort_by_key(|(of, sum)| (Reverse(sum.off_ns), *of));
        let mut others: BTreeMap<Option<usize>, SamplingOff> = BTreeMap::new();
        for (of, more) in all.drain(MAX_ROWS.min(all.len())..) {
            let sum = others.entry(of.event).or_default();
            sum.times += more.times;
            sum.off_ns = sum.off_ns.saturating_add(more.off_ns);
            sum.until_end += more.until_end;
        }
        let others = others.into_iter().map(|(event, sum)| (Subject { event, cpu: None, tid: None }, sum));
        let named = |(of, sum): (Subject, SamplingOff)| SamplingOff {
            event: of.event.and_then(|at| self.names.get(at)).cloned().unwrap_or_default(),
            cpu: of.cpu,
            tid: of.tid,
            ..sum
        };
        all.into_iter().chain(others).map(named).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn throttling() -> Throttling {
        Throttling::new(vec!["cycles".to_owned()], ById::new(std::iter::empty()))
    }

    fn thread(tid: i32) -> Subject {
        Subject { event: Some(0), cpu: None, tid: Some(tid) }
    }

    #[test]
    fn records_are_paired_in_order_of_time() {
        let mut all = throttling();
        // The buffer of another CPU has what came before.
        for (at, tid, stopped) in [(50, 7, true), (70, 7, false), (10, 7, true), (15, 8, true), (30, 7, false)] {
            all.add(Ns(at), thread(tid), stopped);
        }
        all.settle(Ns(60));
        let sum = |tid, times, off_ns, until_end| SamplingOff {
            event: "cycles".to_owned(),
            tid: Some(tid),
            times,
            off_ns,
            until_end,
            ..SamplingOff::default()
        };
        assert_eq!(all.finish(Ns(100)), [sum(8, 1, 85, 1), sum(7, 2, 40, 0)]);
        assert_eq!(all.finish(Ns(100)), []);
    }

    #[test]
    fn many_threads_are_added_up() {
        let mut all = throttling();
        for tid in 1..=MAX_SUBJECTS as i32 + 10 {
            all.add(Ns(tid.into()), thread(tid), true);
            all.add(Ns(i64::from(tid) + 1), thread(tid), false);
        }
        let rows = all.finish(Ns(1 << 20));
        assert_eq!(rows.len(), MAX_ROWS + 1);
        assert_eq!(rows.iter().map(|row| row.times).sum::<u64>(), MAX_SUBJECTS as u64 + 10);
        assert_eq!((rows[MAX_ROWS].tid, rows[MAX_ROWS].event.as_str()), (None, "cycles"));
    }
}
