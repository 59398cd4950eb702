//! The four encodings of Parquet that the trace folder uses, over whole columns at a time.
//!
//! The parquet crate's own writer takes a column value by value through a hash table and statistics: 7 million rows/s a core
//! over random data (DESIGN.md). The loops below know what is in a column (times: delta; a handful of words or numbers:
//! dictionary; one value throughout: a dictionary of one and a single run) and write a trace's 12 million rows in about a
//! second of one core (`examples/write_speed.rs`), which is what keeps an import as quick as a peer's report.

use crate::pack::{Code, MINI, PACKS, bits};

/// Appends a ULEB128 number.
pub(crate) fn varint(out: &mut Vec<u8>, mut v: u64) {
    while v >= 0x80 {
        out.push((v as u8) | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

/// Signed to unsigned, small magnitudes first.
pub(crate) fn zigzag(v: i64) -> u64 {
    ((v << 1) ^ (v >> 63)) as u64
}

const BLOCK: usize = 128;
/// `DELTA_BINARY_PACKED`.
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

/// One block of differences, of which the first `n` count.
#[inline(always)]
fn block(deltas: &mut [i64; BLOCK], n: usize, out: &mut Vec<u8>) {
    let least = deltas[..n].iter().copied().fold(i64::MAX, i64::min);
    // What pads the last miniblock becomes zero and costs no width.
    deltas[n..].fill(least);
    varint(out, zigzag(least));
    let widths_at = out.len();
    out.extend_from_slice(&[0; BLOCK / MINI]);
    for mini in 0..n.div_ceil(MINI) {
        let mut packed = [0u64; MINI];
        let mut all = 0;
        for (p, d) in packed.iter_mut().zip(&deltas[mini * MINI..(mini + 1) * MINI]) {
            *p = d.wrapping_sub(least) as u64;
            all |= *p;
        }
        let width = bits(all);
        out[widths_at + mini] = width as u8;
        PACKS[width as usize](&packed, out);
    }
}

/// Shorter stretches of one value are not worth a run of their own.
const RUN: usize = 64;

/// The RLE and bit-packing hybrid, without length or width before it.
#[inline(always)]
pub(crate) fn hybrid<T: Code>(values: &[T], width: u32, out: &mut Vec<u8>) {
    let mut packed_from = 0;
    let mut at = 0;
    while at + RUN <= values.len() {
        let one = values[at];
        if values[at..at + RUN].iter().any(|v| *v != one) {
            at += RUN;
            continue;
        }
        let more = values[at + RUN..].iter().take_while(|v| **v == one).count();
        packed(&values[packed_from..at], width, out);
        run(one.into(), RUN + more, width, out);
        at += RUN + more;
        packed_from = at;
    }
    let rest = &values[packed_from..];
    match rest {
        [one, more @ ..] if more.iter().all(|v| v == one) => run((*one).into(), rest.len(), width, out),
        _ => packed(rest, width, out),
    }
}

/// A run of one value.
pub(crate) fn run(value: u64, len: usize, width: u32, out: &mut Vec<u8>) {
    varint(out, (len as u64) << 1);
    out.extend(value.to_le_bytes().iter().take(width.div_ceil(8) as usize));
}

/// Bit-packed groups of eight; only the last may be padded, since readers stop at the number of values.
#[inline(always)]
fn packed<T: Code>(values: &[T], width: u32, out: &mut Vec<u8>) {
    if !values.is_empty() {
        varint(out, ((values.len().div_ceil(8) as u64) << 1) | 1);
        T::pack(values, width, out);
    }
}

/// What a column's values are like.
pub(crate) struct Bounds<T> {
    /// How many are no null.
    pub(crate) there: usize,
    /// The least and the largest of these.
    pub(crate) range: Option<(T, T)>,
}

/// A number that a column holds, whose least value stands for null.
pub(crate) trait Number: Copy + Default + Ord + Into<i64> {
    const NULL: Self;
    /// Appends one as PLAIN stores it; it came from this type.
    fn put(value: i64, out: &mut Vec<u8>);
    /// `DELTA_BINARY_PACKED`.
    fn delta(values: &[Self], out: &mut Vec<u8>);
    /// One less; null becomes the largest.
    fn before(self) -> Self;
    /// The inverse.
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

/// Looks a column through once. Where it is not `nullable`, what else stands for null is a number like all others.
#[inline(always)]
pub(crate) fn bounds<T: Number>(values: &[T], nullable: bool) -> Bounds<T> {
    let (mut there, mut before, mut most) = (0, T::NULL.before(), T::NULL);
    for v in values {
        there += usize::from(*v != T::NULL);
        before = before.min(v.before());
        most = most.max(*v);
    }
    if !nullable && there < values.len() {
        return Bounds { there: values.len(), range: Some((T::NULL, most)) };
    }
    Bounds { there, range: (there > 0).then(|| (before.after(), most)) }
}

/// The `count` values that are there, in place of what `out` held. Each is written, and stays where the next does not belong in its
/// place: who branches on what is there cannot be foretold waits longer than that takes.
#[inline(always)]
pub(crate) fn compact<T: Copy + Default>(values: &[T], count: usize, there: impl Fn(T) -> bool, out: &mut Vec<T>) {
    if count == 0 {
        return out.clear();
    }
    // What is there need not be cleared to be overwritten.
    out.resize(count + 1, T::default());
    let mut at = 0;
    for v in values {
        out[at] = *v;
        at += usize::from(there(*v));
    }
    out.truncate(count);
}

/// Width of the indices into a dictionary; never 0, which some readers do not take.
pub(crate) fn index_width(entries: usize) -> u32 {
    bits(entries.saturating_sub(1) as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_as_the_specification_shows() {
        // The example of Parquet's Encodings.md: 0..=7 in 3 bits.
        let mut out = Vec::new();
        packed(&[0u32, 1, 2, 3, 4, 5, 6, 7], 3, &mut out);
        assert_eq!(out, [3, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
    }

    #[test]
    fn nulls_are_neither_least_nor_largest() {
        let told = |values: &[i64], nullable| {
            let Bounds { there, range } = bounds(values, nullable);
            (there, range)
        };
        let of = |values: &[i64]| told(values, true);
        assert_eq!(of(&[3, i64::MIN, -4, i64::MAX]), (3, Some((-4, i64::MAX))));
        assert_eq!(of(&[i64::MIN + 1]), (1, Some((i64::MIN + 1, i64::MIN + 1))));
        assert_eq!(of(&[i64::MIN]), (0, None));
        assert_eq!(of(&[]), (0, None));
        assert_eq!(told(&[3, i64::MIN], false), (2, Some((i64::MIN, 3))));
    }
}
