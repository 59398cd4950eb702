//! What to run next: the order within pairs, when there are enough pairs, and how long the rest takes.

use fastrand::Rng;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The smallest number of pairs after which the width of the interval may end the runs: with fewer, no 95 % interval of Wilcoxon's signed
/// rank exists, as the smallest p-value of five pairs is 2/2⁵ = 0.0625.
pub const MIN_PAIRS: usize = 6;

/// One of the two commands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The first one.
    A,
    /// The second one.
    B,
}

impl Side {
    /// Both sides.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// Returns the other side.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// Returns its place in an array of both sides.
    #[must_use]
    pub fn index(self) -> usize {
        match self {
            Self::A => 0,
            Self::B => 1,
        }
    }

    /// Returns its name in the names of files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
        }
    }
}

/// Returns a seed, short enough to be typed.
#[must_use]
pub fn new_seed() -> u32 {
    fastrand::u32(..)
}

/// The order within pairs: random, and balanced. Of the pairs 1 and 2, of 3 and 4, …, one begins with A and one with B. So a drift over
/// time has the same effect on both sides (randomised blocks; Fisher, The Design of Experiments, 1935).
#[derive(Clone, Debug)]
pub struct Order {
    random: Rng,
    /// What the second pair of a block begins with.
    second: Option<Side>,
}

impl Order {
    /// Returns the order of a seed. The same seed has the same order.
    #[must_use]
    pub fn new(seed: u32) -> Self {
        Self { random: Rng::with_seed(u64::from(seed)), second: None }
    }
}

impl Iterator for Order {
    type Item = [Side; 2];

    /// Returns the order of the next pair.
    fn next(&mut self) -> Option<[Side; 2]> {
        let first = self.second.take().unwrap_or_else(|| {
            let first = if self.random.bool() { Side::A } else { Side::B };
            self.second = Some(first.other());
            first
        });
        Some([first, first.other()])
    }
}

/// When there are enough pairs.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// After this number of pairs.
    Runs(usize),
    /// When the interval is narrow enough, never because of where it lies: stopping when a difference becomes significant finds
    /// differences that do not exist.
    Until {
        /// The half-width of the 95 % interval, as a share of the estimate.
        half_width: f64,
        /// The largest number of pairs.
        max_runs: usize,
    },
}

/// Where the runs are on the way to their end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Approach {
    /// More pairs are needed: about this many.
    Left(usize),
    /// There are enough pairs.
    Reached,
    /// There are as many pairs as allowed, and the interval is wider than requested.
    TooWide,
}

impl Stop {
    /// Returns the largest number of pairs.
    #[must_use]
    pub fn max_pairs(self) -> usize {
        match self {
            Self::Runs(n) => n,
            Self::Until { max_runs, .. } => max_runs,
        }
    }

    /// Returns how many pairs are left after `pairs` pairs, if the half-width is the given share of the estimate.
    #[must_use]
    pub fn approach(self, pairs: usize, half_width: Option<f64>) -> Approach {
        match self {
            Self::Runs(n) if pairs >= n => Approach::Reached,
            Self::Runs(n) => Approach::Left(n - pairs),
            Self::Until { max_runs, half_width: wanted } => {
                let is_narrow = half_width.is_some_and(|is| is <= wanted);
                if pairs >= MIN_PAIRS.min(max_runs) && is_narrow {
                    return Approach::Reached;
                }
                if pairs >= max_runs {
                    return Approach::TooWide;
                }
                // The width falls with the square root of the number of pairs.
                let needed = half_width.map_or(max_runs as f64, |is| pairs as f64 * (is / wanted).powi(2));
                let needed = (needed.ceil().min(max_runs as f64) as usize).max(MIN_PAIRS.min(max_runs));
                Approach::Left(needed.saturating_sub(pairs).max(1))
            }
        }
    }
}

