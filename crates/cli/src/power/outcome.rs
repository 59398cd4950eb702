//! All runs, and what follows from them.

use super::battery::Percents;
use super::machine::{Machine, Run};
use bench::median_interval;
use model::Ns;
use power::{Estimate, Part, doubtful_parts, doubtful_power};

/// The median of runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Median {
    /// The median.
    pub value: f64,
    /// The ends of the interval of at least 95 %, or of all values.
    pub ends: [f64; 2],
    /// Whether `ends` is an interval of 95 %: with 6 values or more.
    pub is_interval: bool,
    /// How many values.
    pub n: usize,
}

impl Median {
    /// Returns the median of values; `None` of none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len();
        if let Some(estimate) = median_interval(values) {
            return Some(Self { value: estimate.value, ends: [estimate.low, estimate.high], is_interval: true, n });
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let value = f64::midpoint(*sorted.get((n.max(1) - 1) / 2)?, *sorted.get(n / 2)?);
        Some(Self { value, ends: [*sorted.first()?, *sorted.last()?], is_interval: false, n })
    }
}

/// How a battery was drained.
#[derive(Clone, PartialEq, Debug)]
pub struct Drain {
    /// Its name.
    pub name: String,
    /// From where to where it was to be.
    pub percents: Percents,
    /// When it showed another percent, the begin first.
    pub changes: Vec<(Ns, i64)>,
    /// Whether it was charged meanwhile.
    pub charged: bool,
}

impl Drain {
    /// Whether the lower percentage was reached.
    pub fn is_complete(&self) -> bool {
        self.changes.last().is_some_and(|(_, percent)| *percent <= self.percents.low)
    }

    /// The time of 1 %, s, for each step; a step of several percents counts for each of them.
    pub fn seconds_of_a_percent(&self) -> Vec<f64> {
        let steps = self.changes.windows(2);
        steps
            .flat_map(|pair| {
                let ((from, before), (to, after)) = (pair[0], pair[1]);
                let percents = (before - after).max(1);
                let each = (to - from).0 as f64 * 1e-9 / percents as f64;
                std::iter::repeat_n(each, percents as usize)
            })
            .collect()
    }

    /// The time of the whole battery by its mean step, s: the time of 1 % times 100.
    pub fn whole_s(&self) -> Option<f64> {
        let (first, last) = (self.changes.first()?, self.changes.last()?);
        let percents = first.1 - last.1;
        (percents > 0).then(|| (last.0 - first.0).0 as f64 * 1e-9 / percents as f64 * 100.0)
    }
}

/// The figures of a domain over all runs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Summary {
    /// Energy of a run, J.
    pub joules: Option<Median>,
    /// Power, W.
    pub watts: Option<Median>,
    /// Energy of a unit of work, J.
    pub per_unit: Option<Median>,
    /// The range of the energy of one run by its readings, as a share of it: the greatest of all runs.
    pub uncertain: f64,
    /// Why there is no figure, or not of the whole time.
    pub why: Vec<String>,
}

/// All runs.
pub struct Outcome {
    /// The command.
    pub command: Vec<String>,
    /// The user's labels.
    pub labels: Vec<(String, String)>,
    /// The nominal power of a package, W.
    pub tdp: Option<f64>,
    /// The runs.
    pub runs: Vec<Run>,
    /// How the battery was drained, with `--battery`.
    pub drain: Option<Drain>,
    /// What is doubtful, a sentence each.
    pub doubts: Vec<String>,
}

impl Outcome {
    /// Begins without a run.
    pub fn new(_: &Machine, command: &[String], labels: &[(String, String)], tdp: Option<f64>) -> Self {
        let (command, labels) = (command.to_vec(), labels.to_vec());
        Self { command, labels, tdp, runs: Vec::new(), drain: None, doubts: Vec::new() }
    }

    /// Adds a run.
    pub fn push(&mut self, run: Run) {
        self.runs.push(run);
    }

    /// The runs that count: those that ended by themselves, or all if there is no such run.
    pub fn counted(&self) -> impl Iterator<Item = &Run> {
        let any = self.runs.iter().any(|run| !run.interrupted);
        self.runs.iter().filter(move |run| !run.interrupted || !any)
    }

    /// The median of a value of the runs that count.
    pub fn median(&self, value: impl Fn(&Run) -> Option<f64>) -> Option<Median> {
        Median::of(&self.counted().filter_map(value).collect::<Vec<_>>())
    }

