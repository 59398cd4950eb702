//! `corewise import`: files of other tools become a trace folder.

use crate::args::{Global, signed_duration};
use crate::failure::{Failure, OK};
use crate::folder_name;
use crate::heap;
use crate::output::{print, say};
use crate::progress::{Line, of_import};
use engine::{JoinedSource, Part, Source, Target, open_source};
use model::Ns;
use std::path::PathBuf;

const AFTER: &str = "\
Examples:
  corewise import perf.data -o run.cw
  corewise import trace.html.gz -o run.cw
  perf record -o - -a -e 'sched:*' -- sleep 5 | corewise import - -o run.cw
  corewise import perf.data marks.pftrace --offset=-1.5ms -o run.cw

Formats are known by their content, packed (gzip, zstd, zip, tar) or not: see `corewise formats`. Nothing is overwritten. Of
several sources, the switches, the idle states, the frequencies and the interrupts are each those of the first that has any;
marks, values, frames and names are those of all. Events, stretches and tables are Parquet; see `corewise tables`.";

/// Make a trace folder of what other tools recorded
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// The file or folder; - is standard input. Several: recordings of the same run
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// What to add to the times of the second source, of the third …, to have them on the first one's clock
    #[arg(long, value_name = "TIME", value_parser = signed_duration, allow_hyphen_values = true)]
    offset: Vec<Ns>,
    /// The new trace folder [default: corewise-DATE-TIME.cw]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Let every user of this machine read the folder: it is otherwise yours alone (0700, its files 0600)
    #[arg(long)]
    shared: bool,
}

/// Imports.
///
/// # Errors
/// A file cannot be read, or the folder cannot be written.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    let options = global.pass_options()?;
    let source = open(args)?;
    take_turns();
    heap::share_and_keep();
    let dir = args.output.clone().unwrap_or_else(|| folder_name::new("corewise"));
    let mut line = Line::new();
    let target = if args.shared { Target::Shared(&dir) } else { Target::New(&dir) };
    let accounted = engine::import(source.as_ref(), target, &options, &mut |p| of_import(&mut line, p))?;
    drop(line);
    if let Some(stopped) = &accounted.ingested.ending.stopped {
        let path = source.path().display();
        say(&format!("corewise: {path}: reading stopped early: {stopped}; what came before is imported"));
    }
    let (totals, seconds) = (&accounted.totals, accounted.totals.end.0 as f64 / 1e9);
    let dir = dir.display();
    let frames = if totals.frames > 0 { format!("{} frames, ", totals.frames) } else { String::new() };
    print(&format!(
        "{dir}: {} events, {seconds:.3} s, {frames}{} threads on {} CPUs, from {}\nnext: corewise report {dir}\n",
        totals.events,
        totals.threads.len(),
        totals.cpus.len(),
        accounted.facts.format
    ))?;
    Ok(OK)
}

/// Threads that hand batches to each other are woken for every one; each then waits for its turn, rather than to push another from its
/// CPU. Where the kernel refuses, an import only takes a little longer.
fn take_turns() {
    let param = libc::sched_param { sched_priority: 0 };
    // SAFETY: of this thread, which those it starts take after; the parameter outlives the call.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const param) };
}

fn open(args: &Args) -> Result<Box<dyn Source>, Failure> {
    if let [one] = args.files.as_slice() {
        if !args.offset.is_empty() {
            return Err(Failure::usage("--offset is for a second source; there is only one"));
        }
        return Ok(open_source(one)?);
    }
    if args.offset.len() >= args.files.len() {
        return Err(Failure::usage("more --offset than further sources: the first one's clock is that of the trace"));
    }
    // The first one's own clock needs none.
    let offsets = std::iter::once(None).chain(args.offset.iter().copied().map(Some)).chain(std::iter::repeat(None));
    let parts = args.files.iter().zip(offsets).map(|(file, offset)| Ok(Part { source: open_source(file)?, offset }));
    Ok(Box::new(JoinedSource::new(parts.collect::<Result<_, Failure>>()?)?))
}
