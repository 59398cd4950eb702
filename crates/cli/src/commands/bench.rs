//! `corewise bench`: measures what this machine's cores cost.

use crate::args::{Global, duration, share};
use crate::bench::before::{self, MachineKind};
use crate::bench::recorder::Recorder;
use crate::bench::{Outcome, ProbeRun, compared, data, page, stored, text};
use crate::built;
use crate::failure::{Failure, INCOMPLETE, OK};
use crate::output::{print, say, width, write_page};
use crate::progress::Line;
use bench::{Options, PROBES, Probe, Setup, Unmeasurable};
use capture::StopHandlers;
use clap::ValueEnum;
use engine::{Costs, Machine, Measured, cpulist};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The most time of a probe without --budget, and of one with --quick.
const BUDGET: Duration = Duration::from_secs(28);
const QUICK_BUDGET: Duration = Duration::from_secs(6);
/// The most time of all probes without --budget, and with --quick.
const TOTAL: Duration = Duration::from_secs(280);
const QUICK_TOTAL: Duration = Duration::from_secs(55);

const AFTER: &str = "\
Examples:
  corewise bench                           which probes are there?
  corewise bench all                       measure everything and store it as this machine's costs (under five minutes)
  corewise bench --quick all               a first look, about one minute
  corewise bench migrate switch            two probes; the figures of the others stay as they were stored
  corewise bench --precision 0.5% --budget 2m switch   until the intervals are half a percent wide to either side, or two minutes
  corewise bench --cpus 0,4 migrate        only between these CPUs
  corewise bench all --out laptop.toml     also write the machine with its costs to a file, for --machine
  corewise bench --show                    print the stored figures again
  corewise bench --show --format html -o costs.html
  corewise bench --show --compare board.toml   this machine's figures and those of another one

How it measures: each figure is the median of at least ten runs, with its 95 % interval. The series of all figures run in turn in random \
order. Each figure has a null control: the same measurement where nothing can be found, which should show nothing. Runs that other \
programs, the hypervisor or interrupts disturbed, and runs on another CPU than the intended one, are thrown away and counted. \
Some rounds are recorded by `corewise record`, which verifies each placement and each move; these do not count for the figures, and what \
recording adds is printed. Without the rights to record, placement is verified by the threads themselves.

Figures are stored in $XDG_CONFIG_HOME/corewise/machines or ~/.config/corewise/machines, where `diagnose` and `record` find them. A \
probe that is measured again replaces its figures; if the kernel, the microcode or other conditions have changed, the former figures of all \
probes are dropped. Nothing is stored with --cpus or --no-store, of an emulated machine, or of a probe that Ctrl-C ended.

Exit codes: 1 if nothing can be measured (a CPU is offline, a CPU quota, a busy machine); 3 if Ctrl-C ended it: the figures until then are printed.";

/// Measure what this machine's cores cost: moves, switches, siblings, sleeps, speeds
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// What to measure: all, or names of probes; without any, the probes are listed
    #[arg(value_name = "PROBE")]
    probes: Vec<String>,
    /// Fewer values of each parameter and less time: about one minute for all
    #[arg(long)]
    quick: bool,
    /// Measure until the 95 % interval extends no more than this share to either side (1%, 0.5%)
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = share)]
    precision: f64,
    /// The most time for each probe [default: 28 s, 6 s with --quick]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<Duration>,
    /// Measure only these CPUs (0-3,8)
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// The seed of the random order, as printed by a former run
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Do not verify the placement by a recording
    #[arg(long)]
    no_record: bool,
    /// The largest share of the CPUs' time that other programs may use before the start
    #[arg(long, value_name = "SHARE", default_value = "25%", value_parser = share)]
    max_load: f64,
    /// Measure under a CPU quota too: the times then contain the waits for it
    #[arg(long)]
    ignore_quota: bool,
    /// Also write the machine with its costs to this new file (TOML, for --machine)
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Do not store the figures as those of this machine
    #[arg(long)]
    no_store: bool,
    /// Print the stored figures of this machine, or those of --machine FILE, instead of measuring
    #[arg(long, conflicts_with = "probes")]
    show: bool,
    /// Compare with the figures of this machine file
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Also print each pair of CPUs of a class
    #[arg(long)]
    all: bool,
    /// Output format: text, json for scripts, csv (one line for each figure), html (one page with pictures), md
    #[arg(long, default_value = "text")]
    format: Form,
    /// Write the output to this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    // A time that is added to the measured steps on purpose, and must come back: 2us.
    #[arg(long, value_name = "TIME", hide = true, value_parser = crate::args::signed_duration)]
    add: Option<model::Ns>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    Text,
    Json,
    Csv,
    Html,
    Md,
}

