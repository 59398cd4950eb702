//! The command line: global options, and the parsers of durations and ranges.

use crate::built;
use crate::commands::{self, Command};
use crate::failure::Failure;
use crate::output::Color;
use crate::store_copies;
use clap::Parser;
use engine::{Infer, PassOptions, SymbolPath};
use std::path::PathBuf;

const ABOUT: &str = "Show how the threads of a program use hybrid (P/E, big.LITTLE) and SMT processors";

const AFTER: &str = "\
Examples:
  corewise doctor                          check what can be recorded on this machine
  corewise record -o run.cw -- ./game      trace the whole machine while ./game runs
  corewise ab './old' './new'              trace two commands in turn, to compare them
  corewise report run.cw                   where each thread ran, waited and was blocked
  corewise report perf.data                the same report for a file recorded by perf
  corewise view run.cw                     show the trace on a timeline in the browser
  corewise report frames.csv               frame times from a PresentMon or MangoHud log
  corewise table run.cw threads --format csv
  corewise export run.cw --to perfetto -o run.pftrace

Commands that read a trace folder also read files of other tools (see `corewise formats`). Run `corewise COMMAND --help` for details.

Exit codes:
  0  success
  1  error; the message on standard error says where and what to do
  2  invalid arguments
  3  `verify` found an inconsistency, `check` a contradiction, or a recording ended early (disk full); the data up to then is complete
  4  `diagnose --fail-on` found a problem of the given severity or higher, or `compare --fail-on` a change beyond the limit
  `record -- COMMAND` and `demo` exit with the exit code of the command they ran.";

/// corewise.
#[derive(Debug, Parser)]
#[command(name = "corewise", version = built::VERSION, about = ABOUT, after_help = AFTER, arg_required_else_help = true)]
#[command(max_term_width = 100, infer_subcommands = false, disable_help_subcommand = true)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    /// Options of all commands.
    #[command(flatten)]
    pub global: Global,
}

/// Options of all commands.
#[derive(Clone, Debug, clap::Args)]
pub struct Global {
    /// Description of the machine, for facts that the trace lacks: a TOML file, hwloc XML, lscpu output, a sysfs tree, …
    /// (see `corewise topo --help`)
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global options")]
    pub machine: Option<PathBuf>,
    /// Count time with reported event losses as unknown
    #[arg(long, global = true, help_heading = "Global options")]
    pub strict_loss: bool,
    /// Infer the running thread from other events where context switches are missing. All tables then include the inferred
    /// time and state how much of it there is
    #[arg(long, global = true, help_heading = "Global options")]
    pub inferred: bool,
    /// Folder with debug files and programs for the names of functions, in addition to this machine's usual places; can be repeated.
    /// Names of a trace folder are changed only by `corewise symbolize`
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    pub debug_dir: Vec<PathBuf>,
    /// Make tables as if the programs had marked nothing, to compare what is detected with the marks
    #[arg(long, global = true, hide = true)]
    pub hide_marks: bool,
    /// When to use colours; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = "Global options")]
    pub color: Color,
}

/// What an output leaves out (`--redact`, `--redact=names`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Redacted {
    /// Paths, command lines, host names, labels and addresses
    Private,
    /// Also names of threads, processes, functions and marks, for which others stand
    Names,
}

impl From<Redacted> for engine::Redact {
    fn from(what: Redacted) -> Self {
        match what {
            Redacted::Private => Self::Private,
            Redacted::Names => Self::Names,
        }
    }
}

impl Global {
    /// Returns the options for reading a trace.
    ///
    /// # Errors
    /// The machine file cannot be read.
    pub fn pass_options(&self) -> Result<PassOptions, Failure> {
        let infer = if self.inferred { Infer::Within } else { Infer::No };
        let (strict_loss, hide_marks) = (self.strict_loss, self.hide_marks);
        let symbols = Some(self.symbols());
        Ok(PassOptions { strict_loss, hide_marks, machine: self.machine()?, infer, symbols, ..PassOptions::default() })
    }

    /// Returns where names of functions are looked up.
    pub fn symbols(&self) -> SymbolPath {
        SymbolPath::of_this_machine().with_folders(&self.debug_dir)
    }

