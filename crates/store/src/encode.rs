//! The four encodings of Parquet that the trace folder uses, over whole columns at a time.
//!
//! The parquet crate's own writer takes a column value by value through a hash table and statistics: 7 million rows/s a core
//! over random data (DESIGN.md). The loops below know what is in a column (times: delta; a handful of words or numbers:
//! dictionary; one value throughout: a dictionary of one and a single run) and write a trace's 12 million rows in about a
//! second of one core (`examples/write_speed.rs`), which is what keeps an import as quick as a peer's report.

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

/// Bits that the value needs.
fn bits(v: u64) -> u32 {
    64 - v.leading_zeros()
}

/// A bit packer, least significant bit first, as both of Parquet's packed encodings want it.
struct Packer<'a> {
    out: &'a mut Vec<u8>,
    word: u64,
    used: u32,
}

impl<'a> Packer<'a> {
    fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, word: 0, used: 0 }
    }

    /// Adds the low `width` bits of a value that has no higher ones; `width` is 1 to 64.
    #[inline(always)]
    fn put(&mut self, v: u64, width: u32) {
        self.word |= v << self.used;
        self.used += width;
        if self.used >= 64 {
            self.out.extend_from_slice(&self.word.to_le_bytes());
            self.used -= 64;
            // What did not fit; nothing where the value ended with the word.
            self.word = if self.used == 0 { 0 } else { v >> (width - self.used) };
        }
    }

    /// Writes the bytes begun.
    fn finish(self) {
        let bytes = self.used.div_ceil(8) as usize;
        self.out.extend(self.word.to_le_bytes().iter().take(bytes));
    }
}

/// Packs [`MINI`] values of `W` bits, 64 at most. What the compiler knows of the shifts makes it several times as quick as [`Packer`].
fn pack<const W: usize>(values: &[u64; MINI], out: &mut Vec<u8>) {
    let mut words = [0u64; MINI];
    for (i, v) in values.iter().enumerate() {
        let (word, used) = (i * W / 64, i * W % 64);
        words[word] |= v << used;
        if used + W > 64 {
            words[word + 1] |= v >> (64 - used);
        }
    }
    let mut bytes = [0; 8 * MINI];
    for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(&bytes[..MINI * W / 8]);
}

macro_rules! packs {
    ($($width:literal)*) => { [$(pack::<$width>),*] };
}

type Pack = fn(&[u64; MINI], &mut Vec<u8>);

/// [`pack`] of each width.
#[rustfmt::skip]
const PACKS: [Pack; 65] = packs![
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
    33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64
];

const BLOCK: usize = 128;
const MINI: usize = 32;

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

/// An index into a dictionary, or a definition level.
pub(crate) trait Code: Copy + PartialEq + Into<u64> {
    /// Appends groups of eight, each value in `width` bits, as many as it has.
    fn pack(values: &[Self], width: u32, out: &mut Vec<u8>);
}

impl Code for u8 {
    #[inline(always)]
    fn pack(values: &[Self], width: u32, out: &mut Vec<u8>) {
        groups(values, width, out, |eight| {
            let pairs = join(u64::from_le_bytes(*eight), 8, width);
            u128::from(join(join(pairs, 16, 2 * width), 32, 4 * width))
        });
    }
}

impl Code for u16 {
    #[inline(always)]
    fn pack(values: &[Self], width: u32, out: &mut Vec<u8>) {
        let four = |[a, b, c, d]: [u16; 4]| {
            let word = u64::from(a) | u64::from(b) << 16 | u64::from(c) << 32 | u64::from(d) << 48;
            u128::from(join(join(word, 16, width), 32, 2 * width))
        };
        groups(values, width, out, |[a, b, c, d, e, f, g, h]| {
            four([*a, *b, *c, *d]) | four([*e, *f, *g, *h]) << (4 * width)
        });
    }
}

impl Code for u32 {
    fn pack(values: &[Self], width: u32, out: &mut Vec<u8>) {
        let end = out.len() + values.len().div_ceil(8) * width as usize;
        let mut packer = Packer::new(out);
        values.iter().for_each(|v| packer.put((*v).into(), width));
        packer.finish();
        out.resize(end, 0);
    }
}

/// Of a word's lanes of `lane` bits, of which the lowest `count` count, each two become one.
#[inline(always)]
fn join(word: u64, lane: u32, count: u32) -> u64 {
    let one_in_each_two = u64::MAX / (u64::MAX >> (64 - 2 * lane));
    let lower = one_in_each_two * (u64::MAX >> (64 - count));
    (word & lower) | (word >> (lane - count) & (lower << count))
}

