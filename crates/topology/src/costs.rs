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

use crate::cpulist;
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
    /// By how much the method itself may be off, on each side of `estimate`, in the unit: known work that was added to the step came back too long
    /// or too short by at most so much. `None` if none was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub systematic: Option<f64>,
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

/// The maximum number of figures of a table. A machine with all pair classes, kernels and working sets has a few thousand.
pub const MAX_FIGURES: usize = 20_000;
/// The maximum length of a name or value in a table, in bytes.
const MAX_TEXT: usize = 1000;
/// The maximum number of parameters of a figure.
const MAX_PARAMETERS: usize = 16;
/// The maximum number of conditions and of sentences: a machine with a thousand CPUs has a few conditions for each.
const MAX_LINES: usize = 20_000;
/// No value is larger: it would be 30 years in nanoseconds, or an exabyte a second.
const MAX_VALUE: f64 = 1e18;

/// Checks a text: it is printed, so it has no control characters, and it is not long.
fn text(what: &str, value: &str) -> Result<(), String> {
    if value.len() > MAX_TEXT {
        return Err(format!("{what} has {} bytes: the maximum is {MAX_TEXT}", value.len()));
    }
    if value.chars().any(char::is_control) {
        return Err(format!("{what} contains a control character: remove it"));
    }
    Ok(())
}

/// Checks values of an estimate: finite, of a possible size, and in order.
fn interval(what: &str, [low, high]: [f64; 2]) -> Result<(), String> {
    let is_possible = |value: f64| value.is_finite() && value.abs() <= MAX_VALUE;
    if !(is_possible(low) && is_possible(high)) {
        return Err(format!("{what} is not a finite number of at most {MAX_VALUE:e}: run `corewise bench` again"));
    }
    if low > high {
        return Err(format!(
            "{what} has a lower end of {low} above its upper end of {high}: run `corewise bench` again"
        ));
    }
    Ok(())
}

impl Estimate {
    fn check(&self, what: &str) -> Result<(), String> {
        interval(what, [self.low, self.high])?;
        interval(what, [self.value, self.value])
    }
}

impl Cost {
    /// Checks that the figure is possible.
    ///
    /// # Errors
    /// A sentence about what is not possible.
    pub fn check(&self) -> Result<(), String> {
        text("`probe`", &self.probe)?;
        text("`figure`", &self.figure)?;
        let what = format!("{} {}", self.probe, self.figure);
        if self.parameters.len() > MAX_PARAMETERS {
            return Err(format!("{what} has {} parameters: the maximum is {MAX_PARAMETERS}", self.parameters.len()));
        }
        for (name, value) in &self.parameters {
            text("a parameter's name", name)?;
            text(&format!("`{name}`"), value)?;
        }
        if self.cpus.len() > cpulist::MAX_CPUS as usize || self.cpus.iter().any(|cpu| cpu.0 >= cpulist::MAX_CPUS) {
            return Err(format!(
                "{what} has too many CPUs, or too large numbers of them: the maximum is {}",
                cpulist::MAX_CPUS
            ));
        }
        if !self.core_types.is_empty() && self.core_types.len() != self.cpus.len() {
            let (types, cpus) = (self.core_types.len(), self.cpus.len());
            return Err(format!("{what} has {types} core types for {cpus} CPUs: give each CPU its type, or none"));
        }
        self.estimate.check(&format!("the estimate of {what}"))?;
        if let Some(systematic) = self.systematic {
            interval(&format!("`systematic` of {what}"), [0.0, systematic])?;
        }
        if let Some(next) = self.next {
            interval(&format!("`next` of {what}"), next)?;
        }
        if let Some(control) = &self.control {
            control.check(&format!("the control of {what}"))?;
        }
        // A difference of times may be negative; a rate never is.
        if matches!(self.unit, CostUnit::BytesPerSecond | CostUnit::Hertz) && self.estimate.low < 0.0 {
            return Err(format!(
                "{what} is negative, {} {}: run `corewise bench` again",
                self.estimate.low,
                self.unit.as_str()
            ));
        }
        Ok(())
    }
}

impl Measured {
    /// Checks the texts.
    ///
    /// # Errors
    /// A sentence about what is not possible.
    pub fn check(&self) -> Result<(), String> {
        text("`at`", &self.at)?;
        text("`corewise`", &self.corewise)?;
        if !is_time(&self.at) {
            return Err(format!("`at` is {:?}: write a time in UTC, such as 2026-11-26T16:00:00Z", self.at));
        }
        if self.conditions.len() > MAX_LINES || self.left_out.len() > MAX_LINES {
            return Err(format!("more than {MAX_LINES} conditions or sentences"));
        }
        for (name, value) in &self.conditions {
            text("a condition's name", name)?;
            text(&format!("the condition `{name}`"), value)?;
        }
        self.left_out.iter().try_for_each(|sentence| text("`left_out`", sentence))
    }

    /// Returns the day of the measurement, `2026-11-26`.
    #[must_use]
    pub fn day(&self) -> &str {
        self.at.get(..10).unwrap_or(&self.at)
    }
}

/// Whether a text begins with a date and has a time: `2026-11-26T16:00:00Z`.
fn is_time(text: &str) -> bool {
    let form = "dddd-dd-ddTdd:dd:dd";
    text.is_ascii()
        && text.len() >= form.len()
        && form.bytes().zip(text.bytes()).all(|(of, c)| if of == b'd' { c.is_ascii_digit() } else { of == c })
}

impl Costs {
    /// Checks that all figures are possible. Whatever reads a table from a file calls it, so that all others can rely on it.
    ///
    /// # Errors
    /// A sentence about what is not possible.
    pub fn check(&self) -> Result<(), String> {
        self.measured.check()?;
        if self.figures.len() > MAX_FIGURES {
            return Err(format!("{} figures of costs: the maximum is {MAX_FIGURES}", self.figures.len()));
        }
        self.figures.iter().try_for_each(Cost::check)
    }
}
