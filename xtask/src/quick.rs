//! The inner loop: formatting, clippy and the tests of one crate and of those that use it.

use crate::repo::{self, Repo, list, text};
use crate::test;
use std::time::Instant;

/// The package of the command line. It uses most crates, and its tests take longest: they run only if it is the crate that is named.
const COMMAND_LINE: &str = "corewise";

/// `words`: the crate's folder below `crates/`. `Err`: the failures, a line each.
pub fn run(repo: &Repo, words: &[String]) -> Result<(), Vec<String>> {
    let one = |why: String| vec![why];
    let [folder] = words else { return Err(one("one crate: cargo xtask quick report".to_owned())) };
    let (package, users) = packages(repo, folder).map_err(one)?;
    let begin = Instant::now();
    let step = |name: &str, words: &[&str]| {
        let status = repo::cargo().args(words).current_dir(&repo.root).status();
        if status.is_ok_and(|status| status.success()) { Ok(()) } else { Err(vec![name.to_owned()]) }
    };
    step("formatting: cargo fmt", &["fmt", "--check", "--package", &package])?;
    let chosen: Vec<&str> = [&package].into_iter().chain(&users).flat_map(|name| ["--package", name]).collect();
    let clippy = [&["clippy", "--locked", "--all-targets"], &chosen[..], &["--", "-D", "warnings"]].concat();
    step("clippy", &clippy)?;
    let tested = ["still", "--package", &package].map(str::to_owned).into_iter();
    let users_tested =
        users.iter().filter(|name| *name != COMMAND_LINE).flat_map(|name| ["--package".to_owned(), name.clone()]);
    test::run(repo, &tested.chain(users_tested).collect::<Vec<_>>())?;
    println!("quick: {folder} and {} that use it, in {:.0} s", users.len(), begin.elapsed().as_secs_f64());
    Ok(())
}

/// Returns the package of a folder, and those that depend on it directly.
fn packages(repo: &Repo, folder: &str) -> Result<(String, Vec<String>), String> {
    let is_it = |p: &&serde_json::Value| text(&p["manifest_path"]).ends_with(&format!("/{folder}/Cargo.toml"));
    let name = |p: &serde_json::Value| text(&p["name"]).to_owned();
    let package = repo.members().find(is_it).map(name).ok_or_else(|| format!("there is no crates/{folder}"))?;
    let uses = |p: &&serde_json::Value| list(&p["dependencies"]).any(|d| text(&d["name"]) == package);
    let users = repo.members().filter(uses).map(name).collect();
    Ok((package, users))
}
