//! `corewise compare`: what changed from one set of runs to another, and why.

use crate::args::{Global, Redacted};
use crate::failure::{FOUND, Failure, OK};
use crate::output::{print, say, width, write_page};
use crate::progress::Line;
use clap::ValueEnum;
use compare::ab::AbFolder;
use compare::{Checked, CompareOptions, Comparison, FailOn, Lanes, Matrix, MeasureOptions, Work};
use diagnose::Target;
use engine::Redaction;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

const AFTER: &str = "\
Examples:
  corewise compare before.cw after.cw
  corewise compare a-*.cw -- b-*.cw
  corewise compare ab-2026-11-26                   a folder that `corewise ab` made
  corewise compare a-*.cw -- b-*.cw --format html -o compare.html
  corewise compare a-*.cw -- b-*.cw --objective frame.p99 --fail-on 'frame.p99 > +3%'
  corewise compare base.csv new.csv                two frame logs, or two tables of perf stat
  corewise compare totals.csv#before totals.csv#after
  corewise compare --by os,plug *.cw               all sides next to each other, by the labels of `record --label os=new`

The first line is the answer: B is faster or slower than A by how much, the same, or unknown. With several runs a side, the run is the unit, and the \
interval needs no assumption from 4 runs a side on (6 pairs). With one run a side, only frames, periods or requests within the runs have an interval. \
Then follow what explains the change along the critical path, and all metrics that changed, of the program and of each role of threads. \
Metrics are named by their id, as in --format json (docs/compare.md): elapsed, frame.p99, running, ready, involuntary; of a role, Worker/ready.";

/// The option that stands for `--` between the two sides.
pub const SECOND_SIDE: &str = "with";

/// Compare recordings: what changed, by how much, and why
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER, override_usage = "corewise compare [OPTIONS] <A> <B>\n       corewise compare [OPTIONS] <A>... -- <B>...\n       corewise compare [OPTIONS] <FOLDER OF AB>")]
pub struct Args {
    /// Two runs, or the runs of A, before `--`: trace folders or files of other tools; or one folder of `corewise ab`. TABLE#RUN names a run of a
    /// printed table with several
    #[arg(required = true, value_name = "A")]
    a: Vec<PathBuf>,
    // `--`, which [`super::arguments`] replaces, so that options may follow.
    #[arg(long = SECOND_SIDE, value_name = "B", num_args = 1.., hide = true)]
    b: Vec<PathBuf>,
    /// What the program is judged by: a metric (elapsed, frame.p99, …), or as in `diagnose` end, period:THREAD, requests:THREAD or marks:NAME. By
    /// default, what the recordings show
    #[arg(long, value_name = "OBJECTIVE")]
    objective: Option<String>,
    /// Sides that differ by less than this are the same
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percent)]
    margin: f64,
    /// Divide totals by the work of a run: a number for both sides, two numbers A,B, or mark:NAME, period:THREAD, request:THREAD to count these
    #[arg(long, value_name = "WORK", value_parser = work)]
    work: Option<Work>,
    /// Threads of A that have another name on B: OLD=NEW, each PROCESS/THREAD or THREAD; may be repeated
    #[arg(long, value_name = "OLD=NEW", value_parser = pair)]
    map: Vec<(String, String)>,
    /// The first run of A and the first of B were made as a pair, and so on. Recordings made in turn, six a side or more, are paired without this
    #[arg(long)]
    paired: bool,
    /// Compare runs without pairs, even if they were recorded in turn
    #[arg(long, conflicts_with = "paired")]
    unpaired: bool,
    /// Compare recordings of unlike machines
    #[arg(long)]
    across: bool,
    /// Of frame logs: the process whose frames are compared, by name or PID
    #[arg(long, value_name = "PROCESS")]
    process: Option<String>,
    /// Of printed counters: the CPUs per core in use on each side (1: SMT is off), to compare what whole cores did
    #[arg(long, value_name = "A,B", value_parser = siblings)]
    siblings: Option<[usize; 2]>,
    /// Show any number of sides next to each other, with pictures in a page: runs with the same values of these labels (`record --label`) are one
    /// side, and so is each run of a printed table. Nothing is judged
    #[arg(long, value_name = "LABEL,LABEL", value_delimiter = ',', conflicts_with_all = ["b", "paired", "unpaired", "fail_on", "names"])]
    by: Vec<String>,
    /// Also compare the findings of `diagnose`, which takes longer
    #[arg(long)]
    findings: bool,
    /// Names of the two sides
    #[arg(long, value_name = "A,B", value_delimiter = ',', num_args = 1)]
    names: Vec<String>,
    /// Leave out paths, command lines, host names, labels and addresses, so that the output can be passed on. --redact=names also replaces names of
    /// threads, processes, functions and marks by others, such as `thread A`; options that name them then take these (docs/security.md)
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "private", hide_possible_values = true, conflicts_with = "by")]
    redact: Option<Redacted>,
    /// Output format: text, markdown for a pull request, html (one page), or json for scripts (docs/compare.md)
    #[arg(long, default_value = "text")]
    format: Form,
    /// Write to this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Exit with code 4 if a metric changed by more than this: 'frame.p99 > +3%', 'elapsed > +20ms', 'Worker/ready > +10%'; may be repeated
    #[arg(long, value_name = "CONDITION")]
    fail_on: Vec<FailOn>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    Text,
    Markdown,
    Html,
    Json,
}

