//! Threads that queue for one lock, which is handed on from one to the next.

use super::{LEAST_SHARE, SWITCH};
use crate::finding::{Confidence, Finding};
use crate::given::{Given, Shown, add, threads};
use crate::pools::{Pool, Processes};
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use engine::EngineError;
use model::Fix;
use model::tables::{self, ready_wait, run_lengths, waits};
use model::words::{grouped, ms, plural};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const RULE: Rule = Rule {
    id: "lock-convoy",
    about: "threads of one name queued for one another, one after the other, as at a lock that all of them need",
    page: Page {
        finds: "Threads of one name in one process that block until another of them wakes them, often, where whoever wakes one had \
                itself waited in the meantime: they queue, and go one by one.",
        matters: "Work that several threads share is done as if there was one, and each piece costs two switches: more threads make it \
                  slower.",
        sure: "Who woke whom, and what that one did meanwhile, is known; that it was a lock is the likely reason, unless a callchain \
               says so (futex). At a barrier the last one wakes all others and has itself not waited, so barriers are not found. \
               Threads that hand on a piece of work in a ring look the same. Where they run at once at other times, only what was run while \
               others queued counts. A lock that whoever lets it go takes again before the one \
               that it woke has a CPU (glibc's mutex, Rust's) is known by those who are woken in vain, one at a time, while whoever woke them runs on; \
               workers that wake each other for work that is gone when they come look so too, if just one of them runs at most times. The estimate is that what the threads ran could be \
               spread over the CPUs; the lower end is the switching only.",
        mend: "Hold the lock shorter, or make several locks of it: one for each part of the data, or each thread's own result, put \
               together at the end.",
        example: "A, B and C need one lock for 2 ms each: on two CPUs one runs at any time, and two wait.",
    },
    tables: &[&tables::WAITS, &tables::READY_WAIT, &tables::RUN_LENGTHS, &tables::CPUS],
    thresholds: &[
        &LEAST_THREADS,
        &LEAST_PER_SECOND,
        &LEAST_QUEUE,
        &MOST_TOGETHER,
        &LEAST_WAITING,
        &LEAST_BUSY,
        &MOST_BUSY,
        &LEAST_HELD,
        &LEAST_SHORT,
        &SHORT_RUN_NS,
        &LEAST_BY_OTHERS,
        &SWITCH,
        &LEAST_SHARE,
    ],
    explains: &["wakeup-storm"],
    look,
};

const LEAST_THREADS: Threshold = Threshold {
    name: "least_threads",
    unit: Unit::Count,
    value: 3.0,
    reason: "of two threads that wait for each other nobody can tell a lock from a question and its answer",
};

const LEAST_PER_SECOND: Threshold = Threshold {
    name: "least_per_second",
    unit: Unit::PerSecond,
    value: 500.0,
    reason: "waits of all of them together, while they run one by one: with one in 2 ms or less often the lock is held for long, and what its holder does counts",
};

const LEAST_QUEUE: Threshold = Threshold {
    name: "least_queue",
    unit: Unit::Ratio,
    value: 0.25,
    reason: "part of the waiting in which whoever ended it waited too: half of it with three that take turns, more with more, none at a barrier",
};

const MOST_TOGETHER: Threshold = Threshold {
    name: "most_together",
    unit: Unit::Ratio,
    value: 0.25,
    reason: "part of the waits that whoever ended them ended with others: none at a lock, but for the few whose \
             thread has no CPU before the next is woken; all of them at a barrier, half where a condition variable's lock is queued for after it",
};

const LEAST_WAITING: Threshold = Threshold {
    name: "least_waiting",
    unit: Unit::Ratio,
    value: 1.0,
    reason: "waiting for one another for each time of running one by one: three that take turns wait for two turns and run for one",
};

const LEAST_BUSY: Threshold = Threshold {
    name: "least_busy",
    unit: Unit::Ratio,
    value: 0.5,
    reason: "running of all of them, in CPUs, over all of the time or while they queued: who is idle for longer waits for work, as threads of a server do",
};

const MOST_BUSY: Threshold = Threshold {
    name: "most_busy",
    unit: Unit::Ratio,
    value: 1.25,
    reason: "the same: where more than one runs at most times, the lock is not what limits them",
};

const LEAST_HELD: Threshold = Threshold {
    name: "least_held",
    unit: Unit::Ratio,
    value: 0.5,
    reason: "or, of a lock that is taken again at once: part of the waiting in which whoever ended it ran, as whoever holds it does. 0.97 in the \
             pathology lock_convoy; less where others take its CPU",
};

const LEAST_SHORT: Threshold = Threshold {
    name: "least_short",
    unit: Unit::Ratio,
    value: 0.75,
    reason: "and part of the runs after a waking that are short, in vain: 0.96 there",
};

const SHORT_RUN_NS: Threshold = Threshold {
    name: "short_run_ns",
    unit: Unit::Ns,
    value: 16_000.0,
    reason: "the length, in the powers of two of run_lengths, of such runs: to find the lock taken, spin for it and wait again took 4 to 8 µs there",
};

