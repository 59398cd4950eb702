//! What `corewise try` prints.

use super::Chosen;
use super::recorder::Load;
use compare::ab::Decision;
use model::words::{percent_of, plural, time, untied};
use model::{Ns, TrialVerdict as Verdict, pool_name};
use serde_json::json;
use std::fmt::Write as _;
use std::time::Duration;
use trial::{Measure, Outcome, Run, Selector};

fn ns(of: f64) -> String {
    untied(&time(Ns(of.round() as i64)))
}

pub fn count(n: usize, word: &str) -> String {
    untied(&plural(n as u64, word))
}

/// The name of threads.
pub fn shown(selector: &Selector) -> String {
    if selector.is_role { format!("{} with any number", pool_name(&selector.name)) } else { selector.name.clone() }
}

/// The progress of the pairs.
pub fn progress(pair: usize, pairs: usize, left: Option<Duration>) -> String {
    match left.map(|left| left.as_secs_f64()) {
        None => format!("Pair {pair} of {pairs}"),
        Some(left) if left >= 90.0 => format!("Pair {pair} of {pairs}, about {:.0} min left", left / 60.0),
        Some(left) => format!("Pair {pair} of {pairs}, about {left:.0} s left"),
    }
}

/// What one run showed.
fn of_run(measure: Measure, run: &Run) -> String {
    match measure {
        Measure::End => ns(run.value),
        Measure::Lateness => format!("{} of {} late, by {}", run.late, run.count, ns(run.value * run.count as f64)),
        Measure::Response => format!("{} on average", ns(run.value)),
        Measure::Number | Measure::Rate => run.value.to_string(),
    }
}

/// The line of a pair.
pub fn pair(pair: usize, measure: Measure, [without, with]: [&Run; 2], decision: Decision) -> String {
    let end = match decision {
        Decision::Keep => "",
        Decision::Repeat => ": disturbed by other programs, recorded again",
        Decision::KeepDisturbed => ": disturbed by other programs, no repeats left",
    };
    format!("Pair {pair}: without {}, with the fix {}{end}", of_run(measure, without), of_run(measure, with))
}

/// What will be done.
pub fn plan(chosen: &Chosen, load: &Load, pairs: usize, warm_up: usize) -> String {
    let mut text = format!("{}. {}: {}\n", chosen.number, chosen.finding.rule, chosen.finding.title);
    let _ = writeln!(text, "The fix: {}", chosen.finding.action.what);
    for step in &chosen.plan.steps {
        let _ = writeln!(text, "  {}", step.described());
    }
    for note in &chosen.plan.notes {
        let _ = writeln!(text, "  note: {note}");
    }
    if let Some(selector) = &chosen.selector {
        let place = match (load, chosen.is_own) {
            (Load::Command(_), true) => "of the command".to_owned(),
            (Load::Process(pid, _), true) => format!("of process {pid} and those that it started"),
            _ => format!("of your processes named {}", selector.process),
        };
        let except = if selector.first == Some(false) { ", except the main thread of each process" } else { "" };
        let _ = writeln!(text, "Its threads: those named {} {place}{except}", shown(selector));
    }
    if let Some(side_effect) = chosen.finding.action.side_effect {
        let _ = writeln!(text, "What it costs others: {side_effect}");
    }
    if chosen.plan.changes_the_machine() {
        text.push_str("It changes a setting of the whole machine, and undoes that after each run.\n");
    }
    let what = match load {
        Load::Command(words) => format!("`{}`", model::words::short(&words.join(" "), 60)),
        Load::Process(pid, time) => format!("process {pid} for {}", ns(time.0 as f64)),
        Load::Machine(time) => format!("this machine for {}", ns(time.0 as f64)),
    };
    let warm_up = match warm_up {
        0 => String::new(),
        n => format!(", after {} of each", count(n, "warm-up")),
    };
    let _ = writeln!(text, "Runs: {what}, {} without and with the fix{warm_up}", count(pairs, "pair"));
    let _ = writeln!(text, "Measured: {}", measured(chosen));
    text
}

/// What is printed with --dry-run.
pub fn dry_run(chosen: &Chosen, load: &Load, pairs: usize, warm_up: usize) -> String {
    plan(chosen, load, pairs, warm_up) + "Nothing was changed (--dry-run).\n"
}

