//! Checks that all linked code may be distributed under this project's licence, and that the recordings of other projects
//! are distributed with their copyright lines and licences.

use crate::Found;
use crate::repo::{Repo, list, text};
use std::collections::BTreeSet;

/// Permissive licences. A dependency with a choice that includes one of these is used under it.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    // Of data: certificates of systems other than Linux.
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// A package of the viewer's tools whose licence is in its files (MIT) and not in the licence field; no page uses it.
const LICENCE_IN_FILES: &str = "node_modules/json-bignum";

/// Packages that only the viewer's tests use, unmodified, and their licence: no page contains any of them, so they are
/// not distributed.
const OF_TESTS: &[(&str, &str)] = &[("node_modules/axe-core", "MPL-2.0")];

/// The lock file of the viewer's packages.
const LOCK: &str = "viewer/package-lock.json";

/// The list of the recordings of other projects.
const RECORDINGS: &str = "testdata/traces/INDEX.md";

/// The folder of their notices: a file for each project.
const NOTICES: &str = "testdata/traces/LICENSES";

pub fn check(repo: &Repo) -> Result<Found, String> {
    let mut wrong = Vec::new();
    let mut looked_at = 0;
    for package in list(&repo.metadata["packages"]) {
        looked_at += 1;
        let licence = text(&package["license"]);
        if !permissive(licence) {
            let licence = if licence.is_empty() { "no licence" } else { licence };
            wrong.push(format!("{} {}: {licence}", text(&package["name"]), text(&package["version"])));
        }
    }
    let lock: serde_json::Value = serde_json::from_str(&repo.read(LOCK)?).map_err(|why| format!("{LOCK}: {why}"))?;
    for (name, package) in lock["packages"].as_object().into_iter().flatten() {
        looked_at += 1;
        let licence = text(&package["license"]);
        let of_tests = package["dev"] == true && OF_TESTS.contains(&(name.as_str(), licence));
        if !permissive(licence) && name != LICENCE_IN_FILES && !of_tests {
            wrong.push(format!("{LOCK}: {name}: {}", if licence.is_empty() { "no licence" } else { licence }));
        }
    }
    let index = repo.read(RECORDINGS)?;
    let projects = repositories(&index);
    for url in &projects {
        let path = format!("{NOTICES}/{}.txt", url.rsplit('/').next().unwrap_or(url));
        if !has_notice(&repo.read(&path).unwrap_or_default(), url) {
            wrong.push(format!(
                "{RECORDINGS}: {url}: {path} must name the repository, the licence and the copyright line"
            ));
        }
    }
    let projects = projects.len();
    Ok(Found::of(
        wrong,
        format!("{looked_at} packages, all permissive; {projects} projects' recordings, all with a notice"),
    ))
}

/// Returns the repositories in the second column of the table.
fn repositories(index: &str) -> BTreeSet<&str> {
    let rows = index.lines().filter(|line| line.starts_with("| ")).skip(2); // the titles and the line below them
    rows.map(|row| row.split('|').nth(2).unwrap_or_default().trim()).collect()
}

/// Returns whether a notice names the repository, its licence and a copyright line (or says that none was found).
fn has_notice(notice: &str, repository: &str) -> bool {
    let begins = |words: &[&str]| notice.lines().any(|line| words.iter().any(|word| line.starts_with(word)));
    notice.lines().any(|line| line.strip_prefix("Repository: ") == Some(repository))
        && begins(&["SPDX-License-Identifier: "])
        && begins(&["Copyright", "©", "copyright line not found here"])
}

/// Returns whether allowed licences alone satisfy an SPDX expression.
fn permissive(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    any(&words, &mut at).unwrap_or(false) && at == words.len()
}

/// Parses `all OR all …`.
fn any(words: &[&str], at: &mut usize) -> Option<bool> {
    let mut met = all(words, at)?;
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        met |= all(words, at)?;
    }
    Some(met)
}

/// Parses `one AND one …`.
fn all(words: &[&str], at: &mut usize) -> Option<bool> {
    let mut met = one(words, at)?;
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        met &= one(words, at)?;
    }
    Some(met)
}

fn one(words: &[&str], at: &mut usize) -> Option<bool> {
    let word = *words.get(*at)?;
    *at += 1;
    if word == "(" {
        let met = any(words, at)?;
        let closed = words.get(*at) == Some(&")");
        *at += 1;
        return closed.then_some(met);
    }
    if words.get(*at) == Some(&"WITH") {
        *at += 2; // an exception only ever permits more
    }
    Some(ALLOWED.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions() {
        for good in [
            "MIT",
            "MIT/Apache-2.0",
            "LGPL-2.1-only OR BSD-2-Clause",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-3.0-only",
        ] {
            assert!(permissive(good), "{good}");
        }
        for bad in ["", "GPL-2.0-only", "MIT AND GPL-2.0-only", "(MIT OR Apache-2.0) AND MPL-2.0", "MIT OR", "(MIT"] {
            assert!(!permissive(bad), "{bad}");
        }
    }

    #[test]
    fn notices() {
        let index = "# Recordings\n\n| file | repository | licence |\n| --- | --- | --- |\n\
            | a | https://x/one | MIT |\n| b | https://x/one | MIT |\n| c | https://x/two | BSD |\n";
        assert_eq!(repositories(index).into_iter().collect::<Vec<_>>(), ["https://x/one", "https://x/two"]);
        let notice =
            "Repository: https://x/one\nSPDX-License-Identifier: MIT\n\nCopyright (c) 2020 Somebody\n\nPermission …\n";
        assert!(has_notice(notice, "https://x/one"));
        assert!(has_notice(
            &notice.replace("Copyright (c) 2020 Somebody", "copyright line not found here"),
            "https://x/one"
        ));
        assert!(!has_notice(notice, "https://x/on"));
        for left_out in ["SPDX", "Copyright"] {
            let lines = notice.lines().filter(|line| !line.starts_with(left_out));
            assert!(!has_notice(&lines.collect::<Vec<_>>().join("\n"), "https://x/one"), "{left_out}");
        }
        assert!(!has_notice("", "https://x/two"));
    }
}
