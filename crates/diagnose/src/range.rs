//! Ranges of estimates.

use model::Ns;

/// The range of an estimate, as factors of the best one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Range {
    /// The lower and upper bound, ns.
    pub(crate) fn of(self, best: Ns) -> [Ns; 2] {
        [Ns::whole((best.as_f64() * self.low).ceil()), best.scaled(self.high)]
    }
}
