//! Runs the workspace's tests, including ignored ones whose requirements this machine meets, in two stages.
//!
//! **still**: tests that decide by what they are given. Each program runs them all together, and several programs run at a time.
//!
//! **live**: tests that measure this machine (`live.rs`). Each runs in a process of its own, one at a time.
//!
//! Tests whose requirements are not met are reported as ignored with what they lack. If a test does not run although its
//! requirements are met, that is a failure.

mod live;
mod load;
mod program;

use crate::needs::{self, NEEDS};
use crate::repo::{Repo, text};
pub use program::Program;
use program::Test;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// What runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Still,
    Live,
}

/// The results of all stages.
#[derive(Default)]
struct Done {
    ran: usize,
    ignored: usize,
    /// The failures, a line each.
    wrong: Vec<String>,
    /// How many tests with a requirement ran, and how many did not.
    needs: BTreeMap<&'static str, (usize, usize)>,
    /// Lines of `times.tsv`.
    times: String,
}

/// Runs the tests. `words`: `still` or `live` for one stage, then cargo's arguments: `-p corewise-capture` for one package.
/// `Err`: the failures, a line each.
pub fn run(repo: &Repo, words: &[String]) -> Result<(), Vec<String>> {
    run_of(repo, words, &|programs| programs)
}

/// Like [`run`], but only the programs that `chosen` returns.
pub fn run_of(repo: &Repo, words: &[String], chosen: &dyn Fn(Vec<Program>) -> Vec<Program>) -> Result<(), Vec<String>> {
    let one = |why: String| vec![why];
    let (stages, words): (&[Stage], _) = match words.first().map(String::as_str) {
        Some("still") => (&[Stage::Still], &words[1..]),
        Some("live") => (&[Stage::Live], &words[1..]),
        _ => (&[Stage::Still, Stage::Live], words),
    };
    let (programs, corewise) = program::built(repo, words).map_err(one)?;
    let programs = chosen(programs);
    let met = needs::met(repo, &corewise).map_err(one)?;
    let mut tests = Vec::new();
    for program in &programs {
        tests.push(program.tests().map_err(|why| vec![format!("{}: {why}", program.source)])?);
    }
    let whole = words.is_empty();
    if whole {
        live::check(&programs, &tests).map_err(one)?;
    }
    let mut done = Done::default();
    for &stage in stages {
        let jobs: Vec<Job> =
            programs.iter().zip(&tests).map(|(program, all)| Job::of(stage, program, all, &met)).collect();
        for job in &jobs {
            done.count(&job.runs, &job.kept);
        }
        match stage {
            Stage::Still => still(jobs, &mut done),
            Stage::Live => {
                for job in jobs {
                    let begin = Instant::now();
                    let wrong = live::run(job.program, &job.runs);
                    done.ended(stage, &job, begin.elapsed(), wrong);
                }
            }
        }
        // A single package may have no library, and so no documentation.
        if stage == Stage::Still && whole {
            let begin = Instant::now();
            if !program::cargo(repo, words).arg("--doc").status().is_ok_and(|status| status.success()) {
                done.wrong.push("the examples of the documentation".to_owned());
            }
            done.took(stage, "examples of the documentation", 0, begin.elapsed());
        }
    }
    done.print(programs.len());
    if whole {
        let path = times(repo, &stages.iter().map(|stage| stage.name()).collect::<Vec<_>>().join("-"));
        std::fs::write(&path, &done.times).map_err(|why| vec![format!("{}: {why}", path.display())])?;
    }
    if done.wrong.is_empty() { Ok(()) } else { Err(done.wrong) }
}

/// The tests of one program in one stage.
struct Job<'a> {
    program: &'a Program,
    /// All tests of the program.
    all: &'a [Test],
    runs: Vec<&'a Test>,
    /// Those whose requirements are not met.
    kept: Vec<&'a Test>,
}

impl<'a> Job<'a> {
    fn of(stage: Stage, program: &'a Program, all: &'a [Test], met: &BTreeMap<&str, bool>) -> Self {
        let of_stage = all.iter().filter(|test| live::is_live(program, test) == (stage == Stage::Live));
        let (runs, kept) = of_stage.partition(|test| test.needs.iter().all(|need| met.get(need.name) == Some(&true)));
        Self { program, all, runs, kept }
    }
}

