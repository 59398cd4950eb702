//! The machine that is measured, and one run of a command on it.

use super::child::{Child, own_cpu_s};
use crate::ab::signals::Signals;
use crate::failure::Failure;
use crate::output::say;
use model::Span;
use power::{
    Condition, Conditions, Estimate, Found, Idle, IdleState, Lack, Meters, Refused, Resident, Tree, find, now, online,
};
use regex_lite::Regex;
use std::path::Path;
use std::time::Duration;

/// The number of units of work of a run.
pub enum Work {
    /// Not stated.
    None,
    /// The same in each run.
    Units(f64),
    /// In what the command prints.
    Pattern(Regex),
}

impl Work {
    /// Returns the work by a pattern.
    ///
    /// # Errors
    /// It is no regular expression: the message for the user.
    pub fn of_pattern(pattern: &str) -> Result<Self, String> {
        Regex::new(pattern).map(Self::Pattern).map_err(|why| format!("--work-from-output {pattern}: {why}"))
    }

    /// Returns the units in an output.
    fn of(&self, output: Option<&str>) -> Result<Option<f64>, String> {
        let pattern = match self {
            Self::None => return Ok(None),
            Self::Units(units) => return Ok(Some(*units)),
            Self::Pattern(pattern) => pattern,
        };
        let last = pattern.captures_iter(output.unwrap_or_default()).last();
        let last = last.ok_or_else(|| format!("the output has no match of --work-from-output {pattern}"))?;
        let text = last.get(1).or_else(|| last.get(0)).map_or("", |found| found.as_str());
        let units = text.trim().replace(',', "").parse::<f64>().ok().filter(|units| units.is_finite() && *units > 0.0);
        units
            .map(Some)
            .ok_or_else(|| format!("--work-from-output {pattern} found \"{text}\", which is no number above 0"))
    }
}

/// What was measured in a run.
#[derive(Debug)]
pub struct Run {
    /// From before the command began to after its end, on the kernel's CLOCK_MONOTONIC.
    pub span: Span,
    /// The exit code.
    pub code: i32,
    /// CPU time in user mode and in the kernel, s.
    pub cpu_s: [f64; 2],
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// Units of work.
    pub work: Option<f64>,
    /// Energy by domain, in the order of the machine.
    pub energy: Vec<Result<Estimate, Refused>>,
    /// Temperature, frequency, throttling.
    pub conditions: Conditions,
    /// Idle states as requested.
    pub idle: Vec<IdleState>,
    /// Idle states of the hardware.
    pub resident: Vec<Resident>,
    /// CPU time of corewise itself meanwhile, s.
    pub own_cpu_s: f64,
}

impl Run {
    /// The elapsed time, s.
    pub fn elapsed_s(&self) -> f64 {
        self.span.len().0 as f64 * 1e-9
    }
}

/// A machine with its sources.
pub struct Machine {
    /// Its files.
    pub tree: Tree,
    /// The domains of energy.
    pub meters: Meters,
    /// Temperature, frequency, throttling.
    pub condition: Condition,
    /// Idle states.
    pub idle: Idle,
    /// What sources of energy are lacking.
    pub lacks: Vec<Lack>,
    /// What is notable about the sources.
    pub notes: Vec<String>,
    /// The time between two readings.
    pub interval: Duration,
    /// The number of CPUs that are online.
    pub cpus: usize,
}

impl Machine {
    /// Opens the files of a machine.
    ///
    /// # Errors
    /// The folder cannot be opened.
    pub fn open(root: &Path, interval: Duration) -> Result<Self, Failure> {
        let tree = Tree::open(root).map_err(Failure::at(root))?;
        let Found { domains, lacks, mut notes } = find(&tree);
        let meters = Meters::new(domains);
        let longest = meters.longest().unwrap_or(Duration::MAX);
        if interval > longest {
            notes.push(format!(
                "read each {:.1} s instead of each {:.1} s, so that no counter can wrap twice between two readings",
                longest.as_secs_f64(),
                interval.as_secs_f64()
            ));
        }
        let cpus = online(&tree).len();
        let (condition, idle) = (Condition::find(&tree), Idle::find(&tree));
        Ok(Self { tree, meters, condition, idle, lacks, notes, interval: interval.min(longest), cpus })
    }

    /// Begins to measure.
    pub fn begin(&mut self) {
        self.idle.begin();
        self.condition.begin();
        self.meters.begin();
    }

    /// Reads everything.
    pub fn read(&mut self) {
        self.meters.read();
        self.condition.read();
    }

    /// Runs a command and measures meanwhile. `watch` is called at each reading; the command is ended if it returns true.
    ///
    /// # Errors
    /// The command cannot be run.
    pub fn measure(
        &mut self,
        command: &[String],
        work: &Work,
        to_stderr: bool,
        watch: Option<&mut dyn FnMut(&mut Self) -> bool>,
    ) -> Result<Run, Failure> {
        let own = own_cpu_s();
        self.begin();
        self.run(command, work, to_stderr, watch, own)
    }

    fn run(
        &mut self,
        command: &[String],
        work: &Work,
        to_stderr: bool,
        mut watch: Option<&mut dyn FnMut(&mut Self) -> bool>,
        own: f64,
    ) -> Result<Run, Failure> {
        let start = now();
        let mut child = Child::start(command, matches!(work, Work::Pattern(_)), to_stderr)?;
        let mut next = start.0;
        let mut is_ended_by_us = false;
        let ended = loop {
            // The readings keep their times, whatever each one takes.
            next = (next + self.interval.as_nanos() as i64).max(now().0);
            let ended = loop {
                let left = next - now().0;
                let ended = child.wait(Duration::from_nanos(left.max(0).unsigned_abs()));
                if ended.is_some() || next <= now().0 {
                    break ended;
                }
            };
            if let Some(ended) = ended {
                break ended;
            }
            self.read();
            if let Some(watch) = &mut watch
                && !is_ended_by_us
                && watch(self)
            {
                is_ended_by_us = true;
                child.send(libc::SIGTERM);
            }
        };
        let span = Span::new(start, now());
        self.meters.end();
        let conditions = self.condition.end();
        let (idle, resident) = (self.idle.since_begin(), self.idle.resident());
        let interrupted = Signals::stop() || is_ended_by_us;
        let work = work.of(child.output().as_deref()).unwrap_or_else(|why| {
            if !interrupted {
                say(&format!("corewise: {why}"));
            }
            None
        });
        Ok(Run {
            span,
            code: if is_ended_by_us { 0 } else { ended.code },
            cpu_s: ended.cpu_s,
            interrupted,
            work,
            energy: self.meters.domains.iter().map(|metered| metered.estimate(span)).collect(),
            conditions,
            idle,
            resident,
            own_cpu_s: own_cpu_s() - own,
        })
    }
}
