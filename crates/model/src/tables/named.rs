//! Tables with a name column for each thread key.

use super::ALL;
use crate::table::{Col, Shows, TableDef};
use std::sync::LazyLock;

/// Returns the declaration of a table in which each column of thread keys (`thread`, `waker`, `ran_instead`, …) is followed by a
/// column with the last names of these threads (`thread_name`, `waker_name`, …). Tables without thread keys are unchanged.
#[must_use]
pub fn named(def: &'static TableDef) -> &'static TableDef {
    // Built once, so that the leaked memory is bounded. Tables that have a variant with inferred time have no such column.
    static NAMED: LazyLock<Vec<&TableDef>> = LazyLock::new(|| {
        ALL.iter().filter(|def| def.cols.iter().any(|c| c.is_thread_key)).map(|def| with_names(def)).collect()
    });
    NAMED.iter().find(|of| of.name == def.name).map_or(def, |of| of)
}

fn with_names(def: &TableDef) -> &'static TableDef {
    let mut cols = Vec::new();
    for col in def.cols {
        cols.push(*col);
        if col.is_thread_key {
            let name = format!("{}_name", col.name).leak();
            cols.push(
                Col::text(name, Shows::Name, "Last known name of that thread, `idle` for 0; null if unknown.")
                    .or_null(),
            );
        }
    }
    Box::leak(Box::new(TableDef { cols: cols.leak(), ..*def }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{CPUS, MARKS, RAN_INSTEAD, THREADS, THREADS_FILLED};

    #[test]
    fn each_thread_key_is_followed_by_a_name() {
        let names = |def| named(def).cols.iter().map(|c| c.name).collect::<Vec<_>>();
        assert_eq!(
            names(&RAN_INSTEAD)[..6],
            ["thread", "thread_name", "tid", "queued_behind", "ran_instead", "ran_instead_name"]
        );
        assert_eq!(names(&MARKS)[..4], ["thread", "thread_name", "pid", "name"]);
        for def in ALL.iter().map(|def| named(def)) {
            let (mut names, all) = (def.cols.iter().map(|c| c.name).collect::<Vec<_>>(), def.cols.len());
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "{}", def.name);
            assert_eq!(named(def).cols.len(), all, "{}: name columns have no name columns", def.name);
        }
    }

    #[test]
    fn tables_without_thread_keys_are_unchanged() {
        for def in [&THREADS, &THREADS_FILLED, &CPUS] {
            assert_eq!(named(def).cols.len(), def.cols.len(), "{}", def.name);
        }
    }
}
