//! `corewise import`: a file of another tool becomes a trace folder.

use crate::args::Global;
use crate::failure::{Failure, OK};
use crate::folder_name;
use crate::output::{print, say};
use crate::progress::{Line, of_import};
use engine::{FileSource, Target};
use std::path::PathBuf;

const AFTER: &str = "\
Examples:
  corewise import perf.data -o run.cw
  perf record -o - -a -e 'sched:*' -- sleep 5 | corewise import - -o run.cw

Nothing is overwritten. Events, stretches and tables are Parquet; see `corewise tables`.";

/// Make a trace folder of a file that another tool recorded (perf.data)
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// The file; - is standard input
    file: PathBuf,
    /// The new trace folder [default: corewise-DATE-TIME.cw]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Imports.
///
/// # Errors
/// The file cannot be read, or the folder cannot be written.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    let options = global.pass_options()?;
    let source = FileSource::open(&args.file)?;
    let dir = args.output.clone().unwrap_or_else(|| folder_name::new("corewise"));
    let mut line = Line::new();
    let accounted = engine::import(&source, Target::New(&dir), &options, &mut |p| of_import(&mut line, p))?;
    drop(line);
    if let Some(stopped) = &accounted.ingested.stopped {
        say(&format!(
            "corewise: {}: reading stopped early: {stopped}; what came before is imported",
            args.file.display()
        ));
    }
    let (totals, seconds) = (&accounted.totals, accounted.totals.end.0 as f64 / 1e9);
    let dir = dir.display();
    print(&format!(
        "{dir}: {} events, {seconds:.3} s, {} threads on {} CPUs\nnext: corewise report {dir}\n",
        totals.events,
        totals.threads.len(),
        totals.cpus.len()
    ))?;
    Ok(OK)
}
