//! `corewise try`: applies the fix of a finding and measures what it changes.

use crate::args::{Global, duration, share};
use crate::failure::{Failure, INCOMPLETE, OK};
use crate::output::{print, say};
use crate::trying::{self, Chosen, Load, Metric, Pairs, Trial, Which};
use clap::ValueEnum;
use clap::builder::RangedU64ValueParser;
use compare::ab::{Limits, new_seed};
use diagnose::Target;
use model::Ns;
use regex_lite::Regex;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trial::Outcome;

const AFTER: &str = "\
Examples:
  corewise try run.cw 1 -- ./game                 try the fix of finding 1 of `corewise diagnose run.cw`
  corewise try run.cw 1 --dry-run -- ./game       show what would be done
  corewise try run.cw pinned-to-one-cpu -- ./game by rule
  corewise try run.cw 2 --pid 1234 --for 5s       a server that runs already
  corewise try run.cw 1 --metric 'Requests/sec: +([0-9.]+)' --more-is-better -- wrk http://localhost:8080
  corewise try --undo                             undo what a killed trial left

The command, or the process of --pid, is recorded with and without the fix in turn, in pairs of random order. In the runs with the fix, it is applied to the \
threads that have the name of the finding's threads, as soon as they exist, or to settings of the machine; it is undone after each run. \
What must be undone is written to a file first, so that Ctrl-C undoes it, and `corewise try --undo` if this program is killed. The threads are \
those that the command starts, those of --pid, or, if the fix is for another program, those of your own processes: never those of other users. \
A fix that needs a change of code or of the host is refused, with the reason.

The answer is what the program is judged by in the recording: the time to the end, or by how much periods, frames or requests are late. It helped or \
harmed if the 95 % interval of the change lies beyond 2 %; else it has no effect.

Exit codes: 1 if the fix cannot be applied, a command fails or no pair was completed; 3 after Ctrl-C, with the result of the complete pairs.";

/// Try the fix of a finding: record with and without it in turn, and measure what it changes
#[derive(Debug, clap::Args)]
#[command(name = "try", after_help = AFTER)]
pub struct Args {
    /// The recording with the finding
    #[arg(value_name = "TRACE", required_unless_present = "undo")]
    trace: Option<PathBuf>,
    /// The finding: its number in `corewise diagnose`, or its rule
    #[arg(value_name = "FINDING", default_value = "1")]
    finding: Which,
    /// The command to run, with its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// Try it on a process that runs
    #[arg(short, long, value_name = "PID", conflicts_with = "command")]
    pid: Option<i32>,
    /// Try it on this machine as it runs
    #[arg(short, long, conflicts_with_all = ["command", "pid"])]
    all: bool,
    /// With --pid and --all: how long each run is recorded
    #[arg(long = "for", value_name = "TIME", default_value = "5s", value_parser = duration)]
    time: Duration,
    /// The number of pairs
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10, value_parser = RangedU64ValueParser::<usize>::new().range(1..=1000))]
    pairs: usize,
    /// The number of warm-ups of each side, which are not compared
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = RangedU64ValueParser::<usize>::new().range(0..=100))]
    warm_up: usize,
    /// What the program is judged by, as in `corewise diagnose`
    #[arg(long, value_name = "OBJECTIVE")]
    objective: Option<Target>,
    /// Measure a number that the command prints instead: the first group of the last match of this regular expression
    #[arg(long, value_name = "REGEX", conflicts_with_all = ["pid", "all"], value_parser = |text: &str| Regex::new(text).map_err(|why| why.to_string()))]
    metric: Option<Regex>,
    /// With --metric: more is better, as of requests per second
    #[arg(long, requires = "metric")]
    more_is_better: bool,
    /// Show what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Undo what a trial left that was killed
    #[arg(long, exclusive = true)]
    undo: bool,
    /// Output format: text or json
    #[arg(long, default_value = "text")]
    format: Form,
    /// Keep the recordings of the runs in this new folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// The seed of the random order
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u32>,
    /// The largest share of CPU time that other programs may use during a run of a command
    #[arg(long, value_name = "SHARE", default_value = "10%", value_parser = share)]
    max_load: f64,
    /// The largest share of CPU time that the hypervisor may take from a run
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = share)]
    max_steal: f64,
    /// Go on if the command exits with another code than 0
    #[arg(long)]
    ignore_failure: bool,
    /// Pass an argument on to `corewise record`; can be repeated
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    record_arg: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    Text,
    Json,
}

