//! Bit packing, least significant bit first, as both of Parquet's packed encodings require.

/// The number of values in a miniblock of `DELTA_BINARY_PACKED`, which are packed together.
pub(crate) const MINI: usize = 32;

/// Returns the number of bits that the value needs.
pub(crate) fn bits(v: u64) -> u32 {
    64 - v.leading_zeros()
}

/// Packs values one by one.
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
            // The bits that did not fit; none if the value ended with the word.
            self.word = if self.used == 0 { 0 } else { v >> (width - self.used) };
        }
    }

    /// Writes the remaining bytes.
    fn finish(self) {
        let bytes = self.used.div_ceil(8) as usize;
        self.out.extend(self.word.to_le_bytes().iter().take(bytes));
    }
}

/// Packs [`MINI`] values of `W` bits, 64 at most. The shifts are constants, which makes it several times as fast as [`Packer`].
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

/// [`pack`] for each width.
#[rustfmt::skip]
pub(crate) const PACKS: [Pack; 65] = packs![
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
    33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64
];

/// An index into a dictionary, or a definition level.
pub(crate) trait Code: Copy + PartialEq + Into<u64> {
    /// Appends the values in groups of eight, each value in `width` bits.
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

/// Joins each two neighbouring lanes of a word into one. A lane has `lane` bits, of which the lowest `count` are used.
#[inline(always)]
fn join(word: u64, lane: u32, count: u32) -> u64 {
    let one_in_each_two = u64::MAX / (u64::MAX >> (64 - 2 * lane));
    let lower = one_in_each_two * (u64::MAX >> (64 - count));
    (word & lower) | (word >> (lane - count) & (lower << count))
}

/// Appends the result of `pack` for each eight values, of which 8 × `width` bits are used.
#[inline(always)]
fn groups<T: Copy + Default>(values: &[T], width: u32, out: &mut Vec<u8>, pack: impl Fn(&[T; 8]) -> u128) {
    let (eights, rest) = values.as_chunks::<8>();
    let (from, step) = (out.len(), width as usize);
    let end = from + values.len().div_ceil(8) * step;
    // Each result is written as 16 bytes; the next one overwrites the unused ones.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_every_width_cross_word_boundaries() {
        for width in 1..=64u32 {
            let top = if width == 64 { u64::MAX } else { (1 << width) - 1 };
            let mut out = Vec::new();
            let mut packer = Packer::new(&mut out);
            (0..32).for_each(|i| packer.put(if i % 2 == 0 { top } else { 1 }, width));
            packer.finish();
            assert_eq!(out.len(), 4 * width as usize);
            let bit = |n: usize| u64::from(out[n / 8] >> (n % 8) & 1);
            for i in 0..32 {
                let unpacked = (0..width as usize).map(|b| bit(i * width as usize + b) << b).sum::<u64>();
                assert_eq!(unpacked, if i % 2 == 0 { top } else { 1 }, "width {width}, value {i}");
            }
        }
    }

    #[test]
    fn both_packers_pack_the_same() {
        for width in 1..=64u32 {
            let value = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - width);
            let values: [u64; MINI] = std::array::from_fn(|i| value(i as u64 + 1));
            let (mut one_by_one, mut together) = (Vec::new(), Vec::new());
            let mut packer = Packer::new(&mut one_by_one);
            values.iter().for_each(|v| packer.put(*v, width));
            packer.finish();
            PACKS[width as usize](&values, &mut together);
            assert_eq!(together, one_by_one, "{width} bits");
        }
    }

    #[test]
    fn groups_of_eight_pack_like_single_values() {
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
}
