//! What is wrong with a run: rules read the tables of a trace and give findings, each with its evidence, the time that mending
//! it could give back, and what to do.
//!
//! A rule reads tables only, never events, so what it says can be looked up in rows. A new one is a file in `rules/`, a line
//! in [`RULES`] and a case.

mod diagnosis;
mod finding;
mod folding;
mod given;
mod json;
mod pools;
mod regions;
mod rule;
mod rules;
mod sarif;
mod settings;
mod slower;
mod speeds;
mod text;
mod timers;

pub use diagnosis::{Diagnosis, NotChecked, Options, diagnose};
pub use finding::{Action, Claim, Confidence, Evidence, Finding, Severity, Subject};
pub use json::json;
pub use rule::{Page, Rule, Threshold, Unit};
pub use rules::{RULES, TABLES};
pub use sarif::sarif;
pub use settings::{SEVERITY, Settings};
pub use text::{explain, text};