impl Args {
    fn load(&self) -> Result<Load, Failure> {
        let time = Ns(i64::try_from(self.time.as_nanos()).unwrap_or(i64::MAX));
        match self.pid {
            Some(pid) => {
                trial::may_change(pid).map_err(Failure::usage)?;
                Ok(Load::Process(pid, time))
            }
            None if self.all => Ok(Load::Machine(time)),
            None if self.command.is_empty() => {
                Err(Failure::usage("say what to try it on: a command after --, --pid PID, or --all"))
            }
            None => Ok(Load::Command(self.command.clone())),
        }
    }

    fn pairs(&self, chosen: &Chosen, load: &Load) -> Pairs {
        // Where the fix is for other programs, or the machine is recorded as it is, these are no disturbance.
        let limited = chosen.is_own && matches!(load, Load::Command(_));
        let limits = Limits { max_steal_share: self.max_steal, max_other_share: self.max_load };
        Pairs {
            pairs: self.pairs,
            warm_up: self.warm_up,
            seed: self.seed.unwrap_or_else(new_seed),
            limits: limited.then_some(limits),
            repeats: self.pairs,
            stops_at_failure: !self.ignore_failure,
        }
    }
}

/// Runs the command.
///
/// # Errors
/// There is no such finding, its fix cannot be applied from outside, or a run fails.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    if args.undo {
        return trying::undo();
    }
    let Some(trace) = &args.trace else { return Err(Failure::usage("give the recording with the finding")) };
    let load = args.load()?;
    let command = (!args.command.is_empty()).then_some(&args.command[..]);
    let metric = args.metric.clone().map(|pattern| Metric { pattern, more_is_better: args.more_is_better });
    let chosen = Chosen::find(trace, &args.finding, args.objective.as_ref(), command, metric, global)?;
    let pairs = args.pairs(&chosen, &load);
    if args.dry_run {
        print(&trying::dry_run(&chosen, &load, pairs.pairs, pairs.warm_up))?;
        return Ok(OK);
    }
    say(trying::plan(&chosen, &load, pairs.pairs, pairs.warm_up).trim_end());
    let temporary = tempfile::Builder::new().prefix("corewise-try-").tempdir();
    let temporary = temporary.map_err(|why| Failure::new(format!("no temporary folder: {why}")))?;
    let folder = match &args.keep {
        Some(path) => {
            std::fs::create_dir(path).map_err(Failure::at(path))?;
            path.clone()
        }
        None => temporary.path().to_owned(),
    };
    let (keeps, arguments) = (args.keep.is_some(), args.record_arg.clone());
    let trial = Trial { chosen: &chosen, load, pairs, arguments, folder, keeps, global };
    let (outcome, stopped) = trial.run()?;
    print(&match args.format {
        Form::Text => trying::summary(&chosen, &outcome),
        Form::Json => trying::json(&chosen, &outcome),
    })?;
    keep(trace, &chosen, &outcome);
    Ok(if stopped { INCOMPLETE } else { OK })
}

/// Keeps the result with the recording. That it cannot be kept does not make it wrong.
fn keep(trace: &Path, chosen: &Chosen, outcome: &Outcome) {
    match engine::add_trial(trace, chosen.tried(outcome)) {
        Ok(()) => say(&format!("kept with {} (`corewise diagnose` shows it)", trace.display())),
        Err(why) => say(&format!("note: the result was not kept: {why}")),
    }
}
