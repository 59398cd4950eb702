//! Core types.

use serde::{Deserialize, Serialize};

/// The type of a class of cores, as determined by `topology`.
///
/// ```
/// use model::CoreType;
///
/// let mut types = [CoreType::Efficient, CoreType::Performance, CoreType::LowPower];
/// types.sort();
/// assert_eq!(types.map(CoreType::as_str), ["performance", "efficient", "low_power"], "fastest first");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CoreType {
    /// The fastest class of a machine that has several.
    Performance,
    /// A class between the fastest and the slowest.
    Middle,
    /// The slowest class of a machine that has several.
    Efficient,
    /// Slower than efficient; only if a source says so.
    LowPower,
    /// The machine has one class, or its classes are unknown.
    Uniform,
}

impl CoreType {
    /// Returns the value in tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Performance => "performance",
            Self::Middle => "middle",
            Self::Efficient => "efficient",
            Self::LowPower => "low_power",
            Self::Uniform => "uniform",
        }
    }
}
