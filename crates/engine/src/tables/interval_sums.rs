//! Sums over the periods, requests and parallel regions of each thread or name.

use super::intervals::{Interval, IntervalKind, IntervalTimes, Series};
use super::rows::Batches;
use crate::{EngineError, Session};
use analysis::frames::Times;
use model::{Rows as _, Span, Table, tables};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The maximum number of threads or names of a kind.
const MAX_SERIES: usize = 1000;
/// The maximum number of different times of a thread or name.
const MAX_TIMES: usize = 1 << 12;

/// The sums of a thread or name.
#[derive(Default)]
struct Sums {
    times: Times,
    took: i64,
    longest: i64,
    before: i64,
    longest_before: i64,
    period: Option<i64>,
    late: i64,
    missed: i64,
    states: Option<[i64; 4]>,
    steady: f64,
}

impl Sums {
    fn add(&mut self, interval: &Interval<'_>) {
        // The times of a damaged recording may overflow a sum.
        let add = |sum: &mut i64, more: i64| *sum = sum.saturating_add(more);
        let Interval { span, split, done, steady, .. } = *interval;
        let (took, before) = (done - span.start, split - span.start);
        self.times.add(took);
        while self.times.different() > MAX_TIMES {
            self.times.widen();
        }
        add(&mut self.took, took.0);
        add(&mut self.before, before.0);
        self.longest = self.longest.max(took.0);
        self.longest_before = self.longest_before.max(before.0);
        self.steady += steady;
        if let Some(IntervalTimes { states, period, missed }) = interval.times {
            let sums = self.states.get_or_insert_default();
            sums.iter_mut().zip(states).for_each(|(sum, ns)| add(sum, ns.0));
            if let Some(period) = period {
                add(self.period.get_or_insert_default(), period.0);
                self.late += i64::from(took >= period);
                add(&mut self.missed, missed);
            }
        }
    }

    fn row(&self, kind: IntervalKind, series: Option<&Series>, out: &mut Batches<'_>) {
        let count = self.times.count();
        let quantile = |of: u64| self.times.quantile(of).unwrap_or_default();
        let thread = match series {
            Some(Series::Thread(thread)) => Some(*thread),
            _ => None,
        };
        let (pid, name) = match series {
            Some(Series::Name(pid, name)) => (*pid, Some(&**name)),
            _ => (None, None),
        };
        let of_periods = |sum: i64| self.period.map(|_| sum);
        let state = |at: usize| self.states.map(|states| states[at]);
        out.row(&[
            kind.word().into(),
            thread.into(),
            pid.into(),
            name.into(),
            count.into(),
            self.took.into(),
            quantile(500).into(),
            quantile(950).into(),
            quantile(990).into(),
            self.times.precision().into(),
            self.longest.into(),
            self.period.into(),
            of_periods(self.late).into(),
            of_periods(self.missed).into(),
            self.before.into(),
            self.longest_before.into(),
            state(0).into(),
            state(1).into(),
            state(2).into(),
            state(3).into(),
            (self.steady / count.max(1) as f64).into(),
        ]);
    }
}

impl Session {
    /// Writes the rows of the table of sums of intervals. Those of the session's own part are kept, as several sections read them.
    pub(crate) fn interval_sum_rows(&self, span: Option<Span>, out: &mut Batches<'_>) -> Result<(), EngineError> {
        let def = &tables::INTERVAL_SUMS;
        let is_own = span == self.range();
        if let Some(made) = self.cache.table(def.name).filter(|_| is_own) {
            out.all(&made.rows);
            return Ok(());
        }
        let mut table = Table::new(def);
        let mut keep = |rows: &[Vec<model::Value>]| {
            table.rows.extend_from_slice(rows);
            Ok(())
        };
        let mut made = Batches::new(&mut keep);
        self.sum_intervals(span, &mut made)?;
        made.finish()?;
        out.all(&table.rows);
        if is_own {
            self.cache.tables().push(Arc::new(table));
        }
        Ok(())
    }

    fn sum_intervals(&self, span: Option<Span>, out: &mut Batches<'_>) -> Result<(), EngineError> {
        let Some(within) = self.within(span).filter(|_| self.may_have_rows(&tables::INTERVAL_SUMS)) else {
            return Ok(());
        };
        let mut all: BTreeMap<(IntervalKind, Option<Series>), Sums> = BTreeMap::new();
        let mut counts = [0; IntervalKind::ALL.len()];
        self.all_intervals(&mut |kind, interval| {
            let Span { start, .. } = interval.span;
            if start < within.start || interval.done > within.end || interval.done < start {
                return;
            }
            let mut key = (kind, Some(Series::of(interval)));
            let count = &mut counts[kind as usize];
            if !all.contains_key(&key) {
                *count += 1;
                if *count > MAX_SERIES {
                    key.1 = None;
                }
            }
            all.entry(key).or_default().add(interval);
        })?;
        // The threads or names with the most time in all come first.
        let mut rows: Vec<_> = all.into_iter().collect();
        rows.sort_by_key(|((kind, _), sums)| (*kind, std::cmp::Reverse(sums.took)));
        rows.iter().for_each(|((kind, series), sums)| sums.row(*kind, series.as_ref(), out));
        Ok(())
    }
}
