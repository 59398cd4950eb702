//! What is wrong, what it costs and what to do: what the rules of `diagnose` say, each claim beside what it rests on.

use super::{Section, showing};
use crate::Options;
use crate::gather::Group;
use crate::grid::{Column, push};
use crate::page::{Linked, Page, Place};
use crate::picture::{Range, Tone};
use crate::seen::Seen;
use crate::words::{TIE, ms, plain, plural, short};
use diagnose::{Diagnosis, Evidence, Finding, Severity};
use engine::EngineError;
use model::{TableDef, Value};
use std::collections::HashSet;

pub const SECTION: Section = Section {
    id: "findings",
    about: "what is wrong, by the rules of `corewise diagnose`: what mending it could give back, and what to do",
    tables: diagnose::TABLES,
    write,
};

/// So many threads of a finding are named.
const NAMED: usize = 3;
/// So many of the rows that show it are on the page.
const ROWS: usize = 8;

/// What rules say, where that is told.
#[derive(Default)]
pub struct Findings<'a> {
    said: Option<&'a Diagnosis>,
    /// Those of the threads that are told of, with their numbers.
    shown: Vec<(usize, &'a Finding)>,
    left_out: usize,
    /// Whether there is room for what they rest on.
    evidence: bool,
}

impl<'a> Findings<'a> {
    /// Those about threads that are told of; at most as many as threads are.
    pub fn of(said: Option<&'a Diagnosis>, options: &Options, groups: &[Group]) -> Self {
        let keys: HashSet<i64> = groups.iter().flat_map(|g| g.keys.iter().copied()).collect();
        let is_of = |f: &&Finding| options.process.is_none() || f.threads.iter().any(|c| keys.contains(&c.thread));
        let mut shown: Vec<_> = (1..).zip(said.iter().flat_map(|said| &said.findings).filter(is_of)).collect();
        let left_out = shown.len().saturating_sub(options.top);
        shown.truncate(options.top);
        Self { said, shown, left_out, evidence: options.pictures }
    }

    /// When each was.
    pub fn ranges(&self) -> Vec<Range> {
        let range = |&(at, f): &(usize, &Finding)| Range {
            label: format!("{at}."),
            of: f.rule.to_owned(),
            place: Place::When(at),
            leads: Place::Finding(at),
            tone: tone(f.severity),
            spans: f.spans.clone(),
        };
        self.shown.iter().map(range).collect()
    }
}

fn tone(of: Severity) -> Tone {
    match of {
        Severity::High => Tone::Red,
        Severity::Medium => Tone::Orange,
        Severity::Low => Tone::Sky,
    }
}

fn write(page: &mut Page, seen: &Seen<'_>) -> Result<(), EngineError> {
    let findings = &seen.findings;
    let Some(said) = findings.said else { return Ok(()) };
    let path = seen.session.path().display();
    match findings.shown.len() {
        0 => page.heading("Findings: none"),
        n => page.heading(&format!("Findings: {}", n + findings.left_out)),
    }
    if !findings.shown.is_empty() {
        page.words(&format!(
            "What is wrong, that first whose mending could give most time back to a thread; what no program can mend stands last. `corewise diagnose {path}` tells \
             more, `corewise explain RULE` of each rule."
        ));
    }
    said.caveats().for_each(|caveat| page.words(&format!("Mind: {caveat}.")));
    for (at, finding) in &findings.shown {
        one(page, *at, finding, seen)?;
    }
    if findings.left_out > 0 {
        page.line(&format!("(and {})", plural(findings.left_out as u64, "other")));
    }
    checked(page, said, findings);
    Ok(())
}

/// What was looked for, and what could not be.
fn checked(page: &mut Page, said: &Diagnosis, findings: &Findings<'_>) {
    if findings.evidence || findings.shown.is_empty() {
        page.words(&format!(
            "Checked: {}.",
            if said.checked.is_empty() { "nothing".to_owned() } else { said.checked.join(", ") }
        ));
    }
    if said.not_checked.is_empty() {
        return;
    }
    if !findings.evidence {
        let names: Vec<&str> = said.not_checked.iter().map(|not| not.rule).collect();
        page.words(&format!("Not checked, for want of data: {}.", names.join(", ")));
        return;
    }
    page.words("Not checked, for want of data:");
    let mut columns = [Column::words("rule", 0), Column::words("why", 0)];
    said.not_checked.iter().for_each(|not| push(&mut columns, [not.rule.to_owned(), not.why.clone()]));
    page.grid(columns.into(), 0);
}

