//! A diagnosis and a rule's documentation as text.

use crate::blocks::{Detail, blocks};
use crate::diagnosis::Diagnosis;
use crate::finding::{Evidence, Finding, Subject};
use crate::rule::{Rule, Threshold};
use crate::rules::RULES;
use crate::settings::SEVERITY;
use model::Value;
use model::words::{TIE, percent_of, plain, plural, time};
use page::Block;
use std::fmt::Write as _;

/// The maximum number of rows of evidence that are shown per finding.
const SHOWN: usize = 3;

/// The words before the findings of [`Subject::Outside`].
pub const OUTSIDE: &str = "Outside of the objective, which gains nothing from these";

/// Formats a diagnosis, in lines of at most `width` characters. Each finding has its cost, its worst interval and its fix; if `verbose`,
/// also the evidence, the assumptions, and what was not checked.
#[must_use]
pub fn text(diagnosis: &Diagnosis, width: usize, verbose: bool) -> String {
    let mut out = Lines { text: String::new(), width };
    if let Some(objective) = &diagnosis.objective {
        out.line(0, &format!("Objective: {}", objective.sentence));
    }
    for statement in &diagnosis.account {
        let finding = statement.finding.map_or_else(String::new, |at| format!("; see finding {at}"));
        out.line(0, &format!("{}{finding}.", statement.text));
    }
    match diagnosis.findings.len() {
        0 if diagnosis.checked.is_empty() && verbose => out.line(0, "No rule could be checked"),
        0 if diagnosis.checked.is_empty() => {
            let why = diagnosis.why_nothing().map_or_else(String::new, |why| format!(": {why}"));
            out.line(0, &format!("No rule could be checked{why}; `corewise report` shows what was recorded"));
        }
        0 => {
            let busy = diagnosis
                .cpus_busy
                .map_or_else(String::new, |share| format!("; threads ran for {} of the CPUs' time", percent_of(share)));
            out.line(0, &format!("No findings in {}{busy}", time(diagnosis.span.len())));
        }
        n => out.line(0, &format!("{} in {}", plural(n as u64, "finding"), time(diagnosis.span.len()))),
    }
    diagnosis.caveats().for_each(|caveat| out.line(0, &format!("Note: {caveat}")));
    let detail = if verbose { Detail::Whole } else { Detail::Brief };
    let first_outside = diagnosis.findings.iter().position(|of| of.subject == Subject::Outside);
    for (at, finding) in (1..).zip(&diagnosis.findings) {
        out.blank();
        if first_outside.is_some_and(|first| first + 1 == at) {
            out.line(0, &format!("{OUTSIDE}:"));
            out.blank();
        }
        let mut shown = blocks(at, finding, diagnosis.system, detail, None);
        shown.extend(evidence(finding).filter(|_| verbose).map(|rows| Block::Linked(vec![(rows, None)])));
        out.text.push_str(&page::terminal(&shown, width, false));
    }
    if !diagnosis.checked.is_empty() || verbose {
        out.blank();
    }
    if !verbose {
        if !diagnosis.checked.is_empty() {
            out.line(0, &format!("{}.", diagnosis.checked_line()));
        }
        if !diagnosis.figures.is_empty() {
            out.line(0, &format!("Costs: {}.", diagnosis.figures.join("; ")));
        }
        if !diagnosis.findings.is_empty() {
            out.line(0, "Next: `corewise try TRACE 1 -- COMMAND` tries the fix of finding 1; `corewise explain RULE` describes a rule; --verbose shows evidence and assumptions.");
        } else if !diagnosis.account.is_empty() {
            out.line(0, "Next: `corewise table TRACE objective_time` shows all of where the time went.");
        }
        return out.text;
    }
    if !diagnosis.findings.is_empty() {
        out.line(0, "`corewise explain RULE` says what a rule detects, how certain it is, and how to fix it.");
    }
    if !diagnosis.checked.is_empty() {
        out.line(0, &format!("Checked: {}", diagnosis.checked.join(", ")));
    }
    if !diagnosis.not_checked.is_empty() {
        out.line(0, "Not checked:");
        // The rules that lack the same, together.
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for not in &diagnosis.not_checked {
            match reasons.iter_mut().find(|(why, _)| *why == not.why) {
                Some((_, rules)) => rules.push(not.rule),
                None => reasons.push((&not.why, vec![not.rule])),
            }
        }
        reasons.iter().for_each(|(why, rules)| out.line(2, &format!("{}: {why}", rules.join(", "))));
    }
    out.text
}

