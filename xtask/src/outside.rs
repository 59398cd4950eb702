//! Checks that parsers and models use no file, clock or thread: the caller passes these in.

use crate::Found;
use crate::repo::Repo;

const PURE: &[&str] = &["crates/model/src/", "crates/topology/src/", "crates/import/src/formats/"];
/// The one module through which topology reads the machine it runs on.
const SEAM: &[&str] = &["crates/topology/src/live.rs"];
const FORBIDDEN: &[&str] = &["fs", "time", "thread"];

pub fn check(repo: &Repo) -> Result<Found, String> {
    let mut wrong = Vec::new();
    let mut looked_at = 0;
    for path in repo.ending(&[".rs"]).filter(|f| PURE.iter().any(|p| f.starts_with(p)) && !SEAM.contains(f)) {
        looked_at += 1;
        if !path.ends_with("/tests.rs") {
            wrong.extend(
                reaches_out(&repo.read(path)?).into_iter().map(|(line, what)| format!("{path}:{line}: std::{what}")),
            );
        }
    }
    Ok(Found::of(wrong, format!("{looked_at} files reach no file, clock or thread")))
}

/// Returns the lines that name a forbidden module of std, before the file's tests.
fn reaches_out(source: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    let mut in_group = false; // within `use std::{ … }`, which may span lines
    for (number, line) in source.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        if code.trim() == "#[cfg(test)]" {
            break;
        }
        let group = if let Some((_, after)) = code.split_once("std::{") {
            in_group = true;
            after
        } else if in_group {
            code
        } else {
            ""
        };
        let words: Vec<&str> = group.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        for what in FORBIDDEN {
            let named = code.match_indices("std::").any(|(at, _)| {
                code[at + 5..]
                    .strip_prefix(what)
                    .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
            });
            if named || words.contains(what) {
                found.push((number + 1, *what));
            }
        }
        if code.contains(';') {
            in_group = false;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_naming_it() {
        assert_eq!(reaches_out("use std::fs;\n"), [(1, "fs")]);
        assert_eq!(reaches_out("let t = std::time::Instant::now();"), [(1, "time")]);
        assert_eq!(reaches_out("use std::{\n    io,\n    thread::spawn,\n};\nlet fs = 1;"), [(3, "thread")]);
    }

    #[test]
    fn comments_tests_and_likenesses_are_free() {
        assert!(reaches_out("// std::fs is not for us\nuse std::io;\nlet time = 1;\nuse std::threads;").is_empty());
        assert!(reaches_out("fn a() {}\n#[cfg(test)]\nmod tests { use std::fs; }").is_empty());
    }
}
