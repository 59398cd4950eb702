//! Threads that are woken again and again to do next to nothing.

use super::{LEAST_PATH_SHARE, SWITCH};
use crate::finding::{Confidence, Finding};
use crate::given::{Given, Shown, add, threads};
use crate::pools::{Pool, Processes};
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use crate::timers::timed;
use engine::EngineError;
use model::Fix;
use model::tables::{self, critical_by_thread, run_lengths, wakers};
use model::words::{grouped, ms, time};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "wakeup-storm",
    about: "threads were woken thousands of times a second by their own process, and ran for some microseconds each time",
    page: Page {
        finds: "Threads of one name that threads of their own process wake very often, most times to run for no longer than the switching \
                takes: one waking for each small piece of work, or a waking of all where one is enough.",
        matters: "A waking costs whoever wakes a system call, and the CPU two switches: with little work behind each, most of the time goes \
                  into handing it over, and idle CPUs never sleep deeply.",
        sure: "Wakings and lengths of runs are known. What a waking costs is assumed. Where each piece is needed at once, as by one who waits \
               for the answer, it cannot be mended by collecting pieces: of two pools that wake each other, only what the one is woken more \
               often than the other counts. Nobody is done sooner by more than the process waited for a CPU on the critical path, where that \
               is its own; the rest is CPU time for others. Wakings by interrupts and other processes are not counted; where a source does not tell \
               them from those of whoever they came upon, a thread that was always woken on the CPU on which its waker ran, on \
               several CPUs, is taken to be woken by timers.",
        mend: "Hand over several pieces with one waking; wake one thread (notify_one) where all find the work of one.",
        example: "A wakes B for each line of text: 20 000 times a second B runs for 5 µs.",
    },
    tables: &[
        &tables::WAKERS,
        &tables::RUN_LENGTHS,
        &tables::THREAD_BY_CPU,
        &tables::CPUS,
        &tables::CRITICAL_BY_THREAD,
    ],
    thresholds: &[&LEAST_PER_SECOND, &SHORT_RUN_NS, &LEAST_SHORT, &SWITCH, &LEAST_PATH_SHARE],
    explains: &[],
    look,
};

const LEAST_PER_SECOND: Threshold = Threshold {
    name: "least_per_second",
    unit: Unit::PerSecond,
    value: 5000.0,
    reason: "of all threads of the name: at the assumed cost 4 % of a CPU; servers that answer some thousand requests a second are well",
};

const SHORT_RUN_NS: Threshold = Threshold {
    name: "short_run_ns",
    unit: Unit::Ns,
    value: 16_000.0,
    reason: "the length, in the powers of two of run_lengths, below which switching takes about as long as running",
};

const LEAST_SHORT: Threshold = Threshold {
    name: "least_short",
    unit: Unit::Ratio,
    value: 0.75,
    reason: "part of the runs after a waking that are as short: with fewer, the wakings bring work",
};

/// Pieces that one waking should bring.
const PIECES: u32 = 8;

/// All threads of a pool.
#[derive(Default)]
struct Storm {
    /// Number and wakings, by key.
    woken: BTreeMap<i64, (i64, i64)>,
    /// Of the wakings, by which other pool.
    by: BTreeMap<Pool, i64>,
    /// Of the wakings, those that answer one of this pool's own, or are answered by one.
    answered: i64,
    runs: i64,
    short: i64,
    shown: Shown,
    /// Where nobody tells processes, who wakes may be of another one.
    of_process: bool,
}

impl Storm {
    fn wakings(&self) -> i64 {
        self.woken.values().fold(0, |sum, (_, wakings)| sum.saturating_add(*wakings))
    }

    /// Of so many of the wakings, those that are no questions and answers.
    fn unanswered(&self, wakings: i64) -> i64 {
        let all = self.wakings().max(1);
        wakings - (wakings as f64 * self.answered as f64 / all as f64) as i64
    }
}

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    if !given.summary().ready_known {
        return Ok(Looked::Lacks("the source has no wakings".to_owned()));
    }
    let processes = Processes::new(given)?;
    let mut storms: BTreeMap<Pool, Storm> = BTreeMap::new();
    given.each(wakers::Table, |row| {
        let [thread, tid, wakings] = row.all([wakers::THREAD, wakers::TID, wakers::WAKINGS]);
        let waker = row.get(wakers::WAKER).filter(|waker| *waker > 0 && processes.are_one(*waker, thread));
        if waker.is_none_or(|waker| given.is_of_one_cpu(waker)) || given.is_of_one_cpu(thread) {
            return;
        }
        let pool = processes.pool(given, thread);
        let storm = storms.entry(pool.clone()).or_default();
        let of = storm.woken.entry(thread).or_insert((tid, 0));
        of.1 = of.1.saturating_add(wakings);
        if let Some(other) = waker.map(|waker| processes.pool(given, waker)).filter(|other| *other != pool) {
            add(&mut storm.by, other, wakings);
        }
        storm.shown.push(wakings, row, &[&wakers::WAKINGS, &wakers::READY_NS]);
    })?;
    let answered: Vec<i64> = storms.iter().map(|(pool, storm)| answered(&storms, pool, storm)).collect();
    storms.values_mut().zip(answered).for_each(|(storm, answered)| storm.answered = answered);
    let least = given.threshold(&LEAST_PER_SECOND) * given.span().len().0 as f64 / 1e9;
    storms.retain(|_, storm| storm.unanswered(storm.wakings()) as f64 >= least.max(1.0));
    if storms.is_empty() {
        return Ok(Looked::At(Vec::new()));
    }
    let timed = timed(given, &processes)?;
    storms.retain(|pool, _| !timed.contains(pool));
    let (mut runs, mut short) = (BTreeMap::new(), BTreeMap::new());
    given.each(run_lengths::Table, |row| {
        let [thread, count] = row.all([run_lengths::THREAD, run_lengths::AFTER_WAKE.or_zero()]);
        let Some(to) = row.get(run_lengths::TO_NS) else { return };
        add(&mut runs, thread, count);
        if to as f64 <= given.threshold(&SHORT_RUN_NS) {
            add(&mut short, thread, count);
        }
    })?;
    for storm in storms.values_mut() {
        let sum = |of: &BTreeMap<i64, i64>| storm.woken.keys().filter_map(|thread| of.get(thread)).sum();
        (storm.runs, storm.short) = (sum(&runs), sum(&short));
        storm.of_process = processes.are_told();
    }
    storms.retain(|_, storm| storm.short as f64 >= given.threshold(&LEAST_SHORT) * storm.runs.max(1) as f64);
    let cpus = given.cpus()?;
    let mut found = Vec::new();
    for (pool, storm) in storms {
        let waited = waited_on_path(given, &processes, &pool)?;
        found.push(finding(given, &pool.1, storm, cpus, waited));
    }
    Ok(Looked::At(found))
}

