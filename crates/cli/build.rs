//! Sets what `corewise --version` says about the build, and what `src/built.rs` reads: the commit, its date and the profile.
// Build scripts print their instructions to cargo.
#![allow(clippy::print_stdout)]

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["COREWISE_COMMIT", "COREWISE_GUIDED"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    let parts: Vec<String> = commit().into_iter().chain([profile()]).collect();
    println!("cargo::rustc-env=COREWISE_BUILD={}", parts.join(", "));
    println!("cargo::rustc-env=COREWISE_OPT_LEVEL={}", variable("OPT_LEVEL").unwrap_or_default());
}

/// The first line of an environment variable, if it has one.
fn variable(name: &str) -> Option<String> {
    let value = std::env::var(name).ok()?;
    value.lines().next().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned)
}

/// The first eight digits of the commit, and its date: `36b44cfd, 2026-11-27`. Without git, what `COREWISE_COMMIT` says.
fn commit() -> Option<String> {
    // Sources that were unpacked inside another repository are not of its commit.
    if git(&["rev-parse", "--show-prefix"]).as_deref() != Some("crates/cli/") {
        return variable("COREWISE_COMMIT");
    }
    watch_head();
    let shown = git(&["-c", "log.showSignature=false", "log", "-1", "--date=short", "--format=%H %cd"]);
    let of_git = shown.as_deref().and_then(|line| line.split_once(' '));
    let of_git = of_git.and_then(|(commit, date)| Some(format!("{}, {date}", commit.get(..8)?)));
    of_git.or_else(|| variable("COREWISE_COMMIT"))
}

/// Lets cargo run this script again when another commit is checked out or made, and not otherwise.
///
/// The head names the branch, whose file has its commit. A packed branch has no file until its next commit: the log of the head then shows
/// that there is one. cargo would always run the script again for a file that does not exist.
fn watch_head() {
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    let file = |name: &str| git(&["rev-parse", "--git-path", name]).filter(|path| Path::new(path).exists());
    let mut watched: Vec<String> = file("HEAD").into_iter().collect();
    if let Some(branch) = branch {
        match file(&branch) {
            Some(path) => watched.push(path),
            None => watched.extend(["packed-refs", "logs/HEAD"].into_iter().filter_map(file)),
        }
    }
    for path in watched {
        println!("cargo::rerun-if-changed={path}");
    }
}

/// What git prints for this folder; `None` if there is no git or no repository.
fn git(words: &[&str]) -> Option<String> {
    // Within a hook of git, these name the repository relative to another folder.
    let done = Command::new("git").args(words).env_remove("GIT_DIR").env_remove("GIT_WORK_TREE").output().ok()?;
    let text = String::from_utf8(done.stdout).ok()?;
    let text = text.trim_end();
    (done.status.success() && !text.is_empty()).then(|| text.to_owned())
}

/// The profile: `dev profile`, `release`, or `release, guided` (`scripts/guided`).
fn profile() -> String {
    // The only place that has its name: target/[TRIPLE/]PROFILE/build/…
    let out = variable("OUT_DIR").unwrap_or_default();
    let parts: Vec<&str> = out.split('/').collect();
    let build = parts.iter().rposition(|part| *part == "build");
    let folder = build.and_then(|at| parts.get(at.checked_sub(1)?)).copied();
    match folder {
        Some("release") if variable("COREWISE_GUIDED").as_deref() == Some("1") => "release, guided".to_owned(),
        Some("release") => "release".to_owned(),
        Some("debug") => "dev profile".to_owned(),
        Some(name) => format!("{name} profile"),
        None => "unknown profile".to_owned(),
    }
}
