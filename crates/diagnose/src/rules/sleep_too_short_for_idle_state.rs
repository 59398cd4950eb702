//! Threads that sleep for so short that the CPU cannot.

use super::SWITCH;
use crate::finding::{Confidence, Finding};
use crate::given::{Given, Shown, threads};
use crate::pools::Processes;
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use crate::timers::timed;
use engine::EngineError;
use model::tables::{self, idle_residency, ready_wait, waits};
use model::words::{grouped, ms, time};
use model::{Fix, Ns};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "sleep-too-short-for-idle-state",
    about: "a thread slept again and again for less than a deep idle state needs to be worth entering",
    page: Page {
        finds: "Threads that timers wake very often, after sleeps that are shorter on average than the deepest idle state of the machine must \
                last for it to save energy.",
        matters: "Going to sleep and coming back costs energy and time: a CPU that is woken earlier would have been better off awake, and \
                  one that expects it stays in a shallow state. A loop that sleeps and looks is also late, by half a sleep on average.",
        sure: "How often and for how long is known. An interrupt ended the sleeps: whether a timer or a device did is known only where a \
               callchain tells (nanosleep, record --stacks); else it is low. Where the source does not tell interrupts from \
               whoever they came upon, threads of one name that many others woke, always on the CPU on which these ran themselves, and on \
               several CPUs, are taken to be woken by timers. The time is that of the switching, by an assumed cost, and of who only looks and sleeps \
               again also what it ran; the energy is not estimated.",
        mend: "Wait for what happens instead of looking for it; where it must be a timer, sleep for longer, or let timers end together.",
        example: "A looks every 100 µs whether there is work: 10 000 times a second a CPU wakes up.",
    },
    tables: &[
        &tables::WAITS,
        &tables::WAKERS,
        &tables::THREAD_BY_CPU,
        &tables::IDLE_RESIDENCY,
        &tables::READY_WAIT,
        &tables::CPUS,
    ],
    thresholds: &[&LEAST_PER_SECOND, &BREAK_EVEN_NS, &SHORT_RUN_NS, &SWITCH],
    // Who comes back from each sleep takes a CPU from who computes there, of the same priority or not.
    explains: &["critical-thread-same-priority-as-workers", "preemption-rate"],
    look,
};

const LEAST_PER_SECOND: Threshold = Threshold {
    name: "least_per_second",
    unit: Unit::PerSecond,
    value: 1000.0,
    reason: "sleeps of one thread: media programs have timers of a millisecond, which they need",
};

const BREAK_EVEN_NS: Threshold = Threshold {
    name: "break_even_ns",
    unit: Unit::Ns,
    value: 600_000.0,
    reason: "used where the machine's description tells of no idle state but that of guests (haltpoll): what the Linux driver intel_idle has for C6 of Skylake servers and of Alder Lake",
};

const SHORT_RUN_NS: Threshold = Threshold {
    name: "short_run_ns",
    unit: Unit::Ns,
    value: 16_000.0,
    reason: "on average, between two sleeps: who runs no longer only looks whether there is work. 11 µs in the pathology short_sleeps, of which \
             its switches are the most",
};

/// The idle state of guests (Linux, `drivers/cpuidle/cpuidle-haltpoll.c`): the host decides what follows, and its 1 µs is no hardware's.
const OF_GUESTS: &str = "haltpoll";

