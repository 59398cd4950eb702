//! Checks that all linked code may be distributed under this project's licence.

use crate::Found;
use crate::repo::{Repo, list, text};

/// Permissive licences. A dependency with a choice that includes one of these is used under it.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
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
    Ok(Found::of(wrong, format!("{looked_at} packages, all permissive")))
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
}
