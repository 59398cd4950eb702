//! Compares recordings of two sides: what changed and by how much, what explains it, and what cannot be said.

mod cause;
pub mod measure;
mod outcome;
mod roles;
mod run;

pub use cause::Cause;
pub use outcome::{
    Better, Comparison, ConditionDifference, Metric, Outcome, Piece, RoleLine, RunLine, Side, Unit, Verdict, Why,
};
pub use roles::{Confidence, MapError, MatchedBy, Role, Roles, roles};
pub use run::{PathPart, Run, Series, ThreadFacts};
