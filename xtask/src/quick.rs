//! The inner loop: formatting, clippy and the tests of one crate and of those that use it. Of the users' tests, as many as take 15 s.

use crate::repo::{self, Repo, list, text};
use crate::test::{self, Program};
use std::time::Instant;

/// The package of the command line. It uses most crates, and its tests take longest: they run only if it is the crate that is named.
const COMMAND_LINE: &str = "corewise";

/// How long the tests of the users may take: make quick takes half a minute.
const SECONDS: f64 = 15.0;

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
    let last = test::last_seconds(repo);
    // The programs run on all of them.
    let cpus = u32::try_from(test::cpus()).map_or(1.0, f64::from);
    let chosen = |programs: Vec<Program>| {
        let (own, users) = programs.into_iter().partition(|program| program.package == package);
        let (soon, long) = within(users, SECONDS * cpus, |program: &Program| last.get(&program.source).copied());
        for (program, seconds) in long {
            let Program { package, source, .. } = program;
            println!("quick: left out, {seconds:.0} s: {source} (cargo xtask test still -p {package})");
        }
        own.into_iter().chain(soon).collect()
    };
    test::run_of(repo, &tested.chain(users_tested).collect::<Vec<_>>(), &chosen)?;
    println!("quick: {folder} and {} that use it, in {:.0} s", users.len(), begin.elapsed().as_secs_f64());
    Ok(())
}

/// Splits `all` into the shortest, which take at most `seconds` together, and the rest with their seconds. What never ran counts as 0 s.
fn within<T>(all: Vec<T>, seconds: f64, of: impl Fn(&T) -> Option<f64>) -> (Vec<T>, Vec<(T, f64)>) {
    let with_seconds = |one| {
        let seconds = of(&one).unwrap_or(0.0);
        (one, seconds)
    };
    let mut all: Vec<(T, f64)> = all.into_iter().map(with_seconds).collect();
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut sum = 0.0;
    let soon = all.iter().take_while(|(_, took)| {
        sum += took;
        sum <= seconds
    });
    let long = all.split_off(soon.count());
    (all.into_iter().map(|(one, _)| one).collect(), long)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_run_and_the_others_are_named() {
        let took = |name: &&str| [("a", 9.0), ("b", 1.0), ("c", 3.0)].iter().find(|(n, _)| n == name).map(|(_, s)| *s);
        let all = vec!["a", "b", "new", "c"];
        assert_eq!(within(all.clone(), 4.0, took), (vec!["new", "b", "c"], vec![("a", 9.0)]));
        assert_eq!(within(all.clone(), 13.0, took).1, []);
        assert_eq!(within(all, 0.5, took).0, ["new"]);
    }
}
