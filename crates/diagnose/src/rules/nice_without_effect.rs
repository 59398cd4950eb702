//! Nice values that decide nothing.

use super::LEFT_RUNNABLE;
use crate::finding::{Claim, Confidence, Finding};
use crate::given::{Given, Shown, add, threads};
use crate::pools::{Pool, Processes};
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use engine::EngineError;
use model::Fix;
use model::tables::{self, priority_residency, ready_by_thief, ready_wait, thread_scheduling};
use model::words::{ms, percent};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const RULE: Rule = Rule {
    id: "nice-without-effect",
    about: "threads of better nice value got no more of their CPU than worse ones: their groups share it, not they",
    page: Page {
        finds: "Pairs of busy threads (those of one process that are called alike are taken together) on one CPU whose nice values \
                differ by some levels, but who waited for each other as if they did not.",
        matters: "A nice value counts only inside a thread's own group: between groups the groups' weights decide. Sessions are groups of \
                  their own (autogroup), so are services and containers; renice then changes nothing.",
        sure: "Each nice level is a factor of 1.25 (the kernel's sched_prio_to_weight), so of the time in which one of two runs while the \
               other waits, each one's part follows. It is compared only for threads that mostly wait because they were switched out \
               while they could run: how soon a sleeper is let in is no matter of its weight.",
        mend: "Where the two are of different sessions, turn autogroup off; where of different services or containers, put them \
               into one group, or weigh the groups (cpu.weight).",
        example: "A (nice 0) and B (nice 10) take turns of a millisecond on one CPU: B should run a tenth of the time.",
    },
    tables: &[
        &tables::READY_BY_THIEF,
        &tables::PRIORITY_RESIDENCY,
        &tables::READY_WAIT,
        &tables::THREAD_SCHEDULING,
        &tables::CPUS,
    ],
    thresholds: &[&LEAST_LEVELS, &LEAST_EXCESS, &LEAST_SHARE, &LEAST_PREEMPTED],
    // Where groups share a CPU, a lower thread of another group gets as much as its group, whoever waits.
    explains: &["low-priority-ran-while-high-was-ready"],
    look,
};

const LEAST_LEVELS: Threshold = Threshold {
    name: "least_levels",
    unit: Unit::Count,
    value: 3.0,
    reason: "three levels are a factor of 1.95: two to one instead of even, which turns of some milliseconds do not hide",
};

const LEAST_EXCESS: Threshold = Threshold {
    name: "least_excess",
    unit: Unit::Ratio,
    value: 0.15,
    reason: "even instead of two to one is 0.17 too much",
};

const LEAST_SHARE: Threshold = Threshold {
    name: "least_share",
    unit: Unit::Ratio,
    value: 0.02,
    reason: "of less the turns are too few: of a second, 20 ms are some five turns of 4 ms",
};

const LEAST_PREEMPTED: Threshold = Threshold {
    name: "least_preempted",
    unit: Unit::Ratio,
    value: 0.8,
    reason: "of its ready time after a switch-out while it could run: so much, and it is busy, not waking up",
};

/// Threads that share work, those of one priority. Many live shortly, so each alone would say little.
type Side = (Pool, i64);

/// How two sides shared CPUs.
#[derive(Default)]
struct Shared {
    /// For how long each thread of the one of better nice value was ready while which of the other ran.
    behind: BTreeMap<(i64, i64), i64>,
    /// For how long the other's were ready while those ran.
    before: i64,
}

/// How two sides shared CPUs against their nice values.
struct Against {
    /// Of the time in which one ran while the other was ready, that in which the worse one ran.
    part: f64,
    /// What of it is its due.
    due: f64,
    /// By how much it ran too long, ns.
    excess: i64,
    /// As in [`Shared`].
    behind: BTreeMap<(i64, i64), i64>,
    /// Those of better nice value are of the process that the recording was made for.
    is_own: bool,
}

impl Shared {
    fn against(self, is_own: bool, levels: i64, given: &Given<'_>) -> Option<Against> {
        let behind = self.behind.values().fold(0_i64, |sum, ns| sum.saturating_add(*ns));
        let both = behind.saturating_add(self.before);
        let part = behind as f64 / both.max(1) as f64;
        let due = 1.0 / (1.0 + 1.25_f64.powi(i32::try_from(levels).unwrap_or(i32::MAX)));
        let excess = behind - (due * both as f64) as i64;
        let against = both >= given.share(&LEAST_SHARE).max(1) && part - due >= given.threshold(&LEAST_EXCESS);
        against.then_some(Against { part, due, excess, behind: self.behind, is_own })
    }
}

/// All that share so, and the rows that show it.
struct Found {
    pairs: Vec<Against>,
    /// Of others, and of those of the process that the recording was made for, as those of better nice value.
    shown: [Shown; 2],
    /// Threads' numbers.
    tids: BTreeMap<i64, i64>,
}