    /// Returns the machine described by `--machine`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn machine(&self) -> Result<Option<engine::Machine>, Failure> {
        self.machine.as_deref().map(Self::machine_of).transpose()
    }

    /// Returns the machine that a file or folder describes.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn machine_of(path: &std::path::Path) -> Result<engine::Machine, Failure> {
        engine::machine_file(path).map_err(|why| Failure::new(format!("{}: {why}", path.display())))
    }

    /// Opens a trace folder, or a file of another tool, also by the URL of a store.
    ///
    /// # Errors
    /// The trace cannot be opened.
    pub fn open(&self, trace: &std::path::Path) -> Result<engine::Session, Failure> {
        Self::open_with(trace, self.pass_options()?)
    }

    /// Like [`Self::open`], for commands that need more than sums: the stretches of a file are kept when it is opened.
    ///
    /// # Errors
    /// The trace cannot be opened.
    pub fn open_kept(&self, trace: &std::path::Path) -> Result<engine::Session, Failure> {
        Self::open_with(trace, PassOptions { keep: true, ..self.pass_options()? })
    }

    fn open_with(trace: &std::path::Path, options: PassOptions) -> Result<engine::Session, Failure> {
        let local = store_copies::local(trace)?;
        // The path of a copy means nothing to the reader.
        let failed = |why| {
            let Failure { message, code } = Failure::from(why);
            Failure { message: message.replace(&local.display().to_string(), &trace.display().to_string()), code }
        };
        let mut session = engine::Session::open(&local, options).map_err(failed)?;
        session.show_as(trace);
        Ok(session.with_objective(Box::new(|session| diagnose::path_objective(session, None))))
    }
}

/// Finds a thread of a trace by its TID, or by the name that only one of them has.
///
/// # Errors
/// No thread has this name, or several have.
pub fn tid(session: &engine::Session, text: &str) -> Result<model::Tid, Failure> {
    use model::tables::threads::{NAME, RUNNING_NS, TID, Table};
    if let Ok(tid) = text.parse() {
        return Ok(model::Tid(tid));
    }
    let (mut found, mut names) = (Vec::new(), std::collections::BTreeSet::new());
    session.each(Table, |row| {
        let name = row.get(NAME).unwrap_or_default();
        if name == text {
            found.push((row.get(RUNNING_NS), row.get(TID)));
        } else if !names.contains(name) {
            names.insert(name.to_owned());
        }
    })?;
    found.sort_unstable_by(|a, b| b.cmp(a));
    let path = session.path().display();
    match found.as_slice() {
        [(_, tid)] => Ok(*tid),
        [] => {
            let meant = engine::did_you_mean(text, names.iter().map(String::as_str));
            Err(Failure::new(format!(
                "{path}: no thread is named {text}{meant} `corewise table {path} threads` lists them"
            )))
        }
        [(_, first), ..] => Err(Failure::new(format!(
            "{path}: {} threads are named {text}: choose one by its TID, such as {first}, which ran longest \
             (`corewise table {path} threads` lists them)",
            found.len()
        ))),
    }
}

/// Parses a PID, or the name of the only process that has it.
///
/// # Errors
/// No process has this name, or several have.
pub fn pid(text: &str) -> Result<i32, String> {
    if let Ok(pid) = text.parse() {
        return Ok(pid);
    }
    let name_of =
        |pid: &i32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned();
    let entries = std::fs::read_dir("/proc").map_err(|why| format!("/proc: {why}"))?.flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let named: Vec<(i32, String)> = pids.map(|pid| (pid, name_of(&pid))).collect();
    // The kernel keeps 15 characters.
    let wanted: String = text.chars().take(15).collect();
    let found: Vec<i32> = named.iter().filter(|(_, name)| *name == wanted).map(|(pid, _)| *pid).collect();
    match found[..] {
        [pid] => Ok(pid),
        [] => Err(format!(
            "no running process has this PID or name{}",
            engine::did_you_mean(&wanted, named.iter().map(|(_, name)| name.as_str()))
        )),
        _ => Err(format!("several processes have this name: {found:?}; choose one by its PID")),
    }
}

/// Parses a label: `KEY=VALUE`.
///
/// # Errors
/// The message for the user.
pub fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) =
        text.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or("expected KEY=VALUE, such as plug=no")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// Parses a duration: `10` and `2.5` are seconds; also `500ms`, `30s`, `5m`, `1h`.
///
/// # Errors
/// The message for the user.
pub fn duration(text: &str) -> Result<std::time::Duration, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let scale = match unit {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("{unit} is not a unit of time: use s, ms, m or h")),
    };
    let seconds = number
        .trim()
        .parse::<f64>()
        .map_err(|_| "expected a number of seconds or a duration such as 10, 2.5, 30s or 5m".to_owned())?;
    match std::time::Duration::try_from_secs_f64(seconds * scale) {
        Ok(d) if !d.is_zero() => Ok(d),
        _ => Err("must be more than 0 seconds".to_owned()),
    }
}

/// Parses a frame budget: a duration with a unit, as a budget of whole seconds is a mistake.
///
/// # Errors
/// The message for the user.
pub fn budget(text: &str) -> Result<std::time::Duration, String> {
    match duration(text) {
        Ok(_) if text.trim().ends_with(|c: char| c.is_ascii_digit()) => {
            Err(format!("a budget needs a unit, such as {text}ms or {text}s"))
        }
        other => other,
    }
}

