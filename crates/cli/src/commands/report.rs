//! `corewise report`: summarises a trace as text, JSON or a page.

use crate::args::{Global, Redacted, budget};
use crate::failure::{Failure, OK};
use crate::frame_marks;
use crate::known_names::KnownNames;
use crate::output::{print, stdout, width, write_page};
use crate::period::{Period, Range};
use clap::ValueEnum;
use clap::builder::PossibleValue;
use engine::{Session, SlowFrameOptions};
use model::{Ns, Shows, Span, words};
use report::{Options, Profile, SECTIONS, Sections, Sort};
use std::io::{BufWriter, IsTerminal as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const AFTER: &str = "\
Examples:
  corewise report run.cw
  corewise report perf.data --process game --sort max-ready
  corewise report run.cw --full
  corewise report run.cw --sections smt,waiting
  corewise report run.cw --range 1.5s..2s --process game
  corewise report run.cw --mark 'frame#120' --html frame120.html
  corewise report run.cw --range 'request:server#7'
  corewise report run.cw --html run.html
  corewise report run.cw --range 2s..3s --baseline-range 1s..2s --html difference.html
  corewise report after.cw --baseline before.cw --sections samples
  corewise report frames.csv --process game.exe
  corewise report marks.pftrace --frames-of 'Frame *'
  corewise report run.cw --frames-of frame --budget 16.7ms --sections slow_frames
  corewise report run.cw --format json | jq '.threads[] | {name, running_ns}'

States: running (on a CPU), ready (waiting for a CPU), blocked (waiting for something else), unknown (events are missing). A \
thread's states add up to the time it existed; CPUs' busy time equals threads' running time. In a recording of one process, that \
process is listed first. For a frame log (PresentMon, CapFrameX, OCAT, MangoHud), the report shows frame times, what limited \
them, and the slowest frames.";

/// Report where each thread ran, and how long it was ready or blocked; for a frame log, the frame times
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// A trace folder, or a file of another tool (see `corewise formats`); - is standard input
    trace: PathBuf,
    #[command(flatten)]
    period: Period,
    /// Show only one process, by PID or name, or the threads with this name
    #[arg(short, long, value_name = "NAME|PID")]
    process: Option<String>,
    /// Show all parts of the report, also those that take long; otherwise, the text has at most 100 lines
    #[arg(long, conflicts_with = "sections")]
    full: bool,
    /// Number of threads to list; the rest are summed in one row. Sections list at most 8 of them without --html [default: 8; with
    /// --full, --sections or --html: 20]
    #[arg(short = 'n', long, value_name = "N")]
    top: Option<usize>,
    /// Sort the threads by this column
    #[arg(short, long, default_value = "running")]
    sort: SortBy,
    /// Also show concurrency (how many CPUs were busy at the same time) for a file, which is then read twice; folders always show it
    #[arg(long)]
    concurrency: bool,
    /// Sections to show: `all`, `none`, or a comma-separated list [default: those whose tables are already computed; all for
    /// recordings of at most 500 000 events and with --html]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = section_names())]
    sections: Vec<String>,
    /// Treat marks with this name as frames (a final * matches any ending), and show frame times and what the threads did in
    /// slow frames
    #[arg(long, value_name = "NAME")]
    frames_of: Option<String>,
    /// Frame budget, such as 16.7ms; frames that took longer count as slow [default: the median frame time]
    #[arg(long, value_name = "TIME", value_parser = budget)]
    budget: Option<std::time::Duration>,
    /// Compare the samples with those of another recording: the functions and the flame graph then show the difference
    #[arg(long, value_name = "TRACE")]
    baseline: Option<PathBuf>,
    /// Compare the samples with those of this part (as --range), of the other recording if there is one, otherwise of this one
    #[arg(long, value_name = "FROM..TO|KIND:NAME#N", value_parser = Range::parse)]
    baseline_range: Option<Range>,
    /// Output format; html is --html on standard output
    #[arg(long, default_value = "text")]
    format: Form,
    /// Write one HTML page with charts to this new file (- is standard output); it uses no network, and its only script searches
    /// and zooms the flame graph of samples
    #[arg(long, value_name = "FILE", conflicts_with = "format")]
    html: Option<PathBuf>,
    /// Link the page's times to this page with the timeline (from `corewise view TRACE --html FILE`), in the same folder
    #[arg(long, value_name = "FILE", requires = "html")]
    timeline: Option<PathBuf>,
    /// Leave out paths, command lines, host names, labels and addresses, so that the output can be passed on. --redact=names also replaces names of
    /// threads, processes, functions and marks by others, such as `thread A` (docs/security.md)
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "private", hide_possible_values = true)]
    redact: Option<Redacted>,
}

