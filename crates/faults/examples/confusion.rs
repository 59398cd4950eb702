//! The judge of `corewise diagnose`: `confusion --corewise PATH [--set training|reported] [--seeds 50] [--healthy 200]
//! [--from 0] [--only RULE] [--keep DIR]`.
//!
//! Draws each kind of fault by so many seeds, every fifth with a second fault in other frames, asks `corewise diagnose
//! --format json` of each trace, and prints which rule stood at the top, how far its milliseconds were from what was
//! injected, how many healthy traces had a finding, and how many slight faults were passed over. A finding is one above
//! `low`. Traces are written one at a time, and kept only under `--keep`, each with its truth beside it.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use faults::kinds::{KINDS, Kind};
use faults::{Dose, Drawn, Set, draw, write};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// A fault that costs less than one part in so many of the trace is slight.
const SLIGHT: i64 = 200;

/// Between the numbers that a kind draws by: more than there are kinds, and odd, so that each kind has its every fourth
/// number, which deletes switches.
const APART: u64 = 101;

struct Words {
    corewise: PathBuf,
    set: Set,
    seeds: u64,
    healthy: u64,
    from: u64,
    only: Option<String>,
    keep: Option<PathBuf>,
}

/// A finding above `low`.
struct Finding {
    rule: String,
    recoverable_ns: i64,
    range_ns: [i64; 2],
}

