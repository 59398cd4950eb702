//! The values of one column of a row group, while it is written and after it is read.

use crate::states_out::GROUP_ROWS;
use crate::writer::BATCH;
use model::Storage;

/// A column's values. A reserved value stands for null, since a flag with each would take as much memory as the value.
#[derive(Debug)]
pub(crate) enum Values {
    /// A column with the same number in all rows so far ([`Values::longs`]). What a source does not record needs no memory per row,
    /// and no pass over the rows.
    Constant { value: i64, rows: usize, of: Box<Values> },
    /// Values close to their neighbours, usually different: times. Null: `i64::MIN`.
    Long(Vec<i64>),
    /// Few distinct values. Null: `i64::MIN`.
    Key(Vec<i64>),
    /// Small numbers, often with few distinct values. Null: `i32::MIN`.
    Int(Vec<i32>),
    /// Words from a fixed list. Null: 255.
    Word(Vec<u8>, fn(u8) -> String),
    /// Texts by number, counted from 1. Null: 0.
    Text(Vec<u32>),
    /// Doubles.
    Float(Vec<Option<f64>>),
    /// Booleans.
    Bool(Vec<Option<bool>>),
}

/// The null of [`Values::Word`].
pub(crate) const NO_WORD: u8 = 255;

/// A placeholder while a column is replaced.
const NO_ROWS: Values = Values::Bool(Vec::new());

impl Values {
    /// Returns a column without rows.
    pub(crate) fn of(storage: Storage) -> Self {
        match storage {
            Storage::Long => Self::Long(Vec::new()),
            Storage::Key => Self::Key(Vec::new()),
            Storage::Int => Self::Int(Vec::new()),
            Storage::Word(word) => Self::Word(Vec::new(), word),
            Storage::Text => Self::Text(Vec::new()),
            Storage::Float => Self::Float(Vec::new()),
            Storage::Bool => Self::Bool(Vec::new()),
        }
    }

    /// Returns the number of rows.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Constant { rows, .. } => *rows,
            Self::Long(v) | Self::Key(v) => v.len(),
            Self::Int(v) => v.len(),
            Self::Word(v, _) => v.len(),
            Self::Text(v) => v.len(),
            Self::Float(v) => v.len(),
            Self::Bool(v) => v.len(),
        }
    }

    /// Returns a column of the same kind without rows.
    pub(crate) fn empty(&self) -> Self {
        match self {
            Self::Constant { of, .. } => of.empty(),
            Self::Long(_) => Self::Long(Vec::new()),
            Self::Key(_) => Self::Key(Vec::new()),
            Self::Int(_) => Self::Int(Vec::new()),
            Self::Word(_, word) => Self::Word(Vec::new(), *word),
            Self::Text(_) => Self::Text(Vec::new()),
            Self::Float(_) => Self::Float(Vec::new()),
            Self::Bool(_) => Self::Bool(Vec::new()),
        }
    }

    /// Adds some rows of another column of the same kind.
    pub(crate) fn take(&mut self, from: &Self, rows: &[u32]) {
        fn copy<T: Copy>(to: &mut Vec<T>, from: &[T], rows: &[u32]) {
            to.extend(rows.iter().filter_map(|r| from.get(*r as usize)));
        }
        match (self.expand(), from) {
            (Self::Long(to) | Self::Key(to), Self::Constant { value, .. }) => to.resize(to.len() + rows.len(), *value),
            (Self::Int(to), Self::Constant { value, .. }) => to.resize(to.len() + rows.len(), *value as i32),
            (Self::Long(to) | Self::Key(to), Self::Long(from) | Self::Key(from)) => copy(to, from, rows),
            (Self::Int(to), Self::Int(from)) => copy(to, from, rows),
            (Self::Word(to, _), Self::Word(from, _)) => copy(to, from, rows),
            (Self::Text(to), Self::Text(from)) => copy(to, from, rows),
            (Self::Float(to), Self::Float(from)) => copy(to, from, rows),
            (Self::Bool(to), Self::Bool(from)) => copy(to, from, rows),
            _ => {}
        }
    }

    /// Removes all values and keeps the memory.
    pub(crate) fn clear(&mut self) {
        match self {
            Self::Constant { of, .. } => *self = std::mem::replace(of, NO_ROWS),
            Self::Long(v) | Self::Key(v) => v.clear(),
            Self::Int(v) => v.clear(),
            Self::Word(v, _) => v.clear(),
            Self::Text(v) => v.clear(),
            Self::Float(v) => v.clear(),
            Self::Bool(v) => v.clear(),
        }
    }

    /// Adds values to a column of 64-bit numbers; does nothing for other columns.
    #[inline]
    pub(crate) fn longs(&mut self, more: impl Iterator<Item = i64>) {
        let changed = match self {
            Self::Long(v) | Self::Key(v) => extend_or_fold(v, more).map(Some),
            Self::Constant { value, rows, of } => match &mut **of {
                Self::Long(v) | Self::Key(v) => extend_constant(v, *value, rows, more).then_some(None),
                _ => None,
            },
            _ => None,
        };
        changed.into_iter().for_each(|constant| self.set_constant(constant));
    }

    /// Adds values to a column of 32-bit numbers; does nothing for other columns.
    #[inline]
    pub(crate) fn ints(&mut self, more: impl Iterator<Item = i32>) {
        let changed = match self {
            Self::Int(v) => extend_or_fold(v, more).map(|(value, rows)| Some((value.into(), rows))),
            Self::Constant { value, rows, of } => match &mut **of {
                Self::Int(v) => extend_constant(v, *value as i32, rows, more).then_some(None),
                _ => None,
            },
            _ => None,
        };
        changed.into_iter().for_each(|constant| self.set_constant(constant));
    }

    /// Adds a number to a column of 32- or 64-bit numbers; `None` is null. Does nothing for other columns.
    #[inline]
    pub(crate) fn number(&mut self, value: Option<i64>) {
        let column = if let Self::Constant { of, .. } = self { &**of } else { &*self };
        if let Self::Int(_) = column {
            self.ints(std::iter::once(value.map_or(i32::MIN, |value| value as i32)));
        } else {
            self.longs(std::iter::once(value.unwrap_or(i64::MIN)));
        }
    }

    /// Stores a value for each row, so that single values can be accessed.
    pub(crate) fn expand(&mut self) -> &mut Self {
        if let Self::Constant { value, rows, of } = self {
            match &mut **of {
                Self::Long(v) | Self::Key(v) => v.resize(*rows, *value),
                Self::Int(v) => v.resize(*rows, *value as i32),
                _ => {}
            }
            self.set_constant(None);
        }
        self
    }

    /// Makes the column constant with this number and row count, or no longer constant.
    #[cold]
    fn set_constant(&mut self, constant: Option<(i64, usize)>) {
        let of = std::mem::replace(self, NO_ROWS);
        *self = match (constant, of) {
            (Some((value, rows)), of) => Self::Constant { value, rows, of: Box::new(of) },
            (None, Self::Constant { of, .. }) => *of,
            (None, of) => of,
        };
    }
}