/// Whether the user wants to stop.
static STOP: AtomicBool = AtomicBool::new(false);

extern "C" fn on_signal(_: i32, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    STOP.store(true, Ordering::Relaxed);
}

fn stops() -> bool {
    STOP.load(Ordering::Relaxed)
}

impl From<Unmeasurable> for Failure {
    fn from(why: Unmeasurable) -> Self {
        Self::new(why.0)
    }
}

/// Runs the command.
///
/// # Errors
/// Nothing can be measured or written; the message says what would help.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    if args.probes.is_empty() && !args.show && args.compare.is_none() {
        print(&list())?;
        return Ok(OK);
    }
    // Read and check files first, so that an error in them does not cost a measurement.
    let other = args.compare.as_deref().map(stored::read).transpose()?;
    for path in [&args.out, &args.output].into_iter().flatten() {
        if path.exists() {
            return Err(Failure::at(path)(std::io::ErrorKind::AlreadyExists.into()));
        }
    }
    let outcome = if args.probes.is_empty() { shown(global)? } else { measured(args, global)? };
    write(args, &outcome, other.as_ref().map(|(_, costs)| costs))?;
    if args.probes.is_empty() {
        return Ok(OK);
    }
    store(args, &outcome)?;
    Ok(if outcome.stopped() { INCOMPLETE } else { OK })
}

/// The probes, one line each.
fn list() -> String {
    let widest = PROBES.iter().map(|probe| probe.name().len()).max().unwrap_or(0);
    let mut out = format!(
        "corewise bench measures what this machine's cores cost. Each probe takes at most {} s, with --quick {} s:\n\n",
        BUDGET.as_secs(),
        QUICK_BUDGET.as_secs()
    );
    for probe in PROBES {
        // Further lines begin below the words, not below the name.
        let mut words = String::new();
        text::wrapped(&mut words, probe.about(), widest + 2, width());
        let _ = write!(out, "  {:widest$}  {}", probe.name(), words.trim_start());
    }
    out.push_str("\nnext: corewise bench all, corewise bench --quick all, corewise bench PROBE\n");
    out
}

/// The probes that the user named.
fn chosen(names: &[String]) -> Result<Vec<&'static dyn Probe>, Failure> {
    if names.iter().any(|name| name == "all") {
        return Ok(PROBES.to_vec());
    }
    let known = || PROBES.iter().map(|probe| probe.name());
    if let Some(name) = names.iter().find(|name| bench::probe(name).is_none()) {
        let meant = engine::did_you_mean(name, known());
        let all = known().collect::<Vec<_>>().join(", ");
        return Err(Failure::usage(format!(
            "there is no probe {}{meant} The probes are {all}",
            model::words::plain(name)
        )));
    }
    // In the order of `all`, each once.
    Ok(PROBES.iter().copied().filter(|probe| names.iter().any(|name| name == probe.name())).collect())
}

/// The stored figures of this machine, or those of --machine.
fn shown(global: &Global) -> Result<Outcome, Failure> {
    if let Some(path) = &global.machine {
        let (machine, costs) = stored::read(path)?;
        return Ok(Outcome { machine, costs, runs: Vec::new(), warnings: Vec::new() });
    }
    let (machine, note) = crate::costs::live();
    match machine.costs.clone() {
        Some(costs) => Ok(Outcome { machine, costs, runs: Vec::new(), warnings: note.into_iter().collect() }),
        None => Err(Failure::new(note.unwrap_or_else(|| {
            "this machine's costs were not measured yet: run `corewise bench all`, or name a machine file with --machine FILE".to_owned()
        }))),
    }
}

