//! Rates that follow from counts: the formulas of the table `thread_ipc`.

/// Returns instructions per cycle, or cycles per instruction with the arguments exchanged; `None` for a divisor of 0.
#[must_use]
pub fn per(count: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| count / of)
}

/// Returns millions per second of a count in a time in ns: MIPS of instructions, MHz of cycles.
#[must_use]
pub fn millions_per_s(count: i64, ns: i64) -> Option<f64> {
    per(count as f64 * 1e3, ns as f64)
}

/// Returns MIPS at a frequency in MHz.
#[must_use]
pub fn mips(mhz: f64, cpi: f64) -> Option<f64> {
    per(mhz, cpi)
}

/// Returns the instructions per second of a thread on a type of core relative to those on its fastest type.
#[must_use]
pub fn relative_ips(mips: f64, fastest: f64) -> Option<f64> {
    per(mips, fastest)
}

/// What the speed of a thread on a slower type of core shows. The limits are those of a published analysis of a game on a hybrid
/// processor (testdata/figures/relative_ips.csv: threads at 0.32 and 0.47, at 0.60 and 0.63, at 0.83 and 0.87).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeMatters {
    /// At most 0.47: the thread gains most from the faster type.
    Much,
    /// Between the two.
    Slightly,
    /// At least 0.83: memory limits the thread on both types.
    Little,
}

impl TypeMatters {
    /// The largest relative speed of [`Self::Much`].
    pub const MAX_MUCH: f64 = 0.47;
    /// The smallest relative speed of [`Self::Little`].
    pub const MIN_LITTLE: f64 = 0.83;

    /// Returns the class of a relative speed. It is rounded to two digits, as the published ones are.
    #[must_use]
    pub fn of(relative_ips: f64) -> Self {
        match (relative_ips * 100.0).round() / 100.0 {
            ips if ips <= Self::MAX_MUCH => Self::Much,
            ips if ips >= Self::MIN_LITTLE => Self::Little,
            _ => Self::Slightly,
        }
    }
}
