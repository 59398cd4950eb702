//! Histograms in Prometheus' two forms, both exact sums of the buckets of `watch`.
//!
//! Classic: a bucket for each power of two of a second, from 2^-20 s (954 ns) to 16 s, and above. Native, schema 0: the same buckets, the
//! first as the zero bucket; what is above 16 s is counted as up to 32 s, since native histograms have no open bucket below infinity.

use watch::histogram::{BUCKETS, Histogram, bound_seconds};

/// The powers of two between the first bucket and the last.
const OCTAVES: usize = (BUCKETS - 2) / 4;
/// The native index of the first one: of the bucket that ends at 2^-19 s.
const FIRST_INDEX: i32 = -19;
/// The buckets of the classic form; each series has one more line for the sum and one for the count.
pub(super) const CLASSIC: usize = OCTAVES + 2;

/// The native form.
#[derive(Debug)]
pub(super) struct Native {
    /// The upper bound of a bucket is that of the one before, times 2^(2^-schema).
    pub schema: i32,
    /// The upper bound of the zero bucket, in s.
    pub zero_threshold: f64,
    pub zero_count: u64,
    /// Of consecutive buckets: the index of the first one, and how many they are.
    pub spans: Vec<(i32, u32)>,
    /// The count of each of these buckets less the one before.
    pub deltas: Vec<i64>,
}

/// Returns the sum in s.
pub(super) fn sum_seconds(histogram: &Histogram) -> f64 {
    histogram.sum_ns as f64 / 1e9
}

/// Returns the upper bounds in s and counts (not cumulative) of the classic form.
pub(super) fn classic(histogram: &Histogram) -> [(f64, u64); CLASSIC] {
    let counts = &histogram.counts;
    std::array::from_fn(|bucket| match bucket {
        0 => (bound_seconds(0), counts[0]),
        // The sum of an octave's four.
        octave if octave <= OCTAVES => {
            let last = octave * 4;
            (bound_seconds(last), counts[last - 3..=last].iter().sum())
        }
        _ => (f64::INFINITY, counts[BUCKETS - 1]),
    })
}

/// Returns the native form of the buckets of the classic form.
pub(super) fn native(classic: &[(f64, u64); CLASSIC]) -> Native {
    let [(zero_threshold, zero_count), octaves @ ..] = *classic;
    let (spans, deltas) = spans_and_deltas(octaves.iter().map(|bucket| bucket.1));
    Native { schema: 0, zero_threshold, zero_count, spans, deltas }
}

/// Returns one span from the first bucket with counts to the last, and each count less the one before.
fn spans_and_deltas(counts: impl Iterator<Item = u64>) -> (Vec<(i32, u32)>, Vec<i64>) {
    let counts: Vec<u64> = counts.collect();
    let Some(first) = counts.iter().position(|count| *count > 0) else { return (Vec::new(), Vec::new()) };
    let last = counts.iter().rposition(|count| *count > 0).unwrap_or(first);
    let (mut deltas, mut before) = (Vec::new(), 0);
    for count in &counts[first..=last] {
        deltas.push(*count as i64 - before);
        before = *count as i64;
    }
    (vec![(FIRST_INDEX + first as i32, deltas.len() as u32)], deltas)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classic_buckets_end_at_powers_of_two_of_a_second() {
        let mut histogram = Histogram::default();
        // At and just above bounds: 2^-19 s, 1 s, 16 s.
        for ns in [900, 1900, 1910, 999_999_000, 1_000_001_000, 15_999_000_000, 17_000_000_000] {
            histogram.add(ns);
        }
        let classic = classic(&histogram);
        let bounds: Vec<f64> = classic.iter().map(|b| b.0.log2()).collect();
        assert_eq!(bounds[..25], std::array::from_fn::<f64, 25, _>(|i| i as f64 - 20.0));
        assert_eq!((classic.len(), classic[25].0), (26, f64::INFINITY));
        let filled: Vec<(f64, u64)> = classic.into_iter().filter(|b| b.1 > 0).collect();
        let p = f64::exp2;
        let wanted = [(p(-20.0), 1), (p(-19.0), 1), (p(-18.0), 1), (1.0, 1), (2.0, 1), (16.0, 1), (f64::INFINITY, 1)];
        assert_eq!(filled, wanted);
    }

    #[test]
    fn native_buckets_are_one_span_of_differences() {
        let counts = [0, 0, 5, 0, 7, 0];
        assert_eq!(spans_and_deltas(counts.into_iter()), (vec![(-17, 3)], vec![5, -5, 7]));
        assert_eq!(spans_and_deltas([0, 0].into_iter()), (vec![], vec![]));
    }
}
