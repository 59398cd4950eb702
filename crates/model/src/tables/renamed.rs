//! Former names of tables, columns and values. Files may use any of them, and users those of tables.
//! docs/renamed.md lists them for users.

use super::ALL;
use crate::TableDef;

/// Tables: the former name and the current one.
pub const TABLES: &[(&str, &str)] = &[("ready_by_thief", "ran_instead"), ("smt_beside", "smt_pairs")];

/// Columns: the former name and the current one. No table has a current column by a former name of another of its columns.
pub const COLUMNS: &[(&str, &str)] = &[
    ("behind", "queued_behind"),
    ("behind_name", "queued_behind_name"),
    ("beside_busy_ns", "sibling_busy_ns"),
    ("beside_busy_share", "sibling_busy_share"),
    ("beside_ns", "overlap_ns"),
    ("beside_thread", "sibling_thread"),
    ("beside_thread_name", "sibling_thread_name"),
    ("beside_tid", "sibling_tid"),
    ("beside_unknown_ns", "sibling_unknown_ns"),
    ("letter", "state_letter"),
    ("life", "instance"),
    ("more_ns", "excess_ns"),
    ("most_parked", "max_parked"),
    ("thief", "ran_instead"),
    ("thief_name", "ran_instead_name"),
    ("thief_prio", "ran_instead_prio"),
    ("thief_tid", "ran_instead_tid"),
    ("together", "woken_together"),
    ("unissued", "missing_issues"),
    ("untold_ns", "not_recorded_ns"),
];

/// Columns of a folder's events: the former name and the current one.
pub const EVENT_COLUMNS: &[(&str, &str)] = &[("letter", "state_letter"), ("prev_letter", "prev_state_letter")];

/// Values of columns that hold one of a fixed list of words: the former value and the current one.
pub const VALUES: &[(&str, &str)] = &[
    ("broken_chain", "inconsistent_switch"),
    ("life_lost", "instance_lost"),
    ("running_beside_busy", "running_sibling_busy"),
    ("untold", "not_recorded"),
    ("wakeup_told", "wakeup_at_switch_in"),
];

/// The table of this name, current or former.
#[must_use]
pub fn find(name: &str) -> Option<&'static TableDef> {
    let is_called = |name: &str| ALL.iter().find(|def| def.name == name).copied();
    is_called(name).or_else(|| is_called(current(TABLES, name)?))
}

/// The current name of a table, by its current or former one.
#[must_use]
pub fn current_table(name: &str) -> &str {
    current(TABLES, name).unwrap_or(name)
}

/// The current name of a column, by its former one.
#[must_use]
pub fn current_column(name: &str) -> Option<&'static str> {
    current(COLUMNS, name)
}

/// The former name of a column, by its current one.
#[must_use]
pub fn former_column(name: &str) -> Option<&'static str> {
    COLUMNS.iter().chain(EVENT_COLUMNS).find(|(_, current)| *current == name).map(|(former, _)| *former)
}

fn current(names: &'static [(&str, &str)], name: &str) -> Option<&'static str> {
    names.iter().find(|(former, _)| *former == name).map(|(_, current)| *current)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::named;

    #[test]
    fn former_names_of_tables_lead_to_them() {
        for (former, current) in TABLES {
            assert_eq!(find(former).map(|def| def.name), Some(*current));
            assert!(ALL.iter().all(|def| def.name != *former), "{former} is a table");
        }
        assert!(find("no_such_table").is_none());
    }

    #[test]
    fn each_column_is_found_by_its_current_and_former_name() {
        let mut found = std::collections::BTreeSet::new();
        for def in ALL.iter().copied().map(named) {
            for (at, col) in def.cols.iter().enumerate() {
                assert_eq!(def.col(col.name), Some(at), "{}.{}", def.name, col.name);
                if let Some(former) = former_column(col.name) {
                    assert_eq!(def.col(former), Some(at), "{}.{former}", def.name);
                    found.insert(former);
                }
                assert!(current_column(col.name).is_none(), "{}.{} is a former name", def.name, col.name);
            }
        }
        let all: std::collections::BTreeSet<&str> = COLUMNS.iter().map(|(former, _)| *former).collect();
        assert_eq!(found, all, "each former name is that of a column");
    }
}