/// The pairs of threads, the one of better nice value first, that share a CPU against their nice values: no policy of a thread
/// mends that.
pub(super) fn pairs(given: &Given<'_>) -> Result<BTreeSet<(i64, i64)>, EngineError> {
    let given = given.of(&RULE);
    let found = found(&given, &priorities(&given)?)?;
    Ok(found.pairs.into_iter().flat_map(|against| against.behind.into_keys()).collect())
}

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    if !given.summary().ready_known {
        return Ok(Looked::Lacks("the source has no wakings, so nobody knows who was ready".to_owned()));
    }
    let prios = priorities(given)?;
    if prios.is_empty() {
        return Ok(Looked::Lacks("the source tells no priorities".to_owned()));
    }
    let found = found(given, &prios)?;
    let processes = Processes::new(given)?;
    let (own, others): (Vec<_>, Vec<_>) = found.pairs.into_iter().partition(|against| against.is_own);
    let cpus = given.cpus()?;
    let mut set = Set { tids: found.tids, cgroups: BTreeMap::new(), cpus: cpus.max(1), processes };
    given.each(thread_scheduling::Table, |row| {
        set.cgroups
            .insert(row.get(thread_scheduling::THREAD), row.get(thread_scheduling::CGROUP.or_empty()).to_owned());
    })?;
    let [shown_others, shown_own] = found.shown;
    let own = finding(given, &set, &own, shown_own);
    Ok(Looked::At(own.into_iter().chain(finding(given, &set, &others, shown_others)).collect()))
}

/// What is known of all threads.
struct Set {
    tids: BTreeMap<i64, i64>,
    /// By thread.
    cgroups: BTreeMap<i64, String>,
    cpus: i64,
    processes: Processes,
}

/// What the threads of some processes lose to others that are nicer.
fn finding(given: &Given<'_>, set: &Set, pairs: &[Against], shown: Shown) -> Option<Finding> {
    let worst = pairs.iter().max_by_key(|against| against.excess)?;
    let (mut lost, mut lower) = (BTreeMap::new(), BTreeMap::new());
    for against in pairs {
        let all = against.behind.values().fold(0_i64, |sum, ns| sum.saturating_add(*ns)).max(1) as f64;
        for ((high, low), ns) in &against.behind {
            let excess = (against.excess as f64 * *ns as f64 / all) as i64;
            add(&mut lost, *high, excess);
            add(&mut lower, *low, excess);
        }
    }
    let claimed = |of: &BTreeMap<i64, i64>| -> Vec<Claim> {
        of.iter().map(|(key, ns)| given.claim(*key, set.tids.get(key).copied().unwrap_or(0), *ns)).collect()
    };
    let (claims, behind) = (claimed(&lost), claimed(&lower));
    let cgroup = |thread: &i64| set.cgroups.get(thread).filter(|path| !path.is_empty());
    let are_apart = |(high, low): &(i64, i64)| cgroup(high).zip(cgroup(low)).is_some_and(|(a, b)| a != b);
    let by_session = autogroup(given) == Some(true) && !worst.behind.keys().any(are_apart);
    let (grouped, why) = match by_session {
        true => (Fix::Autogroup { on: false }, "; autogroup is on"),
        false => (Fix::Weight { threads: threads(&claims), weight: 1000 }, ""),
    };
    let name = threads(&claims).name;
    let other = threads(&behind).name;
    // Who lives shortly is followed by the next: what threads of a process lose is lost in turn, on each CPU by itself.
    let mut of_process = BTreeMap::new();
    for (thread, ns) in lost.iter().filter(|_| set.processes.are_told()) {
        add(&mut of_process, set.processes.pool(given, *thread).0, *ns);
    }
    let most = of_process.into_values().max().unwrap_or(0);
    let mut finding =
        given.finding(claims, grouped, format!("Let the nice values of {name} and {other} count against each other"));
    finding.recoverable_ns = finding.recoverable_ns.max(most / set.cpus);
    finding.severity = given.severity(finding.recoverable_ns);
    finding.title = format!(
        "{other} had {} of the time that it and {name} competed for, by their nice values {} is due: {} ms too much{why}",
        percent((worst.part * 1e6) as i64, 1_000_000),
        percent((worst.due * 1e6) as i64, 1_000_000),
        ms(finding.recoverable_ns)
    );
    finding.range_ns = [0, finding.recoverable_ns.max(most)];
    finding.confidence = Confidence::Medium;
    finding.evidence = shown.finish();
    finding.assumptions = vec![
        "the CPU's time between the two would be shared by weights of 1.25 a level; the lower end: it is as meant"
            .to_owned(),
        "the threads of a process wait on all CPUs at once; the upper end: each when the one before is done".to_owned(),
    ];
    if by_session {
        finding.assumptions.push(
            "the two are of different sessions, and neither is in a control group of its own, whose weight (cpu.weight) would decide instead"
                .to_owned(),
        );
    }
    Some(finding)
}

