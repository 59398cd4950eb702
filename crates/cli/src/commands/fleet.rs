//! `corewise fleet`: a catalogue of many recordings, a report of it, and which recordings may be removed.

use crate::args::{Global, Redacted};
use crate::failure::{ERROR, Failure, OK};
use crate::fleet_copy as copy;
use crate::output::{Color, print, say, width, write_page};
use crate::progress::Line;
use crate::store_copies::scratch;
use fleet::{Catalogue, Fleet, FleetError, IndexOptions, Indexed, Keep, Plan, ReportOptions};
use model::words::{bytes, date, plain, plural};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const AFTER: &str = "\
Examples:
  corewise fleet index runs/                       make or update the catalogue runs/catalogue
  corewise fleet index runs/ --into fleet          the catalogue fleet
  corewise sql fleet 'SELECT host, count(*) FROM findings GROUP BY host'
  corewise fleet report fleet --by release         which findings, since when, and what changed between releases
  corewise fleet prune runs/ --keep 30d --keep-findings   what is older than 30 days and has no severe finding; removes nothing
  corewise fleet prune runs/ --max-size 100G --yes        remove the oldest until the rest has at most 100 GB
  corewise fleet copy run.cw s3://team/runs        keep a recording in an object store
  corewise fleet index s3://team/runs --into fleet catalogue the recordings of a store

Where a folder is named, the URL of a folder in an object store may stand: s3://, gs://, az:// or https:// (WebDAV). Credentials come from the \
environment (docs/fleet.md). `corewise doctor` reports whether this build has object stores.

A catalogue is an ordinary data set: Parquet with hive partitions (host=…/date=…). docs/fleet.md has its tables, and how DuckDB, pyarrow and Spark \
read it.";

/// Keep a catalogue of many recordings, copy them to object stores, and remove old ones
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Index(IndexArgs),
    Report(ReportArgs),
    Prune(PruneArgs),
    Copy(copy::CopyArgs),
}

const INDEX_AFTER: &str = "\
Examples:
  corewise fleet index runs/
  corewise fleet index runs/ --into fleet --json

Only recordings that are new or have changed (size, time of change, labels) are opened, on all CPUs; those that are gone leave the catalogue. What \
cannot be read is a row of the table errors, and the rest goes on. Run it again after an interruption: what was opened is kept. Links are not followed.";

/// Make a catalogue of the recordings in a folder, or bring it up to date
#[derive(Debug, clap::Args)]
#[command(after_help = INDEX_AFTER)]
struct IndexArgs {
    /// The folder of the recordings, or its URL; subfolders are searched
    #[arg(value_name = "RUNS")]
    runs: PathBuf,
    /// The catalogue, a folder or a URL [default: RUNS/catalogue]
    #[arg(long, value_name = "CATALOGUE")]
    into: Option<PathBuf>,
    /// Open all recordings again, also those that have not changed
    #[arg(long)]
    again: bool,
    /// Open so many recordings at the same time [default: one for each CPU, of a store two]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Print what was done as one JSON object
    #[arg(long)]
    json: bool,
}

const REPORT_AFTER: &str = "\
Examples:
  corewise fleet report runs/catalogue
  corewise fleet report fleet --by release,kernel
  corewise fleet report fleet --since 2026-11-20 --html fleet.html
  corewise fleet report fleet --format json

A change is claimed only where the recordings show it: by exact rank tests of hosts (or of recordings of the same hosts), at a false discovery rate of \
5 % over all tests of the report. docs/fleet.md says what is compared.";

/// Report which findings are on which hosts and versions, since when, and what changed
#[derive(Debug, clap::Args)]
#[command(after_help = REPORT_AFTER)]
struct ReportArgs {
    /// The catalogue that `corewise fleet index` made
    #[arg(value_name = "CATALOGUE")]
    catalogue: PathBuf,
    /// Count and compare findings by these: labels, or host, kernel, corewise, machine, arch
    #[arg(long, value_name = "KEY,KEY", value_delimiter = ',')]
    by: Vec<String>,
    /// Compare recordings from this day on with those before [default: the day from which on the later half of the recordings is]
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
    /// Show so many hosts
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Output format: text, json or html
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Form,
    /// Write the report as one page into this new file; - is standard output
    #[arg(long, value_name = "FILE", conflicts_with = "format")]
    html: Option<PathBuf>,
    /// Replace host names, and leave out paths and labels other than those of --by. --redact=names also replaces the values of these
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "private", hide_possible_values = true)]
    redact: Option<Redacted>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Form {
    Text,
    Json,
    Html,
}

const PRUNE_AFTER: &str = "\
Examples:
  corewise fleet prune runs/ --keep 30d                   show what is older than 30 days; nothing is removed
  corewise fleet prune runs/ --keep 30d --yes             remove it
  corewise fleet prune runs/ --keep 30d --keep-last 5 --keep-findings=medium
  corewise label run.cw keep=yes                          protect a recording

