//! What sections are written from.

use crate::Options;
use crate::gather::Group;
use crate::sections::Findings;
use crate::words::{TIE, ms, plural, short};
use engine::{EngineError, Names, Session};
use model::tables::threads;
use model::{Declared, Row, Value};
use std::collections::HashSet;

/// So many threads of each section on a terminal; a page has room for all that are wanted.
const MOST: usize = 8;
/// So many threads are named where all of them would not fit.
const NAMED: usize = 2;
/// Rows that are held beyond those shown, so that sorting is seldom.
const ROOM: usize = 1000;

/// A trace, and of which threads sections tell.
pub struct Seen<'a> {
    /// The trace.
    pub session: &'a Session,
    names: &'a Names,
    /// Only these threads; none: all.
    of: Option<HashSet<i64>>,
    /// So many of each.
    pub top: usize,
    /// What rules say.
    pub findings: Findings<'a>,
}

impl<'a> Seen<'a> {
    pub fn of(
        session: &'a Session,
        options: &Options,
        groups: &[Group],
        findings: Findings<'a>,
    ) -> Result<Self, EngineError> {
        let of = options.process.is_some().then(|| groups.iter().flat_map(|g| g.keys.iter().copied()).collect());
        let top = if options.pictures { options.top } else { options.top.min(MOST) };
        Ok(Self { session, names: session.names()?, of, top, findings })
    }

    /// Whether all threads are told of.
    pub fn is_whole(&self) -> bool {
        self.of.is_none()
    }

    /// Hands out the rows of a table; of one that holds threads, those of the threads that are told of.
    pub fn each<T: Declared>(&self, of: T, mut each: impl FnMut(&Row<'_, T>)) -> Result<(), EngineError> {
        _ = of;
        let thread = T::DEF.col(threads::THREAD.name());
        let is_told = |row: &[Value]| match (&self.of, thread) {
            (Some(of), Some(at)) => matches!(row.get(at), Some(Value::Int(key)) if of.contains(key)),
            _ => true,
        };
        self.session.rows(T::DEF.name, &mut |rows| {
            rows.iter().filter(|row| is_told(row)).for_each(|row| each(&Row::new(row)));
            Ok(())
        })
    }

    /// What a thread is called.
    pub fn name(&self, key: Option<i64>) -> String {
        let Some(key) = key else { return "unknown".to_owned() };
        self.names.get(key).map_or_else(|| "?".to_owned(), |name| short(name, 16))
    }
}

impl Seen<'_> {
    /// `wk2 151.530, game 39.430, 11 more`: threads and their times in ms, those with most first.
    pub fn most(&self, of: impl Iterator<Item = (Option<i64>, i64)>) -> String {
        let mut top = Top::new(NAMED);
        of.for_each(|(key, ns)| top.push(ns, (key, ns)));
        let more = top.count.saturating_sub(NAMED);
        let words = top.finish().into_iter().map(|(key, ns)| format!("{}{TIE}{}", self.name(key), ms(ns)));
        words.chain((more > 0).then(|| format!("{more} more"))).collect::<Vec<_>>().join(", ")
    }
}

/// The first ones by some weight; no more are held than are shown.
pub struct Top<T> {
    most: usize,
    all: Vec<(i64, T)>,
    /// How many have any weight.
    pub count: usize,
}

impl<T> Top<T> {
    pub fn new(most: usize) -> Self {
        Self { most, all: Vec::new(), count: 0 }
    }

    /// What weighs nothing is not shown.
    pub fn push(&mut self, weight: i64, what: T) {
        if weight > 0 {
            self.count += 1;
            self.all.push((weight, what));
            if self.all.len() > self.most.saturating_add(ROOM) {
                self.cut();
            }
        }
    }

    fn cut(&mut self) {
        self.all.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
        self.all.truncate(self.most);
    }

    /// The heaviest first; of equal ones, the one that came first.
    pub fn finish(mut self) -> Vec<T> {
        self.cut();
        self.all.into_iter().map(|(_, what)| what).collect()
    }
}

/// `3 of 12 threads` where some are not shown, else `1 thread`.
pub fn of(shown: usize, all: usize, word: &str) -> String {
    let all = plural(all as u64, word);
    if all.starts_with(&format!("{shown}{TIE}")) { all } else { format!("{shown} of {all}") }
}

/// Adds; the times of a damaged file may be larger than any sum.
pub fn add(to: &mut i64, more: i64) {
    *to = to.saturating_add(more);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heaviest_are_kept_and_few_are_held() {
        let mut top = Top::new(3);
        let many = 10 * ROOM as i64;
        (0..many).for_each(|n| top.push(n * 7919 % many, n * 7919 % many));
        assert!(top.all.len() <= 3 + ROOM);
        assert_eq!(top.count as i64, many - 1, "what weighs nothing does not count");
        assert_eq!(top.finish(), [many - 1, many - 2, many - 3]);
        assert_eq!(of(3, 12, "mark"), "3 of 12\u{a0}marks");
        assert_eq!(of(1, 1, "mark"), "1\u{a0}mark");
        assert_eq!(of(1, 11, "mark"), "1 of 11\u{a0}marks");
    }
}
