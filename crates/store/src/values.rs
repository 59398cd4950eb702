//! The values of a column of one row group, as they are filled and as they are read.

use crate::states_out::GROUP_ROWS;
use crate::writer::BATCH;

/// A column's values; nulls by a value of their own, since a flag beside each would cost as much as the value.
#[derive(Debug)]
pub(crate) enum Values {
    /// So many rows of the same number so far, of a column that is empty else ([`Values::longs`]): what a source does not tell has
    /// no memory for every row, and nobody looks through it.
    Alike { value: i64, rows: usize, of: Box<Values> },
    /// Mostly unlike its neighbours' values, but near them: times. Null: `i64::MIN`.
    Long(Vec<i64>),
    /// Few distinct ones. Null: `i64::MIN`.
    Key(Vec<i64>),
    /// Small numbers, often few distinct ones. Null: `i32::MIN`.
    Int(Vec<i32>),
    /// Words out of a fixed list. Null: 255.
    Word(Vec<u8>, fn(u8) -> String),
    /// Texts by number, counted from 1. Null: 0.
    Text(Vec<u32>),
    /// Doubles.
    Float(Vec<Option<f64>>),
    /// Yes or no.
    Bool(Vec<Option<bool>>),
}

/// The null of [`Values::Word`].
pub(crate) const NO_WORD: u8 = 255;

/// Stands in place of a column that is being made another.
const NO_ROWS: Values = Values::Bool(Vec::new());

impl Values {
    /// How many.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Alike { rows, .. } => *rows,
            Self::Long(v) | Self::Key(v) => v.len(),
            Self::Int(v) => v.len(),
            Self::Word(v, _) => v.len(),
            Self::Text(v) => v.len(),
            Self::Float(v) => v.len(),
            Self::Bool(v) => v.len(),
        }
    }

    /// A column of the same kind without rows.
    pub(crate) fn empty(&self) -> Self {
        match self {
            Self::Alike { of, .. } => of.empty(),
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
        match (self.each(), from) {
            (Self::Long(to) | Self::Key(to), Self::Alike { value, .. }) => to.resize(to.len() + rows.len(), *value),
            (Self::Int(to), Self::Alike { value, .. }) => to.resize(to.len() + rows.len(), *value as i32),
            (Self::Long(to) | Self::Key(to), Self::Long(from) | Self::Key(from)) => copy(to, from, rows),
            (Self::Int(to), Self::Int(from)) => copy(to, from, rows),
            (Self::Word(to, _), Self::Word(from, _)) => copy(to, from, rows),
            (Self::Text(to), Self::Text(from)) => copy(to, from, rows),
            (Self::Float(to), Self::Float(from)) => copy(to, from, rows),
            (Self::Bool(to), Self::Bool(from)) => copy(to, from, rows),
            _ => {}
        }
    }

    /// Forgets them, keeping the memory.
    pub(crate) fn clear(&mut self) {
        match self {
            Self::Alike { of, .. } => *self = std::mem::replace(of, NO_ROWS),
            Self::Long(v) | Self::Key(v) => v.clear(),
            Self::Int(v) => v.clear(),
            Self::Word(v, _) => v.clear(),
            Self::Text(v) => v.clear(),
            Self::Float(v) => v.clear(),
            Self::Bool(v) => v.clear(),
        }
    }

    /// Adds to a column of 64-bit numbers; to others it adds nothing.
    #[inline]
    pub(crate) fn longs(&mut self, more: impl Iterator<Item = i64>) {
        let turned = match self {
            Self::Long(v) | Self::Key(v) => begin(v, more).map(Some),
            Self::Alike { value, rows, of } => match &mut **of {
                Self::Long(v) | Self::Key(v) => differs(v, *value, rows, more).then_some(None),
                _ => None,
            },
            _ => None,
        };
        turned.into_iter().for_each(|alike| self.turn(alike));
    }

    /// The same of 32 bits.
    #[inline]
    pub(crate) fn ints(&mut self, more: impl Iterator<Item = i32>) {
        let turned = match self {
            Self::Int(v) => begin(v, more).map(|(value, rows)| Some((value.into(), rows))),
            Self::Alike { value, rows, of } => match &mut **of {
                Self::Int(v) => differs(v, *value as i32, rows, more).then_some(None),
                _ => None,
            },
            _ => None,
        };
        turned.into_iter().for_each(|alike| self.turn(alike));
    }

    /// Writes each row's value out, for who looks at single ones.
    pub(crate) fn each(&mut self) -> &mut Self {
        if let Self::Alike { value, rows, of } = self {
            match &mut **of {
                Self::Long(v) | Self::Key(v) => v.resize(*rows, *value),
                Self::Int(v) => v.resize(*rows, *value as i32),
                _ => {}
            }
            self.turn(None);
        }
        self
    }

    /// From now on it is of one number in so many rows, or no longer.
    #[cold]
    fn turn(&mut self, alike: Option<(i64, usize)>) {
        let of = std::mem::replace(self, NO_ROWS);
        *self = match (alike, of) {
            (Some((value, rows)), of) => Self::Alike { value, rows, of: Box::new(of) },
            (None, Self::Alike { of, .. }) => *of,
            (None, of) => of,
        };
    }
}

