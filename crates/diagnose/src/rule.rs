//! What a rule is.

use crate::finding::Finding;
use crate::given::Given;
use engine::EngineError;
use model::TableDef;

/// What a threshold counts in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// A part of a whole, 0 to 1; or how many times something is something else.
    Ratio,
    /// Nanoseconds.
    Ns,
    /// How many.
    Count,
    /// How often in a second.
    PerSecond,
}

impl Unit {
    /// The word behind a value.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ratio => "",
            Self::Ns => "ns",
            Self::Count => "",
            Self::PerSecond => "a second",
        }
    }
}

/// A figure that a rule goes by; `--set rule.name=value` gives another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Threshold {
    /// A snake_case noun, with its unit where it has one (`least_share`, `switch_ns`).
    pub name: &'static str,
    /// The unit.
    pub unit: Unit,
    /// Where nobody says otherwise.
    pub value: f64,
    /// Why so much.
    pub reason: &'static str,
}

/// A rule's page: what `corewise explain RULE` prints.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// What it finds.
    pub finds: &'static str,
    /// Why it matters.
    pub matters: &'static str,
    /// How sure it is: what else it could be, and what the milliseconds rest on.
    pub sure: &'static str,
    /// What to do.
    pub mend: &'static str,
    /// A drawn trace and what is said of it.
    pub example: &'static str,
}

/// What a rule says of a trace.
#[derive(Debug)]
pub enum Looked {
    /// It looked, and found these: perhaps nothing.
    At(Vec<Finding>),
    /// The data does not tell, and why: a sentence.
    Lacks(String),
}

/// A rule.
pub struct Rule {
    /// Its name: the fault, with hyphens.
    pub id: &'static str,
    /// What it finds, in a line.
    pub about: &'static str,
    /// Its page.
    pub page: Page,
    /// The tables that it reads.
    pub tables: &'static [&'static TableDef],
    /// The figures that it goes by.
    pub thresholds: &'static [&'static Threshold],
    /// The rules, by name, whose findings follow from the fault that this one names: where both are found, this one's stands.
    pub explains: &'static [&'static str],
    /// Looks.
    pub(crate) look: fn(&Given<'_>) -> Result<Looked, EngineError>,
}