/// The maximum number of lines of a short report.
const MAX_LINES: usize = 100;
/// The number of threads of a short report, and of any other.
const SHORT_TOP: usize = 8;
const TOP: usize = 20;

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
    Html,
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

/// Runs the command.
///
/// # Errors
/// The trace cannot be read.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    if args.format == Form::Html && std::io::stdout().is_terminal() {
        return Err(Failure::usage("a page cannot be shown in a terminal: name a file with --html FILE"));
    }
    let page = args.html.clone().or_else(|| (args.format == Form::Html).then(|| PathBuf::from("-")));
    let sections = sections(args, page.is_some());
    let sums_alone = matches!(sections, Sections::Quick) && !args.concurrency;
    let mut session = if sums_alone { global.open(&args.trace)? } else { global.open_kept(&args.trace)? };
    if let Some(what) = args.redact {
        session.redact(what.into());
    }
    let baseline = baseline(args, global, &session)?;
    if let Some(span) = args.period.span(&session)? {
        session = session.limited_to(span)?;
    }
    let budget = args.budget.map(|d| Ns(i64::try_from(d.as_nanos()).unwrap_or(i64::MAX)));
    let mut slow = SlowFrameOptions { mark_name: frames_of(args, &session), budget, ..SlowFrameOptions::default() };
    if report::has_all_sections(&session, &sections) || args.sections.iter().any(|name| name == "slow_frames") {
        slow = frame_marks::found(&session, slow)?;
    }
    let session = session.with_slow_frames(slow);
    let is_short = !args.full && args.sections.is_empty() && args.format == Form::Text && page.is_none();
    let options = Options {
        top: args.top.unwrap_or(if is_short { SHORT_TOP } else { TOP }),
        max_lines: is_short.then_some(MAX_LINES),
        process: args.process.as_deref().map(|name| session.shown_process(name)),
        period: args.period.as_option(&session),
        sort: args.sort.into(),
        concurrency: args.concurrency || args.full || session.is_folder(),
        sections,
        pictures: page.is_some(),
        frames_of: frames_of(args, &session),
        baseline,
        timeline: timeline(args)?,
        width: width(),
        color: global.color.wanted(),
    };
    if let Some(path) = &page {
        write_page(path, &report::html(&session, &options)?, "report as one HTML page")?;
    } else if args.format == Form::Json {
        print_object(&session, &options)?;
    } else {
        print(&report::text(&session, &options)?)?;
    }
    Ok(OK)
}

/// The marks that are frames, as the report calls them.
fn frames_of(args: &Args, session: &Session) -> Option<String> {
    args.frames_of.as_deref().map(|name| session.shown_name(Shows::Mark, name))
}

/// The address of the page with the timeline, relative to the report's page.
fn timeline(args: &Args) -> Result<Option<String>, Failure> {
    let Some(path) = &args.timeline else { return Ok(None) };
    if !path.is_file() {
        let (path, trace) = (path.display(), args.trace.display());
        return Err(Failure::new(format!(
            "{path}: there is no such page: make it with `corewise view {trace} --html {path}`"
        )));
    }
    let folder = |path: &Path| {
        path.parent().map(|folder| if folder.as_os_str().is_empty() { ".".into() } else { folder.to_owned() })
    };
    if args.html.as_deref().and_then(folder) != folder(path) {
        return Err(Failure::usage(
            "--timeline and --html must be in the same folder, so that the links work wherever it is moved",
        ));
    }
    Ok(path.file_name().map(|name| encoded(&name.to_string_lossy())))
}

