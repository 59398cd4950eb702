//! A diagnosis and a rule's documentation as text.

use crate::diagnosis::{Diagnosis, System};
use crate::finding::{Evidence, Finding, Interval};
use crate::rule::{Rule, Threshold};
use crate::rules::RULES;
use crate::settings::SEVERITY;
use model::Value;
use model::words::{TIE, ms, percent_of, plain, plural, time};
use std::fmt::Write as _;

/// The maximum number of threads, rows and times that are shown per finding.
const SHOWN: usize = 3;

/// Formats a diagnosis, in lines of at most `width` characters. Each finding has its cost, its worst interval and its fix; if `verbose`,
/// also the evidence, the assumptions, and what was not checked.
#[must_use]
pub fn text(diagnosis: &Diagnosis, width: usize, verbose: bool) -> String {
    let mut out = Lines { text: String::new(), width };
    if let Some(objective) = &diagnosis.objective {
        out.line(0, &format!("Objective: {}", objective.sentence));
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
            out.line(0, &format!("No findings in {}{busy}", time(diagnosis.span.len().0)));
        }
        n => out.line(0, &format!("{} in {}", plural(n as u64, "finding"), time(diagnosis.span.len().0))),
    }
    diagnosis.caveats().for_each(|caveat| out.line(0, &format!("Note: {caveat}")));
    for (at, finding) in diagnosis.findings.iter().enumerate() {
        out.blank();
        match verbose {
            true => write(&mut out, at + 1, finding, diagnosis.system),
            false => write_short(&mut out, at + 1, finding, diagnosis.system),
        }
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
            out.line(0, "Next: `corewise explain RULE` describes a rule; --verbose shows evidence and assumptions.");
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

/// Writes a finding in about seven lines.
fn write_short(out: &mut Lines, at: usize, finding: &Finding, system: Option<System>) {
    out.line(0, &format!("{at}. {} ({}): {}", finding.rule, finding.severity.as_str(), finding.title));
    out.line(3, &saving(finding));
    if let Some(of) = finding.worst.first() {
        out.line(3, &format!("worst: {}", interval(of)));
    }
    out.line(3, &format!("fix: {}", finding.action.what));
    instructions(out, finding, system);
    if !finding.also.is_empty() {
        let rules: Vec<&str> = finding.also.iter().map(|also| also.rule).collect();
        out.line(3, &format!("also resolved: {}", rules.join(", ")));
    }
}

/// The potential saving and the threads that gain it, or an empty text.
fn saving(finding: &Finding) -> String {
    let [from, to] = finding.range_ns;
    let confidence = finding.confidence.as_str();
    let threads = finding.threads.first().map_or_else(String::new, |first| {
        let more = finding.threads.len() - 1;
        let more = if more > 0 { format!(" and {}", plural(more as u64, "other")) } else { String::new() };
        format!(" for {}{TIE}{}{more}", plain(&first.name), first.tid)
    });
    if to == 0 {
        return format!("potential saving: none, confidence {confidence}");
    }
    let cpu = finding.cpu_ns.map_or_else(String::new, |ns| format!(", {} ms of CPU time", ms(ns)));
    format!(
        "potential saving: {} ms ({} to {}){threads}{cpu}, confidence {confidence}",
        ms(finding.recoverable_ns),
        ms(from),
        ms(to)
    )
}

/// One of the worst intervals: `3 556.520 to 3 572.448 ms: python 30309 ready (batch ran on CPU 0)`.
fn interval(of: &Interval) -> String {
    let span = format!("{}{TIE}to{TIE}{}{TIE}ms", ms(of.start_ns), ms(of.end_ns));
    format!("{span}: {}{TIE}{} {} ({})", plain(&of.name), of.tid, of.state, plain(&of.cause))
}

/// Writes the commands or calls of the fix on the recorded system.
fn instructions(out: &mut Lines, finding: &Finding, system: Option<System>) {
    let all = [("Linux", System::Linux, &finding.action.linux), ("Windows", System::Windows, &finding.action.windows)];
    for (name, _, words) in all.iter().filter(|(_, of, _)| system.is_none_or(|system| system == *of)) {
        out.line(5, &format!("{name}: {words}"));
    }
}

fn write(out: &mut Lines, at: usize, finding: &Finding, system: Option<System>) {
    out.line(0, &format!("{at}. {} ({}): {}", finding.rule, finding.severity.as_str(), finding.title));
    let [from, to] = finding.range_ns;
    let confidence = finding.confidence.as_str();
    if finding.recoverable_ns < finding.delay_ns && to == 0 {
        let delay = ms(finding.delay_ns);
        out.line(
            3,
            &format!(
                "potential saving: none: the objective gains nothing from the {delay} ms, confidence {confidence}"
            ),
        );
    } else if to > 0 {
        let range = format!("{} to {}", ms(from), ms(to));
        let of = if finding.recoverable_ns < finding.delay_ns {
            format!(" of {} ms, as far as the objective gains it", ms(finding.delay_ns))
        } else {
            String::new()
        };
        let cpu = finding.cpu_ns.map_or_else(String::new, |ns| format!(", {} ms of CPU time", ms(ns)));
        out.line(
            3,
            &format!("potential saving: {} ms ({range}){of}{cpu}, confidence {confidence}", ms(finding.recoverable_ns)),
        );
    }
    let claims = finding.threads.iter();
    let claims = claims.map(|c| match c.recoverable_ns {
        0 => format!("{}{TIE}{}", c.name, c.tid),
        ns => format!("{}{TIE}{}{TIE}{}{TIE}ms", c.name, c.tid, ms(ns)),
    });
    listed(out, "threads", claims);
    let spans = finding.spans.iter();
    listed(out, "when", spans.map(|s| format!("{}{TIE}to{TIE}{}{TIE}ms", ms(s.start.0), ms(s.end.0))));
    let worst = finding.worst.iter().map(interval);
    listed(out, "worst", worst);
    listed(out, "evidence", finding.evidence.iter().map(row));
    out.line(3, &format!("fix: {}", finding.action.what));
    instructions(out, finding, system);
    if !finding.assumptions.is_empty() {
        out.line(3, "assumptions:");
    }
    for assumption in &finding.assumptions {
        out.line(5, &format!("- {assumption}"));
    }
    for also in &finding.also {
        out.line(3, &format!("also resolved: {} ({}): {}", also.rule, also.severity.as_str(), also.title));
    }
}

/// Writes the first items of a list, and how many more there are.
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
