//! All metrics of the runs on both sides.

use super::maps;
use crate::outcome::Distribution;
use crate::roles::Roles;
use crate::thread_metrics::THREAD_METRICS;
use crate::values::{SERIES_STATISTICS, SeriesStatistic, Sums, sums};
use crate::{Better, Metric, Outcome, Run, Series, Unit, Verdict, Why, measure, metric};
use model::ThreadKey;
use rustc_hash::FxHashMap;
use stats::{Effect, Scale, Statistic};
use std::collections::BTreeSet;

/// A metric of threads is shown if on one side it is at least this share of the objective (times), or at least [`MIN_COUNT`] (counts).
const MIN_SHARE: f64 = 0.005;
/// Fewer events than this in a run are accidents.
const MIN_COUNT: f64 = 10.0;
/// At most this many roles have metrics, those that ran most.
const MAX_ROLES: usize = 40;
/// The number of quantiles of a distribution.
const QUANTILES: usize = 101;

/// The value of a metric of the whole run, by its id.
pub(super) fn value_of_run(run: &Run, id: &str) -> Option<f64> {
    if let Some(value) = run.values.get(id) {
        return Some(*value);
    }
    let (name, statistic) = id.rsplit_once('.')?;
    let series = run.series.iter().find(|series| series.name == name)?;
    SERIES_STATISTICS.iter().find(|of| of.1 == statistic)?.0.of(series)
}

/// The ids of the metrics of the whole run.
pub(super) fn ids_of_run(run: &Run) -> Vec<String> {
    let of_series = |series: &Series| SERIES_STATISTICS.map(|(_, id, _)| format!("{}.{id}", series.name));
    run.values.keys().cloned().chain(run.series.iter().flat_map(of_series)).collect()
}

/// Takes the values of all runs.
pub(super) struct Sampler<'a> {
    sides: [&'a [Run]; 2],
    roles: &'a Roles,
    maps: [Vec<FxHashMap<ThreadKey, usize>>; 2],
    names: Vec<String>,
    /// What the work is counted in, for users.
    unit: String,
    /// The work of each run.
    work: [Vec<f64>; 2],
    paired: bool,
    /// The sums of the program and of each role, of each run.
    sums: [Vec<(Sums, Vec<Sums>)>; 2],
}

