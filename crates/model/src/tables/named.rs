//! Tables with the names of threads beside their keys.

use super::ALL;
use crate::table::{Col, Kind, TableDef};
use std::sync::LazyLock;

/// How a table is declared where each column that holds keys of `threads` (`thread`, `waker`, `thief`, …) has one with their
/// last names behind it (`thread_name`, `waker_name`, …). What holds no such key is as it was.
#[must_use]
pub fn named(def: &'static TableDef) -> &'static TableDef {
    // Made once, so that what is leaked does not grow. Tables that have another form with inferred time hold no such key.
    static NAMED: LazyLock<Vec<&TableDef>> = LazyLock::new(|| {
        ALL.iter().filter(|def| def.cols.iter().any(|c| c.of_thread)).map(|def| with_names(def)).collect()
    });
    NAMED.iter().find(|of| of.name == def.name).map_or(def, |of| of)
}

fn with_names(def: &TableDef) -> &'static TableDef {
    let mut cols = Vec::new();
    for col in def.cols {
        cols.push(*col);
        if col.of_thread {
            let name = format!("{}_name", col.name).leak();
            cols.push(Col::new(name, Kind::Text, "", "Its last name, where one is known; idle for 0.").or_null());
        }
    }
    Box::leak(Box::new(TableDef { cols: cols.leak(), ..*def }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{CPUS, MARKS, READY_BY_THIEF, THREADS, THREADS_FILLED};

    #[test]
    fn a_name_stands_behind_each_key_of_a_thread() {
        let names = |def| named(def).cols.iter().map(|c| c.name).collect::<Vec<_>>();
        assert_eq!(names(&READY_BY_THIEF)[..6], ["thread", "thread_name", "tid", "behind", "thief", "thief_name"]);
        assert_eq!(names(&MARKS)[..4], ["thread", "thread_name", "pid", "name"]);
        for def in ALL.iter().map(|def| named(def)) {
            let (mut names, all) = (def.cols.iter().map(|c| c.name).collect::<Vec<_>>(), def.cols.len());
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "{}", def.name);
            assert_eq!(named(def).cols.len(), all, "{}: names have no names", def.name);
        }
    }

    #[test]
    fn what_has_no_such_key_stays() {
        for def in [&THREADS, &THREADS_FILLED, &CPUS] {
            assert_eq!(named(def).cols.len(), def.cols.len(), "{}", def.name);
        }
    }
}
