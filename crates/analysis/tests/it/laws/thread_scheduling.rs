//! A thread's rows follow one another without overlap, within its instance and the requested range. Each has other
//! settings than the one before it, and there is a record at its begin and at its end.

use super::support::Analysed;
use model::{Ns, Prio, SetTo, ThreadState};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use testkit::ByName;

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let table = &a.tables["thread_scheduling"];
    let mut instances: BTreeMap<i64, (Ns, Ns)> = BTreeMap::new();
    for s in a.threads.iter().filter(|s| s.state != ThreadState::Exited) {
        let Some(within) = s.span.overlap(a.span) else { continue };
        let instance = instances.entry(s.thread.0).or_insert((within.start, within.end));
        *instance = (instance.0.min(within.start), instance.1.max(within.end));
    }
    let record_times: BTreeSet<Ns> = a.settings.iter().map(|s| s.at.max(a.span.start)).collect();
    let mut last: BTreeMap<i64, (i64, usize)> = BTreeMap::new();
    for row in 0..table.rows.len() {
        let int = |col| table.int(row, col).unwrap();
        let (thread, start, end) = (int("thread"), int("start_ns"), int("end_ns"));
        prop_assert!(start < end);
        let instance = instances.get(&thread).copied();
        prop_assert!(
            instance.is_some_and(|(from, to)| from.0 <= start && end <= to.0),
            "{thread} {start} {end} {instance:?}"
        );
        let begins = record_times.contains(&Ns(start))
            || instance.is_some_and(|(from, _)| from.0 == start)
            || is_back(a, thread, start);
        let ends =
            record_times.contains(&Ns(end)) || instance.is_some_and(|(_, to)| to.0 == end) || exits(a, thread, end);
        prop_assert!(begins && ends, "{thread} {start} {end}");
        if let Some((before, at)) = last.insert(thread, (end, row)) {
            prop_assert!(before <= start);
            prop_assert!(before < start || table.rows[at][4..] != table.rows[row][4..], "{thread} {start}");
        }
    }
    // Every thread with a record while it was alive has a row, unless that is empty.
    for setting in a.settings.iter().filter(|s| !matches!(s.to, SetTo::IdealCpu(_) | SetTo::Limits { .. })) {
        let alive = |s: &&model::ThreadStretch| {
            let holds = s.span.overlap(a.span).is_some_and(|w| w.start <= setting.at && setting.at < w.end);
            Some(s.tid) == setting.tid && s.state != ThreadState::Exited && holds
        };
        let empty = matches!(setting.to, SetTo::Attr { prio: Prio::UNKNOWN, uclamp_min: None, uclamp_max: None });
        if let Some(s) = a.threads.iter().find(alive).filter(|_| !empty) {
            let covers = |row: usize| {
                let int = |col| table.int(row, col).unwrap();
                int("thread") == s.thread.0 && int("start_ns") <= setting.at.0 && setting.at.0 < int("end_ns")
            };
            prop_assert!((0..table.rows.len()).any(covers), "{setting:?}");
        }
    }
    Ok(())
}

/// A lossy source may record a thread again after its exit.
fn is_back(a: &Analysed, thread: i64, at: i64) -> bool {
    a.threads.iter().any(|s| s.thread.0 == thread && s.state == ThreadState::Exited && s.span.end.0 == at)
}

fn exits(a: &Analysed, thread: i64, at: i64) -> bool {
    a.threads.iter().any(|s| s.thread.0 == thread && s.state == ThreadState::Exited && s.span.start.0 == at)
}