/// How many wakings of a pool go back and forth between it and others: as many as the one of two is woken by the other less often.
fn answered(storms: &BTreeMap<Pool, Storm>, pool: &Pool, storm: &Storm) -> i64 {
    let back = |other: &Pool| storms.get(other).and_then(|of| of.by.get(pool)).copied().unwrap_or(0);
    storm.by.iter().fold(0, |sum, (other, wakings)| sum.saturating_add(back(other).min(*wakings)))
}

/// For how long threads of the pool's process waited for a CPU on the critical path: by more, nobody of them is done sooner. None
/// where the path is not theirs.
fn waited_on_path(given: &Given<'_>, processes: &Processes, pool: &Pool) -> Result<Option<i64>, EngineError> {
    let (mut on_path, mut waited) = (0_i64, 0_i64);
    given.each(critical_by_thread::Table, |row| {
        let [thread, path, ready] =
            row.all([critical_by_thread::THREAD, critical_by_thread::PATH_NS, critical_by_thread::READY_NS]);
        if pool.0.is_some() && processes.pool(given, thread).0 == pool.0 {
            on_path = on_path.saturating_add(path);
            waited = waited.saturating_add(ready);
        }
    })?;
    Ok((on_path >= given.share(&LEAST_PATH_SHARE).max(1)).then_some(waited))
}

fn finding(given: &Given<'_>, name: &str, storm: Storm, cpus: i64, waited: Option<i64>) -> Finding {
    let cost = |wakings: i64| (storm.unanswered(wakings) as f64 * 2.0 * given.threshold(&SWITCH)) as i64;
    let saved = |wakings: i64| cost(wakings) - cost(wakings) / i64::from(PIECES);
    let sooner = |ns: i64| ns.min(waited.unwrap_or(ns));
    let claim = |(thread, (tid, wakings)): (&i64, &(i64, i64))| given.claim(*thread, *tid, sooner(saved(*wakings)));
    let claims: Vec<_> = storm.woken.iter().map(claim).collect();
    let change = Fix::Batch { threads: threads(&claims), pieces: PIECES };
    let finding = given.finding(claims, change, format!("Wake {name} less often, for more at a time"));
    // CPUs switch at the same time, each for its part.
    let most = |all: i64, own: i64| own.max(all / cpus.max(1));
    let own = storm.woken.values().map(|(_, wakings)| *wakings).max().unwrap_or(0);
    let cpu_ns = saved(storm.wakings());
    let switching = most(cpu_ns, saved(own));
    let recoverable = sooner(switching);
    Finding {
        title: format!(
            "{name} was woken {} times by {}, and ran for less than {} in {} of {} runs: about {} ms went into \
             switching",
            grouped(storm.wakings()),
            if storm.of_process { "threads of its process" } else { "other threads" },
            time(given.threshold(&SHORT_RUN_NS) as i64),
            grouped(storm.short),
            grouped(storm.runs),
            ms(switching)
        ),
        severity: given.severity(recoverable),
        recoverable_ns: recoverable,
        range_ns: [0, sooner(most(cost(storm.wakings()), cost(own)))],
        cpu_ns: Some(cpu_ns),
        confidence: if storm.of_process { Confidence::Medium } else { Confidence::Low },
        evidence: storm.shown.finish(),
        assumptions: vec![
            format!(
                "each waking costs two switches of {} ns; one with {PIECES} pieces costs as much as one with one",
                given.threshold(&SWITCH)
            ),
            match waited {
                Some(waited) => format!(
                    "nobody is done sooner by more than the {} ms for which the process waited for a CPU on the critical path; \
                     the lower end: CPUs that fall idle instead take as long to wake up",
                    ms(waited)
                ),
                None => "nobody waits for each piece; the lower end is that somebody does".to_owned(),
            },
        ],
        ..finding
    }
}