/// Fewer rows alike are no sign that more will be.
const ALIKE: usize = 64;

/// Adds to a column. Where these are its first and they are alike: their number, and how many; they are left out then.
#[inline]
fn begin<T: Copy + PartialEq>(v: &mut Vec<T>, more: impl Iterator<Item = T>) -> Option<(T, usize)> {
    let first = v.is_empty();
    roomy(v).extend(more);
    if !first || v.len() < ALIKE {
        return None;
    }
    let (value, rows) = (*v.first()?, v.len());
    let alike = v.iter().all(|other| *other == value);
    alike.then(|| v.clear());
    alike.then_some((value, rows))
}

/// Adds to a column that had the same value in all its `rows`, which are left out. `true`: in these it has others, and all are there now.
#[inline]
fn differs<T: Copy + PartialEq>(v: &mut Vec<T>, value: T, rows: &mut usize, more: impl Iterator<Item = T>) -> bool {
    v.extend(more);
    // Without a way out of the loop it is done by vectors.
    if v.iter().fold(true, |alike, other| alike & (*other == value)) {
        *rows += v.len();
        v.clear();
        return false;
    }
    let others = v.len();
    if *rows >= MANY {
        v.reserve_exact(ROOM.saturating_sub(others));
    }
    v.resize(*rows + others, value);
    v.copy_within(..others, *rows);
    v.iter_mut().take(*rows).for_each(|v| *v = value);
    true
}

/// Columns of so many rows get room for a whole row group at once: growing on, each would be copied four times.
const MANY: usize = GROUP_ROWS / 16;
/// A row group is closed when it has its rows, at the end of what was handed over at once.
const ROOM: usize = GROUP_ROWS + BATCH;

/// The column, with room for what is likely to come.
#[inline]
pub(crate) fn roomy<T>(column: &mut Vec<T>) -> &mut Vec<T> {
    if column.len() >= MANY && column.capacity() < ROOM {
        column.reserve_exact(ROOM - column.len());
    }
    column
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However a column is filled, it holds what it was filled with.
    #[test]
    fn alike_or_not_a_column_holds_what_it_was_given() {
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
                let step: Vec<i64> = all.iter().step_by(7).copied().collect();
                assert!(matches!(&taken, Values::Key(v) if *v == step), "{parts:?} {again}");
                assert!(matches!(long.each(), Values::Key(v) if *v == all), "{parts:?} {again}");
                assert!(matches!(int.each(), Values::Int(v) if v.iter().copied().eq(ints())), "{parts:?} {again}");
                long.clear();
                int.clear();
                assert_eq!((long.len(), int.len()), (0, 0));
            }
        }
    }
}
