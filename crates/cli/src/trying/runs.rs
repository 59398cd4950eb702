//! The runs of a trial: pairs without and with the fix, in random order, each recorded, measured and removed.

use super::recorder::{self, Load};
use super::{Chosen, text};
use crate::ab::signals::Signals;
use crate::ab::{child, last_lines};
use crate::args::Global;
use crate::failure::Failure;
use crate::output::say;
use crate::progress::Line;
use compare::ab::{Decision, Disturbance, Limits, Order, Side, decide, measure, pause, time_left};
use diagnose::{Finding, ObjectiveKind, Options};
use model::pool_name;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use trial::{Applied, Applier, Journal, Outcome, Run, Scope};

/// A setting of a running program has an effect from its next switch on; queues need longer to change.
const SETTLE: Duration = Duration::from_millis(300);

/// How many runs, and when they count.
pub struct Pairs {
    /// The number of pairs.
    pub pairs: usize,
    /// The number of runs of each side before the pairs, which are not compared.
    pub warm_up: usize,
    /// The seed of their order.
    pub seed: u32,
    /// When a run is disturbed; `None` if other programs belong to what is tried.
    pub limits: Option<Limits>,
    /// How many disturbed pairs are recorded again.
    pub repeats: usize,
    /// Whether a command that fails ends the trial.
    pub stops_at_failure: bool,
}

/// A trial.
pub struct Trial<'a> {
    /// The finding.
    pub chosen: &'a Chosen,
    /// What is recorded.
    pub load: Load,
    /// How many runs.
    pub pairs: Pairs,
    /// Further arguments of `corewise record`.
    pub arguments: Vec<String>,
    /// The folder for the recordings.
    pub folder: PathBuf,
    /// Whether the recordings stay.
    pub keeps: bool,
    /// The global options.
    pub global: &'a Global,
}

/// All runs that were measured.
#[derive(Default)]
struct Measured {
    /// The complete pairs, without and with the fix.
    runs: [Vec<Run>; 2],
    /// Whether some run with the fix did not get it.
    not_applied: bool,
    /// The number of pairs that other programs disturbed and that could not be repeated.
    disturbed: usize,
}

/// A run that was recorded.
struct RecordedRun {
    run: Run,
    disturbance: Disturbance,
    applied: Applied,
}

/// Names alternatives: `a, b or c`.
fn alternatives(of: &[&str]) -> String {
    match of {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => of.concat(),
    }
}

