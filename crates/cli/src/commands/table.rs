//! `corewise table`: one table, for people or other tools.

use crate::args::{Global, range};
use crate::failure::{Failure, OK};
use crate::output::{create, stdout};
use clap::ValueEnum;
use engine::{Asked, Format, Session};
use model::{Span, Tid};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

const AFTER: &str = "\
Examples:
  corewise table run.cw threads
  corewise table run.cw threads --format csv -o threads.csv
  corewise table run.cw concurrency --range 1.5s..2s
  corewise table run.cw critical_by_thread --thread 4321 --range 1.5s..1.516s
  corewise table frames.csv frames --format csv
  corewise table perf.data thread_state --format parquet -o states.parquet

`corewise tables` lists the tables and explains their columns. Behind each column that holds keys of threads stands their \
last name (thread_name, thief_name, …), but for --no-names. Times are nanoseconds. csv, json and parquet have the column \
`trace` first; where a file was not imported, all of it is read for its checksum. Times of --range count from the start of the recording; sums \
that are kept only for the whole recording (threads, cpus, …) refuse it. The critical path leads to where a thread came by the \
end of that time: --thread says which; without it, the one that runs there, of several the one that came to run last.";

/// Write one table of a trace as Markdown, csv, json or Parquet
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// A trace folder, or a file of another tool (see `corewise formats`); - is standard input
    trace: PathBuf,
    /// Which table
    #[arg(value_name = "NAME")]
    name: String,
    /// Only this part of the recording, as 1.5s..2s, ..10s or 30s..
    #[arg(long, value_name = "FROM..TO", value_parser = range)]
    range: Option<Span>,
    /// Leave out the names beside keys of threads (thread_name, waker_name, …)
    #[arg(long)]
    no_names: bool,
    /// Whose end critical_path and critical_by_thread lead to: the last life of this number that began in that time or before
    #[arg(long, value_name = "TID")]
    thread: Option<i32>,
    /// In which form
    #[arg(long, default_value = "md")]
    format: Form,
    /// Into this new file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    Md,
    Csv,
    Json,
    Parquet,
}

impl From<Form> for Format {
    fn from(form: Form) -> Self {
        match form {
            Form::Md => Self::Markdown,
            Form::Csv => Self::Csv,
            Form::Json => Self::Json,
            Form::Parquet => Self::Parquet,
        }
    }
}

/// Writes it.
///
/// # Errors
/// The trace cannot be read, there is no such table, or it cannot be written.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    if args.format == Form::Parquet && args.output.is_none() && std::io::stdout().is_terminal() {
        return Err(Failure::usage("parquet is no text for a terminal: name a file with -o FILE"));
    }
    let mut session = global.open(&args.trace)?;
    let def = session.definition(&args.name)?;
    if let Some(tid) = args.thread {
        if !Session::is_critical(def) {
            let why =
                "--thread says whose end the critical path leads to: critical_path and critical_by_thread take it";
            return Err(Failure::usage(format!("{why}, {} does not", def.name)));
        }
        session = session.ending_with(Tid(tid));
    }
    let asked = Asked { table: &args.name, span: args.range, names: !args.no_names };
    match &args.output {
        None => {
            let mut out = stdout()?;
            asked.write(&session, args.format.into(), &mut out)?;
            out.flush()?;
        }
        Some(path) => {
            let mut out = create(path)?;
            let written = asked
                .write(&session, args.format.into(), &mut out)
                .map_err(Failure::from)
                .and_then(|()| out.flush().map_err(Failure::at(path)));
            if written.is_err() {
                // Half a table is of no use, and the file is ours.
                let _ = std::fs::remove_file(path);
            }
            written?;
        }
    }
    Ok(OK)
}
