//! Threads that are switched out again and again while they could run.

use super::{LEAST_SHARE, SWITCH};
use crate::finding::{Claim, Confidence, Finding};
use crate::given::{Given, Preempted, Shown, threads};
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, ready_wait, switch_causes};
use model::words::{grouped, ms, plural};
use model::{AnyOf, Fix, Policy};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "preemption-rate",
    about: "threads of one name were preempted so often that switching itself costs time",
    page: Page {
        finds: "Threads, told together where they are called alike, that others preempted more often, in a second of their running time, than turns of a millisecond would.",
        matters: "Each preemption is two switches, and what the thread had in its caches is cold when it comes back. A thread that is \
                  preempted a thousand times a second runs for less than a millisecond at a time.",
        sure: "Preemptions are counted. A source that has no calls of sched_yield does not tell one on the way back to user mode from a yield: there both count, and the finding says how many. What one costs is assumed, and cold caches come on top: the milliseconds are a floor for \
               programs that need their caches, and too much for those that do not.",
        mend: "Run batch work as such (SCHED_BATCH preempts less), or keep what preempts it on other CPUs.",
        example: "A is preempted 2 000 times in a second of running: 2 000 times two switches are lost.",
    },
    tables: &[&tables::SWITCH_CAUSES, &tables::READY_WAIT, &tables::CPUS],
    thresholds: &[&MOST_PER_SECOND, &SWITCH, &LEAST_SHARE],
    explains: &[],
    look,
};

const MOST_PER_SECOND: Threshold = Threshold {
    name: "most_per_second",
    unit: Unit::PerSecond,
    value: 1000.0,
    reason: "of its running time: the kernel's shortest turn is about a millisecond (base_slice is 0.7 ms times 1 + log2 of the CPUs)",
};

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    let mut told = false;
    given.each(switch_causes::Table, |row| told |= row.get(switch_causes::CAUSE) != "unknown")?;
    if !told {
        return Ok(Looked::Lacks("the source does not say what a switch-out meant".to_owned()));
    }
    let preempted = given.preempted()?;
    let mut by_name = BTreeMap::<String, Crowd>::new();
    let (most, least) = (given.threshold(&MOST_PER_SECOND), given.share(&LEAST_SHARE).max(1));
    given.each(ready_wait::Table, |row| {
        let [thread, tid, running] = row.all([ready_wait::THREAD, ready_wait::TID, ready_wait::RUNNING_NS]);
        let Some(count) = preempted.counts.get(&thread).copied() else { return };
        // As often as it would be anyway is not too often.
        if count as f64 <= most * running as f64 / 1e9 {
            return;
        }
        let lost = (count as f64 * 2.0 * given.threshold(&SWITCH)) as i64;
        let of = by_name.entry(given.name(thread)).or_default();
        of.count = of.count.saturating_add(count);
        of.running = of.running.saturating_add(running);
        of.lost = of.lost.saturating_add(lost);
        of.claims.push(given.claim(thread, tid, lost));
        let mut columns: Vec<&dyn AnyOf<ready_wait::Table>> =
            vec![&ready_wait::RUNNING_COUNT, &ready_wait::RUNNING_NS, &ready_wait::READY_PREEMPTED_NS];
        if preempted.unsure.contains_key(&thread) {
            columns.push(&ready_wait::READY_UNKNOWN_NS);
        }
        of.shown.push(lost, row, &columns);
    })?;
    let cpus = given.cpus()?;
    let found = by_name.into_iter().map(|(name, of)| finding(given, &name, of, cpus.max(1), &preempted));
    Ok(Looked::At(found.filter(|finding| finding.recoverable_ns >= least).collect()))
}

/// Threads of a name that are preempted too often: a build's compilers live too briefly to count one by one.
#[derive(Default)]
struct Crowd {
    count: i64,
    running: i64,
    lost: i64,
    claims: Vec<Claim>,
    shown: Shown,
}

fn finding(given: &Given<'_>, name: &str, of: Crowd, cpus: i64, preempted: &Preempted) -> Finding {
    let change = Fix::Policy { threads: threads(&of.claims), policy: Policy::Batch };
    let (all, what) = (of.claims.len() as u64, format!("Let {name} run for longer at a time"));
    let mut assumptions = vec![
        format!("each preemption costs two switches of {} ns; the lower end: nothing", given.threshold(&SWITCH)),
        "cold caches come on top".to_owned(),
    ];
    let unsure = preempted.assumed(of.claims.iter().map(|claim| claim.thread));
    let was = if unsure.is_some() { "preempted, or yielded," } else { "preempted" };
    assumptions.extend(unsure);
    let finding = given.finding(of.claims, change, what);
    // CPUs switch at the same time, each for its part.
    let recoverable = finding.recoverable_ns.max(of.lost / cpus);
    let who = if all > 1 { format!("{} called {name} were", plural(all, "thread")) } else { format!("{name} was") };
    Finding {
        title: format!(
            "{who} {was} {} times in {} ms of running: about {} ms went into switching",
            grouped(of.count),
            ms(of.running),
            ms(recoverable)
        ),
        severity: given.severity(recoverable),
        recoverable_ns: recoverable,
        range_ns: [0, recoverable],
        cpu_ns: Some(of.lost),
        confidence: Confidence::Low,
        evidence: of.shown.finish(),
        assumptions,
        ..finding
    }
}
