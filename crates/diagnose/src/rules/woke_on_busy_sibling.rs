//! Threads that were woken beside a busy sibling while a whole core was idle.

use super::{LEAST_SHARE, NO_SIBLINGS, SMT_GAIN, shares_cores};
use crate::finding::{Confidence, Finding};
use crate::given::{Given, Shown, threads};
use crate::rule::{Looked, Page, Rule};
use engine::EngineError;
use model::words::ms;
use model::{Change, CpuId};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "woke-on-busy-sibling",
    about: "a thread was woken beside a busy sibling while a whole core of that type was idle",
    page: Page {
        finds: "Threads that were woken onto a CPU beside a busy sibling while a whole core of the same type was free on which they are \
                allowed, and ran there, such a core still being idle, until they waited again or were moved. A core for which another \
                thread is queued is not free. Who was alone on its core when it was woken, and got company later, is not counted, nor is one \
                that was woken while no whole core was free, though one fell idle later: the waking did not decide that.",
        matters: "Two threads on one core share its units and caches: together they do a third more than one alone, so each is a third \
                  slower than on a core of its own, which was there.",
        sure: "What was idle and where threads are allowed is known; while nobody tells where they are allowed, such time is in the upper \
               end only, and alone never makes a finding more than low. How much two siblings do is assumed, and depends on the code: \
               two that wait for memory lose nothing, two that fill a core's units lose half.",
        mend: "Remove masks that hold the threads together, or give them CPUs of different cores. Where the kernel should have chosen the \
               idle core (select_idle_core needs a shared cache that it knows of), this is one to tell its developers.",
        example: "B is woken on the sibling of A's CPU, and both run there for 3 ms while the core beside is idle.",
    },
    tables: &["placement", "smt_cores"],
    thresholds: &[SMT_GAIN, LEAST_SHARE],
    explains: &[],
    look,
};

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    match shares_cores(given)? {
        None => return Ok(Looked::Lacks(NO_SIBLINGS.to_owned())),
        Some(false) => return Ok(Looked::At(Vec::new())),
        Some(true) => {}
    }
    if !given.summary().ready_known {
        return Ok(Looked::Lacks("the source has no wakings, so nobody knows who was woken".to_owned()));
    }
    let (mut claims, mut shown, mut upper) = (Vec::new(), Shown::default(), BTreeMap::new());
    let least = given.share("least_share").max(1);
    // Two siblings do `gain` of one's work, so each loses this part of its time.
    let part = (1.0 - given.threshold("smt_gain") / 2.0).clamp(0.0, 0.5);
    given.each("placement", |row| {
        let [thread, tid, certain, perhaps] =
            row.sums(["thread", "tid", "woken_sibling_lower_ns", "woken_sibling_upper_ns"]);
        if perhaps as f64 * part >= least as f64 {
            claims.push(given.claim(thread, tid, (certain as f64 * part) as i64));
            upper.insert(thread, perhaps);
            shown.push(perhaps, row, &["woken_sibling_lower_ns", "woken_sibling_upper_ns", "running_ns"]);
        }
    })?;
    let Some(woken) = claims.iter().max_by_key(|c| (upper.get(&c.thread), std::cmp::Reverse(c.thread))).cloned() else {
        return Ok(Looked::At(Vec::new()));
    };
    let most = claims.iter().filter_map(|c| upper.get(&c.thread)).copied().max().unwrap_or(0);
    let mut cpus = Vec::new();
    given.each("smt_cores", |row| cpus.extend(u32::try_from(row.sum("first_cpu")).ok().map(CpuId)))?;
    let change = Change::Affinity { threads: threads(std::slice::from_ref(&woken)), cpus };
    let finding = given.finding(claims, change, format!("Keep {} to one CPU of each core", woken.name));
    let certain = finding.recoverable_ns >= least;
    Ok(Looked::At(vec![Finding {
        title: format!(
            "{} was woken beside a busy sibling, and ran there for up to {} ms while a whole core was idle{}",
            woken.name,
            ms(upper.get(&woken.thread).copied().unwrap_or(0)),
            if certain { "" } else { ", if it may run there" }
        ),
        range_ns: [0, most / 2],
        confidence: if certain { Confidence::Medium } else { Confidence::Low },
        evidence: shown.finish(),
        assumptions: vec![
            format!(
                "two busy siblings do {} of what one does alone (the lower end: twice as much; the upper: no more than one)",
                given.threshold("smt_gain")
            ),
            "the idle core would not have slowed anybody else (its clock, a cold cache)".to_owned(),
        ],
        ..finding
    }]))
}