/// The first rows of the evidence, as they can be looked up in tables.
fn evidence(finding: &Finding) -> Option<String> {
    let mut rows: Vec<String> = finding.evidence.iter().take(SHOWN).map(row).collect();
    let more = finding.evidence.len().saturating_sub(SHOWN);
    rows.extend((more > 0).then(|| format!("{more} more")));
    (!rows.is_empty()).then(|| format!("Evidence: {}.", rows.join(", ")))
}

/// Formats an evidence row: `ready_wait[thread=Game 4321] ready_ns=…`.
fn row(evidence: &Evidence) -> String {
    let named = |col: &str| evidence.threads.iter().find(|(of, _)| *of == col).map(|(_, name)| plain(name));
    let cell = |(col, value): &(&str, Value)| match (named(col), value) {
        (Some(name), _) => format!("{col}={}", name.replace(' ', &TIE.to_string())),
        (None, Value::Null) => format!("{col}=null"),
        (None, Value::Int(v)) => format!("{col}={v}"),
        (None, Value::Float(v)) => format!("{col}={v:.4}"),
        (None, Value::Text(v)) => format!("{col}={}", plain(v)),
        (None, Value::Bool(v)) => format!("{col}={v}"),
    };
    let joined = |cells: &[(&str, Value)]| cells.iter().map(cell).collect::<Vec<_>>();
    format!(
        "{}[{}]{TIE}{}",
        evidence.table,
        joined(&evidence.key).join(","),
        joined(&evidence.cells).join(&TIE.to_string())
    )
}

/// Formats the documentation of a rule, or the list of all rules.
#[must_use]
pub fn explain(rule: Option<&Rule>, width: usize) -> String {
    let mut out = Lines { text: String::new(), width };
    let Some(rule) = rule else {
        let widest = RULES.iter().map(|r| r.id.len()).max().unwrap_or(0);
        for rule in RULES {
            out.hanging(&format!("{:widest$}  ", rule.id), rule.about);
        }
        return out.text;
    };
    out.line(0, &format!("{}: {}", rule.id, rule.about));
    let page = &rule.page;
    let parts = [
        ("What it detects", page.description),
        ("Why it matters", page.rationale),
        ("Confidence and limits", page.certainty),
        ("How to fix it", page.fix),
        ("Example", page.example),
    ];
    for (head, words) in parts {
        out.blank();
        out.line(0, head);
        out.hanging("  ", words);
    }
    out.blank();
    out.line(0, "Its part of the account (`corewise table TRACE objective_time`)");
    out.hanging("  ", rule.worst.account());
    if !rule.explains.is_empty() {
        out.blank();
        out.line(
            0,
            &format!(
                "Findings of these rules are listed under this finding if it is their cause: {}",
                rule.explains.join(", ")
            ),
        );
    }
    out.blank();
    out.line(0, &format!("Thresholds (--set {}.NAME=VALUE)", rule.id));
    rule.thresholds.iter().for_each(|t| threshold(&mut out, t));
    out.blank();
    out.line(0, "Severity, by the share of the analysed time (--set severity.NAME=VALUE)");
    SEVERITY.iter().for_each(|t| threshold(&mut out, t));
    out.blank();
    let tables: Vec<&str> = rule.tables.iter().map(|def| def.name).collect();
    out.line(0, &format!("Tables read: {}", tables.join(", ")));
    out.text
}

fn threshold(out: &mut Lines, of: &Threshold) {
    let unit = if of.unit.as_str().is_empty() { String::new() } else { format!("{TIE}{}", of.unit.as_str()) };
    out.line(2, &format!("{} = {}{unit}: {}", of.name, of.value, of.reason));
}

/// Text wrapped to a width.
struct Lines {
    text: String,
    width: usize,
}

impl Lines {
    fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Writes indented text; continuation lines are indented by two more.
    fn line(&mut self, indent: usize, words: &str) {
        let (first, rest) = (" ".repeat(indent), " ".repeat(indent + 2));
        self.wrapped(&first, &rest, words);
    }

    /// Writes text after a head; continuation lines are aligned with its start.
    fn hanging(&mut self, head: &str, words: &str) {
        self.wrapped(head, &" ".repeat(head.chars().count()), words);
    }

    fn wrapped(&mut self, first: &str, rest: &str, words: &str) {
        page::wrapped(words, self.width, first, rest).iter().for_each(|line| {
            let _ = writeln!(self.text, "{line}");
        });
    }
}
