//! Threads whose sleeps are too short for the CPU to save energy.

use super::SWITCH;
use crate::context::{EvidenceRows, RuleContext, threads};
use crate::finding::{Confidence, Finding};
use crate::idleness::{BREAK_EVEN_NS, break_even, whose_break_even};
use crate::pools::Processes;
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use crate::timers::timed;
use engine::EngineError;
use model::tables::{self, ready_wait, waits};
use model::words::{ms, plural, time};
use model::{Fix, Ns, ThreadKey, Tid};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "sleep-too-short-for-idle-state",
    about: "a thread repeatedly slept for less than a deep idle state needs to pay off",
    page: Page {
        description: "Threads that timers wake very often, after sleeps that are on average shorter than the target residency of the machine's \
                deepest idle state.",
        rationale: "Entering and leaving an idle state costs energy and time: a CPU that is woken earlier would have been better off awake, and \
                  one that expects it stays in a shallow state. A polling loop is also late, by half a sleep on average.",
        certainty: "The number and length of sleeps are known. An interrupt ended them; whether it was a timer or a device is known only if a \
               callchain shows it (nanosleep, record --stacks), otherwise the confidence is low. If the source does not distinguish interrupts \
               from the threads that they interrupt, a pool counts as woken by timers if it has many wakers, always on the CPU on which these ran \
               themselves, and on several CPUs. The estimate is the switching time, at an assumed cost, plus the running time of \
               threads that only poll. Energy is not estimated.",
        fix: "Wait for the event instead of polling; if it must be a timer, sleep for longer, or let timers expire together.",
        example: "A checks for work every 100 µs: a CPU wakes up 10 000 times per second.",
    },
    tables: &[
        &tables::WAITS,
        &tables::WAKERS,
        &tables::THREAD_BY_CPU,
        &tables::IDLE_RESIDENCY,
        &tables::READY_WAIT,
        &tables::CPUS,
    ],
    thresholds: &[&MIN_PER_SECOND, &BREAK_EVEN_NS, &SHORT_RUN_NS, &SWITCH],
    // After each sleep, the thread takes a CPU from a computing thread, of the same priority or another.
    explains: &["critical-thread-same-priority-as-workers", "preemption-rate", "polling-thread"],
    worst: Fits::Nothing,
    shares_out_work: false,
    check,
};

const MIN_PER_SECOND: Threshold = Threshold {
    name: "min_per_second",
    unit: Unit::PerSecond,
    value: 1000.0,
    reason: "sleeps of one thread: media programs use timers of a millisecond, which they need",
};

const SHORT_RUN_NS: Threshold = Threshold {
    name: "short_run_ns",
    unit: Unit::Ns,
    value: 16_000.0,
    reason: "average between two sleeps: a thread that runs no longer only polls; 11 µs in the pathology short_sleeps, mostly its own \
             switches",
};