/// Checks the machine and measures all chosen probes.
fn measured(args: &Args, global: &Global) -> Result<Outcome, Failure> {
    let probes = chosen(&args.probes)?;
    let machine = match global.machine()? {
        Some(described) => Machine { costs: None, ..engine::live().overlay(described) },
        None => engine::live(),
    };
    let cpus = args.cpus.as_deref().map(cpulist::parse).transpose();
    let cpus = cpus.map_err(|why| Failure::usage(format!("--cpus: {why}: write the CPUs' numbers, such as 0-3,8")))?;
    let seed = args.seed.unwrap_or_else(|| u64::from(compare::ab::new_seed()));
    let mut setup = Setup::of(machine.clone(), cpus.as_deref(), args.quick, seed)?;
    setup.added_ns = args.add.map(|added| added.0 as f64);
    if !args.ignore_quota {
        before::quota(bench::quota(), setup.cpus.len())?;
    }
    before::load(&setup.cpus, args.max_load)?;
    let mut warnings: Vec<String> = Vec::new();
    warnings.extend(MachineKind::live().warning().map(ToOwned::to_owned));
    warnings.extend(before::one_cpu(&setup));
    warnings.extend(built::note());

    let _handlers = StopHandlers::install(on_signal);
    let (each, total) = if args.quick { (QUICK_BUDGET, QUICK_TOTAL) } else { (BUDGET, TOTAL) };
    let most = args.budget.unwrap_or_else(|| each.min(total / probes.len().max(1) as u32));
    say(&format!(
        "Measuring {} on CPUs {}: at most about {} s; seed {seed}",
        probes.iter().map(|probe| probe.name()).collect::<Vec<_>>().join(", "),
        cpulist::format(setup.cpus.iter().copied()),
        (most * probes.len() as u32).as_secs().max(1),
    ));
    let mut recorder = (!args.no_record).then(Recorder::default);
    let (mut runs, mut figures) = (Vec::new(), Vec::new());
    let begin = Instant::now();
    for (at, probe) in probes.iter().enumerate() {
        if stops() {
            // Before it began, so that what was requested is not complete.
            runs.push(ProbeRun { stopped: true, ..ProbeRun::of(probe.name()) });
            break;
        }
        let left = (probes.len() - at) as u32;
        let budget = match args.budget {
            Some(budget) => budget,
            // What earlier probes did not use, or used beyond their budget, is shared by the rest.
            None => each.min(total.saturating_sub(begin.elapsed()) / left).max(Duration::from_secs(2)),
        };
        let options = Options { precision: args.precision, budget };
        let (run, mut costs) = measure(*probe, [at + 1, probes.len()], &setup, &options, recorder.as_mut());
        runs.push(run);
        figures.append(&mut costs);
    }
    if let Some(why) = recorder.as_ref().and_then(Recorder::failed) {
        warnings.push(format!(
            "placement was verified by the threads' own readings (getcpu, counts of switches) and not by a recording: {why}"
        ));
    }
    let mut left_out: Vec<String> = Vec::new();
    for run in &runs {
        left_out.extend(run.lacks.iter().map(|lack| format!("{}: {lack}", run.name)));
    }
    let measured = Measured {
        at: now(),
        corewise: env!("CARGO_PKG_VERSION").to_owned(),
        conditions: capture::cost_conditions(),
        left_out,
    };
    Ok(Outcome { machine, costs: Costs { measured, figures }, runs, warnings })
}