What no rule keeps is removed, with --yes only. A recording's age counts from its start, or from its last change if its start was not recorded. Only \
recordings that are in the catalogue and have not changed since are removed: run `corewise fleet index` first. A folder with files that corewise did \
not write is left alone. Links are not followed.";

/// Show which recordings may be removed, and remove them with --yes
#[derive(Debug, clap::Args)]
#[command(after_help = PRUNE_AFTER)]
struct PruneArgs {
    /// The folder of the recordings
    #[arg(value_name = "RUNS")]
    runs: PathBuf,
    /// The catalogue [default: RUNS/catalogue]
    #[arg(long, value_name = "CATALOGUE")]
    catalogue: Option<PathBuf>,
    /// Keep recordings that are newer than this, such as 12h or 30d
    #[arg(long, value_name = "AGE", value_parser = age, required_unless_present_any = ["keep_last", "keep_findings", "max_size"])]
    keep: Option<Duration>,
    /// Keep the last N recordings of each host
    #[arg(long, value_name = "N")]
    keep_last: Option<usize>,
    /// Keep recordings with a finding of this severity or a higher one
    #[arg(long, value_name = "SEVERITY", num_args = 0..=1, require_equals = true, default_missing_value = "high")]
    keep_findings: Option<Least>,
    /// Keep at most this much, such as 100G: of those that are kept otherwise, the oldest are removed
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_size: Option<i64>,
    /// Remove them
    #[arg(long)]
    yes: bool,
    /// Print the plan as one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Least {
    Low,
    Medium,
    High,
}

/// Runs the command.
///
/// # Errors
/// The folder or the catalogue cannot be read or written.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    match &args.action {
        Action::Index(args) => index(args),
        Action::Report(args) => report(args, global.color),
        Action::Prune(args) => prune(args),
        Action::Copy(args) => copy::copy(args),
    }
}

impl From<FleetError> for Failure {
    fn from(error: FleetError) -> Self {
        match error {
            FleetError::Store(error) => error.into(),
            error => Self::new(error.to_string()),
        }
    }
}

fn catalogue_of(runs: &Path, named: Option<&PathBuf>) -> PathBuf {
    named.cloned().unwrap_or_else(|| runs.join("catalogue"))
}

fn index(args: &IndexArgs) -> Result<u8, Failure> {
    if !stores::is_url(&args.runs) && !args.runs.is_dir() {
        return Err(if args.runs.exists() {
            Failure::new(format!("{}: is not a folder: name the folder of the recordings", args.runs.display()))
        } else {
            Failure::not_found(&args.runs)
        });
    }
    let into = catalogue_of(&args.runs, args.into.as_ref());
    let mut line = Line::new();
    let scratch = if stores::is_url(&args.runs) { Some(scratch()?) } else { None };
    let (again, jobs) = (args.again, args.jobs.map(usize::from));
    let options = IndexOptions { again, jobs, scratch: scratch.as_ref().map(|folder| folder.path().to_owned()) };
    let done = fleet::index(&args.runs, &into, &options, &mut |done, all| {
        line.show(|| format!("Indexing: {done} of {all} recordings"));
        true
    })?;
    drop(line);
    if args.json {
        print(&format!("{}\n", serde_json::json!(done)))?;
    } else {
        print(&index_text(&done, &into))?;
    }
    Ok(OK)
}

/// The number of errors that are shown.
const SHOWN: usize = 10;

fn index_text(done: &Indexed, into: &Path) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}: {}: {} new, {} changed, {} unchanged, {} removed",
        into.display(),
        plural(done.recordings as u64, "recording"),
        done.new,
        done.changed,
        done.unchanged,
        done.removed
    );
    if done.other_files > 0 {
        let _ = writeln!(out, "{} no recordings", plural_are(done.other_files, "file"));
    }
    if done.of_other_versions > 0 {
        let _ = writeln!(
            out,
            "{} indexed by another version of corewise, whose rules may differ: --again opens all",
            if done.of_other_versions == 1 {
                "1 recording was".to_owned()
            } else {
                format!("{} recordings were", done.of_other_versions)
            }
        );
    }
    if !done.errors.is_empty() {
        let _ = writeln!(
            out,
            "{} not be read (table errors):",
            if done.errors.len() == 1 { "1 could".to_owned() } else { format!("{} could", done.errors.len()) }
        );
    }
    for (_, why) in done.errors.iter().take(SHOWN) {
        let _ = writeln!(out, "  {}", plain(why));
    }
    if done.errors.len() > SHOWN {
        let _ = writeln!(out, "  and {} more", done.errors.len() - SHOWN);
    }
    out
}

fn plural_are(n: usize, word: &str) -> String {
    format!("{} {}", plural(n as u64, word), if n == 1 { "is" } else { "are" })
}

