//! The finding whose fix is tried.

use super::text;
use crate::args::Global;
use crate::failure::Failure;
use compare::ab::command_processes;
use diagnose::{Finding, Objective, ObjectiveKind, Options, Target};
use engine::Session;
use model::tables::threads;
use model::{Ns, Tried, pool_name};
use regex_lite::Regex;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use trial::{Measure, Outcome, Plan, Saving, Selector, plan};

/// How the user names a finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Which {
    /// By its number, from 1.
    Number(usize),
    /// By its rule: the first one.
    Rule(String),
}

impl std::str::FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(0) => Err("findings are numbered from 1".to_owned()),
            Ok(number) => Ok(Self::Number(number)),
            Err(_) if diagnose::RULES.iter().any(|rule| rule.id == text) => Ok(Self::Rule(text.to_owned())),
            Err(_) => {
                Err(format!("{text} is neither the number of a finding nor a rule (`corewise explain` lists them)"))
            }
        }
    }
}

/// A number that a command prints.
#[derive(Clone, Debug)]
pub struct Metric {
    /// What finds it: the last match counts, of it the first group.
    pub pattern: Regex,
    /// Whether more of it is better.
    pub more_is_better: bool,
}

impl Metric {
    /// Reads it from what the command printed.
    pub fn read(&self, printed: &str) -> Option<f64> {
        let last = self.pattern.captures_iter(printed).last()?;
        let number = last.get(1).or_else(|| last.get(0))?.as_str();
        number.trim().replace(',', "").parse().ok().filter(|number: &f64| number.is_finite())
    }
}

/// The finding, and what is needed to try its fix.
pub struct Chosen {
    /// The finding.
    pub finding: Finding,
    /// Its number.
    pub number: usize,
    /// What applies its fix.
    pub plan: Plan,
    /// The threads that the fix is for, if it is for threads.
    pub selector: Option<Selector>,
    /// Whether these are threads of the recorded program.
    pub is_own: bool,
    /// What the program is judged by.
    pub objective: Objective,
    /// The same, for the recordings of the runs.
    pub target: Target,
    /// The number that the command prints and that is measured instead.
    pub metric: Option<Metric>,
}

impl Chosen {
    /// Finds it in a recording.
    ///
    /// # Errors
    /// The recording cannot be read, has no such finding, or its fix cannot be applied from outside.
    pub fn find(
        path: &Path,
        which: &Which,
        set: Option<&Target>,
        command: Option<&[String]>,
        metric: Option<Metric>,
        global: &Global,
    ) -> Result<Self, Failure> {
        let session = global.open_kept(path)?;
        let diagnosis = diagnose::diagnose(&session, &Options { target: set.cloned(), ..Options::default() })?;
        let found = match which {
            Which::Number(number) => number.checked_sub(1).filter(|at| *at < diagnosis.findings.len()),
            Which::Rule(rule) => diagnosis.findings.iter().position(|finding| finding.rule == rule),
        };
        let Some(at) = found else {
            let (count, path) = (diagnosis.findings.len(), path.display());
            let has = match count {
                0 => "no findings".to_owned(),
                n => text::count(n, "finding"),
            };
            let wanted = match which {
                Which::Number(number) => format!("none with number {number}"),
                Which::Rule(rule) => format!("none of {rule}"),
            };
            return Err(Failure::new(format!("{path}: {has}, {wanted} (`corewise diagnose {path}` lists them)")));
        };
        let finding = diagnosis.findings.into_iter().nth(at).ok_or_else(|| Failure::new("no finding"))?;
        let number = at + 1;
        let cannot = |why: String| {
            Failure::new(format!(
                "{number}. {} cannot be tried: {why}. The fix: {}",
                finding.rule, finding.action.linux
            ))
        };
        let plan = plan(&finding.change, command).map_err(cannot)?;
        let objective =
            diagnosis.objective.ok_or_else(|| Failure::new("a frame log has no threads: nothing can be tried"))?;
        let target = set.cloned().map_or_else(|| target_of(&objective, command.is_some()), Ok)?;
        let (selector, is_own) = threads_of(&session, &finding)?;
        if let (false, true, Some(of)) = (is_own, plan.is_at_start(), &selector) {
            return Err(cannot(format!(
                "it takes effect when {} starts, and the command did not start that: give a command that does",
                text::shown(of)
            )));
        }
        Ok(Self { finding, number, plan, selector, is_own, objective, target, metric })
    }