fn one(page: &mut Page, at: usize, of: &Finding, seen: &Seen<'_>) -> Result<(), EngineError> {
    let evidence = seen.findings.evidence;
    page.entry(
        format!("{at}. {} ({}): {}", of.rule, of.severity.as_str(), of.title),
        Place::Finding(at),
        tone(of.severity),
    );
    let [from, to] = of.range_ns.map(ms);
    let words = |words: &str| (words.to_owned(), None);
    let mut costs: Linked = vec![match of.range_ns[1] {
        0 => words("No time to be recovered"),
        _ => (format!("Could be recovered: {}{TIE}ms ({from} to {to})", ms(of.recoverable_ns)), None),
    }];
    costs.extend(of.cpu_ns.map(|ns| words(&format!(", {}{TIE}ms of CPU time", ms(ns)))));
    costs.push((format!(", confidence {}.", of.confidence.as_str()), None));
    if evidence {
        let shown = if of.evidence.is_empty() { None } else { Some(Place::Evidence(at)) };
        costs.extend([words(" See "), ("the rows that show it".to_owned(), shown), words(", ")]);
        costs.extend([("when it was".to_owned(), Some(Place::When(at))), words(".")]);
    }
    page.linked(costs);
    if !of.threads.is_empty() {
        page.linked(threads(of));
    }
    page.linked(vec![words(&format!("Do: {}. Linux: {}.", of.action.what, of.action.linux))]);
    if !evidence {
        return Ok(());
    }
    page.linked(vec![words(&format!("Windows: {}.", of.action.windows))]);
    if !of.assumptions.is_empty() {
        page.linked(vec![words(&format!("Assumed: {}.", of.assumptions.join("; ")))]);
    }
    for also in &of.also {
        page.linked(vec![words(&format!(
            "Falls away with it: {} ({}): {}.",
            also.rule,
            also.severity.as_str(),
            also.title
        ))]);
    }
    if !of.evidence.is_empty() {
        page.grid(rows(at, &of.evidence, seen)?, 0);
        if of.evidence.len() > ROWS {
            page.line(&format!(
                "(and {}: corewise diagnose --format json)",
                plural((of.evidence.len() - ROWS) as u64, "other row")
            ));
        }
    }
    Ok(())
}

/// Who loses the time.
fn threads(of: &Finding) -> Linked {
    let mut words: Linked = vec![("Threads: ".to_owned(), None)];
    for (at, claim) in of.threads.iter().take(NAMED).enumerate() {
        let who = format!("{}{TIE}{}", plain(&claim.name), claim.tid);
        words.push((if at > 0 { ", " } else { "" }.to_owned(), None));
        words.push((who, Some(Place::Thread(claim.thread))));
        words.push((format!("{TIE}{}{TIE}ms", ms(claim.recoverable_ns)), None));
    }
    let more = of.threads.len().saturating_sub(NAMED);
    words.push((if more > 0 { format!(", {more} more.") } else { ".".to_owned() }, None));
    words
}

/// The rows that show it: of which table, which row, and what it says.
fn rows(at: usize, of: &[Evidence], seen: &Seen<'_>) -> Result<Vec<Column>, EngineError> {
    let [mut table, mut key, mut says] = ["table", "row", "says"].map(|head| Column::words(head, 0));
    table.places.push(Place::Evidence(at));
    for row in of.iter().take(ROWS) {
        let def = seen.session.definition(row.table)?;
        table.leads(row.table, showing(row.table));
        key.leads(cells(def, &row.key, seen), place(row));
        says.push(cells(def, &row.cells, seen));
    }
    Ok(vec![table, key, says])
}

/// The thread or CPU that a row is of.
fn place(row: &Evidence) -> Option<Place> {
    row.key.iter().find_map(|(col, value)| match (*col, value) {
        ("thread", Value::Int(key)) => Some(Place::Thread(*key)),
        ("cpu", Value::Int(cpu)) => Some(Place::Cpu(*cpu)),
        _ => None,
    })
}

/// `thread game (12), waits 2, blocked 6.000 ms`.
fn cells(def: &TableDef, of: &[(&'static str, Value)], seen: &Seen<'_>) -> String {
    let cell = |(col, value): &(&'static str, Value)| {
        let (name, is_time) = col.strip_suffix("_ns").map_or((*col, false), |name| (name, true));
        let is_thread = def.col(col).is_some_and(|at| def.cols[at].of_thread);
        let value = match value {
            Value::Null => "unknown".to_owned(),
            Value::Int(0) if is_thread => "none (0)".to_owned(),
            Value::Int(key) if is_thread => format!("{}{TIE}({key})", plain(&seen.name(Some(*key)))),
            Value::Int(ns) if is_time => format!("{}{TIE}ms", ms(*ns)),
            Value::Int(v) => v.to_string(),
            Value::Float(v) => format!("{v:.3}"),
            Value::Text(v) => short(&plain(v), 40),
            Value::Bool(v) => v.to_string(),
        };
        format!("{}{TIE}{value}", name.replace('_', " "))
    };
    of.iter().map(cell).collect::<Vec<_>>().join(", ")
}
