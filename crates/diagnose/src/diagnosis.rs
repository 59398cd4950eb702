//! Checks all rules on a trace.

use crate::context::{RuleContext, span};
use crate::finding::{Finding, Severity, Subject};
use crate::folding::ranked;
use crate::pools::Processes;
use crate::program::Program;
use crate::rule::{Rule, RuleOutcome};
use crate::rules::{READS_WAKERS, RULES};
use crate::settings::Settings;
use engine::{EngineError, Session};
use model::tables::threads;
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
    /// The findings, ordered by [`Subject`], then those about the recorded program first, then by [`Finding::counted_ns`] in descending order.
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
    if !diagnosis.findings.is_empty() {
        let ctx = RuleContext::new(session, &options.settings, options.part, &part_tables, &READS_WAKERS)?;
        let program = Program::new(&ctx)?;
        let ended = ended(&ctx)?;
        diagnosis.findings.iter_mut().for_each(|finding| leave_out_ended(finding, &ended));
        let (mut others, own): (Vec<_>, Vec<_>) = diagnosis.findings.into_iter().partition(|f| program.is_other(f));
        others.iter_mut().for_each(|finding| finding.severity = Severity::Low);
        let processes = Processes::new(&ctx)?;
        diagnosis.findings = ranked(own, &processes);
        diagnosis.findings.extend(ranked(others, &processes));
        diagnosis.findings.sort_by_key(|finding| finding.subject);
    }
    Ok(diagnosis)
}

/// The TIDs of threads that had ended when the recording did.
fn ended(ctx: &RuleContext<'_>) -> Result<BTreeSet<i64>, EngineError> {
    let (mut ended, mut alive) = (BTreeSet::new(), BTreeSet::new());
    ctx.each_row(threads::Table, |row| {
        let of = if row.get(threads::EXITED_NS) > 0 { &mut ended } else { &mut alive };
        of.insert(row.get(threads::TID));
    })?;
    Ok(&ended - &alive)
}

/// Removes the numbers of ended threads from the instructions: a later run has others, so they name the threads instead.
fn leave_out_ended(finding: &mut Finding, ended: &BTreeSet<i64>) {
    let is_general =
        [finding.action.linux == finding.change.linux(), finding.action.windows == finding.change.windows()];
    if let Some(threads) =
        finding.change.threads_mut().filter(|threads| threads.tids.iter().any(|tid| ended.contains(tid)))
    {
        threads.tids.clear();
        if is_general == [true; 2] {
            (finding.action.linux, finding.action.windows) = (finding.change.linux(), finding.change.windows());
        }
    }
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
