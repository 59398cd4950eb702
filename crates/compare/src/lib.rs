//! Compares recordings of two sides: what changed and by how much, what explains it, and what cannot be said.
//!
//! A run is measured once ([`measure()`]): nothing after that reads a trace. Runs are compared ([`compare()`]): who is who ([`roles()`]), each metric with its
//! interval, and why the objective changed. Text, Markdown, JSON and the page are written from the [`Comparison`].

pub mod ab;
mod assemble;
mod cause;
mod conditions;
mod fail_on;
mod in_turn;
mod json;
mod known_causes;
mod matrix;
pub mod measure;
mod metrics;
mod open;
mod outcome;
mod roles;
mod run;
mod show;
mod thread_metrics;
mod values;
mod verdict;
mod why;

pub use assemble::{CompareOptions, NotComparable, Work, compare};
pub use cause::Cause;
pub use fail_on::{Checked, FailOn};
pub use in_turn::{FOUND_PAIRS, pair_in_turn};
pub use json::json;
pub use known_causes::{Smt, explain, preempted_time, smt};
pub use matrix::Matrix;
pub use measure::MeasureOptions;
pub use measure::frames::{frame_metrics, of_frames};
pub use measure::printed::read as read_printed;
pub use metrics::{METRICS, MetricDef, metric};
pub use open::{Sides, measure, measure_all, redacted_path};
pub use outcome::{
    Better, Comparison, ConditionDifference, Distribution, Metric, Outcome, Piece, RoleLine, RunLine, Side, Unit,
    Verdict, Why,
};
pub use roles::{Confidence, MapError, MatchedBy, Role, Roles, roles};
pub use run::{PathPart, Run, Series, ThreadFacts};
pub use show::{Lanes, change_words, html, markdown, text};
