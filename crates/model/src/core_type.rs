//! The kinds of core a machine may have.

use serde::{Deserialize, Serialize};

/// The name of a class of cores; which class has which name is judged by `topology`, with its sources.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CoreType {
    /// Of the fastest class of a machine that has several.
    Performance,
    /// Between the fastest and the slowest class.
    Middle,
    /// Of the slowest class of a machine that has several.
    Efficient,
    /// Below efficient; only where a source says so.
    LowPower,
    /// The machine has one class, or nothing tells its classes apart.
    Uniform,
}

impl CoreType {
    /// The word in tables.
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
