//! Runs the workspace's tests, including ignored ones whose requirements this machine meets.
//!
//! Each test program runs at most twice: with all tests whose requirements are met, and with the others, which are
//! reported as ignored with what they lack. If a test does not run although its requirements are met, that is a
//! failure.

use crate::needs::{self, NEEDS};
use crate::repo::{Repo, list, text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A test program.
struct Program {
    path: PathBuf,
    /// Its package's folder, where its tests run.
    folder: PathBuf,
    /// Its source file.
    source: String,
}

/// How many tests with a requirement ran, and how many did not.
type Count = BTreeMap<&'static str, (usize, usize)>;

/// Runs the tests; `words` are cargo's arguments: `-p corewise-capture` for one package. `Err`: the failures, a line
/// each.
pub fn run(repo: &Repo, words: &[String]) -> Result<(), Vec<String>> {
    let one = |why: String| vec![why];
    let (programs, corewise) = built(repo, words).map_err(one)?;
    let met = needs::met(repo, &corewise).map_err(one)?;
    let (mut wrong, mut count, mut ran, mut ignored) = (Vec::new(), Count::new(), 0, 0);
    for program in &programs {
        match both(program, &met, &mut count) {
            Ok((ran_here, ignored_here)) => {
                ran += ran_here;
                ignored += ignored_here;
            }
            Err(why) => wrong.push(format!("{}: {why}", program.source)),
        }
    }
    // A single package may have no library, and so no documentation.
    if words.is_empty() && !cargo(repo, words).arg("--doc").status().is_ok_and(|status| status.success()) {
        wrong.push("the examples of the documentation".to_owned());
    }
    println!("\nWhat tests need of the machine:");
    for need in NEEDS {
        match count.get(need.name) {
            Some((0, not)) => println!("  {:27} {not:3} ignored: {}", need.name, need.how),
            Some((of, 0)) => println!("  {:27} {of:3} ran", need.name),
            Some((of, not)) => println!("  {:27} {of:3} ran, {not} ignored for other needs", need.name),
            None => {}
        }
    }
    println!("{ran} tests of {} programs ran, {ignored} were ignored", programs.len());
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// The whole workspace by default.
fn cargo(repo: &Repo, words: &[String]) -> Command {
    let mut cargo = Command::new("cargo");
    let all: &[_] = if words.is_empty() { &["--workspace"] } else { &[] };
    cargo.args(["test", "--locked"]).args(all).args(words).current_dir(&repo.root);
    cargo
}

/// Builds everything. Returns the test programs and the corewise binary.
fn built(repo: &Repo, words: &[String]) -> Result<(Vec<Program>, PathBuf), String> {
    let built = cargo(repo, words)
        .args(["--no-run", "--message-format=json-render-diagnostics"])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|why| format!("cargo: {why}"))?;
    if !built.status.success() {
        return Err("the tests do not compile".to_owned());
    }
    let (mut programs, mut corewise) = (Vec::new(), None);
    for line in String::from_utf8_lossy(&built.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let Some(path) = message["executable"].as_str().map(PathBuf::from) else { continue };
        let target = &message["target"];
        if message["profile"]["test"] == true {
            let folder = Path::new(text(&message["manifest_path"])).parent().unwrap_or(&repo.root).to_path_buf();
            let source = Path::new(text(&target["src_path"]));
            let source = source.strip_prefix(&repo.root).unwrap_or(source).display().to_string();
            programs.push(Program { path, folder, source });
        } else if target["name"] == "corewise" && list(&target["kind"]).any(|kind| kind == "bin") {
            corewise = Some(path);
        }
    }
    programs.sort_by(|a, b| a.source.cmp(&b.source));
    Ok((programs, corewise.map_or_else(|| repo.corewise(), Ok)?))
}

/// Runs all tests whose requirements are met, then asks the others for their reasons. Returns how many ran, and how
/// many did not.
fn both(program: &Program, met: &BTreeMap<&str, bool>, count: &mut Count) -> Result<(usize, usize), String> {
    let all = listed(program, &[])?;
    let mut kept = Vec::new();
    for (test, reason) in reasons(program)? {
        let needs = needs::named(&reason).map_err(|why| format!("{test} is ignored, but {why}"))?;
        let runs = needs.iter().all(|need| met.get(need.name) == Some(&true));
        for need in needs {
            let (of, not) = count.entry(need.name).or_default();
            *(if runs { of } else { not }) += 1;
        }
        if !runs {
            kept.push(test);
        }
    }
    println!("\n     Running {} ({})", program.source, program.path.display());
    let mut words = vec!["--include-ignored", "--exact"];
    words.extend(kept.iter().flat_map(|test| ["--skip", test]));
    let passed = passed(program, &words)?;
    if passed != all.len() - kept.len() {
        return Err(format!("{passed} tests passed, and {} should have run", all.len() - kept.len()));
    }
    if !kept.is_empty() {
        println!("     Running what is ignored of {}", program.source);
        let words: Vec<&str> = ["--exact"].into_iter().chain(kept.iter().map(String::as_str)).collect();
        if self::passed(program, &words)? > 0 {
            return Err("tests are no longer ignored".to_owned());
        }
    }
    Ok((passed, kept.len()))
}

fn command(program: &Program, words: &[&str]) -> Command {
    let mut command = Command::new(&program.path);
    command.args(words).current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
    command
}

/// Returns its tests: all, or the ignored ones.
fn listed(program: &Program, only: &[&str]) -> Result<Vec<String>, String> {
    let words = [&["--list"], only].concat();
    let out = command(program, &words).output().map_err(|why| why.to_string())?;
    let text = String::from_utf8_lossy(&out.stdout);
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

/// Returns each ignored test and its reason. The test runner prints the reason when asked to run that test, but does
/// not run it.
fn reasons(program: &Program) -> Result<Vec<(String, String)>, String> {
    let ignored = listed(program, &["--ignored"])?;
    if ignored.is_empty() {
        return Ok(Vec::new());
    }
    let words: Vec<&str> = ["--exact"].into_iter().chain(ignored.iter().map(String::as_str)).collect();
    let out = command(program, &words).output().map_err(|why| why.to_string())?;
    let text = String::from_utf8_lossy(&out.stdout);
    let reasons: BTreeMap<&str, &str> = text.lines().filter_map(reason).collect();
    let of = |test: String| {
        let reason =
            reasons.get(test.as_str()).ok_or_else(|| format!("nothing says why {test} is ignored"))?.to_string();
        Ok((test, reason))
    };
    ignored.into_iter().map(of).collect()
}

/// Parses a line like `test a::b ... ignored, why`.
fn reason(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("test ")?.split_once(" ... ignored, ")
}

/// Runs it, prints its output, and returns how many tests passed.
fn passed(program: &Program, words: &[&str]) -> Result<usize, String> {
    let mut child = command(program, words).stdout(Stdio::piped()).spawn().map_err(|why| why.to_string())?;
    let mut passed = None;
    // It may contain invalid UTF-8.
    for line in child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).split(b'\n')).map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        passed = passed_of(&line).or(passed);
    }
    let status = child.wait().map_err(|why| why.to_string())?;
    if !status.success() {
        return Err(format!("failed ({status})"));
    }
    passed.ok_or_else(|| "it ended without a test result".to_owned())
}

/// Parses the closing line of the test runner.
fn passed_of(line: &str) -> Option<usize> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    counts.split_once(" passed")?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runners_lines_are_read() {
        let line = "test result: ok. 6 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 1.02s";
        assert_eq!(passed_of(line), Some(6));
        assert_eq!(passed_of("test result: FAILED. 0 passed; 1 failed; 0 ignored"), Some(0));
        assert_eq!(passed_of("test a ... ok"), None);
        assert_eq!(reason("test a::b ... ignored, needs root"), Some(("a::b", "needs root")));
        assert_eq!(reason("test a::b ... ok"), None);
    }
}
