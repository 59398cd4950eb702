//! Checks all rules on a trace.

use crate::account::{self, Statement};
use crate::context::{RuleContext, span};
use crate::costs::{MeasuredCosts, is_figure};
use crate::finding::{Evidence, Finding, Severity, Subject};
use crate::folding::ranked;
use crate::objective::{self, Choice, FullCpus, Objective, ObjectiveKind, ObjectivePath, Target};
use crate::pools::Processes;
use crate::program::Program;
use crate::rule::{Rule, RuleOutcome};
use crate::rules::RULES;
use crate::settings::Settings;
use crate::worst::{self, add_worst};
use engine::{EngineError, PathObjective, Session};
use model::tables::threads;
use model::words::{plural, time};
use model::{Fix, Ns, Policy, Span, Table, TableDef, ThreadKey, Tid, TriedSum, pool_name};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

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
    /// What the program is judged by; `None`: what the trace shows.
    pub target: Option<Target>,
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

/// The system that was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum System {
    /// Linux.
    Linux,
    /// Windows.
    Windows,
}

impl System {
    /// The system of which a format has recordings; `None` if unknown.
    fn of_format(format: &str) -> Option<Self> {
        const LINUX: [&str; 8] =
            ["corewise", "perf.data", "perf script", "trace.dat", "ftrace text", "perfetto", "CTF 1.8", "schedviz"];
        match format {
            "PresentMon" => Some(Self::Windows),
            format if LINUX.contains(&format) => Some(Self::Linux),
            _ => None,
        }
    }
}

/// All findings, the rules that were checked, and those that could not be.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Diagnosis {
    /// The analysed range.
    pub span: Span,
    /// The system that was recorded, if known: only its instructions are shown as text.
    pub system: Option<System>,
    /// What the program is judged by; `None` for a frame log.
    pub objective: Option<Objective>,
    /// Where the time of the objective went: at most three statements, the largest part first. Each holds whether or not a rule knows why.
    pub account: Vec<Statement>,
    /// The share of the CPUs' time in which threads ran, 0 to 1; `None` for a frame log.
    pub cpus_busy: Option<f64>,
    /// The figures of a machine that the findings use, and whose they are: a sentence each, without a full stop.
    pub figures: Vec<String>,
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
        let about = (1..).zip(&self.findings).filter(|(_, f)| f.subject > Subject::Outside);
        about.map(|(at, f): (usize, _)| format!("{} ({at}. {})", f.title, f.rule))
    }
}

impl Diagnosis {
    /// Why no rule was checked at all, if one reason holds for all of them.
    #[must_use]
    pub fn why_nothing(&self) -> Option<&str> {
        let first = self.not_checked.first().filter(|_| self.checked.is_empty())?;
        self.not_checked.iter().all(|not| not.why == first.why).then_some(&first.why)
    }

    /// Says how many rules were checked, and how many could not be and why, in one line without a full stop.
    #[must_use]
    pub fn checked_line(&self) -> String {
        let rules = |n: usize| plural(n as u64, "rule");
        let lacking = match self.not_checked.len() {
            0 => String::new(),
            n => format!("; {n} lack data (`corewise diagnose --verbose` lists them)"),
        };
        format!("{} checked{lacking}", rules(self.checked.len()))
    }
}

