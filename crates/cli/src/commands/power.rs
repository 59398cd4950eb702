//! `corewise power`: measures the energy, temperature, frequency and idleness of a machine while a command runs.

use crate::ab::signals::Signals;
use crate::args::{duration, label, positive};
use crate::failure::{Failure, OK};
use crate::output::{print, say, width};
use crate::power::{Machine, Outcome, Percents, Work, csv, json, markdown, on_battery, text};
use clap::ValueEnum;
use std::path::PathBuf;
use std::time::Duration;

const AFTER: &str = "\
Examples:
  corewise power -- ./game                                 joules and watts of each domain while ./game runs
  corewise power --repeat 10 -- ./sort big.txt             the same, with intervals over ten runs
  corewise power --repeat 10 --work 5000 -- ./encode       5000 frames a run: joules a frame
  corewise power --work-from-output '([0-9]+) requests' -- ./bench
  corewise power --battery 90-80 -- ./video                the battery's time for 1 %, from 90 % to 80 %
  corewise power --label os=new --label plug=no --format json -- ./game > new-battery.json

Energy is that of the whole machine while the command runs, not of the command alone: keep other programs quiet. Sources are RAPL (by \
powercap or the power PMU), batteries and sensors of hwmon. Reading RAPL needs root on most machines; docs/power.md has the reasons and \
the risk of permitting more. Ctrl-C ends the command and prints what was measured.

The exit code is that of the command: the first that is not 0.";

/// Measure energy, temperature, frequency and idle states while a command runs
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// Number of runs
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    repeat: u32,
    /// Units of work of each run, to show the energy of one
    #[arg(long, value_name = "N", value_parser = positive, conflicts_with = "work_from_output")]
    work: Option<f64>,
    /// Read the units of work from the output of the command: the last match of the pattern, its first group if it has one
    #[arg(long, value_name = "REGEX")]
    work_from_output: Option<String>,
    /// Wait until the battery is at the first percentage, then run the command again and again until it is at the second one
    #[arg(long, value_name = "HIGH-LOW", conflicts_with = "repeat")]
    battery: Option<Percents>,
    /// A label to keep with the result, such as plug=no; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    label: Vec<(String, String)>,
    /// Output format. With any other than text, the command's output goes to standard error
    #[arg(long, value_enum, default_value = "text")]
    format: Form,
    /// Time between two readings
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = duration)]
    interval: Duration,
    /// Nominal power of the processor package (TDP) in watts: figures far above it are reported as doubtful
    #[arg(long, value_name = "WATTS", value_parser = positive)]
    tdp: Option<f64>,
    /// The machine's files, for tests
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    root: PathBuf,
    /// The command and its arguments, after `--`
    #[arg(required = true, last = true, num_args = 1.., value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    Text,
    Json,
    Csv,
    Md,
}

/// Runs the command.
///
/// # Errors
/// The command cannot be run, there is no battery for `--battery`, or the output cannot be written.
pub fn run(args: &Args) -> Result<u8, Failure> {
    let work = match (&args.work, &args.work_from_output) {
        (Some(units), _) => Work::Units(*units),
        (_, Some(pattern)) => Work::of_pattern(pattern).map_err(Failure::usage)?,
        _ => Work::None,
    };
    let signals = Signals::take();
    let mut machine = Machine::open(&args.root, args.interval)?;
    let to_stderr = args.format != Form::Text;
    let mut outcome = Outcome::new(&machine, &args.command, &args.label, args.tdp);
    if let Some(percents) = args.battery {
        on_battery(&mut machine, &mut outcome, percents, &work, to_stderr)?;
    } else {
        for n in 0..args.repeat {
            let run = machine.measure(&args.command, &work, to_stderr, None)?;
            let interrupted = run.interrupted;
            outcome.push(run);
            if interrupted || Signals::stop() {
                if args.repeat > 1 {
                    say(&format!("corewise: stopped in run {} of {}", n + 1, args.repeat));
                }
                break;
            }
        }
    }
    drop(signals);
    outcome.judge(&machine);
    print(&match args.format {
        Form::Text => text(&outcome, &machine, width()),
        Form::Json => json(&outcome, &machine)?,
        Form::Csv => csv(&outcome, &machine),
        Form::Md => markdown(&outcome, &machine),
    })?;
    let code = outcome.runs.iter().map(|run| run.code).find(|code| *code != 0);
    Ok(code.map_or(OK, |code| u8::try_from(code).unwrap_or(u8::MAX)))
}