fn measured(chosen: &Chosen) -> String {
    let name = chosen.objective.name.as_deref().unwrap_or("?");
    match chosen.measure() {
        Measure::End => "the time to the end of the command".to_owned(),
        Measure::Lateness => format!("by how much {name} is late"),
        Measure::Response => format!("how long {name} takes"),
        Measure::Number => "the number that the command prints (--metric): less is better".to_owned(),
        Measure::Rate => "the number that the command prints (--metric): more is better".to_owned(),
    }
}

fn signed(share: f64) -> String {
    let sign = if share < 0.0 { "−" } else { "+" };
    format!("{sign}{}", untied(&percent_of(share.abs())))
}

/// What the trial showed.
pub fn summary(chosen: &Chosen, outcome: &Outcome) -> String {
    let what = match outcome.verdict {
        Verdict::TooFewPairs => "unknown, as there are too few pairs",
        Verdict::NotApplied => "unknown, as the fix was not applied in every run",
        shown => shown.as_str(),
    };
    let mut text = format!("{}. {}: {what}", chosen.number, chosen.finding.rule);
    let [a, b] = outcome.medians.map(|value| if outcome.measure.is_time() { ns(value) } else { value.to_string() });
    let _ = match outcome.measure {
        Measure::End => write!(text, ": the command ends after {a} without the fix, {b} with it"),
        Measure::Lateness => {
            let [(late, of), (with, of_with)] = outcome.late;
            let of_both = if of == of_with {
                format!("{late} → {with} of {of}")
            } else {
                format!("{late} of {of} → {with} of {of_with}")
            };
            write!(text, ": late: {of_both}, {a} → {b} late on average")
        }
        Measure::Response => write!(text, ": {a} on average without the fix, {b} with it"),
        Measure::Number | Measure::Rate => write!(text, ": the command prints {a} without the fix, {b} with it"),
    };
    if let Some(change) = outcome.change {
        let interval = outcome
            .interval
            .map_or_else(String::new, |[low, high]| format!(", 95 % interval {} to {}", signed(low), signed(high)));
        let _ = write!(text, " ({}{interval}, {})", signed(change), count(outcome.pairs, "pair"));
    }
    text.push('\n');
    let range =
        |of: Option<[f64; 2]>| of.map_or_else(String::new, |[low, high]| format!(" ({} to {})", ns(low), ns(high)));
    let predicted = outcome.predicted;
    let _ = write!(text, "  Saving: {}{} predicted", ns(predicted.ns), range(predicted.range));
    if let Some(measured) = outcome.measured {
        let _ = write!(text, ", {}{} measured", ns(measured.ns), range(measured.range));
    }
    text.push_str(match outcome.holds() {
        Some(true) => ": within the predicted range\n",
        Some(false) => ": outside of the predicted range\n",
        None => "\n",
    });
    let [without, with] = outcome.found;
    let _ = write!(
        text,
        "  The finding is in {without} of {} runs without the fix, in {with} of {0} with it.",
        outcome.pairs
    );
    if chosen.selector.is_some() && outcome.threads > 0 {
        let _ = write!(text, " The fix was for {} in a run.", count(outcome.threads, "thread"));
    }
    text.push('\n');
    if outcome.verdict == Verdict::NoEffect && without > with + outcome.pairs / 2 && outcome.measure == Measure::End {
        text.push_str(
            "  note: the problem is gone, but the command takes the same time: if it runs for a set time, measure what it prints (--metric)\n",
        );
    }
    if without * 2 < outcome.pairs {
        text.push_str("  note: the problem was rare in these runs, so that this says little about the fix\n");
    }
    text
}

/// The same as JSON.
pub fn json(chosen: &Chosen, outcome: &Outcome) -> String {
    let value = json!({
        "rule": chosen.finding.rule,
        "number": chosen.number,
        "title": chosen.finding.title,
        "fix": chosen.finding.change,
        "steps": chosen.plan.steps.iter().map(trial::Step::described).collect::<Vec<_>>(),
        "objective": chosen.objective,
        "outcome": outcome,
        "predicted_range_holds": outcome.holds(),
    });
    format!("{value:#}\n")
}
