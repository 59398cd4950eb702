//! A printed number with its rounding error.

use std::iter::Sum;
use std::ops::{Add, Div, Mul, Sub};

/// A number and its maximum rounding error, in the same unit. Sums, products and ratios propagate the error to first order, for the
/// worst case, so that correctly rounded figures never count as contradictions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Figure {
    /// The printed number.
    pub value: f64,
    /// Half a unit of its last digit; 0 if it is exact.
    pub rounding: f64,
}

impl Figure {
    /// A number without rounding: a count or a constant.
    #[must_use]
    pub const fn exact(value: f64) -> Self {
        Self { value, rounding: 0.0 }
    }

    /// Parses a printed decimal number, with or without a percent sign; `None` if it is not a finite number.
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

    /// Converts the number to another unit.
    #[must_use]
    pub fn scaled(self, by: f64) -> Self {
        self * Self::exact(by)
    }

    /// Allows for trailing zeros of a whole number to be rounded digits: 50 for 51.2.
    #[must_use]
    pub fn with_rounded_zeros(self) -> Self {
        let whole = |place: &f64| self.value != 0.0 && (self.value / place).fract() == 0.0;
        // A double has no more digits.
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

/// Division by 0 gives a number that is not finite; nothing is compared with it.
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

/// The mean; `None` if there are no figures.
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
    fn the_rounding_error_follows_from_the_digits() {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        for (cell, rounding) in [("2.93", 0.005), ("50", 0.5), ("38.50%", 0.005), ("1.2e3", 50.0), ("-7.0", 0.05)] {
            assert!(close(of(cell).rounding, rounding), "{cell}: {:?}", of(cell));
        }
        for bad in ["", "NA", "1,5", "inf", "nan", "1e400", "0x10", "1e99999999999"] {
            assert_eq!(Figure::parse(bad), None, "{bad}");
        }
        assert!(
            close(of("50").with_rounded_zeros().rounding, 5.0) && close(of("76.8").with_rounded_zeros().rounding, 0.05)
        );
        assert!(close(of("0").with_rounded_zeros().rounding, 0.5));
    }

    #[test]
    fn rounding_errors_are_propagated() {
        let ratio = of("1.0") / of("2.0");
        assert!((ratio.value - 0.5).abs() < 1e-12 && (ratio.rounding - 0.0375).abs() < 1e-12, "{ratio:?}");
        let sum: Figure = [of("0.1"), of("0.20")].into_iter().sum();
        assert!((sum.rounding - 0.055).abs() < 1e-12, "{sum:?}");
        assert!(!(of("1") / Figure::exact(0.0)).value.is_finite());
    }
}