fn report(args: &ReportArgs, color: Color) -> Result<u8, Failure> {
    let catalogue = Catalogue::open(&args.catalogue)?;
    let ReportArgs { by, since, top, redact, .. } = args;
    let options = ReportOptions { by: by.clone(), since: since.clone(), top: *top, redact: redact.map(Into::into) };
    let fleet = Fleet::of(&catalogue, &options)?;
    match (&args.html, args.format) {
        (Some(path), _) => write_page(path, &fleet.html(), "the report")?,
        (None, Form::Text) => print(&fleet.text(width(), color.wanted()))?,
        (None, Form::Json) => print(&fleet.json()?)?,
        (None, Form::Html) => print(&fleet.html())?,
    }
    Ok(OK)
}

fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

fn prune(args: &PruneArgs) -> Result<u8, Failure> {
    let mut catalogue = Catalogue::open(&catalogue_of(&args.runs, args.catalogue.as_ref()))?;
    let keep = Keep {
        newer_than_ns: args.keep.map(|age| i64::try_from(age.as_nanos()).unwrap_or(i64::MAX)),
        last_of_host: args.keep_last,
        severity: args.keep_findings.map(|least| match least {
            Least::Low => diagnose::Severity::Low,
            Least::Medium => diagnose::Severity::Medium,
            Least::High => diagnose::Severity::High,
        }),
        max_bytes: args.max_size,
    };
    let plan = fleet::plan(&catalogue, &args.runs, &keep, now_ns())?;
    let mut failed = Vec::new();
    if args.yes {
        let mut line = Line::new();
        failed = fleet::remove(&mut catalogue, &args.runs, &plan, &mut |done, all| {
            line.show(|| format!("Removing: {done} of {all} recordings"));
        })?;
    }
    if args.json {
        let removed = args.yes;
        print(&format!("{}\n", serde_json::json!({ "plan": plan, "removed": removed, "failed": failed })))?;
    } else {
        print(&plan_text(&plan, &failed, args.yes))?;
    }
    failed.iter().for_each(|(path, why)| say(&format!("{}: not removed: {}", path.display(), plain(why))));
    Ok(if failed.is_empty() { OK } else { ERROR })
}

fn plan_text(plan: &Plan, failed: &[(PathBuf, String)], removed: bool) -> String {
    let mut out = String::new();
    let gone = || plan.remove.iter().filter(|of| !failed.iter().any(|(path, _)| *path == of.path));
    for of in gone() {
        let host = of.host.as_ref().map_or_else(String::new, |host| format!("  {}", plain(host)));
        let _ =
            writeln!(out, "{}  {}  {}{host}", date(of.at_ns), plain(&of.path.display().to_string()), bytes(of.bytes));
    }
    let all: i64 = gone().map(|of| of.bytes).sum();
    let count = plural(gone().count() as u64, "recording");
    let _ = match removed {
        true => writeln!(out, "Removed: {count}, {}", bytes(all)),
        false => writeln!(out, "To remove: {count}, {}", bytes(all)),
    };
    for of in &plan.kept {
        let _ = writeln!(out, "Kept: {}: {}", of.why, of.recordings);
    }
    if plan.is_over_limit {
        let _ = writeln!(out, "What is labelled keep=yes is larger than the limit: {}", bytes(plan.kept_bytes));
    }
    if !removed && !plan.remove.is_empty() {
        out.push_str("Nothing was removed: add --yes to remove them\n");
    }
    out
}

/// Parses an age: `12h`, `30d`, `8w`.
fn age(text: &str) -> Result<Duration, String> {
    let (number, hours) = match text.trim().strip_suffix(['h', 'd', 'w']) {
        Some(number) if text.ends_with('h') => (number, 1),
        Some(number) if text.ends_with('d') => (number, 24),
        Some(number) => (number, 24 * 7),
        None => return Err("expected a number of hours, days or weeks, such as 12h, 30d or 8w".to_owned()),
    };
    let number: u64 = number.trim().parse().map_err(|_| "expected a whole number, such as 30d".to_owned())?;
    number.checked_mul(hours * 3600).map(Duration::from_secs).ok_or_else(|| "it is too long".to_owned())
}

/// Parses a size in bytes: `500M`, `100G`, `2T`, in powers of ten.
fn size(text: &str) -> Result<i64, String> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()));
    let scale: i64 = match unit.trim_end_matches('B') {
        "k" | "K" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        _ => return Err("expected a size with a unit, such as 500M, 100G or 2T".to_owned()),
    };
    let number: i64 = number.trim().parse().map_err(|_| "expected a whole number, such as 100G".to_owned())?;
    number.checked_mul(scale).filter(|size| *size >= 0).ok_or_else(|| "it is too large".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_sizes_have_units() {
        assert_eq!(age("30d"), Ok(Duration::from_secs(30 * 86_400)));
        assert_eq!(age("12h"), Ok(Duration::from_secs(12 * 3600)));
        assert_eq!(age("2w"), Ok(Duration::from_secs(14 * 86_400)));
        assert_eq!(size("100G"), Ok(100_000_000_000));
        assert_eq!(size("5MB"), Ok(5_000_000));
        for bad in ["", "30", "d", "-1d", "1.5d", "30m", "99999999999999999999d"] {
            assert!(age(bad).is_err(), "{bad}");
        }
        for bad in ["", "100", "G", "-1G", "99999999999999G"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
