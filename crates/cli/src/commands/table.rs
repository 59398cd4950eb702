//! `corewise table`: writes one table of a trace.

use crate::aligned::Aligned;
use crate::args::{Global, Redacted, budget, tid};
use crate::failure::{Failure, OK};
use crate::frame_marks;
use crate::output::{create, say, stdout};
use crate::pager::Pager;
use crate::period::Period;
use clap::ValueEnum;
use clap::builder::RangedU64ValueParser;
use engine::{Format, Session, SlowFrameOptions, TableRequest};
use model::{Ns, Shows};
use std::io::{BufWriter, IsTerminal, Write};
use std::path::PathBuf;

const AFTER: &str = "\
Examples:
  corewise table run.cw threads
  corewise table run.cw threads --format csv -o threads.csv
  corewise table run.cw concurrency --range 1.5s..2s
  corewise table run.cw critical_by_thread --thread 4321 --range 1.5s..1.516s
  corewise table run.cw slow_frames --frames-of frame --budget 16.7ms
  corewise table run.cw ready_wait --mark 'frame#120' --process game
  corewise table run.cw critical_path --range 'period:game#3'
  corewise table run.cw objective_time
  corewise table frames.csv frames --format csv
  corewise table perf.data thread_state --format parquet -o states.parquet

`corewise tables` lists the tables and explains their columns. Each column with thread keys is followed by a column with the \
threads' last names (thread_name, waker_name, …), unless --no-names. Times are in nanoseconds. Parquet files have the trace's id in \
their metadata (corewise.trace); for a file that was not imported, computing the id reads the whole file. Times of --range count from \
the start of the recording. The critical path ends with one thread at the end of the range: --thread selects it; the default is \
the thread of the period, request or region that --range names, otherwise the thread that runs at that time, or, if several run, the \
one that was switched in last.";

/// Write one table of a trace as text, Markdown, CSV, JSON or Parquet
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// A trace folder, or a file of another tool (see `corewise formats`); - is standard input
    trace: PathBuf,
    /// The table (see `corewise tables`)
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    period: Period,
    /// Write only the rows of one process, by PID or name, or of the threads with this name
    #[arg(short, long, value_name = "NAME|PID")]
    process: Option<String>,
    /// Omit the columns with thread names that follow thread keys (thread_name, waker_name, …)
    #[arg(long)]
    no_names: bool,
    /// For critical_path, critical_by_thread, objective_time and slow_frames: the thread with which the path ends, by TID or name. If the TID was reused, the last
    /// thread that started before the end of the range
    #[arg(long, value_name = "TID|NAME")]
    thread: Option<String>,
    /// For objective_time: what the program is judged by, as in diagnose: command, throughput, frames, requests, thread:THREAD,
    /// period:THREAD, requests:THREAD, mark:NAME
    #[arg(long, value_name = "OBJECTIVE")]
    objective: Option<diagnose::Target>,
    /// For slow_frames: treat marks with this name as frames (a final * matches any ending) [default: the frames of the frame
    /// log, otherwise the marks that look most like frames: frame, Frame 12, Choreographer#doFrame, vsync, …]
    #[arg(long, value_name = "NAME")]
    frames_of: Option<String>,
    /// For slow_frames and frames_parked: the frame budget, such as 16.7ms [default: the median frame time]
    #[arg(long, value_name = "TIME", value_parser = budget)]
    budget: Option<std::time::Duration>,
    /// For slow_frames and slow_intervals: number of slowest frames to explain, or of slowest intervals of each thread or name
    #[arg(long, value_name = "N", default_value_t = SlowFrameOptions::default().max_frames, value_parser = RangedU64ValueParser::<usize>::new().range(1..=SlowFrameOptions::MAX_FRAMES as u64))]
    slowest: usize,
    /// Leave out paths, command lines, host names, labels and addresses, so that the output can be passed on. --redact=names also replaces names of
    /// threads, processes, functions and marks by others, such as `thread A` (docs/security.md)
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "private", hide_possible_values = true)]
    redact: Option<Redacted>,
    /// Output format: text (aligned columns, shown by $PAGER on a terminal), md, csv, json or parquet [default: text on a terminal,
    /// otherwise md]
    #[arg(long)]
    format: Option<Form>,
    /// Write to this new file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    Text,
    Md,
    Csv,
    Json,
    Parquet,
}

impl Args {
    /// The format, if it is not aligned text.
    fn format(&self) -> Option<Format> {
        let is_shown = self.output.is_none() && std::io::stdout().is_terminal();
        match self.format.unwrap_or(if is_shown { Form::Text } else { Form::Md }) {
            Form::Text => None,
            Form::Md => Some(Format::Markdown),
            Form::Csv => Some(Format::Csv),
            Form::Json => Some(Format::Json),
            Form::Parquet => Some(Format::Parquet),
        }
    }

