//! `corewise table`: one table, for people or other tools.

use crate::args::{Global, duration};
use crate::failure::{Failure, OK};
use crate::output::{create, stdout};
use crate::period::Period;
use clap::ValueEnum;
use clap::builder::RangedU64ValueParser;
use engine::{Asked, Format, Session, Slow};
use model::{Ns, Tid};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

const AFTER: &str = "\
Examples:
  corewise table run.cw threads
  corewise table run.cw threads --format csv -o threads.csv
  corewise table run.cw concurrency --range 1.5s..2s
  corewise table run.cw critical_by_thread --thread 4321 --range 1.5s..1.516s
  corewise table run.cw slow_frames --frames-of frame --budget 16.7ms
  corewise table run.cw ready_wait --mark 'frame#120' --process game
  corewise table frames.csv frames --format csv
  corewise table perf.data thread_state --format parquet -o states.parquet

`corewise tables` lists the tables and explains their columns. Behind each column that holds keys of threads stands their \
last name (thread_name, thief_name, …), but for --no-names. Times are nanoseconds. Parquet has \
the trace's id in its metadata (corewise.trace); where a file was not imported, all of it is read for that. Times of --range count from the start of the recording. The \
critical path leads to where a thread came by the end of that time: --thread says which; without it, the one that runs there, \
of several the one that came to run last.";

/// Write one table of a trace as Markdown, csv, json or Parquet
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// A trace folder, or a file of another tool (see `corewise formats`); - is standard input
    trace: PathBuf,
    /// Which table
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    period: Period,
    /// Only rows of one process, by number or by name; or of threads of this name
    #[arg(short, long, value_name = "NAME|PID")]
    process: Option<String>,
    /// Leave out the names beside keys of threads (thread_name, waker_name, …)
    #[arg(long)]
    no_names: bool,
    /// Whose end critical_path, critical_by_thread and slow_frames lead to: the last life of this number that began in that time
    /// or before
    #[arg(long, value_name = "TID")]
    thread: Option<i32>,
    /// Of slow_frames: frames are the stretches that a program marked so, or that begin so with * at the end [default: those of
    /// the frame log]
    #[arg(long, value_name = "NAME")]
    frames_of: Option<String>,
    /// Of slow_frames and frames_parked: what a frame may take, as 16.7ms [default: the median of their times]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<std::time::Duration>,
    /// Of slow_frames: tell so many of the slowest
    #[arg(long, value_name = "N", default_value_t = Slow::default().most, value_parser = RangedU64ValueParser::<usize>::new().range(1..=Slow::MOST as u64))]
    slowest: usize,
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

impl Args {
    fn slow(&self) -> Slow {
        let budget = self.budget.map(|d| Ns(i64::try_from(d.as_nanos()).unwrap_or(i64::MAX)));
        Slow { marked: self.frames_of.clone(), budget, most: self.slowest }
    }
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
    let mut session = match Session::is_of_sums(&args.name) {
        true => global.open(&args.trace)?,
        false => global.open_kept(&args.trace)?,
    };
    let def = session.definition(&args.name)?;
    if let Some(tid) = args.thread {
        if !Session::is_critical(def) && !Session::is_of_slow_frames(def) {
            let why = "--thread says whose end the critical path leads to: critical_path, critical_by_thread and slow_frames take it";
            return Err(Failure::usage(format!("{why}, {} does not", def.name)));
        }
        session = session.ending_with(Tid(tid));
    }
    if Session::is_of_slow_frames(def) {
        session = session.slow(args.slow());
    } else if args.frames_of.is_some() {
        let why = "--frames-of says which frames are slow: slow_frames takes it";
        return Err(Failure::usage(format!("{why}, {} does not", def.name)));
    } else if Session::takes_budget(def) {
        session = session.slow(args.slow());
    } else if args.budget.is_some() {
        let why = "--budget says what a frame may take: slow_frames and frames_parked take it";
        return Err(Failure::usage(format!("{why}, {} does not", def.name)));
    }
    let span = args.period.span(&session)?;
    let asked = Asked { table: &args.name, span, process: args.process.as_deref(), names: !args.no_names };
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
