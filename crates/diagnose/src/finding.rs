//! What a rule finds.

use crate::saved_energy::SavedEnergy;
use model::TriedSum;
use model::{AnyColumn, Fix, Ns, Row, Span, TableType, ThreadKey, Tid, Value};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// How much a finding matters: the potential saving of the thread with the largest one, as a share of the analysed range
/// ([`crate::SEVERITY`]). A finding of low confidence counts with the lower bound of its range ([`Finding::counted_ns`]).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Low,
    /// Worth fixing.
    Medium,
    /// Fix this first.
    High,
}

/// What a finding is about, in the order of display. Only findings about the program are nested under one another, and only these
/// have a potential saving.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// The program, or how the machine is configured for it.
    Program,
    /// The program, but the objective gains nothing from it, or another program: never more severe than low.
    Outside,
    /// The recording: missing data may hide other findings, or make them wrong. As severe as what may be missing.
    Recording,
    /// The conditions of the run: something outside the program slowed it down. They are fully known and never more severe than low.
    Conditions,
}

/// How certain it is that the finding is correct and that the fix saves the time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// One of several explanations.
    Low,
    /// The likely explanation.
    Medium,
    /// The trace shows it directly.
    High,
}

/// Defines the names of an enum's variants.
macro_rules! words {
    ($kind:ty: $($variant:ident = $word:literal),+) => {
        impl $kind {
            /// The name, as in JSON.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }
    };
}
words!(Severity: Low = "low", Medium = "medium", High = "high");
words!(Confidence: Low = "low", Medium = "medium", High = "high");

/// A thread and its potential saving: how much earlier it could have been done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Claim {
    /// The thread's key.
    pub thread: ThreadKey,
    /// The kernel's thread ID.
    pub tid: Tid,
    /// The thread's name.
    pub name: String,
    /// The potential saving, ns.
    pub recoverable_ns: Ns,
}

/// One of the worst intervals of a finding: a whole stretch of a thread, as far as it is in the analysed range.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Interval {
    /// When it begins, ns.
    pub start_ns: Ns,
    /// When it ends, ns.
    pub end_ns: Ns,
    /// The thread's key.
    pub thread: ThreadKey,
    /// The kernel's thread ID.
    pub tid: Tid,
    /// The thread's name.
    pub name: String,
    /// What it did: `running`, `ready`, `throttled` (kept from running by a CPU quota, and then ready) or `blocked`.
    pub state: &'static str,
    /// Where it ran, what ran instead, why it was throttled or who ended its wait.
    pub cause: String,
}