/// Checks every requested rule.
///
/// # Errors
/// The trace cannot be read.
pub fn diagnose(session: &Session, options: &Options) -> Result<Diagnosis, EngineError> {
    let mut diagnosis = Diagnosis {
        span: span(session, options.part),
        system: System::of_format(&session.facts().format),
        objective: None,
        account: Vec::new(),
        cpus_busy: None,
        figures: Vec::new(),
        findings: Vec::new(),
        checked: Vec::new(),
        not_checked: Vec::new(),
    };
    if let Some(why) = nothing_to_check(session, diagnosis.span)? {
        diagnosis.not_checked = options.rules().map(|rule| NotChecked { rule: rule.id, why: why.clone() }).collect();
        return Ok(diagnosis);
    }
    let (part_tables, costs) = (prepared(session, options)?, MeasuredCosts::new(session));
    let context = |rule| RuleContext::new(session, &options.settings, options.part, &part_tables, &costs, rule);
    let ctx = context(RULES[0])?;
    let program = Program::new(&ctx)?;
    let target = options.target.as_ref().map(|target| target.shown(session));
    let mut path = ObjectivePath::new(&ctx, &program, target.as_ref())?;
    diagnosis.cpus_busy = cpus_busy(&ctx)?;
    let (account, is_end_first) = account::statements(&ctx, &program, &path)?;
    diagnosis.account = account;
    if is_end_first {
        path.objective.sentence += "; it is hardly ever late, so the end of the recorded command comes first here";
    }
    for rule in options.rules() {
        let ctx = context(rule)?.with_objective(&path);
        match (rule.check)(&ctx)? {
            RuleOutcome::Findings(found) => {
                diagnosis.checked.push(rule.id);
                diagnosis.findings.extend(found.into_iter().map(|finding| ctx.with_final_severity(finding)));
            }
            RuleOutcome::MissingData(why) => diagnosis.not_checked.push(NotChecked { rule: rule.id, why }),
        }
    }
    if !diagnosis.findings.is_empty() {
        let ended = ended(&ctx)?;
        diagnosis.findings.retain(|finding| {
            !(saves_nothing(finding) || moves_bound_threads(&ctx, finding) || program.is_recorder(finding))
        });
        add_worst(&context(&worst::READS)?, &mut diagnosis.findings)?;
        name_threads(&ctx, &mut diagnosis.findings)?;
        // Of findings from which the objective gains the same, those about its thread come first.
        diagnosis.findings.sort_by_key(|finding| (!path.concerns(finding), Reverse(finding.recoverable_ns)));
        let is_of_end = path.objective.kind == ObjectiveKind::End;
        let full = if is_of_end { FullCpus::new(&ctx, &program)? } else { None };
        for finding in &mut diagnosis.findings {
            finding.fixed_tids = finding.change.threads_mut().map_or_else(Vec::new, |threads| threads.tids.clone());
            leave_out_ended(finding, &ended);
            finding.tried = tried(session, finding);
            if ctx.autogroup() == Some(true) {
                finding.action.linux += match finding.change {
                    Fix::Nice { .. } => NICE_IN_SESSION,
                    Fix::Policy { policy: Policy::Idle, .. } => IDLE_IN_SESSION,
                    _ => "",
                };
            }
            let shares_out = RULES.iter().any(|rule| rule.id == finding.rule && rule.shares_out_work);
            if full.as_ref().filter(|_| shares_out).is_some_and(|full| full.limit(finding)) {
                finding.severity = Severity::Low;
            }
            if path.limit(finding) {
                finding.severity = finding.severity.min(ctx.severity(finding.counted_ns()));
            }
        }
        let (others, own): (Vec<_>, Vec<_>) = diagnosis.findings.into_iter().partition(|f| program.is_other(f));
        let processes = Processes::new(&ctx)?;
        let (own, others) = (ranked(own, &processes), ranked(others, &processes));
        let (mut own, mut outside): (Vec<_>, Vec<_>) =
            own.into_iter().partition(|of| of.subject != Subject::Program || !of.is_outside());
        outside.extend(others);
        outside.iter_mut().for_each(|finding| (finding.subject, finding.severity) = (Subject::Outside, Severity::Low));
        own.extend(outside);
        diagnosis.findings = own;
        diagnosis.findings.sort_by_key(|finding| finding.subject);
        diagnosis.findings.iter_mut().for_each(ObjectivePath::limit_claims);
        let figures = diagnosis.findings.iter().flat_map(|finding| &finding.assumptions).filter(|of| is_figure(of));
        diagnosis.figures = figures.cloned().collect::<BTreeSet<_>>().into_iter().collect();
    }
    account::link(&ctx, &mut diagnosis.account, &diagnosis.findings);
    diagnosis.objective = Some(path.objective);
    Ok(diagnosis)
}

/// The least length of what is diagnosed: less than a scheduler's tick shows no rates.
const MIN_SPAN_NS: Ns = Ns(1_000_000);

