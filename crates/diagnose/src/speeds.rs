//! How much slower threads run in one place than in another, estimated from their own work in both.
//!
//! A thread that repeats the same work takes longer in a slower place. Its running time from one wait to the next (a CPU burst,
//! table `cpu_bursts`) is compared in pairs, one of each place: the median of the pairs' ratios is the Hodges-Lehmann estimate of the
//! shift between the two (on logarithms; Hollander, Wolfe and Chicken, *Nonparametric Statistical Methods*, 4.2). It is robust
//! against bursts of other work, as long as they occur in both places.

use crate::context::RuleContext;
use engine::EngineError;
use model::tables::cpu_bursts;
use model::words::grouped;
use model::{Ns, ThreadKey};
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// The minimum number of bursts in each place.
const MIN_BURSTS: f64 = 8.0;

/// Bursts shorter than this share of the burst length at which half of the place's time is reached are left out: they only check
/// for work.
const MIN_PART: f64 = 0.25;

/// Standard errors on either side of the best estimate: 19 of 20 values lie within two.
const ERRORS: f64 = 2.0;

/// Lower speeds, or speeds above 1, are not plausible for a core or a sibling: the work was not the same.
const SLOWEST_CORE: f64 = 0.125;
const SLOWEST_SIBLING: f64 = 0.4;

/// The maximum number of threads, those that ran most, that determine the general speed.
const MAX_SAMPLED_THREADS: usize = 64;

/// The uncertainty from the steps of the table's lengths: half of the widest.
const STEP: f64 = 1.0 / 32.0;

/// The speed of a thread in the slower place relative to the faster one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Speed {
    pub(crate) best: f64,
    /// The lower and upper bound.
    pub(crate) range: [f64; 2],
    /// Bursts in the slower and in the faster place.
    pub(crate) bursts: [i64; 2],
}

/// Bursts by length: its logarithm, and their number.
type Lengths = Vec<(f64, f64)>;

/// Where a thread ran.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    class: i64,
    /// Whether the SMT sibling was busy.
    sibling_busy: bool,
}

/// The bursts of all threads.
#[derive(Default)]
pub(crate) struct Speeds {
    by_thread: BTreeMap<ThreadKey, BTreeMap<Place, Lengths>>,
    fastest: i64,
    /// The general speed ([`Self::slower_in_general`]), once calculated.
    general: OnceCell<Option<f64>>,
}

impl Speeds {
    /// Reads the table.
    pub(crate) fn new(ctx: &RuleContext<'_>) -> Result<Self, EngineError> {
        let mut speeds = Self::default();
        ctx.each_row(cpu_bursts::Table, |row| {
            let (thread, bursts, running) = row.all((cpu_bursts::THREAD, cpu_bursts::BURSTS, cpu_bursts::RUNNING_NS));
            let sibling_busy = match row.get(cpu_bursts::SIBLING.or_empty()) {
                "idle" | "none" => false,
                "busy" => true,
                _ => return,
            };
            if let (Some(class), Some(_), 1.., Ns(1..)) =
                (row.get(cpu_bursts::CORE_CLASS), row.get(cpu_bursts::FROM_NS), bursts, running)
            {
                speeds.fastest = speeds.fastest.max(class);
                let lengths =
                    speeds.by_thread.entry(thread).or_default().entry(Place { class, sibling_busy }).or_default();
                lengths.push(((running.as_f64() / bursts as f64).ln(), bursts as f64));
            }
        })?;
        Ok(speeds)
    }

    /// The speed of a thread on cores slower than the fastest class, both without a busy sibling; `None` if its bursts do not show it.
    pub(crate) fn slower(&self, thread: ThreadKey) -> Option<Speed> {
        let places = self.by_thread.get(&thread)?;
        let fast = places.get(&Place { class: self.fastest, sibling_busy: false })?;
        let slow = places.iter().filter(|(place, _)| place.class < self.fastest && !place.sibling_busy);
        let slow: Lengths = slow.flat_map(|(_, lengths)| lengths).copied().collect();
        speed(&slow, fast).filter(|s| s.range[1] >= SLOWEST_CORE).and_then(Speed::at_most_one)
    }

    /// The same for threads in general: the median of the known threads that ran most.
    pub(crate) fn slower_in_general(&self) -> Option<f64> {
        *self.general.get_or_init(|| {
            let ran = |places: &BTreeMap<Place, Lengths>| places.values().flatten().map(time).sum::<f64>();
            let mut threads: Vec<(f64, ThreadKey)> =
                self.by_thread.iter().map(|(thread, places)| (ran(places), *thread)).collect();
            threads.sort_by(|a, b| b.0.total_cmp(&a.0));
            let known = threads.iter().filter_map(|(_, thread)| self.slower(*thread)).take(MAX_SAMPLED_THREADS);
            let mut known: Vec<f64> = known.map(|speed| speed.best).collect();
            known.sort_by(f64::total_cmp);
            known.get(known.len() / 2).copied()
        })
    }