const LEAST_BY_OTHERS: Threshold = Threshold {
    name: "least_by_others",
    unit: Unit::Ratio,
    value: 0.25,
    reason: "and part of the waits that others ended than the one who ended most, running meanwhile: 0.45 to 0.59 there, where one keeps \
             the lock until it needs it no more and then the next does; nothing where one hands out work",
};

/// All threads of a pool that waited for one another.
#[derive(Default)]
struct Queue {
    /// Key and number; how often and for how long it waited.
    of: BTreeMap<i64, (i64, i64, i64)>,
    /// Those and who ended their waits: who keeps the lock all the time never waits for it.
    members: BTreeSet<i64>,
    /// For how long whoever ended the waits had waited itself.
    queued: i64,
    /// Waits that were ended with others.
    together: i64,
    /// Waits by who ended them, of whom that ran as whoever holds a lock does.
    held_by: BTreeMap<i64, i64>,
    /// Runs after a waking, and those of them that were short.
    runs: i64,
    short: i64,
    is_told: bool,
    running: i64,
    /// The longest time of which nobody can say what one of them did: it may have waited.
    unknown: i64,
    /// For how long whoever ended the waits had run meanwhile.
    ran_meanwhile: i64,
    shown: Shown,
}

impl Queue {
    fn waits(&self) -> i64 {
        self.of.values().map(|(_, waits, _)| waits).sum()
    }

    /// Waits that others than the one who ended most of them ended, running meanwhile.
    fn by_others(&self) -> i64 {
        let all = self.held_by.values().fold(0_i64, |sum, waits| sum.saturating_add(*waits));
        all - self.held_by.values().max().copied().unwrap_or(0)
    }

    /// Whether whoever ended the waits had waited too.
    fn is_handed_on(&self, given: &Given<'_>) -> bool {
        self.queued as f64 >= given.threshold(&LEAST_QUEUE) * self.blocked() as f64 && self.is_one_by_one(given)
    }

    /// Whether they were woken one at a time: steps that all of them make together are no queue, though they queue for a moment at
    /// the lock of a condition variable.
    fn is_one_by_one(&self, given: &Given<'_>) -> bool {
        self.together as f64 <= given.threshold(&MOST_TOGETHER) * self.waits() as f64
    }

    /// Whether whoever ended the waits ran on, and those whose waits it ended ran in vain.
    fn is_taken_again(&self, given: &Given<'_>) -> bool {
        let waits = self.waits() as f64;
        self.ran_meanwhile as f64 >= given.threshold(&LEAST_HELD) * self.blocked() as f64
            && self.short as f64 >= given.threshold(&LEAST_SHORT) * self.runs.max(1) as f64
            && self.is_one_by_one(given)
            && self.by_others() as f64 >= given.threshold(&LEAST_BY_OTHERS) * waits
    }

    fn blocked(&self) -> i64 {
        self.of.values().fold(0, |sum, (.., blocked)| sum.saturating_add(*blocked))
    }

    /// How many of them ran at a time while the others queued, if all others did.
    fn at_a_time(&self) -> f64 {
        self.ran_meanwhile as f64 * (self.members.len() as f64 - 1.0) / self.blocked().max(1) as f64
    }

