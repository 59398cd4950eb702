//! Threads that waited for one another on one CPU while another was idle.

use super::LEAST_SHARE;
use crate::finding::{Confidence, Severity};
use crate::given::{Given, Shown, add, threads};
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, cpus, ready_by_thief, ready_wait, thread_by_cpu};
use model::words::ms;
use model::{CpuId, Fix};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "serialised-on-one-cpu",
    about: "threads took turns on one CPU while another, on which they may run, was idle",
    page: Page {
        finds: "Threads that were ready behind another thread while a CPU of the same type was idle on which they are allowed.",
        matters: "Two threads that could run at once run one after the other: the work takes as long as on half the CPUs. \
                  The scheduler does so for short whiles after a waking by the thread that runs there, where it takes the two for \
                  a pipeline; and for long whiles where load is not balanced (isolated CPUs, an ideal CPU that is not allowed).",
        sure: "What ran, what was idle and where threads are allowed is known. While nobody tells where a thread is allowed, it may be \
               pinned there: such time is in the upper end only, and alone never makes a finding more than low; nor does one wait that \
               is over with the scheduler's next tick. Of a thread that mostly \
               waits for microseconds, long waits between are not seen.",
        mend: "Keep the two apart: masks that do not overlap, or a waking that does not say that the waker is about to wait.",
        example: "B is woken on CPU 0 behind A, and waits 2 ms while CPU 1 is idle.",
    },
    tables: &[&tables::READY_WAIT, &tables::READY_BY_THIEF, &tables::THREAD_BY_CPU, &tables::CPUS],
    thresholds: &[&LEAST_SHARE, &LEAST_WAIT_NS, &ONCE_NS],
    explains: &[],
    look,
};

const LEAST_WAIT_NS: Threshold = Threshold {
    name: "least_wait_ns",
    unit: Unit::Ns,
    value: 500_000.0,
    reason: "on average, each time it is ready: for less, Linux moves no thread (sched_migration_cost_ns), and wakings cost a healthy server as \
             much, some microseconds each, of which an idle CPU needs some to wake up",
};

const ONCE_NS: Threshold = Threshold {
    name: "once_ns",
    unit: Unit::Ns,
    value: 5_000_000.0,
    reason: "a thread that waited for no longer in all, and for most of it once, met the scheduler before its tick (4 ms at 250 Hz) had \
             looked for an idle CPU: chance, no pattern, so it is low",
};

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    if !given.summary().ready_known {
        return Ok(Looked::Lacks("the source has no wakings, so nobody knows who was ready".to_owned()));
    }
    let (mut claims, mut shown, mut upper, mut by_chance) = (Vec::new(), Shown::default(), 0, true);
    let (least, least_wait) = (given.share(&LEAST_SHARE).max(1), given.threshold(&LEAST_WAIT_NS));
    given.each(ready_wait::Table, |row| {
        let [thread, tid, free, untold] = row.all([
            ready_wait::THREAD,
            ready_wait::TID,
            ready_wait::FREE_SAME_TYPE_NS.or_zero(),
            ready_wait::PERMISSION_UNKNOWN_NS.or_zero(),
        ]);
        if free >= least && free as f64 >= least_wait * row.get(ready_wait::READY_COUNT.or_zero()) as f64 {
            claims.push(given.claim(thread, tid, free.saturating_sub(untold).max(0)));
            upper = free.max(upper);
            by_chance &=
                free as f64 <= given.threshold(&ONCE_NS) && 2 * row.get(ready_wait::MAX_READY_NS.or_zero()) >= free;
            shown.push(
                free,
                row,
                &[
                    &ready_wait::FREE_SAME_TYPE_NS,
                    &ready_wait::PERMISSION_UNKNOWN_NS,
                    &ready_wait::READY_NS,
                    &ready_wait::READY_COUNT,
                ],
            );
        }
    })?;
    let Some(most) = claims.iter().max_by_key(|c| c.recoverable_ns).cloned() else {
        return Ok(Looked::At(Vec::new()));
    };
    let mut behind = BTreeMap::new();
    given.each(ready_by_thief::Table, |row| {
        if let (true, Some(thief)) =
            (row.get(ready_by_thief::THREAD) == most.thread, row.get(ready_by_thief::THIEF).filter(|thief| *thief > 0))
        {
            add(&mut behind, thief, row.get(ready_by_thief::READY_NS));
        }
    })?;
    let thief = behind.into_iter().max_by_key(|(_, ns)| *ns).map(|(thief, _)| thief);
    let cpus = apart(given, thief)?;
    let change = Fix::Affinity { threads: threads(std::slice::from_ref(&most)), cpus };
    let other = thief.map_or_else(|| "others".to_owned(), |thief| given.name(thief));
    let mut finding = given.finding(claims, change, format!("Keep {} and {other} apart", most.name));
    let certain = finding.recoverable_ns >= least;
    let told = if certain { finding.recoverable_ns } else { upper };
    let perhaps = if certain { "" } else { ", if it may run there" };
    finding.title = format!("{} was ready for {} ms behind {other} while a CPU was idle{perhaps}", most.name, ms(told));
    finding.range_ns = [0, upper];
    finding.confidence = if certain { Confidence::High } else { Confidence::Low };
    if by_chance {
        finding.severity = Severity::Low;
    }
    finding.evidence = shown.finish();
    finding.assumptions = vec![
        "the idle CPU would have run it at the same speed (a cold cache is not counted)".to_owned(),
        "the two do not wait for each other's results: the lower end is that they do".to_owned(),
    ];
    Ok(Looked::At(vec![finding]))
}

/// All CPUs of the machine but the one where the other thread ran most; none where that is all that are known.
fn apart(given: &Given<'_>, other: Option<i64>) -> Result<Vec<CpuId>, EngineError> {
    let (mut on, mut all) = (BTreeMap::new(), Vec::new());
    given.each(thread_by_cpu::Table, |row| {
        if Some(row.get(thread_by_cpu::THREAD)) == other {
            add(&mut on, row.get(thread_by_cpu::CPU), row.get(thread_by_cpu::RUNNING_NS));
        }
    })?;
    let taken = on.into_iter().max_by_key(|(_, ns)| *ns).map(|(cpu, _)| cpu);
    given.each(cpus::Table, |row| {
        let cpu = row.get(cpus::CPU);
        all.extend(u32::try_from(cpu).ok().filter(|_| Some(cpu) != taken).map(CpuId));
    })?;
    Ok(all)
}
