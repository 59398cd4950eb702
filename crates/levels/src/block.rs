//! Packs slices into a block: columns, each with the fewest bytes per value that fit its largest value, compressed with zstd.
//!
//! Most slices are one stretch and begin where the previous one ended. Only the difference from that is stored, so many columns are
//! zeros.

use crate::Detail;
use crate::detail::{unzigzag, zigzag};

/// The maximum number of slices in a block: a screen's tracks are in few blocks, and a block has few slices that are not needed.
pub(crate) const ROWS: usize = 2048;
const COLUMNS: usize = 8;
/// The maximum length of an unpacked block: 8 columns of 8-byte values, each with a byte for the width.
const MAX_BYTES: usize = COLUMNS * (1 + 8 * ROWS);

/// Packs blocks; its memory is reused.
pub(crate) struct Packer {
    zstd: zstd::bulk::Compressor<'static>,
    columns: [Vec<u64>; COLUMNS],
    plain: Vec<u8>,
}

impl Packer {
    pub(crate) fn new() -> std::io::Result<Self> {
        let columns = std::array::from_fn(|_| Vec::with_capacity(ROWS));
        Ok(Self { zstd: zstd::bulk::Compressor::new(1)?, columns, plain: Vec::new() })
    }

    /// Packs slices of a chunk that begins at `from`.
    pub(crate) fn pack<D: Detail>(&mut self, drawn: &[D::Drawn], from: i64) -> std::io::Result<Vec<u8>> {
        let Self { zstd, columns, plain } = self;
        let (mut track, mut end) = (0u32, from);
        columns.iter_mut().for_each(Vec::clear);
        plain.clear();
        for d in drawn {
            let extent = D::extent(d);
            let start = zigzag(extent.1.wrapping_sub(if extent.0 == track { end } else { from }));
            let position = [u64::from(extent.0.wrapping_sub(track)), start, extent.2.wrapping_sub(extent.1) as u64];
            let values = position.into_iter().chain(D::columns(d));
            columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
            (track, end) = (extent.0, extent.2);
        }
        for column in columns {
            let widest = column.iter().fold(0, |all, v| all | v);
            let bytes = [0, 1, 2, 4, 8].into_iter().find(|b| widest < 1u64.checked_shl(8 * b).unwrap_or(u64::MAX));
            let bytes = bytes.unwrap_or(8) as usize;
            plain.push(bytes as u8);
            column.iter().for_each(|v| plain.extend_from_slice(&v.to_le_bytes()[..bytes]));
        }
        zstd.compress(plain)
    }
}

/// Unpacks a block of `rows` slices; `None` if it is invalid.
pub(crate) fn unpack<D: Detail>(packed: &[u8], rows: usize, from: i64) -> Option<Vec<D::Drawn>> {
    if rows > ROWS {
        return None;
    }
    let plain = zstd::bulk::decompress(packed, MAX_BYTES).ok()?;
    let mut rest = &plain[..];
    let mut columns: [Vec<u64>; COLUMNS] = std::array::from_fn(|_| Vec::new());
    for column in &mut columns {
        let (bytes, after) = rest.split_first()?;
        let bytes = usize::from(*bytes);
        let (values, after) = after.split_at_checked(bytes * rows)?;
        *column = numbers(values, bytes, rows)?;
        rest = after;
    }
    let (mut track, mut end) = (0u32, from);
    let mut out = Vec::with_capacity(rows);
    for row in 0..rows {
        let [by, gap, len, own @ ..] = columns.each_ref().map(|column| column[row]);
        let same = by == 0;
        track = track.wrapping_add(u32::try_from(by).ok()?);
        let start = unzigzag(gap).checked_add(if same { end } else { from })?;
        end = start.checked_add(i64::try_from(len).ok()?)?;
        out.push(D::from_columns((track, start, end), own)?);
    }
    rest.is_empty().then_some(out)
}

fn numbers(values: &[u8], bytes: usize, rows: usize) -> Option<Vec<u64>> {
    macro_rules! of {
        ($t:ty) => {{
            let (each, _) = values.as_chunks::<{ size_of::<$t>() }>();
            each.iter().map(|b| u64::from(<$t>::from_le_bytes(*b))).collect()
        }};
    }
    Some(match bytes {
        0 => vec![0; rows],
        1 => of!(u8),
        2 => of!(u16),
        4 => of!(u32),
        8 => of!(u64),
        _ => return None,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Slice, States, Step, Values};
    use proptest::prelude::*;

    fn slice() -> impl Strategy<Value = Slice> {
        (any::<u32>(), 0..i64::MAX / 4, 0..i64::MAX / 4, any::<u8>(), -1..i64::MAX / 4, 1u32..).prop_map(
            |(track, start, len, state, what, stretches)| Slice {
                track,
                start,
                end: start + len,
                state,
                state_ns: len / 2,
                what,
                what_ns: len / 3,
                stretches,
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn states_round_trip(mut slices in prop::collection::vec(slice(), 0..200), from in 0..i64::MAX / 4) {
            slices.sort_by_key(|s| (s.track, s.start));
            let packed = Packer::new().unwrap().pack::<States>(&slices, from).unwrap();
            prop_assert_eq!(unpack::<States>(&packed, slices.len(), from), Some(slices));
        }

        #[test]
        fn values_round_trip(mut steps in prop::collection::vec((any::<u32>(), 0..i64::MAX / 4, 0..i64::MAX / 4, any::<[f32; 3]>(), 1u32..), 0..200)) {
            steps.sort_by_key(|s| (s.0, s.1));
            let steps: Vec<Step> = steps.into_iter().map(|(track, start, len, values, stretches)| {
                let [min, max, mean] = values.map(f64::from);
                Step { track, start, end: start + len, min, max, mean, stretches }
            }).collect();
            let packed = Packer::new().unwrap().pack::<Values>(&steps, 0).unwrap();
            prop_assert_eq!(unpack::<Values>(&packed, steps.len(), 0), Some(steps));
        }

        #[test]
        fn arbitrary_bytes_are_refused_or_give_valid_slices(plain in prop::collection::vec(any::<u8>(), 0..400), rows in 0usize..3000) {
            let packed = zstd::bulk::compress(&plain, 1).unwrap();
            for bytes in [&plain[..], &packed[..]] {
                if let Some(slices) = unpack::<States>(bytes, rows, 0) {
                    prop_assert_eq!(slices.len(), rows);
                }
                if let Some(steps) = unpack::<Values>(bytes, rows, 0) {
                    prop_assert_eq!(steps.len(), rows);
                }
            }
        }
    }
}
