//! Numbers that stand for what must not be shown.

use std::collections::HashMap;
use std::hash::Hash;

/// How many values get a number of their own; it bounds the memory that a hostile recording can take.
const MOST: usize = 1 << 20;

/// The numbers that stand for private values, such as addresses: equal values have the same number.
///
/// ```
/// let mut of = model::StandIns::default();
/// assert_eq!([0x5000, 0x7000, 0x5000].map(|address| of.number(&address)), [1, 2, 1]);
/// ```
#[derive(Clone, Debug)]
pub struct StandIns<K>(HashMap<K, u64>);

impl<K> Default for StandIns<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Hash + Eq> StandIns<K> {
    /// Returns the number of a value: 1 for the first one. All values after the first 1,048,576 have the number 0.
    pub fn number<Q>(&mut self, value: &Q) -> u64
    where
        K: std::borrow::Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        if let Some(number) = self.0.get(value) {
            return *number;
        }
        if self.0.len() >= MOST {
            return 0;
        }
        let number = self.0.len() as u64 + 1;
        self.0.insert(value.to_owned(), number);
        number
    }
}
