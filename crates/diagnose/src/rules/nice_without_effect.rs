//! Nice values that decide nothing.

use crate::finding::{Claim, Confidence};
use crate::given::{Given, Shown, add, threads};
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use engine::EngineError;
use model::Change;
use model::words::{ms, percent};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const RULE: Rule = Rule {
    id: "nice-without-effect",
    about: "threads of better nice value got no more of their CPU than worse ones: their groups share it, not they",
    page: Page {
        finds: "Pairs of busy threads on one CPU whose nice values differ by some levels, but who waited for each other as if they \
                did not.",
        matters: "A nice value counts only inside a thread's own group: between groups the groups' weights decide. Sessions are groups of \
                  their own (autogroup), so are services and containers; renice then changes nothing.",
        sure: "Each nice level is a factor of 1.25 (the kernel's sched_prio_to_weight), so of the time in which one of two runs while the \
               other waits, each one's part follows. It is compared only for threads that mostly wait because they were switched out \
               while they could run: how soon a sleeper is let in is no matter of its weight.",
        mend: "Where the two are of different sessions, turn autogroup off; where of different services or containers, put them \
               into one group, or weigh the groups (cpu.weight).",
        example: "A (nice 0) and B (nice 10) take turns of a millisecond on one CPU: B should run a tenth of the time.",
    },
    tables: &["ready_by_thief", "priority_residency", "ready_wait"],
    thresholds: &[
        Threshold {
            name: "least_levels",
            unit: Unit::Count,
            value: 3.0,
            reason: "three levels are a factor of 1.95: two to one instead of even, which turns of some milliseconds do not hide",
        },
        Threshold {
            name: "least_excess",
            unit: Unit::Ratio,
            value: 0.15,
            reason: "even instead of two to one is 0.17 too much",
        },
        Threshold {
            name: "least_share",
            unit: Unit::Ratio,
            value: 0.02,
            reason: "of less the turns are too few: of a second, 20 ms are some five turns of 4 ms",
        },
        Threshold {
            name: "least_preempted",
            unit: Unit::Ratio,
            value: 0.8,
            reason: "of its ready time after a switch-out while it could run: so much, and it is busy, not waking up",
        },
    ],
    look,
};

/// Two threads, the one of better nice value first, and for how long each was ready while the other ran.
type Pairs = BTreeMap<(i64, i64), (i64, i64)>;

/// How two threads shared a CPU against their nice values.
#[derive(Clone, Copy)]
struct Shared {
    /// Of the time in which one ran while the other was ready, that in which the worse one ran.
    part: f64,
    /// What of it is its due.
    due: f64,
    /// By how much it ran too long, ns.
    excess: i64,
}

/// All that share so, and the numbers of the two.
struct Found {
    pairs: BTreeMap<(i64, i64), (Shared, [i64; 2])>,
    shown: Shown,
}

/// The pairs of threads, the one of better nice value first, that share a CPU against their nice values: no policy of a thread
/// mends that.
pub(super) fn pairs(given: &Given<'_>) -> Result<BTreeSet<(i64, i64)>, EngineError> {
    let given = given.of(&RULE);
    let found = found(&given, &only_priorities(&given)?)?;
    Ok(found.pairs.into_keys().collect())
}

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    if !given.summary().ready_known {
        return Ok(Looked::Lacks("the source has no wakings, so nobody knows who was ready".to_owned()));
    }
    let prios = only_priorities(given)?;
    if prios.is_empty() {
        return Ok(Looked::Lacks("the source tells no priorities".to_owned()));
    }
    let Found { pairs, shown } = found(given, &prios)?;
    let Some((worst, _)) = pairs.values().max_by_key(|(shared, _)| shared.excess).copied() else {
        return Ok(Looked::At(Vec::new()));
    };
    let (mut lost, mut lower) = (BTreeMap::new(), BTreeMap::new());
    for ((high, low), (shared, [tid, low_tid])) in pairs {
        add(&mut lost, (high, tid), shared.excess);
        add(&mut lower, (low, low_tid), shared.excess);
    }
    let claims: Vec<Claim> = lost.iter().map(|((key, tid), ns)| given.claim(*key, *tid, *ns)).collect();
    let behind: Vec<Claim> = lower.iter().map(|((key, tid), ns)| given.claim(*key, *tid, *ns)).collect();
    let (grouped, why) = match autogroup(given) {
        Some(true) => (Change::Autogroup { on: false }, "; autogroup is on"),
        _ => (Change::Weight { threads: threads(&claims), weight: 1000 }, ""),
    };
    let name = threads(&claims).name;
    let other = threads(&behind).name;
    let mut finding =
        given.finding(claims, grouped, format!("Let the nice values of {name} and {other} count against each other"));
    finding.title = format!(
        "{other} had {} of the time that it and {name} competed for, by their nice values {} is due: {} ms too much{why}",
        percent((worst.part * 1e6) as i64, 1_000_000),
        percent((worst.due * 1e6) as i64, 1_000_000),
        ms(finding.recoverable_ns)
    );
    finding.range_ns = [0, finding.recoverable_ns];
    finding.confidence = Confidence::Medium;
    finding.evidence = shown.finish();
    finding.assumptions = vec![
        "the CPU's time between the two would be shared by weights of 1.25 a level; the lower end: it is as meant"
            .to_owned(),
    ];
    Ok(Looked::At(vec![finding]))
}

