//! Scales of pictures: from values to a share of the width or height.

/// A linear or logarithmic scale.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scale {
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl Scale {
    /// A scale that shows all values. It is logarithmic if all are above 0 and the largest is `spread` times the smallest or more; otherwise it
    /// contains 0 if `from_zero`. `None` without a finite value, or if the largest difference is not finite.
    pub fn of(values: impl Iterator<Item = f64>, spread: f64, from_zero: bool) -> Option<Self> {
        let finite = values.filter(|x| x.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        if low > high || !(high - low).is_finite() {
            return None;
        }
        let logarithmic = low > 0.0 && high / low >= spread;
        let (low, high) = if from_zero && !logarithmic { (low.min(0.0), high.max(0.0)) } else { (low, high) };
        let room = if high > low { 0.0 } else { low.abs().max(1.0) * 0.05 };
        Some(Self { low: low - room, high: high + room, logarithmic })
    }

    /// The place of a value, 0 to 1.
    #[must_use]
    pub fn share(self, of: f64) -> f64 {
        let at = if self.logarithmic {
            (of.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (of - self.low) / (self.high - self.low)
        };
        if at.is_nan() { 0.0 } else { at.clamp(0.0, 1.0) }
    }

    /// Whether equal ratios are equal distances.
    #[must_use]
    pub fn is_logarithmic(self) -> bool {
        self.logarithmic
    }

    /// Round values, about five.
    #[must_use]
    pub fn ticks(self) -> Vec<f64> {
        if self.logarithmic {
            let decades = (self.low.log10().floor() as i32)..=(self.high.log10().ceil() as i32);
            let steps: &[f64] = if decades.clone().count() > 4 { &[1.0] } else { &[1.0, 2.0, 5.0] };
            let all = decades.flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade)));
            return all.filter(|x| (self.low * 0.999..=self.high * 1.001).contains(x)).collect();
        }
        let step = (self.high - self.low) / 5.0;
        let unit = 10_f64.powf(step.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|of| of * unit).find(|of| *of >= step).unwrap_or(unit * 10.0);
        let first = (self.low / step).ceil();
        (0..=6).map(|at| (first + f64::from(at)) * step).take_while(|at| *at <= self.high * 1.000_001).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_within_the_picture() {
        let scale = Scale::of([2.0, 4.0, f64::NAN].into_iter(), 30.0, true).unwrap();
        assert_eq!([0.0, 2.0, 4.0, 9.0, f64::NAN].map(|x| scale.share(x)), [0.0, 0.5, 1.0, 1.0, 0.0]);
        let wide = Scale::of([1.0, 100.0].into_iter(), 30.0, true).unwrap();
        assert!(wide.is_logarithmic() && (wide.share(10.0) - 0.5).abs() < 1e-12);
        assert_eq!(wide.ticks(), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert!(Scale::of([f64::NAN].into_iter(), 30.0, true).is_none());
        assert!(Scale::of([-f64::MAX, f64::MAX].into_iter(), 30.0, true).is_none(), "an infinite range");
    }

    #[test]
    fn ticks_are_few() {
        for values in [[0.0, 1.0], [-3.0, 1e9], [5.0, 5.0], [1e-9, 1e9], [0.0, 0.0]] {
            let ticks = Scale::of(values.into_iter(), 30.0, true).unwrap().ticks();
            assert!((1..=20).contains(&ticks.len()), "{values:?}: {ticks:?}");
        }
    }
}