/// The sleeps of a thread.
#[derive(Default)]
struct Sleeps {
    tid: i64,
    count: i64,
    blocked: i64,
    ran: i64,
    /// Those of which a callchain tells that a timer was to end them.
    timed: i64,
    /// Those of which who ended them tells that it was a timer.
    inferred: i64,
}

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    if !given.summary().ready_known {
        return Ok(Looked::Lacks("the source has no wakings, so nobody knows when sleeps ended".to_owned()));
    }
    let mut told = None;
    given.each(idle_residency::Table, |row| {
        if !row.get(idle_residency::STATE_NAME.or_empty()).starts_with(OF_GUESTS) {
            told = told.max(row.get(idle_residency::TARGET_RESIDENCY_NS));
        }
    })?;
    let break_even = told.unwrap_or(given.threshold(&BREAK_EVEN_NS) as i64);
    let (mut sleeps, mut shown) = (BTreeMap::<i64, Sleeps>::new(), Shown::default());
    let least = given.threshold(&LEAST_PER_SECOND) * given.span().len().0 as f64 / 1e9;
    let processes = Processes::new(given)?;
    let pools = timed(given, &processes)?;
    given.each(waits::Table, |row| {
        let [thread, tid, waits, blocked] = row.all([waits::THREAD, waits::TID, waits::WAITS, waits::BLOCKED_NS]);
        let reason = row.get(waits::REASON.or_empty());
        // Who is told to have ended a nanosleep is whom the timer came upon.
        let timed = reason.ends_with("nanosleep");
        let untold = reason.is_empty() && row.get(waits::WAKER) == Some(0);
        let inferred = reason.is_empty() && pools.contains(&processes.pool(given, thread));
        if !(timed || untold || inferred) || row.get(waits::LETTER.or_empty()) != "S" || given.is_of_one_cpu(thread) {
            return;
        }
        let of = sleeps.entry(thread).or_default();
        of.tid = tid;
        of.count = of.count.saturating_add(waits);
        of.blocked = of.blocked.saturating_add(blocked);
        of.timed += if timed { waits } else { 0 };
        of.inferred += if inferred { waits } else { 0 };
        if waits as f64 >= least {
            shown.push(waits, row, &[&waits::WAITS, &waits::BLOCKED_NS]);
        }
    })?;
    let short = |of: &Sleeps| of.blocked / of.count.max(1) < break_even;
    sleeps.retain(|_, of| of.count > 0 && of.count as f64 >= least && short(of));
    given.each(ready_wait::Table, |row| {
        if let Some(of) = sleeps.get_mut(&row.get(ready_wait::THREAD)) {
            of.ran = row.get(ready_wait::RUNNING_NS);
        }
    })?;
    let looks = |of: &Sleeps| of.ran as f64 <= given.threshold(&SHORT_RUN_NS) * of.count as f64;
    let switching = |of: &Sleeps| (of.count as f64 * 2.0 * given.threshold(&SWITCH)) as i64;
    // What it ran has its own switches in it.
    let cost = |of: &Sleeps| if looks(of) { of.ran.max(switching(of)) } else { switching(of) };
    let claims: Vec<_> = sleeps.iter().map(|(key, of)| given.claim(*key, of.tid, cost(of))).collect();
    let change = Fix::Sleep { threads: threads(&claims), length: Ns(break_even) };
    let what = format!("Let {} wait for what happens, or sleep for longer", threads(&claims).name);
    let finding = given.finding(claims, change, what);
    let Some(most) = finding.threads.first().cloned() else { return Ok(Looked::At(Vec::new())) };
    let Some(of) = sleeps.get(&most.thread) else { return Ok(Looked::At(Vec::new())) };
    let interrupting = sleeps.values().filter(|of| looks(of)).fold(0_i64, |sum, of| sum.saturating_add(switching(of)));
    let confidence = match of {
        of if 2 * of.timed > of.count => Confidence::High,
        of if 2 * (of.timed + of.inferred) > of.count => Confidence::Medium,
        _ => Confidence::Low,
    };
    let cpu_ns = finding.threads.iter().fold(0_i64, |sum, c| sum.saturating_add(c.recoverable_ns));
    let cpus = given.cpus()?;
    // CPUs switch at the same time, each for its part.
    let recoverable = most.recoverable_ns.max(cpu_ns / cpus.max(1));
    Ok(Looked::At(vec![Finding {
        title: format!(
            "{} slept {} times for {} on average, less than the {} that a deep idle state needs: about {} ms went into {}",
            most.name,
            grouped(of.count),
            time(of.blocked / of.count.max(1)),
            time(break_even),
            ms(most.recoverable_ns),
            if looks(of) { "looking" } else { "switching" }
        ),
        severity: given.severity(recoverable),
        recoverable_ns: recoverable,
        range_ns: [0, recoverable.saturating_add(interrupting / cpus.max(1))],
        cpu_ns: Some(cpu_ns),
        confidence,
        evidence: shown.finish(),
        assumptions: vec![
            match looks(of) {
                true => format!(
                    "what it ran is looking; the lower end: nothing; the upper: each sleep also costs whom it interrupts two switches of {} ns",
                    given.threshold(&SWITCH)
                ),
                false => {
                    format!("each sleep costs two switches of {} ns; the lower end: nothing", given.threshold(&SWITCH))
                }
            },
            match told {
                Some(_) => "the deepest idle state is as the machine's description says".to_owned(),
                None => format!(
                    "the machine tells of no idle states of its own; {} is assumed of the deepest",
                    time(break_even)
                ),
            },
            "the energy that is lost with the sleep of the CPU is not in it".to_owned(),
        ],
        ..finding
    }]))
}