/// Why no rule can be checked at all, if that is so.
fn nothing_to_check(session: &Session, span: Span) -> Result<Option<String>, EngineError> {
    let length = span.len();
    Ok(if session.summary().is_of_frames() {
        Some("a frame log records frames, not threads and CPUs".to_owned())
    } else if session.full_summary().events == 0 {
        Some(OF_NOTHING.to_owned())
    } else if session.is_of_samples()? {
        Some(OF_SAMPLES.to_owned())
    } else if session.full_summary().threads == 0 && session.full_summary().cpus == 0 {
        Some(OF_NO_THREAD.to_owned())
    } else if length < MIN_SPAN_NS {
        Some(format!("{} is too short to diagnose: at least {} are needed", time(length), time(MIN_SPAN_NS)))
    } else {
        None
    })
}

/// What to do where a nice value has no effect (sched(7), "The autogroup feature").
const NICE_IN_SESSION: &str = "; autogroup is on, so this counts within one session: for a program of another terminal or service, write the nice \
                               value to /proc/PID/autogroup";

const IDLE_IN_SESSION: &str = "; autogroup is on, so this counts within one session: for a program of another terminal or service, write 19 to \
                               /proc/PID/autogroup";

/// Why a recording may have no events, and what to do.
const OF_NOTHING: &str = "nothing was recorded, no event and no sample: the program may have ended before the first one (record for longer, or \
                          more often: `perf record -F 4000`)";

/// Why a recording with events may show no thread, and what to do.
const OF_NO_THREAD: &str = "no event shows a thread or a CPU: enable the events sched_switch and sched_waking where the recording is made (in a configuration \
                            of Perfetto `ftrace_events: \"sched/sched_switch\"` and `\"sched/sched_waking\"`)";

/// What is unknown of a recording of samples alone, and how to record it.
const OF_SAMPLES: &str = "this recording has samples and no context switches, so how long threads ran and what they waited for is not known \
                          (to know it, record with `corewise record`, or `perf record -g -e cycles -e sched:sched_switch -e sched:sched_waking`)";

/// The tables that [`choose`] reads and that can be made in one pass with others.
pub fn choice_tables() -> impl Iterator<Item = &'static str> {
    objective::TABLES.iter().filter(|def| Session::is_of_part(def)).map(|def| def.name)
}

/// Chooses what a recording of threads is judged by, as [`diagnose`] does, without its critical path. `made` has tables that the caller has
/// read already.
///
/// # Errors
/// The trace cannot be read, or lacks what the user named.
pub fn choose(session: &Session, target: Option<&Target>, made: &[Table]) -> Result<Choice, EngineError> {
    let settings = Settings::default();
    session.prepare(&choice_tables().collect::<Vec<_>>())?;
    let costs = MeasuredCosts::default();
    let ctx = RuleContext::new(session, &settings, None, made, &costs, RULES[0])?;
    Choice::new(&ctx, &Program::new(&ctx)?, target.map(|target| target.shown(session)).as_ref())
}

/// What the account of a recording of threads is about, as in [`diagnose`]: the windows of its objective and those with which they are compared,
/// or its path to the end.
///
/// # Errors
/// The trace cannot be read, or lacks what the user named.
pub fn path_objective(session: &Session, target: Option<&Target>) -> Result<PathObjective, EngineError> {
    let (settings, costs) = (Settings::default(), MeasuredCosts::default());
    session.prepare(&choice_tables().collect::<Vec<_>>())?;
    let ctx = RuleContext::new(session, &settings, None, &[], &costs, RULES[0])?;
    let (program, target) = (Program::new(&ctx)?, target.map(|target| target.shown(session)));
    let windows = ObjectivePath::new(&ctx, &program, target.as_ref())?.windows;
    Ok(PathObjective { windows, outside: ctx.outside(&program)? })
}

/// The share of the CPUs' time in which threads ran; `None` if that is unknown for all of it.
fn cpus_busy(ctx: &RuleContext<'_>) -> Result<Option<f64>, EngineError> {
    let (running, all) = (ctx.running_ns(|_| true)?, ctx.span().len() * ctx.cpus()?);
    let is_known = ctx.summary().busy_ns > 0 || ctx.summary().idle_ns > 0;
    Ok((all > Ns::ZERO && is_known).then(|| (running.as_f64() / all.as_f64()).min(1.0)))
}

