//! `corewise import`: converts files of other tools to a trace folder.

use crate::args::{Global, signed_duration};
use crate::failure::{Failure, OK};
use crate::folder_name;
use crate::heap;
use crate::output::{print, say};
use crate::progress::{Line, show_import};
use engine::{EngineError, JoinedPart, JoinedSource, Labels, Source, Target, edited_labels, open_source, write_labels};
use model::Ns;
use model::words::{TIE, plural};
use std::path::PathBuf;

const AFTER: &str = "\
Examples:
  corewise import perf.data -o run.cw
  corewise import trace.html.gz -o run.cw
  perf record -o - -a -e 'sched:*' -- sleep 5 | corewise import - -o run.cw
  corewise import perf.data marks.pftrace --offset=-1.5ms -o run.cw

Formats are recognised by their content, packed (gzip, zstd, zip, tar) or not: see `corewise formats`. Existing files are never \
overwritten. Labels that were edited (`corewise label`) are taken along. With several sources, context switches, idle states, frequencies and interrupts each come from the first source that \
has them; marks, values, frames and names come from all. Events, stretches and tables are stored as Parquet; see `corewise tables`.";

/// Convert recordings of other tools to a trace folder
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// The file or folder to import; - is standard input. Several files must be recordings of the same run
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Time to add to the second source (then the third, …) to match the clock of the first, such as -1.5ms [default: 0; the clocks must then be the same]
    #[arg(long, value_name = "TIME", value_parser = signed_duration, allow_hyphen_values = true)]
    offset: Vec<Ns>,
    /// The new trace folder [default: corewise-DATE-TIME.cw]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Let all users of this machine read the folder [default: only you; folder 0700, files 0600]
    #[arg(long)]
    shared: bool,
}

/// Runs the command.
///
/// # Errors
/// A file cannot be read, or the folder cannot be written.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    let options = global.pass_options()?;
    let source = open(args)?;
    let labels = labels(&args.files)?;
    use_batch_scheduling();
    heap::share_and_keep();
    let dir = args.output.clone().unwrap_or_else(|| folder_name::new("corewise"));
    let mut line = Line::new();
    let target = if args.shared { Target::Shared(&dir) } else { Target::New(&dir) };
    let accounted = engine::import(source.as_ref(), target, &options, &mut |p| show_import(&mut line, p))?;
    drop(line);
    if !labels.is_empty() {
        write_labels(&dir, &labels).map_err(EngineError::from)?;
    }
    if let Some(stopped) = &accounted.ingested.ending.stopped {
        let path = source.path().display();
        say(&format!("corewise: {path}: reading stopped early: {stopped}; everything before that was imported"));
    }
    let (totals, seconds) = (&accounted.totals, accounted.totals.end.0 as f64 / 1e9);
    let dir = dir.display();
    let count = |n: u64, word| plural(n, word).replace(TIE, " ");
    let frames = if totals.frames > 0 { format!("{}, ", count(totals.frames, "frame")) } else { String::new() };
    print(&format!(
        "{dir}: {}, {seconds:.3} s, {frames}{} on {}, from {}\nnext: corewise report {dir}, corewise diagnose {dir}\n",
        count(totals.events, "event"),
        count(totals.threads.len(), "thread"),
        count(totals.cpus.len() as u64, "CPU"),
        accounted.facts.format
    ))?;
    Ok(OK)
}

/// The edited labels of the files; of several with the same key, that of the first.
fn labels(files: &[PathBuf]) -> Result<Labels, Failure> {
    let mut all = Labels::new();
    for file in files.iter().filter(|file| file.as_os_str() != "-").rev() {
        all.extend(edited_labels(file).map_err(EngineError::from)?.unwrap_or_default());
    }
    Ok(all)
}

/// Sets the batch scheduling policy. Threads that pass batches to each other are woken for each batch; with this policy, a woken thread
/// does not preempt the running one. If the kernel refuses, an import takes slightly longer.
fn use_batch_scheduling() {
    let param = libc::sched_param { sched_priority: 0 };
    // SAFETY: applies to this thread, and new threads inherit it; the parameter outlives the call.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const param) };
}

fn open(args: &Args) -> Result<Box<dyn Source>, Failure> {
    for file in &args.files {
        let shown = file.display();
        if file.join("manifest.json").is_file() {
            let why = "is already a trace folder of corewise, there is nothing to import";
            return Err(Failure::usage(format!(
                "{shown}: {why}: use `corewise report {shown}` or `corewise view {shown}`"
            )));
        }
        if file.join(capture::SPOOL).is_dir() {
            let why = "has the spool of an unfinished recording";
            return Err(Failure::usage(format!("{shown}: {why}: run `corewise recover {shown}`")));
        }
    }
    if let [one] = args.files.as_slice() {
        if !args.offset.is_empty() {
            return Err(Failure::usage("--offset needs a second source, but only one was given"));
        }
        return Ok(open_source(one)?);
    }
    if args.offset.len() >= args.files.len() {
        return Err(Failure::usage("too many --offset options: give at most one for each source after the first"));
    }
    // The first source defines the clock and has no offset.
    let offsets = std::iter::once(None).chain(args.offset.iter().copied().map(Some)).chain(std::iter::repeat(None));
    let parts =
        args.files.iter().zip(offsets).map(|(file, offset)| Ok(JoinedPart { source: open_source(file)?, offset }));
    Ok(Box::new(JoinedSource::new(parts.collect::<Result<_, Failure>>()?)?))
}
