//! Merges the samples of all threads into one stream.

use super::NONE;
use super::chains::{Chains, Maker};
use super::tables::{self, Lib, Meta, Profile, Tables};
use crate::callchains::Callchains;
use crate::tracepoint::Names;
use ingest::{Anomaly, BATCH, Fatal, Ledger, Reach, Stream};
use model::{Batch, CoreType, CpuId, Event, EventKind, MaybeNs, NameId, Ns, Pid, StackId, Tid};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The event that counts the CPU time of a thread, by perf's name.
pub(super) const CPU_TIME: &str = "task-clock";
/// The interval of samples, if the profile does not say it, and the longest one, in ns.
const INTERVAL: f64 = 1e6;
const MAX_INTERVAL: f64 = 1e10;
/// The maximum time in ms (146 years), so that sums of two times never overflow.
const MAX_MS: f64 = 4.6e12;

/// A thread and its samples.
struct Thread {
    tid: Tid,
    pid: Pid,
    name: String,
    /// When its name is known, in ns.
    from: i64,
    samples: tables::Samples,
    /// The tables of its callchains: the number in [`Samples::tables`].
    tables: usize,
    is_named: bool,
    /// The next sample, and its time and that of the one before in ns.
    next: u32,
    at: i64,
    before: Option<i64>,
    /// The sample to which `at` belongs, and its time in ms.
    at_row: Option<u32>,
    ms: f64,
    /// CPU time that no sample stands for yet, in ns.
    ran: f64,
}

/// The samples of a profile.
pub(super) struct Samples {
    pub(super) meta: Meta,
    libs: Vec<Lib>,
    threads: Vec<Thread>,
    /// Those of each thread, or the one that all share.
    tables: Vec<Chains>,
    /// What threads share, if each has tables of its own: texts, paths of source files.
    shared: Option<Tables>,
    names: Names,
    chains: Callchains,
    /// The next sample of each thread, by time.
    queue: BinaryHeap<Reverse<(i64, usize)>>,
    /// In ns.
    interval: f64,
    /// The nanoseconds of a unit of CPU time; `None`: it is not known how long a thread ran.
    unit: Option<f64>,
    /// The number of threads without a TID, and of those whose samples are of something else.
    unnumbered: u64,
    others: u64,
}

impl Samples {
    pub(super) fn new(profile: Profile) -> Self {
        let Profile { meta, libs, threads, shared } = profile;
        let has_cpu = threads.0.iter().any(|thread| thread.samples.cpu.0.iter().any(|cpu| !cpu.is_nan()));
        let unit = match meta.sample_units.as_ref().and_then(|units| units.cpu.as_deref()) {
            Some("µs") => Some(1e3),
            Some("ns") => Some(1.0),
            // Cycles of a varying length, or not known.
            _ => None,
        };
        let interval =
            meta.interval.map(|ms| ms * 1e6).filter(|ns| *ns > 0.0 && *ns <= MAX_INTERVAL).unwrap_or(INTERVAL);
        let is_shared = shared.as_ref().is_some_and(|shared| shared.stack_table.len() > 0);
        let mut all = Self {
            meta,
            libs: libs.0,
            threads: Vec::new(),
            tables: Vec::new(),
            shared: None,
            names: Names::new(),
            chains: Callchains::default(),
            queue: BinaryHeap::new(),
            interval,
            unit: unit.filter(|_| has_cpu),
            unnumbered: 0,
            others: 0,
        };
        match shared {
            Some(shared) if is_shared => all.tables.push(Chains::new(shared)),
            other => all.shared = other,
        }
        for mut thread in threads.0 {
            let Some(tid) = thread.tid.0.filter(|tid| *tid > 0) else {
                all.unnumbered += u64::from(!thread.samples.stack.0.is_empty());
                continue;
            };
            if thread.samples.weight_type.as_deref().is_some_and(|of| of != "samples") {
                all.others += 1;
                continue;
            }
            if !is_shared {
                all.tables.push(Chains::new(thread.tables()));
            }
            all.threads.push(Thread {
                tid: Tid(tid),
                pid: thread.pid.0.filter(|pid| *pid > 0).map_or(Pid::UNKNOWN, Pid),
                name: thread.name,
                from: ns(thread.register_time.unwrap_or(0.0)).unwrap_or(0),
                samples: thread.samples,
                tables: all.tables.len().saturating_sub(1),
                is_named: false,
                next: 0,
                at: 0,
                before: None,
                at_row: None,
                ms: 0.0,
                ran: interval / 2.0,
            });
        }
        // A TID that is used again has the name of its time.
        all.threads.sort_by_key(|thread| thread.from);
        for (number, thread) in all.threads.iter_mut().enumerate() {
            thread.advance();
            let first = if thread.has_next() { thread.at.min(thread.from) } else { thread.from };
            all.queue.push(Reverse((first, number)));
        }
        all
    }

    /// Whether it is known how long threads ran.
    pub(super) fn has_cpu_time(&self) -> bool {
        self.unit.is_some()
    }

