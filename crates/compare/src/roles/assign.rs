//! Assigns one-to-one: only what is clearly the best for both.

use super::Confidence;

/// Less similar groups are not the same.
const NONE: f64 = 0.55;
/// The best must exceed the second best by this.
const MIN_MARGIN: f64 = 0.04;
/// From here on the confidence is medium.
const MEDIUM_MARGIN: f64 = 0.10;
const MEDIUM: f64 = 0.65;
/// From here on it is high.
const HIGH_MARGIN: f64 = 0.25;
const HIGH: f64 = 0.85;

/// A match of rows with columns.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Assigned {
    pub(super) row: usize,
    pub(super) column: usize,
    pub(super) confidence: Confidence,
}

/// Matches rows and columns of a matrix of similarities that are each other's best by a margin, the clearest first; then those that are left,
/// with less confidence.
pub(super) fn assign(alike: &[Vec<f64>]) -> Vec<Assigned> {
    let columns = alike.iter().map(Vec::len).max().unwrap_or(0);
    let mut rows_left: Vec<usize> = (0..alike.len()).collect();
    let mut columns_left: Vec<usize> = (0..columns).collect();
    let mut assigned = Vec::<Assigned>::new();
    let at = |row: usize, column: usize| alike.get(row).and_then(|row| row.get(column)).copied().unwrap_or(0.0);
    loop {
        let mut best: Option<(f64, usize, usize)> = None;
        for row in &rows_left {
            let Some(column) = columns_left.iter().copied().max_by(|a, b| at(*row, *a).total_cmp(&at(*row, *b))) else {
                continue;
            };
            let score = at(*row, column);
            let rivals = columns_left.iter().filter(|other| **other != column).map(|other| at(*row, *other));
            let of_column = rows_left.iter().filter(|other| *other != row).map(|other| at(*other, column));
            let second = rivals.chain(of_column).fold(NONE, f64::max);
            let margin = score - second;
            if score > NONE && margin >= MIN_MARGIN && best.is_none_or(|(most, ..)| margin > most) {
                best = Some((margin, *row, column));
            }
        }
        let Some((margin, row, column)) = best else { return assigned };
        let of_all = (0..columns).filter(|other| *other != column).map(|other| at(row, other));
        let of_all = of_all.chain((0..alike.len()).filter(|other| *other != row).map(|other| at(other, column)));
        let margin_of_all = at(row, column) - of_all.fold(NONE, f64::max);
        let score = at(row, column);
        let confidence = if score >= HIGH && margin_of_all >= HIGH_MARGIN {
            Confidence::High
        } else if score >= MEDIUM && margin >= MEDIUM_MARGIN && margin_of_all >= MIN_MARGIN {
            Confidence::Medium
        } else {
            Confidence::Low
        };
        assigned.push(Assigned { row, column, confidence });
        rows_left.retain(|left| *left != row);
        columns_left.retain(|left| *left != column);
    }
}

#[cfg(test)]
mod tests {
    use super::{Assigned, Confidence, assign};

    fn pairs(alike: &[Vec<f64>]) -> Vec<(usize, usize, Confidence)> {
        let mut all: Vec<_> =
            assign(alike).into_iter().map(|Assigned { row, column, confidence }| (row, column, confidence)).collect();
        all.sort_unstable_by_key(|(row, ..)| *row);
        all
    }

    #[test]
    fn the_clearest_are_matched_first_and_the_others_follow_with_less_confidence() {
        let of = [vec![0.95, 0.30], vec![0.80, 0.78]];
        assert_eq!(pairs(&of), [(0, 0, Confidence::Medium), (1, 1, Confidence::Low)]);
    }

    #[test]
    fn twins_are_not_matched() {
        assert_eq!(pairs(&[vec![0.9, 0.9], vec![0.9, 0.9]]), []);
    }

    #[test]
    fn what_is_unlike_is_not_matched() {
        assert_eq!(pairs(&[vec![0.5]]), []);
        assert_eq!(pairs(&[vec![0.95]]), [(0, 0, Confidence::High)]);
    }
}
