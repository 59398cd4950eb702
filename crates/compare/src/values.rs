//! The values of each run: of the program and of each role, per unit of work if runs are of unlike length.

use crate::thread_metrics::ThreadMetric;
use crate::{Run, Series};
use model::ThreadKey;
use rustc_hash::FxHashMap;

/// Statistics of the times of a series.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SeriesStatistic {
    Mean,
    Median,
    P95,
    P99,
    Max,
}

/// Each with its part of the id and its words.
pub(crate) const SERIES_STATISTICS: [(SeriesStatistic, &str, &str); 5] = [
    (SeriesStatistic::Mean, "mean", "mean"),
    (SeriesStatistic::Median, "p50", "median"),
    (SeriesStatistic::P95, "p95", "95th percentile"),
    (SeriesStatistic::P99, "p99", "99th percentile"),
    (SeriesStatistic::Max, "max", "longest"),
];

impl SeriesStatistic {
    /// Its value; `None` of nothing.
    pub(crate) fn of(self, series: &Series) -> Option<f64> {
        let ns = &series.ns;
        if ns.is_empty() {
            return None;
        }
        let quantile = |share| stats::quantile(ns, share);
        match self {
            Self::Mean => Some(ns.iter().sum::<f64>() / ns.len() as f64),
            Self::Median => quantile(0.5),
            Self::P95 => quantile(0.95),
            Self::P99 => quantile(0.99),
            Self::Max => ns.iter().copied().reduce(f64::max),
        }
    }
}

/// The sums of the values of some threads of one run.
#[derive(Default)]
pub(crate) struct Sums {
    sums: FxHashMap<&'static str, f64>,
    /// The number of threads.
    pub(crate) threads: usize,
}

impl Sums {
    fn add(&mut self, thread: &crate::ThreadFacts) {
        self.threads += 1;
        for (id, value) in &thread.values {
            let sum = self.sums.entry(id).or_default();
            *sum = if *id == "max_ready_ns" { sum.max(*value) } else { *sum + value };
        }
        if let (Some(charged), Some(of)) = (thread.values.get("exec_ns"), thread.values.get("exec_of_ns")) {
            *self.sums.entry("stolen_ns").or_default() += (of - charged).max(0.0);
        }
    }

    /// The value of a metric, divided by the work if it is a total.
    pub(crate) fn value(&self, metric: &ThreadMetric, work: f64) -> Option<f64> {
        let value = metric.value(|id| self.sums.get(id).copied())?;
        Some(if metric.is_total() { value / work } else { value })
    }
}

/// The sums of the program's threads, and of each role.
pub(crate) fn sums(run: &Run, role_of: &FxHashMap<ThreadKey, usize>, roles: usize) -> (Sums, Vec<Sums>) {
    let (mut program, mut by_role) = (Sums::default(), Vec::new());
    by_role.resize_with(roles, Sums::default);
    for thread in &run.threads {
        if thread.is_own && !thread.is_kernel {
            program.add(thread);
        }
        if let Some(role) = role_of.get(&thread.thread) {
            by_role[*role].add(thread);
        }
    }
    (program, by_role)
}
