//! How much slower threads are in one place than in another, by what they themselves did in both.
//!
//! A thread that does the same work again and again takes longer for it where it is slower. What it ran from one wait to the
//! next (a CPU burst, table `cpu_bursts`) is compared in pairs, one of each place: the median of the pairs' ratios is the
//! Hodges-Lehmann estimate of the shift between the two (on logarithms; Hollander, Wolfe and Chicken, *Nonparametric Statistical
//! Methods*, 4.2). It does not mind that some bursts are of other work, as long as they are so in both places.

use crate::given::Given;
use engine::EngineError;
use model::tables::cpu_bursts;
use model::words::grouped;
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// Fewer bursts in one of the places tell nothing.
const LEAST_BURSTS: f64 = 8.0;

/// Bursts are left out that are shorter than this part of the one at which half of the place's time is reached: they are a look at
/// what there is to do, not the work.
const LEAST_PART: f64 = 0.25;

/// Standard errors to either side of the best estimate: 19 of 20 are within two.
const ERRORS: f64 = 2.0;

/// Slower than that, or faster than alone on the fastest core, is no core and no sibling: then the work was not the same.
const SLOWEST_CORE: f64 = 0.125;
const SLOWEST_SIBLING: f64 = 0.4;

/// So many threads say how fast they are where others do not, those that ran most.
const ASKED: usize = 64;

/// What the steps of the table's lengths leave open: half of the widest.
const STEP: f64 = 1.0 / 32.0;

/// By how much slower a thread is in one place than in another: what it does there in a second, by what it does here.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Speed {
    pub(crate) best: f64,
    /// The least and the most that it may be.
    pub(crate) range: [f64; 2],
    /// Bursts in the slower and in the faster place.
    pub(crate) bursts: [i64; 2],
}

/// Bursts of one length: its logarithm, and how many.
type Lengths = Vec<(f64, f64)>;

/// Where a thread ran.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    class: i64,
    /// Beside a busy sibling.
    beside: bool,
}

/// The bursts of all threads.
#[derive(Default)]
pub(crate) struct Speeds {
    of: BTreeMap<i64, BTreeMap<Place, Lengths>>,
    fastest: i64,
    /// What threads do in general ([`Self::slower_in_general`]), once it was asked for.
    general: OnceCell<Option<f64>>,
}

impl Speeds {
    /// Reads them.
    pub(crate) fn new(given: &Given<'_>) -> Result<Self, EngineError> {
        let mut speeds = Self::default();
        given.each(cpu_bursts::Table, |row| {
            let [thread, bursts, running] = row.all([cpu_bursts::THREAD, cpu_bursts::BURSTS, cpu_bursts::RUNNING_NS]);
            let beside = match row.get(cpu_bursts::SIBLING.or_empty()) {
                "idle" | "none" => false,
                "busy" => true,
                _ => return,
            };
            if let (Some(class), Some(_), 1.., 1..) =
                (row.get(cpu_bursts::CORE_CLASS), row.get(cpu_bursts::FROM_NS), bursts, running)
            {
                speeds.fastest = speeds.fastest.max(class);
                let lengths = speeds.of.entry(thread).or_default().entry(Place { class, beside }).or_default();
                lengths.push(((running as f64 / bursts as f64).ln(), bursts as f64));
            }
        })?;
        Ok(speeds)
    }

    /// How fast a thread is on cores slower than those of the fastest class, both without a busy sibling; none where its bursts do not tell.
    pub(crate) fn slower(&self, thread: i64) -> Option<Speed> {
        let places = self.of.get(&thread)?;
        let fast = places.get(&Place { class: self.fastest, beside: false })?;
        let slow = places.iter().filter(|(place, _)| place.class < self.fastest && !place.beside);
        let slow: Lengths = slow.flat_map(|(_, lengths)| lengths).copied().collect();
        speed(&slow, fast).filter(|s| s.range[1] >= SLOWEST_CORE).and_then(Speed::at_most_one)
    }

    /// The same in general: of the threads that tell it, and ran most, the one in the middle.
    pub(crate) fn slower_in_general(&self) -> Option<f64> {
        *self.general.get_or_init(|| {
            let ran = |places: &BTreeMap<Place, Lengths>| places.values().flatten().map(time).sum::<f64>();
            let mut threads: Vec<(f64, i64)> = self.of.iter().map(|(thread, places)| (ran(places), *thread)).collect();
            threads.sort_by(|a, b| b.0.total_cmp(&a.0));
            let told = threads.iter().filter_map(|(_, thread)| self.slower(*thread)).take(ASKED);
            let mut told: Vec<f64> = told.map(|speed| speed.best).collect();
            told.sort_by(f64::total_cmp);
            told.get(told.len() / 2).copied()
        })
    }

