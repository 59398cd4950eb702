//! Threads that go back and forth between types of cores.

use super::{LEAST_SHARE, ONE_TYPE, has_core_types};
use crate::finding::{Confidence, Finding};
use crate::given::{Given, Shown, add, threads};
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, migrations, ready_wait, thread_by_core_type};
use model::words::{grouped, ms};
use model::{CoreType, Fix};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "migration-between-core-types",
    about: "a thread changed the type of its core so often that moving itself costs it time",
    page: Page {
        finds: "Threads that came to run on a core of a faster or slower type than the last, more often in a second of their running \
                time than the scheduler's tick would move them.",
        matters: "Each such move is a switch and a cold cache (types of cores share no L2), and the thread's speed changes each time: \
                  frame times and latencies spread although nothing else does.",
        sure: "Moves are counted. What one costs is assumed from a benchmark that did nothing but move: threads with much in their \
               caches lose more, and what running on the slower cores costs is not in it.",
        mend: "Say which type of core suits the thread, rather than pinning it: a utilisation clamp, a nice value, EcoQoS.",
        example: "A runs on a performance and an efficient core in turns, and moves 2 000 times in a second.",
    },
    tables: &[&tables::MIGRATIONS, &tables::READY_WAIT, &tables::THREAD_BY_CORE_TYPE, &tables::CPUS],
    thresholds: &[&MOST_PER_SECOND, &MOVE_NS, &LEAST_SHARE],
    explains: &[],
    look,
};

const MOST_PER_SECOND: Threshold = Threshold {
    name: "most_per_second",
    unit: Unit::PerSecond,
    value: 250.0,
    reason: "of its running time: a tick of 4 ms, at which load is balanced, moves a thread no more often",
};

const MOVE_NS: Threshold = Threshold {
    name: "move_ns",
    unit: Unit::Ns,
    value: 3830.0,
    reason: "one move: a benchmark of 4 threads that moved a million times took 11.18 s, and 7.35 s without (an i7-13700KF)",
};

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    if !has_core_types(given)? {
        return Ok(Looked::Lacks(ONE_TYPE.to_owned()));
    }
    let mut running = BTreeMap::new();
    given.each(ready_wait::Table, |row| {
        add(&mut running, row.get(ready_wait::THREAD), row.get(ready_wait::RUNNING_NS))
    })?;
    let (mut claims, mut shown, mut moves) = (Vec::new(), Shown::default(), BTreeMap::new());
    let least = given.share(&LEAST_SHARE).max(1);
    given.each(migrations::Table, |row| {
        let [thread, tid, faster, slower] =
            row.all([migrations::THREAD, migrations::TID, migrations::TO_FASTER, migrations::TO_SLOWER]);
        let count = faster.saturating_add(slower);
        let ran = running.get(&thread).copied().unwrap_or(0);
        let lost = (count as f64 * given.threshold(&MOVE_NS)) as i64;
        if count as f64 > given.threshold(&MOST_PER_SECOND) * ran as f64 / 1e9 && lost >= least {
            claims.push(given.claim(thread, tid, lost));
            moves.insert(thread, (count, ran));
            shown.push(lost, row, &[&migrations::TO_FASTER, &migrations::TO_SLOWER, &migrations::MIGRATIONS]);
        }
    })?;
    let Some(most) = claims.iter().max_by_key(|c| (c.recoverable_ns, std::cmp::Reverse(c.thread))).cloned() else {
        return Ok(Looked::At(Vec::new()));
    };
    let (count, ran) = moves.get(&most.thread).copied().unwrap_or_default();
    let change = Fix::CoreType { threads: threads(std::slice::from_ref(&most)), prefer: home(given, most.thread)? };
    let finding = given.finding(claims, change, format!("Keep {} on one type of core", most.name));
    Ok(Looked::At(vec![Finding {
        title: format!(
            "{} changed the type of its core {} times in {} ms of running: about {} ms went into moving",
            most.name,
            grouped(count),
            ms(ran),
            ms(most.recoverable_ns)
        ),
        range_ns: [0, finding.recoverable_ns],
        confidence: Confidence::Low,
        evidence: shown.finish(),
        assumptions: vec![
            format!("each move costs {} ns; the lower end: nothing", given.threshold(&MOVE_NS)),
            "caches of the program's own come on top".to_owned(),
        ],
        ..finding
    }]))
}

/// Efficient, where a thread ran there for longer than on all faster ones; else performance.
fn home(given: &Given<'_>, thread: i64) -> Result<CoreType, EngineError> {
    let (mut slow, mut fast) = (0_i64, 0_i64);
    given.each(thread_by_core_type::Table, |row| {
        if row.get(thread_by_core_type::THREAD) == thread {
            let to = if ["efficient", "low_power"].contains(&row.get(thread_by_core_type::CORE_TYPE)) {
                &mut slow
            } else {
                &mut fast
            };
            *to = to.saturating_add(row.get(thread_by_core_type::RUNNING_NS));
        }
    })?;
    Ok(if slow > fast { CoreType::Efficient } else { CoreType::Performance })
}
