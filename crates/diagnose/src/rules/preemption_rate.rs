//! Threads that are switched out again and again while runnable.

use super::{MIN_RATE_NS, MIN_SHARE, SWITCH};
use crate::context::{EvidenceRows, Preempted, RuleContext, threads};
use crate::finding::{Claim, Confidence, Finding};
use crate::pools::Processes;
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, ready_wait, switch_causes};
use model::words::{ms, plural};
use model::{AnyColumn, Fix, Ns, Policy};
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "preemption-rate",
    about: "threads of one name were preempted so often that the switches themselves cost time",
    page: Page {
        description: "Threads (grouped by name) that were preempted more often, per second of their running time, than time slices of a millisecond \
                would cause.",
        rationale: "Each preemption is two switches, and the thread's caches are cold when it continues. A thread that is \
                  preempted a thousand times per second runs for less than a millisecond at a time.",
        certainty: "Preemptions are counted. A source without calls of sched_yield does not distinguish a preemption on the way back to user mode from a \
               yield: both count, and the finding states how many. The cost of a preemption is assumed, without cold caches: the estimate is low for \
               programs that need their caches, and too high for others.",
        fix: "Run batch work as such (SCHED_BATCH preempts less), or keep the preempting threads on other CPUs.",
        example: "A is preempted 2 000 times in a second of running time, and each preemption costs the time of two switches.",
    },
    tables: &[&tables::SWITCH_CAUSES, &tables::READY_WAIT, &tables::CPUS],
    thresholds: &[&MAX_PER_SECOND, &SWITCH, &MIN_SHARE],
    explains: &[],
    worst: Fits::Ready,
    shares_out_work: false,
    check,
};

const MAX_PER_SECOND: Threshold = Threshold {
    name: "max_per_second",
    unit: Unit::PerSecond,
    value: 1000.0,
    reason: "preemptions per second of a thread's running time: the kernel's shortest time slice is about a millisecond (base_slice is 0.7 ms times 1 + log2 of the CPUs)",
};

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    let mut has_data = false;
    ctx.each_row(switch_causes::Table, |row| has_data |= row.get(switch_causes::CAUSE) != "unknown")?;
    if !has_data {
        return Ok(RuleOutcome::MissingData("the source does not record the causes of switch-outs".to_owned()));
    }
    let preempted = ctx.preempted()?;
    let mut by_name = BTreeMap::<String, Group>::new();
    let (most, least) = (ctx.threshold(&MAX_PER_SECOND), ctx.share_ns(&MIN_SHARE).max(Ns(1)));
    ctx.each_row(ready_wait::Table, |row| {
        let (thread, tid, running) = row.all((ready_wait::THREAD, ready_wait::TID, ready_wait::RUNNING_NS));
        let Some(count) = preempted.counts.get(&thread).copied() else { return };
        // This rate is normal.
        if count as f64 <= most * running.as_f64() / 1e9 {
            return;
        }
        let lost = Ns::whole(count as f64 * 2.0 * ctx.threshold(&SWITCH));
        let sums = by_name.entry(ctx.name(thread)).or_default();
        sums.count = sums.count.saturating_add(count);
        sums.running += running;
        sums.lost += lost;
        sums.claims.push(ctx.claim(thread, tid, lost));
        let mut columns: Vec<&dyn AnyColumn<ready_wait::Table>> =
            vec![&ready_wait::RUNNING_COUNT, &ready_wait::RUNNING_NS, &ready_wait::READY_PREEMPTED_NS];
        if preempted.maybe_yielded.contains_key(&thread) {
            columns.push(&ready_wait::READY_UNKNOWN_NS);
        }
        sums.evidence.push(lost, row, &columns);
    })?;
    let cpus = ctx.cpus()?;
    let of_enough = by_name.into_iter().filter(|(_, sums)| sums.running >= MIN_RATE_NS);
    let found = of_enough.map(|(name, sums)| (finding(ctx, &name, sums, cpus.max(1), &preempted), name));
    let mut found: Vec<_> = found.filter(|(finding, _)| finding.recoverable_ns >= least).collect();
    let processes = Processes::new(ctx)?;
    let is_focus = |finding: &Finding| finding.threads.iter().any(|claim| processes.is_focus(claim.thread));
    found.sort_by_key(|(finding, _)| (!is_focus(finding), Reverse(finding.recoverable_ns)));
    // One finding: the others would say the same.
    let mut found = found.into_iter();
    let Some((mut first, _)) = found.next() else { return Ok(RuleOutcome::Findings(Vec::new())) };
    let others: Vec<_> = found.map(|(_, name)| name).collect();
    if !others.is_empty() {
        let named = others.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = if others.len() > NAMED { ", …" } else { "" };
        first.title = format!(
            "{}; threads of {} ({named}{more}) were, too",
            first.title,
            plural(others.len() as u64, "other name")
        );
    }
    Ok(RuleOutcome::Findings(vec![first]))
}

/// The number of other names that the title has.
const NAMED: usize = 3;

/// The threads of a name that are preempted too often: a build's compilers are too short-lived to count separately.
#[derive(Default)]
struct Group {
    count: i64,
    running: Ns,
    lost: Ns,
    claims: Vec<Claim>,
    evidence: EvidenceRows,
}

fn finding(ctx: &RuleContext<'_>, name: &str, sums: Group, cpus: i64, preempted: &Preempted) -> Finding {
    let change = Fix::Policy { threads: threads(&sums.claims), policy: Policy::Batch, level: None };
    let (all, what) = (sums.claims.len() as u64, format!("Give {name} longer time slices"));
    let mut assumptions = vec![
        "each preemption costs two switches (lower bound: nothing)".to_owned(),
        ctx.whose(&SWITCH),
        "cold caches are not included".to_owned(),
    ];
    let uncertainty = preempted.assumption(sums.claims.iter().map(|claim| claim.thread));
    let was = if uncertainty.is_some() { "preempted or yielded" } else { "preempted" };
    assumptions.extend(uncertainty);
    let finding = ctx.finding(sums.claims, change, what);
    // CPUs switch in parallel, each for its part.
    let recoverable = finding.recoverable_ns.max(sums.lost / cpus);
    let subject = if all > 1 { format!("{} named {name} were", plural(all, "thread")) } else { format!("{name} was") };
    Finding {
        title: format!(
            "{subject} {was} {} in {} ms of running: about {} ms were lost to switching",
            plural(sums.count.unsigned_abs(), "time"),
            ms(sums.running),
            ms(recoverable)
        ),
        severity: ctx.severity(recoverable),
        recoverable_ns: recoverable,
        range_ns: [Ns::ZERO, ctx.upper(&SWITCH, recoverable)],
        cpu_ns: Some(sums.lost),
        confidence: Confidence::Low,
        evidence: sums.evidence.finish(),
        assumptions,
        ..finding
    }
}
