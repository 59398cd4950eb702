//! The repository's checks, its test runner, and the command that rewrites expected results.
//!
//! `cargo xtask check` checks the repository against the limits of CONTRIBUTING.md that a machine can check. `cargo xtask bless` lets the
//! tests rewrite the `expected` blocks of the Markdown cases and what else is generated, so that a person can read the diff. `cargo xtask test` runs the
//! tests, including those whose requirements this machine meets. `cargo xtask quick` is for the inner loop.
#![allow(clippy::print_stdout, clippy::print_stderr)] // words out: this is a tool for a terminal

mod dependencies;
mod features;
mod ignored;
mod layers;
mod licences;
mod needs;
mod outside;
mod perfmon;
mod placeholders;
mod programs;
mod quick;
mod readme;
mod recipes;
mod repo;
mod sizes;
mod test;
mod words;

use repo::Repo;
use std::process::ExitCode;

/// The result of a check.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// Passed, with a summary.
    Well(String),
    /// Failed, with a line for each problem.
    Wrong(Vec<String>),
}

impl Found {
    fn of(wrong: Vec<String>, well: String) -> Self {
        if wrong.is_empty() { Self::Well(well) } else { Self::Wrong(wrong) }
    }
}

type Check = fn(&Repo) -> Result<Found, String>;

/// In the order in which they are printed.
const CHECKS: &[(&str, Check)] = &[
    ("layers", layers::check),
    ("dependencies", dependencies::check),
    ("features", features::check),
    ("licences", licences::check),
    ("sizes", sizes::check),
    ("outside", outside::check),
    ("placeholders", placeholders::check),
    ("recipes", recipes::check),
    ("ignored", ignored::check),
    ("programs", programs::check),
    ("readme", readme::check),
    ("words", words::check),
];

const USAGE: &str = "\
cargo xtask check [NAME…]   check the repository (all, or those named)
cargo xtask bless [WORD…]   let the tests rewrite the expected blocks of cases, generated pages and types (all, or those of cargo's WORDs)
cargo xtask test [still|live] [WORD…]
                            run the tests, those too whose needs this machine meets (WORDs are cargo's: -p corewise-capture);
                            live: only those that measure this machine, one at a time; still: only the others
cargo xtask quick CRATE     formatting, clippy and the tests of one crate and of those that use it
cargo xtask perfmon DIR     make the table of Intel's event names from the files of intel/perfmon in DIR
cargo xtask needs           name the needs of tests that this machine meets, a line each";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("check") => check(&words[1..]),
        Some("bless") => bless(&words[1..]),
        Some("test") => all_well(|repo| test::run(repo, &words[1..])),
        Some("quick") => all_well(|repo| quick::run(repo, &words[1..])),
        Some("needs") => needs(),
        Some("perfmon") => made(words.get(1)),
        _ => {
            let names: Vec<&str> = CHECKS.iter().map(|c| c.0).collect();
            eprintln!("{USAGE}\n\nchecks: {}", names.join(", "));
            ExitCode::from(2)
        }
    }
}

fn check(only: &[String]) -> ExitCode {
    if let Some(unknown) = only.iter().find(|name| CHECKS.iter().all(|c| c.0 != name.as_str())) {
        eprintln!("no check is named {unknown}\n\n{USAGE}");
        return ExitCode::from(2);
    }
    let repo = match Repo::find() {
        Ok(repo) => repo,
        Err(why) => {
            eprintln!("error: {why}");
            return ExitCode::FAILURE;
        }
    };
    let mut failed = false;
    for (name, run) in CHECKS.iter().filter(|c| only.is_empty() || only.iter().any(|o| o == c.0)) {
        match run(&repo).unwrap_or_else(|why| Found::Wrong(vec![why])) {
            Found::Well(what) => println!("{name}: {what}"),
            Found::Wrong(lines) => {
                failed = true;
                lines.iter().for_each(|line| println!("{name}: WRONG: {line}"));
            }
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Runs tests; each failure is a line.
fn all_well(run: impl Fn(&Repo) -> Result<(), Vec<String>>) -> ExitCode {
    let wrong = Repo::find().map_err(|why| vec![why]).and_then(|repo| run(&repo)).err();
    wrong.iter().flatten().for_each(|line| eprintln!("error: {line}"));
    if wrong.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Checks that need the binary use the newest build.
fn needs() -> ExitCode {
    let met = Repo::find().and_then(|repo| needs::met(&repo, &repo.corewise()?));
    match met {
        Ok(met) => {
            met.iter().filter(|(_, met)| **met).for_each(|(name, _)| println!("{name}"));
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Makes the table of Intel's names.
fn made(dir: Option<&String>) -> ExitCode {
    let dir = dir.map(std::path::Path::new).ok_or_else(|| USAGE.to_owned());
    match dir.and_then(|dir| perfmon::write(dir, &Repo::find()?.root)) {
        Ok(done) => {
            println!("{done}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Rewrites the cases. Tests that see COREWISE_BLESS write their results instead of comparing them.
fn bless(words: &[String]) -> ExitCode {
    let mut cargo = repo::cargo();
    cargo.args(["test", "--no-fail-fast"]).env("COREWISE_BLESS", "1");
    if words.is_empty() {
        cargo.args(["--workspace", "--features", "corewise/stores"]);
    }
    match cargo.args(words).status() {
        Ok(status) if status.success() => {
            println!("blessed; read the diff: git diff --stat");
            ExitCode::SUCCESS
        }
        Ok(_) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("error: cargo: {why}");
            ExitCode::FAILURE
        }
    }
}
