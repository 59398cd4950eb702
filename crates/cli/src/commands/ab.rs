//! `corewise ab`: records two commands in turn, so that they can be compared.

use crate::ab::{Experiment, Keep, Recorder, start, summary};
use crate::args::{Global, share};
use crate::failure::{Failure, INCOMPLETE, OK};
use crate::folder_name;
use crate::output::{print, say};
use clap::builder::RangedU64ValueParser;
use compare::ab::{Ended, Limits, MIN_PAIRS, Manifest, SideOf, Stop, VERSION, new_seed};
use safefs::{Access, Place};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The number of pairs without --runs and --until.
const RUNS: usize = 10;

const AFTER: &str = "\
Examples:
  corewise ab './sort-old big.txt' './sort-new big.txt'
  corewise ab --runs 20 -o ab-sort './sort-old big.txt' './sort-new big.txt'
  corewise ab --until 1% './sort-old big.txt' './sort-new big.txt'
  corewise ab --name-a j1 --name-b j2 'make -C src clean all -j1' 'make -C src clean all -j2'
  corewise ab --record-arg=--stacks --record-arg=--no-sample ./server-old ./server-new

Each command is a shell command line, run by `sh -c`, and recorded by `corewise record` as often as the other one. Both belong to a pair, \
whose order is random; of two pairs, one begins with A and one with B. --seed repeats an order. Standard input is empty. Output goes to \
DIR/a-01.log and so on, unless --show-output. Warm-ups are recorded like the others, but not compared.

Disturbed runs: a run is disturbed if other programs used more CPU time than --max-load, or the hypervisor took more than --max-steal, \
both as shares of the time of all CPUs while the command ran, taken from its recording. Kernel threads and interrupts do not count, as the command may be their \
cause; programs that exchange wakeups with the command count as part of it. A pair with a disturbed run is recorded again, at most \
--repeats times in all and after a pause of 1 to 16 s; after that it stays, marked as disturbed. How long a run took is not used for this decision. The disturbed \
recordings are kept as a-03-disturbed-1.cw.

When it ends: after --runs pairs, or with --until as soon as the half-width of the 95 % interval of the change of the time to the end is \
this share of it, after 6 to --max-runs pairs. It never ends because of a difference or the lack of one. Ctrl-C ends the running \
command; the complete pairs are kept.

DIR/ab.json lists the runs: their recordings, sides, pairs, order, times, exit codes, and what disturbed them.

Exit codes: 1 if a command fails (unless --ignore-failure) or cannot be recorded; 3 if it ended early (Ctrl-C).";

/// Record two commands in turn, as pairs in random order, so that they can be compared
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// The first command, a shell command line
    #[arg(value_name = "COMMAND_A")]
    a: String,
    /// The second command, a shell command line
    #[arg(value_name = "COMMAND_B")]
    b: String,
    /// The new folder for the recordings [default: ab-DATE-TIME]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// The number of pairs [default: 10]
    #[arg(short = 'n', long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    runs: Option<usize>,
    /// Record until the 95 % interval of the change extends no more than this share to either side (1%, 0.5%)
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with = "runs")]
    until: Option<f64>,
    /// With --until: the largest number of pairs
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = RangedU64ValueParser::<usize>::new().range(MIN_PAIRS as u64..=10_000))]
    max_runs: usize,
    /// The number of warm-ups of each command, which are not compared
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = RangedU64ValueParser::<usize>::new().range(0..=1000))]
    warm_up: usize,
    /// The name of the first side
    #[arg(long, value_name = "NAME", default_value = "A")]
    name_a: String,
    /// The name of the second side
    #[arg(long, value_name = "NAME", default_value = "B")]
    name_b: String,
    /// The seed of the random order, as printed by a former run
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u32>,
    /// The largest share of CPU time that the hypervisor may take from a run
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = share)]
    max_steal: f64,
    /// The largest share of CPU time that other programs may use during a run
    #[arg(long, value_name = "SHARE", default_value = "10%", value_parser = share)]
    max_load: f64,
    /// How many disturbed pairs are recorded again [default: as many as pairs]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(0..=100_000))]
    repeats: Option<usize>,
    /// Which recordings stay: all, or only those that are compared
    #[arg(long, value_name = "WHICH", default_value = "all")]
    keep: Keep,
    /// Go on if a command exits with another code than 0
    #[arg(long)]
    ignore_failure: bool,
    /// Show the output of the commands and of the recorder instead of writing it to logs
    #[arg(long)]
    show_output: bool,
    /// Let all users of this machine read the folder [default: only you; folders 0700, files 0600]
    #[arg(long)]
    shared: bool,
    /// Pass an argument on to `corewise record`, such as --record-arg=--stacks; can be repeated
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    record_arg: Vec<String>,
}

impl Args {
    fn manifest(&self) -> Manifest {
        let side = |name: &str, command: &str| SideOf { name: name.to_owned(), command: command.to_owned() };
        let stop = match self.until {
            Some(half_width) => Stop::Until { half_width, max_runs: self.max_runs },
            None => Stop::Runs(self.runs.unwrap_or(RUNS)),
        };
        Manifest {
            version: VERSION,
            corewise: env!("CARGO_PKG_VERSION").to_owned(),
            sides: [side(&self.name_a, &self.a), side(&self.name_b, &self.b)],
            seed: self.seed.unwrap_or_else(new_seed),
            stop,
            warm_up: self.warm_up,
            limits: Limits { max_steal_share: self.max_steal, max_other_share: self.max_load },
            max_repeats: self.repeats.unwrap_or_else(|| stop.max_pairs()),
            record_arguments: self.record_arg.clone(),
            ended: Ended::Running,
            half_width: None,
            runs: Vec::new(),
        }
    }
}

/// Runs the command.
///
/// # Errors
/// The folder exists, a command fails, or recording is not permitted.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    if args.name_a == args.name_b {
        return Err(Failure::usage("both sides have the same name: choose another one with --name-a or --name-b"));
    }
    // Read the machine file first, so that an error in it does not cost a run.
    global.pass_options()?;
    let manifest = args.manifest();
    let path = args.output.clone().unwrap_or_else(|| folder_name::unused("ab", ""));
    let (dir, place) = Place::take(&path, Access::shared(args.shared)).map_err(|why| match why.kind() {
        ErrorKind::AlreadyExists => Failure::new(format!(
            "{} already exists and is not empty: choose another folder with -o (corewise does not overwrite files)",
            path.display()
        )),
        _ => Failure::at(&path)(why),
    })?;
    drop(place);
    say(&start(&manifest, &path));
    let recorder = Recorder {
        global,
        arguments: args.record_arg.clone(),
        shared: args.shared,
        show_output: args.show_output,
        limits: manifest.limits,
    };
    let stops_at_failure = !args.ignore_failure;
    let mut experiment = Experiment { recorder, dir, manifest, keep: args.keep, stops_at_failure };
    let ended = experiment.run()?;
    print(&summary(&experiment.manifest, &path))?;
    compare(&experiment.manifest, &path, global)?;
    Ok(if ended == Ended::Interrupted { INCOMPLETE } else { OK })
}

/// Compares the pairs.
fn compare(manifest: &Manifest, dir: &Path, global: &Global) -> Result<(), Failure> {
    if manifest.pairs().is_empty() {
        return Ok(());
    }
    print(&format!("\n{}", super::compare::text_of_folder(dir, global)?))?;
    say(&format!("next: corewise compare {} --format html -o compare.html", dir.display()));
    Ok(())
}