fn percent(text: &str) -> Result<f64, String> {
    let number: f64 =
        text.trim_end_matches('%').trim().parse().map_err(|_| format!("{text}: expected a percentage, such as 5%"))?;
    if number > 0.0 && number < 100.0 {
        Ok(number / 100.0)
    } else {
        Err(format!("{text}: expected more than 0% and less than 100%"))
    }
}

fn work(text: &str) -> Result<Work, String> {
    if text.contains(':') || text == "frame" {
        return Ok(Work::Series(text.to_owned()));
    }
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|of| of.trim().parse::<f64>()).collect();
    match numbers.as_deref() {
        Ok([both]) if *both > 0.0 => Ok(Work::Units([*both; 2])),
        Ok([a, b]) if *a > 0.0 && *b > 0.0 => Ok(Work::Units([*a, *b])),
        _ => Err(format!(
            "{text}: expected a number above 0, two numbers A,B, or mark:NAME, period:THREAD, request:THREAD"
        )),
    }
}

fn siblings(text: &str) -> Result<[usize; 2], String> {
    let numbers: Option<Vec<usize>> = text.split(',').map(|of| of.trim().parse().ok()).collect();
    match numbers.as_deref() {
        Some([a, b]) if (1..=8).contains(a) && (1..=8).contains(b) => Ok([*a, *b]),
        _ => Err(format!("{text}: expected two numbers of CPUs per core, such as 1,2")),
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (old, new) = text.split_once('=').ok_or_else(|| format!("{text}: expected OLD=NEW"))?;
    Ok((old.to_owned(), new.to_owned()))
}

/// What is compared.
struct Request {
    paths: [Vec<PathBuf>; 2],
    /// Whether the runs are pairs; `None`: if they were recorded in turn.
    paired: Option<bool>,
    names: [String; 2],
    /// What must be known about how the runs were made.
    cautions: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// Nothing can be compared; the message says what to do.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    if let Some(url) = args.a.iter().chain(&args.b).find(|path| stores::is_url(path)) {
        return Err(Failure::not_found(url));
    }
    if !args.by.is_empty() {
        return matrix(args, global);
    }
    let request = request(args)?;
    // An objective of `diagnose` also selects the critical path; any other is a metric.
    let target = args.objective.as_deref().and_then(|of| of.parse::<Target>().ok());
    let redaction = args.redact.map(|what| Arc::new(Redaction::new(what.into())));
    let measured = MeasureOptions { target, process: args.process.clone(), findings: args.findings, redaction };
    let options = CompareOptions {
        names: request.names.clone(),
        margin: args.margin,
        objective: args.objective.clone().filter(|_| measured.target.is_none()),
        work: args.work.clone(),
        map: args.map.clone(),
        across: args.across,
        paired: false,
        siblings: args.siblings.unwrap_or([1, 1]),
    };
    let comparison = compared(&request, &measured, options, global)?;
    let output = match args.format {
        Form::Text => compare::text(&comparison, width()),
        Form::Markdown => compare::markdown(&comparison),
        Form::Html => compare::html(&comparison, timelines(&comparison, &request, global).as_ref()),
        Form::Json => {
            compare::json(&comparison).map_err(|e| Failure::new(format!("cannot write the comparison: {e}")))? + "\n"
        }
    };
    write(args, &output)?;
    failed_on(args, &comparison)
}

fn write(args: &Args, output: &str) -> Result<(), Failure> {
    match &args.output {
        Some(path) => write_page(path, output, "the comparison"),
        None => print(output),
    }
}

/// Shows any number of sides next to each other.
fn matrix(args: &Args, global: &Global) -> Result<u8, Failure> {
    if !matches!(args.format, Form::Text | Form::Html) {
        return Err(Failure::usage("--by: the format is text or html"));
    }
    let line = Mutex::new(Line::new());
    let progress = |done| {
        if let Ok(mut line) = line.lock() {
            line.show(|| format!("Measuring: {done} of {} runs", args.a.len()));
        }
    };
    let (runs, left_out) =
        compare::measure_all(&args.a, &global.pass_options()?, &MeasureOptions::default(), &progress)?;
    drop(line);
    let matrix = Matrix::new(runs, &args.by, left_out)?;
    write(args, &if args.format == Form::Html { matrix.html() } else { matrix.text(width()) })?;
    Ok(OK)
}

/// How busy the CPUs were in the median run of each side; `None` if one is not a recording of threads.
fn timelines(comparison: &Comparison, request: &Request, global: &Global) -> Option<[Lanes; 2]> {
    let lanes = |side: &compare::Side| {
        let path = &side.runs.get(side.median_run?)?.path;
        let given =
            request.paths.iter().flatten().zip(1..).find(|(_, number)| compare::redacted_path(*number) == *path);
        let path = given.map_or(Path::new(path), |(given, _)| given);
        let session = engine::Session::open(path, global.pass_options().ok()?).ok()?;
        report::cpu_timeline(&session).ok()?
    };
    let [a, b] = comparison.sides.each_ref().map(lanes);
    Some([a?, b?])
}