    /// What they ran one by one: all of it, where that is so over all of the time; else what was run while others waited.
    fn one_by_one(&self, over_all: bool) -> i64 {
        if over_all { self.running } else { self.ran_meanwhile }
    }
}

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    if !given.summary().ready_known {
        return Ok(Looked::Lacks("the source has no wakings, so nobody knows who waited for whom".to_owned()));
    }
    let processes = Processes::new(given)?;
    let mut queues: BTreeMap<Pool, Queue> = BTreeMap::new();
    given.each(waits::Table, |row| {
        let thread = row.get(waits::THREAD);
        let Some(waker) = row.get(waits::WAKER).filter(|waker| *waker > 0) else { return };
        let pool = processes.pool(given, thread);
        let reason = Some(row.get(waits::REASON.or_empty())).filter(|reason| !reason.is_empty());
        if processes.pool(given, waker) != pool || given.is_of_one_cpu(thread) || reason.is_some_and(|r| r != "futex") {
            return;
        }
        let [tid, waits, blocked, queued, ran] = row.all([
            waits::TID,
            waits::WAITS,
            waits::BLOCKED_NS,
            waits::WAKER_BLOCKED_NS.or_zero(),
            waits::WAKER_RUNNING_NS.or_zero(),
        ]);
        let queue = queues.entry(pool).or_default();
        let of = queue.of.entry(thread).or_insert((tid, 0, 0));
        *of = (tid, of.1.saturating_add(waits), of.2.saturating_add(blocked));
        queue.members.extend([thread, waker]);
        queue.queued = queue.queued.saturating_add(queued);
        queue.ran_meanwhile = queue.ran_meanwhile.saturating_add(ran);
        queue.together = queue.together.saturating_add(row.get(waits::TOGETHER.or_zero()));
        if ran as f64 >= given.threshold(&LEAST_HELD) * blocked as f64 {
            add(&mut queue.held_by, waker, waits);
        }
        queue.is_told |= reason.is_some();
        queue.shown.push(
            blocked,
            row,
            &[&waits::WAITS, &waits::TOGETHER, &waits::BLOCKED_NS, &waits::WAKER_RUNNING_NS, &waits::WAKER_BLOCKED_NS],
        );
    })?;
    given.each(ready_wait::Table, |row| {
        let [thread, running, unknown] = row.all([ready_wait::THREAD, ready_wait::RUNNING_NS, ready_wait::UNKNOWN_NS]);
        if let Some(queue) = queues.get_mut(&processes.pool(given, thread)) {
            queue.running = queue.running.saturating_add(running);
            queue.unknown = queue.unknown.max(unknown);
        }
    })?;
    given.each(run_lengths::Table, |row| {
        let [thread, runs] = row.all([run_lengths::THREAD, run_lengths::AFTER_WAKE.or_zero()]);
        if let (Some(queue), Some(to)) = (queues.get_mut(&processes.pool(given, thread)), row.get(run_lengths::TO_NS)) {
            queue.runs = queue.runs.saturating_add(runs);
            queue.short += if to as f64 <= given.threshold(&SHORT_RUN_NS) { runs } else { 0 };
        }
    })?;
    let cpus = given.cpus()?;
    let span = given.span().len().0.max(1) as f64;
    let limits = [LEAST_THREADS, LEAST_PER_SECOND, LEAST_WAITING, LEAST_BUSY, MOST_BUSY];
    let [members, rate, waiting, least, most] = limits.map(|limit| given.threshold(&limit));
    let busy = |running: f64| (least..=most).contains(&running);
    let is_convoy = |queue: &Queue, over_all: bool| {
        let (blocked, ran) = (queue.blocked() as f64, queue.one_by_one(over_all) as f64);
        queue.members.len() as f64 >= members
            && queue.waits() as f64 >= rate * ran.min(span) / 1e9
            && (queue.is_handed_on(given) || queue.is_taken_again(given))
            && blocked >= waiting * ran
            && busy(if over_all { ran / span } else { queue.at_a_time() })
    };
    let mut found = Vec::new();
    for ((_, name), queue) in queues {
        // Over all of the time first: then what they ran beside the waits was one by one as well.
        let Some(over_all) = [true, false].into_iter().find(|over_all| is_convoy(&queue, *over_all)) else { continue };
        found.extend(finding(given, &name, queue, over_all, cpus));
    }
    Ok(Looked::At(found))
}

fn finding(given: &Given<'_>, name: &str, queue: Queue, over_all: bool, cpus: i64) -> Option<Finding> {
    let at_once = cpus.min(queue.members.len() as i64).max(1);
    let ran = queue.one_by_one(over_all);
    let spread = ran - ran / at_once;
    let switching = |waits: i64| (waits as f64 * 2.0 * given.threshold(&SWITCH)) as i64;
    let least = queue.of.values().map(|(_, waits, _)| switching(*waits)).max().unwrap_or(0);
    // What is handed on from one to the next is handed on one by one, so the switches of all of them come one after the other.
    let longest = queue.of.values().map(|(.., blocked)| *blocked).max().unwrap_or(0);
    let most = longest.saturating_add(queue.unknown).max(spread).saturating_add(switching(queue.waits()));
    let of = |(thread, (tid, waits, blocked)): (&i64, &(i64, i64, i64))| {
        given.claim(*thread, *tid, spread.max(switching(*waits)).min(*blocked))
    };
    let claims: Vec<_> = queue.of.iter().map(of).collect();
    let change = Fix::SplitLock { threads: threads(&claims) };
    let (count, waits, blocked) = (queue.members.len() as u64, queue.waits(), queue.blocked());
    let finding = given.finding(claims, change, format!("Let {name} need less of what they queue for"));
    if finding.recoverable_ns < given.share(&LEAST_SHARE) {
        return None;
    }
    Some(Finding {
        title: format!(
            "{} called {name} waited {} times for one another, {} ms in all, and ran one by one",
            plural(count, "thread"),
            grouped(waits),
            ms(blocked)
        ),
        range_ns: [least.min(finding.recoverable_ns), most.max(finding.recoverable_ns)],
        confidence: if queue.is_told && queue.is_handed_on(given) { Confidence::High } else { Confidence::Medium },
        evidence: queue.shown.finish(),
        assumptions: vec![
            format!(
                "what they ran one by one, {} ms, could be spread over {}",
                ms(ran),
                plural(at_once.unsigned_abs(), "CPU")
            ),
            format!(
                "the lower end: one by one it stays, without two switches of {} ns a wait; the upper: all that one waited or was run one by one, and the switches of all",
                given.threshold(&SWITCH)
            ),
        ],
        ..finding
    })
}
