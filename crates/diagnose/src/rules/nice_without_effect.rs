//! Nice values that have no effect.

use super::LEFT_RUNNABLE;
use crate::context::{EvidenceRows, RuleContext, add, threads};
use crate::finding::{Claim, Confidence, Finding};
use crate::pools::{Pool, Processes};
use crate::range::Range;
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, priority_residency, ran_instead, ready_wait, thread_scheduling};
use model::words::{ms, percent};
use model::{Fix, Ns, ThreadKey, Tid};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const RULE: Rule = Rule {
    id: "nice-without-effect",
    about: "threads with a better nice value got no more CPU time than worse ones, because CPU time is shared between their groups",
    page: Page {
        description: "Pairs of busy threads on one CPU (threads of one pool are taken together) whose nice values differ by several levels, but \
                that shared the CPU as if they did not.",
        rationale: "A nice value counts only within a thread's own group: between groups, the groups' weights decide. Each session is a group \
                  (autogroup), and so is each service and container; renice has no effect between them.",
        certainty: "Each nice level is a factor of 1.25 (the kernel's sched_prio_to_weight). This gives the due share of each of two threads in the \
               time in which one runs while the other waits. Only threads that mostly wait because they were switched out while runnable \
               are compared: how soon a thread runs after a wakeup does not depend on its weight.",
        fix: "If the two are in different sessions, turn autogroup off. If they are in different services or containers, put them \
               into one group, or set the weights of the groups (cpu.weight).",
        example: "A (nice 0) and B (nice 10) alternate every millisecond on one CPU: B should run for a tenth of the time.",
    },
    tables: &[
        &tables::RAN_INSTEAD,
        &tables::PRIORITY_RESIDENCY,
        &tables::READY_WAIT,
        &tables::THREAD_SCHEDULING,
        &tables::CPUS,
    ],
    thresholds: &[&MIN_LEVELS, &MIN_EXCESS, &MIN_SHARE, &MIN_PREEMPTED],
    // If groups share a CPU, a lower-priority thread of another group gets the share of its group, whichever thread waits.
    explains: &["low-priority-ran-while-high-was-ready"],
    worst: Fits::Ready,
    shares_out_work: false,
    check,
};

const MIN_LEVELS: Threshold = Threshold {
    name: "min_levels",
    unit: Unit::Count,
    value: 3.0,
    reason: "three levels are a factor of 1.95: two to one instead of even, which time slices of some milliseconds do not hide",
};

const MIN_EXCESS: Threshold = Threshold {
    name: "min_excess",
    unit: Unit::Ratio,
    value: 0.15,
    reason: "share of the time above what the nice values give: even shares instead of two to one are 0.17 too much",
};

const MIN_SHARE: Threshold = Threshold {
    name: "min_share",
    unit: Unit::Ratio,
    value: 0.02,
    reason: "with less there are too few time slices: of a second, 20 ms are about five slices of 4 ms",
};

const MIN_PREEMPTED: Threshold = Threshold {
    name: "min_preempted",
    unit: Unit::Ratio,
    value: 0.8,
    reason: "share of a thread's ready time that follows a switch-out while runnable: with this much the thread is busy, not waking up",
};

/// The threads of one pool with one priority. Many are short-lived, so one alone has too little data.
type Side = (Pool, i64);

/// How two sides shared CPUs.
#[derive(Default)]
struct Shared {
    /// Ready time of the side with the better nice value, by its thread and the thread that ran instead.
    ready: BTreeMap<(ThreadKey, ThreadKey), Ns>,
    /// Ready time of the other side while the better one ran.
    other_ready: Ns,
}

/// Two sides that shared CPUs contrary to their nice values.
struct Unfair {
    /// Of the time in which one ran while the other was ready, the share in which the worse one ran.
    part: f64,
    /// The share that was due to it.
    due: f64,
    /// By how much it ran too long, ns.
    excess: Ns,
    /// As in [`Shared`].
    ready: BTreeMap<(ThreadKey, ThreadKey), Ns>,
    /// Whether the side with the better nice value belongs to the recorded process.
    is_own: bool,
}

