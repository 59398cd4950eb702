//! Log-linear histograms of durations.
//!
//! Each power of two of a second is divided into four buckets of equal width, so a bucket is at most 25 % wide. Bounds are powers of
//! two *of a second* (2^-20 s = 954 ns, …, 16 s), because Prometheus' native histograms have these: of schema 0, each bucket is the
//! sum of four of ours. The kernel counts in units of 2^-30 s, which it gets from nanoseconds by one multiplication; [`bucket_of`] is
//! the same calculation.

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

/// The number of buckets: up to 2^-20 s, 96 up to 16 s, and above.
pub const BUCKETS: usize = 98;

/// The powers of two, in units of 2^-30 s, at which the divided buckets begin and end.
const FIRST: u32 = 10;
const LAST: u32 = 34;

/// Durations are counted as if they were at most this long, ns (9 hours): the multiplication must not overflow.
pub const MAX_NS: u64 = 1 << 45;

/// Returns a duration in units of 2^-30 s (0.93 ns), to 9 parts in 100 million.
const fn binary(ns: u64) -> u64 {
    let ns = if ns < MAX_NS { ns } else { MAX_NS };
    ns + ((ns * 309_296) >> 22)
}

/// Returns the bucket that counts a duration in ns.
#[must_use]
pub const fn bucket_of(ns: u64) -> usize {
    // A bucket includes its upper bound.
    let below = binary(ns).saturating_sub(1);
    if below >> FIRST == 0 {
        return 0;
    }
    if below >> LAST != 0 {
        return BUCKETS - 1;
    }
    let power = below.ilog2();
    1 + ((power - FIRST) * 4) as usize + (below >> (power - 2) & 3) as usize
}

/// Returns a bucket's upper bound, inclusive, in s; infinite for the last one.
#[must_use]
pub fn bound_seconds(bucket: usize) -> f64 {
    if bucket >= BUCKETS - 1 {
        return f64::INFINITY;
    }
    let (octave, quarter) = (bucket / 4, bucket % 4);
    let begin = ((1u64 << (FIRST as usize + octave)) as f64) / ((1u64 << 30) as f64);
    begin * (1.0 + quarter as f64 / 4.0)
}

/// Counts of durations, by bucket.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Histogram {
    /// How many durations are in each bucket (not cumulative).
    pub counts: [u64; BUCKETS],
    /// The sum of the durations, ns.
    pub sum_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: [0; BUCKETS], sum_ns: 0 }
    }
}

impl Histogram {
    /// Counts a duration in ns.
    pub fn add(&mut self, ns: u64) {
        if let Some(count) = self.counts.get_mut(bucket_of(ns)) {
            *count += 1;
        }
        self.sum_ns += ns;
    }

    /// Adds the counts of another histogram.
    pub fn add_all(&mut self, other: &Self) {
        for (own, more) in self.counts.iter_mut().zip(&other.counts) {
            *own += more;
        }
        self.sum_ns += other.sum_ns;
    }

    /// Returns the number of durations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the upper bound, in s, of the bucket that has the quantile `q` (0 to 1): the true value is at most 20 % below it, and
    /// above 16 s or below 954 ns anywhere. `None` if nothing was counted.
    #[must_use]
    pub fn quantile_seconds(&self, q: f64) -> Option<f64> {
        let all = self.count();
        let wanted = ((all as f64 * q).ceil() as u64).clamp(1, all.max(1));
        let mut below = 0;
        let at = self.counts.iter().position(|count| {
            below += count;
            below >= wanted
        })?;
        Some(bound_seconds(at))
    }
}

/// One bucket that is not empty.
#[derive(Serialize)]
struct Bucket {
    /// `null`: above 16 s.
    le_seconds: Option<f64>,
    count: u64,
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let of = |(at, &count): (usize, &u64)| {
            let bound = bound_seconds(at);
            (count > 0).then(|| Bucket { le_seconds: bound.is_finite().then_some(bound), count })
        };
        let buckets: Vec<Bucket> = self.counts.iter().enumerate().filter_map(of).collect();
        let mut out = to.serialize_struct("Histogram", 3)?;
        out.serialize_field("count", &self.count())?;
        out.serialize_field("sum_ns", &self.sum_ns)?;
        out.serialize_field("buckets", &buckets)?;
        out.end()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn each_bucket_includes_its_upper_bound() {
        assert_eq!(bound_seconds(0), 1.0 / 1_048_576.0);
        assert_eq!(bound_seconds(BUCKETS - 2), 16.0);
        assert!(bound_seconds(BUCKETS - 1).is_infinite());
        for bucket in 0..BUCKETS - 1 {
            let bound = bound_seconds(bucket);
            assert!(bound < bound_seconds(bucket + 1), "{bucket}");
            // The unit is known to 9 parts in 100 million, and durations are whole ns.
            let ns = (bound * 1e9) as u64;
            let slack = 2 + ns / 5_000_000;
            assert_eq!(bucket_of(ns - slack), bucket, "just below {bound} s");
            assert_eq!(bucket_of(ns + slack), bucket + 1, "just above {bound} s");
        }
        assert_eq!(bucket_of(0), 0);
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_upper_bounds() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile_seconds(0.5), None);
        (1..=100).for_each(|ms| histogram.add(ms * 1_000_000));
        for (q, true_value) in [(0.01, 0.001), (0.5, 0.050), (0.99, 0.099), (1.0, 0.1)] {
            let bound = histogram.quantile_seconds(q).unwrap();
            assert!(bound >= true_value && bound * 0.8 <= true_value, "{q}: {bound}");
        }
    }
}