/// Measures one probe.
fn measure(
    probe: &dyn Probe,
    [number, of]: [usize; 2],
    setup: &Setup,
    options: &Options,
    recorder: Option<&mut Recorder>,
) -> (ProbeRun, Vec<engine::Cost>) {
    let name = probe.name();
    let mut run = ProbeRun::of(name);
    let mut line = Line::new();
    line.show(|| format!("Preparing {name} ({number} of {of})"));
    let plan = match probe.plan(setup) {
        Ok(plan) => plan,
        Err(why) => {
            run.lacks.push(format!("{name} was not measured: {why}"));
            return (run, Vec::new());
        }
    };
    if plan.figures.is_empty() {
        run.lacks = plan.left_out;
        if run.lacks.is_empty() {
            run.lacks.push("left out: these CPUs have nothing for it to measure".to_owned());
        }
        return (run, Vec::new());
    }
    let can_record = recorder.as_ref().is_some_and(|recorder| recorder.failed().is_none());
    let recorder = recorder.filter(|_| can_record).map(|of| of as &mut dyn bench::Recorder);
    let later = options.budget * (of - number) as u32;
    let done = bench::measure(name, plan, setup, options, recorder, &stops, &mut |p| {
        line.show(|| {
            let left = (p.budget.saturating_sub(p.elapsed) + later).as_secs();
            format!(
                "Measuring {name} ({number} of {of}): {} of {} figures precise, at most {left} s left",
                p.precise, p.figures
            )
        });
    });
    run.lacks = done.lacks;
    run.notes = done.notes;
    run.verified = done.verified;
    run.disturbed_share = done.disturbed_share;
    run.recording_ratio = done.recording_ratio;
    run.stopped = done.stopped;
    (run, done.costs)
}

/// The time of day, RFC 3339.
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let date = model::words::date(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX));
    date.replace(" UTC", "Z").replacen(' ', "T", 1)
}

/// Writes the figures, and how they compare.
fn write(args: &Args, outcome: &Outcome, other: Option<&Costs>) -> Result<(), Failure> {
    let path = args.compare.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    let other = other.map(|costs| (costs, path.as_str()));
    let output = match args.format {
        Form::Text => {
            let mut out = text::text(outcome, args.all, width());
            if let Some((other, name)) = other {
                out.push('\n');
                out.push_str(&compared::text(outcome, other, name, width()));
            }
            out
        }
        Form::Json => {
            let mut json = data::json(outcome);
            if let Some((other, _)) = other {
                json["compared"] = compared::json(&outcome.costs, other);
            }
            let text = serde_json::to_string_pretty(&json);
            text.map_err(|why| Failure::new(format!("cannot write the figures: {why}")))? + "\n"
        }
        Form::Csv => data::csv(outcome),
        Form::Html => page::html(outcome, other),
        Form::Md => data::markdown(outcome),
    };
    match &args.output {
        Some(path) => write_page(path, &output, "what the cores of this machine cost"),
        None => print(&output),
    }
}

/// Stores what is complete: in the user's table of this machine, and in --out.
fn store(args: &Args, outcome: &Outcome) -> Result<(), Failure> {
    let stopped: Vec<&str> = outcome.runs.iter().filter(|run| run.stopped).map(|run| run.name).collect();
    let mut costs = outcome.costs.clone();
    costs.figures.retain(|cost| !stopped.contains(&cost.probe.as_str()));
    if costs.figures.is_empty() {
        say("nothing was stored: no probe is complete");
        return Ok(());
    }
    if let Some(name) = stopped.first() {
        costs.measured.left_out.retain(|sentence| !sentence.starts_with(&format!("{name}: ")));
        say(&format!("not stored: the figures of {name}, which was stopped"));
    }
    if let Some(path) = &args.out {
        stored::write(path, &Machine { costs: Some(costs.clone()), ..outcome.machine.clone() })?;
        say(&format!("{}: this machine with its costs, for --machine", path.display()));
    }
    let why_not = match () {
        () if args.no_store => return Ok(()),
        () if args.add.is_some() => "a delay was added to the steps",
        () if args.cpus.is_some() => "--cpus measures a part of the machine (--out FILE writes it to a file)",
        () if MachineKind::live() == MachineKind::Emulated => "the times of an emulator mean nothing",
        () => "",
    };
    if !why_not.is_empty() {
        say(&format!("not stored as this machine's costs: {why_not}"));
        return Ok(());
    }
    // The machine as the kernel describes it: `record` and `diagnose` look it up by that.
    let machine = engine::live();
    let former = engine::stored_costs(&machine).unwrap_or_else(|why| {
        say(&format!("note: the former figures are replaced: {why}"));
        None
    });
    let (costs, sentences) = stored::merge(former, costs);
    let path = engine::store_costs(&Machine { costs: Some(costs), ..machine }).map_err(Failure::new)?;
    sentences.iter().for_each(|sentence| say(sentence));
    say(&format!("{}: stored; `record` and `diagnose` use these figures", path.display()));
    Ok(())
}