    /// Adds what is next of a thread: its name, or else a sample.
    fn step(&mut self, at: Ns, number: usize, out: &mut Batch) {
        let thread = &mut self.threads[number];
        if std::mem::replace(&mut thread.is_named, true) {
            self.sample(number, out);
            self.threads[number].advance();
        } else {
            let name = self.names.id(thread.name.as_bytes(), out);
            out.events.push(event(at, EventKind::Name { tid: thread.tid, pid: thread.pid, name }));
        }
        let thread = &self.threads[number];
        if thread.has_next() {
            self.queue.push(Reverse((thread.at, number)));
        }
    }

    /// Adds the next sample of a thread, and for how long it ran since the sample before.
    fn sample(&mut self, number: usize, out: &mut Batch) {
        let thread = &mut self.threads[number];
        let (tid, at, row) = (thread.tid, Ns(thread.at), thread.next);
        let length = thread.before.map(|before| at - Ns(before)).filter(|length| *length > Ns::ZERO);
        // The CPU time of the first sample is from an unknown time on.
        let cpu = thread.samples.cpu.get(row).filter(|cpu| *cpu >= 0.0);
        let ran = cpu.zip(self.unit).zip(length).map(|((cpu, unit), length)| (cpu * unit, length));
        let has_weight = thread.samples.weight.get(row).is_none_or(|weight| weight != 0.0);
        let is_counted = match (self.unit, ran) {
            (None, _) => has_weight,
            (Some(_), None) => false,
            (Some(_), Some((ran, _))) => thread.stands_for(ran, self.interval, has_weight),
        };
        let what = match ran {
            Some((ran, length)) => {
                let event = self.names.id(CPU_TIME.as_bytes(), out);
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "a cast of too large a number gives the largest one"
                )]
                let count = ran.round() as i64;
                EventKind::Count { tid, event, length, count, running: length }
            }
            None => EventKind::Sample,
        };
        out.events.push(event(at, what));
        if is_counted {
            let node = thread.samples.stack.index(row);
            let shared = self.shared.as_ref();
            let mut with = Maker { shared, libs: &self.libs, names: &mut self.names, chains: &mut self.chains };
            let tables = self.tables.get_mut(thread.tables).filter(|_| node != NONE);
            let stack = tables.map_or(StackId::NONE, |tables| tables.of(node, &mut with, out));
            let core = CoreType::Uniform;
            out.events.push(event(at, EventKind::CpuSample { tid, stack, name: NameId::NONE, core }));
        }
    }
}

/// Returns an event of a thread, which has no CPU: it need not have run then.
fn event(at: Ns, what: EventKind) -> Event {
    Event { at, offset: 0, cpu: CpuId::UNKNOWN, current: Tid::UNKNOWN, what }
}

impl Thread {
    fn has_next(&self) -> bool {
        (self.next as usize) < self.samples.stack.0.len()
    }

    /// Goes to the next sample.
    fn advance(&mut self) {
        if let Some(row) = self.at_row {
            self.before = Some(self.at);
            self.next = row + 1;
        }
        self.at_row = Some(self.next);
        self.ms = match (self.samples.time.get(self.next), self.samples.time_deltas.get(self.next)) {
            (Some(ms), _) if !ms.is_nan() => ms,
            (None, Some(step)) if !step.is_nan() => self.ms + step,
            _ => self.ms,
        };
        self.at = ns(self.ms).unwrap_or(self.at);
    }

    /// Adds CPU time; returns whether it reached the interval of the samples, so that the sample, if it has a weight, stands for it. A
    /// sample stands for one interval: more were not taken.
    fn stands_for(&mut self, ran: f64, interval: f64, has_weight: bool) -> bool {
        self.ran += ran;
        let is_counted = has_weight && self.ran >= interval;
        if is_counted {
            self.ran = (self.ran - interval).min(interval);
        }
        is_counted
    }
}

/// Converts milliseconds; `None` if they are out of range.
#[expect(clippy::cast_possible_truncation, reason = "in range")]
fn ns(ms: f64) -> Option<i64> {
    (ms.abs() <= MAX_MS).then(|| (ms * 1e6).round() as i64)
}

impl Stream for Samples {
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal> {
        for _ in 0..std::mem::take(&mut self.unnumbered) {
            bad.anomaly("a thread has no TID: its samples are left out", 0, Anomaly::NotUnderstood);
        }
        for _ in 0..std::mem::take(&mut self.others) {
            bad.anomaly("the samples of a thread are of something else than time", 0, Anomaly::NotUnderstood);
        }
        while let Some(Reverse((at, number))) = self.queue.pop() {
            self.step(Ns(at), number, out);
            if out.events.len() >= BATCH {
                let next = self.queue.peek().map(|Reverse((at, _))| Ns(*at));
                return Ok(next.map_or(Reach::End, |at| Reach::Until(MaybeNs::new(at))));
            }
        }
        Ok(Reach::End)
    }
}