/// The minimum number of equal rows for which a column is treated as constant.
const MIN_CONSTANT_ROWS: usize = 64;

/// Adds values to a column. If they are its first and all equal, returns the number and the row count, and stores nothing.
#[inline]
fn extend_or_fold<T: Copy + PartialEq>(v: &mut Vec<T>, more: impl Iterator<Item = T>) -> Option<(T, usize)> {
    let first = v.is_empty();
    reserved(v).extend(more);
    if !first || v.len() < MIN_CONSTANT_ROWS {
        return None;
    }
    let (value, rows) = (*v.first()?, v.len());
    let alike = v.iter().all(|other| *other == value);
    alike.then(|| v.clear());
    alike.then_some((value, rows))
}

/// Adds values to a constant column of `rows` rows, which are not stored. Returns true if a value differs; then all rows are stored.
#[inline]
fn extend_constant<T: Copy + PartialEq>(
    v: &mut Vec<T>,
    value: T,
    rows: &mut usize,
    more: impl Iterator<Item = T>,
) -> bool {
    v.extend(more);
    // Without an early exit the loop is vectorised.
    if v.iter().fold(true, |alike, other| alike & (*other == value)) {
        *rows += v.len();
        v.clear();
        return false;
    }
    let others = v.len();
    if *rows >= LARGE_COLUMN_ROWS {
        v.reserve_exact(COLUMN_CAPACITY.saturating_sub(others));
    }
    v.resize(*rows + others, value);
    v.copy_within(..others, *rows);
    v.iter_mut().take(*rows).for_each(|v| *v = value);
    true
}

/// A column of this many rows reserves memory for a whole row group; otherwise it would be copied four times while it grows.
const LARGE_COLUMN_ROWS: usize = GROUP_ROWS / 16;
/// The capacity for a row group, which is closed at the end of the batch that fills it.
const COLUMN_CAPACITY: usize = GROUP_ROWS + BATCH;

/// Returns the column, with memory reserved for a whole row group if it is large.
#[inline]
pub(crate) fn reserved<T>(column: &mut Vec<T>) -> &mut Vec<T> {
    if column.len() >= LARGE_COLUMN_ROWS && column.capacity() < COLUMN_CAPACITY {
        column.reserve_exact(COLUMN_CAPACITY - column.len());
    }
    column
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_keeps_its_values_constant_or_not() {
        let parts: [&[(i64, usize)]; 6] = [
            &[(5, 10)],
            &[(i64::MIN, 300), (i64::MIN, 3000)],
            &[(7, 256), (7, 256), (8, 1), (7, 256)],
            &[(3, 256), (4, 256), (4, 256)],
            &[(1, 1), (1, 256), (2, 9)],
            &[(0, 5000), (1, 60_000), (0, 300)],
        ];
        for parts in parts {
            let all: Vec<i64> = parts.iter().flat_map(|(v, n)| std::iter::repeat_n(*v, *n)).collect();
            let ints = || all.iter().map(|v| (*v).max(i32::MIN.into()) as i32);
            let (mut long, mut int) = (Values::Key(Vec::new()), Values::Int(Vec::new()));
            for again in 0..2 {
                let mut from = 0;
                for (_, count) in parts {
                    long.longs(all[from..from + count].iter().copied());
                    int.ints(ints().skip(from).take(*count));
                    from += count;
                    assert_eq!((long.len(), int.len()), (from, from));
                }
                let some: Vec<u32> = (0..all.len() as u32).step_by(7).collect();
                let mut taken = long.empty();
                taken.take(&long, &some);
                let expected: Vec<i64> = all.iter().step_by(7).copied().collect();
                assert!(matches!(&taken, Values::Key(v) if *v == expected), "{parts:?} {again}");
                assert!(matches!(long.expand(), Values::Key(v) if *v == all), "{parts:?} {again}");
                assert!(matches!(int.expand(), Values::Int(v) if v.iter().copied().eq(ints())), "{parts:?} {again}");
                long.clear();
                int.clear();
                assert_eq!((long.len(), int.len()), (0, 0));
            }
        }
    }
}
