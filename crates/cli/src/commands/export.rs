//! `corewise export`: writes a trace as a file of another tool.

use crate::args::{Global, Redacted};
use crate::failure::{Failure, OK};
use crate::output::{print, stdout};
use crate::period::Period;
use crate::progress::{Line, show_export};
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
  corewise export run.cw --to folded -o - | flamegraph.pl > run.svg
  corewise export run.cw --to perfetto --redact=names -o run.pftrace     to pass it on

Times of --range count from the start of the recording. With --range, --mark or --frame, tables contain the same rows as with \
`corewise table`: complete stretches that overlap the range, and sums over the range. `corewise import` reads files written with \
--to perfetto, and reports on them are the same.";

/// Export a trace for another tool: Perfetto, Firefox Profiler, Chrome, flame graphs, Excel, CSV, Parquet
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// A trace folder, or a file of another tool (see `corewise formats`); - is standard input
    trace: PathBuf,
    /// Output format
    #[arg(long, value_name = "FORMAT")]
    to: Form,
    /// The new file or folder (csv, parquet); - is standard output
    #[arg(short, long, value_name = "FILE|DIR")]
    output: PathBuf,
    /// Replace the output of an earlier export
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    period: Period,
    /// Export only this table (csv, xlsx, parquet); can be repeated [default: all]
    #[arg(long = "table", value_name = "NAME")]
    tables: Vec<String>,
    /// Leave out paths, command lines, host names, labels and addresses, so that the output can be passed on. --redact=names also replaces names of
    /// threads, processes, functions and marks by others, such as `thread A` (docs/security.md)
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "private", hide_possible_values = true)]
    redact: Option<Redacted>,
    /// Omit the columns with thread names that follow thread keys (csv, xlsx, parquet): thread_name, waker_name, …
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
        // The formats of the export crate, in its order.
        static FORMS: std::sync::LazyLock<Vec<Form>> =
            std::sync::LazyLock::new(|| EXPORTS.iter().copied().map(Form).collect());
        &FORMS
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.id()).help(self.0.about()))
    }
}

/// Runs the command.
///
/// # Errors
/// The trace cannot be read, or the output cannot be written.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    let exporter = args.to.0;
    let pipe = args.output == Path::new("-");
    if pipe && exporter.shape() == Shape::Folder {
        return Err(Failure::usage(format!("{} writes a folder of files: name it with -o DIR", exporter.id())));
    }
    if pipe && std::io::stdout().is_terminal() {
        return Err(Failure::usage(format!(
            "{} output cannot be shown in a terminal: name a file with -o FILE",
            exporter.id()
        )));
    }
    let takes_tables = ["csv", "xlsx", "parquet"].contains(&exporter.id());
    if !takes_tables && !args.tables.is_empty() {
        return Err(Failure::usage(format!("{} has no tables: remove --table", exporter.id())));
    }
    if !takes_tables && args.no_names {
        return Err(Failure::usage(format!("{} has no tables: remove --no-names", exporter.id())));
    }
    let mut session = global.open_kept(&args.trace)?;
    if let Some(what) = args.redact {
        session.redact(what.into());
    }
    let mut span = args.period.span(&session)?;
    if let Some(part) = span.filter(|_| takes_tables) {
        session = session.limited_to(part)?;
        span = session.range();
    }
    let options = Options { tables: args.tables.clone(), span, names: !args.no_names };
    let mut line = Line::new();
    let mut progress = |written| show_export(&mut line, written);
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