/// A file's name as part of an address.
fn encoded(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    // The dot keeps a colon in the name from being read as a scheme.
    let parts =
        name.bytes().map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") });
    format!("./{}", parts.collect::<String>())
}

/// Reads the samples with which those of the report are compared, if requested.
fn baseline(args: &Args, global: &Global, session: &Session) -> Result<Option<Profile>, Failure> {
    let seconds = |at: Ns| at.0 as f64 / 1e9;
    let range = args.baseline_range.as_ref().map(|range| match range {
        Range::Times(Span { start, end: Ns::MAX }) => format!("{} s to the end", seconds(*start)),
        Range::Times(Span { start, end }) => format!("{} s to {} s", seconds(*start), seconds(*end)),
        // It is named after a thread or a mark.
        Range::Of(_) if args.redact == Some(Redacted::Names) => "another part".to_owned(),
        Range::Of(name) => name.to_string(),
    });
    let span = |of: &Session| args.baseline_range.as_ref().map(|range| range.span(of)).transpose();
    let process = args.process.as_deref();
    let (profile, about) = match (&args.baseline, range) {
        (None, None) => return Ok(None),
        (None, Some(range)) => (Profile::read(session, span(session)?, process, range.clone())?, range),
        (Some(path), range) => {
            let mut other = global.open_kept(path)?;
            let name = match session.redaction() {
                Some(redaction) => {
                    // The same functions have the same names.
                    other.redact_as(Arc::clone(redaction));
                    "the other trace".to_owned()
                }
                None => words::plain(&path.display().to_string()),
            };
            let about = range.map_or_else(|| name.clone(), |range| format!("{name}, {range}"));
            (Profile::read(&other, span(&other)?, process, about.clone())?, about)
        }
    };
    if profile.is_empty() {
        return Err(Failure::new(format!("there are no samples in the baseline, {about}")));
    }
    Ok(Some(profile))
}

/// The names of the sections, with descriptions.
fn section_names() -> KnownNames {
    let special = [("all", "all sections that have data"), ("none", "no section")];
    let named = SECTIONS.iter().map(|s| (s.id, s.about));
    let names = named.chain(special).map(|(name, about)| PossibleValue::new(name).help(about));
    KnownNames::new("section", "`corewise report --help`", names)
}

fn sections(args: &Args, is_page: bool) -> Sections {
    match args.sections.iter().any(|name| name == "all") {
        true => Sections::All,
        false if args.full || args.sections.is_empty() && is_page => Sections::All,
        false if args.sections.is_empty() => Sections::Quick,
        false => Sections::Named(args.sections.clone()),
    }
}

/// Prints the report as one JSON object. If the trace cannot be read to its end, nothing is printed: scripts cannot use half an object.
fn print_object(session: &Session, options: &Options) -> Result<(), Failure> {
    let temporary = |why: std::io::Error| Failure::new(format!("cannot write a temporary file: {why}"));
    let mut whole = BufWriter::new(tempfile::tempfile().map_err(temporary)?);
    report::json(session, options, &mut whole)?;
    let mut whole = whole.into_inner().map_err(|why| temporary(why.into_error()))?;
    whole.rewind().map_err(temporary)?;
    let mut out = stdout()?;
    std::io::copy(&mut whole, &mut out)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// Prints the report of a trace with default options, for other commands.
///
/// # Errors
/// The trace cannot be read.
pub fn print_report(session: &Session, global: &Global) -> Result<(), Failure> {
    let color = global.color.wanted();
    let options = Options {
        concurrency: true,
        top: SHORT_TOP,
        max_lines: Some(MAX_LINES),
        width: width(),
        color,
        ..Options::default()
    };
    print(&report::text(session, &options)?)
}
