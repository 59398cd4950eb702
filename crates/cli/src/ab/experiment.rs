//! All runs: warm-ups, pairs, repeats of disturbed pairs, and the list of runs.

use super::child;
use super::recorder::{Place, Recorder, last_lines};
use super::signals::Signals;
use super::text;
use crate::failure::Failure;
use crate::output::say;
use crate::progress::Line;
use clap::ValueEnum;
use compare::ab::{
    Approach, Decision, Disturbance, Ended, FILE, Manifest, MeasuredRun, Order, Status, decide, half_width, pause,
    time_left,
};
use safefs::Dir;
use std::time::{Duration, Instant};

/// Which recordings stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Keep {
    /// All.
    All,
    /// Only those that are compared: not warm-ups, and not disturbed pairs that were recorded again.
    Compared,
}

/// Two commands that are recorded in turn.
pub struct Experiment<'a> {
    /// How runs are recorded.
    pub recorder: Recorder<'a>,
    /// The folder.
    pub dir: Dir,
    /// The list of runs, empty at the start.
    pub manifest: Manifest,
    /// Which recordings stay.
    pub keep: Keep,
    /// Whether a command that fails ends the runs.
    pub stops_at_failure: bool,
}

impl Experiment<'_> {
    /// Records all runs. The list of runs is written in any case, and states how it ended.
    ///
    /// # Errors
    /// A command failed, cannot be recorded, or the folder cannot be written.
    pub fn run(&mut self) -> Result<Ended, Failure> {
        let _signals = Signals::take();
        let done = self.save().and_then(|()| self.all_runs());
        // An error of a recording that the user stopped is no failure.
        let done = if Signals::stop() { Ok(Ended::Interrupted) } else { done };
        self.manifest.ended = *done.as_ref().unwrap_or(&Ended::Failed);
        let saved = self.save().and_then(|()| self.dir.hand_over().map_err(Failure::at(self.dir.path())));
        done.and_then(|ended| saved.map(|()| ended))
    }

    fn all_runs(&mut self) -> Result<Ended, Failure> {
        let mut order = self.manifest.order();
        self.warm_up()?;
        let begin = Instant::now();
        let mut repeats = 0;
        for pair in 1.. {
            let Some(sides) = order.next() else { break };
            for attempt in 1.. {
                let left = self.left(pair - 1, begin.elapsed());
                for side in sides {
                    let order = self.manifest.runs.len() + 1;
                    self.record(Place { side, pair, attempt, order, is_warm_up: false }, &left)?;
                    if Signals::stop() {
                        return Ok(Ended::Interrupted);
                    }
                }
                let max = self.manifest.max_repeats;
                let decision = self.decide(max.saturating_sub(repeats));
                say(&text::pair(&self.manifest, decision));
                if decision != Decision::Repeat {
                    break;
                }
                repeats += 1;
                self.set_aside(attempt)?;
                child::pause(pause(attempt));
            }
            self.manifest.half_width = self.half_width();
            self.save()?;
            match self.manifest.stop.approach(pair, self.manifest.half_width) {
                Approach::Left(_) => {}
                Approach::Reached => break,
                Approach::TooWide => return Ok(Ended::TooWide),
            }
        }
        Ok(Ended::Complete)
    }

    /// Records each command a few times without comparing it: files are then in memory, and a command that fails is found early.
    fn warm_up(&mut self) -> Result<(), Failure> {
        // Balanced as the pairs are, but not from their random numbers, so that the number of warm-ups does not change these.
        let mut sides = Order::new(self.manifest.seed.wrapping_add(1));
        for number in 1..=self.manifest.warm_up {
            let Some(sides) = sides.next() else { break };
            for side in sides {
                let order = self.manifest.runs.len() + 1;
                let at = Place { side, pair: number, attempt: 1, order, is_warm_up: true };
                self.record(at, &format!("warm-up {number} of {}", self.manifest.warm_up))?;
                if Signals::stop() {
                    return Ok(());
                }
            }
        }
        if self.keep == Keep::Compared {
            self.remove(Status::WarmUp)?;
        }
        Ok(())
    }

    /// Records one run, and adds it to the list.
    fn record(&mut self, at: Place, doing: &str) -> Result<(), Failure> {
        if Signals::stop() {
            return Ok(());
        }
        let side = &self.manifest.sides[at.side.index()];
        let mut line = Line::new();
        let begin = Instant::now();
        let show = |line: &mut Line| {
            line.show(|| format!("{doing}: recording {} ({:.0} s)", side.name, begin.elapsed().as_secs_f64()));
        };
        show(&mut line);
        let run = self.recorder.record(&self.dir, side, at, || show(&mut line))?;
        drop(line);
        let is_first = !self.manifest.runs.iter().any(|run| run.side == at.side);
        if let Some(note) = text::short(side, &run).filter(|_| is_first) {
            say(&note);
        }
        let failed = run.exit_code != 0 && run.status != Status::Interrupted && self.stops_at_failure;
        let failure = failed.then(|| self.failure(&run));
        self.manifest.runs.push(if failed { MeasuredRun { status: Status::Failed, ..run } } else { run });
        self.save()?;
        failure.map_or(Ok(()), Err)
    }

    /// The error of a command that failed: which run, its exit code, and the end of its log.
    fn failure(&self, run: &MeasuredRun) -> Failure {
        let side = &self.manifest.sides[run.side.index()];
        let place = match run.status {
            Status::WarmUp => format!("warm-up {}", run.pair),
            _ => format!("pair {}", run.pair),
        };
        let log = run.log.as_ref().map_or_else(String::new, |log| {
            let text = self.dir.read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
            format!(", the log is {}{}", self.dir.path().join(log).display(), last_lines(text::of_command(&text)))
        });
        Failure::new(format!(
            "{} ({}) failed with exit code {} in {place}; --ignore-failure goes on after failures{log}",
            side.name, side.command, run.exit_code
        ))
    }

    /// Decides about the last two runs. Durations are not passed on.
    fn decide(&self, repeats_left: usize) -> Decision {
        let of = |run: &MeasuredRun| Disturbance {
            steal_share: run.steal_share,
            other_share: run.other_share,
            most_of_other: run.most_of_other.clone(),
        };
        match self.manifest.runs.as_slice() {
            [.., a, b] => decide([&of(a), &of(b)], &self.manifest.limits, repeats_left),
            _ => Decision::Keep,
        }
    }

    /// Renames the recordings of the last pair, which is recorded again, or removes them.
    fn set_aside(&mut self, attempt: usize) -> Result<(), Failure> {
        let first = self.manifest.runs.len().saturating_sub(2);
        for run in &mut self.manifest.runs[first..] {
            let renamed = |name: &str| match name.rsplit_once('.') {
                Some((stem, ending)) => format!("{stem}-disturbed-{attempt}.{ending}"),
                None => format!("{name}-disturbed-{attempt}"),
            };
            run.status = Status::Repeated;
            for name in [&mut run.folder, &mut run.log].into_iter().flatten() {
                let new = renamed(name);
                self.dir.rename(&*name, &self.dir, &new).map_err(Failure::at(&self.dir.path().join(&*name)))?;
                *name = new;
            }
        }
        if self.keep == Keep::Compared {
            self.remove(Status::Repeated)?;
        }
        self.save()
    }

    /// Removes the recordings of runs that are not compared. Their logs stay.
    fn remove(&mut self, status: Status) -> Result<(), Failure> {
        for run in self.manifest.runs.iter_mut().filter(|run| run.status == status) {
            if let Some(name) = run.folder.take() {
                self.dir.remove_all(&name).map_err(Failure::at(&self.dir.path().join(&name)))?;
            }
        }
        self.save()
    }

    fn half_width(&self) -> Option<f64> {
        let [a, b] = self.manifest.wall_ns();
        half_width(&a, &b, true)
    }

    /// Describes what is being recorded after `pairs` pairs, what was measured last, and how long the rest takes.
    fn left(&self, pairs: usize, spent: Duration) -> String {
        let left = match self.manifest.stop.approach(pairs, self.manifest.half_width) {
            Approach::Left(left) => left,
            Approach::Reached | Approach::TooWide => 1,
        };
        text::progress(&self.manifest, pairs + 1, pairs + left, time_left(spent, pairs, left))
    }

    /// Writes the list of runs.
    fn save(&self) -> Result<(), Failure> {
        let path = self.dir.path().join(FILE);
        let text = serde_json::to_string_pretty(&self.manifest);
        let text = text.map_err(|why| Failure::new(format!("{}: {why}", path.display())))?;
        self.dir.replace(FILE, (text + "\n").as_bytes()).map(drop).map_err(Failure::at(&path))
    }
}
