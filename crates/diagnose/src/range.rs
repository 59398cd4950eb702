//! Ranges of estimates.

/// The range of an estimate, as factors of the best one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Range {
    /// The lower and upper bound, ns.
    pub(crate) fn of(self, best: i64) -> [i64; 2] {
        [(best as f64 * self.low).ceil() as i64, (best as f64 * self.high) as i64]
    }
}
