//! `corewise report`: what a trace says, as text.

use crate::args::{Global, duration};
use crate::failure::{Failure, OK};
use crate::output::{print, stdout, width, write_page};
use crate::period::Period;
use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser};
use engine::{Session, Slow};
use model::Ns;
use report::{Options, SECTIONS, Sections, Sort};
use std::io::{BufWriter, Seek as _, Write as _};
use std::path::PathBuf;

const AFTER: &str = "\
Examples:
  corewise report run.cw
  corewise report perf.data --process game --sort max-ready
  corewise report run.cw --sections smt,waiting
  corewise report run.cw --range 1.5s..2s --process game
  corewise report run.cw --mark 'frame#120' --html frame120.html
  corewise report run.cw --html run.html
  corewise report frames.csv --process game.exe
  corewise report marks.pftrace --frames-of 'Frame *'
  corewise report run.cw --frames-of frame --budget 16.7ms --sections slow_frames
  corewise report run.cw --format json | jq '.threads[] | {name, running_ns}'

States: running (on a CPU), ready (could run, but did not), blocked (waited for something), unknown (events are missing, so \
nobody can say). A thread's states sum to its life, CPUs' busy time to threads' running time. Where a recording was made for \
one process, that process stands first. Of a frame log (PresentMon, CapFrameX, OCAT, MangoHud) it tells how long frames took, \
what bound them, and the slowest.";

/// Tell where each thread ran, and how long it was ready or blocked; of a frame log, how long frames took
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// A trace folder, or a file of another tool (see `corewise formats`); - is standard input
    trace: PathBuf,
    #[command(flatten)]
    period: Period,
    /// One process only, by number or by name; or threads of this name
    #[arg(short, long, value_name = "NAME|PID")]
    process: Option<String>,
    /// Show so many threads; the others are one row. Sections show as many with --html, else at most 8
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// Order of the threads
    #[arg(short, long, default_value = "running")]
    sort: SortBy,
    /// How many CPUs ran at once, of a file too (folders show it anyway): reads the file once more
    #[arg(long)]
    concurrency: bool,
    /// What to tell of the analyses: `all`, `none`, or some of the list, with commas [default: those whose tables are at hand;
    /// all of a recording of at most 500 000 events, and with --html]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = section_names())]
    sections: Vec<String>,
    /// Frames are the stretches that a program marked so, or that begin so with * at the end: how long they took, and what
    /// their threads did meanwhile
    #[arg(long, value_name = "NAME")]
    frames_of: Option<String>,
    /// What a frame may take, as 16.7ms: why the slowest that took longer did [default: the median of their times]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<std::time::Duration>,
    /// For people or for scripts
    #[arg(long, default_value = "text")]
    format: Form,
    /// As one page with pictures, for a browser or to print, into this new file (- is standard output): no network, no scripts
    #[arg(long, value_name = "FILE", conflicts_with = "format")]
    html: Option<PathBuf>,
    /// Leave out command lines, paths and host names; names of threads and processes, and of marks, stay
    #[arg(long)]
    redact: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SortBy {
    Running,
    Ready,
    MaxReady,
    Blocked,
    Unknown,
    Switches,
    Migrations,
    Name,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    Text,
    Json,
}

impl From<SortBy> for Sort {
    fn from(by: SortBy) -> Self {
        match by {
            SortBy::Running => Self::Running,
            SortBy::Ready => Self::Ready,
            SortBy::MaxReady => Self::MaxReady,
            SortBy::Blocked => Self::Blocked,
            SortBy::Unknown => Self::Unknown,
            SortBy::Switches => Self::Switches,
            SortBy::Migrations => Self::Migrations,
            SortBy::Name => Self::Name,
        }
    }
}

/// Reports.
///
/// # Errors
/// The trace cannot be read.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    let sections = sections(args);
    let sums_alone = matches!(sections, Sections::Quick) && !args.concurrency;
    let mut session = if sums_alone { global.open(&args.trace)? } else { global.open_kept(&args.trace)? };
    if args.redact {
        session.redact();
    }
    if let Some(span) = args.period.span(&session)? {
        session = session.of_part(span)?;
    }
    let budget = args.budget.map(|d| Ns(i64::try_from(d.as_nanos()).unwrap_or(i64::MAX)));
    let session = session.slow(Slow { marked: args.frames_of.clone(), budget, ..Slow::default() });
    let options = Options {
        top: args.top,
        process: args.process.clone(),
        period: args.period.words(),
        sort: args.sort.into(),
        concurrency: args.concurrency || session.is_folder(),
        sections,
        pictures: args.html.is_some(),
        frames_of: args.frames_of.clone(),
        width: width(),
        color: global.color.wanted(),
    };
    if let Some(path) = &args.html {
        write_page(path, &report::html(&session, &options)?, "the report as one page, for any browser")?;
    } else if args.format == Form::Json {
        print_object(&session, &options)?;
    } else {
        print(&report::text(&session, &options)?)?;
    }
    Ok(OK)
}

/// All names of sections, and what each tells.
fn section_names() -> PossibleValuesParser {
    let more = [("all", "all that have something to say"), ("none", "none of them")];
    let named = SECTIONS.iter().map(|s| (s.id, s.about));
    PossibleValuesParser::new(named.chain(more).map(|(name, about)| PossibleValue::new(name).help(about)))
}

fn sections(args: &Args) -> Sections {
    match args.sections.iter().any(|name| name == "all") {
        true => Sections::All,
        false if args.sections.is_empty() && args.html.is_some() => Sections::All,
        false if args.sections.is_empty() => Sections::Quick,
        false => Sections::Named(args.sections.clone()),
    }
}

/// Where the trace cannot be read to its end, nothing is printed: half an object is of no use to a script.
fn print_object(session: &Session, options: &Options) -> Result<(), Failure> {
    let temporary = |why: std::io::Error| Failure::new(format!("a temporary file: {why}"));
    let mut whole = BufWriter::new(tempfile::tempfile().map_err(temporary)?);
    report::json(session, options, &mut whole)?;
    let mut whole = whole.into_inner().map_err(|why| temporary(why.into_error()))?;
    whole.rewind().map_err(temporary)?;
    let mut out = stdout()?;
    std::io::copy(&mut whole, &mut out)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// The report of a trace as it is without options, for commands that made one.
///
/// # Errors
/// The trace cannot be read.
pub fn print_report(session: &Session, global: &Global) -> Result<(), Failure> {
    let color = global.color.wanted();
    let options = Options { concurrency: true, top: 12, width: width(), color, ..Options::default() };
    print(&report::text(session, &options)?)
}
