//! `mark_counters`: every marked stretch is in one row or left out, and disjoint stretches never count more than their thread did.

use crate::support::Analysed;
use model::{Ns, ThreadKey, tables};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tables::{mark_counters, mark_stretches, thread_counters};

/// Thread, process and name of a mark.
type Mark = (ThreadKey, Option<i64>, Option<String>);

/// How many of these stretches overlap, at most.
fn depth(stretches: &[(Ns, Ns)]) -> i64 {
    let mut edges: Vec<(Ns, i64)> = stretches.iter().flat_map(|(from, to)| [(*from, 1), (*to, -1)]).collect();
    edges.sort_unstable();
    edges
        .iter()
        .scan(0, |open, (_, edge)| {
            *open += edge;
            Some(*open)
        })
        .max()
        .unwrap_or(0)
        .max(1)
}

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let mut stretches = BTreeMap::<Mark, Vec<(Ns, Ns)>>::new();
    for row in a.tables[tables::MARK_STRETCHES.name].rows_of(mark_stretches::Table) {
        let Some(thread) = row.get(mark_stretches::THREAD) else { continue };
        let mark = (thread, row.get(mark_stretches::PID), row.get(mark_stretches::NAME).map(str::to_owned));
        stretches.entry(mark).or_default().push((row.get(mark_stretches::START_NS), row.get(mark_stretches::END_NS)));
    }
    let mut totals = BTreeMap::<(ThreadKey, String, String), (i64, Ns, Ns)>::new();
    for row in a.tables[tables::THREAD_COUNTERS.name].rows_of(thread_counters::Table) {
        let Some(thread) = row.get(thread_counters::THREAD) else { continue };
        let counter = row.get(thread_counters::COUNTER).to_owned();
        let sums = totals.entry((thread, counter, row.get(thread_counters::CORE_TYPE).to_owned())).or_default();
        sums.0 += row.get(thread_counters::COUNT).unwrap_or(0);
        sums.1 += row.get(thread_counters::ENABLED_NS);
        sums.2 += row.get(thread_counters::COUNTED_NS);
    }
    let mut seen = BTreeMap::<Mark, i64>::new();
    for row in a.tables[tables::MARK_COUNTERS.name].rows_of(mark_counters::Table) {
        let Some(thread) = row.get(mark_counters::THREAD) else { return Err(TestCaseError::fail("no thread")) };
        let mark = (thread, row.get(mark_counters::PID), row.get(mark_counters::NAME).map(str::to_owned));
        let of = row.get(mark_counters::STRETCHES) + row.get(mark_counters::LEFT_OUT);
        prop_assert_eq!(*seen.entry(mark.clone()).or_insert(of), of);
        prop_assert!(row.get(mark_counters::READ) <= row.get(mark_counters::STRETCHES));
        let (Some(counter), Some(core_type)) = (row.get(mark_counters::COUNTER), row.get(mark_counters::CORE_TYPE))
        else {
            prop_assert_eq!(row.get(mark_counters::STATE), "not_counted");
            continue;
        };
        let depth = depth(&stretches[&mark]);
        let total = totals.get(&(thread, counter.to_owned(), core_type.to_owned())).copied().unwrap_or_default();
        let (enabled, counted) = (row.get(mark_counters::ENABLED_NS), row.get(mark_counters::COUNTED_NS));
        prop_assert!(
            Ns::ZERO <= counted && counted <= enabled && enabled <= total.1 * depth && counted <= total.2 * depth
        );
        let range = [mark_counters::LOW, mark_counters::ESTIMATE, mark_counters::HIGH].map(|of| row.get(of));
        if let [Some(low), Some(estimate), Some(high)] = range {
            prop_assert!(low <= estimate && estimate <= high, "{} {} {}", low, estimate, high);
        }
        if let ("counted", [Some(low), Some(estimate), Some(high)]) = (row.get(mark_counters::STATE), range) {
            // As floating-point numbers.
            let most = (depth * total.0) as f64 * (1.0 + 1e-9);
            prop_assert!(depth > 1 || high <= most, "{} of {}", high, most);
            prop_assert!(low >= 0.0 && estimate <= most, "{} of {}", estimate, most);
            let exact = row.get(mark_counters::COUNT).map(|count| count as f64);
            prop_assert_eq!(exact.is_some(), row.get(mark_counters::HOW) == Some("read"));
            prop_assert!(exact.is_none_or(|count| [low, estimate, high].iter().all(|of| (of - count).abs() < 1e-6)));
        }
    }
    if !seen.is_empty() {
        let marked: BTreeMap<Mark, i64> = stretches.into_iter().map(|(mark, of)| (mark, of.len() as i64)).collect();
        prop_assert_eq!(seen, marked);
    }
    Ok(())
}
