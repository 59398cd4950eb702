//! The edges sum to the migrations, and these to the matrix. Over the whole recording a thread has as many as in its
//! totals, if every switch-in began a run.

use super::support::Analysed;
use model::{CpuId, Ns, Reason, ThreadKey, ThreadState, ThreadStretch};
use proptest::prelude::*;
use std::collections::BTreeMap;
use testkit::ByName;

const EDGES: [&str; 8] =
    ["same_core", "same_l2", "same_l3", "same_type", "to_faster", "to_slower", "other_package", "unknown"];

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let edges = EDGES.map(|edge| a.ints("migrations", edge));
    let all = a.ints("migrations", "migrations");
    for (row, all) in all.iter().enumerate() {
        prop_assert_eq!(edges.iter().map(|e| e[row]).sum::<i64>(), *all);
    }
    let mut actual = BTreeMap::new();
    let ends = a.ints("migration_matrix", "from_cpu").into_iter().zip(a.ints("migration_matrix", "to_cpu"));
    for (row, (ends, count)) in ends.zip(a.ints("migration_matrix", "migrations")).enumerate() {
        actual.insert(ends, count);
        let edge = a.tables["migration_matrix"].text(row, "edge").unwrap();
        prop_assert!(EDGES.contains(&edge), "{}", edge);
    }
    let mut of_edge = BTreeMap::new();
    for (row, count) in a.ints("migration_matrix", "migrations").into_iter().enumerate() {
        *of_edge.entry(a.tables["migration_matrix"].text(row, "edge").unwrap()).or_insert(0) += count;
    }
    for (edge, counts) in EDGES.iter().zip(&edges) {
        prop_assert_eq!(counts.iter().sum::<i64>(), of_edge.get(edge).copied().unwrap_or(0));
    }
    let mut expected = BTreeMap::new();
    for total in &a.totals.threads.all().unwrap() {
        let within = |s: &&ThreadStretch| s.thread == total.thread && s.span.overlap(a.span).is_some();
        let stretches: Vec<&ThreadStretch> = a.threads.iter().filter(within).collect();
        let moves = moves(&stretches);
        let row = a.ints("migrations", "thread").iter().position(|t| ThreadKey(*t) == total.thread);
        prop_assert_eq!(row.map_or(0, |row| all[row]), moves.len() as i64);
        moves.iter().for_each(|(from, to)| *expected.entry((i64::from(from.0), i64::from(to.0))).or_insert(0) += 1);
        if a.span.start == Ns::ZERO && a.span.end == a.totals.end {
            let missing = total.migrations as i64 - moves.len() as i64;
            let certain = stretches.iter().all(|s| s.state != ThreadState::Unknown || s.span.start == Ns::ZERO)
                && !stretches.windows(2).any(|two| two.iter().all(|s| s.state == ThreadState::Running));
            let runs = stretches.iter().filter(|s| s.state == ThreadState::Running);
            let over = runs.filter(|s| s.span.end < a.span.end).count() as u64;
            // An inconsistent switch, or one between two runs with no time in between, may hide the CPU that the thread
            // left: then it moved before its switch-in.
            prop_assert!(!certain || missing >= 0);
            if certain && over == total.voluntary + total.involuntary {
                // A switch-in at the very end begins nothing.
                prop_assert!(missing <= 1, "{:?} lacks {}", total.thread, missing);
            }
        }
    }
    prop_assert_eq!(actual, expected);
    Ok(())
}

/// Searches back from each switch-in to the last CPU of the thread.
fn moves(stretches: &[&ThreadStretch]) -> Vec<(CpuId, CpuId)> {
    let mut found = Vec::new();
    for (at, run) in stretches.iter().enumerate() {
        if run.state != ThreadState::Running || run.reason != Reason::None {
            continue;
        }
        let was = stretches[..at].iter().enumerate().rev().find_map(|(at, s)| {
            let after_run = at > 0 && stretches[at - 1].state == ThreadState::Running;
            let left = (s.reason.left_runnable() || s.reason == Reason::Snapshot) && !after_run;
            s.cpu.filter(|_| s.state != ThreadState::Ready || left)
        });
        found.extend(was.zip(run.cpu).filter(|(from, to)| from != to));
    }
    found
}
