//! What a machine's cores cost: the figures that `corewise bench` measured, in a machine file.
//!
//! The table is part of a machine file, so that `--machine FILE` gives both the machine and its costs:
//!
//! ```toml
//! model = "…"
//!
//! [[cpus]]
//! ids = "0-1"
//!
//! [measured]
//! at = "2026-11-26T16:00:00Z"
//! corewise = "0.1.0"
//! conditions = { kernel_release = "6.18.0", microcode = "0x1" }
//!
//! [[costs]]
//! probe = "switch"
//! figure = "pipe"
//! …
//! ```

use crate::pair::PairClass;
use model::{CoreType, CpuId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// When, by what and under which conditions costs were measured.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The time of the end, RFC 3339 in UTC.
    pub at: String,
    /// The version of corewise.
    pub corewise: String,
    /// The conditions by their names in a recording's manifest (`kernel_release`, `microcode`, `smt_control`, …).
    #[serde(default)]
    pub conditions: BTreeMap<String, String>,
    /// What the machine cannot show or what was not measured, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// The costs of a machine.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Costs {
    /// When and how they were measured.
    pub measured: Measured,
    /// The figures, in the order of measuring.
    pub figures: Vec<Cost>,
}

/// The unit of a figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum CostUnit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Ns,
    /// A ratio; 1 is the same.
    #[serde(rename = "ratio")]
    Ratio,
    /// A share of something, 0 to 1.
    #[serde(rename = "share")]
    Share,
    /// Bytes a second.
    #[serde(rename = "bytes/s")]
    BytesPerSecond,
    /// Cycles a second, estimated from a chain of additions of one cycle each.
    #[serde(rename = "Hz")]
    Hertz,
}

impl CostUnit {
    /// Returns the unit as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ns => "ns",
            Self::Ratio => "ratio",
            Self::Share => "share",
            Self::BytesPerSecond => "bytes/s",
            Self::Hertz => "Hz",
        }
    }
}

/// A value with its 95 % interval, in the unit of its figure.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl Estimate {
    /// Returns whether a value lies within the interval.
    #[must_use]
    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Returns half the width of the interval.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// A figure: what one step costs at one place.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// The probe that measured it: `migrate`, `smt`, `chunks`, `sleep`, `switch`, `wake`, `speed`, `memory`, `lock`.
    pub probe: String,
    /// What was measured, by its name in the probe.
    pub figure: String,
    /// How the two CPUs lie to each other, for figures of two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<PairClass>,
    /// The CPUs: one, or two as from and to, or all that took part.
    #[serde(default)]
    pub cpus: Vec<CpuId>,
    /// The core types of `cpus`, in their order.
    #[serde(default)]
    pub core_types: Vec<CoreType>,
    /// What was varied, by name: `working_set_bytes = "32768"`, `neighbour = "memory"`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// The unit of all values.
    pub unit: CostUnit,
    /// The median of the repetitions with its 95 % confidence interval, or the estimate of a difference or ratio with its own.
    pub estimate: Estimate,
    /// The interval in which the figure of another measurement is expected with a probability of 90 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<[f64; 2]>,
    /// The repetitions behind the estimate.
    pub repetitions: u32,
    /// Repetitions that were thrown away because something else used the CPUs.
    #[serde(default)]
    pub disturbed: u32,
    /// Repetitions that were thrown away because they did not run where they should.
    #[serde(default)]
    pub misplaced: u32,
    /// The null control: the same measurement where nothing can be found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Estimate>,
    /// Whether the interval became as narrow as requested.
    #[serde(default)]
    pub precise: bool,
}

impl Costs {
    /// Returns the figures of a probe with a name.
    pub fn of<'a>(&'a self, probe: &'a str, figure: &'a str) -> impl Iterator<Item = &'a Cost> {
        self.figures.iter().filter(move |cost| cost.probe == probe && cost.figure == figure)
    }
}
