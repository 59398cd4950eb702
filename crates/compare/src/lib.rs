//! Compares recordings of two sides: what changed and by how much, what explains it, and what cannot be said.

mod cause;
mod outcome;
mod run;
mod show;

pub use cause::Cause;
pub use outcome::{
    Better, Comparison, ConditionDifference, Distribution, Metric, Outcome, Piece, RoleLine, RunLine, Side, Unit,
    Verdict, Why,
};
pub use run::{PathPart, Run, Series, ThreadFacts};
pub use show::{Lanes, change_words, html, markdown, text};
