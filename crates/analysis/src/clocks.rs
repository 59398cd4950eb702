//! Clocks that run while somebody reads them: a share of time is the difference of what one shows at its begin and at its end.

use rustc_hash::FxHashMap;
use std::hash::Hash;

/// Clocks by what they tell. Each is kept from its first reader's coming to its last one's leaving, so that there are never
/// more than readers, and what changes is told to those only that somebody reads.
pub(crate) struct Clocks<K, C> {
    places: FxHashMap<K, usize>,
    read: Vec<Read<K, C>>,
}

struct Read<K, C> {
    key: K,
    clock: C,
    readers: usize,
}

impl<K: Copy + Eq + Hash, C> Clocks<K, C> {
    pub(crate) fn new() -> Self {
        Self { places: FxHashMap::default(), read: Vec::new() }
    }

    /// A reader comes; the first one's clock is made for it.
    pub(crate) fn enter(&mut self, key: K, make: impl FnOnce() -> C) -> &C {
        let place = *self.places.entry(key).or_insert(self.read.len());
        if place == self.read.len() {
            self.read.push(Read { key, clock: make(), readers: 0 });
        }
        self.read[place].readers += 1;
        &self.read[place].clock
    }

    /// The clock that somebody reads.
    pub(crate) fn get(&self, key: K) -> Option<&C> {
        self.places.get(&key).map(|place| &self.read[*place].clock)
    }

    /// A reader leaves.
    pub(crate) fn leave(&mut self, key: K) {
        let Some(place) = self.places.get(&key).copied() else { return };
        self.read[place].readers -= 1;
        if self.read[place].readers == 0 {
            self.places.remove(&key);
            self.read.swap_remove(place);
            if let Some(moved) = self.read.get(place) {
                self.places.insert(moved.key, place);
            }
        }
    }

    /// All that somebody reads.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (K, &mut C)> {
        self.read.iter_mut().map(|r| (r.key, &mut r.clock))
    }
}

/// A set of places.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Bits(Box<[u64]>);

impl Bits {
    /// None of so many.
    pub(crate) fn none(of: usize) -> Self {
        Self(vec![0; of.div_ceil(64)].into())
    }

    /// Those of so many.
    pub(crate) fn of(places: impl IntoIterator<Item = usize>, of: usize) -> Self {
        let mut bits = Self::none(of);
        places.into_iter().for_each(|place| bits.put(place, true));
        bits
    }

    pub(crate) fn put(&mut self, place: usize, is_in: bool) {
        let (word, bit) = (&mut self.0[place / 64], 1 << (place % 64));
        if is_in {
            *word |= bit;
        } else {
            *word &= !bit;
        }
    }

    pub(crate) fn has(&self, place: usize) -> bool {
        self.0[place / 64] & (1 << (place % 64)) != 0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words().all(|word| word == 0)
    }

    /// Whether one is in both.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.words().zip(other.words()).any(|(a, b)| a & b != 0)
    }

    /// 64 places each.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_kept_while_somebody_reads_it() {
        let mut clocks = Clocks::new();
        for key in ['a', 'b', 'a', 'c'] {
            clocks.enter(key, || key.to_ascii_uppercase());
        }
        clocks.leave('a');
        assert_eq!(clocks.get('a'), Some(&'A'));
        clocks.leave('a');
        clocks.leave('a');
        assert_eq!((clocks.get('a'), clocks.get('b'), clocks.get('c')), (None, Some(&'B'), Some(&'C')));
        assert_eq!(clocks.iter_mut().map(|(key, _)| key).collect::<String>(), "cb");
        assert_eq!(clocks.enter('a', || 'X'), &'X');
    }
}
