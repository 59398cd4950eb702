//! `samples` and `folded_stacks`: both count every sample of the span once, and the same functions.

use crate::support::Analysed;
use model::{Change, Row, ThreadKey, Tid, tables};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use tables::{folded_stacks, samples};

/// Thread, TID, core type and sibling.
type Key = (Option<ThreadKey>, Tid, String, String);

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let sampled = a.events.iter().filter(|e| matches!(e.what, Change::Sampled(..)) && a.has(e.at)).count() as i64;
    let (mut own, mut of_functions) = (BTreeMap::<Key, i64>::new(), BTreeMap::<(Key, String), [i64; 2]>::new());
    for row in a.tables[tables::SAMPLES.name].rows_of(samples::Table) {
        let key = (row.get(samples::THREAD), row.get(samples::TID), row.get(samples::CORE_TYPE).to_owned());
        let key = (key.0, key.1, key.2, row.get(samples::SIBLING).to_owned());
        let counts = [row.get(samples::SELF_SAMPLES), row.get(samples::TOTAL_SAMPLES)];
        *own.entry(key.clone()).or_default() += counts[0];
        // The table has no row of its own for a function's kernel part, and unnamed functions are one for each file.
        let name = row.get(samples::FUNCTION).or(row.get(samples::FILE).and(Some("[libspin.so]")));
        let sum = of_functions.entry((key, name.unwrap_or_default().to_owned())).or_default();
        (sum[0], sum[1]) = (sum[0] + counts[0], sum[1] + counts[1]);
    }
    let (mut folded, mut functions) = (BTreeMap::<Key, i64>::new(), BTreeMap::<(Key, String), [i64; 2]>::new());
    for row in a.tables[tables::FOLDED_STACKS.name].rows_of(folded_stacks::Table) {
        let (key, count) = folded_row(&row);
        *folded.entry(key.clone()).or_default() += count;
        let chain = row.get(folded_stacks::CALLCHAIN).unwrap_or_default();
        let chain: Vec<&str> =
            chain.split(';').map(|name| name.trim_end_matches("_[k]").trim_end_matches("_[i]")).collect();
        prop_assert!(count > 0, "a callchain without samples");
        functions.entry((key.clone(), chain[chain.len() - 1].to_owned())).or_default()[0] += count;
        for name in chain.into_iter().collect::<BTreeSet<&str>>() {
            functions.entry((key.clone(), name.to_owned())).or_default()[1] += count;
        }
    }
    prop_assert_eq!(folded.values().sum::<i64>(), sampled);
    prop_assert_eq!(own, folded);
    prop_assert_eq!(of_functions, functions);
    Ok(())
}

fn folded_row(row: &Row<'_, folded_stacks::Table>) -> (Key, i64) {
    let key = (row.get(folded_stacks::THREAD), row.get(folded_stacks::TID));
    let on = (row.get(folded_stacks::CORE_TYPE).to_owned(), row.get(folded_stacks::SIBLING).to_owned());
    ((key.0, key.1, on.0, on.1), row.get(folded_stacks::SAMPLES))
}
