//! Measures `corewise diagnose`: `confusion --corewise PATH [--set training|reported] [--seeds 50] [--healthy 200]
//! [--from 0] [--only RULE] [--marks yes|no] [--keep DIR]`.
//!
//! Draws each kind of fault with the given number of seeds, every fifth with a second fault in other frames, runs `corewise diagnose
//! --format json` on each trace, and prints which rule was the top finding, how far its milliseconds were from the injected ones, how
//! many healthy traces had a finding, how many slight faults were not reported, and in how many traces with the fault fixed it was still
//! reported. Only findings above `low` count. Lists the wrong ones on standard error. Traces are written one at a time, and kept only with
//! `--keep`, each with a file of its truth. `--marks no` leaves out the marks of frames and pieces.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use faults::kinds::{Fault, KINDS, Kind};
use faults::{Dose, Drawn, Set, draw, write};
use model::EventKind;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// A fault is slight if it costs less than 1/`SLIGHT` of the trace.
const SLIGHT: i64 = 200;

/// Distance of the numbers with which a kind is drawn: more than there are kinds, and an odd number, so that each kind has its share of
/// every fourth number, in which switches are deleted.
const SEED_STEP: u64 = 101;

struct Options {
    corewise: PathBuf,
    set: Set,
    seeds: u64,
    healthy: u64,
    from: u64,
    only: Option<String>,
    marks: bool,
    keep: Option<PathBuf>,
}

/// A finding above `low`.
struct Finding {
    rule: String,
    recoverable_ns: i64,
    range_ns: [i64; 2],
}

