//! Checks that the commands of `make test` and `make demo` resolve each package with the same features: cargo compiles a package again for
//! each set of features.

use crate::Found;
use crate::repo::Repo;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// What builds: the name, and cargo's words. The first builds everything.
const COMMANDS: &[(&str, &[&str])] = &[
    ("the tests", &["--workspace", "--features", "corewise/stores", "--edges", "normal,build,dev"]),
    ("the program of the tests", &["--package", "corewise", "--features", "stores", "--edges", "normal,build"]),
    ("the program of the demo", &["--package", "corewise", "--edges", "normal,build"]),
    ("the Python package", &["--package", "corewise-python", "--edges", "normal,build"]),
    ("xtask", &["--package", "xtask", "--edges", "normal,build"]),
];

/// Packages with other features in the demo, which has no object stores: unified, their clients' HTTP/2 and the like would be in the demo too.
const OF_STORES: &[&str] = &[
    "corewise",
    "corewise-stores",
    "futures-task",
    "futures-util",
    "hyper",
    "hyper-util",
    "slab",
    "sync_wrapper",
    "tokio",
    "tower",
];

/// The sets of features of each package: as a dependency of a program, and as one of a build script or macro.
type Resolved = BTreeMap<String, BTreeSet<String>>;

pub fn check(repo: &Repo) -> Result<Found, String> {
    let mut all = Vec::new();
    for (name, words) in COMMANDS {
        all.push((*name, resolved(&tree(repo, words)?)));
    }
    let packages = all.first().map_or(0, |(_, all)| all.len());
    Ok(Found::of(wrongs(&all), format!("{packages} packages, the same in {} commands", all.len())))
}

fn tree(repo: &Repo, words: &[&str]) -> Result<String, String> {
    let mut cargo = Command::new("cargo");
    cargo.args(["tree", "--locked", "--quiet", "--prefix", "none", "--no-dedupe", "--format", "{p}\t{f}"]);
    let out = cargo.args(words).current_dir(&repo.root).output().map_err(|why| format!("cargo tree: {why}"))?;
    if !out.status.success() {
        return Err(format!("cargo tree {}: {}", words.join(" "), String::from_utf8_lossy(&out.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

/// Reads lines of `name v1.0 (…)`, a tab, and its features.
fn resolved(tree: &str) -> Resolved {
    let mut packages = Resolved::new();
    for (package, features) in tree.lines().filter_map(|line| line.split_once('\t')) {
        let package = package.trim_end_matches(" (proc-macro)").to_owned();
        packages.entry(package).or_default().insert(features.trim_end_matches(" (*)").to_owned());
    }
    packages
}

fn wrongs(all: &[(&str, Resolved)]) -> Vec<String> {
    let Some(((whole, first), others)) = all.split_first() else { return Vec::new() };
    let differs = |package: &str| OF_STORES.contains(&package.split(' ').next().unwrap_or(package));
    let mut wrong = Vec::new();
    for (command, packages) in others {
        for (package, sets) in packages.iter().filter(|(package, _)| !differs(package)) {
            let known = first.get(package);
            for set in sets.iter().filter(|set| !known.is_some_and(|known| known.contains(*set))) {
                let known = known.map_or_else(Vec::new, |known| known.iter().map(|set| format!("[{set}]")).collect());
                wrong.push(format!(
                    "{package} has the features [{set}] for {command}, and {} for {whole}: declare the same in Cargo.toml",
                    known.join(" or ")
                ));
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_with_other_features_is_found() {
        let tests = resolved("corewise v1 (/p)\tstores\na v1.0\tstd\nb v2.0 (proc-macro)\t\na v1.0\t\n");
        let demo = resolved("corewise v1 (/p)\t\na v1.0\t (*)\nb v2.0 (proc-macro)\t (*)\n");
        let python = resolved("a v1.0\tffi,std\n");
        assert_eq!(wrongs(&[("the tests", tests.clone()), ("the demo", demo)]), [""; 0]);
        let wrong = wrongs(&[("the tests", tests), ("Python", python)]);
        let expected = "a v1.0 has the features [ffi,std] for Python, and [] or [std] for the tests";
        assert!(wrong.len() == 1 && wrong[0].starts_with(expected), "{wrong:?}");
    }
}
