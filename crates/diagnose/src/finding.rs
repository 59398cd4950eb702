//! What a rule says.

use model::{AnyOf, Declared, Fix, Row, Span, Value};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// How much it matters: by the part of the time looked at that the thread with most to gain could get back
/// ([`crate::SEVERITY`]). What is of low confidence counts by the lower end of its range ([`Finding::counted_ns`]).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Low,
    /// Worth mending.
    Medium,
    /// Mend this first.
    High,
}

/// What a finding is about, those first that whoever has the program can mend. Only of these is it told what they explain of
/// one another, and only these can cost the time that a severity is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// The program, or how the machine is set up for it.
    Program,
    /// The recording: what it lacks may hide other findings, or make them wrong. As severe as what may be missing.
    Recording,
    /// What happened around the machine meanwhile: it made the run slower, but nothing is wrong with the program, and all that
    /// happened is known. Never more than low.
    Conditions,
}

/// How sure it is that what is named is what happened, and that mending it gives the time back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// One of several explanations.
    Low,
    /// The likely one.
    Medium,
    /// The trace shows it.
    High,
}

/// A word for the user.
macro_rules! words {
    ($kind:ty: $($variant:ident = $word:literal),+) => {
        impl $kind {
            /// The word, as in JSON.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }
    };
}
words!(Severity: Low = "low", Medium = "medium", High = "high");
words!(Confidence: Low = "low", Medium = "medium", High = "high");

/// A thread, and by how much sooner it could have been done: what mending gives back to it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Claim {
    /// The thread's key.
    pub thread: i64,
    /// The kernel's number.
    pub tid: i64,
    /// What it is called.
    pub name: String,
    /// Its time, ns.
    pub recoverable_ns: i64,
}

/// A row of a table that shows it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Evidence {
    /// The table.
    pub table: &'static str,
    /// The columns that tell the row from others, and their values.
    #[serde(serialize_with = "as_map")]
    pub key: Vec<(&'static str, Value)>,
    /// The columns that the rule went by.
    #[serde(serialize_with = "as_map")]
    pub cells: Vec<(&'static str, Value)>,
}

impl Evidence {
    /// A row, and the columns that matter.
    #[must_use]
    pub fn of<T: Declared>(row: &Row<'_, T>, cols: &[&dyn AnyOf<T>]) -> Self {
        let cells = row.cells();
        let key = T::DEF.keys().filter_map(|(at, col)| Some((col.name, cells.get(at)?.clone())));
        let own = cols.iter().filter_map(|col| Some((col.name(), col.cell(cells)?.clone())));
        Self { table: T::DEF.name, key: key.collect(), cells: own.collect() }
    }
}

fn as_map<S: Serializer>(cells: &[(&'static str, Value)], to: S) -> Result<S::Ok, S::Error> {
    let cell = |value: &Value| match value {
        Value::Null => serde_json::Value::Null,
        Value::Int(v) => (*v).into(),
        Value::Float(v) => (*v).into(),
        Value::Text(v) => v.clone().into(),
        Value::Bool(v) => (*v).into(),
    };
    cells.iter().map(|(col, value)| (*col, cell(value))).collect::<BTreeMap<_, _>>().serialize(to)
}

/// What to do.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Action {
    /// One sentence.
    pub what: String,
    /// The command, call or change of the program on Linux.
    pub linux: String,
    /// The same on Windows.
    pub windows: String,
}

/// Something that is wrong.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Finding {
    /// Which rule says so.
    pub rule: &'static str,
    /// What it is about.
    pub of: Subject,
    /// How much it matters.
    pub severity: Severity,
    /// One sentence, with its figures.
    pub title: String,
    /// By how much sooner the thread that gains most could be done, ns: the best estimate.
    pub recoverable_ns: i64,
    /// The least and the most that this may be, ns.
    pub range_ns: [i64; 2],
    /// The CPU time, of all CPUs together, that mending gives back, ns: the best estimate; none where the rule reckons none. Nobody
    /// may be done sooner by it, where CPUs were idle beside.
    pub cpu_ns: Option<i64>,
    /// How sure it is.
    pub confidence: Confidence,
    /// Who loses the time, those who lose most first.
    pub threads: Vec<Claim>,
    /// When, as far as the tables tell: at worst all of the time looked at.
    pub spans: Vec<Span>,
    /// The rows that show it.
    pub evidence: Vec<Evidence>,
    /// What to do.
    pub action: Action,
    /// The same, as a prediction can try it.
    pub change: Fix,
    /// What the milliseconds rest on.
    pub assumptions: Vec<String>,
    /// Findings that fall away with this one.
    pub also: Vec<Finding>,
}

impl Finding {
    /// What it counts for, ns: the best estimate; where that is one of several explanations, what even the least of them gives.
    #[must_use]
    pub fn counted_ns(&self) -> i64 {
        match self.confidence {
            Confidence::Low => self.range_ns[0].min(self.recoverable_ns),
            Confidence::Medium | Confidence::High => self.recoverable_ns,
        }
    }
}
