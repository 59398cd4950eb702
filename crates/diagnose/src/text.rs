//! For people: a diagnosis, and a rule's page.

use crate::diagnosis::Diagnosis;
use crate::finding::{Evidence, Finding};
use crate::rule::{Rule, Threshold};
use crate::rules::RULES;
use crate::settings::SEVERITY;
use model::Value;
use model::words::{TIE, ms, plain, plural, time};
use std::fmt::Write as _;

/// So many threads, rows and times of each finding are told.
const SHOWN: usize = 3;

/// All of a diagnosis, in lines of at most `width` characters.
#[must_use]
pub fn text(said: &Diagnosis, width: usize) -> String {
    let mut out = Lines { text: String::new(), width };
    match said.findings.len() {
        0 if said.checked.is_empty() => out.line(0, "Nothing could be checked"),
        0 => out.line(0, &format!("Nothing found in {}", time(said.span.len().0))),
        n => out.line(0, &format!("{} in {}", plural(n as u64, "finding"), time(said.span.len().0))),
    }
    said.caveats().for_each(|caveat| out.line(0, &format!("Mind: {caveat}")));
    for (at, finding) in said.findings.iter().enumerate() {
        out.blank();
        write(&mut out, at + 1, finding);
    }
    out.blank();
    if !said.checked.is_empty() {
        out.line(0, &format!("Checked: {}", said.checked.join(", ")));
    }
    if !said.not_checked.is_empty() {
        out.line(0, "Not checked:");
        for not in &said.not_checked {
            out.line(2, &format!("{}: {}", not.rule, not.why));
        }
    }
    out.text.replace(TIE, " ")
}

fn write(out: &mut Lines, at: usize, finding: &Finding) {
    out.line(0, &format!("{at}. {} ({}): {}", finding.rule, finding.severity.as_str(), finding.title));
    let [from, to] = finding.range_ns;
    if to > 0 {
        let range = format!("{} to {}", ms(from), ms(to));
        let sure = finding.confidence.as_str();
        let cpu = finding.cpu_ns.map_or_else(String::new, |ns| format!(", {} ms of CPU time", ms(ns)));
        out.line(
            3,
            &format!("could be recovered: {} ms ({range}){cpu}, confidence {sure}", ms(finding.recoverable_ns)),
        );
    }
    let who = finding.threads.iter().map(|c| format!("{}{TIE}{}{TIE}{}{TIE}ms", c.name, c.tid, ms(c.recoverable_ns)));
    listed(out, "threads", who);
    let spans = finding.spans.iter();
    listed(out, "when", spans.map(|s| format!("{}{TIE}to{TIE}{}{TIE}ms", ms(s.start.0), ms(s.end.0))));
    listed(out, "evidence", finding.evidence.iter().map(row));
    out.line(3, &format!("do: {}", finding.action.what));
    out.line(5, &format!("Linux: {}", finding.action.linux));
    out.line(5, &format!("Windows: {}", finding.action.windows));
    for (at, assumed) in finding.assumptions.iter().enumerate() {
        out.line(3, &format!("{}{assumed}", if at == 0 { "assumed: " } else { "and: " }));
    }
    for also in &finding.also {
        out.line(3, &format!("falls away with it: {} ({}): {}", also.rule, also.severity.as_str(), also.title));
    }
}

/// Some of a list, and how many more there are.
fn listed(out: &mut Lines, what: &str, all: impl ExactSizeIterator<Item = String>) {
    let count = all.len();
    let mut words: Vec<String> = all.take(SHOWN).collect();
    if count > SHOWN {
        words.push(format!("{} more", count - SHOWN));
    }
    if !words.is_empty() {
        out.line(3, &format!("{what}: {}", words.join(", ")));
    }
}

/// `ready_wait[thread=3]`, and what it holds.
fn row(evidence: &Evidence) -> String {
    let cell = |(col, value): &(&str, Value)| match value {
        Value::Null => format!("{col}=null"),
        Value::Int(v) => format!("{col}={v}"),
        Value::Float(v) => format!("{col}={v}"),
        Value::Text(v) => format!("{col}={}", plain(v)),
        Value::Bool(v) => format!("{col}={v}"),
    };
    let joined = |cells: &[(&str, Value)]| cells.iter().map(cell).collect::<Vec<_>>();
    format!(
        "{}[{}]{TIE}{}",
        evidence.table,
        joined(&evidence.key).join(","),
        joined(&evidence.cells).join(&TIE.to_string())
    )
}

/// The page of a rule; without one, the list of all.
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
        ("What it finds", page.finds),
        ("Why it matters", page.matters),
        ("How sure it is", page.sure),
        ("What to do", page.mend),
        ("Example", page.example),
    ];
    for (head, words) in parts {
        out.blank();
        out.line(0, head);
        out.hanging("  ", words);
    }
    if !rule.explains.is_empty() {
        out.blank();
        out.line(
            0,
            &format!("Where it is found, these follow from it and stand under it: {}", rule.explains.join(", ")),
        );
    }
    out.blank();
    out.line(0, &format!("Thresholds (--set {}.NAME=VALUE)", rule.id));
    rule.thresholds.iter().for_each(|t| threshold(&mut out, t));
    out.blank();
    out.line(0, "Severity, by the part of the time looked at (--set severity.NAME=VALUE)");
    SEVERITY.iter().for_each(|t| threshold(&mut out, t));
    out.blank();
    let tables: Vec<&str> = rule.tables.iter().map(|def| def.name).collect();
    out.line(0, &format!("It reads the tables {}", tables.join(", ")));
    out.text
}

fn threshold(out: &mut Lines, of: &Threshold) {
    let unit = if of.unit.as_str().is_empty() { String::new() } else { format!("{TIE}{}", of.unit.as_str()) };
    out.line(2, &format!("{} = {}{unit}: {}", of.name, of.value, of.reason));
    out.text = std::mem::take(&mut out.text).replace(TIE, " ");
}

/// Lines of a width.
struct Lines {
    text: String,
    width: usize,
}

impl Lines {
    fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Words behind some blanks; further lines stand two deeper.
    fn line(&mut self, indent: usize, words: &str) {
        let (first, rest) = (" ".repeat(indent), " ".repeat(indent + 2));
        self.wrapped(&first, &rest, words);
    }

    /// Words behind a head; further lines stand under the first.
    fn hanging(&mut self, head: &str, words: &str) {
        self.wrapped(head, &" ".repeat(head.chars().count()), words);
    }

    fn wrapped(&mut self, first: &str, rest: &str, words: &str) {
        let mut line = first.to_owned();
        let mut empty = true;
        for word in words.split(' ').filter(|w| !w.is_empty()) {
            let more = line.chars().count() + word.chars().count() + usize::from(!empty);
            if !empty && more > self.width {
                let _ = writeln!(self.text, "{line}");
                line = rest.to_owned();
                empty = true;
            }
            if !empty {
                line.push(' ');
            }
            line += word;
            empty = false;
        }
        let _ = writeln!(self.text, "{line}");
    }
}