/// Returns how long to wait before a disturbed pair is recorded again: 1, 2, 4, 8 s, then 16 s, so that one disturbance does not use up all
/// repeats. `attempt` is the number of the attempt that was disturbed, from 1.
#[must_use]
pub fn pause(attempt: usize) -> Duration {
    Duration::from_secs(1 << attempt.saturating_sub(1).min(4))
}

/// Returns how long the rest takes, if the pairs that are left take as long as those so far, repeats included; `None` before the first.
#[must_use]
pub fn time_left(spent: Duration, pairs: usize, left: usize) -> Option<Duration> {
    let pair = spent.checked_div(u32::try_from(pairs).ok()?)?;
    Some(pair.saturating_mul(u32::try_from(left).unwrap_or(u32::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UNTIL: Stop = Stop::Until { half_width: 0.01, max_runs: 50 };

    #[test]
    fn the_order_of_a_seed_is_stable() {
        // `--seed` repeats an order, also with later versions of the random numbers.
        let order: String = Order::new(1).take(16).map(|[first, _]| first.word()).collect();
        assert_eq!(order, "babaababbaabbaab");
    }

    #[test]
    fn a_number_of_runs_ends_whatever_the_width() {
        assert_eq!(Stop::Runs(3).approach(2, Some(0.0)), Approach::Left(1));
        assert_eq!(Stop::Runs(3).approach(3, None), Approach::Reached);
    }

    #[test]
    fn a_width_ends_only_after_enough_pairs() {
        assert_eq!(UNTIL.approach(0, None), Approach::Left(50), "nothing is known yet");
        assert_eq!(UNTIL.approach(5, Some(0.001)), Approach::Left(1), "too few for an interval");
        assert_eq!(UNTIL.approach(6, Some(0.001)), Approach::Reached);
        assert_eq!(
            UNTIL.approach(6, Some(0.02)),
            Approach::Left(18),
            "a quarter of the variance needs four times the pairs"
        );
        assert_eq!(UNTIL.approach(50, Some(0.02)), Approach::TooWide);
        assert_eq!(UNTIL.approach(50, None), Approach::TooWide);
    }

    #[test]
    fn the_rest_takes_as_long_as_before() {
        assert_eq!(time_left(Duration::from_secs(6), 0, 10), None);
        assert_eq!(time_left(Duration::from_secs(6), 3, 7), Some(Duration::from_secs(14)));
    }

    #[test]
    fn pauses_grow_and_are_bounded() {
        assert_eq!([1, 2, 3, 4, 5, 6, 1000].map(|n| pause(n).as_secs()), [1, 2, 4, 8, 16, 16, 16]);
    }

    proptest! {
        /// After every number of pairs, A and B began equally often, or one of them once more.
        #[test]
        fn the_order_is_balanced(seed: u32, pairs in 0_usize..100) {
            let firsts = Order::new(seed).take(pairs).filter(|[first, second]| {
                assert_ne!(first, second);
                *first == Side::A
            }).count();
            prop_assert!(firsts.abs_diff(pairs - firsts) <= 1, "{} of {}", firsts, pairs);
        }

        /// Both orders occur as first pair: the seed decides.
        #[test]
        fn seeds_differ(start in 0_u32..u32::MAX - 64) {
            let firsts = (start..start + 64).filter(|seed| Order::new(*seed).next() == Some([Side::A, Side::B])).count();
            prop_assert!((8..=56).contains(&firsts), "{} of 64 seeds begin with A", firsts);
        }

        /// The runs always end, after at least 6 pairs and at most as many as allowed.
        #[test]
        fn runs_end(widths in proptest::collection::vec(proptest::option::of(0.0..0.1_f64), 60)) {
            let mut pairs = 0;
            while let Approach::Left(left) = UNTIL.approach(pairs, widths[pairs]) {
                prop_assert!(left >= 1 && pairs + left <= 50);
                pairs += 1;
            }
            prop_assert!((MIN_PAIRS..=50).contains(&pairs));
        }
    }
}
