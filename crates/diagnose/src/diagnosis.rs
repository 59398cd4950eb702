//! All rules over a trace.

use crate::finding::{Finding, Subject};
use crate::folding::ranked;
use crate::given::{Given, span};
use crate::pools::Processes;
use crate::rule::{Looked, Rule};
use crate::rules::RULES;
use crate::settings::Settings;
use engine::{EngineError, Session};
use model::{Span, TableDef};
use serde::Serialize;
use std::collections::BTreeSet;

/// What is asked for.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Options {
    /// Only this part of the recording.
    pub part: Option<Span>,
    /// Only these rules, by name; none: all.
    pub only: Vec<String>,
    /// Not these.
    pub skip: Vec<String>,
    /// The figures that rules go by.
    pub settings: Settings,
}

impl Options {
    fn rules(&self) -> impl Iterator<Item = &'static Rule> {
        let named = |names: &[String], rule: &Rule| names.iter().any(|n| n == rule.id);
        let wanted =
            move |rule: &&&'static Rule| (self.only.is_empty() || named(&self.only, rule)) && !named(&self.skip, rule);
        RULES.iter().filter(wanted).copied()
    }
}

/// A rule that could not look.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct NotChecked {
    /// Which.
    pub rule: &'static str,
    /// What the data lacks: a sentence.
    pub why: String,
}

/// What was found, what was looked for, and what could not be.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Diagnosis {
    /// The time looked at.
    pub span: Span,
    /// What is wrong, by what it is about ([`Subject`]), and then that first which counts for most ([`Finding::counted_ns`]).
    pub findings: Vec<Finding>,
    /// The rules that looked.
    pub checked: Vec<&'static str>,
    /// Those that could not.
    pub not_checked: Vec<NotChecked>,
}

impl Diagnosis {
    /// What bears on all findings, with their numbers: a sentence each, to be said before them.
    pub fn caveats(&self) -> impl Iterator<Item = String> {
        let about = (1..).zip(&self.findings).filter(|(_, f)| f.of != Subject::Program);
        about.map(|(at, f): (usize, _)| format!("{} ({at}. {})", f.title, f.rule))
    }
}

/// Asks every rule that is wanted.
///
/// # Errors
/// The trace cannot be read.
pub fn diagnose(session: &Session, options: &Options) -> Result<Diagnosis, EngineError> {
    let mut said = Diagnosis {
        span: span(session, options.part),
        findings: Vec::new(),
        checked: Vec::new(),
        not_checked: Vec::new(),
    };
    if session.summary().is_of_frames() {
        let why = "a frame log tells of frames, not of threads and CPUs";
        said.not_checked = options.rules().map(|rule| NotChecked { rule: rule.id, why: why.to_owned() }).collect();
        return Ok(said);
    }
    let of_part = prepared(session, options)?;
    for rule in options.rules() {
        let given = Given::new(session, &options.settings, options.part, &of_part, rule)?;
        match (rule.look)(&given)? {
            Looked::At(found) => {
                said.checked.push(rule.id);
                said.findings.extend(found.into_iter().map(|finding| given.weighed(finding)));
            }
            Looked::Lacks(why) => said.not_checked.push(NotChecked { rule: rule.id, why }),
        }
    }
    if let (Some(rule), true) = (options.rules().next(), said.findings.len() > 1) {
        let given = Given::new(session, &options.settings, options.part, &of_part, rule)?;
        said.findings = ranked(said.findings, &Processes::new(&given)?);
    }
    Ok(said)
}

/// All tables of analyses in one pass: of a part they are handed on, of a whole recording the session keeps them.
fn prepared(session: &Session, options: &Options) -> Result<Vec<model::Table>, EngineError> {
    let held = |def: &&&'static TableDef| Session::is_of_part(def);
    let names: BTreeSet<&str> = options.rules().flat_map(|rule| rule.tables).filter(held).map(|def| def.name).collect();
    let names: Vec<&str> = names.into_iter().collect();
    match options.part {
        None => session.prepare(&names).map(|()| Vec::new()),
        Some(_) => session.analyse(&names, options.part),
    }
}
