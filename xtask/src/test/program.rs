//! The test programs: building them, asking them for their tests, running them.

use crate::needs::{self, Need};
use crate::repo::{self, Repo, list, text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The whole workspace is tested with object stores.
const FEATURES: [&str; 2] = ["--features", "corewise/stores"];

/// A variable that tests pass on to what they start.
const MARK: &str = "COREWISE_TEST";

/// A test program.
pub struct Program {
    path: PathBuf,
    /// Its package.
    pub package: String,
    /// Its package's folder, where its tests run.
    folder: PathBuf,
    /// Its source file.
    pub source: String,
}

/// A test of a program.
pub struct Test {
    /// Its path, as the test runner prints it.
    pub name: String,
    /// What it needs of the machine.
    pub needs: Vec<&'static Need>,
}

/// `cargo test` of the packages that the words name, or of the whole workspace.
pub fn cargo(repo: &Repo, words: &[String]) -> Command {
    let mut cargo = repo::cargo();
    cargo.args(["test", "--locked"]).current_dir(&repo.root);
    // cargo refuses features of a package that is not chosen.
    if words.is_empty() {
        cargo.arg("--workspace").args(FEATURES)
    } else {
        cargo.args(words)
    };
    cargo
}

/// Builds everything. Returns the test programs and the corewise binary.
pub fn built(repo: &Repo, words: &[String]) -> Result<(Vec<Program>, PathBuf), String> {
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
            let manifest = Path::new(text(&message["manifest_path"]));
            let folder = manifest.parent().unwrap_or(&repo.root).to_path_buf();
            let source = Path::new(text(&target["src_path"]));
            let source = source.strip_prefix(&repo.root).unwrap_or(source).display().to_string();
            let package = repo.members().find(|p| Path::new(text(&p["manifest_path"])) == manifest);
            let package = package.map(|p| text(&p["name"]).to_owned()).unwrap_or_default();
            programs.push(Program { path, package, folder, source });
        } else if target["name"] == "corewise" && list(&target["kind"]).any(|kind| kind == "bin") {
            corewise = Some(path);
        }
    }
    programs.sort_by(|a, b| a.source.cmp(&b.source));
    Ok((programs, corewise.map_or_else(|| repo.corewise(), Ok)?))
}

impl Program {
    /// Returns its tests.
    pub fn tests(&self) -> Result<Vec<Test>, String> {
        let mut reasons = self.reasons()?;
        let named = self.listed(&[])?.into_iter().map(|name| {
            let needs = match reasons.remove(&name) {
                Some(reason) => needs::named(&reason).map_err(|why| format!("{name} is ignored, but {why}"))?,
                None => Vec::new(),
            };
            Ok(Test { name, needs })
        });
        named.collect()
    }

    /// Runs it with these words, adds what it prints, and returns how many tests passed.
    pub fn passed(&self, words: &[&str], printed: &mut String) -> Result<usize, String> {
        let (output, writer) = std::io::pipe().map_err(|why| why.to_string())?;
        let mut command = self.command(words);
        command.stdout(writer.try_clone().map_err(|why| why.to_string())?).stderr(writer);
        let mut child = command.spawn().map_err(|why| why.to_string())?;
        drop(command); // with its writers
        let mut passed = None;
        // It may contain invalid UTF-8.
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            printed.push_str(&line);
            printed.push('\n');
            passed = passed_of(&line).or(passed);
        }
        let status = child.wait().map_err(|why| why.to_string())?;
        if !status.success() {
            return Err(format!("failed ({status})"));
        }
        passed.ok_or_else(|| "it ended without a test result".to_owned())
    }

    /// Runs one test in a process of its own. `Err`: what it printed. What it started and left running when it failed is ended: it would
    /// disturb the tests that follow.
    pub fn one(&self, test: &str) -> Result<(), String> {
        let mark = format!("{}:{test}", std::process::id());
        // Not a pipe: what the test leaves running would keep it open.
        let path = std::env::temp_dir().join(format!("xtask-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let opened = File::options().create_new(true).read(true).append(true).open(&path);
        let mut out = opened.map_err(|why| format!("{}: {why}", path.display()))?;
        let writer = || out.try_clone().map_err(|why| why.to_string());
        let mut command = self.command(&["--include-ignored", "--exact", test]);
        command.env(MARK, &mark).stdout(writer()?).stderr(writer()?);
        let status = command.status().map_err(|why| why.to_string())?;
        let _ = std::fs::remove_file(&path);
        let mut printed = Vec::new();
        out.rewind().and_then(|()| out.read_to_end(&mut printed)).map_err(|why| why.to_string())?;
        let printed = String::from_utf8_lossy(&printed);
        if status.success() && printed.lines().find_map(passed_of) == Some(1) {
            return Ok(());
        }
        let ended: String = left_running(&mark).map(|pid| end(&pid)).collect();
        Err(format!("{printed}{status}\n{ended}"))
    }

    /// Its line, as cargo prints it.
    pub fn announced(&self, what: &str) -> String {
        format!("\n     Running {what}{} ({})\n", self.source, self.path.display())
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.path);
        command.args(words).current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }

    /// Returns the names of its tests: all, or the ignored ones.
    fn listed(&self, only: &[&str]) -> Result<Vec<String>, String> {
        let words = [&["--list"], only].concat();
        let out = self.command(&words).output().map_err(|why| why.to_string())?;
        let text = String::from_utf8_lossy(&out.stdout);
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }

    /// Returns each ignored test and its reason. The test runner prints the reason when asked to run that test, but does
    /// not run it.
    fn reasons(&self) -> Result<BTreeMap<String, String>, String> {
        let ignored = self.listed(&["--ignored"])?;
        if ignored.is_empty() {
            return Ok(BTreeMap::new());
        }
        let words: Vec<&str> = ["--exact"].into_iter().chain(ignored.iter().map(String::as_str)).collect();
        let out = self.command(&words).output().map_err(|why| why.to_string())?;
        let text = String::from_utf8_lossy(&out.stdout);
        let reasons: BTreeMap<String, String> =
            text.lines().filter_map(reason).map(|(test, why)| (test.to_owned(), why.to_owned())).collect();
        match ignored.iter().find(|test| !reasons.contains_key(*test)) {
            Some(test) => Err(format!("nothing says why {test} is ignored")),
            None => Ok(reasons),
        }
    }
}

/// Returns the processes that have a mark in their environment.
fn left_running(mark: &str) -> impl Iterator<Item = String> {
    let wanted = format!("{MARK}={mark}").into_bytes();
    let pids =
        std::fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    pids.filter(move |pid| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted)
    })
}

/// Ends a process, and says so.
fn end(pid: &str) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let _ = Command::new("kill").args(["-KILL", pid]).status();
    format!("it left {} {pid} running, which was killed\n", name.trim_end())
}

/// Parses a line like `test a::b ... ignored, why`.
fn reason(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("test ")?.split_once(" ... ignored, ")
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
    fn what_is_left_running_is_found_and_ended() {
        let mark = format!("{} and a test", std::process::id());
        let mut left = Command::new("sleep").arg("60").env(MARK, &mark).spawn().expect("sleep");
        // It has the environment of this process until it has called exec.
        while left_running(&mark).next().is_none() {
            assert!(left.try_wait().expect("its state").is_none());
        }
        let found: Vec<String> = left_running(&mark).collect();
        assert_eq!(found, [left.id().to_string()]);
        assert!(end(&found[0]).starts_with("it left "));
        assert!(!left.wait().expect("its end").success());
    }

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
