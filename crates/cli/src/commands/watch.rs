//! `corewise watch`: sums of what the machine does, added up in the kernel.

use crate::args::{Global, duration};
use crate::counting;
use crate::failure::{Failure, OK};
use crate::output::{self, print, say};
use crate::progress::Line;
use crate::watch_listen::{self, ListenArgs};
use crate::watching;
use capture::{CounterPlan, Running, Signals, Target};
use clap::ValueEnum;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use watch::{DEFAULT_TOP, GroupBy, Snapshot, WatchError, WatchOptions, Watcher};

const AFTER: &str = "\
Examples:
  corewise watch --for 60s                         the whole machine for a minute, by cgroup
  corewise watch -- make -j8                       the whole machine while make runs
  corewise watch --by process --top 5 --for 10s    by name of process
  corewise watch --cgroup /system.slice/db.service --cgroup /user.slice --for 10s
  corewise watch --process postgres --for 10s --format json
  corewise watch --counters '{cycles,instructions},cache-misses' -- ./game
  corewise watch --listen 127.0.0.1:9464           for Prometheus, and a page, until ended: docs/watch/prometheus.md
  corewise watch --unit                            a systemd unit that does that

The kernel adds everything up, by CPU and by group: no event is passed on or stored, so the cost is a fraction of that of a recording, and \
does not depend on the time. Each group has its running time by core type and by what the SMT sibling did, its ready time by what ran \
meanwhile (threads of the same group, of other groups, kernel threads, nothing), histograms of ready latency and of run lengths, \
wakeups, preemptions, migrations and throttling. At the end, identities are checked: the sums of all CPUs must be the time that has passed.

A cgroup's sums are those of its own threads; with --cgroup they include all cgroups below it. At most 1024 groups have sums of their own \
at the same time (fewer on machines with many CPUs); groups that did nothing lately make room, and what is left counts as (others). \
docs/watch.md has every figure and its definition.

Energy is read where the machine shows any (`corewise power` lists the sources): joules with their range, of the time for which they are known. \
The CPUs count cycles and instructions, or what --counters names, by type of core and PMU; where an event had to share its counter, the \
count is an estimate, and its time is named.

Watching needs root, or the capabilities that `corewise doctor` names. Ctrl-C ends it and prints what was added up. With --format json, \
the output of COMMAND goes to standard error.

Exit codes: that of COMMAND; 127 or 126 if COMMAND cannot be run.";

/// Watch this machine: times by core type, sibling, group and what ran instead, added up in the kernel
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// End after this time, in seconds or with a unit (2.5, 500ms, 10s, 5m)
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    time: Option<Duration>,
    /// How threads are grouped
    #[arg(long, value_enum, default_value = "cgroup")]
    by: By,
    /// How many groups are listed, those with the most running time first
    #[arg(long, value_name = "N", default_value_t = DEFAULT_TOP, value_parser = top)]
    top: usize,
    /// Only this cgroup, by its path or its name, with all cgroups below it; may be repeated
    #[arg(long, value_name = "PATH", conflicts_with_all = ["process", "by"])]
    cgroup: Vec<String>,
    /// Only processes of this name; may be repeated
    #[arg(long, value_name = "NAME", conflicts_with = "by")]
    process: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Form,
    /// The events that the CPUs count, by type of core: `default` (cycles and instructions, also without this option), another group or a list, as `corewise counters` explains
    #[arg(long, value_name = "EVENTS")]
    counters: Option<String>,
    /// Count no events of the CPUs
    #[arg(long, conflicts_with = "counters")]
    no_counters: bool,
    /// Do not read energy
    #[arg(long)]
    no_power: bool,
    /// The machine's files from which energy is read, for tests
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    power_root: PathBuf,
    #[command(flatten)]
    listen: ListenArgs,
    /// The command to run, with its arguments; watching ends when it and its children have ended
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    Cgroup,
    Process,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    Text,
    Json,
}

fn top(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| (1..=1000).contains(n)).ok_or_else(|| "expected a number from 1 to 1000".to_owned())
}

/// The longest time between two readings, so that groups that have ended make room for others.
const READ_EACH: Duration = Duration::from_secs(5);

impl From<WatchError> for Failure {
    fn from(error: WatchError) -> Self {
        match error {
            WatchError::Capture(why) => why.into(),
            other => Self::new(other.to_string()),
        }
    }
}

impl Args {
    /// Returns what is to be watched.
    ///
    /// # Errors
    /// `--counters` names no events.
    fn options(&self, machine: &engine::Machine) -> Result<WatchOptions, Failure> {
        let (by, chosen) = match (&self.cgroup[..], &self.process[..]) {
            ([], []) => (self.by.into(), Vec::new()),
            ([], names) => (GroupBy::Process, names.to_vec()),
            (paths, _) => (GroupBy::Cgroup, paths.to_vec()),
        };
        let counters = match &self.counters {
            _ if self.no_counters => CounterPlan::default(),
            Some(text) => counting::plan(text, machine)?,
            None => counting::default_plan(machine),
        };
        let energy_root = (!self.no_power).then(|| self.power_root.clone());
        Ok(WatchOptions { by, chosen, top: self.top, counters, energy_root, ..WatchOptions::default() })
    }
}

