//! Definition of a rule.

use crate::context::RuleContext;
use crate::finding::Finding;
use engine::EngineError;
use model::{TableDef, ThreadState};

/// The unit of a threshold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// A share, 0 to 1, or a ratio.
    Ratio,
    /// Nanoseconds.
    Ns,
    /// A count.
    Count,
    /// Events per second.
    PerSecond,
}

impl Unit {
    /// The unit as printed after a value.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ratio => "",
            Self::Ns => "ns",
            Self::Count => "",
            Self::PerSecond => "per second",
        }
    }
}

/// A limit that a rule uses; `--set rule.name=value` overrides it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Threshold {
    /// A snake_case noun, with its unit where it has one (`min_share`, `switch_ns`).
    pub name: &'static str,
    /// The unit.
    pub unit: Unit,
    /// The default value.
    pub value: f64,
    /// Why this default.
    pub reason: &'static str,
}

/// A rule's documentation: what `corewise explain RULE` prints.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// What it detects.
    pub description: &'static str,
    /// Why it matters.
    pub rationale: &'static str,
    /// How certain a finding is: other explanations, and what the estimate is based on.
    pub certainty: &'static str,
    /// How to fix it.
    pub fix: &'static str,
    /// A drawn trace and its finding.
    pub example: &'static str,
}

/// The result of checking a rule.
#[derive(Debug)]
pub enum RuleOutcome {
    /// It was checked; the list may be empty.
    Findings(Vec<Finding>),
    /// It could not be checked; a sentence says which data is missing.
    MissingData(String),
}

/// Which stretches of its threads fit a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fits {
    /// Ready: it waited for a CPU.
    Ready,
    /// Ready, and throttled by a quota.
    Throttled,
    /// Running.
    Running,
    /// Running on a core that is known to be slower than others.
    RunningSlower,
    /// Blocked until another thread woke it.
    WaitedForThread,
    /// Blocked until an interrupt or a thread of the kernel woke it, or uninterruptibly.
    WaitedForDevice,
    /// No stretch: the finding is about many short ones, or about the recording.
    Nothing,
}

impl Fits {
    /// The state of a thread that a finding is about; `None`: several, or none.
    pub(crate) fn state(self) -> Option<ThreadState> {
        match self {
            Self::Ready | Self::Throttled => Some(ThreadState::Ready),
            Self::Running | Self::RunningSlower => Some(ThreadState::Running),
            Self::WaitedForThread | Self::WaitedForDevice => Some(ThreadState::Blocked),
            Self::Nothing => None,
        }
    }

    /// Says which part of the account (table `objective_time`) a finding explains, without a full stop.
    pub(crate) fn account(self) -> &'static str {
        match self {
            Self::Ready => "the time in which its threads are ready and do not run: `ready` and `wakeup_latency`",
            Self::Throttled => "the time in which its threads are throttled",
            Self::Running => "the time in which its threads run: others could do a part of it, or it is not needed",
            Self::RunningSlower => "a part of the time in which its threads run: the same work takes less elsewhere",
            Self::WaitedForThread => {
                "the time in the nodes below its threads: what the threads for which they wait do meanwhile"
            }
            Self::WaitedForDevice => "the time in which its threads are blocked until an interrupt wakes them",
            Self::Nothing => {
                "none as a whole: it is about many short times, energy, the recording or the conditions of the run"
            }
        }
    }
}

/// A rule.
pub struct Rule {
    /// Its id: the fault, in words joined by hyphens.
    pub id: &'static str,
    /// What it detects, in one line.
    pub about: &'static str,
    /// Its page.
    pub page: Page,
    /// The tables that it reads.
    pub tables: &'static [&'static TableDef],
    /// Its thresholds.
    pub thresholds: &'static [&'static Threshold],
    /// The ids of rules whose findings are consequences of this one: if both are found, they are nested under it.
    pub explains: &'static [&'static str],
    /// The stretches of its threads from which the worst intervals of its findings are taken.
    pub(crate) worst: Fits,
    /// Whether the fix only shares out the program's work better: it saves nothing where all CPUs have work already.
    pub(crate) shares_out_work: bool,
    /// Checks a trace.
    pub(crate) check: fn(&RuleContext<'_>) -> Result<RuleOutcome, EngineError>,
}
