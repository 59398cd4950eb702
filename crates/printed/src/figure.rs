//! A number as a tool printed it: what stands there, and how far rounding may have moved it.

use std::iter::Sum;
use std::ops::{Add, Div, Mul, Sub};

/// A number and the most by which rounding may have moved it, both in one unit. Sums, products and ratios carry it on, to first
/// order and for the worst case: no figure that was rounded well is said to contradict.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Figure {
    /// The number that is printed.
    pub value: f64,
    /// Half of its last digit's place; 0 where it is exact.
    pub rounding: f64,
}

impl Figure {
    /// A number that nothing rounded: a count, a constant.
    #[must_use]
    pub const fn exact(value: f64) -> Self {
        Self { value, rounding: 0.0 }
    }

    /// A printed decimal number, with a percent sign or without; `None` where it is none, or none that is finite.
    #[must_use]
    pub fn parse(cell: &str) -> Option<Self> {
        let cell = cell.trim().trim_end_matches('%').trim_end();
        let (digits, power) = match cell.split_once(['e', 'E']) {
            Some((digits, power)) => (digits, power.parse::<i32>().ok()?),
            None => (cell, 0),
        };
        let value: f64 = cell.parse().ok().filter(|v: &f64| v.is_finite())?;
        let places = digits.split_once('.').map_or(0, |(_, part)| part.len());
        let places = i32::try_from(places).ok()?.checked_neg()?.checked_add(power)?;
        Some(Self { value, rounding: 0.5 * 10_f64.powi(places) })
    }

    /// The same number in another unit.
    #[must_use]
    pub fn scaled(self, by: f64) -> Self {
        self * Self::exact(by)
    }

    /// The same where the zeros that a whole number ends in may stand for digits that were rounded off: 50 for 51.2.
    #[must_use]
    pub fn perhaps_round(self) -> Self {
        let whole = |place: &f64| self.value != 0.0 && (self.value / place).fract() == 0.0;
        // Doubles have no more digits.
        let place = (0..16).map(|zeros| 10_f64.powi(zeros)).take_while(whole).last().unwrap_or(0.0);
        Self { rounding: self.rounding.max(0.5 * place), ..self }
    }
}

impl Add for Figure {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { value: self.value + other.value, rounding: self.rounding + other.rounding }
    }
}

impl Sub for Figure {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self { value: self.value - other.value, rounding: self.rounding + other.rounding }
    }
}

impl Mul for Figure {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let rounding = self.rounding * other.value.abs() + self.value.abs() * other.rounding;
        Self { value: self.value * other.value, rounding }
    }
}

/// By 0 it is no number, which nothing can be held against.
impl Div for Figure {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let value = self.value / other.value;
        Self { value, rounding: (self.rounding + value.abs() * other.rounding) / other.value.abs() }
    }
}

impl Sum for Figure {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::exact(0.0), Add::add)
    }
}

/// The mean; `None` of none.
pub(crate) fn mean(all: &[Figure]) -> Option<Figure> {
    (!all.is_empty()).then(|| all.iter().copied().sum::<Figure>() / Figure::exact(all.len() as f64))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn of(cell: &str) -> Figure {
        Figure::parse(cell).unwrap()
    }

    #[test]
    fn digits_tell_how_far_rounding_went() {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        for (cell, rounding) in [("2.93", 0.005), ("50", 0.5), ("38.50%", 0.005), ("1.2e3", 50.0), ("-7.0", 0.05)] {
            assert!(close(of(cell).rounding, rounding), "{cell}: {:?}", of(cell));
        }
        for bad in ["", "NA", "1,5", "inf", "nan", "1e400", "0x10", "1e99999999999"] {
            assert_eq!(Figure::parse(bad), None, "{bad}");
        }
        assert!(close(of("50").perhaps_round().rounding, 5.0) && close(of("76.8").perhaps_round().rounding, 0.05));
        assert!(close(of("0").perhaps_round().rounding, 0.5));
    }

    #[test]
    fn rounding_is_carried_on() {
        let ratio = of("1.0") / of("2.0");
        assert!((ratio.value - 0.5).abs() < 1e-12 && (ratio.rounding - 0.0375).abs() < 1e-12, "{ratio:?}");
        let sum: Figure = [of("0.1"), of("0.20")].into_iter().sum();
        assert!((sum.rounding - 0.055).abs() < 1e-12, "{sum:?}");
        assert!(!(of("1") / Figure::exact(0.0)).value.is_finite());
    }
}