    /// What is measured in each run.
    pub fn measure(&self) -> Measure {
        if let Some(metric) = &self.metric {
            return if metric.more_is_better { Measure::Rate } else { Measure::Number };
        }
        match (self.objective.kind, self.objective.deadline_ns) {
            (ObjectiveKind::End | ObjectiveKind::Throughput | ObjectiveKind::Thread, _) => Measure::End,
            (_, Some(_)) => Measure::Lateness,
            (_, None) => Measure::Response,
        }
    }

    /// The result, as it is kept with the recording.
    pub fn tried(&self, of: &Outcome) -> Tried {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let kind = serde_json::to_value(&self.finding.change).ok();
        let kind = kind.and_then(|fix| Some(fix.get("kind")?.as_str()?.to_owned())).unwrap_or_default();
        let ns = |ns: f64| Ns(ns.round() as i64);
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Tried {
            rule: self.finding.rule.to_owned(),
            thread: self.finding.threads.first().map_or_else(String::new, |claim| claim.name.clone()),
            fix: kind,
            verdict: of.verdict,
            pairs: count(of.pairs),
            change: of.change,
            interval: of.interval,
            predicted_ns: self.finding.recoverable_ns,
            predicted_range_ns: self.finding.range_ns,
            saved_ns: of.measured.map(|saved| ns(saved.ns)),
            saved_range_ns: of.measured.and_then(|saved| saved.range).map(|range| range.map(ns)),
            found: of.found.map(count),
            at_unix_s: i64::try_from(now.as_secs()).unwrap_or(i64::MAX),
            corewise: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// What the finding predicts.
    pub fn predicted(&self) -> Saving {
        let range = self.finding.range_ns.map(|ns| ns.0 as f64);
        Saving { ns: self.finding.recoverable_ns.0 as f64, range: Some(range) }
    }
}

/// The objective of the recording, for other recordings of the same program.
fn target_of(objective: &Objective, has_command: bool) -> Result<Target, Failure> {
    let name = || objective.name.clone().unwrap_or_default();
    match objective.kind {
        ObjectiveKind::Period => Ok(Target::Period(name())),
        ObjectiveKind::Requests => Ok(Target::Requests(Some(name()))),
        ObjectiveKind::Marks => Ok(Target::Marks(name())),
        ObjectiveKind::End | ObjectiveKind::Throughput | ObjectiveKind::Thread if has_command => Ok(Target::End),
        _ => Err(Failure::usage(
            "a running process has no end to measure: give --objective period:THREAD, requests:THREAD or mark:NAME, or a command after --",
        )),
    }
}

/// The threads of a finding's fix by name, and whether they belong to the recorded program.
fn threads_of(session: &Session, finding: &Finding) -> Result<(Option<Selector>, bool), Failure> {
    let Some(of_fix) = finding.change.clone().threads_mut().cloned() else { return Ok((None, true)) };
    let (mut found, mut processes) = (Vec::new(), BTreeMap::new());
    session.each(threads::Table, |row| {
        let (tid, pid) = (row.get(threads::TID), row.get(threads::PID));
        let name = row.get(threads::NAME).unwrap_or_default().to_owned();
        let is_first = pid.map(|pid| pid == i64::from(tid.0));
        let is_of_fix =
            if finding.fixed_tids.is_empty() { name == of_fix.name } else { finding.fixed_tids.contains(&tid) };
        if is_of_fix {
            found.push((name.clone(), pid, is_first));
        }
        if let Some(pid) = pid.filter(|_| is_first == Some(true)) {
            processes.insert(pid, name);
        }
    })?;
    let own = command_processes(session)?;
    let pid = found.iter().find_map(|(_, pid, _)| *pid);
    let is_own = match (&own, pid) {
        (Some(own), Some(pid)) => own.contains(&pid),
        _ => true,
    };
    // Unknown where the recording has no processes.
    let first = found.first().and_then(|of| of.2).filter(|first| found.iter().all(|of| of.2 == Some(*first)));
    let name = found.into_iter().next().map_or(of_fix.name, |(name, ..)| name);
    let process = pid.and_then(|pid| processes.get(&pid).cloned()).unwrap_or_default();
    // Several threads whose names differ in their number are one pool.
    let is_role = finding.threads.iter().any(|of| of.name != name && pool_name(&of.name) == pool_name(&name));
    Ok((Some(Selector { name, is_role, first, process }), is_own))
}