impl Trial<'_> {
    /// Records all runs. Whatever happens, what was changed is undone.
    ///
    /// # Errors
    /// A run cannot be recorded or measured, the fix cannot be applied, or other programs disturb most of the pairs.
    pub fn run(&self) -> Result<(Outcome, bool), Failure> {
        let _signals = Signals::take();
        let journal = Journal::begin().map_err(|why| Failure::new(format!("nothing was changed: {why}")))?;
        let mut journal = Some(journal);
        let done = self.all_runs(&mut journal);
        let ended = journal.take().map(Journal::end).transpose();
        let undone = ended.map_err(|why| Failure::new(format!("{why}: run `corewise try --undo`")))?;
        if let Some(left) = undone.and_then(|undone| undone.left.into_iter().next()) {
            return Err(Failure::new(format!("not undone: {left}")));
        }
        let measured = done?;
        let [without, with] = &measured.runs;
        if with.is_empty() {
            return Err(Failure::new("no pair was completed: nothing was measured"));
        }
        let chosen = self.chosen;
        let outcome = Outcome::new(chosen.measure(), without, with, chosen.predicted(), !measured.not_applied);
        Ok((outcome, Signals::stop()))
    }

    fn all_runs(&self, journal: &mut Option<Journal>) -> Result<Measured, Failure> {
        let mut measured = Measured::default();
        for _ in 0..self.pairs.warm_up {
            for side in Side::BOTH {
                let one = self.record(side, "warm-up", journal)?;
                if Signals::stop() {
                    return Ok(measured);
                }
                self.check(side, &one)?;
            }
        }
        let (begin, mut repeats) = (Instant::now(), 0);
        for (pair, sides) in (1..=self.pairs.pairs).zip(Order::new(self.pairs.seed)) {
            for attempt in 1.. {
                let left = time_left(begin.elapsed(), pair - 1, self.pairs.pairs + 1 - pair);
                let doing = text::progress(pair, self.pairs.pairs, left);
                let mut both = [None, None];
                for side in sides {
                    both[side.index()] = Some(self.record(side, &doing, journal)?);
                    if Signals::stop() {
                        return Ok(measured);
                    }
                }
                let [Some(without), Some(with)] = both else { break };
                let left = self.pairs.repeats.saturating_sub(repeats);
                let decision = self
                    .pairs
                    .limits
                    .map_or(Decision::Keep, |limits| decide([&without.disturbance, &with.disturbance], &limits, left));
                say(&text::pair(pair, self.chosen.measure(), [&without.run, &with.run], decision));
                if decision == Decision::Repeat {
                    repeats += 1;
                    child::pause(pause(attempt));
                    continue;
                }
                measured.disturbed += usize::from(decision == Decision::KeepDisturbed);
                self.stop_if_disturbed(&measured, &without, &with)?;
                measured.not_applied |= !self.is_applied(&with.applied);
                measured.runs[0].push(without.run);
                measured.runs[1].push(with.run);
                break;
            }
        }
        Ok(measured)
    }

    /// Stops when more than half of all pairs are disturbed.
    fn stop_if_disturbed(&self, measured: &Measured, without: &RecordedRun, with: &RecordedRun) -> Result<(), Failure> {
        if measured.disturbed * 2 <= self.pairs.pairs {
            return Ok(());
        }
        let reason = |one: &RecordedRun| self.pairs.limits.and_then(|limits| limits.reason(&one.disturbance));
        let why = reason(without).or_else(|| reason(with)).unwrap_or_default();
        Err(Failure::new(format!(
            "{} of {} pairs were disturbed: {why}. Stop the other programs, or allow more with --max-load",
            measured.disturbed, self.pairs.pairs
        )))
    }

    fn is_applied(&self, applied: &Applied) -> bool {
        use trial::Step;
        let plan = &self.chosen.plan;
        let is_of_threads = |step: &Step| matches!(step, Step::Threads(_) | Step::Weight(_) | Step::Spread(_));
        let of_threads = plan.steps.iter().any(is_of_threads);
        let of_files = plan.steps.iter().any(|step| matches!(step, Step::File { .. }));
        (!of_threads || applied.threads > 0)
            && (!of_files || applied.files > 0)
            && (plan.libraries.is_empty() || applied.has_library)
    }

    /// Whether the warm-ups show that the trial can be made.
    fn check(&self, side: Side, one: &RecordedRun) -> Result<(), Failure> {
        if side == Side::A || self.is_applied(&one.applied) {
            return Ok(());
        }
        if !self.chosen.plan.libraries.is_empty() && !one.applied.has_library {
            return Err(Failure::new(format!(
                "the fix was not applied: no process of the command loads {}, for which it is. It needs a change of the program",
                alternatives(self.chosen.plan.libraries)
            )));
        }
        let what = match &self.chosen.selector {
            Some(selector) if one.applied.threads == 0 => {
                let weighs = self.chosen.plan.steps.iter().any(|step| matches!(step, trial::Step::Weight(_)));
                let place = if weighs { " in a cgroup other than the root, which has no weight" } else { "" };
                format!("no thread named {} ran{place}", text::shown(selector))
            }
            _ => "a file of the fix did not exist while it ran".to_owned(),
        };
        Err(Failure::new(format!("the fix was not applied: {what}. Is this the command that was recorded?")))
    }

    /// Records, measures and removes one run.
    fn record(&self, side: Side, doing: &str, journal: &mut Option<Journal>) -> Result<RecordedRun, Failure> {
        let with_fix = side == Side::B;
        let name = if with_fix { "with" } else { "without" };
        let mut line = Line::new();
        let begin = Instant::now();
        let mut show = || line.show(|| format!("{doing}: {name} the fix ({:.0} s)", begin.elapsed().as_secs_f64()));
        show();
        let own = std::process::id().cast_signed();
        let scope = match (&self.load, self.chosen.is_own) {
            (Load::Command(_), true) => Scope::StartedBy(own),
            (Load::Process(pid, _), true) => Scope::Process(*pid),
            _ => Scope::User,
        };
        let begun = journal.take().ok_or_else(|| Failure::new("there is no journal"))?;
        let applier = Applier::start(&self.chosen.plan, self.chosen.selector.as_ref(), scope, with_fix, begun);
        if !matches!(self.load, Load::Command(_)) {
            child::pause(SETTLE);
        }
        let load = match &self.load {
            Load::Command(words) if with_fix => Load::Command(self.chosen.plan.command(words).to_vec()),
            load => load.clone(),
        };
        let variables: Vec<_> = if with_fix { self.chosen.plan.variables().collect() } else { Vec::new() };
        let [folder, log] = ["cw", "log"].map(|ending| self.folder.join(format!("{name}.{ending}")));
        let recorded = recorder::record(&load, &variables, &self.arguments, [&folder, &log], self.global, show);
        let hint = |why: std::io::Error| Failure::new(format!("{why}: run `corewise try --undo`"));
        let (back, applied) = applier.stop().map_err(hint)?;
        *journal = Some(back);
        let recorded = recorded?;
        if let Some(why) = applied.failed.filter(|_| with_fix) {
            return Err(Failure::new(format!("the fix cannot be applied: {why}")));
        }
        if recorded.code != 0 && self.pairs.stops_at_failure && !Signals::stop() && matches!(load, Load::Command(_)) {
            return Err(Failure::new(format!(
                "the command failed with exit code {}; --ignore-failure goes on after failures{}",
                recorded.code,
                last_lines(crate::ab::of_command(&recorded.log))
            )));
        }
        let applied = Applied { failed: None, ..applied };
        let (run, disturbance) = if Signals::stop() {
            let none = Run { value: 0.0, count: 0, late: 0, has_finding: None, threads: 0 };
            (none, Disturbance::default())
        } else {
            self.measured(&folder, &recorded.log, applied.threads)?
        };
        self.set_aside(&folder)?;
        Ok(RecordedRun { run, disturbance, applied })
    }

    /// Measures a recording.
    fn measured(&self, folder: &Path, log: &str, threads: usize) -> Result<(Run, Disturbance), Failure> {
        let session = self.global.open_kept(folder)?;
        let of_command = measure(&session)?;
        let options = Options {
            only: vec![self.chosen.finding.rule.to_owned()],
            target: Some(self.chosen.target.clone()),
            ..Options::default()
        };
        let diagnosis = diagnose::diagnose(&session, &options)?;
        let pool = |of: &Finding| of.threads.first().map(|claim| pool_name(&claim.name).to_owned());
        let is_same = |of: &Finding| of.rule == self.chosen.finding.rule && pool(of) == pool(&self.chosen.finding);
        let has_finding = (!diagnosis.checked.is_empty()).then(|| diagnosis.findings.iter().any(is_same));
        let objective = diagnosis.objective.ok_or_else(|| Failure::new("the run has no objective"))?;
        let (value, count, late) = match (&self.chosen.metric, objective.kind) {
            (Some(metric), _) => {
                let printed = crate::ab::of_command(log);
                let missing = || {
                    Failure::new(format!("the command printed no number that --metric finds{}", last_lines(printed)))
                };
                (metric.read(printed).ok_or_else(missing)?, 1, 0)
            }
            (None, ObjectiveKind::End | ObjectiveKind::Thread | ObjectiveKind::Throughput) => {
                let ns = of_command.wall_ns.ok_or_else(|| Failure::new("the end of the command was not recorded"))?;
                (ns as f64, 1, 0)
            }
            _ => (objective.late_ns.0 as f64 / objective.count.max(1) as f64, objective.count, objective.late),
        };
        Ok((Run { value, count, late, has_finding, threads }, of_command.disturbance))
    }

    /// Removes a recording, or gives it a name of its own.
    fn set_aside(&self, folder: &Path) -> Result<(), Failure> {
        if !self.keeps {
            return std::fs::remove_dir_all(folder).map_err(Failure::at(folder));
        }
        let stem = folder.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let numbered = (1..).map(|number| folder.with_file_name(format!("{stem}-{number:02}.cw")));
        let Some(free) = numbered.into_iter().find(|path| !path.exists()) else { return Ok(()) };
        std::fs::rename(folder, &free).map_err(Failure::at(&free))
    }
}
