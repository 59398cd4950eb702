//! The four Parquet encodings that the trace folder uses, applied to a whole column at a time.
//!
//! The parquet crate's own writer passes each value through a hash table and statistics: 7 million rows/s per core on random data.
//! The loops below use the kind of column (times: delta; few distinct words or numbers: dictionary; a single value: a
//! dictionary of one entry and one run) and write a trace's 12 million rows in about one second on one core
//! (`examples/write_speed.rs`). This makes an import as fast as another tool's report.

use crate::pack::{Code, MINI, PACKS, bits};

/// Appends a ULEB128 number.
pub(crate) fn varint(out: &mut Vec<u8>, mut v: u64) {
    while v >= 0x80 {
        out.push((v as u8) | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

/// Converts signed to unsigned, small magnitudes first.
pub(crate) fn zigzag(v: i64) -> u64 {
    ((v << 1) ^ (v >> 63)) as u64
}

const BLOCK: usize = 128;
/// Appends values as `DELTA_BINARY_PACKED`.
#[inline(always)]
fn delta<T: Copy + Into<i64>>(values: &[T], out: &mut Vec<u8>, minus: impl Fn(T, T) -> i64) {
    varint(out, BLOCK as u64);
    varint(out, (BLOCK / MINI) as u64);
    varint(out, values.len() as u64);
    let Some(first) = values.first() else {
        varint(out, 0);
        return;
    };
    varint(out, zigzag((*first).into()));
    let mut deltas = [0i64; BLOCK];
    let mut at = 1;
    while at < values.len() {
        let n = (values.len() - at).min(BLOCK);
        let (before, now) = (&values[at - 1..at - 1 + n], &values[at..at + n]);
        for ((d, a), b) in deltas.iter_mut().zip(now).zip(before) {
            *d = minus(*a, *b);
        }
        block(&mut deltas, n, out);
        at += n;
    }
}

/// Appends one block of differences, of which the first `n` are used.
#[inline(always)]
fn block(deltas: &mut [i64; BLOCK], n: usize, out: &mut Vec<u8>) {
    let min = deltas[..n].iter().copied().fold(i64::MAX, i64::min);
    // The padding of the last miniblock becomes zero and needs no width.
    deltas[n..].fill(min);
    varint(out, zigzag(min));
    let widths_at = out.len();
    out.extend_from_slice(&[0; BLOCK / MINI]);
    for mini in 0..n.div_ceil(MINI) {
        let mut packed = [0u64; MINI];
        let mut all = 0;
        for (p, d) in packed.iter_mut().zip(&deltas[mini * MINI..(mini + 1) * MINI]) {
            *p = d.wrapping_sub(min) as u64;
            all |= *p;
        }
        let width = bits(all);
        out[widths_at + mini] = width as u8;
        PACKS[width as usize](&packed, out);
    }
}

/// The minimum length of a run; shorter repetitions are bit-packed.
const MIN_RUN: usize = 64;

/// Appends values in the RLE and bit-packing hybrid encoding, without the length and width in front.
#[inline(always)]
pub(crate) fn hybrid<T: Code>(values: &[T], width: u32, out: &mut Vec<u8>) {
    let mut packed_from = 0;
    let mut at = 0;
    while at + MIN_RUN <= values.len() {
        let one = values[at];
        if values[at..at + MIN_RUN].iter().any(|v| *v != one) {
            at += MIN_RUN;
            continue;
        }
        let more = values[at + MIN_RUN..].iter().take_while(|v| **v == one).count();
        packed(&values[packed_from..at], width, out);
        run(one.into(), MIN_RUN + more, width, out);
        at += MIN_RUN + more;
        packed_from = at;
    }
    let rest = &values[packed_from..];
    match rest {
        [one, more @ ..] if more.iter().all(|v| v == one) => run((*one).into(), rest.len(), width, out),
        _ => packed(rest, width, out),
    }
}

/// Appends a run of one value.
pub(crate) fn run(value: u64, len: usize, width: u32, out: &mut Vec<u8>) {
    varint(out, (len as u64) << 1);
    out.extend(value.to_le_bytes().iter().take(width.div_ceil(8) as usize));
}

/// Appends bit-packed groups of eight. Only the last may be padded, since readers stop at the number of values.
#[inline(always)]
fn packed<T: Code>(values: &[T], width: u32, out: &mut Vec<u8>) {
    if !values.is_empty() {
        varint(out, ((values.len().div_ceil(8) as u64) << 1) | 1);
        T::pack(values, width, out);
    }
}

/// The number of values and the range of a column.
pub(crate) struct Bounds<T> {
    /// The number of values that are not null.
    pub(crate) present: usize,
    /// The smallest and the largest of these.
    pub(crate) range: Option<(T, T)>,
}

/// The type of the numbers in a column. Its smallest value stands for null.
pub(crate) trait Number: Copy + Default + Ord + Into<i64> {
    const NULL: Self;
    /// Appends a value in PLAIN encoding; it must fit this type.
    fn put(value: i64, out: &mut Vec<u8>);
    /// Appends values as `DELTA_BINARY_PACKED`.
    fn delta(values: &[Self], out: &mut Vec<u8>);
    /// Returns the value less one; null becomes the largest.
    fn before(self) -> Self;
    /// The inverse of [`Number::before`].
    fn after(self) -> Self;
}

macro_rules! number {
    ($type:ty, $minus:expr) => {
        impl Number for $type {
            const NULL: Self = Self::MIN;
            #[inline(always)]
            fn put(value: i64, out: &mut Vec<u8>) {
                out.extend_from_slice(&(value as $type).to_le_bytes());
            }
            #[inline(always)]
            fn delta(values: &[Self], out: &mut Vec<u8>) {
                delta(values, out, $minus);
            }
            #[inline(always)]
            fn before(self) -> Self {
                self.wrapping_sub(1)
            }
            #[inline(always)]
            fn after(self) -> Self {
                self.wrapping_add(1)
            }
        }
    };
}
number!(i64, i64::wrapping_sub);
// Differences wrap at 32 bits, since readers refuse wider ones.
number!(i32, |a, b| i64::from(a.wrapping_sub(b)));

/// Returns the bounds of a column. If it is not `nullable`, the value for null is an ordinary number.
#[inline(always)]
pub(crate) fn bounds<T: Number>(values: &[T], nullable: bool) -> Bounds<T> {
    let (mut present, mut before, mut max) = (0, T::NULL.before(), T::NULL);
    for v in values {
        present += usize::from(*v != T::NULL);
        before = before.min(v.before());
        max = max.max(*v);
    }
    if !nullable && present < values.len() {
        return Bounds { present: values.len(), range: Some((T::NULL, max)) };
    }
    Bounds { present, range: (present > 0).then(|| (before.after(), max)) }
}

/// Replaces `out` by the `count` values that are not null. Every value is written, and overwritten by the next if it is null: this
/// is faster than a branch that the processor cannot predict.
#[inline(always)]
pub(crate) fn compact<T: Copy + Default>(values: &[T], count: usize, present: impl Fn(T) -> bool, out: &mut Vec<T>) {
    if count == 0 {
        return out.clear();
    }
    // Elements that will be overwritten need not be cleared.
    out.resize(count + 1, T::default());
    let mut at = 0;
    for v in values {
        out[at] = *v;
        at += usize::from(present(*v));
    }
    out.truncate(count);
}

/// Returns the width of the indices into a dictionary; never 0, which some readers do not support.
pub(crate) fn index_width(entries: usize) -> u32 {
    bits(entries.saturating_sub(1) as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_matches_the_specification() {
        // The example in Parquet's Encodings.md: 0..=7 in 3 bits.
        let mut out = Vec::new();
        packed(&[0u32, 1, 2, 3, 4, 5, 6, 7], 3, &mut out);
        assert_eq!(out, [3, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
    }

    #[test]
    fn nulls_do_not_count_as_bounds() {
        let with_nullable = |values: &[i64], nullable| {
            let Bounds { present, range } = bounds(values, nullable);
            (present, range)
        };
        let of = |values: &[i64]| with_nullable(values, true);
        assert_eq!(of(&[3, i64::MIN, -4, i64::MAX]), (3, Some((-4, i64::MAX))));
        assert_eq!(of(&[i64::MIN + 1]), (1, Some((i64::MIN + 1, i64::MIN + 1))));
        assert_eq!(of(&[i64::MIN]), (0, None));
        assert_eq!(of(&[]), (0, None));
        assert_eq!(with_nullable(&[3, i64::MIN], false), (2, Some((i64::MIN, 3))));
    }
}
