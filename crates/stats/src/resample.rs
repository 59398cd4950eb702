//! Resamples of one series in blocks, each statistic in far fewer steps than there are values.

use crate::order::{between, place};
use fastrand::Rng;

/// How a statistic of a resample is calculated.
pub(crate) trait Resample {
    /// Begins a resample.
    fn begin(&mut self);
    /// Adds the values `from` to `to` (exclusive).
    fn add(&mut self, from: usize, to: usize);
    /// The statistic of what was added; `None` if it is outside of what was prepared.
    fn end(&mut self) -> Option<f64>;
}

/// Draws a resample of `len` values of a circular series in blocks (Politis & Romano 1992): every place is in as many blocks as any other.
pub(crate) fn draw(of: &mut impl Resample, len: usize, block: usize, random: &mut Rng) -> Option<f64> {
    of.begin();
    let mut left = len;
    while left > 0 {
        let (from, take) = (random.usize(..len), block.min(left));
        let end = from + take;
        of.add(from, end.min(len));
        if end > len {
            of.add(0, end - len);
        }
        left -= take;
    }
    of.end()
}

/// The mean, from sums of all values before a place.
pub(crate) struct Mean {
    /// Sums of distances from the series' mean, which are small and so add up exactly enough.
    before: Vec<f64>,
    mean: f64,
    sum: f64,
}

impl Mean {
    pub(crate) fn new(values: &[f64]) -> Self {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let mut sum = 0.0;
        let mut before = vec![0.0];
        before.extend(values.iter().map(|value| {
            sum += value - mean;
            sum
        }));
        Self { before, mean, sum: 0.0 }
    }
}

impl Resample for Mean {
    fn begin(&mut self) {
        self.sum = 0.0;
    }

    fn add(&mut self, from: usize, to: usize) {
        self.sum += self.before[to] - self.before[from];
    }

    fn end(&mut self) -> Option<f64> {
        Some(self.mean + self.sum / (self.before.len() - 1) as f64)
    }
}

/// A quantile. Only values near it are counted one by one; of those below, only the number matters.
pub(crate) struct Quantile {
    q: f64,
    /// The values near the quantile, in order of size.
    near: Vec<f64>,
    /// How many values before a place are below all of them.
    below: Vec<u32>,
    /// How many values before a place are near.
    near_before: Vec<u32>,
    /// The near values in order of time, by their index in `near`.
    in_time: Vec<u32>,
    /// How often each near value was added, and how many values below.
    counts: Vec<u32>,
    added_below: usize,
}

impl Quantile {
    /// Prepares for quantiles that are at most `reach` ranks away from that of the series itself.
    pub(crate) fn new(values: &[f64], q: f64, reach: usize) -> Self {
        let len = values.len();
        let mut order: Vec<u32> = (0..len as u32).collect();
        order.sort_unstable_by(|&i, &j| values[i as usize].total_cmp(&values[j as usize]));
        let middle = place(len, q).0;
        let (first, end) = (middle.saturating_sub(reach), (middle + reach + 2).min(len));
        let near: Vec<f64> = order[first..end].iter().map(|&i| values[i as usize]).collect();
        let mut rank = vec![0u32; len];
        for (at, &i) in order.iter().enumerate() {
            rank[i as usize] = at as u32;
        }
        let (mut below, mut near_before, mut in_time) = (vec![0], vec![0], Vec::with_capacity(near.len()));
        let mut number_below = 0;
        for rank in rank {
            let rank = rank as usize;
            if rank < first {
                number_below += 1;
            } else if rank < end {
                in_time.push((rank - first) as u32);
            }
            below.push(number_below);
            near_before.push(in_time.len() as u32);
        }
        let counts = vec![0; near.len()];
        Self { q, near, below, near_before, in_time, counts, added_below: 0 }
    }
}

impl Resample for Quantile {
    fn begin(&mut self) {
        self.counts.fill(0);
        self.added_below = 0;
    }

    fn add(&mut self, from: usize, to: usize) {
        self.added_below += (self.below[to] - self.below[from]) as usize;
        for &near in &self.in_time[self.near_before[from] as usize..self.near_before[to] as usize] {
            self.counts[near as usize] += 1;
        }
    }

    fn end(&mut self) -> Option<f64> {
        let len = self.below.len() - 1;
        let (low, part) = place(len, self.q);
        let mut sum = self.added_below;
        if low < sum {
            return None;
        }
        let mut found = None;
        for (value, &count) in self.near.iter().zip(&self.counts).filter(|(_, count)| **count > 0) {
            if let Some(found) = found {
                return Some(between(found, *value, part));
            }
            sum += count as usize;
            if sum > low + 1 || (sum > low && part == 0.0) {
                return Some(*value);
            }
            found = (sum > low).then_some(*value);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantile;

    /// Adds values one by one, to compare.
    struct Plain<'a>(&'a [f64], Vec<f64>);

    impl Resample for Plain<'_> {
        fn begin(&mut self) {
            self.1.clear();
        }
        fn add(&mut self, from: usize, to: usize) {
            self.1.extend(&self.0[from..to]);
        }
        fn end(&mut self) -> Option<f64> {
            Some(0.0)
        }
    }

    #[test]
    fn a_resample_has_the_statistics_of_its_values() {
        let mut random = Rng::with_seed(7);
        let values: Vec<f64> = (0..200).map(|_| (random.f64() * 50.0).floor()).collect();
        for seed in 0..50 {
            for block in [1, 7, 60] {
                let mut plain = Plain(&values, Vec::new());
                draw(&mut plain, values.len(), block, &mut Rng::with_seed(seed));
                assert_eq!(plain.1.len(), values.len());
                let mean = draw(&mut Mean::new(&values), values.len(), block, &mut Rng::with_seed(seed)).unwrap();
                assert!((mean - plain.1.iter().sum::<f64>() / 200.0).abs() < 1e-10);
                for q in [0.0, 0.01, 0.5, 0.99, 1.0] {
                    let expected = quantile(&plain.1, q).unwrap();
                    let mut whole = Quantile::new(&values, q, 200);
                    assert_eq!(draw(&mut whole, 200, block, &mut Rng::with_seed(seed)), Some(expected), "{q} {block}");
                    // Of a part, the same or nothing.
                    let mut part = Quantile::new(&values, q, 12);
                    let found = draw(&mut part, 200, block, &mut Rng::with_seed(seed));
                    assert!(found.is_none_or(|found| found == expected), "{q} {block}: {found:?} {expected}");
                }
            }
        }
    }
}
