//! Durations in powers of two from a microsecond.

use model::{Ns, Value};

/// A histogram of durations; `T` is what is kept for each bin.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lengths<T> {
    /// The bins below 1 µs, below 2 µs, below 4 µs, …, up to the largest that occurred.
    known: Vec<T>,
    /// The bin of durations that were cut off.
    cut: Option<T>,
}

/// The lower bound of the second bin.
const SHORTEST: i64 = 1000;

impl<T: Clone + Default> Lengths<T> {
    /// Returns the value for a duration; `None`: it was cut off.
    #[inline]
    pub(crate) fn of(&mut self, length: Option<Ns>) -> &mut T {
        let Some(length) = length else { return self.cut.get_or_insert_default() };
        let row = match length.0 / SHORTEST {
            ..1 => 0,
            whole => whole.ilog2() as usize + 1,
        };
        if row >= self.known.len() {
            self.known.resize(row + 1, T::default());
        }
        &mut self.known[row]
    }

    /// Returns the lower and upper bound of each bin and its value. Bounds are null for durations that were cut off,
    /// which come first.
    pub(crate) fn rows(&self) -> impl Iterator<Item = ([Value; 2], &T)> {
        let first = |row: usize| if row == 0 { Ns::ZERO } else { Ns(SHORTEST.saturating_mul(1 << (row - 1))) };
        let known =
            self.known.iter().enumerate().map(move |(row, of)| ([first(row).into(), first(row + 1).into()], of));
        self.cut.iter().map(|of| ([Value::Null, Value::Null], of)).chain(known)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_length_falls_within_the_bounds_of_its_row() {
        for length in [0, 1, 999, 1000, 1999, 2000, 3999, 4000, 1_000_000, 1_024_000, i64::MAX - 1] {
            let mut lengths = Lengths::<u32>::default();
            *lengths.of(Some(Ns(length))) += 1;
            let ([from, to], _) = lengths.rows().find(|(_, n)| **n == 1).unwrap();
            let (Value::Int(from), Value::Int(to)) = (from, to) else { panic!("a known length") };
            assert!(from <= length && length < to, "{from} {length} {to}");
        }
    }
}
