//! How alike two groups of two sides are, 0 to 1.

use super::profile::{INTERRUPTS, Profile};
use super::shares::Shares;

/// Which groups of the two sides are already known to be the same: the partner of a group by side.
pub(super) trait Partners {
    /// A number that two matched groups share; `None` if the group is not matched.
    fn pair(&self, side: usize, group: usize) -> Option<usize>;
}

/// Weights of the features. Which threads wake each other, and what they wait for, depends on the code. Times depend on the load too.
const NEIGHBOURS: f64 = 2.0;
const WAITS: f64 = 2.0;
const ORDER: f64 = 2.0;
const AMOUNT: f64 = 1.0;
/// Amounts below these are alike: noise.
const MIN_SHARE: f64 = 0.002;
const MIN_WAKINGS: f64 = 2.0;
const MIN_RUN_NS: f64 = 5_000.0;

/// The similarity of a group of side 0 and one of side 1.
pub(super) fn alike(groups: [usize; 2], of: [&Profile; 2], partners: &impl Partners) -> f64 {
    let [a, b] = of;
    let mut sum = Sum::default();
    let amount = |x: f64, y: f64, least: f64| (x.max(least).min(y.max(least)) / x.max(y).max(least)).sqrt();
    sum.add(1.5 * AMOUNT, Some(amount(a.share, b.share, MIN_SHARE)));
    sum.add(AMOUNT, Some(amount(a.threads, b.threads, 1.0)));
    sum.add(AMOUNT, Some(amount(a.wakings, b.wakings, MIN_WAKINGS)));
    sum.add(AMOUNT, Some(amount(a.run_ns, b.run_ns, MIN_RUN_NS)));
    sum.add(AMOUNT, Some(amount(a.busy, b.busy, MIN_SHARE)));
    sum.add(AMOUNT, Some(1.0 - (a.exited - b.exited).abs()));
    sum.add(ORDER, a.order.zip(b.order).map(|(a, b)| (1.0 - 2.0 * (a - b).abs()).max(0.0)));
    sum.add(WAITS, common(&a.waits, &b.waits));
    let near = |side: usize, edges: &[(usize, f64)]| {
        let own = groups.get(side).copied();
        let mut shares = Shares::default();
        for (group, count) in edges {
            let label = match partners.pair(side, *group) {
                _ if *group == INTERRUPTS => 0,
                _ if Some(*group) == own => 1,
                Some(pair) => pair + 3,
                None => 2,
            };
            shares.add(label, *count);
        }
        shares
    };
    sum.add(NEIGHBOURS, common(&near(0, &a.wakers), &near(1, &b.wakers)));
    sum.add(NEIGHBOURS, common(&near(0, &a.woken), &near(1, &b.woken)));
    sum.of()
}

/// The common part of two distributions; `None` if both are unknown.
fn common(a: &Shares, b: &Shares) -> Option<f64> {
    match (a.is_empty(), b.is_empty()) {
        (true, true) => None,
        (false, false) => Some(1.0 - a.distance(b)),
        _ => Some(0.3),
    }
}

/// A weighted mean.
#[derive(Default)]
pub(super) struct Sum {
    weights: f64,
    values: f64,
}

impl Sum {
    pub(super) fn add(&mut self, weight: f64, value: Option<f64>) {
        if let Some(value) = value {
            self.weights += weight;
            self.values += weight * value;
        }
    }

    pub(super) fn of(&self) -> f64 {
        if self.weights > 0.0 { self.values / self.weights } else { 0.0 }
    }
}
