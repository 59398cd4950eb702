//! Checks all rules on a trace.

use crate::context::{RuleContext, span};
use crate::finding::{Finding, Subject};
use crate::folding::ranked;
use crate::pools::Processes;
use crate::rule::{Rule, RuleOutcome};
use crate::rules::RULES;
use crate::settings::Settings;
use engine::{EngineError, Session};
use model::{Span, TableDef};
use serde::Serialize;
use std::collections::BTreeSet;

/// Which rules to check on which range.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Options {
    /// The range of the recording to analyse.
    pub part: Option<Span>,
    /// Only these rules, by id; empty: all.
    pub only: Vec<String>,
    /// The rules to skip, by id.
    pub skip: Vec<String>,
    /// Threshold values.
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

/// A rule that could not be checked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct NotChecked {
    /// The rule's id.
    pub rule: &'static str,
    /// Which data is missing: a sentence.
    pub why: String,
}

/// All findings, the rules that were checked, and those that could not be.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Diagnosis {
    /// The analysed range.
    pub span: Span,
    /// The findings, ordered by [`Subject`], then by [`Finding::counted_ns`] in descending order.
    pub findings: Vec<Finding>,
    /// The rules that were checked.
    pub checked: Vec<&'static str>,
    /// The rules that could not be checked.
    pub not_checked: Vec<NotChecked>,
}

impl Diagnosis {
    /// Findings that affect the reliability of all others, one sentence each, to be printed first.
    pub fn caveats(&self) -> impl Iterator<Item = String> {
        let about = (1..).zip(&self.findings).filter(|(_, f)| f.subject != Subject::Program);
        about.map(|(at, f): (usize, _)| format!("{} ({at}. {})", f.title, f.rule))
    }
}

/// Checks every requested rule.
///
/// # Errors
/// The trace cannot be read.
pub fn diagnose(session: &Session, options: &Options) -> Result<Diagnosis, EngineError> {
    let mut diagnosis = Diagnosis {
        span: span(session, options.part),
        findings: Vec::new(),
        checked: Vec::new(),
        not_checked: Vec::new(),
    };
    if session.summary().is_of_frames() {
        let why = "a frame log records frames, not threads and CPUs";
        diagnosis.not_checked = options.rules().map(|rule| NotChecked { rule: rule.id, why: why.to_owned() }).collect();
        return Ok(diagnosis);
    }
    let part_tables = prepared(session, options)?;
    for rule in options.rules() {
        let ctx = RuleContext::new(session, &options.settings, options.part, &part_tables, rule)?;
        match (rule.check)(&ctx)? {
            RuleOutcome::Findings(found) => {
                diagnosis.checked.push(rule.id);
                diagnosis.findings.extend(found.into_iter().map(|finding| ctx.with_final_severity(finding)));
            }
            RuleOutcome::MissingData(why) => diagnosis.not_checked.push(NotChecked { rule: rule.id, why }),
        }
    }
    if let (Some(rule), true) = (options.rules().next(), diagnosis.findings.len() > 1) {
        let ctx = RuleContext::new(session, &options.settings, options.part, &part_tables, rule)?;
        diagnosis.findings = ranked(diagnosis.findings, &Processes::new(&ctx)?);
    }
    Ok(diagnosis)
}

/// Makes all required tables in one pass. Tables of a range are returned; those of a whole recording stay in the session.
fn prepared(session: &Session, options: &Options) -> Result<Vec<model::Table>, EngineError> {
    let held = |def: &&&'static TableDef| Session::is_of_part(def);
    let names: BTreeSet<&str> = options.rules().flat_map(|rule| rule.tables).filter(held).map(|def| def.name).collect();
    let names: Vec<&str> = names.into_iter().collect();
    match options.part {
        None => session.prepare(&names).map(|()| Vec::new()),
        Some(_) => session.analyse(&names, options.part),
    }
}