/// Those that share against their nice values, and the rows that show it.
fn found(given: &Given<'_>, prios: &BTreeMap<i64, i64>) -> Result<Found, EngineError> {
    let processes = Processes::new(given)?;
    let side = |thread: i64| -> Option<Side> {
        let prio = prios.get(&thread).copied().filter(|prio| (100..140).contains(prio))?;
        Some((processes.pool(given, thread), prio))
    };
    let busy = busy(given, side)?;
    let busy = |thread: i64| side(thread).filter(|side| busy.contains(side));
    let (mut shared, mut shown) = (BTreeMap::<(Side, Side), Shared>::new(), <[Shown; 2]>::default());
    let mut tids = BTreeMap::new();
    let is_own = |side: &Side| side.0.0.is_some() && side.0.0 == processes.focus();
    given.each(ready_by_thief::Table, |row| {
        let [thread, tid, thief_tid, ns] = row.all([
            ready_by_thief::THREAD,
            ready_by_thief::TID,
            ready_by_thief::THIEF_TID.or_zero(),
            ready_by_thief::READY_NS,
        ]);
        let Some(thief) = row.get(ready_by_thief::THIEF).filter(|thief| *thief > 0) else { return };
        let (Some(own), Some(other)) = (busy(thread), busy(thief)) else { return };
        if ((own.1 - other.1).abs() as f64) < given.threshold(&LEAST_LEVELS) {
            return;
        }
        let is_own = is_own(if own.1 < other.1 { &own } else { &other });
        shown[usize::from(is_own)].push(ns, row, &[&ready_by_thief::READY_NS]);
        if own.1 < other.1 {
            add(&mut shared.entry((own, other)).or_default().behind, (thread, thief), ns);
        } else {
            let before = &mut shared.entry((other, own)).or_default().before;
            *before = before.saturating_add(ns);
        }
        tids.extend([(thread, tid), (thief, thief_tid)]);
    })?;
    let against = |((high, low), shared): ((Side, Side), Shared)| shared.against(is_own(&high), low.1 - high.1, given);
    Ok(Found { pairs: shared.into_iter().filter_map(against).collect(), shown, tids })
}

/// Of so many parts of its running time, a thread has less than one at other priorities than its own: whoever is made nice
/// began as whoever made it.
const AT_OTHERS: i64 = 20;

/// The priority of each thread that ran at one for nearly all of its time.
fn priorities(given: &Given<'_>) -> Result<BTreeMap<i64, i64>, EngineError> {
    let mut ran: BTreeMap<i64, Vec<(i64, Option<i64>)>> = BTreeMap::new();
    given.each(priority_residency::Table, |row| {
        ran.entry(row.get(priority_residency::THREAD))
            .or_default()
            .push((row.get(priority_residency::RUNNING_NS), row.get(priority_residency::PRIO)));
    })?;
    let nearly = |at: Vec<(i64, Option<i64>)>| {
        let all = at.iter().fold(0_i64, |sum, (ns, _)| sum.saturating_add(*ns));
        let (most, prio) = at.into_iter().max_by_key(|(ns, _)| *ns)?;
        prio.filter(|_| all.saturating_sub(most) <= all / AT_OTHERS)
    };
    Ok(ran.into_iter().filter_map(|(key, at)| Some((key, nearly(at)?))).collect())
}

/// Those that were mostly ready because they were switched out while they could run.
fn busy(given: &Given<'_>, side: impl Fn(i64) -> Option<Side>) -> Result<BTreeSet<Side>, EngineError> {
    let (mut waited, least) = (BTreeMap::<Side, [i64; 2]>::new(), given.threshold(&LEAST_PREEMPTED));
    given.each(ready_wait::Table, |row| {
        let [thread, ready] = row.all([ready_wait::THREAD, ready_wait::READY_NS.or_zero()]);
        let left = row.all(LEFT_RUNNABLE).iter().fold(0_i64, |sum, ns| sum.saturating_add(*ns));
        if let Some(of) = side(thread).map(|side| waited.entry(side).or_default()) {
            *of = [of[0].saturating_add(ready), of[1].saturating_add(left)];
        }
    })?;
    let busy = |(_, [ready, out]): &(Side, [i64; 2])| *ready > 0 && *out as f64 >= least * *ready as f64;
    Ok(waited.into_iter().filter(busy).map(|(side, _)| side).collect())
}

/// Whether sessions were groups of their own, where the recording says.
fn autogroup(given: &Given<'_>) -> Option<bool> {
    let condition = given.facts().conditions.iter().find(|c| c.name == "autogroup")?;
    condition.start.as_ref().ok().map(|value| value.trim() == "1")
}
