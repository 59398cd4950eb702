//! A scale of values across the width of a picture, in percent, so that text keeps its size on a small screen.

use super::super::words::ticks;
use crate::outcome::Unit;
use page::escaped;
use std::fmt::Write as _;

/// The free space at both ends, in percent of the width.
const PAD: f64 = 3.0;
/// The largest number of labels.
const TICKS: f64 = 5.0;

/// A linear scale.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// A scale that shows all finite values; `None` if there are none.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let finite = values.filter(|x| x.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        if low > high || !(high - low).is_finite() {
            return None;
        }
        // Equal values are in the middle.
        let room = if high > low { 0.0 } else { low.abs().max(1.0) * 0.05 };
        Some(Self { low: low - room, high: high + room })
    }

    /// The position of a value, in percent; values that are outside are at the ends.
    pub fn place(self, of: f64) -> f64 {
        let share = ((of - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        if share.is_nan() { PAD } else { PAD + share * (100.0 - 2.0 * PAD) }
    }

    /// Round values, at most about five.
    fn ticks(self) -> Vec<f64> {
        let step = (self.high - self.low) / TICKS;
        let unit = 10f64.powf(step.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|of| of * unit).find(|of| *of >= step).unwrap_or(unit * 10.0);
        let first = (self.low / step).ceil();
        (0..=TICKS as usize + 1).map(|at| (first + at as f64) * step).take_while(|at| *at <= self.high).collect()
    }

    /// Writes lines from `top` to `bottom` at round values, and their labels below. Pixels.
    pub fn axis(self, svg: &mut String, unit: Unit, top: f64, bottom: f64) {
        let all = self.ticks();
        for (tick, label) in all.iter().zip(ticks(unit, &all)) {
            let x = self.place(*tick);
            let anchor = match x {
                x if x < 8.0 => " class=\"first\"",
                x if x > 92.0 => " class=\"last\"",
                _ => "",
            };
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"{top}\" y2=\"{bottom}\"/><g class=\"ticks\"><text{anchor} x=\"{x:.2}%\" \
                 y=\"{}\">{}</text></g>",
                bottom + 15.0,
                escaped(&label),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_within_the_picture() {
        let scale = Scale::of([2.0, 4.0, f64::NAN].into_iter()).unwrap();
        assert_eq!(
            [2.0, 3.0, 4.0, 9.0, f64::INFINITY, f64::NAN].map(|x| scale.place(x)),
            [3.0, 50.0, 97.0, 97.0, 97.0, 3.0]
        );
        assert_eq!(Scale::of([7.0].into_iter()).unwrap().place(7.0), 50.0);
        assert!(Scale::of([f64::NAN].into_iter()).is_none());
        assert!(Scale::of([-f64::MAX, f64::MAX].into_iter()).is_none(), "an infinite range");
    }

    #[test]
    fn ticks_are_round_and_few() {
        let ticks = |low: f64, high: f64| Scale::of([low, high].into_iter()).unwrap().ticks();
        assert_eq!(ticks(0.0, 1.0), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(ticks(1.22, 1.29).len(), 4);
        for (low, high) in [(0.1, 0.9), (-3.0, 1e9), (5.0, 5.0), (1e-9, 2e-9), (-1e300, 1e300)] {
            assert!((1..=7).contains(&ticks(low, high).len()), "{low} {high}: {:?}", ticks(low, high));
        }
    }
}