fn main() -> ExitCode {
    match parse_options().and_then(|options| measure(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn parse_options() -> Result<Options, String> {
    let mut options = Options {
        corewise: PathBuf::from("target/release/corewise"),
        set: Set::Training,
        seeds: 50,
        healthy: 200,
        from: 0,
        only: None,
        marks: true,
        keep: None,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(word) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{word} needs a value"))?;
        let number = || value.parse().map_err(|_| format!("{word} needs a number, not {value}"));
        match word.as_str() {
            "--corewise" => options.corewise = value.into(),
            "--only" if KINDS.iter().any(|k| k.rule == value) => options.only = Some(value),
            "--marks" if ["yes", "no"].contains(&&*value) => options.marks = value == "yes",
            "--keep" => options.keep = Some(value.into()),
            "--seeds" => options.seeds = number()?,
            "--healthy" => options.healthy = number()?,
            "--from" => options.from = number()?,
            "--set" if value == "training" => options.set = Set::Training,
            "--set" if value == "reported" => options.set = Set::Reported,
            _ => {
                return Err(format!(
                    "unknown option {word} {value}: the comment at the top of this example lists the options"
                ));
            }
        }
    }
    Ok(options)
}

/// The results for the traces of one kind.
#[derive(Default)]
struct Score {
    /// How often each rule was the top finding.
    tops: BTreeMap<String, u64>,
    /// The relative errors of the milliseconds of correct top findings.
    errors: Vec<f64>,
    /// How often the injected time was in the range.
    in_range: u64,
    right: u64,
    slight: u64,
    quiet: u64,
    /// Traces with the fault fixed, how many of them are accused of it, and the rules reported for them.
    fixed: u64,
    accused: u64,
    others: BTreeMap<String, u64>,
}

fn measure(options: &Options) -> Result<(), String> {
    let mut scores: BTreeMap<&str, Score> = BTreeMap::new();
    let wanted = |rule: &str| options.only.as_ref().is_none_or(|only| only == rule);
    for (n, kind) in KINDS.iter().enumerate().filter(|(_, kind)| wanted(kind.rule)) {
        for seed in options.from..options.from + options.seeds {
            // Additional threads are drawn for the first kind only, so the second must not need any.
            let second = (seed % 5 == 4).then(|| KINDS.iter().find(|k| k.fault == Fault::LargeChunks)).flatten();
            let fits = |s: &&Kind| s.fault != kind.fault && s.fault.shape() == kind.fault.shape();
            let two: Vec<&Kind> = std::iter::once(kind).chain(second.filter(fits)).collect();
            let number = seed * SEED_STEP + n as u64;
            let drawn = draw(&two, Dose::Full, options.set, number)?;
            let found = diagnosed(options, &drawn, &format!("{}-{seed}", kind.rule))?;
            let truth = drawn.truths.first().ok_or("a fault without a truth")?;
            let top = found.first().map_or("nothing", |f| f.rule.as_str());
            let score = scores.entry(truth.rule).or_default();
            *score.tops.entry(top.to_owned()).or_default() += 1;
            if let Some(found) = found.first().filter(|f| f.rule == truth.rule || truth.or == Some(f.rule.as_str())) {
                score.right += 1;
                let injected = truth.injected_ns;
                score.errors.push((found.recoverable_ns - injected) as f64 / injected.max(1) as f64);
                let [min, max] = found.range_ns;
                score.in_range += u64::from((min..=max).contains(&injected));
            } else {
                let (ms, of) = (truth.injected_ns / 1_000_000, drawn.span_ns / 1_000_000);
                eprintln!("{}-{seed}: {top}, not {}, {ms} of {of} ms", kind.rule, truth.rule);
            }
            if two.len() == 1 {
                let drawn = Drawn { batch: drawn.fixed.clone(), truths: Vec::new(), ..drawn };
                let found = diagnosed(options, &drawn, &format!("{}-{seed}-fixed", kind.rule))?;
                let score = scores.entry(kind.rule).or_default();
                score.fixed += 1;
                score.accused += u64::from(found.iter().any(|f| kind.is_found_by(&f.rule)));
                found.into_iter().for_each(|f| *score.others.entry(f.rule).or_default() += 1);
            }
            let drawn = draw(&[kind], Dose::Slight, options.set, number)?;
            // The cost of one frame depends on the kind. Only a fault that is a small part of the trace must not be reported.
            if drawn.truths.iter().all(|t| t.injected_ns * SLIGHT < drawn.span_ns) {
                let found = diagnosed(options, &drawn, &format!("{}-{seed}-slight", kind.rule))?;
                let score = scores.entry(kind.rule).or_default();
                score.slight += 1;
                score.quiet += u64::from(!found.iter().any(|f| kind.is_found_by(&f.rule)));
            }
        }
    }
    print(scores);
    let mut alarms: BTreeMap<String, u64> = BTreeMap::new();
    let mut false_alarms = 0;
    for seed in options.from..options.from + options.healthy {
        let found = diagnosed(options, &draw(&[], Dose::Full, options.set, seed)?, &format!("healthy-{seed}"))?;
        false_alarms += u64::from(!found.is_empty());
        found.iter().for_each(|f| eprintln!("healthy-{seed}: {}", f.rule));
        found.into_iter().for_each(|f| *alarms.entry(f.rule).or_default() += 1);
    }
    println!("healthy traces with a finding: {false_alarms} of {} {alarms:?}", options.healthy);
    Ok(())
}

/// Prints a row for each truth: how often each rule was the top finding, the error of the milliseconds if it was correct, and which rules
/// found something in the traces with the fault fixed.
fn print(scores: BTreeMap<&str, Score>) {
    println!(
        "| injected | top finding | error: 10th, 50th, 90th percentile | within 15 % | in range | slight not reported | fixed accused |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let (mut all, mut right, mut slight, mut quiet, mut all_in_range, mut errors) = (0, 0, 0, 0, 0, Vec::new());
    let (mut fixed, mut accused) = (0, 0);
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
        let others = if score.others.is_empty() { String::new() } else { format!(" {:?}", score.others) };
        println!("| {row} | {} of {} | {} of {}{others} |", score.quiet, score.slight, score.accused, score.fixed);
        all += score.tops.values().sum::<u64>();
        right += score.right;
        (fixed, accused) = (fixed + score.fixed, accused + score.accused);
        (slight, quiet, all_in_range) = (slight + score.slight, quiet + score.quiet, all_in_range + in_range);
        errors.extend(score.errors.iter().map(|e| e.abs()));
    }
    println!("\ncorrect top findings: {right} of {all}");
    errors.sort_by(f64::total_cmp);
    if let Some(median) = errors.get(errors.len() / 2) {
        let (n, within) = (errors.len(), within(&errors));
        println!(
            "milliseconds of correct findings: median error {:.1} %, within 15 %: {within} of {n}",
            median * 100.0
        );
        println!("truth within the printed range: {all_in_range} of {n}");
    }
    println!("slight faults not reported: {quiet} of {slight}");
    println!("accused with the fault fixed: {accused} of {fixed}");
}

fn within(errors: &[f64]) -> usize {
    errors.iter().filter(|e| e.abs() <= 0.15).count()
}

/// Returns the findings of corewise in a trace, the top finding first.
fn diagnosed(options: &Options, drawn: &Drawn, name: &str) -> Result<Vec<Finding>, String> {
    let temporary = tempfile::tempdir().map_err(|e| format!("cannot create a temporary folder: {e}"))?;
    let folder = options.keep.as_deref().unwrap_or(temporary.path()).join(format!("{name}.cw"));
    let mut drawn = drawn.clone();
    if !options.marks {
        drawn.batch.events.retain(|event| !matches!(event.what, EventKind::Mark(_)));
    }
    write(&drawn, &folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    if options.keep.is_some() {
        let truths: Vec<Value> = drawn.truths.iter().map(truth).collect();
        let path = folder.with_extension("json");
        std::fs::write(&path, json!({ "truths": truths, "deleted": drawn.deleted }).to_string())
            .map_err(|e| format!("{}: {e}", path.display()))?;
    }
    run_diagnose(&options.corewise, &folder)
}

fn truth(t: &faults::Truth) -> Value {
    let threads: Vec<i32> = t.threads.iter().map(|tid| tid.0).collect();
    json!({ "rule": t.rule, "threads": threads, "injected_ns": t.injected_ns, "start_ns": t.span_ns.0, "end_ns": t.span_ns.1 })
}

fn run_diagnose(corewise: &Path, folder: &Path) -> Result<Vec<Finding>, String> {
    let done = Command::new(corewise).arg("diagnose").arg(folder).args(["--format", "json"]).output();
    let done = done.map_err(|e| format!("cannot run {}: {e}", corewise.display()))?;
    if !done.status.success() {
        return Err(format!("{} diagnose: {}", corewise.display(), String::from_utf8_lossy(&done.stderr)));
    }
    let output: Value =
        serde_json::from_slice(&done.stdout).map_err(|e| format!("diagnose printed invalid JSON: {e}"))?;
    let findings = output["findings"].as_array().ok_or("the output of diagnose has no findings")?;
    let above_low = findings.iter().filter(|f| f["severity"] != "low");
    Ok(above_low
        .map(|f| Finding {
            rule: f["rule"].as_str().unwrap_or("unnamed").to_owned(),
            recoverable_ns: f["recoverable_ns"].as_i64().unwrap_or(0),
            range_ns: [0, 1].map(|end| f["range_ns"][end].as_i64().unwrap_or(0)),
        })
        .collect())
}
