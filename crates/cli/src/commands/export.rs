//! `corewise export`: a trace as another tool's file.

use crate::args::Global;
use crate::failure::{Failure, OK};
use crate::output::{print, stdout};
use crate::period::Period;
use crate::progress::{Line, of_export};
use clap::ValueEnum;
use export::{EXPORTS, Exporter, Job, Options, Place, Shape};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

const AFTER: &str = "\
Examples:
  corewise export run.cw --to perfetto -o run.pftrace      open it at ui.perfetto.dev
  corewise export run.cw --to firefox -o run.json          open it at profiler.firefox.com
  corewise export perf.data --to xlsx -o run.xlsx --table threads --table cpus
  corewise export run.cw --to perfetto --range 1.5s..2s -o part.pftrace
  corewise export run.cw --to xlsx --mark 'frame#120' -o frame120.xlsx
  corewise export run.cw --to chrome -o - | gzip > run.json.gz

Times of --range count from the start of the recording. Of a part, tables hold what `corewise table` tells of it: the \
stretches that overlap it, whole, and sums over it. `corewise import` reads what --to perfetto wrote, and tells the same of it.";

/// Write a trace as a file of another tool: Perfetto, Firefox Profiler, Chrome, Excel, csv, Parquet
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// A trace folder, or a file that stands in its place; - is standard input
    trace: PathBuf,
    /// As what
    #[arg(long, value_name = "FORMAT")]
    to: Form,
    /// The new file, or folder (csv, parquet); - is standard output
    #[arg(short, long, value_name = "FILE|DIR")]
    output: PathBuf,
    /// Replace what an earlier export left there
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    period: Period,
    /// Only this table (csv, xlsx, parquet); may be given again [default: all]
    #[arg(long = "table", value_name = "NAME")]
    tables: Vec<String>,
    /// Leave out command lines, paths and host names; names of threads and processes, and of marks, stay
    #[arg(long)]
    redact: bool,
    /// Leave out the columns with names of threads beside their keys (csv, xlsx, parquet): thread_name, waker_name, …
    #[arg(long)]
    no_names: bool,
}

#[derive(Clone, Copy)]
struct Form(&'static dyn Exporter);

impl std::fmt::Debug for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.id())
    }
}

impl ValueEnum for Form {
    fn value_variants<'a>() -> &'a [Self] {
        // The list of the crate, in its order.
        static FORMS: std::sync::LazyLock<Vec<Form>> =
            std::sync::LazyLock::new(|| EXPORTS.iter().copied().map(Form).collect());
        &FORMS
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.id()).help(self.0.about()))
    }
}

/// Exports.
///
/// # Errors
/// The trace cannot be read, or the output not be written.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    let exporter = args.to.0;
    let pipe = args.output == Path::new("-");
    if pipe && exporter.shape() == Shape::Folder {
        return Err(Failure::usage(format!("{} is a folder of files: name it with -o DIR", exporter.id())));
    }
    if pipe && std::io::stdout().is_terminal() {
        return Err(Failure::usage(format!("{} is nothing for a terminal: name a file with -o FILE", exporter.id())));
    }
    let takes_tables = ["csv", "xlsx", "parquet"].contains(&exporter.id());
    if !takes_tables && !args.tables.is_empty() {
        return Err(Failure::usage(format!("{} has no tables to choose: leave out --table", exporter.id())));
    }
    if !takes_tables && args.no_names {
        return Err(Failure::usage(format!("{} has no tables with keys: leave out --no-names", exporter.id())));
    }
    let mut session = global.open_kept(&args.trace)?;
    let mut span = args.period.span(&session)?;
    if let Some(part) = span.filter(|_| takes_tables) {
        session = session.of_part(part)?;
        span = session.part();
    }
    let options = Options { tables: args.tables.clone(), span, redact: args.redact, names: !args.no_names };
    let mut line = Line::new();
    let mut progress = |written| of_export(&mut line, written);
    let mut job = Job { session: &session, options: &options, progress: &mut progress };
    if pipe {
        let mut out = stdout()?;
        export::write(exporter, &mut job, Place::Pipe(&mut out))?;
        return Ok(OK);
    }
    export::write(exporter, &mut job, Place::Named(&args.output, args.force))?;
    drop(line);
    print(&format!("{}: {}\n", args.output.display(), exporter.about()))?;
    Ok(OK)
}