/// The sleeps of a thread.
#[derive(Default)]
struct Sleeps {
    tid: Tid,
    count: i64,
    blocked: Ns,
    ran: Ns,
    /// Sleeps that a timer ended, according to a callchain.
    timed: i64,
    /// Sleeps that a timer ended, inferred from the wakers.
    inferred: i64,
}

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    if !ctx.summary().ready_known {
        return Ok(RuleOutcome::MissingData(
            "the source has no wakeups, so it is unknown when sleeps ended".to_owned(),
        ));
    }
    let (target_residency, break_even) = break_even(ctx)?;
    let (mut sleeps, mut evidence) = (BTreeMap::<ThreadKey, Sleeps>::new(), EvidenceRows::default());
    let least = ctx.threshold(&MIN_PER_SECOND) * ctx.span().len().as_f64() / 1e9;
    let processes = Processes::new(ctx)?;
    let pools = timed(ctx, &processes)?;
    ctx.each_row(waits::Table, |row| {
        let (thread, tid, waits, blocked) = row.all((waits::THREAD, waits::TID, waits::WAITS, waits::BLOCKED_NS));
        let reason = row.get(waits::REASON.or_empty());
        // The recorded waker of a nanosleep is the thread that the timer interrupted.
        let timed = reason.ends_with("nanosleep");
        let by_interrupt = reason.is_empty() && row.get(waits::WAKER) == Some(ThreadKey::IDLE);
        let inferred = reason.is_empty() && pools.contains(&processes.pool(ctx, thread));
        if !(timed || by_interrupt || inferred)
            || row.get(waits::STATE_LETTER.or_empty()) != "S"
            || ctx.is_per_cpu_kthread(thread)
        {
            return;
        }
        let sums = sleeps.entry(thread).or_default();
        sums.tid = tid;
        sums.count = sums.count.saturating_add(waits);
        sums.blocked += blocked;
        sums.timed += if timed { waits } else { 0 };
        sums.inferred += if inferred { waits } else { 0 };
        if waits as f64 >= least {
            evidence.push(waits, row, &[&waits::WAITS, &waits::BLOCKED_NS]);
        }
    })?;
    let short = |sums: &Sleeps| sums.blocked / sums.count.max(1) < break_even;
    sleeps.retain(|_, sums| sums.count > 0 && sums.count as f64 >= least && short(sums));
    ctx.each_row(ready_wait::Table, |row| {
        if let Some(sums) = sleeps.get_mut(&row.get(ready_wait::THREAD)) {
            sums.ran = row.get(ready_wait::RUNNING_NS);
        }
    })?;
    let polls = |sums: &Sleeps| sums.ran.as_f64() <= ctx.threshold(&SHORT_RUN_NS) * sums.count as f64;
    let switching = |sums: &Sleeps| Ns::whole(sums.count as f64 * 2.0 * ctx.threshold(&SWITCH));
    // Its running time includes its own switches.
    let cost = |sums: &Sleeps| if polls(sums) { sums.ran.max(switching(sums)) } else { switching(sums) };
    let claims: Vec<_> = sleeps.iter().map(|(key, sums)| ctx.claim(*key, sums.tid, cost(sums))).collect();
    let change = Fix::Sleep { threads: threads(&claims), length: break_even };
    let what = format!("Let {} wait for the event, or sleep for longer", threads(&claims).name);
    let finding = ctx.finding(claims, change, what);
    let Some(most) = finding.threads.first().cloned() else { return Ok(RuleOutcome::Findings(Vec::new())) };
    let Some(sums) = sleeps.get(&most.thread) else { return Ok(RuleOutcome::Findings(Vec::new())) };
    let interrupting = sleeps.values().filter(|sums| polls(sums)).fold(Ns::ZERO, |sum, sums| sum + switching(sums));
    let confidence = match sums {
        sums if 2 * sums.timed > sums.count => Confidence::High,
        sums if 2 * (sums.timed + sums.inferred) > sums.count => Confidence::Medium,
        _ => Confidence::Low,
    };
    let cpu_ns = finding.threads.iter().fold(Ns::ZERO, |sum, c| sum + c.recoverable_ns);
    let cpus = ctx.cpus()?;
    // CPUs switch in parallel, each for its part.
    let recoverable = most.recoverable_ns.max(cpu_ns / cpus.max(1));
    Ok(RuleOutcome::Findings(vec![Finding {
        title: format!(
            "{} slept {} for {} on average, less than the {} that a deep idle state needs: about {} ms were lost to {}",
            most.name,
            plural(sums.count.unsigned_abs(), "time"),
            time(sums.blocked / sums.count.max(1)),
            time(break_even),
            ms(most.recoverable_ns),
            if polls(sums) { "polling" } else { "switching" }
        ),
        // It takes CPU time, which delays others only as far as they need it.
        severity: ctx.severity(cpu_ns / cpus.max(1)),
        recoverable_ns: recoverable,
        range_ns: [
            Ns::ZERO,
            match polls(sums) {
                true => recoverable + ctx.upper(&SWITCH, interrupting / cpus.max(1)),
                false => ctx.upper(&SWITCH, recoverable + interrupting / cpus.max(1)),
            },
        ],
        cpu_ns: Some(cpu_ns),
        confidence,
        evidence: evidence.finish(),
        assumptions: vec![
            match polls(sums) {
                true => "all of its running time is polling (lower bound: nothing; upper bound: each sleep also costs the interrupted thread \
                         two switches)",
                false => "each sleep costs two switches (lower bound: nothing)",
            }
            .to_owned(),
            ctx.whose(&SWITCH),
            whose_break_even(target_residency, break_even),
            "the energy lost because the CPU does not stay in a deep idle state is not included".to_owned(),
        ],
        ..finding
    }]))
}
