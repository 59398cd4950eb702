//! Dictionaries of columns of numbers: which values there are, and which of them each row has.

use crate::encode::Number;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::bounds;

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
    fn the_ends_of_what_a_number_can_be_are_far_from_each_other() {
        let mut index = Index::default();
        let ends = [i64::MAX, i64::MIN, i64::MAX];
        let found = index.of(&ends, bounds(&ends, false).range);
        assert!(matches!(found, Some(Entries::Shorts(all)) if all == [i64::MAX, i64::MIN]));
        assert_eq!(index.shorts, [0, 1, 0]);
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
