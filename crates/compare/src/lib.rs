//! Compares recordings of two sides: what changed and by how much, what explains it, and what cannot be said.

pub mod ab;
mod cause;
mod outcome;
mod run;

pub use cause::Cause;
pub use outcome::{
    Better, Comparison, ConditionDifference, Metric, Outcome, Piece, RoleLine, RunLine, Side, Unit, Verdict, Why,
};
pub use run::{PathPart, Run, Series, ThreadFacts};
