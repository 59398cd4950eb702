//! A thread's rows follow one another without overlap, within its life and the time asked for; each tells other settings than the
//! one before it, and at its begin, as at its end, something was told.

use super::support::Analysed;
use model::{Ns, Prio, SetTo, ThreadState};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use testkit::ByName;

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let table = &a.tables["thread_scheduling"];
    let mut lives: BTreeMap<i64, (Ns, Ns)> = BTreeMap::new();
    for s in a.threads.iter().filter(|s| s.state != ThreadState::Exited) {
        let Some(within) = s.span.overlap(a.span) else { continue };
        let life = lives.entry(s.thread.0).or_insert((within.start, within.end));
        *life = (life.0.min(within.start), life.1.max(within.end));
    }
    let told: BTreeSet<Ns> = a.settings.iter().map(|s| s.at.max(a.span.start)).collect();
    let mut last: BTreeMap<i64, (i64, usize)> = BTreeMap::new();
    for row in 0..table.rows.len() {
        let int = |col| table.int(row, col).unwrap();
        let (thread, start, end) = (int("thread"), int("start_ns"), int("end_ns"));
        prop_assert!(start < end);
        let life = lives.get(&thread).copied();
        prop_assert!(life.is_some_and(|(from, to)| from.0 <= start && end <= to.0), "{thread} {start} {end} {life:?}");
        let begins =
            told.contains(&Ns(start)) || life.is_some_and(|(from, _)| from.0 == start) || is_back(a, thread, start);
        let ends = told.contains(&Ns(end)) || life.is_some_and(|(_, to)| to.0 == end) || exits(a, thread, end);
        prop_assert!(begins && ends, "{thread} {start} {end}");
        if let Some((before, at)) = last.insert(thread, (end, row)) {
            prop_assert!(before <= start);
            prop_assert!(before < start || table.rows[at][4..] != table.rows[row][4..], "{thread} {start}");
        }
    }
    // Whoever was told of while it lived has a row, but for what lasted no time.
    for setting in a.settings.iter().filter(|s| !matches!(s.to, SetTo::IdealCpu(_) | SetTo::Weight { .. })) {
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

/// By a lossy source, one that exited may be heard of again.
fn is_back(a: &Analysed, thread: i64, at: i64) -> bool {
    a.threads.iter().any(|s| s.thread.0 == thread && s.state == ThreadState::Exited && s.span.end.0 == at)
}

fn exits(a: &Analysed, thread: i64, at: i64) -> bool {
    a.threads.iter().any(|s| s.thread.0 == thread && s.state == ThreadState::Exited && s.span.start.0 == at)
}
