//! The command line: which commands there are, and what all of them take.

use crate::commands::{self, Command};
use crate::failure::Failure;
use crate::output::Color;
use clap::Parser;
use engine::{Infer, PassOptions};
use std::path::PathBuf;

const ABOUT: &str = "Shows how the threads of a program use hybrid (P/E, big.LITTLE) and SMT processors";

const AFTER: &str = "\
Examples:
  corewise doctor                          what this machine lets corewise record
  corewise record -o run.cw -- ./game      trace the whole machine while ./game runs
  corewise report run.cw                   where each thread ran, waited and was blocked
  corewise report perf.data                the same of a file that perf recorded
  corewise view run.cw                     the same on one timeline, in the browser
  corewise report frames.csv               how long frames took, by PresentMon's or MangoHud's log
  corewise table run.cw threads --format csv
  corewise export run.cw --to perfetto -o run.pftrace

A file of another tool may stand wherever a trace folder may (`corewise formats`). `corewise COMMAND --help` says more.

Exit codes:
  0  it worked
  1  it did not; one sentence on standard error says where and what to do
  2  the command line makes no sense
  3  `check` found a law broken or a contradiction, or a recording ended early (a full disk); what there is is whole
  4  `diagnose --fail-on` found what it was to fail on
  `record -- COMMAND` and `demo` pass on the exit code of the command they ran.";

/// corewise.
#[derive(Debug, Parser)]
#[command(name = "corewise", version, about = ABOUT, after_help = AFTER, arg_required_else_help = true)]
#[command(max_term_width = 100, infer_subcommands = false, disable_help_subcommand = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// For all of them.
    #[command(flatten)]
    pub global: Global,
}

/// What all commands take.
#[derive(Clone, Debug, clap::Args)]
pub struct Global {
    /// What you know of the machine that the trace does not say: a small TOML file, hwloc's XML, lscpu's output, a sysfs
    /// tree, … (see `corewise topo --help`)
    #[arg(long, global = true, value_name = "FILE", help_heading = "Options of all commands")]
    pub machine: Option<PathBuf>,
    /// Count time in which the source reports lost events as unknown
    #[arg(long, global = true, help_heading = "Options of all commands")]
    pub strict_loss: bool,
    /// Count time that no chain of switches tells, but of which other events show who ran, as run by that task: every table
    /// then has it, and tells how much of it was inferred
    #[arg(long, global = true, help_heading = "Options of all commands")]
    pub inferred: bool,
    /// Colours; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = "Options of all commands")]
    pub color: Color,
}

impl Global {
    /// How to account.
    ///
    /// # Errors
    /// The machine file cannot be read.
    pub fn pass_options(&self) -> Result<PassOptions, Failure> {
        let infer = if self.inferred { Infer::Within } else { Infer::No };
        Ok(PassOptions { strict_loss: self.strict_loss, machine: self.machine()?, infer, ..PassOptions::default() })
    }

    /// What the user says of the machine.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn machine(&self) -> Result<Option<engine::Machine>, Failure> {
        self.machine.as_deref().map(Self::machine_of).transpose()
    }

    /// The machine that a file or folder describes.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn machine_of(path: &std::path::Path) -> Result<engine::Machine, Failure> {
        engine::machine_file(path).map_err(|why| {
            let (why, path) = (why.to_string(), path.display().to_string());
            Failure::new(if why.contains(&path) { why } else { format!("{path}: {why}") })
        })
    }

    /// Opens a trace folder, or a file that stands in its place.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(&self, trace: &std::path::Path) -> Result<engine::Session, Failure> {
        Ok(engine::Session::open(trace, self.pass_options()?)?)
    }

    /// The same for who will ask for more than sums: of a file, the stretches are kept as it is opened.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open_kept(&self, trace: &std::path::Path) -> Result<engine::Session, Failure> {
        Ok(engine::Session::open(trace, PassOptions { keep: true, ..self.pass_options()? })?)
    }
}

/// A length of time: `10` and `2.5` are seconds; also `500ms`, `30s`, `5m`, `1h`.
///
/// # Errors
/// A sentence.
pub fn duration(words: &str) -> Result<std::time::Duration, String> {
    let split = words.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(words.len());
    let (number, unit) = words.split_at(split);
    let scale = match unit {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("{unit} is no unit of time: s, ms, m or h")),
    };
    let seconds = number.trim().parse::<f64>().map_err(|_| "a number of seconds, as 10, 2.5, 30s or 5m".to_owned())?;
    match std::time::Duration::try_from_secs_f64(seconds * scale) {
        Ok(d) if !d.is_zero() => Ok(d),
        _ => Err("more than 0 seconds".to_owned()),
    }
}

/// A difference of times, with a sign: `-1.5ms`, `+20us`, `300ns`, `2s`.
///
/// # Errors
/// A sentence.
pub fn signed_duration(words: &str) -> Result<model::Ns, String> {
    let split = words.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(words.len());
    let (number, unit) = words.split_at(split);
    let places = match unit {
        "ns" => 0,
        "us" => 3,
        "ms" => 6,
        "s" => 9,
        _ => return Err("a number with its unit, as -1.5ms, 20us, 300ns, 2s".to_owned()),
    };
    // By digits, not by floats: clocks since boot have more of them than a double.
    let (sign, digits) = match number.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, number.strip_prefix('+').unwrap_or(number)),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let bad = || format!("{words} is no number of whole nanoseconds that fits");
    if (whole.is_empty() && part.is_empty())
        || part.len() > places
        || !(whole.to_owned() + part).bytes().all(|b| b.is_ascii_digit())
    {
        return Err(bad());
    }
    let all = format!("{whole}{part:0<places$}");
    all.parse::<i64>().map(|ns| model::Ns(sign * ns)).map_err(|_| bad())
}

/// A part of a recording: `1.5s..2s`, `..10`, `30s..`: from and to, each a length of time since its start.
///
/// # Errors
/// A sentence.
pub fn range(words: &str) -> Result<model::Span, String> {
    let (from, to) = words.split_once("..").ok_or("two times with two dots between, as 1.5s..2s, ..10s or 30s..")?;
    let at = |words: &str, open: model::Ns| {
        let words = words.trim();
        if words.is_empty() {
            return Ok(open);
        }
        // Tables tell times to the nanosecond: as such they are taken.
        let unit = if words.ends_with(|c: char| c.is_ascii_digit()) { "s" } else { "" };
        match signed_duration(&format!("{words}{unit}")) {
            Ok(exact) if exact >= model::Ns::ZERO => Ok(exact),
            _ => duration(words).map(|d| model::Ns(i64::try_from(d.as_nanos()).unwrap_or(i64::MAX))),
        }
    };
    let (start, end) = (at(from, model::Ns::ZERO)?, at(to, model::Ns::MAX)?);
    if start < end { Ok(model::Span { start, end }) } else { Err("it ends before it begins".to_owned()) }
}

impl Command {
    /// Does it; the exit code.
    ///
    /// # Errors
    /// A sentence and an exit code.
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
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn differences_of_times_are_exact() {
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
    fn times_have_units() {
        assert_eq!(duration("10"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("2.5s"), Ok(Duration::from_millis(2500)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        for bad in ["", "x", "0", "-1", "5 years", "1e400", "nan"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_part_has_two_ends() {
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
