//! The thread that decides when all is done, on a slower core while a faster one is idle.

use super::{LEAST_PATH_SHARE, LEAST_SHARE, ONE_TYPE, has_core_types};
use crate::finding::{Confidence, Finding};
use crate::given::{Given, Shown, threads};
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use crate::slower::{SLOWER_SPEED, Saving};
use crate::speeds::Speeds;
use engine::EngineError;
use model::tables::{self, critical_by_thread, placement};
use model::words::{ms, percent};
use model::{CoreType, Fix};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "critical-thread-on-efficient-core",
    about: "the thread for which the rest waits ran on a slower core while a faster one was idle",
    page: Page {
        finds: "Threads on the critical path that ran there on a core of a slower type while a whole core of a faster type was idle on \
                which they are allowed.",
        matters: "What is on the critical path delays the end by as much as it is slower itself; what is beside it does not. A thread \
                  that ran little so far, or that is woken for short whiles, looks light to a scheduler that places by load.",
        sure: "What was idle and where the thread is allowed is known; while nobody tells where it is allowed, such time is in the upper \
               end only, and alone never makes a finding more than low. Time on a slower core while the faster ones were busy is not \
               counted: whether the work there could have waited, the trace does not tell. How much slower a slower core is, is told by the kernel's capacities, \
               else by what the thread itself ran on both (cpu_bursts), else by what others did, else it is assumed.",
        mend: "Say that the thread is urgent: a utilisation clamp, a better nice value, or no EcoQoS; no mask that leaves the faster cores out.",
        example: "A runs alone for 4 ms on an efficient core while a performance core is idle.",
    },
    tables: &[&tables::PLACEMENT, &tables::CRITICAL_BY_THREAD, &tables::CPU_BURSTS, &tables::CPUS],
    thresholds: &[&LEAST_PATH_SHARE, &LEAST_SLOWER_SHARE, &SLOWER_SPEED, &LEAST_SHARE],
    explains: &[],
    look,
};

const LEAST_SLOWER_SHARE: Threshold = Threshold {
    name: "least_slower_share",
    unit: Unit::Ratio,
    value: 0.1,
    reason: "of its own part of the path: who wakes while the faster cores are busy begins on a slower one, and is moved when \
             the scheduler next balances, some ms after one fell idle; no setting mends what little that leaves",
};

/// How long a thread was slower than need be.
struct Slow {
    certain: i64,
    perhaps: i64,
    cost: Option<i64>,
}

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    if !has_core_types(given)? {
        return Ok(Looked::Lacks(ONE_TYPE.to_owned()));
    }
    if !given.summary().ready_known {
        return Ok(Looked::Lacks("the source has no wakings, so nobody knows who waited for whom".to_owned()));
    }
    let least = given.share(&LEAST_SHARE).max(1);
    let (mut slow, mut shown) = (BTreeMap::new(), Shown::default());
    given.each(placement::Table, |row| {
        let [thread, certain, perhaps] =
            row.all([placement::THREAD, placement::SLOWER_CORE_LOWER_NS, placement::SLOWER_CORE_UPPER_NS]);
        if perhaps >= least {
            slow.insert(thread, Slow { certain, perhaps, cost: row.get(placement::COST_LOWER_NS) });
        }
    })?;
    // The path of a file is a pass of its own.
    if slow.is_empty() {
        return Ok(Looked::At(Vec::new()));
    }
    let (mut claims, mut best_of, mut whole) = (Vec::new(), None::<(i64, Saving, i64, i64)>, given.span().len().0);
    whole = whole.max(1);
    let speeds = Speeds::new(given)?;
    given.each(critical_by_thread::Table, |row| {
        let [thread, tid, path] =
            row.all([critical_by_thread::THREAD, critical_by_thread::TID.or_zero(), critical_by_thread::PATH_NS]);
        let Some(Slow { certain, perhaps, cost }) = slow.get(&thread) else { return };
        let there: i64 = row
            .all([
                critical_by_thread::RUNNING_MIDDLE_NS,
                critical_by_thread::RUNNING_EFFICIENT_NS,
                critical_by_thread::RUNNING_LOW_POWER_NS,
            ])
            .iter()
            .fold(0, |sum: i64, ns| sum.saturating_add(*ns));
        let (on_path, perhaps) = (there.min(*certain), there.min(*perhaps));
        let saving = Saving::of(given, &speeds, thread, [on_path, perhaps], cost.map(|cost| (cost, *certain)));
        let is_least = |ns: i64, least: &Threshold, of: i64| ns as f64 >= given.threshold(least) * of as f64;
        let decides = is_least(path, &LEAST_PATH_SHARE, whole) && is_least(perhaps, &LEAST_SLOWER_SHARE, path);
        if !decides || saving.range[1] < least {
            return;
        }
        claims.push(given.claim(thread, tid, saving.best));
        shown.push(
            perhaps,
            row,
            &[
                &critical_by_thread::PATH_NS,
                &critical_by_thread::RUNNING_MIDDLE_NS,
                &critical_by_thread::RUNNING_EFFICIENT_NS,
                &critical_by_thread::RUNNING_LOW_POWER_NS,
            ],
        );
        if best_of.as_ref().is_none_or(|(_, of, ..)| (of.best, of.range[1]) < (saving.best, saving.range[1])) {
            best_of = Some((thread, saving, path, if on_path > 0 { on_path } else { perhaps }));
        }
    })?;
    let Some((first, saving, path, slower)) = best_of else { return Ok(Looked::At(Vec::new())) };
    let certain = saving.best >= least;
    let of_first: Vec<_> = claims.iter().filter(|c| c.thread == first).cloned().collect();
    let change = Fix::CoreType { threads: threads(&of_first), prefer: CoreType::Performance };
    let finding = given.finding(claims, change, format!("Let {} run on the fastest cores", given.name(first)));
    Ok(Looked::At(vec![Finding {
        title: format!(
            "{}, {} of the critical path, ran for {} ms of it on a slower core while a faster one was idle{}",
            given.name(first),
            percent(path, whole),
            ms(slower),
            if certain { "" } else { ", if it may run there" }
        ),
        range_ns: saving.range,
        confidence: if certain { Confidence::High } else { Confidence::Low },
        evidence: shown.finish(),
        assumptions: vec![
            saving.words(given),
            "its time on a slower core while a faster one was idle lay on the path, as far as the path has such time"
                .to_owned(),
            "what then is the path is no longer than what the thread gives back".to_owned(),
        ],
        ..finding
    }]))
}
