//! Ratios and estimates from counts that were seen for a part of the time only, with their uncertainty.
//!
//! An event that takes turns with others counts in random pieces of the time. The estimate for all of it is the ratio estimator of survey
//! sampling: `y/x` of the pieces, times the whole `X`. Its variance is that of the residuals `y − R·x` of the pieces (Cochran, Sampling
//! Techniques, 3rd edition, 1977, eq. 6.13), with the correction `1 − x/X` for the part that was seen.
//!
//! Pieces that follow each other resemble each other, so the residuals of single readings understate the variance. They are summed over
//! blocks of time of several lengths, and the largest result counts. A length with fewer than [`MIN_BLOCKS`] blocks is not used.

use crate::plausible::MIN_RUNNING_SHARE;
use model::Ns;

/// The fewest blocks for an interval.
const MIN_BLOCKS: f64 = 8.0;

/// The lengths of blocks, in ns of the time between readings; each four times as long as the one before. 0: single readings.
const LENGTHS: [i64; 6] = [0, 4_000_000, 16_000_000, 64_000_000, 256_000_000, 1_024_000_000];

/// The sums of the blocks of one length.
#[derive(Clone, Copy, Default)]
struct Blocks {
    /// The block that is being filled: y, x, and its time in ns.
    open: (f64, f64, i64),
    n: f64,
    yy: f64,
    xy: f64,
    xx: f64,
}

/// The sums of pieces: `y` was seen with `x` (a time, or another count).
#[derive(Clone, Copy, Default)]
pub(crate) struct RatioSums {
    y: f64,
    x: f64,
    enabled: i64,
    counted: i64,
    blocks: [Blocks; LENGTHS.len()],
}

impl RatioSums {
    /// Adds a piece of `enabled` ns, in `counted` ns of which `y` and `x` were seen.
    pub(crate) fn add(&mut self, y: i64, x: i64, enabled: Ns, counted: Ns) {
        let (y, x) = (y as f64, x as f64);
        self.y += y;
        self.x += x;
        self.enabled += enabled.0;
        self.counted += counted.0;
        for (blocks, length) in self.blocks.iter_mut().zip(LENGTHS) {
            let open = &mut blocks.open;
            *open = (open.0 + y, open.1 + x, open.2 + enabled.0);
            if open.2 >= length {
                let (y, x, _) = std::mem::take(open);
                blocks.n += 1.0;
                blocks.yy += y * y;
                blocks.xy += x * y;
                blocks.xx += x * x;
            }
        }
    }

    /// The share of the time in which the counts were seen.
    pub(crate) fn share(&self) -> f64 {
        if self.enabled > 0 { (self.counted as f64 / self.enabled as f64).min(1.0) } else { 0.0 }
    }

    /// Returns y/x; `None` if they were seen for too small a share of the time.
    pub(crate) fn ratio(&self) -> Option<f64> {
        (self.share() >= MIN_RUNNING_SHARE && self.x > 0.0).then(|| self.y / self.x)
    }

    /// Returns the half-width of the 95 % interval of [`Self::ratio`]; 0 if all of the time was seen, `None` if there are too few pieces.
    pub(crate) fn half_width(&self) -> Option<f64> {
        let (ratio, share) = (self.ratio()?, self.share());
        if share >= 1.0 {
            return Some(0.0);
        }
        let of = |b: &Blocks| {
            let residuals = (b.yy - 2.0 * ratio * b.xy + ratio * ratio * b.xx).max(0.0);
            let variance = (1.0 - share) * residuals * b.n / (b.n - 1.0);
            student_95(b.n - 1.0) * variance.sqrt() / self.x
        };
        self.blocks.iter().filter(|b| b.n >= MIN_BLOCKS).map(of).reduce(f64::max)
    }
}

/// Returns the 97.5 % quantile of Student's t distribution for 7 degrees of freedom or more, by its expansion around the normal quantile
/// (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5), to 0.4 %.
fn student_95(df: f64) -> f64 {
    let z: f64 = 1.959_964;
    z + (z.powi(3) + z) / (4.0 * df) + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * df * df)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (df, expected) in [(7.0, 2.365), (10.0, 2.228), (30.0, 2.042), (1000.0, 1.962)] {
            assert!((student_95(df) / expected - 1.0).abs() < 0.004, "{df}: {}", student_95(df));
        }
    }

    #[test]
    fn what_was_seen_all_the_time_is_exact() {
        let mut sums = RatioSums::default();
        (0..3).for_each(|n| sums.add(10 + n, 5, Ns(100), Ns(100)));
        assert_eq!((sums.ratio(), sums.half_width()), (Some(33.0 / 15.0), Some(0.0)));
    }

    #[test]
    fn too_small_a_share_is_refused() {
        let mut sums = RatioSums::default();
        (0..100).for_each(|_| sums.add(1, 4, Ns(100), Ns(4)));
        assert_eq!((sums.ratio(), sums.half_width()), (None, None));
    }

    /// A program whose rate changes at random times; the event is seen in one of three slices of 4 ms.
    #[test]
    fn the_interval_contains_the_truth_in_95_percent() {
        let mut seed = 1u64;
        let mut random = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as f64 / (1u64 << 31) as f64
        };
        let mut inside = 0;
        for _ in 0..1000 {
            let (mut sums, mut truth, mut rate, mut left) = (RatioSums::default(), 0.0, 0.0, 0);
            let phase = (random() * 3.0) as usize;
            for slice in 0..750 {
                if left == 0 {
                    (rate, left) = (random(), 1 + (random() * 10.0) as usize);
                }
                left -= 1;
                let count = rate * 4e6;
                truth += count;
                let seen = slice % 3 == phase;
                let (count, counted) = if seen { (count as i64, Ns(4_000_000)) } else { (0, Ns(0)) };
                sums.add(count, counted.0, Ns(4_000_000), counted);
            }
            let (ratio, half) = (sums.ratio().unwrap_or(0.0), sums.half_width().unwrap_or(0.0));
            inside += usize::from((ratio * 3e9 - truth).abs() <= half * 3e9);
        }
        assert!((950..=1000).contains(&inside), "{inside} of 1000");
    }
}