    fn slow(&self) -> SlowFrameOptions {
        let budget = self.budget.map(|d| Ns(i64::try_from(d.as_nanos()).unwrap_or(i64::MAX)));
        SlowFrameOptions { mark_name: self.frames_of.clone(), budget, max_frames: self.slowest }
    }
}

/// Runs the command.
///
/// # Errors
/// The trace cannot be read, there is no such table, or the table cannot be written.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    if args.format == Some(Form::Parquet) && args.output.is_none() && std::io::stdout().is_terminal() {
        return Err(Failure::usage("parquet output cannot be shown in a terminal: name a file with -o FILE"));
    }
    let name = table_name(args)?;
    let mut session = match Session::is_of_sums(name) {
        true => global.open(&args.trace)?,
        false => global.open_kept(&args.trace)?,
    };
    if let Some(what) = args.redact {
        session.redact(what.into());
    }
    let def = session.definition(name)?;
    if let Some(thread) = &args.thread {
        if !Session::is_critical(def) && !Session::is_of_slow_frames(def) {
            let why = "--thread applies only to critical_path, critical_by_thread, objective_time and slow_frames";
            return Err(Failure::usage(format!("{why}, not to {}", def.name)));
        }
        let tid = tid(&session, &session.shown_name(Shows::Name, thread))?;
        session = session.with_path_end(tid);
    }
    if args.frames_of.is_some() && !Session::is_of_slow_frames(def) {
        let why = "--frames-of applies only to slow_frames";
        return Err(Failure::usage(format!("{why}, not to {}", def.name)));
    }
    if args.budget.is_some() && !Session::takes_budget(def) {
        let why = "--budget applies only to slow_frames and frames_parked";
        return Err(Failure::usage(format!("{why}, not to {}", def.name)));
    }
    if Session::takes_budget(def) || Session::takes_slowest(def) {
        let slow =
            if Session::is_of_slow_frames(def) { frame_marks::found(&session, args.slow())? } else { args.slow() };
        session = session.with_slow_frames(slow);
    }
    let selected = args.period.selected(&session)?;
    if let Some((_, thread)) = selected.filter(|_| Session::is_critical(def)) {
        session = session.or_path_end(thread);
    }
    let span = selected.map(|(span, _)| span);
    if let Some(objective) = args.objective.clone() {
        if def.name != model::tables::OBJECTIVE_TIME.name || span.is_some() || args.thread.is_some() {
            return Err(Failure::usage(
                "--objective applies only to objective_time of a whole recording, without --thread",
            ));
        }
        session = session.with_objective(Box::new(move |session| diagnose::path_objective(session, Some(&objective))));
    }
    if Session::is_of_slow_frames(def) {
        say(&format!("corewise: {}", frame_marks::described(&session, span)?));
    }
    let request = TableRequest { table: name, span, process: args.process.as_deref(), names: !args.no_names };
    match &args.output {
        None => {
            let mut out: Box<dyn Write + Send> = match args.format() {
                None | Some(Format::Markdown) => pager_or_stdout()?,
                Some(_) => Box::new(stdout()?),
            };
            write(&request, &session, args.format(), &mut *out)?;
            out.flush()?;
        }
        Some(path) => {
            let mut out = create(path)?;
            let written = write(&request, &session, args.format(), &mut out)
                .and_then(|()| out.flush().map_err(Failure::at(path)));
            if written.is_err() {
                // Remove the incomplete file.
                let _ = std::fs::remove_file(path);
            }
            written?;
        }
    }
    Ok(OK)
}

/// The name of the table; checks whether it was given, and given after the trace.
fn table_name(args: &Args) -> Result<&str, Failure> {
    let is_table = |name: &str| model::tables::ALL.iter().any(|def| def.name == name);
    let trace = args.trace.display().to_string();
    match args.name.as_deref() {
        Some(name) if is_table(&trace) && !args.trace.exists() => {
            Err(Failure::usage(format!("the trace comes before the table: corewise table {name} {trace}")))
        }
        Some(name) => Ok(name),
        None => Err(Failure::usage(format!(
            "name the table, such as corewise table {trace} threads (or cpus, ready_wait, switch_causes, slow_frames, periods): \
             `corewise tables {trace}` lists all"
        ))),
    }
}

fn pager_or_stdout() -> Result<Box<dyn Write + Send>, Failure> {
    Ok(match Pager::start() {
        Some(pager) => Box::new(BufWriter::new(pager)),
        None => Box::new(stdout()?),
    })
}

/// Writes the table in a format; `None`: as aligned columns.
fn write(
    request: &TableRequest<'_>,
    session: &Session,
    format: Option<Format>,
    out: &mut (dyn Write + Send),
) -> Result<(), Failure> {
    if let Some(format) = format {
        return Ok(request.write(session, format, out)?);
    }
    let mut table = Aligned::new(request.definition(session)?, out);
    request.rows(session, &mut |rows| rows.iter().try_for_each(|row| table.push(row)))?;
    if table.finish()? == 0 {
        say(&format!("corewise: the table {} has no rows here", request.table));
    }
    Ok(())
}
