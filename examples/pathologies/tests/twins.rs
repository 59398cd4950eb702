//! Each program is listed in the README, and both variants run to their end with the same work.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)] // a test fails by panicking

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the names of the programs' files.
fn programs() -> BTreeSet<String> {
    let files = std::fs::read_dir(folder()).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap());
    files.filter_map(|f| f.strip_suffix(".rs").map(str::to_owned)).collect()
}

/// Runs a program and returns the units of work that it printed.
fn units(program: &Path, words: &[&str]) -> u64 {
    let done = Command::new(program).args(words).output().unwrap_or_else(|e| panic!("{}: {e}", program.display()));
    let out = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success(), "{} {words:?}: {out}{:?}", program.display(), String::from_utf8(done.stderr));
    let last = out.lines().last().unwrap();
    let work = last.strip_prefix("work ").and_then(|l| l.split_once(" units, wall_ms "));
    let (units, ms) = work.unwrap_or_else(|| panic!("{} {words:?}: {last}", program.display()));
    assert!(ms.parse::<f64>().unwrap() > 0.0, "{last}");
    units.parse().unwrap()
}

/// Whether a program creates control groups.
fn creates_groups(name: &str) -> bool {
    std::fs::read_to_string(folder().join(name).with_extension("rs")).unwrap().contains("Group::new()")
}

#[test]
fn both_variants_do_the_same_work() {
    same_work(&|name| !creates_groups(name));
}

#[test]
#[ignore = "needs CPU quotas"]
fn both_variants_do_the_same_work_in_control_groups() {
    same_work(&creates_groups);
}

fn same_work(wanted: &dyn Fn(&str) -> bool) {
    // cargo builds a package's examples for its tests, next to their folder.
    let tests: PathBuf = std::env::current_exe().unwrap();
    let built = tests.parent().unwrap().with_file_name("examples");
    let names: Vec<_> = programs().into_iter().filter(|name| wanted(name)).collect();
    assert!(!names.is_empty());
    for name in names {
        let program = built.join(&name);
        let (faulty, fixed) =
            (units(&program, &["--seconds", "0.02"]), units(&program, &["--seconds", "0.02", "--fixed"]));
        assert_eq!(faulty, fixed, "{name}");
        assert_ne!(faulty, 0, "{name}");
    }
}

#[test]
fn work_is_proportional_to_the_seconds() {
    let built = std::env::current_exe().unwrap().parent().unwrap().with_file_name("examples");
    let of = |seconds| units(&built.join("chunks_too_small"), &["--fixed", "--seconds", seconds]);
    assert_eq!(of("0.2"), 4 * of("0.05"));
}

#[test]
fn invalid_arguments_are_rejected() {
    let built = std::env::current_exe().unwrap().parent().unwrap().with_file_name("examples");
    for words in [&["--seconds"][..], &["--seconds", "-1"], &["--other"]] {
        let done = Command::new(built.join("lock_convoy")).args(words).output().unwrap();
        assert_eq!(done.status.code(), Some(2), "{words:?}");
        assert_eq!(String::from_utf8(done.stderr).unwrap().lines().count(), 1);
    }
}

#[test]
fn the_readme_lists_each_program() {
    let readme = std::fs::read_to_string(folder().join("README.md")).unwrap();
    let rows = readme.lines().filter_map(|l| l.strip_prefix("| `")?.split_once('`'));
    assert_eq!(rows.map(|(name, _)| name.to_owned()).collect::<BTreeSet<_>>(), programs());
}