fn main() -> ExitCode {
    match words().and_then(|words| judge(&words)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn words() -> Result<Words, String> {
    let mut words = Words {
        corewise: PathBuf::from("target/release/corewise"),
        set: Set::Training,
        seeds: 50,
        healthy: 200,
        from: 0,
        only: None,
        keep: None,
    };
    let mut given = std::env::args().skip(1);
    while let Some(word) = given.next() {
        let value = given.next().ok_or_else(|| format!("{word} wants a value"))?;
        let number = || value.parse().map_err(|_| format!("{word} wants a number, not {value}"));
        match word.as_str() {
            "--corewise" => words.corewise = value.into(),
            "--only" if KINDS.iter().any(|k| k.rule == value) => words.only = Some(value),
            "--keep" => words.keep = Some(value.into()),
            "--seeds" => words.seeds = number()?,
            "--healthy" => words.healthy = number()?,
            "--from" => words.from = number()?,
            "--set" if value == "training" => words.set = Set::Training,
            "--set" if value == "reported" => words.set = Set::Reported,
            _ => return Err(format!("{word} {value}: no such word; the head of this example lists them")),
        }
    }
    Ok(words)
}

/// What was said of the traces of one kind.
#[derive(Default)]
struct Score {
    /// How often which rule stood at the top.
    tops: BTreeMap<String, u64>,
    /// Where it was the right one: by which part of what was injected its milliseconds were too many.
    errors: Vec<f64>,
    /// How often what was injected lay in the range.
    in_range: u64,
    slight: u64,
    quiet: u64,
}

fn judge(words: &Words) -> Result<(), String> {
    let mut scores: BTreeMap<&str, Score> = BTreeMap::new();
    let wanted = |rule: &str| words.only.as_ref().is_none_or(|only| only == rule);
    for (n, kind) in KINDS.iter().enumerate().filter(|(_, kind)| wanted(kind.rule)) {
        for seed in words.from..words.from + words.seeds {
            // Company that some faults need is drawn for the first kind, so the second is one that needs none.
            let second = (seed % 5 == 4).then(|| KINDS.iter().find(|k| k.rule == "chunks-too-large")).flatten();
            let two: Vec<&Kind> = std::iter::once(kind).chain(second.filter(|s| s.fault != kind.fault)).collect();
            let number = seed * APART + n as u64;
            let drawn = draw(&two, Dose::Full, words.set, number)?;
            let found = diagnosed(words, &drawn, &format!("{}-{seed}", kind.rule))?;
            let truth = drawn.truths.first().ok_or("a fault without a truth")?;
            let top = found.first().map_or("nothing", |f| f.rule.as_str());
            let score = scores.entry(truth.rule).or_default();
            *score.tops.entry(top.to_owned()).or_default() += 1;
            if let Some(found) = found.first().filter(|f| f.rule == truth.rule) {
                let injected = truth.injected_ns;
                score.errors.push((found.recoverable_ns - injected) as f64 / injected.max(1) as f64);
                let [least, most] = found.range_ns;
                score.in_range += u64::from((least..=most).contains(&injected));
            }
            let drawn = draw(&[kind], Dose::Slight, words.set, number)?;
            // What one frame costs is a matter of the kind: only what is little of the trace must be passed over.
            if drawn.truths.iter().all(|t| t.injected_ns * SLIGHT < drawn.span_ns) {
                let found = diagnosed(words, &drawn, &format!("{}-{seed}-slight", kind.rule))?;
                let score = scores.entry(kind.rule).or_default();
                score.slight += 1;
                score.quiet += u64::from(!found.iter().any(|f| f.rule == kind.rule));
            }
        }
    }
    print(scores);
    let mut alarms: BTreeMap<String, u64> = BTreeMap::new();
    let mut false_alarms = 0;
    for seed in words.from..words.from + words.healthy {
        let found = diagnosed(words, &draw(&[], Dose::Full, words.set, seed)?, &format!("healthy-{seed}"))?;
        false_alarms += u64::from(!found.is_empty());
        found.into_iter().for_each(|f| *alarms.entry(f.rule).or_default() += 1);
    }
    println!("healthy traces with a finding: {false_alarms} of {} {alarms:?}", words.healthy);
    Ok(())
}

/// A row for each truth: how often which rule stood at the top, and how far off its milliseconds were where it was right.
fn print(scores: BTreeMap<&str, Score>) {
    println!(
        "| injected | at the top | error: 10th, 50th, 90th percentile | within 15 % | in its range | slight passed over |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    let (mut all, mut right, mut slight, mut quiet, mut held, mut errors) = (0, 0, 0, 0, 0, Vec::new());
    for (truth, mut score) in scores {
        let mut tops: Vec<(&String, &u64)> = score.tops.iter().collect();
        tops.sort_by_key(|(rule, n)| (std::cmp::Reverse(**n), (*rule).clone()));
        let row: Vec<String> = tops.iter().map(|(rule, n)| format!("{rule} {n}")).collect();
        score.errors.sort_by(f64::total_cmp);
        let off = [10, 50, 90].map(|percent| match score.errors.len() {
            0 => "-".to_owned(),
            n => format!("{:+.0} %", score.errors[(n - 1) * percent / 100] * 100.0),
        });
        let n = score.errors.len();
        let (in_range, within) = (score.in_range, within(&score.errors));
        let row = format!("{truth} | {} | {} | {within} of {n} | {in_range} of {n}", row.join(", "), off.join(", "));
        println!("| {row} | {} of {} |", score.quiet, score.slight);
        all += score.tops.values().sum::<u64>();
        right += score.tops.get(truth).copied().unwrap_or(0);
        (slight, quiet, held) = (slight + score.slight, quiet + score.quiet, held + in_range);
        errors.extend(score.errors.iter().map(|e| e.abs()));
    }
    println!("\ntop finding right: {right} of {all}");
    errors.sort_by(f64::total_cmp);
    if let Some(median) = errors.get(errors.len() / 2) {
        let (n, within) = (errors.len(), within(&errors));
        println!("milliseconds, where right: median error {:.1} %, within 15 %: {within} of {n}", median * 100.0);
        println!("truth within the printed range: {held} of {n}");
    }
    println!("slight faults passed over: {quiet} of {slight}");
}

fn within(errors: &[f64]) -> usize {
    errors.iter().filter(|e| e.abs() <= 0.15).count()
}

/// What corewise finds in a trace, the first at the top.
fn diagnosed(words: &Words, drawn: &Drawn, name: &str) -> Result<Vec<Finding>, String> {
    let temporary = tempfile::tempdir().map_err(|e| format!("no temporary folder: {e}"))?;
    let folder = words.keep.as_deref().unwrap_or(temporary.path()).join(format!("{name}.cw"));
    write(drawn, &folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    if words.keep.is_some() {
        let truths: Vec<Value> = drawn.truths.iter().map(truth).collect();
        let path = folder.with_extension("json");
        std::fs::write(&path, json!({ "truths": truths, "deleted": drawn.deleted }).to_string())
            .map_err(|e| format!("{}: {e}", path.display()))?;
    }
    asked(&words.corewise, &folder)
}

fn truth(t: &faults::Truth) -> Value {
    let threads: Vec<i32> = t.threads.iter().map(|tid| tid.0).collect();
    json!({ "rule": t.rule, "threads": threads, "injected_ns": t.injected_ns, "start_ns": t.span_ns.0, "end_ns": t.span_ns.1 })
}

fn asked(corewise: &Path, folder: &Path) -> Result<Vec<Finding>, String> {
    let done = Command::new(corewise).arg("diagnose").arg(folder).args(["--format", "json"]).output();
    let done = done.map_err(|e| format!("{}: {e}", corewise.display()))?;
    if !done.status.success() {
        return Err(format!("{} diagnose: {}", corewise.display(), String::from_utf8_lossy(&done.stderr)));
    }
    let told: Value = serde_json::from_slice(&done.stdout).map_err(|e| format!("diagnose printed no JSON: {e}"))?;
    let findings = told["findings"].as_array().ok_or("diagnose printed no findings")?;
    let above_low = findings.iter().filter(|f| f["severity"] != "low");
    Ok(above_low
        .map(|f| Finding {
            rule: f["rule"].as_str().unwrap_or("unnamed").to_owned(),
            recoverable_ns: f["recoverable_ns"].as_i64().unwrap_or(0),
            range_ns: [0, 1].map(|end| f["range_ns"][end].as_i64().unwrap_or(0)),
        })
        .collect())
}
