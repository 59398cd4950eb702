//! `corewise ab`: records two commands in turn, so that they can be compared.

use crate::ab::{Experiment, Keep, Recorder, sides, start, summary};
use crate::args::{Global, share};
use crate::failure::{Failure, INCOMPLETE, OK};
use crate::folder_name;
use crate::output::{print, say};
use clap::builder::RangedU64ValueParser;
use compare::ab::{Ended, Limits, MIN_PAIRS, Manifest, SideOf, Stop, VERSION, new_seed};
use engine::CpuChoice;
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
  corewise ab --cores P ./game                     all CPUs, and bound to the fastest cores
  corewise ab --cores 0-3 --cores 4-7 ./game       bound to these CPUs, and bound to those
  corewise ab --record-arg=--stacks --record-arg=--no-sample ./server-old ./server-new

Each command is a shell command line, run by `sh -c`, and recorded by `corewise record` as often as the other one. Both belong to a pair, \
whose order is random; of two pairs, one begins with A and one with B. --seed repeats an order. Standard input is empty. Output goes to \
DIR/a-01.log and so on, unless --show-output. Warm-ups are recorded like the others, but not compared.

--cores compares one command on two sets of CPUs: A runs on all CPUs that are available, B is bound to those of --cores, as is all that it \
starts. If --cores is given twice, the first is A. P are the CPUs of the fastest type of cores, E those of the slowest, no-siblings one of each core of all \
types; --machine says which these are if the machine does not. CPUs that are offline or not allowed are left out, and named. The share of the \
running time on other CPUs is taken from each recording: a program that sets its own CPU affinity is not bound, and the result says so.

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
    /// The second command, a shell command line; none with --cores
    #[arg(value_name = "COMMAND_B", required_unless_present = "cores", conflicts_with = "cores")]
    b: Option<String>,
    /// Compare one command on all CPUs and bound to these: P, E, no-siblings, all, or a list such as 0-3,8; twice: bound to each of both
    #[arg(long, value_name = "CPUS", value_parser = CpuChoice::parse)]
    cores: Vec<CpuChoice>,
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
    /// The name of the first side [default: A, or its CPUs]
    #[arg(long, value_name = "NAME")]
    name_a: Option<String>,
    /// The name of the second side [default: B, or its CPUs]
    #[arg(long, value_name = "NAME")]
    name_b: Option<String>,
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
    /// The sides: two commands, or one on two sets of CPUs.
    fn sides(&self, global: &Global) -> Result<[SideOf; 2], Failure> {
        let [(name_a, cores_a), (name_b, cores_b)] = match &self.cores[..] {
            [] => [("A".to_owned(), None), ("B".to_owned(), None)],
            choices => sides(choices, global)?.map(|(name, cores)| (name, Some(cores))),
        };
        let side = |name: &Option<String>, default: String, command: &str, cores| SideOf {
            name: name.clone().unwrap_or(default),
            command: command.to_owned(),
            cores,
        };
        let b = self.b.as_ref().unwrap_or(&self.a);
        let both = [side(&self.name_a, name_a, &self.a, cores_a), side(&self.name_b, name_b, b, cores_b)];
        if both[0].name == both[1].name {
            return Err(Failure::usage("both sides have the same name: choose another one with --name-a or --name-b"));
        }
        Ok(both)
    }

    fn manifest(&self, sides: [SideOf; 2]) -> Manifest {
        let stop = match self.until {
            Some(half_width) => Stop::Until { half_width, max_runs: self.max_runs },
            None => Stop::Runs(self.runs.unwrap_or(RUNS)),
        };
        Manifest {
            version: VERSION,
            corewise: env!("CARGO_PKG_VERSION").to_owned(),
            sides,
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
    // Read the machine file first, so that an error in it does not cost a run.
    global.pass_options()?;
    let manifest = args.manifest(args.sides(global)?);
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
