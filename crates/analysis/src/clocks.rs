//! Clocks with readers. A reader's share of time is the difference between the clock at its end and at its begin.

use rustc_hash::FxHashMap;
use std::hash::Hash;

/// Clocks by key. A clock exists from its first reader's arrival to its last reader's departure. So there are never
/// more clocks than readers, and changes only update clocks that are in use.
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

    /// Adds a reader. The first reader of a key creates its clock.
    pub(crate) fn enter(&mut self, key: K, make: impl FnOnce() -> C) -> &C {
        let place = *self.places.entry(key).or_insert(self.read.len());
        if place == self.read.len() {
            self.read.push(Read { key, clock: make(), readers: 0 });
        }
        self.read[place].readers += 1;
        &self.read[place].clock
    }

    /// Returns a clock that has a reader.
    pub(crate) fn get(&self, key: K) -> Option<&C> {
        self.places.get(&key).map(|place| &self.read[*place].clock)
    }

    /// Removes a reader.
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

    /// All clocks that have readers.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (K, &mut C)> {
        self.read.iter_mut().map(|r| (r.key, &mut r.clock))
    }
}

/// A set of indices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Bits(Box<[u64]>);

impl Bits {
    /// The empty set of `of` indices.
    pub(crate) fn none(of: usize) -> Self {
        Self(vec![0; of.div_ceil(64)].into())
    }

    /// The set of these indices, of `of` in total.
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

    /// Whether the sets have an index in common.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.words().zip(other.words()).any(|(a, b)| a & b != 0)
    }

    /// The bits, 64 indices in each word.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_kept_while_it_has_readers() {
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
