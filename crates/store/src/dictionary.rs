//! Dictionaries of number columns: the distinct values, and the entry of each row.

use crate::encode::Number;

/// The dictionary entry of each row, in one or two bytes; its memory is reused.
#[derive(Default)]
pub(crate) struct Index {
    pub(crate) bytes: Vec<u8>,
    pub(crate) shorts: Vec<u16>,
    /// The entry of each value, counted from 1. All 0 between two columns.
    places: Vec<u16>,
}

/// A dictionary.
pub(crate) enum Entries {
    /// A single value: no index is needed.
    One(i64),
    /// Indexed by [`Index::bytes`].
    Bytes(Vec<i64>),
    /// Indexed by [`Index::shorts`].
    Shorts(Vec<i64>),
}

impl Index {
    /// Builds the dictionary and the index of a column; `None` if it has too many entries to save space. `range`: the smallest and
    /// the largest value, `None` if there are no values.
    #[inline(always)]
    pub(crate) fn build<T: Number>(&mut self, values: &[T], range: Option<(T, T)>) -> Option<Entries> {
        let Some((min, max)) = range.map(|(min, max)| (min.into(), max.into())) else {
            self.bytes.clear();
            return Some(Entries::Bytes(Vec::new()));
        };
        if min == max {
            return Some(Entries::One(min));
        }
        let limit = (values.len() / 8).clamp(16, 1 << 15);
        let range = max.wrapping_sub(min) as u64;
        let above = |v: &T| (*v).into().wrapping_sub(min);
        if range < 1 << 8 {
            self.bytes.clear();
            self.bytes.extend(values.iter().map(|v| above(v) as u8));
            let entries: Vec<i64> = ranks(&mut self.bytes).iter().map(|code| min + i64::from(*code)).collect();
            return (entries.len() <= limit).then_some(Entries::Bytes(entries));
        }
        let entries = if range < 1 << 16 { self.dense(values, above, range) } else { self.sparse(values, limit)? };
        (entries.len() <= limit).then_some(Entries::Shorts(entries))
    }

    /// Builds it from values in a range so small that a table of all values finds them.
    #[inline(always)]
    fn dense<T: Number>(&mut self, values: &[T], above: impl Fn(&T) -> i64, range: u64) -> Vec<i64> {
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
            // With 2¹⁶ values the last has place 0; that many are not used as a dictionary.
            place.wrapping_sub(1)
        }));
        found.iter().for_each(|v| places[above(v) as usize] = 0);
        found.into_iter().map(Into::into).collect()
    }

    /// Builds it from any values with a hash map; `None` if there are more than `limit`.
    fn sparse<T: Number>(&mut self, values: &[T], limit: usize) -> Option<Vec<i64>> {
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

/// Replaces each code by its rank among the codes that occur; returns the codes that occur.
#[inline(always)]
pub(crate) fn ranks(codes: &mut [u8]) -> Vec<u8> {
    let mut occurs = [false; 256];
    codes.iter().for_each(|code| occurs[usize::from(*code)] = true);
    let all: Vec<u8> = (0..=u8::MAX).filter(|code| occurs[usize::from(*code)]).collect();
    // Usually the codes are 0, 1, 2…
    if all.iter().zip(0..=u8::MAX).any(|(code, rank)| *code != rank) {
        let mut rank = [0; 256];
        all.iter().zip(0..=u8::MAX).for_each(|(code, at)| rank[usize::from(*code)] = at);
        codes.iter_mut().for_each(|code| *code = rank[usize::from(*code)]);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_256_codes_have_their_rank() {
        let mut codes: Vec<u8> = (0..=u8::MAX).rev().collect();
        assert_eq!(ranks(&mut codes), (0..=u8::MAX).collect::<Vec<_>>());
        assert_eq!(codes, (0..=u8::MAX).rev().collect::<Vec<_>>());
    }
    use crate::encode::bounds;

    #[test]
    fn a_dictionary_with_too_many_entries_is_refused() {
        let mut index = Index::default();
        let mut of = |values: &[i64]| index.build(values, bounds(values, false).range);
        assert!(of(&(0..1000).map(|v| v * 1_000_000).collect::<Vec<i64>>()).is_none(), "sparse values");
        assert!(of(&(0..5000).collect::<Vec<i64>>()).is_none(), "dense values");
        assert!(of(&(0..150).collect::<Vec<i64>>()).is_none(), "values of one byte");
        assert!(of(&(0..1 << 16).collect::<Vec<i64>>()).is_none(), "one value for each short");
    }

    #[test]
    fn the_smallest_and_largest_numbers_fit_one_dictionary() {
        let mut index = Index::default();
        let ends = [i64::MAX, i64::MIN, i64::MAX];
        let found = index.build(&ends, bounds(&ends, false).range);
        assert!(matches!(found, Some(Entries::Shorts(all)) if all == [i64::MAX, i64::MIN]));
        assert_eq!(index.shorts, [0, 1, 0]);
    }

    #[test]
    fn index_and_dictionary_restore_the_column() {
        let mut index = Index::default();
        for (range, step) in [(2, 1), (200, 1), (200, 300), (3000, 20), (9, i64::MAX / 9), (1, 1)] {
            let values: Vec<i64> = (0..40_000).map(|i| i * i % range * step - 5).collect();
            let found = index.build(&values, bounds(&values, false).range);
            let back: Vec<i64> = match found {
                Some(Entries::One(value)) => vec![value; values.len()],
                Some(Entries::Bytes(all)) => index.bytes.iter().map(|at| all[usize::from(*at)]).collect(),
                Some(Entries::Shorts(all)) => index.shorts.iter().map(|at| all[usize::from(*at)]).collect(),
                None => Vec::new(),
            };
            assert_eq!(back, values, "{range} values {step} apart");
        }
    }
}