impl Shared {
    fn unfair(self, is_own: bool, levels: i64, ctx: &RuleContext<'_>) -> Option<Unfair> {
        let ready = self.ready.values().sum::<Ns>();
        let both = ready + self.other_ready;
        let part = ready.as_f64() / both.max(Ns(1)).as_f64();
        let due = 1.0 / (1.0 + 1.25_f64.powi(i32::try_from(levels).unwrap_or(i32::MAX)));
        let excess = ready - Ns::whole(due * both.as_f64());
        let is_unfair = both >= ctx.share_ns(&MIN_SHARE).max(Ns(1)) && part - due >= ctx.threshold(&MIN_EXCESS);
        is_unfair.then_some(Unfair { part, due, excess, ready: self.ready, is_own })
    }
}

/// All unfair pairs and the rows that support them.
struct Found {
    pairs: Vec<Unfair>,
    /// The rows of other processes, and those of the recorded process, as the side with the better nice value.
    evidence: [EvidenceRows; 2],
    /// TIDs by thread key.
    tids: BTreeMap<ThreadKey, Tid>,
}

/// The pairs of threads, better nice value first, that share a CPU contrary to their nice values. Another policy of a thread does not
/// fix that.
pub(super) fn pairs(ctx: &RuleContext<'_>) -> Result<BTreeSet<(ThreadKey, ThreadKey)>, EngineError> {
    let ctx = ctx.with_rule(&RULE);
    let found = found(&ctx, &priorities(&ctx)?)?;
    Ok(found.pairs.into_iter().flat_map(|unfair| unfair.ready.into_keys()).collect())
}

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    if !ctx.summary().ready_known {
        return Ok(RuleOutcome::MissingData(
            "the source has no wakeups, so it is unknown which threads were ready".to_owned(),
        ));
    }
    let prios = priorities(ctx)?;
    if prios.is_empty() {
        return Ok(RuleOutcome::MissingData("the source does not record priorities".to_owned()));
    }
    let found = found(ctx, &prios)?;
    let processes = Processes::new(ctx)?;
    let (own, others): (Vec<_>, Vec<_>) = found.pairs.into_iter().partition(|unfair| unfair.is_own);
    let cpus = ctx.cpus()?;
    let mut all = AllThreads { tids: found.tids, cgroups: BTreeMap::new(), cpus: cpus.max(1), processes };
    ctx.each_row(thread_scheduling::Table, |row| {
        all.cgroups
            .insert(row.get(thread_scheduling::THREAD), row.get(thread_scheduling::CGROUP.or_empty()).to_owned());
    })?;
    let [evidence_others, evidence_own] = found.evidence;
    let own = finding(ctx, &all, &own, evidence_own)?;
    Ok(RuleOutcome::Findings(own.into_iter().chain(finding(ctx, &all, &others, evidence_others)?).collect()))
}

/// Facts about all threads.
struct AllThreads {
    tids: BTreeMap<ThreadKey, Tid>,
    /// Control groups by thread key.
    cgroups: BTreeMap<ThreadKey, String>,
    cpus: i64,
    processes: Processes,
}

