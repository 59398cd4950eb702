//! The result of a comparison: what text, JSON, Markdown and the page are written from.

use serde::Serialize;
use stats::Effect;

/// The answer of one comparison.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The two sides differ.
    Changed,
    /// The sides differ by less than the margin, with 95 % confidence.
    Same,
    /// The runs do not suffice to say which.
    Unknown,
}

/// Which direction is better for a user.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Less is better, such as time.
    Less,
    /// More is better, such as frames per second.
    More,
    /// Neither.
    Neither,
}

/// The unit of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// A number of something.
    Count,
    /// A share, 0 to 1.
    Ratio,
    /// kHz.
    Khz,
    /// Per second (frames).
    PerSecond,
    /// Joules.
    Joule,
    /// As printed by the other tool, unit unknown.
    Other,
}

/// A metric.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Metric {
    /// Its stable id, such as `elapsed`, `frame.p99`, `ready_ns`: what `--fail-on` and scripts use.
    pub id: String,
    /// The role it is about; `None`: the whole program.
    pub role: Option<String>,
    /// Its name for users, such as `time to the end`, `ready time`.
    pub title: String,
    /// The unit.
    pub unit: Unit,
    /// Which direction is better.
    pub better: Better,
    /// Whether it is per unit of work (`per frame`, `per request`, the name of `--work`).
    pub per: Option<String>,
}

/// One metric on both sides.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Outcome {
    /// The metric.
    pub metric: Metric,
    /// The value of each run of A and of B, in the order of the sides' runs; `None`: the run does not have it.
    pub values: [Vec<Option<f64>>; 2],
    /// The middle of each side: the median over its runs.
    pub middle: [Option<f64>; 2],
    /// The change; `None` if it cannot be calculated.
    pub effect: Option<Effect>,
    /// The false discovery rate at which this would be called changed, over all metrics shown; `None` for the objective itself.
    pub q: Option<f64>,
    /// The answer.
    pub verdict: Verdict,
    /// The largest change that the runs leave possible, as a share (0.012: no change larger than 1.2 %), if a change is expressed as a ratio.
    pub at_most: Option<f64>,
    /// How many more runs a side would settle an unknown verdict, as an estimate; `None` if none would, or too many.
    pub runs_more: Option<usize>,
    /// Why there is no answer, a sentence.
    pub reason: Option<String>,
}

/// One run as shown.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RunLine {
    /// Its path.
    pub path: String,
    /// The objective's value.
    pub value: Option<f64>,
    /// What is wrong with it.
    pub defects: Vec<String>,
}

/// One side.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Side {
    /// Its name for users: `A`, `B`, or the command.
    pub name: String,
    /// Its runs.
    pub runs: Vec<RunLine>,
    /// The run whose objective is the median: the one to look at.
    pub median_run: Option<usize>,
}

/// A condition that differs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ConditionDifference {
    /// Its name, such as `kernel_release`.
    pub name: String,
    /// Its values on A and on B, each once; empty if unknown there.
    pub values: [Vec<String>; 2],
    /// Whether it can explain a change by itself (governor, kernel), rather than only describe (load average).
    pub matters: bool,
}

/// A role, with the threads that have it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RoleLine {
    /// Its name for users: `game/Worker (8 threads)`.
    pub name: String,
    /// The name of the process and of the threads.
    pub process: String,
    /// The name of the threads without their numbers.
    pub thread: String,
    /// Threads per run on A and B (the median over runs).
    pub threads: [f64; 2],
    /// How the two sides were matched: `name`, `wakeups` (renamed, but woken alike), `map` (by the user), `only_a` (gone), `only_b` (new).
    pub matched_by: &'static str,
    /// How certain the match is: `high`, `medium`, `low`.
    pub confidence: &'static str,
    /// Whether any of its threads belongs to the recorded program.
    pub is_own: bool,
    /// Whether they are kernel threads.
    pub is_kernel: bool,
}

/// One piece of the change of the objective.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Piece {
    /// The cause: `work`, `serial` (the same work, less in parallel), `cpi`, `core_type`, `sibling`, `frequency`, `parallelism`, `ready`, `wakeup_latency`, `throttled`, `blocked`, `steal`, `unknown`.
    pub cause: String,
    /// Words for users: `Worker queued behind Audio`, `more work of Main`.
    pub title: String,
    /// The role on the path; `None` if of several.
    pub role: Option<String>,
    /// Its part of the change, ns. All pieces sum to the change exactly.
    pub ns: f64,
    /// Its mean on A and B, ns, where it is a time of its own.
    pub means: Option<[f64; 2]>,
    /// The 95 % interval of `ns` over the runs.
    pub interval: Option<[f64; 2]>,
}

/// The change of the objective along the critical path.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Why {
    /// The answer in one line: `3.0 × slower: frequency 2.41 → 0.80 GHz explains 2.999`.
    pub line: Option<String>,
    /// The mean of the objective on A and B, ns.
    pub means: [f64; 2],
    /// The pieces, the largest first.
    pub pieces: Vec<Piece>,
}

/// How the values of one series, such as frame times, are distributed on both sides, all runs of a side together.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Distribution {
    /// Its name for users: `frame time`.
    pub name: String,
    /// The unit.
    pub unit: Unit,
    /// Which direction is better.
    pub better: Better,
    /// The number of values of A and B.
    pub counts: [u64; 2],
    /// The quantiles of A and B at even steps from the least (0) to the greatest value (1), in ascending order; 101 have whole
    /// percents.
    pub quantiles: [Vec<f64>; 2],
}

/// A complete comparison.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Comparison {
    /// The first line: the answer.
    pub answer: String,
    /// What must be known before the numbers: sides that differ in more than was meant, lost events, runs that were not interleaved.
    pub cautions: Vec<String>,
    /// The two sides, A and B.
    pub sides: [Side; 2],
    /// Whether runs were compared as pairs.
    pub paired: bool,
    /// The margin within which sides are the same, as a share.
    pub margin: f64,
    /// The objective.
    pub objective: Outcome,
    /// Why it changed.
    pub why: Option<Why>,
    /// What counters say of whole runs, a sentence each.
    pub counted: Vec<String>,
    /// All other metrics: of the program first, then by role.
    pub metrics: Vec<Outcome>,
    /// How values within runs are distributed.
    pub distributions: Vec<Distribution>,
    /// The roles.
    pub roles: Vec<RoleLine>,
    /// The conditions that differ.
    pub conditions: Vec<ConditionDifference>,
    /// What was not compared, and why, a sentence each.
    pub not_compared: Vec<String>,
    /// How the numbers were found, a sentence each.
    pub methods: Vec<String>,
}
