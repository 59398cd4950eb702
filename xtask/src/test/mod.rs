//! Runs the workspace's tests, including ignored ones whose requirements this machine meets, in two stages.
//!
//! **still**: tests that decide by what they are given. Each program runs them all together.
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
use program::{Program, Test};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

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
    let one = |why: String| vec![why];
    let (stages, words): (&[Stage], _) = match words.first().map(String::as_str) {
        Some("still") => (&[Stage::Still], &words[1..]),
        Some("live") => (&[Stage::Live], &words[1..]),
        _ => (&[Stage::Still, Stage::Live], words),
    };
    let (programs, corewise) = program::built(repo, words).map_err(one)?;
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
        for (program, tests) in programs.iter().zip(&tests) {
            let of_stage = tests.iter().filter(|test| live::is_live(program, test) == (stage == Stage::Live));
            let (runs, kept): (Vec<&Test>, Vec<&Test>) =
                of_stage.partition(|test| test.needs.iter().all(|need| met.get(need.name) == Some(&true)));
            done.count(&runs, &kept);
            let begin = Instant::now();
            let ran = match stage {
                Stage::Still => still(program, tests, &runs, &kept),
                Stage::Live => live::run(program, &runs),
            };
            done.took(stage, &program.source, runs.len(), begin);
            done.wrong.extend(ran.into_iter().map(|why| format!("{}: {why}", program.source)));
        }
        // A single package may have no library, and so no documentation.
        if stage == Stage::Still && whole {
            let begin = Instant::now();
            if !program::cargo(repo, words).arg("--doc").status().is_ok_and(|status| status.success()) {
                done.wrong.push("the examples of the documentation".to_owned());
            }
            done.took(stage, "examples of the documentation", 0, begin);
        }
    }
    done.print(programs.len());
    if whole {
        let names = stages.iter().map(|stage| stage.name()).collect::<Vec<_>>().join("-");
        let path = Path::new(text(&repo.metadata["target_directory"])).join(format!("times-{names}.tsv"));
        std::fs::write(&path, &done.times).map_err(|why| vec![format!("{}: {why}", path.display())])?;
    }
    if done.wrong.is_empty() { Ok(()) } else { Err(done.wrong) }
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

    fn took(&mut self, stage: Stage, what: &str, tests: usize, begin: Instant) {
        let _ = writeln!(self.times, "{}\t{what}\t{tests}\t{:.2}", stage.name(), begin.elapsed().as_secs_f64());
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

/// Runs the tests of one program together, then asks those that cannot run for their reasons. Returns the failure.
fn still(program: &Program, all: &[Test], runs: &[&Test], kept: &[&Test]) -> Option<String> {
    if runs.is_empty() && kept.is_empty() {
        return None;
    }
    program.announce("");
    let others = all.iter().filter(|test| !runs.iter().any(|one| one.name == test.name));
    let mut words = vec!["--include-ignored", "--exact"];
    words.extend(others.flat_map(|test| ["--skip", test.name.as_str()]));
    match program.passed(&words) {
        Ok(passed) if passed == runs.len() => {}
        Ok(passed) => return Some(format!("{passed} tests passed, and {} should have run", runs.len())),
        Err(why) => return Some(why),
    }
    if !kept.is_empty() {
        program.announce("what is ignored of ");
        let words: Vec<&str> = ["--exact"].into_iter().chain(kept.iter().map(|test| test.name.as_str())).collect();
        match program.passed(&words) {
            Ok(0) => {}
            Ok(_) => return Some("tests are no longer ignored".to_owned()),
            Err(why) => return Some(why),
        }
    }
    None
}
