//! Compares recordings of two sides: what changed and by how much, what explains it, and what cannot be said.

mod cause;
mod known_causes;
mod measure;
mod metrics;
mod outcome;
mod run;

pub use cause::Cause;
pub use known_causes::{Smt, explain, preempted_time, smt};
pub use measure::frames::{frame_metrics, of_frames};
pub use measure::printed::read as read_printed;
pub use metrics::{METRICS, MetricDef, metric};
pub use outcome::{
    Better, Comparison, ConditionDifference, Metric, Outcome, Piece, RoleLine, RunLine, Side, Unit, Verdict, Why,
};
pub use run::{PathPart, Run, Series, ThreadFacts};