/// A table row that supports a finding.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Evidence {
    /// The table's name.
    pub table: &'static str,
    /// The key columns and their values.
    #[serde(serialize_with = "as_map")]
    pub key: Vec<(&'static str, Value)>,
    /// The threads of the columns with thread keys: name and TID.
    #[serde(serialize_with = "as_names")]
    pub threads: Vec<(&'static str, String)>,
    /// The columns that the rule used, and their values.
    #[serde(serialize_with = "as_map")]
    pub cells: Vec<(&'static str, Value)>,
}

impl Evidence {
    /// Takes the key of a row and the given columns.
    #[must_use]
    pub fn of<T: TableType>(row: &Row<'_, T>, cols: &[&dyn AnyColumn<T>]) -> Self {
        let cells = row.cells();
        let key = T::DEF.keys().filter_map(|(at, col)| Some((col.name, cells.get(at)?.clone())));
        let own = cols.iter().filter_map(|col| Some((col.name(), col.cell(cells)?.clone())));
        Self { table: T::DEF.name, key: key.collect(), threads: Vec::new(), cells: own.collect() }
    }
}

impl Evidence {
    /// The columns that are keys of threads, and the keys.
    pub(crate) fn thread_keys(&self) -> impl Iterator<Item = (&'static str, ThreadKey)> + '_ {
        let def = model::tables::ALL.iter().find(|def| def.name == self.table);
        self.key.iter().chain(&self.cells).filter_map(move |(col, value)| {
            let is_key = def.and_then(|def| Some(def.cols[def.col(col)?].is_thread_key))?;
            match value {
                Value::Int(key) if is_key => Some((*col, ThreadKey(*key))),
                _ => None,
            }
        })
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

fn as_names<S: Serializer>(names: &[(&'static str, String)], to: S) -> Result<S::Ok, S::Error> {
    names.iter().map(|(col, name)| (*col, name)).collect::<BTreeMap<_, _>>().serialize(to)
}

/// What to do about a finding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Action {
    /// One sentence.
    pub what: String,
    /// The command, call or code change on Linux.
    pub linux: String,
    /// The same on Windows.
    pub windows: String,
    /// What it costs others, or the program itself: without a full stop; `None` if nothing that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side_effect: Option<&'static str>,
}

/// A problem that a rule found.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Finding {
    /// The rule's id.
    pub rule: &'static str,
    /// What it is about.
    pub subject: Subject,
    /// How much it matters.
    pub severity: Severity,
    /// One sentence, with its figures.
    pub title: String,
    /// How much earlier the thread with the largest saving could be done, as far as the objective gains it, ns: the best estimate.
    pub recoverable_ns: Ns,
    /// How long the thread that loses most is delayed, ns: more than `recoverable_ns` if the objective does not gain all of it.
    pub delay_ns: Ns,
    /// The lower and upper bound of the estimate, ns.
    pub range_ns: [Ns; 2],
    /// The CPU time, summed over all CPUs, that the fix saves, ns: the best estimate; `None` where the rule does not estimate it. If
    /// CPUs were idle, saved CPU time does not end the work earlier.
    pub cpu_ns: Option<Ns>,
    /// The energy that the fix saves; `None` where the rule does not estimate it or no energy of packages was measured.
    pub energy: Option<SavedEnergy>,
    /// How certain it is.
    pub confidence: Confidence,
    /// The affected threads, those with the largest saving first.
    pub threads: Vec<Claim>,
    /// Threads for which they wait, by key: their time on the critical path is lost too.
    #[serde(skip)]
    pub waited_for: Vec<ThreadKey>,
    /// When it happened, as far as the tables show; otherwise the whole analysed range.
    pub spans: Vec<Span>,
    /// The longest stretches of its threads that fit, the longest first; at most three.
    pub worst: Vec<Interval>,
    /// The rows that support it.
    pub evidence: Vec<Evidence>,
    /// What to do.
    pub action: Action,
    /// The same as `action`, in a form that a prediction can simulate.
    pub change: Fix,
    /// The TIDs of the threads that `change` is for, those of ended threads too, which `change` leaves out.
    #[serde(skip)]
    pub fixed_tids: Vec<Tid>,
    /// The assumptions of the estimate.
    pub assumptions: Vec<String>,
    /// How often its fix was tried (`corewise try`), and what it did; `None` if never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tried: Option<TriedSum>,
    /// Findings that the same fix resolves.
    #[serde(rename = "also_resolved")]
    pub also: Vec<Finding>,
}

impl Finding {
    /// Savings of less than this are printed as 0.000 ms.
    pub(crate) const SHOWN_NS: Ns = Ns(500);

    /// Whether the objective gains nothing from it: it lies outside of the objective.
    #[must_use]
    pub fn is_outside(&self) -> bool {
        self.recoverable_ns < Self::SHOWN_NS
    }

    /// The time by which findings are ranked, ns: the best estimate, or the lower bound if the confidence is low.
    #[must_use]
    pub fn counted_ns(&self) -> Ns {
        match self.confidence {
            Confidence::Low => self.range_ns[0].min(self.recoverable_ns),
            Confidence::Medium | Confidence::High => self.recoverable_ns,
        }
    }
}