/// Appends what `pack` makes of each eight values, of which 8 × `width` bits count.
#[inline(always)]
fn groups<T: Copy + Default>(values: &[T], width: u32, out: &mut Vec<u8>, pack: impl Fn(&[T; 8]) -> u128) {
    let (eights, rest) = values.as_chunks::<8>();
    let (from, step) = (out.len(), width as usize);
    let end = from + values.len().div_ceil(8) * step;
    // Each is written as 16 bytes, of which the next one overwrites what is not its own.
    out.resize(end + 16, 0);
    let mut at = from;
    let mut put = |eight: &[T; 8]| {
        out[at..at + 16].copy_from_slice(&pack(eight).to_le_bytes());
        at += step;
    };
    eights.iter().for_each(&mut put);
    if !rest.is_empty() {
        let mut last = [T::default(); 8];
        last[..rest.len()].copy_from_slice(rest);
        put(&last);
    }
    out.truncate(end);
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

/// Which entry of a dictionary each row has, in as few bytes as tell it; kept for its memory.
#[derive(Default)]
pub(crate) struct Index {
    pub(crate) bytes: Vec<u8>,
    pub(crate) shorts: Vec<u16>,
    /// By value: its entry, counted from 1. All 0 between two columns.
    places: Vec<u16>,
}

/// A dictionary.
pub(crate) enum Entries {
    /// Of one value: nobody needs to be told which.
    One(i64),
    /// [`Index::bytes`] tells which.
    Bytes(Vec<i64>),
    /// [`Index::shorts`] does.
    Shorts(Vec<i64>),
}

impl Index {
    /// The dictionary of a column and its index; `None` where it would not pay. `range`: the least and the largest value, `None`
    /// where there are no values.
    #[inline(always)]
    pub(crate) fn of<T: Number>(&mut self, values: &[T], range: Option<(T, T)>) -> Option<Entries> {
        let Some((least, most)) = range.map(|(least, most)| (least.into(), most.into())) else {
            self.bytes.clear();
            return Some(Entries::Bytes(Vec::new()));
        };
        if least == most {
            return Some(Entries::One(least));
        }
        let limit = (values.len() / 8).clamp(16, 1 << 15);
        let range = most.wrapping_sub(least) as u64;
        let above = |v: &T| (*v).into().wrapping_sub(least);
        if range < 1 << 8 {
            self.bytes.clear();
            self.bytes.extend(values.iter().map(|v| above(v) as u8));
            let entries: Vec<i64> = ranks(&mut self.bytes).iter().map(|code| least + i64::from(*code)).collect();
            return (entries.len() <= limit).then_some(Entries::Bytes(entries));
        }
        let entries = if range < 1 << 16 { self.near(values, above, range) } else { self.far(values, limit)? };
        (entries.len() <= limit).then_some(Entries::Shorts(entries))
    }

    /// Values that lie so near each other that they are found by place.
    #[inline(always)]
    fn near<T: Number>(&mut self, values: &[T], above: impl Fn(&T) -> i64, range: u64) -> Vec<i64> {
        if self.places.len() <= range as usize {
            self.places.resize(range as usize + 1, 0);
        }
        let (places, mut found) = (&mut self.places, Vec::new());
        self.shorts.clear();
        self.shorts.extend(values.iter().map(|v| {
            let place = &mut places[above(v) as usize];
            if *place == 0 {
                found.push(*v);
                *place = found.len() as u16;
            }
            // Of 2¹⁶ values the last has place 0; so many are no dictionary.
            place.wrapping_sub(1)
        }));
        found.iter().for_each(|v| places[above(v) as usize] = 0);
        found.into_iter().map(Into::into).collect()
    }

    /// Any values; `None` where they are more than `limit`.
    fn far<T: Number>(&mut self, values: &[T], limit: usize) -> Option<Vec<i64>> {
        let (mut found, mut places) = (Vec::new(), rustc_hash::FxHashMap::default());
        self.shorts.clear();
        self.shorts.reserve(values.len());
        let mut last: Option<(i64, u16)> = None;
        for v in values {
            let v: i64 = (*v).into();
            let at = match last {
                Some((before, at)) if before == v => at,
                _ => *places.entry(v).or_insert_with(|| {
                    found.push(v);
                    (found.len() - 1) as u16
                }),
            };
            if found.len() > limit {
                return None;
            }
            last = Some((v, at));
            self.shorts.push(at);
        }
        Some(found)
    }
}

/// Puts in place of each code its rank among those that occur; gives these.
#[inline(always)]
pub(crate) fn ranks(codes: &mut [u8]) -> Vec<u8> {
    let mut occurs = [false; 256];
    codes.iter().for_each(|code| occurs[usize::from(*code)] = true);
    let all: Vec<u8> = (0..=u8::MAX).filter(|code| occurs[usize::from(*code)]).collect();
    // Mostly they are 0, 1, 2..
    if all.iter().zip(0..).any(|(code, rank)| *code != rank) {
        let mut rank = [0; 256];
        all.iter().zip(0..).for_each(|(code, at)| rank[usize::from(*code)] = at);
        codes.iter_mut().for_each(|code| *code = rank[usize::from(*code)]);
    }
    all
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
    fn widths_up_to_a_word_cross_its_border() {
        for width in 1..=64u32 {
            let top = if width == 64 { u64::MAX } else { (1 << width) - 1 };
            let mut out = Vec::new();
            let mut packer = Packer::new(&mut out);
            (0..32).for_each(|i| packer.put(if i % 2 == 0 { top } else { 1 }, width));
            packer.finish();
            assert_eq!(out.len(), 4 * width as usize);
            let bit = |n: usize| u64::from(out[n / 8] >> (n % 8) & 1);
            for i in 0..32 {
                let got = (0..width as usize).map(|b| bit(i * width as usize + b) << b).sum::<u64>();
                assert_eq!(got, if i % 2 == 0 { top } else { 1 }, "width {width}, value {i}");
            }
        }
    }

    #[test]
    fn both_packers_pack_the_same() {
        for width in 1..=64u32 {
            let value = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - width);
            let values: [u64; MINI] = std::array::from_fn(|i| value(i as u64 + 1));
            let (mut one_by_one, mut at_once) = (Vec::new(), Vec::new());
            let mut packer = Packer::new(&mut one_by_one);
            values.iter().for_each(|v| packer.put(*v, width));
            packer.finish();
            PACKS[width as usize](&values, &mut at_once);
            assert_eq!(at_once, one_by_one, "{width} bits");
        }
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

    #[test]
    fn eights_pack_as_one_by_one() {
        fn check<T: Code + TryFrom<u64>>(widths: std::ops::RangeInclusive<u32>) {
            for width in widths {
                for count in [1, 7, 8, 9, 64, 77] {
                    let value = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - width);
                    let values: Vec<u64> = (1..=count).map(value).collect();
                    let (mut one_by_one, mut eights) = (vec![7], vec![7]);
                    let wide: Vec<u32> = values.iter().map(|v| *v as u32).collect();
                    u32::pack(&wide, width, &mut one_by_one);
                    T::pack(
                        &values.iter().filter_map(|v| T::try_from(*v).ok()).collect::<Vec<T>>(),
                        width,
                        &mut eights,
                    );
                    assert_eq!(eights, one_by_one, "{count} of {width} bits");
                }
            }
        }
        check::<u8>(1..=8);
        check::<u16>(1..=16);
    }

    #[test]
    fn a_dictionary_that_would_not_pay_is_refused() {
        let mut index = Index::default();
        let mut of = |values: &[i64]| index.of(values, bounds(values, false).range);
        assert!(of(&(0..1000).map(|v| v * 1_000_000).collect::<Vec<i64>>()).is_none(), "far from each other");
        assert!(of(&(0..5000).collect::<Vec<i64>>()).is_none(), "near each other");
        assert!(of(&(0..150).collect::<Vec<i64>>()).is_none(), "in a byte");
        assert!(of(&(0..1 << 16).collect::<Vec<i64>>()).is_none(), "as many as there are shorts");
    }

    #[test]
    fn an_index_and_its_dictionary_are_the_column() {
        let mut index = Index::default();
        for (range, far) in [(2, 1), (200, 1), (200, 300), (3000, 20), (9, i64::MAX / 9), (1, 1)] {
            let values: Vec<i64> = (0..40_000).map(|i| i * i % range * far - 5).collect();
            let found = index.of(&values, bounds(&values, false).range);
            let back: Vec<i64> = match found {
                Some(Entries::One(value)) => vec![value; values.len()],
                Some(Entries::Bytes(all)) => index.bytes.iter().map(|at| all[usize::from(*at)]).collect(),
                Some(Entries::Shorts(all)) => index.shorts.iter().map(|at| all[usize::from(*at)]).collect(),
                None => Vec::new(),
            };
            assert_eq!(back, values, "{range} values {far} apart");
        }
    }
}