/// Parses a number above 0.
///
/// # Errors
/// The message for the user.
pub fn positive(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|n: &f64| n.is_finite() && *n > 0.0).ok_or_else(|| "expected a number above 0".to_owned())
}

/// Parses a share above 0: `5%`, `0.5 %` or `0.05`.
///
/// # Errors
/// The message for the user.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |percent| (percent, 0.01));
    match number.trim().parse::<f64>().map(|share| share * scale) {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("expected a share above 0 and up to 100 %, such as 5%, 0.5% or 0.05".to_owned()),
    }
}

/// Parses a signed time difference: `-1.5ms`, `+20us`, `300ns`, `2s`.
///
/// # Errors
/// The message for the user.
pub fn signed_duration(text: &str) -> Result<model::Ns, String> {
    let unit = text.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    if !["ns", "us", "ms", "s"].contains(&unit) {
        return Err("expected a number with a unit, such as -1.5ms, 20us, 300ns or 2s".to_owned());
    }
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let invalid = || format!("{text} is not a whole number of nanoseconds, or it is too large");
    engine::exact_time(digits).map(|ns| model::Ns(sign * ns.0)).ok_or_else(invalid)
}

/// Parses a range of a recording: `1.5s..2s`, `..10`, `30s..`. Both ends are times since the start of the recording.
///
/// # Errors
/// The message for the user.
pub fn range(text: &str) -> Result<model::Span, String> {
    let (from, to) =
        text.split_once("..").ok_or("expected two times separated by two dots, such as 1.5s..2s, ..10s or 30s..")?;
    let parse = |text: &str, default: model::Ns| {
        let text = text.trim();
        if text.is_empty() {
            return Ok(default);
        }
        // Tables print times to the nanosecond, so a range must accept that precision.
        let unit = if text.ends_with(|c: char| c.is_ascii_digit()) { "s" } else { "" };
        match signed_duration(&format!("{text}{unit}")) {
            Ok(exact) if exact >= model::Ns::ZERO => Ok(exact),
            _ => duration(text).map(|d| model::Ns(i64::try_from(d.as_nanos()).unwrap_or(i64::MAX))),
        }
    };
    let (start, end) = (parse(from, model::Ns::ZERO)?, parse(to, model::Ns::MAX)?);
    if start < end { Ok(model::Span { start, end }) } else { Err("the end must be after the start".to_owned()) }
}

impl Command {
    /// Runs the command and returns the exit code.
    ///
    /// # Errors
    /// The command failed; the failure has the message and the exit code.
    pub fn run(self, global: &Global) -> Result<u8, Failure> {
        commands::run(self, global)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use std::time::Duration;

    #[test]
    fn the_command_line_definition_is_valid() {
        Cli::command().debug_assert();
    }

    #[test]
    fn signed_durations_are_exact() {
        use model::Ns;
        assert_eq!(signed_duration("-1.5ms"), Ok(Ns(-1_500_000)));
        assert_eq!(signed_duration("+20us"), Ok(Ns(20_000)));
        assert_eq!(signed_duration("1700000000.123456789s"), Ok(Ns(1_700_000_000_123_456_789)));
        assert_eq!(signed_duration("7ns"), Ok(Ns(7)));
        for bad in ["", "5", "x", "1.2345us", "-ms", "1e3s", "9999999999999s", "- 1ms"] {
            assert!(signed_duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("10"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("2.5s"), Ok(Duration::from_millis(2500)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        for bad in ["", "x", "0", "-1", "5 years", "1e400", "nan"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
        assert_eq!(budget("16.7ms"), Ok(Duration::from_micros(16_700)));
        assert!(budget("16").unwrap_err().contains("16ms"));
    }

    #[test]
    fn shares_are_percent_or_parts_of_one() {
        let is = |text: &str, value: f64| share(text).is_ok_and(|share| (share - value).abs() < 1e-12);
        assert!(is("5%", 0.05) && is("0.5 %", 0.005) && is("0.05", 0.05) && is("100%", 1.0) && is("1", 1.0));
        for bad in ["", "%", "0", "0%", "-1%", "101%", "5", "x", "nan", "inf%"] {
            assert!(share(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_range_has_a_start_and_an_end() {
        let span = |start, end| Ok(model::Span { start: model::Ns(start), end: model::Ns(end) });
        assert_eq!(range("1.5s..2s"), span(1_500_000_000, 2_000_000_000));
        assert_eq!(range("..10ms"), span(0, 10_000_000));
        assert_eq!(range("0..1"), span(0, 1_000_000_000));
        assert_eq!(range("0.000s..20us"), span(0, 20_000));
        assert_eq!(range("7ns..123456789.987654321s"), span(7, 123_456_789_987_654_321));
        assert_eq!(range("1m.."), span(60_000_000_000, i64::MAX));
        for bad in ["", "1", "2..1", "1..1", "a..b", "-1s..2s"] {
            assert!(range(bad).is_err(), "{bad}");
        }
    }
}