/// Compares the pairs of a folder of `corewise ab`, as text.
///
/// # Errors
/// Nothing can be compared.
pub fn text_of_folder(path: &Path, global: &Global) -> Result<String, Failure> {
    let request = of_folder(path)?;
    let options = CompareOptions { names: request.names.clone(), ..CompareOptions::default() };
    let comparison = compared(&request, &MeasureOptions::default(), options, global)?;
    Ok(compare::text(&comparison, width()))
}

/// Measures the runs and compares them.
fn compared(
    request: &Request,
    measured: &MeasureOptions,
    options: CompareOptions,
    global: &Global,
) -> Result<Comparison, Failure> {
    let (line, all) = (Mutex::new(Line::new()), request.paths.iter().map(Vec::len).sum::<usize>());
    let [a, b] = &request.paths;
    let given_pairs = request.paired == Some(true);
    let mut sides = compare::measure([a, b], &global.pass_options()?, measured, given_pairs, &|done| {
        if let Ok(mut line) = line.lock() {
            line.show(|| format!("Measuring: {done} of {all} runs"));
        }
    })?;
    drop(line);
    let found_pairs = request.paired.is_none() && compare::pair_in_turn(&mut sides.runs);
    let options = CompareOptions { paired: given_pairs || found_pairs, ..options };
    let mut comparison = compare::compare([&sides.runs[0], &sides.runs[1]], &options)?;
    if found_pairs {
        comparison.methods.insert(0, compare::FOUND_PAIRS.to_owned());
    }
    comparison.cautions.splice(0..0, sides.left_out.into_iter().chain(request.cautions.iter().cloned()));
    Ok(comparison)
}

/// The runs of both sides, whether they are pairs, and the names of the sides.
fn request(args: &Args) -> Result<Request, Failure> {
    let names = match &args.names[..] {
        [] => None,
        [a, b] => Some([a.clone(), b.clone()]),
        _ => return Err(Failure::usage("--names: expected two names, A,B")),
    };
    let default = || ["A".to_owned(), "B".to_owned()];
    let of = |a: &[PathBuf], b: &[PathBuf], paired| Request {
        paths: [a.to_vec(), b.to_vec()],
        paired,
        names: names.clone().unwrap_or_else(default),
        cautions: Vec::new(),
    };
    match (&args.a[..], &args.b[..]) {
        ([folder], []) if AbFolder::is_one(folder) => {
            let mut request = of_folder(folder)?;
            if args.redact.is_some() {
                // They may be command lines.
                request.names = default();
            }
            Ok(Request { names: names.unwrap_or(request.names.clone()), paired: Some(!args.unpaired), ..request })
        }
        ([_], []) => Err(Failure::usage(
            "a comparison needs two runs, such as `corewise compare before.cw after.cw`, or a folder of `corewise ab`",
        )),
        ([a, b], []) => Ok(of(std::slice::from_ref(a), std::slice::from_ref(b), None)),
        (_, []) => Err(Failure::usage(
            "with more than two runs, those of B follow after --: corewise compare a-1.cw a-2.cw -- b-1.cw b-2.cw",
        )),
        (a, b) if args.paired && a.len() != b.len() => {
            Err(Failure::usage(format!("--paired: A has {} runs and B has {}", a.len(), b.len())))
        }
        (a, b) if args.paired || args.unpaired => Ok(of(a, b, Some(args.paired))),
        (a, b) => Ok(of(a, b, None)),
    }
}

/// The pairs of a folder of `corewise ab`.
fn of_folder(path: &Path) -> Result<Request, Failure> {
    let folder = AbFolder::read(path).map_err(|e| Failure::new(e.to_string()))?;
    let paths = folder.recordings();
    if paths.iter().any(Vec::is_empty) {
        return Err(Failure::new(format!("{}: it has no complete pair of recordings", path.display())));
    }
    let disturbed: Vec<String> =
        folder.manifest.pairs().iter().filter(|pair| pair.is_disturbed()).map(|pair| pair.number.to_string()).collect();
    let mut cautions = Vec::new();
    if !disturbed.is_empty() {
        cautions.push(format!(
            "Pairs {} were disturbed by steal or other programs, and no repeats were left (ab.json says by what).",
            disturbed.join(", ")
        ));
    }
    let names = folder.manifest.sides.map(|side| side.name);
    Ok(Request { paths, paired: Some(true), names, cautions })
}

/// Checks the conditions of `--fail-on`, and says on standard error what failed.
fn failed_on(args: &Args, comparison: &Comparison) -> Result<u8, Failure> {
    let mut code = OK;
    for condition in &args.fail_on {
        match condition.check(comparison) {
            Checked::Failed(words) => {
                say(&format!("failed: {words}"));
                code = FOUND;
            }
            Checked::Unknown(words) => say(&format!("unknown: {words}")),
            Checked::Passed => {}
        }
    }
    Ok(code)
}
