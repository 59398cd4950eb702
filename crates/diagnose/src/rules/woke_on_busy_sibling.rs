//! Threads that were woken beside a busy sibling while a whole core was idle.

use super::{LEAST_SHARE, NO_SIBLINGS, SMT_GAIN, shares_cores};
use crate::finding::{Claim, Confidence, Finding};
use crate::given::{Given, Shown, threads};
use crate::rule::{Looked, Page, Rule};
use crate::speeds::{Speed, Speeds};
use engine::EngineError;
use model::tables::{self, placement, smt_cores};
use model::words::ms;
use model::{CpuId, Fix};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "woke-on-busy-sibling",
    about: "a thread was woken beside a busy sibling while a whole core of that type was idle",
    page: Page {
        finds: "Threads that were woken onto a CPU beside a busy sibling while a whole core of the same type was free on which they are \
                allowed, and ran there, such a core still being idle, until they waited again or were moved. A core for which another \
                thread is queued is not free. Who was alone on its core when it was woken, and got company later, makes no finding, nor does one \
                that was woken while no whole core was free, though one fell idle later: the waking did not decide that. Of a thread that is \
                found, half of such time is in the estimate: what puts it there leaves it there too.",
        matters: "Two threads on one core share its units and caches: together they do a third more than one alone, so each is a third \
                  slower than on a core of its own, which was there.",
        sure: "What was idle and where threads are allowed is known; while nobody tells where they are allowed, such time is in the upper \
               end only, and alone never makes a finding more than low. How much two siblings do depends on the code: \
               two that wait for memory lose nothing, two that fill a core's units lose half. Where the thread did like work beside a busy sibling and \
               alone, its own bursts (table cpu_bursts) tell; else it is assumed.",
        mend: "Remove masks that hold the threads together, or give them CPUs of different cores. Where the kernel should have chosen the \
               idle core (select_idle_core needs a shared cache that it knows of), this is one to tell its developers.",
        example: "B is woken on the sibling of A's CPU, and both run there for 3 ms while the core beside is idle.",
    },
    tables: &[&tables::PLACEMENT, &tables::CPU_BURSTS, &tables::SMT_CORES],
    thresholds: &[&SMT_GAIN, &LEAST_SHARE],
    explains: &[],
    look,
};

/// The part that each of two siblings loses where both do no more than one alone.
const MOST: f64 = 0.5;

/// The part of its time that a thread loses beside a busy sibling.
struct Loses {
    best: f64,
    most: f64,
    own: Option<Speed>,
}

impl Loses {
    /// By its own bursts where they tell; else two siblings do `smt_gain` of one's work.
    fn of(given: &Given<'_>, speeds: &Speeds, thread: i64) -> Self {
        match speeds.beside(thread) {
            Some(own) => Self { best: 1.0 - own.best, most: (1.0 - own.range[0]).max(MOST), own: Some(own) },
            None => {
                let best = (1.0 - given.threshold(&SMT_GAIN) / 2.0).clamp(0.0, MOST);
                Self { best, most: MOST, own: None }
            }
        }
    }

    /// What it rests on.
    fn words(&self, given: &Given<'_>) -> String {
        match &self.own {
            Some(own) => format!(
                "what it does beside a busy sibling, by what it does alone: by {}, if they were of the same work (the lower \
                 end: it loses nothing; the upper: half)",
                own.words()
            ),
            None => format!(
                "two busy siblings do {} of what one does alone (the lower end: twice as much; the upper: no more than one)",
                given.threshold(&SMT_GAIN)
            ),
        }
    }
}

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    match shares_cores(given)? {
        None => return Ok(Looked::Lacks(NO_SIBLINGS.to_owned())),
        Some(false) => return Ok(Looked::At(Vec::new())),
        Some(true) => {}
    }
    if !given.summary().ready_known {
        return Ok(Looked::Lacks("the source has no wakings, so nobody knows who was woken".to_owned()));
    }
    let (mut claims, mut shown, mut woken_for, mut most) = (Vec::new(), Shown::default(), BTreeMap::new(), 0);
    let least = given.share(&LEAST_SHARE).max(1);
    let speeds = Speeds::new(given)?;
    given.each(placement::Table, |row| {
        let [thread, tid, certain, perhaps] = row.all([
            placement::THREAD,
            placement::TID,
            placement::WOKEN_SIBLING_LOWER_NS,
            placement::WOKEN_SIBLING_UPPER_NS,
        ]);
        if perhaps < least {
            return;
        }
        let loses = Loses::of(given, &speeds, thread);
        if perhaps as f64 * loses.best >= least as f64 {
            // What puts it there leaves it there too, when a whole core falls idle after a waking that found none. What a move would
            // have given back of that is between nothing and all of it: nobody knows when it would have come.
            let [beside, perhaps_beside] =
                row.all([placement::BUSY_SIBLING_LOWER_NS, placement::BUSY_SIBLING_UPPER_NS]);
            let later = if certain > 0 { beside.saturating_sub(certain).max(0) / 2 } else { 0 };
            claims.push(given.claim(thread, tid, (certain.saturating_add(later) as f64 * loses.best) as i64));
            most = most.max((perhaps.max(perhaps_beside) as f64 * loses.most) as i64);
            woken_for.insert(thread, (perhaps, loses));
            shown.push(
                perhaps,
                row,
                &[
                    &placement::WOKEN_SIBLING_LOWER_NS,
                    &placement::WOKEN_SIBLING_UPPER_NS,
                    &placement::BUSY_SIBLING_LOWER_NS,
                    &placement::RUNNING_NS,
                ],
            );
        }
    })?;
    let longest = |c: &&Claim| (woken_for.get(&c.thread).map(|(ns, _)| *ns), std::cmp::Reverse(c.thread));
    let Some(woken) = claims.iter().max_by_key(longest).cloned() else { return Ok(Looked::At(Vec::new())) };
    let Some((ran, loses)) = woken_for.get(&woken.thread) else { return Ok(Looked::At(Vec::new())) };
    let mut cpus = Vec::new();
    given.each(smt_cores::Table, |row| cpus.extend(u32::try_from(row.get(smt_cores::FIRST_CPU)).ok().map(CpuId)))?;
    let change = Fix::Affinity { threads: threads(std::slice::from_ref(&woken)), cpus };
    let finding = given.finding(claims, change, format!("Keep {} to one CPU of each core", woken.name));
    let certain = finding.recoverable_ns >= least;
    Ok(Looked::At(vec![Finding {
        title: format!(
            "{} was woken beside a busy sibling, and ran there for up to {} ms while a whole core was idle{}",
            woken.name,
            ms(*ran),
            if certain { "" } else { ", if it may run there" }
        ),
        range_ns: [0, most],
        confidence: if certain { Confidence::Medium } else { Confidence::Low },
        evidence: shown.finish(),
        assumptions: vec![
            loses.words(given),
            "half of its other time there while a whole core was idle would have been spared too (the lower end: none; the \
             upper: all)"
                .to_owned(),
            "the idle core would not have slowed anybody else (its clock, a cold cache)".to_owned(),
        ],
        ..finding
    }]))
}