/// How many programs run at a time.
pub fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// The file with the seconds of each program in the last run of all tests of these stages.
fn times(repo: &Repo, stages: &str) -> PathBuf {
    Path::new(text(&repo.metadata["target_directory"])).join(format!("times-{stages}.tsv"))
}

/// The seconds that the programs took in the last run of all still tests, by source; nothing without one.
pub fn last_seconds(repo: &Repo) -> BTreeMap<String, f64> {
    let lines = std::fs::read_to_string(times(repo, Stage::Still.name())).unwrap_or_default();
    let of_line = |line: &str| {
        let mut cells = line.split('\t').skip(1);
        Some((cells.next()?.to_owned(), cells.nth(1)?.parse().ok()?))
    };
    lines.lines().filter_map(of_line).collect()
}

impl Stage {
    const fn name(self) -> &'static str {
        match self {
            Self::Still => "still",
            Self::Live => "live",
        }
    }
}

impl Done {
    fn count(&mut self, runs: &[&Test], kept: &[&Test]) {
        self.ran += runs.len();
        self.ignored += kept.len();
        for need in runs.iter().flat_map(|test| &test.needs) {
            self.needs.entry(need.name).or_default().0 += 1;
        }
        for need in kept.iter().flat_map(|test| &test.needs) {
            self.needs.entry(need.name).or_default().1 += 1;
        }
    }

    fn ended(&mut self, stage: Stage, job: &Job, took: Duration, wrong: Option<String>) {
        self.took(stage, &job.program.source, job.runs.len(), took);
        self.wrong.extend(wrong.map(|why| format!("{}: {why}", job.program.source)));
    }

    fn took(&mut self, stage: Stage, what: &str, tests: usize, took: Duration) {
        let _ = writeln!(self.times, "{}\t{what}\t{tests}\t{:.2}", stage.name(), took.as_secs_f64());
    }

    fn print(&self, programs: usize) {
        println!("\nWhat tests need of the machine:");
        for need in NEEDS {
            match self.needs.get(need.name) {
                Some((0, not)) => println!("  {:27} {not:3} ignored: {}", need.name, need.how),
                Some((of, 0)) => println!("  {:27} {of:3} ran", need.name),
                Some((of, not)) => println!("  {:27} {of:3} ran, {not} ignored for other needs", need.name),
                None => {}
            }
        }
        println!("{} tests of {programs} programs ran, {} were ignored", self.ran, self.ignored);
    }
}

/// Runs the programs, as many at a time as there are CPUs, because many end with one long test that needs only one. Those with most tests start
/// first. A program's output is printed when it has ended.
fn still(mut jobs: Vec<Job>, done: &mut Done) {
    jobs.sort_by_key(|job| Reverse(job.runs.len()));
    let (next, (ended, all)) = (AtomicUsize::new(0), mpsc::channel());
    let work = |ended: mpsc::Sender<_>| {
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (begin, mut printed) = (Instant::now(), String::new());
            let wrong = of_program(job, &mut printed);
            // The receiver lives as long as this scope.
            let _ = ended.send((job, begin.elapsed(), printed, wrong));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..cpus() {
            let ended = ended.clone();
            scope.spawn(|| work(ended));
        }
        drop(ended);
        for (job, took, printed, wrong) in all {
            print!("{printed}");
            done.ended(Stage::Still, job, took, wrong);
        }
    });
}

/// Runs the tests of one program together, then asks those that cannot run for their reasons. Returns the failure.
fn of_program(job: &Job, printed: &mut String) -> Option<String> {
    let Job { program, all, runs, kept } = job;
    if runs.is_empty() && kept.is_empty() {
        return None;
    }
    printed.push_str(&program.announced(""));
    let others = all.iter().filter(|test| !runs.iter().any(|one| one.name == test.name));
    let mut words = vec!["--include-ignored", "--exact"];
    words.extend(others.flat_map(|test| ["--skip", test.name.as_str()]));
    match program.passed(&words, printed) {
        Ok(passed) if passed == runs.len() => {}
        Ok(passed) => return Some(format!("{passed} tests passed, and {} should have run", runs.len())),
        Err(why) => return Some(why),
    }
    if !kept.is_empty() {
        printed.push_str(&program.announced("what is ignored of "));
        let words: Vec<&str> = ["--exact"].into_iter().chain(kept.iter().map(|test| test.name.as_str())).collect();
        match program.passed(&words, printed) {
            Ok(0) => {}
            Ok(_) => return Some("tests are no longer ignored".to_owned()),
            Err(why) => return Some(why),
        }
    }
    None
}
