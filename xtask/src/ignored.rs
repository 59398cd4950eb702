//! Checks that tests that may be unable to run are ignored with a reason from the list (`needs.rs`), and that no test
//! passes by printing that it was skipped.

use crate::Found;
use crate::needs;
use crate::repo::Repo;
use std::collections::BTreeSet;

/// Split in two, so that this file does not match itself.
const SKIPPED: &str = concat!("skip", "ped: ");
const IGNORED: &str = concat!("#[ign", "ore");

pub fn check(repo: &Repo) -> Result<Found, String> {
    let (mut wrong, mut named) = (Vec::new(), BTreeSet::new());
    let sources: Vec<&str> = repo.ending(&[".rs"]).collect();
    for path in &sources {
        let code = repo.read(path)?;
        for (at, line) in code.lines().enumerate() {
            let place = || format!("{path}:{}", at + 1);
            if path.contains("/tests/") && line.contains(SKIPPED) {
                wrong.push(format!("{}: a test that cannot run must be ignored, with what it needs", place()));
            }
            if line.trim_start().starts_with(IGNORED) {
                let reason = line.split('"').nth(1).unwrap_or_default();
                match needs::named(reason) {
                    Ok(needs) => named.extend(needs.iter().map(|need| need.name)),
                    Err(why) => wrong.push(format!("{}: {why} of xtask/src/needs.rs", place())),
                }
            }
        }
    }
    let unnamed = needs::NEEDS.iter().filter(|need| !named.contains(need.name));
    wrong.extend(unnamed.map(|need| format!("no test needs {:?} of xtask/src/needs.rs", need.name)));
    Ok(Found::of(wrong, format!("{} needs, each of a test; {} files", named.len(), sources.len())))
}
