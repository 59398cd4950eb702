//! Records one run of one command, with this program as a child process.

use super::child;
use super::signals::Signals;
use super::watch::Watch;
use crate::args::Global;
use crate::failure::Failure;
use compare::ab::{Cores, Limits, MeasuredRun, Side, SideOf, Status, elsewhere_share, measure};
use engine::CpuChoice;
use safefs::Dir;
use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

/// The number of lines of a log that an error shows.
const LINES: usize = 5;

/// How runs are recorded.
pub struct Recorder<'a> {
    /// The global options: passed on, and used to read the recordings.
    pub global: &'a Global,
    /// Further arguments of `corewise record`.
    pub arguments: Vec<String>,
    /// Whether all users may read the recordings.
    pub shared: bool,
    /// Whether the output of commands is shown instead of written to logs.
    pub show_output: bool,
    /// When a run is disturbed.
    pub limits: Limits,
}

/// The place of a run among all.
#[derive(Clone, Copy)]
pub struct Place {
    /// The side.
    pub side: Side,
    /// The pair, from 1.
    pub pair: usize,
    /// How often this pair was recorded until then, from 1.
    pub attempt: usize,
    /// The place in the order of all runs, from 1.
    pub order: usize,
    /// Whether it is a warm-up.
    pub is_warm_up: bool,
}

impl Place {
    /// Returns the name of its folder and its log, without an ending: `a-03`, `b-warm-up-1`.
    pub fn stem(self) -> String {
        let side = self.side.word();
        if self.is_warm_up { format!("{side}-warm-up-{}", self.pair) } else { format!("{side}-{:02}", self.pair) }
    }
}

impl Recorder<'_> {
    /// Records a command into a new trace folder in `dir`. Calls `tick` each second.
    ///
    /// # Errors
    /// It cannot be recorded.
    pub fn record(&self, dir: &Dir, of: &SideOf, at: Place, mut tick: impl FnMut()) -> Result<MeasuredRun, Failure> {
        let (folder, log) = (format!("{}.cw", at.stem()), format!("{}.log", at.stem()));
        let path = dir.path().join(&folder);
        let mut recorder = self.command(dir, &folder, &log, of)?;
        let start = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut watch = Watch::start();
        let cannot = |why: std::io::Error| Failure::new(format!("cannot run corewise record: {why}"));
        let mut child = recorder.spawn().map_err(cannot)?;
        let status = child::wait(&mut child, || {
            watch.tick();
            tick();
        });
        let (exit_code, load_average, watched) =
            (child::code(status.map_err(cannot)?), watch.load_average, watch.end());
        if !path.join("manifest.json").exists() {
            return Err(self.not_recorded(dir, &log, exit_code));
        }
        let session = self.global.open(&path)?;
        let measured = measure(&session)?;
        let elsewhere_share = match bound(of).map(|cores| CpuChoice::parse(&cores.cpus)) {
            Some(Ok(CpuChoice::List(cpus))) => elsewhere_share(&session, &cpus)?,
            _ => None,
        };
        let reason = self.limits.reason(&measured.disturbance);
        Ok(MeasuredRun {
            folder: Some(folder),
            log: (!self.show_output).then_some(log),
            side: at.side,
            pair: at.pair,
            attempt: at.attempt,
            order: at.order,
            status: match (Signals::stop(), at.is_warm_up) {
                (true, _) => Status::Interrupted,
                (false, true) => Status::WarmUp,
                (false, false) => Status::Compared,
            },
            start_unix_ns: i64::try_from(start.as_nanos()).unwrap_or(i64::MAX),
            wall_ns: measured.wall_ns,
            exit_code,
            steal_share: measured.disturbance.steal_share,
            other_share: measured.disturbance.other_share,
            most_of_other: measured.disturbance.most_of_other,
            frequency_khz: watched.frequency_khz,
            throttled: watched.throttled,
            cpu_pressure: watched.cpu_pressure,
            load_average,
            elsewhere_share,
            disturbed: reason.is_some(),
            reason,
        })
    }

    fn command(&self, dir: &Dir, folder: &str, log: &str, of: &SideOf) -> Result<Command, Failure> {
        let program =
            std::env::current_exe().map_err(|why| Failure::new(format!("cannot find this program: {why}")))?;
        let mut recorder = Command::new(program);
        recorder.arg("record").arg("-o").arg(dir.path().join(folder));
        if self.shared {
            recorder.arg("--shared");
        }
        if let Some(machine) = &self.global.machine {
            let mut option = OsString::from("--machine=");
            option.push(machine);
            recorder.arg(option);
        }
        for (is_set, option) in [(self.global.strict_loss, "--strict-loss"), (self.global.inferred, "--inferred")] {
            recorder.args(is_set.then_some(option));
        }
        if let Some(cores) = bound(of) {
            recorder.arg(format!("--cores={}", cores.cpus));
        }
        recorder.args(&self.arguments).args(["--", "sh", "-c", &of.command]).stdin(Stdio::null());
        if !self.show_output {
            let path = dir.path().join(log);
            let file = dir.create(log).map_err(Failure::at(&path))?;
            let other = file.try_clone().map_err(Failure::at(&path))?;
            recorder.stdout(file).stderr(other);
        }
        Ok(recorder)
    }

    /// The error of a recorder that wrote no recording, with what it printed.
    fn not_recorded(&self, dir: &Dir, log: &str, code: i32) -> Failure {
        let text = dir.read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        let message = text.lines().rev().find_map(|line| line.strip_prefix("corewise: "));
        let why = message.map_or_else(|| format!("it exited with code {code}{}", last_lines(&text)), ToOwned::to_owned);
        Failure::new(format!("cannot record: {why}"))
    }
}

/// Returns the CPUs to which a side is bound.
fn bound(side: &SideOf) -> Option<&Cores> {
    side.cores.as_ref().filter(|cores| cores.is_bound)
}

/// Returns the last lines of a log, indented, without control characters.
pub fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(LINES)..].iter();
    last.map(|line| format!("\n  {}", model::words::plain(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_named_by_side_and_pair() {
        let at = Place { side: Side::B, pair: 3, attempt: 1, order: 9, is_warm_up: false };
        assert_eq!(at.stem(), "b-03");
        assert_eq!(Place { is_warm_up: true, ..at }.stem(), "b-warm-up-3");
        assert_eq!(Place { pair: 123, ..at }.stem(), "b-123");
    }

    #[test]
    fn an_error_shows_the_end_of_a_log() {
        assert_eq!(last_lines("1\n2\n\n3\n4\n5\n\u{1b}[2J6\n"), "\n  2\n  3\n  4\n  5\n  ?[2J6");
        assert_eq!(last_lines(""), "");
    }
}