    /// How fast a thread is beside a busy sibling, by how fast it is alone on a core of the same class, the fastest of which its bursts tell.
    pub(crate) fn beside(&self, thread: i64) -> Option<Speed> {
        let places = self.of.get(&thread)?;
        let told = places
            .iter()
            .rev()
            .filter(|(place, _)| place.beside)
            .find_map(|(place, slow)| speed(slow, places.get(&Place { beside: false, ..*place })?));
        told.filter(|s| s.range[1] >= SLOWEST_SIBLING).and_then(Speed::at_most_one)
    }
}

impl Speed {
    fn at_most_one(self) -> Option<Self> {
        let Self { best, range: [least, most], bursts } = self;
        (least <= 1.0).then_some(Self { best: best.min(1.0), range: [least, most.min(1.0)], bursts })
    }

    /// What it rests on.
    pub(crate) fn words(&self) -> String {
        let [slow, fast] = self.bursts.map(grouped);
        format!(
            "{} bursts there and {} elsewhere between its waits: {:.2} ({:.2} to {:.2})",
            slow, fast, self.best, self.range[0], self.range[1]
        )
    }
}

/// The time of the bursts of a length.
fn time((ln, bursts): &(f64, f64)) -> f64 {
    ln.exp() * bursts
}

/// The work among bursts, in order of length.
fn work(of: &Lengths) -> Lengths {
    let mut of = of.clone();
    of.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = quantile(&of, time, 0.5);
    of.retain(|(ln, _)| *ln >= half + LEAST_PART.ln());
    of
}

/// Of pairs in order, the first number at which a part of the sum of weights is reached.
fn quantile(of: &[(f64, f64)], weight: impl Fn(&(f64, f64)) -> f64, part: f64) -> f64 {
    let all: f64 = of.iter().map(&weight).sum();
    let mut sum = 0.0;
    let reached = of.iter().find(|pair| {
        sum += weight(pair);
        sum >= part * all
    });
    reached.or(of.last()).map_or(0.0, |(number, _)| *number)
}

/// By the bursts in the two places.
fn speed(slow: &Lengths, fast: &Lengths) -> Option<Speed> {
    let (slow, fast) = (work(slow), work(fast));
    let count = |of: &Lengths| of.iter().map(|(_, bursts)| bursts).sum::<f64>();
    if count(&slow).min(count(&fast)) < LEAST_BURSTS {
        return None;
    }
    let mut pairs = Vec::with_capacity(slow.len() * fast.len());
    for (there, bursts) in &slow {
        pairs.extend(fast.iter().map(|(here, others)| (here - there, bursts * others)));
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let [low, middle, high] = [0.25, 0.5, 0.75].map(|part| quantile(&pairs, |(_, pairs)| *pairs, part));
    // The quartiles of a normal difference lie 1.349 standard deviations apart; of each of the two it is as much over the root of 2.
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

    /// Bursts of so many ns each.
    fn bursts(of: &[(f64, f64)]) -> Lengths {
        of.iter().map(|(ns, count)| (f64::ln(*ns), *count)).collect()
    }

    #[test]
    fn the_same_work_tells_the_speed_whatever_else_is_run() {
        // Twice as slow; a third of the bursts is of three times the work, and looks for work cost the same in both places.
        let fast = bursts(&[(8e3, 90.0), (1e6, 20.0), (3e6, 10.0)]);
        let slow = bursts(&[(8e3, 30.0), (2e6, 12.0), (6e6, 6.0)]);
        let told = speed(&slow, &fast).unwrap();
        assert!((told.best - 0.5).abs() < 1e-9, "{told:?}");
        assert_eq!(told.bursts, [18, 30]);
        assert!(told.range[0] < 0.5 && 0.5 < told.range[1], "{told:?}");
    }

    #[test]
    fn few_bursts_in_either_place_tell_nothing() {
        let (few, many) = (bursts(&[(1e6, 7.0)]), bursts(&[(2e6, 100.0)]));
        assert_eq!(speed(&few, &many), None);
        assert_eq!(speed(&many, &few), None);
        assert_eq!(speed(&many, &Lengths::new()), None);
    }
}
