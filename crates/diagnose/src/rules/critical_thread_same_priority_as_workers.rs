//! A thread that all wait for, which takes turns with threads that nobody waits for so much.

use super::LEAST_SHARE;
use crate::finding::{Confidence, Finding};
use crate::given::{Given, Shown, add, threads};
use crate::pools::{Pool, Processes, base};
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use crate::slower::Saving;
use crate::speeds::Speeds;
use engine::EngineError;
use model::Fix;
use model::tables::{
    self, critical_by_thread, marks, parallel_regions, priority_residency, ready_by_thief, ready_wait, slower_cores,
    waits,
};
use model::words::{ms, percent, plural};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "critical-thread-same-priority-as-workers",
    about: "the thread that the others wait for was ready behind workers of its own priority",
    page: Page {
        finds: "A thread that makes up most of the critical path, or whose marked frames fill the time, and that was ready while threads of a \
                pool of its process ran that have the same priority.",
        matters: "The whole takes as long as its critical path. The scheduler gives each thread an equal share: as long as nobody says which one \
                  the others wait for, it waits its turn behind work that has time.",
        sure: "A name that one thread of a program alone marks, again and again, is taken to be that of its frames, and the thread to be what the \
               program's speed depends on. Elsewhere the critical path tells: it ends with the thread that ran last in the time looked at, of the program that was recorded where it is known: is that not what matters, choose a part (--range). Who ran \
               instead, and at which priority, is known; of a thread that had several the one at which it waited longest counts. What it was ready beside the critical path is not counted: others were not done then either; nor is what it was ready behind those for whom its frames wait for longer anyhow. While nobody tells processes, it is low. Had it run sooner, something else may have become critical: the \
               lower end is nothing.",
        mend: "Raise its priority above that of the workers, or lower theirs, which needs no privilege; or start fewer workers.",
        example: "M prepares the next frame and waits for 2 ms behind W1 and W2 of its own priority.",
    },
    tables: &[
        &tables::CRITICAL_BY_THREAD,
        &tables::READY_BY_THIEF,
        &tables::PRIORITY_RESIDENCY,
        &tables::READY_WAIT,
        &tables::MARKS,
        &tables::SLOWER_CORES,
        &tables::CPU_BURSTS,
        &tables::PARALLEL_REGIONS,
        &tables::WAITS,
    ],
    thresholds: &[&LEAST_PATH, &LEAST_FRAMES, &LEAST_WORKERS, &LEAST_SHARE],
    explains: &[],
    look,
};

const LEAST_PATH: Threshold = Threshold {
    name: "least_path",
    unit: Unit::Ratio,
    value: 0.5,
    reason: "of the critical path, or of the time in marked frames, that is the thread's own: with less there is no one thread to prefer",
};

const LEAST_FRAMES: Threshold = Threshold {
    name: "least_frames",
    unit: Unit::Count,
    value: 10.0,
    reason: "stretches of the one name: fewer are phases of a program",
};

const LEAST_WORKERS: Threshold = Threshold {
    name: "least_workers",
    unit: Unit::Count,
    value: 2.0,
    reason: "threads of the name of those behind which it waited, be it one of them: one alone may be what the next step needs",
};

/// How much nicer workers should be, and what that leaves them of the other's weight: 110 to 1024 (sched_prio_to_weight in the
/// kernel).
const NICE: i8 = 10;
const LEFT: i64 = 110;
const OF: i64 = 1024;

/// The thread that the others wait for.
struct Critical {
    thread: i64,
    tid: i64,
    /// Of the time, what is its own: of the critical path, or in its frames.
    ns: i64,
    ready: i64,
    /// How many frames of which name it marked, in words.
    frames: Option<String>,
}

/// The thread whose frames fill the most of the time.
fn frames(given: &Given<'_>, shown: &mut Shown) -> Result<Option<Critical>, EngineError> {
    let mut by_name = BTreeMap::<(i64, String), Vec<(i64, i64, i64)>>::new();
    given.each(marks::Table, |row| {
        let [thread, pid, count, ns] =
            row.all([marks::THREAD.or_zero(), marks::PID.or_zero(), marks::COUNT, marks::DURATION_NS]);
        by_name.entry((pid, row.get(marks::NAME.or_empty()).to_owned())).or_default().push((ns, thread, count));
    })?;
    let fills = |ns: i64, count: i64| {
        ns as f64 >= given.threshold(&LEAST_PATH) * given.span().len().0 as f64
            && count as f64 >= given.threshold(&LEAST_FRAMES)
    };
    let alone = by_name.into_iter().filter_map(|((_, name), by)| match by[..] {
        [(ns, thread, count)] if fills(ns, count) => Some((ns, thread, count, name)),
        _ => None,
    });
    let Some((ns, thread, count, name)) = alone.max() else { return Ok(None) };
    let frames = Some(format!("{count} stretches that it marked {name}"));
    given.each(marks::Table, |row| {
        if (row.get(marks::THREAD.or_zero()), row.get(marks::NAME.or_empty())) == (thread, &*name) {
            shown.push(ns, row, &[&marks::COUNT, &marks::DURATION_NS]);
        }
    })?;
    let mut critical = None;
    given.each(ready_wait::Table, |row| {
        if row.get(ready_wait::THREAD) == thread {
            let [tid, ready] = row.all([ready_wait::TID, ready_wait::READY_NS.or_zero()]);
            shown.push(ready, row, &[&ready_wait::READY_NS]);
            critical = Some(Critical { thread, tid, ns, ready, frames: frames.clone() });
        }
    })?;
    Ok(critical)
}

