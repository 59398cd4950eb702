//! The findings of `diagnose`: evidence, cost and fix.

use super::{Section, section_anchor};
use crate::Options;
use crate::context::SectionContext;
use crate::gather::Group;
use crate::instance;
use crate::words::{TIE, ms, plain, plural, short};
use diagnose::{Detail, Diagnosis, Evidence, Finding, Subject, tone};
use engine::EngineError;
use model::{Ns, TableDef, ThreadKey, Value};
use page::{Anchor, Column, Instance, Linked, Page, Range, push};
use std::collections::HashSet;

pub const SECTION: Section = Section {
    id: "findings",
    about: "scheduling problems found by the rules of `corewise diagnose`: evidence, cost, fix",
    tables: diagnose::TABLES,
    write,
};

/// The maximum number of evidence rows per finding.
const ROWS: usize = 8;
/// The number of findings that a short report describes, and of those after them of which it has the titles.
const DESCRIBED: usize = 3;
const TITLES: usize = 4;
/// The maximum number of characters of a title without its description.
const MAX_TITLE: usize = 90;

/// The findings, if the report has that section.
#[derive(Default)]
pub struct Findings<'a> {
    diagnosis: Option<&'a Diagnosis>,
    /// The findings of the selected threads, with their numbers.
    shown: Vec<(usize, &'a Finding)>,
    left_out: usize,
    /// Whether there is room for evidence.
    evidence: bool,
    /// Whether the report is short.
    is_short: bool,
}

impl<'a> Findings<'a> {
    /// Selects the findings about the selected threads; at most as many as threads are shown.
    pub fn select(diagnosis: Option<&'a Diagnosis>, options: &Options, groups: &[Group]) -> Self {
        let keys: HashSet<ThreadKey> = groups.iter().flat_map(|g| g.keys.iter().copied()).collect();
        let is_of = |f: &&Finding| options.process.is_none() || f.threads.iter().any(|c| keys.contains(&c.thread));
        let mut shown: Vec<_> =
            (1..).zip(diagnosis.iter().flat_map(|diagnosis| &diagnosis.findings).filter(is_of)).collect();
        let left_out = shown.len().saturating_sub(options.top);
        shown.truncate(options.top);
        Self { diagnosis, shown, left_out, evidence: options.pictures, is_short: options.max_lines.is_some() }
    }

    /// The diagnosis, if the report has that section.
    pub fn diagnosis(&self) -> Option<&'a Diagnosis> {
        self.diagnosis
    }

    /// The number of findings about the selected threads.
    pub fn count(&self) -> usize {
        self.shown.len() + self.left_out
    }

    /// The findings, with their numbers.
    pub fn shown(&self) -> impl Iterator<Item = (usize, &'a Finding)> + '_ {
        self.shown.iter().copied()
    }

    /// When each finding occurred.
    pub fn ranges(&self) -> Vec<Range> {
        let range = |&(at, f): &(usize, &Finding)| Range {
            label: format!("{at}."),
            of: f.rule.to_owned(),
            place: Anchor::When(at),
            link: Anchor::Finding(at),
            tone: tone(f.severity),
            spans: f.spans.clone(),
        };
        self.shown.iter().map(range).collect()
    }
}

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    let findings = &ctx.findings;
    // If no rule could be checked at all, the verdict says why.
    let Some(diagnosis) = findings.diagnosis.filter(|diagnosis| diagnosis.why_nothing().is_none()) else {
        return Ok(());
    };
    let path = ctx.session.path().display();
    match findings.shown.len() {
        0 => page.heading("Findings: none"),
        n => page.heading(&format!("Findings: {}", n + findings.left_out)),
    }
    if let Some(objective) = &diagnosis.objective {
        page.paragraph(&format!("Objective: {}.", objective.sentence));
    }
    if !findings.shown.is_empty() && !findings.is_short {
        page.paragraph(&format!(
            "Sorted by potential time saved; findings about the conditions of the run come last. `corewise diagnose {path}` \
             shows details, `corewise explain RULE` describes a rule."
        ));
    }
    if !findings.is_short {
        diagnosis.caveats().for_each(|caveat| page.paragraph(&format!("Note: {caveat}.")));
    }
    let described = if findings.is_short { DESCRIBED.min(findings.shown.len()) } else { findings.shown.len() };
    let mut instances =
        if findings.evidence { instance::all(ctx.session, &findings.shown)? } else { Vec::new() }.into_iter();
    let first_outside = findings.shown.iter().position(|(_, of)| of.subject == Subject::Outside);
    for (place, (at, finding)) in findings.shown[..described].iter().enumerate() {
        if first_outside == Some(place) {
            page.paragraph(&format!("{}:", diagnose::OUTSIDE));
        }
        write_finding(page, *at, finding, instances.next().flatten(), ctx)?;
    }
    let rest = &findings.shown[described..];
    for (at, finding) in rest.iter().take(TITLES) {
        let title =
            format!("{at}. {} ({}): {}", finding.rule, finding.severity.as_str(), short(&finding.title, MAX_TITLE));
        page.entry(title, Anchor::Finding(*at), tone(finding.severity));
    }
    let others = findings.left_out + rest.len().saturating_sub(TITLES);
    if others > 0 {
        page.note(&format!("(and {}: corewise diagnose {path})", plural(others as u64, "other")));
    }
    page.paragraph(&format!("{}.", diagnosis.checked_line()));
    Ok(())
}

