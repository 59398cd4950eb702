//! Opens and measures the runs of both sides, several at the same time.

use crate::measure::{self, MeasureOptions};
use crate::{NotComparable, Run};
use engine::{PassOptions, Redact, Session};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// More runs at the same time would only take more memory.
const MAX_THREADS: usize = 8;

/// The runs of one path, or why it cannot be read.
type Measured = Result<Vec<Run>, String>;

/// The measured runs of both sides.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Sides {
    /// The runs of A and of B.
    pub runs: [Vec<Run>; 2],
    /// The runs that were left out, and why: a sentence each.
    pub left_out: Vec<String>,
}

/// Measures the runs of both sides. A run that cannot be read is left out; of pairs, the other one too. `each` is called after each run with
/// the number of those that are done.
///
/// # Errors
/// No run of a side can be read, or a printed table has several runs and none is named.
pub fn measure(
    paths: [&[PathBuf]; 2],
    pass: &PassOptions,
    options: &MeasureOptions,
    paired: bool,
    each: &(dyn Fn(usize) + Sync),
) -> Result<Sides, NotComparable> {
    let all: Vec<&PathBuf> = paths.iter().flat_map(|side| side.iter()).collect();
    let results = measured(&all, pass, options, each);
    let (a, b) = results.split_at(paths[0].len());
    chosen([a, b], paired)
}

/// Measures any number of runs; those that cannot be read are left out. `each` is called as by [`measure()`].
///
/// # Errors
/// No run can be read, or a printed table has several runs and none is named.
pub fn measure_all(
    paths: &[PathBuf],
    pass: &PassOptions,
    options: &MeasureOptions,
    each: &(dyn Fn(usize) + Sync),
) -> Result<(Vec<Run>, Vec<String>), NotComparable> {
    let (mut runs, mut left_out) = (Vec::new(), Vec::new());
    for of in measured(&paths.iter().collect::<Vec<_>>(), pass, options, each) {
        match of {
            Ok(of) => runs.extend(of),
            Err(why) => left_out.push(format!("Left out: {why}")),
        }
    }
    if runs.is_empty() {
        return Err(NotComparable(format!("no run can be read. {}", left_out.join(" "))));
    }
    Ok((runs, left_out))
}

/// Measures the runs of each path, several at the same time.
fn measured(
    all: &[&PathBuf],
    pass: &PassOptions,
    options: &MeasureOptions,
    each: &(dyn Fn(usize) + Sync),
) -> Vec<Measured> {
    let measured: Vec<Mutex<Option<Measured>>> = all.iter().map(|_| Mutex::new(None)).collect();
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let threads = match options.redaction {
        // What stands for a name follows from the order in which names are read.
        Some(_) => 1,
        None => std::thread::available_parallelism().map_or(1, usize::from).min(all.len()).min(MAX_THREADS),
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let (Some(path), Some(slot)) = (all.get(at), measured.get(at)) else { return };
                    let run = one(path, at + 1, pass, options);
                    if let Ok(mut slot) = slot.lock() {
                        *slot = Some(run);
                    }
                    each(done.fetch_add(1, Ordering::Relaxed) + 1);
                }
            });
        }
    });
    let results = measured.into_iter().map(|slot| {
        slot.into_inner().ok().flatten().unwrap_or_else(|| Err("reading it ended unexpectedly".to_owned()))
    });
    results.collect()
}

/// The runs that can be compared.
fn chosen(sides: [&[Measured]; 2], paired: bool) -> Result<Sides, NotComparable> {
    let mut of = Sides::default();
    for (side, runs) in sides.iter().enumerate() {
        for (at, run) in runs.iter().enumerate() {
            match run {
                Err(why) => of.left_out.push(format!("Left out: {why}")),
                Ok(runs) if paired && sides[1 - side].get(at).is_none_or(Result::is_err) => {
                    of.left_out.extend(runs.iter().map(|run| format!("Left out with its pair: {}.", run.path)));
                }
                Ok(runs) => of.runs[side].extend(runs.iter().cloned()),
            }
        }
    }
    if of.runs.iter().any(Vec::is_empty) {
        return Err(NotComparable(format!("no run of a side can be read. {}", of.left_out.join(" "))));
    }
    Ok(of)
}

/// How a run is called in a redacted comparison, whose paths are not shown.
#[must_use]
pub fn redacted_path(number: usize) -> String {
    format!("run {number}")
}

/// Measures the run of a path, or the runs of a printed table.
fn one(path: &Path, number: usize, pass: &PassOptions, options: &MeasureOptions) -> Measured {
    let Some(redaction) = &options.redaction else { return shown(path, &path.display().to_string(), pass, options) };
    let name = redacted_path(number);
    if redaction.level() == Redact::Names && measure::printed::read(path).is_ok_and(|runs| runs.is_some()) {
        return Err(format!(
            "{name}: a printed table has the names that its tool printed: --redact=names is for recordings"
        ));
    }
    // The message of an error has the path.
    let mut runs = shown(path, &name, pass, options).map_err(|_| format!("{name}: it cannot be read"))?;
    runs.iter_mut().for_each(|run| run.path.clone_from(&name));
    Ok(runs)
}

fn shown(path: &Path, name: &str, pass: &PassOptions, options: &MeasureOptions) -> Measured {
    let failed = |why: String| sentence(&why, name);
    if let Some(runs) = measure::printed::read(path).map_err(|why| failed(why.to_string()))? {
        return Ok(runs.into_iter().map(|(_, run)| with_sums(run)).collect());
    }
    let mut session =
        Session::open(path, PassOptions { keep: true, ..pass.clone() }).map_err(|why| failed(why.to_string()))?;
    if let Some(redaction) = &options.redaction {
        session.redact_as(Arc::clone(redaction));
    }
    let process = options.process.as_deref().map(|process| session.shown_process(process));
    let run = if session.summary().is_of_frames() {
        measure::frames::of_frames(&session, process.as_deref())
    } else {
        measure::recording(&session, name, options)
    };
    run.map(|run| vec![run]).map_err(|why| failed(why.to_string()))
}

/// A table of threads without a value of the whole run is judged by the sums of its rows.
fn with_sums(mut run: Run) -> Run {
    const SUMMED: [&str; 6] = ["ready_ns", "running_ns", "blocked_ns", "switches", "involuntary", "voluntary"];
    for id in SUMMED {
        let of_rows: Vec<f64> = run.rows.values().filter_map(|values| values.get(id).copied()).collect();
        if !of_rows.is_empty() && !run.values.contains_key(id) {
            run.values.insert(id.to_owned(), of_rows.iter().sum());
        }
    }
    run
}

/// An error that names its file.
fn sentence(why: &str, path: &str) -> String {
    if why.contains(path) { why.to_owned() } else { format!("{path}: {why}") }
}