impl<'a> Sampler<'a> {
    pub(super) fn new(
        sides: [&'a [Run]; 2],
        roles: &'a Roles,
        (work, unit): ([Vec<f64>; 2], String),
        paired: bool,
    ) -> Self {
        let maps = maps(roles, sides);
        let sums = [0, 1].map(|side| {
            let of_run = |(run, role_of): (&Run, &FxHashMap<ThreadKey, usize>)| sums(run, role_of, roles.roles.len());
            sides[side].iter().zip(&maps[side]).map(of_run).collect()
        });
        let names = roles.roles.iter().map(|role| role.name.clone()).collect();
        Self { sides, roles, maps, names, unit, work, paired, sums }
    }

    pub(super) fn role_maps(&self) -> [&[FxHashMap<ThreadKey, usize>]; 2] {
        [&self.maps[0], &self.maps[1]]
    }

    pub(super) fn role_names(&self) -> &[String] {
        &self.names
    }

    fn values(&self, value: impl Fn(usize, usize) -> Option<f64>) -> [Vec<Option<f64>>; 2] {
        [0, 1].map(|side| (0..self.sides[side].len()).map(|run| value(side, run)).collect())
    }

    /// Compares one metric.
    fn outcome(
        &self,
        metric: Metric,
        values: [Vec<Option<f64>>; 2],
        series: Option<(&str, SeriesStatistic)>,
    ) -> Outcome {
        let known = [0, 1].map(|side| values[side].iter().copied().flatten().collect::<Vec<f64>>());
        let middle = [0, 1].map(|side| stats::median(&known[side]));
        let is_whole = |side: usize| known[side].len() == values[side].len();
        let paired = self.paired && is_whole(0) && is_whole(1);
        let single = known.iter().all(|of| of.len() == 1);
        let effect = match series {
            Some((name, statistic)) if single => self.within_runs(name, statistic),
            _ => None,
        };
        let effect = effect.or_else(|| {
            let scale = if known.iter().flatten().all(|value| *value > 0.0) { Scale::Ratio } else { Scale::Difference };
            stats::of_runs(&known[0], &known[1], paired, scale)
        });
        Outcome {
            metric,
            values,
            middle,
            effect,
            q: None,
            verdict: Verdict::Unknown,
            at_most: None,
            runs_more: None,
            reason: None,
        }
    }

    /// The variation within one run a side.
    fn within_runs(&self, name: &str, statistic: SeriesStatistic) -> Option<Effect> {
        let of = |side: usize| self.sides[side].first()?.series.iter().find(|series| series.name == name);
        let statistic = match statistic {
            SeriesStatistic::Mean => Statistic::Mean,
            SeriesStatistic::Median => Statistic::Median,
            SeriesStatistic::P95 => Statistic::Quantile(0.95),
            SeriesStatistic::P99 => Statistic::Quantile(0.99),
            // The longest of a run has no interval from that run alone.
            SeriesStatistic::Max => return None,
        };
        stats::of_series(&of(0)?.ns, &of(1)?.ns, statistic, Scale::Ratio)
    }

    /// The objective; `None` if no run has it.
    pub(super) fn objective(&self, id: &str) -> Option<Outcome> {
        let values = self.values(|side, run| {
            let value = value_of_run(&self.sides[side][run], id)?;
            Some(if id == "elapsed" { value / self.work[side][run] } else { value })
        });
        if values.iter().any(|side| side.iter().all(Option::is_none)) {
            return None;
        }
        let (metric, series) = self.metric_of_run(id);
        let metric = Metric { per: self.per(id == "elapsed"), ..metric };
        Some(self.outcome(metric, values, series.as_ref().map(|(name, of)| (name.as_str(), *of))))
    }

    /// A metric of the whole run; of a series, with its name and statistic.
    fn metric_of_run(&self, id: &str) -> (Metric, Option<(String, SeriesStatistic)>) {
        let found =
            id.rsplit_once('.').and_then(|(name, of)| Some((name, SERIES_STATISTICS.iter().find(|s| s.1 == of)?)));
        let series = found.map(|(name, (statistic, ..))| (name.to_owned(), *statistic));
        let declared = metric(id, None);
        let metric = match (found, id.split_once(':')) {
            (Some((name, (_, _, words))), _) if name != "frame" => Metric {
                title: format!("{words} {}", measure::series::title(name)),
                unit: Unit::Ns,
                better: Better::Less,
                ..declared
            },
            (None, Some(("finding", rule))) => {
                let title = format!("potential saving of {rule}");
                Metric { title, unit: Unit::Ns, better: Better::Less, ..declared }
            }
            _ => declared,
        };
        (metric, series)
    }

    /// What totals are divided by, for users.
    fn per(&self, is_total: bool) -> Option<String> {
        (is_total && self.work.iter().flatten().any(|work| *work != 1.0)).then(|| self.unit.clone())
    }

    /// All metrics but the objective: of the run, of the program's threads, of each role, of each row of a table.
    pub(super) fn metrics(&self, objective: &str) -> Vec<Outcome> {
        let mut all = Vec::new();
        let runs = || self.sides.iter().flat_map(|runs| runs.iter());
        let ids: BTreeSet<String> = runs().flat_map(ids_of_run).filter(|id| id != objective).collect();
        for id in ids {
            let values = self.values(|side, run| value_of_run(&self.sides[side][run], &id));
            if values.iter().all(|side| side.iter().any(Option::is_some)) {
                let (metric, series) = self.metric_of_run(&id);
                all.push(self.outcome(metric, values, series.as_ref().map(|(name, of)| (name.as_str(), *of))));
            }
        }
        self.of_threads(objective, &mut all);
        self.of_rows(&mut all);
        all
    }

    /// The metrics of threads.
    fn of_threads(&self, objective: &str, all: &mut Vec<Outcome>) {
        if self.sides.iter().flat_map(|runs| runs.iter()).all(|run| run.threads.is_empty()) {
            return;
        }
        let scale = self.objective(objective).and_then(|of| of.middle[0]).unwrap_or_default();
        let subjects = std::iter::once(None).chain(self.shown_roles().into_iter().map(Some));
        for role in subjects {
            for metric in &THREAD_METRICS {
                let values = self.values(|side, run| {
                    let (program, roles) = self.sums[side].get(run)?;
                    let of = role.map_or(program, |role| &roles[role]);
                    if of.threads == 0 { None } else { of.value(metric, self.work[side][run]) }
                });
                let least = match metric.unit() {
                    Unit::Ns => MIN_SHARE * scale,
                    Unit::Count => MIN_COUNT / self.work[0].first().copied().unwrap_or(1.0).max(1.0),
                    _ => 0.001,
                };
                let largest =
                    values.iter().filter_map(|side| stats::median(&side.iter().copied().flatten().collect::<Vec<_>>()));
                let is_on_both = values.iter().all(|side| side.iter().any(Option::is_some));
                if is_on_both && largest.fold(0.0, f64::max) > least {
                    let of = role.map(|role| self.names[role].as_str());
                    let named = Metric { per: self.per(metric.is_total()), ..metric.metric(of) };
                    all.push(self.outcome(named, values, None));
                }
            }
        }
    }

    /// The roles of the program that ran most, in that order.
    fn shown_roles(&self) -> Vec<usize> {
        let mut ran = vec![0.0; self.roles.roles.len()];
        let maps = self.role_maps();
        for (side, runs) in self.sides.iter().enumerate() {
            for (run, role_of) in runs.iter().zip(maps[side]) {
                for thread in run.threads.iter().filter(|thread| thread.is_own && !thread.is_kernel) {
                    if let Some(role) = role_of.get(&thread.thread) {
                        ran[*role] += thread.values.get("running_ns").copied().unwrap_or_default();
                    }
                }
            }
        }
        let mut order: Vec<usize> = (0..ran.len()).filter(|role| ran[*role] > 0.0).collect();
        order.sort_by(|a, b| ran[*b].total_cmp(&ran[*a]));
        order.truncate(MAX_ROLES);
        order
    }

    /// The rows of printed tables.
    fn of_rows(&self, all: &mut Vec<Outcome>) {
        let runs = || self.sides.iter().flat_map(|runs| runs.iter());
        let keys: BTreeSet<(&String, &String)> = runs()
            .flat_map(|run| run.rows.iter().flat_map(|(row, values)| values.keys().map(move |id| (row, id))))
            .collect();
        for (row, id) in keys {
            let values = self.values(|side, run| self.sides[side][run].rows.get(row)?.get(id).copied());
            if values.iter().all(|side| side.iter().any(Option::is_some)) {
                all.push(self.outcome(metric(id, Some(row)), values, None));
            }
        }
    }

    /// Divides the times of a critical path by the work, if the objective is. `None` for runs of unlike work: the pieces would sum to the change of
    /// the whole time, not of the time per unit.
    pub(super) fn per_unit(&self, why: Why, objective: &str) -> Option<Why> {
        let [a, b] = [0, 1].map(|side| {
            let of = &self.work[side];
            of.iter().sum::<f64>() / of.len().max(1) as f64
        });
        // Frames, periods and requests are units already.
        if objective != "elapsed" || (a, b) == (1.0, 1.0) {
            return Some(why);
        }
        if self.work.iter().flatten().any(|work| *work != a) {
            return None;
        }
        let pieces = why.pieces.into_iter().map(|piece| crate::Piece {
            ns: piece.ns / a,
            means: piece.means.map(|of| of.map(|ns| ns / a)),
            interval: piece.interval.map(|of| of.map(|ns| ns / a)),
            ..piece
        });
        Some(Why { pieces: pieces.collect(), means: why.means.map(|ns| ns / a), ..why })
    }

    /// The distributions of the times of series that both sides have.
    pub(super) fn distributions(&self) -> Vec<Distribution> {
        let names: BTreeSet<&str> =
            self.sides[0].iter().flat_map(|run| run.series.iter().map(|s| s.name.as_str())).collect();
        let of = |name: &str| {
            let values = |side: usize| {
                let series = self.sides[side].iter().flat_map(|run| run.series.iter()).filter(|s| s.name == name);
                let mut ns: Vec<f64> = series.flat_map(|s| s.ns.iter().copied()).collect();
                ns.sort_by(f64::total_cmp);
                ns
            };
            let [a, b] = [values(0), values(1)];
            let quantiles = |of: &[f64]| {
                (0..QUANTILES).filter_map(|at| stats::quantile(of, at as f64 / (QUANTILES - 1) as f64)).collect()
            };
            (!a.is_empty() && !b.is_empty()).then(|| Distribution {
                name: measure::series::title(name),
                unit: Unit::Ns,
                better: Better::Less,
                counts: [a.len() as u64, b.len() as u64],
                quantiles: [quantiles(&a), quantiles(&b)],
            })
        };
        names.into_iter().filter_map(of).collect()
    }
}