/// The thread that makes up most of the critical path, and for how long each thread is on it.
fn on_critical_path(
    given: &Given<'_>,
    on_path: &mut BTreeMap<i64, i64>,
    shown: &mut Shown,
) -> Result<Option<Critical>, EngineError> {
    let mut critical = None;
    given.each(critical_by_thread::Table, |row| {
        let [thread, ns, ready] =
            row.all([critical_by_thread::THREAD, critical_by_thread::PATH_NS, critical_by_thread::READY_NS]);
        add(on_path, thread, ns);
        if ns as f64 >= given.threshold(&LEAST_PATH) * given.span().len().0 as f64 {
            critical =
                Some(Critical { thread, tid: row.get(critical_by_thread::TID.or_zero()), ns, ready, frames: None });
            shown.push(ready, row, &[&critical_by_thread::PATH_NS, &critical_by_thread::READY_NS]);
        }
    })?;
    Ok(critical)
}

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    if !given.summary().ready_known {
        return Ok(Looked::Lacks("the source has no wakings, so nobody knows who waited for whom".to_owned()));
    }
    // The priority at which each thread was ready for longest.
    let mut prio = BTreeMap::<i64, (i64, i64)>::new();
    given.each(priority_residency::Table, |row| {
        if let Some(at) = row.get(priority_residency::PRIO) {
            let longest = prio.entry(row.get(priority_residency::THREAD)).or_insert((i64::MIN, at));
            *longest = (row.get(priority_residency::READY_NS.or_zero()), at).max(*longest);
        }
    })?;
    if prio.is_empty() {
        return Ok(Looked::Lacks("the source tells no priorities".to_owned()));
    }
    let (mut shown, mut on_path) = (Shown::default(), BTreeMap::new());
    let framed = frames(given, &mut shown)?;
    let critical = match framed {
        Some(framed) => Some(framed),
        None => on_critical_path(given, &mut on_path, &mut shown)?,
    };
    let Some(Critical { thread, tid, ns: path, ready, frames }) = critical else { return Ok(Looked::At(Vec::new())) };
    let processes = Processes::new(given)?;
    let (mut pools, mut members) = (BTreeMap::<Pool, BTreeMap<(i64, i64), i64>>::new(), BTreeMap::new());
    let mut ready_in_all = 0;
    given.each(ready_wait::Table, |row| {
        add(&mut members, processes.pool(given, row.get(ready_wait::THREAD)), 1);
        if row.get(ready_wait::THREAD) == thread {
            ready_in_all = row.get(ready_wait::READY_NS.or_zero());
        }
    })?;
    given.each(ready_by_thief::Table, |row| {
        let [of, ns] = row.all([ready_by_thief::THREAD, ready_by_thief::READY_NS]);
        let Some(thief) = row.get(ready_by_thief::THIEF).filter(|thief| *thief > 0 && *thief != thread && of == thread)
        else {
            return;
        };
        let equal = prio.get(&thread).is_some_and(|(_, own)| row.get(ready_by_thief::THIEF_PRIO) == Some(*own));
        let pool = processes.pool(given, thief);
        if equal && processes.are_one(thread, thief) && pool.1 != base(&given.name(thread)) {
            add(pools.entry(pool).or_default(), (thief, row.get(ready_by_thief::THIEF_TID.or_zero())), ns);
            shown.push(ns, row, &[&ready_by_thief::READY_NS]);
        }
    })?;
    let waited = match frames {
        Some(_) => waited_for(given, &processes, thread)?,
        None => BTreeMap::new(),
    };
    // Who is on the path for as long itself is no worker that has time, nor is one for whom its frames wait anyhow, for longer than
    // they were ready behind it.
    pools.retain(|pool, of| {
        let theirs: i64 = of.keys().filter_map(|(thief, _)| on_path.get(thief)).sum();
        let members = members.get(pool).copied().unwrap_or(0);
        let waited = waited.get(pool).copied().unwrap_or(0);
        members as f64 >= given.threshold(&LEAST_WORKERS) && 2 * theirs <= path && waited <= of.values().sum()
    });
    let behind = pools.values().flat_map(BTreeMap::values).fold(0_i64, |sum, ns| sum.saturating_add(*ns));
    // What it waited for the same threads while it went before them is no matter of equal priority.
    let at_equal = behind.min(prio.get(&thread).map_or(0, |(ready, _)| *ready));
    let behind = at_equal.min(ready);
    let most = pools.iter().max_by_key(|(_, of)| of.values().sum::<i64>());
    let (Some(((_, name), workers)), true) = (most, behind >= given.share(&LEAST_SHARE).max(1)) else {
        return Ok(Looked::At(Vec::new()));
    };
    // What it was ready beside the path, those that it waits for were not done with either: as much of this as of all its waiting.
    let mut decides = behind;
    given.each(critical_by_thread::Table, |row| {
        let [of, on_path, ready] =
            row.all([critical_by_thread::THREAD, critical_by_thread::PATH_NS, critical_by_thread::READY_NS]);
        if of == thread && on_path as f64 >= given.threshold(&LEAST_PATH) * given.span().len().0 as f64 {
            let on_path = ready as f64 / ready_in_all.max(1) as f64;
            decides = behind.min((at_equal as f64 * on_path.min(1.0)).round() as i64);
        }
    })?;
    let workers: Vec<_> = workers.iter().map(|((key, tid), ns)| given.claim(*key, *tid, *ns)).collect();
    let change = Fix::Nice { threads: threads(&workers), nice: NICE };
    let own = given.name(thread);
    // Whom it takes turns with gets time by weight, so what it waits for those goes down as their weight does.
    let best = decides - (decides as f64 * LEFT as f64 / OF as f64).round() as i64;
    let most = behind.max(best).saturating_add(besides(given, &processes, thread)?);
    let finding = given.finding(
        vec![given.claim(thread, tid, best)],
        change,
        format!("Let {own} go before {name}: lower {name}, or raise {own} with the needed privilege"),
    );
    Ok(Looked::At(vec![Finding {
        title: format!(
            "{own}, {} of the {}, was ready for {} ms behind {} called {name} of its own priority",
            percent(path, given.span().len().0),
            frames.as_ref().map_or("critical path".to_owned(), |frames| format!("time in {frames}")),
            ms(behind),
            plural(workers.len() as u64, "thread")
        ),
        range_ns: [0, most],
        confidence: if processes.are_told() { Confidence::Medium } else { Confidence::Low },
        evidence: shown.finish(),
        assumptions: vec![
            format!("nobody waits for {name} as much as for {own}; the lower end: {name} becomes critical instead"),
            format!(
                "at a nice value {NICE} above {own}'s, {name} has {LEFT}/{OF} of its weight, and it waits for so much of what it does now; \
                 the upper end: it never waits for {name}, has a faster core where its equals had those, and the last of each parallel region \
                 of its process never waits for a CPU"
            ),
            "what it was ready beside the critical path gives nothing back".to_owned(),
            match frames {
                Some(_) => format!("the program is as fast as {own} gets through what it marks"),
                None => "the critical path ends with the thread that ran last in this time".to_owned(),
            },
        ],
        ..finding
    }]))
}

