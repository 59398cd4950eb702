//! The data that sections are written from.

use crate::Options;
use crate::gather::Group;
use crate::profile::Profile;
use crate::sections::{Findings, has_all_sections};
use crate::words::{TIE, grouped, ms, plural, short};
use engine::{EngineError, Session, ThreadNames};
use model::tables::threads;
use model::{Amount, Ns, Row, TableType, ThreadKey, Value};
use std::collections::HashSet;

/// The maximum number of threads in a section on a terminal; a page shows all requested ones.
const MAX_ROWS: usize = 8;
/// The number of threads named if not all fit.
const NAMED: usize = 2;
/// The number of rows kept beyond those shown, so that sorting is rare.
const ROOM: usize = 1000;

/// A trace and the selected threads.
pub struct SectionContext<'a> {
    /// The trace.
    pub session: &'a Session,
    names: &'a ThreadNames,
    /// Only these threads; `None`: all.
    of: Option<HashSet<ThreadKey>>,
    /// The maximum number of rows.
    pub top: usize,
    /// The findings.
    pub findings: Findings<'a>,
    /// The requested process, by PID or name.
    pub process: Option<&'a str>,
    /// The samples with which those of the report are compared.
    pub baseline: Option<&'a Profile>,
    /// Whether the output has pictures.
    pub pictures: bool,
    /// Whether all sections with data are made.
    pub has_all_sections: bool,
}

impl<'a> SectionContext<'a> {
    pub fn new(
        session: &'a Session,
        options: &'a Options,
        groups: &[Group],
        findings: Findings<'a>,
    ) -> Result<Self, EngineError> {
        let of = options.process.is_some().then(|| groups.iter().flat_map(|g| g.keys.iter().copied()).collect());
        let top = if options.pictures { options.top } else { options.top.min(MAX_ROWS) };
        Ok(Self {
            session,
            names: session.names()?,
            of,
            top,
            findings,
            process: options.process.as_deref(),
            baseline: options.baseline.as_ref(),
            pictures: options.pictures,
            has_all_sections: has_all_sections(session, &options.sections),
        })
    }

    /// Whether all threads are selected.
    pub fn is_whole(&self) -> bool {
        self.of.is_none()
    }

    /// Calls `each` for the rows of a table; if it has threads, for those of the selected threads.
    pub fn each_row<T: TableType>(&self, of: T, mut each: impl FnMut(&Row<'_, T>)) -> Result<(), EngineError> {
        _ = of;
        let thread = T::DEF.col(threads::THREAD.name());
        let is_selected = |row: &[Value]| match (&self.of, thread) {
            (Some(of), Some(at)) => matches!(row.get(at), Some(Value::Int(key)) if of.contains(&ThreadKey(*key))),
            _ => true,
        };
        self.session.rows(T::DEF.name, &mut |rows| {
            rows.iter().filter(|row| is_selected(row)).for_each(|row| each(&Row::new(row)));
            Ok(())
        })
    }

    /// The display name of a thread.
    pub fn name(&self, key: Option<ThreadKey>) -> String {
        let Some(key) = key else { return "unknown".to_owned() };
        self.names.get(key).map_or_else(|| "?".to_owned(), |name| short(name, 16))
    }
}

impl SectionContext<'_> {
    /// Formats the threads with the largest times in ms: `wk2 151.530, game 39.430, 11 more`.
    pub fn largest(&self, of: impl Iterator<Item = (Option<ThreadKey>, Ns)>) -> String {
        let mut top = Top::new(NAMED);
        of.for_each(|(key, ns)| top.push(ns, (key, ns)));
        let more = top.count.saturating_sub(NAMED);
        let words = top.finish().into_iter().map(|(key, ns)| format!("{}{TIE}{}", self.name(key), ms(ns)));
        words.chain((more > 0).then(|| format!("{more} more"))).collect::<Vec<_>>().join(", ")
    }
}

/// Collects the items with the largest weights; no more are kept than are shown.
pub struct Top<T> {
    max_items: usize,
    all: Vec<(i64, T)>,
    /// The number of items with any weight.
    pub count: usize,
}

impl<T> Top<T> {
    pub fn new(max_items: usize) -> Self {
        Self { max_items, all: Vec::new(), count: 0 }
    }

    /// Adds an item, unless its weight is zero.
    pub fn push(&mut self, weight: impl Amount, item: T) {
        if weight.number() > 0 {
            self.count += 1;
            self.all.push((weight.number(), item));
            if self.all.len() > self.max_items.saturating_add(ROOM) {
                self.cut();
            }
        }
    }

    fn cut(&mut self) {
        self.all.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
        self.all.truncate(self.max_items);
    }

    /// Returns the items, heaviest first; of equal ones, the one added first.
    pub fn finish(mut self) -> Vec<T> {
        self.cut();
        self.all.into_iter().map(|(_, item)| item).collect()
    }
}

/// Formats a count: `3 of 12 threads` if some are not shown, else `1 thread`.
pub fn count_of(shown: usize, all: usize, word: &str) -> String {
    let (shown, all) = (grouped(shown as i64), plural(all as u64, word));
    if all.starts_with(&format!("{shown}{TIE}")) { all } else { format!("{shown} of {all}") }
}

/// Adds with saturation, as the times of a damaged file may overflow.
pub fn add<A: Amount>(to: &mut A, more: A) {
    *to = to.plus(more);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heaviest_items_are_kept() {
        let mut top = Top::new(3);
        let many = 10 * ROOM as i64;
        (0..many).for_each(|n| top.push(n * 7919 % many, n * 7919 % many));
        assert!(top.all.len() <= 3 + ROOM);
        assert_eq!(top.count as i64, many - 1, "items without weight do not count");
        assert_eq!(top.finish(), [many - 1, many - 2, many - 3]);
        assert_eq!(count_of(3, 12, "mark"), "3 of 12\u{a0}marks");
        assert_eq!(count_of(1, 1, "mark"), "1\u{a0}mark");
        assert_eq!(count_of(1, 11, "mark"), "1 of 11\u{a0}marks");
    }
}