    /// The speed of a thread while its SMT sibling is busy, relative to alone on the same core class: the fastest class with data.
    pub(crate) fn with_busy_sibling(&self, thread: ThreadKey) -> Option<Speed> {
        let places = self.by_thread.get(&thread)?;
        let known = places
            .iter()
            .rev()
            .filter(|(place, _)| place.sibling_busy)
            .find_map(|(place, slow)| speed(slow, places.get(&Place { sibling_busy: false, ..*place })?));
        known.filter(|s| s.range[1] >= SLOWEST_SIBLING).and_then(Speed::at_most_one)
    }
}

impl Speed {
    fn at_most_one(self) -> Option<Self> {
        let Self { best, range: [least, most], bursts } = self;
        (least <= 1.0).then_some(Self { best: best.min(1.0), range: [least, most.min(1.0)], bursts })
    }

    /// The data that it is based on, in words.
    pub(crate) fn words(&self) -> String {
        let [slow, fast] = self.bursts.map(grouped);
        format!(
            "{} bursts between its waits in the slower place and {} in the faster one: {:.2} ({:.2} to {:.2})",
            slow, fast, self.best, self.range[0], self.range[1]
        )
    }
}

/// The total time of the bursts of a length.
fn time((ln, bursts): &(f64, f64)) -> f64 {
    ln.exp() * bursts
}

/// The bursts that are work, in order of length.
fn work(of: &Lengths) -> Lengths {
    let mut of = of.clone();
    of.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = quantile(&of, time, 0.5);
    of.retain(|(ln, _)| *ln >= half + MIN_PART.ln());
    of
}

/// The first number, of pairs in order, at which a share of the sum of weights is reached.
fn quantile(of: &[(f64, f64)], weight: impl Fn(&(f64, f64)) -> f64, part: f64) -> f64 {
    let all: f64 = of.iter().map(&weight).sum();
    let mut sum = 0.0;
    let reached = of.iter().find(|pair| {
        sum += weight(pair);
        sum >= part * all
    });
    reached.or(of.last()).map_or(0.0, |(number, _)| *number)
}

/// Compares the bursts in two places.
fn speed(slow: &Lengths, fast: &Lengths) -> Option<Speed> {
    let (slow, fast) = (work(slow), work(fast));
    let count = |of: &Lengths| of.iter().map(|(_, bursts)| bursts).sum::<f64>();
    if count(&slow).min(count(&fast)) < MIN_BURSTS {
        return None;
    }
    let mut pairs = Vec::with_capacity(slow.len() * fast.len());
    for (there, bursts) in &slow {
        pairs.extend(fast.iter().map(|(here, others)| (here - there, bursts * others)));
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let [low, middle, high] = [0.25, 0.5, 0.75].map(|part| quantile(&pairs, |(_, pairs)| *pairs, part));
    // The quartiles of a normal difference are 1.349 standard deviations apart; each of the two has that divided by the root of 2.
    let spread = (high - low) / 1.349 / std::f64::consts::SQRT_2;
    let error = ERRORS * spread * (1.0 / count(&slow) + 1.0 / count(&fast)).sqrt() + STEP;
    Some(Speed {
        best: middle.exp(),
        range: [(middle - error).exp(), (middle + error).exp()],
        bursts: [count(&slow), count(&fast)].map(|bursts| bursts as i64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bursts of the given lengths in ns.
    fn bursts(of: &[(f64, f64)]) -> Lengths {
        of.iter().map(|(ns, count)| (f64::ln(*ns), *count)).collect()
    }

    #[test]
    fn the_speed_is_found_despite_other_work() {
        // Twice as slow; a third of the bursts is of three times the work, and checks for work take the same time in both places.
        let fast = bursts(&[(8e3, 90.0), (1e6, 20.0), (3e6, 10.0)]);
        let slow = bursts(&[(8e3, 30.0), (2e6, 12.0), (6e6, 6.0)]);
        let result = speed(&slow, &fast).unwrap();
        assert!((result.best - 0.5).abs() < 1e-9, "{result:?}");
        assert_eq!(result.bursts, [18, 30]);
        assert!(result.range[0] < 0.5 && 0.5 < result.range[1], "{result:?}");
    }

    #[test]
    fn too_few_bursts_in_either_place_give_no_speed() {
        let (few, many) = (bursts(&[(1e6, 7.0)]), bursts(&[(2e6, 100.0)]));
        assert_eq!(speed(&few, &many), None);
        assert_eq!(speed(&many, &few), None);
        assert_eq!(speed(&many, &Lengths::new()), None);
    }
}
