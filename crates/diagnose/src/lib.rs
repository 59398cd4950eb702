//! Finds scheduling problems: rules read the tables of a trace and report findings, each with its evidence, its potential saving
//! and a fix.
//!
//! A rule reads only tables, never events, so everything it reports can be looked up in rows. A new rule is a file in `rules/`, a
//! line in [`RULES`] and a case.

mod account;
mod blocks;
mod context;
mod costs;
mod diagnosis;
mod finding;
mod folding;
mod idleness;
mod json;
mod kernel;
mod objective;
mod pools;
mod priorities;
mod program;
mod range;
mod regions;
mod rule;
mod rules;
mod sarif;
mod saved_energy;
mod serial;
mod settings;
mod slower;
mod speeds;
mod text;
mod timers;
mod unmarked;
mod waits_for;
mod worst;

pub use account::{About as StatementAbout, Statement};
pub use blocks::{About, Detail, Line, blocks, lines, tone};
pub use diagnosis::{Diagnosis, NotChecked, Options, System, choice_tables, choose, diagnose, path_objective};
pub use finding::{Action, Claim, Confidence, Evidence, Finding, Interval, Severity, Subject};
pub use json::json;
pub use objective::{Choice, Objective, ObjectiveKind, Target};
pub use program::Program;
pub use rule::{Page, Rule, Threshold, Unit};
pub use rules::{RULES, TABLES};
pub use sarif::sarif;
pub use saved_energy::SavedEnergy;
pub use settings::{SEVERITY, Settings};
pub use text::{OUTSIDE, explain, text};