/// For how long a thread was blocked until threads of each pool woke it.
fn waited_for(given: &Given<'_>, processes: &Processes, thread: i64) -> Result<BTreeMap<Pool, i64>, EngineError> {
    let mut waited = BTreeMap::new();
    given.each(waits::Table, |row| {
        if let Some(waker) = row.get(waits::WAKER).filter(|waker| *waker > 0 && row.get(waits::THREAD) == thread) {
            add(&mut waited, processes.pool(given, waker), row.get(waits::BLOCKED_NS));
        }
    })?;
    Ok(waited)
}

/// What going before others may give back besides: they leave it the faster cores, and those that it wakes its own CPU, of which
/// they now get less while they share it with who waits there.
fn besides(given: &Given<'_>, processes: &Processes, thread: i64) -> Result<i64, EngineError> {
    let (speeds, mut most) = (Speeds::new(given)?, 0_i64);
    given.each(slower_cores::Table, |row| {
        if row.get(slower_cores::THREAD) == thread {
            most = Saving::at_most(&speeds, thread, row.get(slower_cores::NONE_NS).max(0));
        }
    })?;
    let (pid, _) = processes.pool(given, thread);
    given.each(parallel_regions::Table, |row| {
        if row.get(parallel_regions::PID) == pid {
            most = most.saturating_add(row.get(parallel_regions::LAST_READY_NS.or_zero()));
        }
    })?;
    Ok(most)
}