impl Args {
    /// Returns the options that say what is watched, as arguments.
    fn chosen(&self) -> Vec<String> {
        let by = (self.by != By::Cgroup).then(|| vec!["--by".to_owned(), format!("{:?}", self.by).to_lowercase()]);
        let top = (self.top != DEFAULT_TOP).then(|| vec!["--top".to_owned(), self.top.to_string()]);
        let cgroups = self.cgroup.iter().flat_map(|path| ["--cgroup".to_owned(), path.clone()]);
        let processes = self.process.iter().flat_map(|name| ["--process".to_owned(), name.clone()]);
        let counters = self.counters.iter().flat_map(|events| ["--counters".to_owned(), events.clone()]);
        let flags = [(self.no_counters, "--no-counters"), (self.no_power, "--no-power")];
        let flags = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag.to_owned());
        let groups = by.into_iter().flatten().chain(top.into_iter().flatten()).chain(cgroups).chain(processes);
        groups.chain(counters).chain(flags).collect()
    }
}

impl From<By> for GroupBy {
    fn from(by: By) -> Self {
        match by {
            By::Cgroup => Self::Cgroup,
            By::Process => Self::Process,
            By::None => Self::None,
        }
    }
}

/// Runs the command.
///
/// # Errors
/// Watching is not permitted, a group does not exist, or the command cannot be run.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    if args.listen.is_wanted() {
        let describe = machine(global)?;
        let machine = Arc::new(describe());
        let options = || args.options(&machine);
        return watch_listen::run(&args.listen, &options, &args.chosen(), Arc::clone(&machine), describe);
    }
    if args.command.is_empty() && args.time.is_none() {
        return Err(Failure::usage(
            "for how long? add --for TIME or -- COMMAND; or --listen ADDRESS:PORT for Prometheus",
        ));
    }
    let (snapshot, code) = watched(args, machine(global)?)?;
    print(&match args.format {
        Form::Text => watching::text(&snapshot, output::width(), global.color.wanted()),
        Form::Json => watching::json(&snapshot)?,
    })?;
    watching::complaints(&snapshot).iter().for_each(|line| say(line));
    Ok(code.map_or(OK, |code| u8::try_from(code).unwrap_or(u8::MAX)))
}

/// Returns what describes this machine, with what the user says about it.
fn machine(global: &Global) -> Result<impl Fn() -> engine::Machine + Send + 'static, Failure> {
    let described = global.machine()?;
    Ok(move || match &described {
        Some(described) => engine::live().overlay(described.clone()),
        None => engine::live(),
    })
}

/// Watches until the time has passed, the command has ended, or the user stops it. Returns the sums and the command's exit code.
fn watched(
    args: &Args,
    describe: impl Fn() -> engine::Machine + Send + 'static,
) -> Result<(Snapshot, Option<i32>), Failure> {
    let signals = Signals::take();
    let target = if args.command.is_empty() { Target::All } else { Target::Command(args.command.clone()) };
    let to_stderr = (args.format == Form::Json).then(output_to_stderr).transpose()?;
    let machine = Arc::new(describe());
    let options = args.options(&machine)?;
    let mut running = Running::prepare(&target)?;
    drop(to_stderr);
    let mut watcher = Watcher::start(&options, machine)?.described_by(describe);
    let begun = Instant::now();
    running.go()?;
    let mut line = Line::new();
    let mut read = begun;
    while !signals.stop() && !running.ended() {
        let elapsed = begun.elapsed();
        let left = args.time.map_or(READ_EACH, |time| time.saturating_sub(elapsed));
        if left.is_zero() {
            break;
        }
        running.wait(left.min(Duration::from_secs(1)));
        if read.elapsed() >= READ_EACH {
            watcher.read();
            read = Instant::now();
        }
        line.show(|| format!("Watching: {:.0} s", elapsed.as_secs_f64()));
    }
    drop(line);
    Ok((watcher.finish(), running.exit_code))
}

/// Standard output, while it is standard error.
struct SavedOutput(OwnedFd);

/// Lets standard output be standard error until the value is dropped: what is started meanwhile inherits that.
fn output_to_stderr() -> Result<SavedOutput, Failure> {
    let saved = std::io::stdout().as_fd().try_clone_to_owned()?;
    // SAFETY: both are descriptors of this process.
    unsafe { libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) };
    Ok(SavedOutput(saved))
}

impl Drop for SavedOutput {
    fn drop(&mut self) {
        // SAFETY: both are descriptors of this process.
        unsafe { libc::dup2(self.0.as_raw_fd(), libc::STDOUT_FILENO) };
    }
}