/// A finding about what the threads of some processes lose to nicer ones.
fn finding(
    ctx: &RuleContext<'_>,
    set: &AllThreads,
    pairs: &[Unfair],
    evidence: EvidenceRows,
) -> Result<Option<Finding>, EngineError> {
    let Some(worst) = pairs.iter().max_by_key(|unfair| unfair.excess) else { return Ok(None) };
    let (mut lost, mut lower) = (BTreeMap::new(), BTreeMap::new());
    for unfair in pairs {
        let all = unfair.ready.values().sum::<Ns>().max(Ns(1)).as_f64();
        for ((high, low), ns) in &unfair.ready {
            let excess = Ns::whole(unfair.excess.as_f64() * ns.as_f64() / all);
            add(&mut lost, *high, excess);
            add(&mut lower, *low, excess);
        }
    }
    let claimed = |sums: &BTreeMap<ThreadKey, Ns>| -> Vec<Claim> {
        sums.iter().map(|(key, ns)| ctx.claim(*key, set.tids.get(key).copied().unwrap_or(Tid::IDLE), *ns)).collect()
    };
    let (claims, competitors) = (claimed(&lost), claimed(&lower));
    let cgroup = |thread: &ThreadKey| set.cgroups.get(thread).filter(|path| !path.is_empty());
    let are_apart = |(high, low): &(ThreadKey, ThreadKey)| cgroup(high).zip(cgroup(low)).is_some_and(|(a, b)| a != b);
    // The root has no weight that could be raised.
    let is_in_root = worst.ready.keys().all(|(high, _)| cgroup(high).is_some_and(|path| is_root(path)));
    let by_session = ctx.autogroup() == Some(true) && !worst.ready.keys().any(are_apart);
    let (grouped, why) = match by_session {
        true => (Fix::Autogroup { on: false }, "; autogroup is on"),
        false if is_in_root => (Fix::Weight { threads: threads(&competitors), weight: weight_of(worst.due) }, ""),
        false => (Fix::Weight { threads: threads(&claims), weight: 1000 }, ""),
    };
    let name = threads(&claims).name;
    let other = threads(&competitors).name;
    // A short-lived thread is followed by the next, so the threads of a process lose time one after the other on each CPU.
    let mut of_process = BTreeMap::new();
    for (thread, ns) in lost.iter().filter(|_| set.processes.are_recorded()) {
        add(&mut of_process, set.processes.pool(ctx, *thread).0, *ns);
    }
    let most = of_process.into_values().max().unwrap_or(Ns::ZERO);
    let mut finding = ctx.finding(
        claims,
        grouped,
        format!("Make the nice values of {name} and {other} effective against each other"),
    );
    finding.recoverable_ns = finding.recoverable_ns.max(most / set.cpus);
    // While the others have one CPU, its threads also wait for each other on the other ones.
    let (mut waited, mut ran) = (Ns::ZERO, Ns::ZERO);
    ctx.each_row(ready_wait::Table, |row| {
        let thread = row.get(ready_wait::THREAD);
        if lost.contains_key(&thread) {
            waited += row.get(ready_wait::READY_NS.or_zero());
        } else if lower.contains_key(&thread) {
            ran += row.get(ready_wait::RUNNING_NS);
        }
    })?;
    let of_all = waited.min(ran).scaled(1.0 - worst.due) / set.cpus;
    finding.recoverable_ns = finding.recoverable_ns.max(of_all);
    finding.severity = ctx.severity(finding.recoverable_ns);
    finding.title = format!(
        "{other} got {} of the time for which it and {name} competed, but its share by nice values is {}: {} ms too much{why}",
        percent((worst.part * 1e6) as i64, 1_000_000),
        percent((worst.due * 1e6) as i64, 1_000_000),
        ms(finding.recoverable_ns)
    );
    finding.range_ns = RANGE.of(finding.recoverable_ns);
    finding.confidence = Confidence::Medium;
    finding.evidence = evidence.finish();
    finding.assumptions = vec![
        "CPU time would be shared between the two by weights of 1.25 per level (lower bound: the current share is intended)"
            .to_owned(),
        "the threads of a process wait on all CPUs at the same time (upper bound: one after the other)".to_owned(),
    ];
    if by_session {
        finding.assumptions.push(
            "the two are in different sessions, and neither is in a control group whose weight (cpu.weight) would decide instead"
                .to_owned(),
        );
    }
    Ok(Some(finding))
}

/// Whether a control group's path is that of the root of its hierarchy.
fn is_root(path: &str) -> bool {
    path.strip_prefix("cpu:").unwrap_or(path) == "/"
}

/// The weight of a control group with which it gets this share if it competes with a thread of nice value 0 in the root, which weighs 100.
fn weight_of(share: f64) -> u32 {
    (100.0 * share / (1.0 - share)).round().clamp(1.0, 100.0) as u32
}

/// Threads that keep less of a CPU also lose less to switches and cold caches; a competitor may be intended.
const RANGE: Range = Range { low: 0.55, high: 1.6 };