/// Writes which rules were checked and which could not be: part of what the report is based on, not of its answer.
pub(crate) fn write_rules(page: &mut Page, diagnosis: &Diagnosis, has_room: bool) {
    // The verdict says why none was checked.
    if diagnosis.why_nothing().is_some() {
        return;
    }
    page.heading(&format!("Rules: {} checked", plural(diagnosis.checked.len() as u64, "rule")));
    if !diagnosis.checked.is_empty() {
        page.paragraph(&format!("Checked: {}.", diagnosis.checked.join(", ")));
    }
    if diagnosis.not_checked.is_empty() {
        return;
    }
    if !has_room {
        let names: Vec<&str> = diagnosis.not_checked.iter().map(|not| not.rule).collect();
        page.paragraph(&format!("Not checked (missing data): {}.", names.join(", ")));
        return;
    }
    page.paragraph("Not checked (missing data):");
    let mut columns = [Column::text("rule", 0), Column::text("reason", 0)];
    diagnosis.not_checked.iter().for_each(|not| push(&mut columns, [not.rule.to_owned(), not.why.clone()]));
    page.grid(columns.into(), 0);
}

fn write_finding(
    page: &mut Page,
    at: usize,
    of: &Finding,
    worst_instance: Option<Instance>,
    ctx: &SectionContext<'_>,
) -> Result<(), EngineError> {
    let detail = match ctx.findings.evidence {
        _ if ctx.findings.is_short => Detail::Brief,
        true => Detail::Whole,
        false => Detail::Usual,
    };
    let system = ctx.findings.diagnosis.and_then(|diagnosis| diagnosis.system);
    page.blocks.extend(diagnose::blocks(at, of, system, detail, worst_instance.map(Into::into)));
    if !ctx.findings.evidence {
        return Ok(());
    }
    let mut links: Linked = vec![("time".to_owned(), Some(Anchor::When(at))), (".".to_owned(), None)];
    if !of.evidence.is_empty() {
        links.splice(0..0, [("evidence".to_owned(), Some(Anchor::Evidence(at))), (", ".to_owned(), None)]);
    }
    links.insert(0, ("See ".to_owned(), None));
    page.linked(links);
    if !of.evidence.is_empty() {
        page.grid(rows(at, &of.evidence, ctx)?, 0);
        if of.evidence.len() > ROWS {
            page.note(&format!(
                "(and {}: corewise diagnose --format json)",
                plural((of.evidence.len() - ROWS) as u64, "other row")
            ));
        }
    }
    Ok(())
}

/// The evidence rows: table, row key and values.
fn rows(at: usize, of: &[Evidence], ctx: &SectionContext<'_>) -> Result<Vec<Column>, EngineError> {
    let [mut table, mut key, mut values] = ["table", "row", "values"].map(|head| Column::text(head, 0));
    table.places.push(Anchor::Evidence(at));
    for row in of.iter().take(ROWS) {
        let def = ctx.session.definition(row.table)?;
        table.linked_cell(row.table, section_anchor(row.table));
        key.linked_cell(cells(def, &row.key, ctx), place(row));
        values.push(cells(def, &row.cells, ctx));
    }
    Ok(vec![table, key, values])
}

/// The anchor of the thread or CPU of a row.
fn place(row: &Evidence) -> Option<Anchor> {
    row.key.iter().find_map(|(col, value)| match (*col, value) {
        ("thread", Value::Int(key)) => Some(Anchor::Thread(ThreadKey(*key))),
        ("cpu", Value::Int(cpu)) => Some(Anchor::Cpu(*cpu)),
        _ => None,
    })
}

/// Formats cells: `thread game (12), waits 2, blocked 6.000 ms`.
fn cells(def: &TableDef, of: &[(&'static str, Value)], ctx: &SectionContext<'_>) -> String {
    let cell = |(col, value): &(&'static str, Value)| {
        let (name, is_time) = col.strip_suffix("_ns").map_or((*col, false), |name| (name, true));
        let is_thread = def.col(col).is_some_and(|at| def.cols[at].is_thread_key);
        let value = match value {
            Value::Null => "unknown".to_owned(),
            Value::Int(0) if is_thread => "none (0)".to_owned(),
            Value::Int(key) if is_thread => format!("{}{TIE}({key})", plain(&ctx.name(Some(ThreadKey(*key))))),
            Value::Int(ns) if is_time => format!("{}{TIE}ms", ms(Ns(*ns))),
            Value::Int(v) => v.to_string(),
            Value::Float(v) => format!("{v:.3}"),
            Value::Text(v) => short(&plain(v), 40),
            Value::Bool(v) => v.to_string(),
        };
        format!("{}{TIE}{value}", name.replace('_', " "))
    };
    of.iter().map(cell).collect::<Vec<_>>().join(", ")
}