/// Those that share against their nice values, and the rows that show it.
fn found(given: &Given<'_>, prios: &BTreeMap<i64, i64>) -> Result<Found, EngineError> {
    let busy = busy(given)?;
    let fair =
        |key: i64| prios.get(&key).copied().filter(|prio| (100..140).contains(prio)).zip(busy.get(&key).copied());
    let (mut pairs, mut shown) = (Pairs::new(), Shown::default());
    given.each("ready_by_thief", |row| {
        let [thread, ns] = row.sums(["thread", "ready_ns"]);
        let Some(thief) = row.int("thief").filter(|thief| *thief > 0) else { return };
        let (Some((own, _)), Some((other, _))) = (fair(thread), fair(thief)) else { return };
        if ((own - other).abs() as f64) < given.threshold("least_levels") {
            return;
        }
        let waited = match own < other {
            true => &mut pairs.entry((thread, thief)).or_default().0,
            false => &mut pairs.entry((thief, thread)).or_default().1,
        };
        *waited = waited.saturating_add(ns);
        shown.push(ns, row, &["ready_ns"]);
    })?;
    let least = given.share("least_share").max(1);
    let shared = |((high, low), (behind, before)): ((i64, i64), (i64, i64))| {
        let ((own, tid), (other, low_tid)) = (fair(high)?, fair(low)?);
        let both = behind.saturating_add(before);
        let part = behind as f64 / both.max(1) as f64;
        let due = 1.0 / (1.0 + 1.25_f64.powi((other - own) as i32));
        let excess = behind - (due * both as f64) as i64;
        let against = both >= least && part - due >= given.threshold("least_excess");
        against.then_some(((high, low), (Shared { part, due, excess }, [tid, low_tid])))
    };
    Ok(Found { pairs: pairs.into_iter().filter_map(shared).collect(), shown })
}

/// The priority of each thread that had only one.
fn only_priorities(given: &Given<'_>) -> Result<BTreeMap<i64, i64>, EngineError> {
    let mut prios: BTreeMap<i64, Option<i64>> = BTreeMap::new();
    given.each("priority_residency", |row| {
        let (thread, prio) = (row.sum("thread"), row.int("prio"));
        prios.entry(thread).and_modify(|own| *own = None).or_insert(prio);
    })?;
    Ok(prios.into_iter().filter_map(|(key, prio)| Some((key, prio?))).collect())
}

/// The numbers of threads that were mostly ready because they were switched out while they could run.
fn busy(given: &Given<'_>) -> Result<BTreeMap<i64, i64>, EngineError> {
    let (mut busy, least) = (BTreeMap::new(), given.threshold("least_preempted"));
    given.each("ready_wait", |row| {
        let [thread, tid, ready] = row.sums(["thread", "tid", "ready_ns"]);
        let [preempted, yielded] = row.sums(["ready_preempted_ns", "ready_yielded_ns"]);
        if ready > 0 && preempted.saturating_add(yielded) as f64 >= least * ready as f64 {
            busy.insert(thread, tid);
        }
    })?;
    Ok(busy)
}

/// Whether sessions were groups of their own, where the recording says.
fn autogroup(given: &Given<'_>) -> Option<bool> {
    let condition = given.facts().conditions.iter().find(|c| c.name == "autogroup")?;
    condition.start.as_ref().ok().map(|value| value.trim() == "1")
}