    /// Judges the figures of each run; of the sentences of several runs about the same domain, the first is kept.
    pub fn judge(&mut self, machine: &Machine) {
        let mut doubts: Vec<(String, String)> = Vec::new();
        let domains = &machine.meters.domains;
        for run in &self.runs {
            let known: Vec<_> =
                domains.iter().zip(&run.energy).filter_map(|(m, e)| Some((&m.domain, e.as_ref().ok()?))).collect();
            // The power of a core domain is within that of its package, which is judged.
            let of_limit = known.iter().filter(|(domain, _)| domain.part != Part::Core || domain.limit.is_some());
            let power = of_limit
                .filter_map(|(domain, e)| Some((domain.name.clone(), doubtful_power(domain, e.watts, self.tdp)?)));
            for (about, doubt) in power.chain(doubtful_parts(&known)) {
                if doubts.iter().all(|(known, _)| *known != about) {
                    doubts.push((about, doubt));
                }
            }
        }
        self.doubts = doubts.into_iter().map(|(_, doubt)| doubt).collect();
    }

    /// The figures of a domain, by its place in the machine's list.
    pub fn summary(&self, domain: usize) -> Summary {
        let of = |run: &Run| run.energy.get(domain).and_then(|energy| energy.as_ref().ok()).cloned();
        let complete = |estimate: &Estimate| estimate.unknown.is_empty();
        let mut why: Vec<String> = Vec::new();
        let mut uncertain: f64 = 0.0;
        for run in self.counted() {
            let said = match run.energy.get(domain) {
                Some(Err(refused)) => vec![refused.to_string()],
                Some(Ok(estimate)) => {
                    uncertain =
                        uncertain.max((estimate.high - estimate.low) / 2.0 / estimate.joules.max(f64::MIN_POSITIVE));
                    let at = |at: Ns| (at - run.span.start).0 as f64 * 1e-9;
                    let times = estimate.unknown.iter();
                    times
                        .map(|(span, why)| {
                            format!("unknown from {:.1} to {:.1} s: {why}", at(span.start).max(0.0), at(span.end))
                        })
                        .collect()
                }
                None => Vec::new(),
            };
            why.extend(said);
        }
        why.dedup();
        Summary {
            joules: self
                .median(|run| of(run).filter(complete).map(|e| e.joules))
                .or_else(|| self.median(|run| of(run).map(|e| e.joules))),
            watts: self.median(|run| of(run).map(|e| e.watts)),
            per_unit: self.median(|run| of(run).filter(complete).zip(run.work).map(|(e, work)| e.joules / work)),
            uncertain,
            why,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_have_an_interval_from_six_values_on() {
        let few = Median::of(&[3.0, 1.0, 2.0]).unwrap();
        assert_eq!((few.value, few.ends, few.is_interval), (2.0, [1.0, 3.0], false));
        assert_eq!(Median::of(&[1.0, 2.0]).unwrap().value, 1.5);
        let six = Median::of(&[6.0, 5.0, 4.0, 3.0, 2.0, 1.0]).unwrap();
        assert_eq!((six.value, six.ends, six.is_interval, six.n), (3.5, [1.0, 6.0], true, 6));
        assert_eq!(Median::of(&[]), None);
    }

    #[test]
    fn a_battery_is_timed_by_its_steps_and_a_step_of_two_percents_counts_twice() {
        let at = |s: i64| Ns(s * 1_000_000_000);
        let percents = Percents { high: 90, low: 87 };
        let mut drain =
            Drain { name: "BAT0".into(), percents, changes: vec![(at(0), 90), (at(60), 89)], charged: false };
        assert!(!drain.is_complete());
        drain.changes.push((at(180), 87));
        assert!(drain.is_complete());
        let seconds = drain.seconds_of_a_percent();
        assert!(seconds.len() == 3 && seconds.iter().all(|s| (s - 60.0).abs() < 1e-9), "{seconds:?}");
        assert!(drain.whole_s().is_some_and(|whole| (whole - 6000.0).abs() < 1e-6));
    }

    #[test]
    fn document_004_s_batteries_last_as_long_as_it_says() {
        // 1 % in 1 minute and in 2.5 minutes: 100 and 250 minutes.
        let percents = Percents { high: 90, low: 80 };
        let whole = |step: i64| {
            let changes = (0..=10).map(|n| (Ns(n * step * 1_000_000_000), 90 - n)).collect();
            Drain { name: String::new(), percents, changes, charged: false }.whole_s().map(|s| s / 60.0)
        };
        for (step, minutes) in [(60, 100.0), (150, 250.0)] {
            assert!(whole(step).is_some_and(|whole| (whole - minutes).abs() < 1e-6), "{step} s");
        }
    }
}