/// Finds the sides that share CPUs contrary to their nice values, and the rows that show it.
fn found(ctx: &RuleContext<'_>, prios: &BTreeMap<ThreadKey, i64>) -> Result<Found, EngineError> {
    let processes = Processes::new(ctx)?;
    let side = |thread: ThreadKey| -> Option<Side> {
        let prio = prios.get(&thread).copied().filter(|prio| (100..140).contains(prio))?;
        Some((processes.pool(ctx, thread), prio))
    };
    let busy = busy(ctx, side)?;
    let busy = |thread: ThreadKey| side(thread).filter(|side| busy.contains(side));
    let (mut shared, mut evidence) = (BTreeMap::<(Side, Side), Shared>::new(), <[EvidenceRows; 2]>::default());
    let mut tids = BTreeMap::new();
    let is_own = |side: &Side| side.0.0.is_some() && side.0.0 == processes.focus();
    ctx.each_row(ran_instead::Table, |row| {
        let (thread, tid, ran_instead_tid, ns) = row.all((
            ran_instead::THREAD,
            ran_instead::TID,
            ran_instead::RAN_INSTEAD_TID.or_zero(),
            ran_instead::READY_NS,
        ));
        let Some(ran_instead) = row.get(ran_instead::RAN_INSTEAD).filter(|ran_instead| *ran_instead > ThreadKey::IDLE)
        else {
            return;
        };
        let (Some(own), Some(other)) = (busy(thread), busy(ran_instead)) else { return };
        if ((own.1 - other.1).abs() as f64) < ctx.threshold(&MIN_LEVELS) {
            return;
        }
        let is_own = is_own(if own.1 < other.1 { &own } else { &other });
        evidence[usize::from(is_own)].push(ns, row, &[&ran_instead::READY_NS]);
        if own.1 < other.1 {
            add(&mut shared.entry((own, other)).or_default().ready, (thread, ran_instead), ns);
        } else {
            let other_ready = &mut shared.entry((other, own)).or_default().other_ready;
            *other_ready += ns;
        }
        tids.extend([(thread, tid), (ran_instead, ran_instead_tid)]);
    })?;
    let unfair = |((high, low), shared): ((Side, Side), Shared)| shared.unfair(is_own(&high), low.1 - high.1, ctx);
    Ok(Found { pairs: shared.into_iter().filter_map(unfair).collect(), evidence, tids })
}

/// A thread may spend less than 1/20 of its running time at other priorities than its own: a thread that is made nice starts at its
/// creator's priority.
const OTHER_PRIORITIES: i64 = 20;

/// The priority of each thread that ran at one for nearly all of its time.
fn priorities(ctx: &RuleContext<'_>) -> Result<BTreeMap<ThreadKey, i64>, EngineError> {
    let mut ran: BTreeMap<ThreadKey, Vec<(Ns, Option<i64>)>> = BTreeMap::new();
    ctx.each_row(priority_residency::Table, |row| {
        ran.entry(row.get(priority_residency::THREAD))
            .or_default()
            .push((row.get(priority_residency::RUNNING_NS), row.get(priority_residency::PRIO)));
    })?;
    let main_priority = |at: Vec<(Ns, Option<i64>)>| {
        let all = at.iter().fold(Ns::ZERO, |sum, (ns, _)| sum + *ns);
        let (most, prio) = at.into_iter().max_by_key(|(ns, _)| *ns)?;
        prio.filter(|_| all - most <= all / OTHER_PRIORITIES)
    };
    Ok(ran.into_iter().filter_map(|(key, at)| Some((key, main_priority(at)?))).collect())
}

/// The sides that were mostly ready because they were switched out while runnable.
fn busy(ctx: &RuleContext<'_>, side: impl Fn(ThreadKey) -> Option<Side>) -> Result<BTreeSet<Side>, EngineError> {
    let (mut waited, least) = (BTreeMap::<Side, [Ns; 2]>::new(), ctx.threshold(&MIN_PREEMPTED));
    ctx.each_row(ready_wait::Table, |row| {
        let (thread, ready) = row.all((ready_wait::THREAD, ready_wait::READY_NS.or_zero()));
        let left = row.all(LEFT_RUNNABLE).iter().sum::<Ns>();
        if let Some(sums) = side(thread).map(|side| waited.entry(side).or_default()) {
            *sums = [sums[0] + ready, sums[1] + left];
        }
    })?;
    let busy = |(_, [ready, out]): &(Side, [Ns; 2])| *ready > Ns::ZERO && out.as_f64() >= least * ready.as_f64();
    Ok(waited.into_iter().filter(busy).map(|(side, _)| side).collect())
}
