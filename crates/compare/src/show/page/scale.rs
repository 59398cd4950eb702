//! A scale of values across the width of a picture, in percent, so that text keeps its size on a small screen.

use super::super::words::ticks;
use crate::outcome::Unit;
use ::page::escaped;
use std::fmt::Write as _;

/// The free space at both ends, in percent of the width.
const PAD: f64 = 3.0;
/// A linear scale.
#[derive(Clone, Copy, Debug)]
pub struct Scale(::page::Scale);

impl Scale {
    /// A scale that shows all finite values; `None` if there are none. Equal values are in the middle.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        ::page::Scale::of(values, f64::INFINITY, false).map(Self)
    }

    /// The position of a value, in percent; values that are outside are at the ends.
    pub fn place(self, of: f64) -> f64 {
        PAD + self.0.share(of) * (100.0 - 2.0 * PAD)
    }

    /// Writes lines from `top` to `bottom` at round values, and their labels below. Pixels.
    pub fn axis(self, svg: &mut String, unit: Unit, top: f64, bottom: f64) {
        let all = self.0.ticks();
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
}
