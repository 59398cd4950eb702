//! Threads that waited behind others of lower priority.

use super::{LEAST_SHARE, nice_without_effect};
use crate::finding::{Claim, Confidence, Finding};
use crate::given::{Given, Shown, add, threads};
use crate::rule::{Looked, Page, Rule};
use engine::EngineError;
use model::tables::{self, priority_residency, ready_by_thief};
use model::words::ms;
use model::{Fix, Policy};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "low-priority-ran-while-high-was-ready",
    about: "a thread was ready while one of lower priority ran on the CPU that it waited for",
    page: Page {
        finds: "Threads that were ready on the run queue of a CPU on which a thread of lower priority ran.",
        matters: "Fair scheduling gives a thread of lower priority less of a CPU, not none: what ought to be done first is done while the \
                  other has its turn. With real-time priorities it should not happen at all.",
        sure: "Both priorities are those that the recording tells; a thread that had several counts at its worst one. Behind a thread \
               of unknown priority, or an unknown one, the time is in the upper end only. Busy threads that share a CPU against their \
               nice values are left to nice-without-effect: what decides there is their groups.",
        mend: "Run background work below every nice value (SCHED_IDLE; on Windows EcoQoS or a background mode), or defer it, rather than \
               raising what is urgent.",
        example: "A (nice 0) is ready for 3 ms while B (nice 10) runs on its CPU.",
    },
    tables: &[&tables::READY_BY_THIEF, &tables::PRIORITY_RESIDENCY, &tables::READY_WAIT],
    thresholds: &[&LEAST_SHARE],
    explains: &[],
    look,
};

/// What is summed of a thread that waited.
#[derive(Default)]
struct Waited {
    tid: i64,
    behind_lower: i64,
    perhaps: i64,
}

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    if !given.summary().ready_known {
        return Ok(Looked::Lacks("the source has no wakings, so nobody knows who was ready".to_owned()));
    }
    let worst = worst_priorities(given)?;
    if worst.values().all(Option::is_none) {
        return Ok(Looked::Lacks("the source tells no priorities".to_owned()));
    }
    let groups_decide = nice_without_effect::pairs(given)?;
    let (mut waited, mut lower, mut shown) =
        (BTreeMap::<i64, Waited>::new(), BTreeMap::<(i64, i64), i64>::new(), Shown::default());
    given.each(ready_by_thief::Table, |row| {
        let [thread, tid, ns] = row.all([ready_by_thief::THREAD, ready_by_thief::TID, ready_by_thief::READY_NS]);
        let (thief, own) = (row.get(ready_by_thief::THIEF), worst.get(&thread).copied().flatten());
        let of = waited.entry(thread).or_default();
        of.tid = tid;
        match (thief, row.get(ready_by_thief::THIEF_PRIO), own) {
            (Some(0), ..) => {}
            _ if row.get(ready_by_thief::BEHIND) == "throttled" => {}
            (Some(thief), ..) if groups_decide.contains(&(thread, thief)) => {}
            (Some(thief), Some(prio), Some(own)) if prio > own => {
                of.behind_lower = of.behind_lower.saturating_add(ns);
                add(&mut lower, (thief, row.get(ready_by_thief::THIEF_TID.or_zero())), ns);
                shown.push(ns, row, &[&ready_by_thief::READY_NS]);
            }
            (Some(_), Some(_), Some(_)) => {}
            _ => of.perhaps = of.perhaps.saturating_add(ns),
        }
    })?;
    let least = given.share(&LEAST_SHARE).max(1);
    waited.retain(|_, of| of.behind_lower >= least);
    let claims: Vec<Claim> = waited.iter().map(|(key, of)| given.claim(*key, of.tid, of.behind_lower)).collect();
    let Some(most) = claims.iter().max_by_key(|c| (c.recoverable_ns, std::cmp::Reverse(c.thread))).cloned() else {
        return Ok(Looked::At(Vec::new()));
    };
    let behind: Vec<Claim> = lower.iter().map(|((key, tid), ns)| given.claim(*key, *tid, *ns)).collect();
    let upper = waited.get(&most.thread).map_or(0, |of| of.behind_lower.saturating_add(of.perhaps));
    let change = Fix::Policy { threads: threads(&behind), policy: Policy::Idle };
    let what = format!("Run {} below every other thread, or later", threads(&behind).name);
    Ok(Looked::At(vec![Finding {
        title: format!(
            "{} was ready for {} ms while {}, of lower priority, ran on its CPU",
            most.name,
            ms(most.recoverable_ns),
            threads(&behind).name
        ),
        range_ns: [0, upper],
        confidence: Confidence::High,
        evidence: shown.finish(),
        assumptions: vec![
            "without the lower one the CPU would have been the thread's own; the lower end: another would have taken it".to_owned(),
            "nobody waits for what the lower one does (then it is priority-inversion)".to_owned(),
        ],
        ..given.finding(claims, change, what)
    }]))
}

/// The worst priority (the greatest number) at which each thread was ready or ran; `None` where some of it is not told.
fn worst_priorities(given: &Given<'_>) -> Result<BTreeMap<i64, Option<i64>>, EngineError> {
    let mut worst: BTreeMap<i64, Option<i64>> = BTreeMap::new();
    given.each(priority_residency::Table, |row| {
        if row.get(priority_residency::READY_NS.or_zero()) > 0 {
            let prio = row.get(priority_residency::PRIO);
            let own = worst.entry(row.get(priority_residency::THREAD)).or_insert(prio);
            *own = own.zip(prio).map(|(a, b)| a.max(b));
        }
    })?;
    Ok(worst)
}
