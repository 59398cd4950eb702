//! Printed tables of shared/figures, and what a user says beside them.
#![allow(dead_code, clippy::unwrap_used, reason = "each test file uses its own part")]

use printed::{Asked, Pair, Sheet, Statement, Verdict, read};
use testkit::figures;

/// Tables by the names of their files; `None` where they are absent.
pub fn sheets(names: &[&str]) -> Option<Vec<Sheet>> {
    names.iter().map(|name| Some(read(name, &figures::text(name)?).unwrap())).collect()
}

/// What a user says.
pub fn asked(say: impl FnOnce(&mut Asked)) -> Asked {
    let mut asked = Asked::default();
    say(&mut asked);
    asked
}

pub fn pair(over: &str, under: &str) -> Pair {
    Pair { over: over.to_owned(), under: under.to_owned() }
}

/// What contradicts, as `rule of row`.
pub fn contradicted(all: &[Statement]) -> Vec<String> {
    let wrong = all.iter().filter(|s| s.verdict == Verdict::Contradicts);
    wrong.map(|s| format!("{} of {}", s.rule.id, s.of)).collect()
}