/// Whether a finding estimates a saving, and the best estimate is nothing.
fn saves_nothing(finding: &Finding) -> bool {
    finding.subject == Subject::Program
        && finding.range_ns[1] > Ns::ZERO
        && [finding.recoverable_ns, finding.delay_ns, finding.cpu_ns.unwrap_or(Ns::ZERO)]
            .iter()
            .all(|ns| *ns < Finding::SHOWN_NS)
}

/// Whether a finding is about moving threads that the kernel bound to their CPUs.
fn moves_bound_threads(ctx: &RuleContext<'_>, finding: &Finding) -> bool {
    matches!(finding.change, Fix::Affinity { .. } | Fix::Spread { .. } | Fix::IdealCpu { .. } | Fix::CoreType { .. })
        && finding.threads.first().is_some_and(|claim| ctx.is_per_cpu_kthread(claim.thread))
}

/// Adds the names and TIDs of the threads whose keys are in the evidence.
fn name_threads(ctx: &RuleContext<'_>, findings: &mut [Finding]) -> Result<(), EngineError> {
    let (mut tids, mut wanted) = (BTreeMap::new(), BTreeSet::new());
    let keys = |evidence: &Evidence| evidence.thread_keys().map(|(_, key)| key).collect::<Vec<_>>();
    findings.iter().flat_map(|finding| &finding.evidence).for_each(|evidence| wanted.extend(keys(evidence)));
    ctx.each_row(threads::Table, |row| {
        let thread = row.get(threads::THREAD);
        if wanted.contains(&thread) {
            tids.insert(thread, row.get(threads::TID));
        }
    })?;
    for evidence in findings.iter_mut().flat_map(|finding| &mut finding.evidence) {
        let name = |(col, key): (&'static str, ThreadKey)| match tids.get(&key) {
            Some(tid) if key > ThreadKey::IDLE => (col, format!("{} {tid}", ctx.name(key))),
            _ => (col, if key == ThreadKey::IDLE { "none".to_owned() } else { "unknown".to_owned() }),
        };
        evidence.threads = evidence.thread_keys().map(name).collect();
    }
    Ok(())
}

/// The TIDs of threads that had ended when the recording did. Of recordings by other tools, all: they are often of another machine, or of an
/// earlier run.
fn ended(ctx: &RuleContext<'_>) -> Result<BTreeSet<Tid>, EngineError> {
    let (mut ended, mut alive) = (BTreeSet::new(), BTreeSet::new());
    ctx.each_row(threads::Table, |row| {
        let of = if row.get(threads::EXITED_NS) > Ns::ZERO { &mut ended } else { &mut alive };
        of.insert(row.get(threads::TID));
    })?;
    let by_another_tool = ctx.facts().format != "corewise" && System::of_format(&ctx.facts().format).is_some();
    Ok(if by_another_tool { &ended | &alive } else { &ended - &alive })
}

/// Removes the numbers of ended threads from the instructions: a later run has others, so they name the threads instead.
fn leave_out_ended(finding: &mut Finding, ended: &BTreeSet<Tid>) {
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

/// What trials of a finding's fix showed: those of its rule, for threads whose names differ from its first thread's at most in their numbers.
fn tried(session: &Session, finding: &Finding) -> Option<TriedSum> {
    let name = finding.threads.first().map_or("", |claim| &claim.name);
    let of_it =
        session.facts().tried.iter().filter(|of| of.rule == finding.rule && pool_name(&of.thread) == pool_name(name));
    let mut sum = TriedSum::default();
    of_it.for_each(|of| sum.add(of.verdict));
    (sum.times > 0).then_some(sum)
}

/// Makes all required tables in one pass. Tables of a range are returned; those of a whole recording stay in the session.
fn prepared(session: &Session, options: &Options) -> Result<Vec<model::Table>, EngineError> {
    let held = |def: &&&'static TableDef| Session::is_of_part(def);
    let tables = options.rules().flat_map(|rule| rule.tables).chain(&objective::TABLES);
    let names: BTreeSet<&str> = tables.filter(held).map(|def| def.name).collect();
    let names: Vec<&str> = names.into_iter().collect();
    match options.part {
        None => session.prepare(&names).map(|()| Vec::new()),
        Some(_) => session.analyse(&names, options.part),
    }
}
