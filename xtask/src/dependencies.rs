//! Checks that each dependency is declared once, in the root, with a reason.

use crate::Found;
use crate::repo::Repo;
use toml::{Table, Value};

const ROOT: &str = "Cargo.toml";

pub fn check(repo: &Repo) -> Result<Found, String> {
    let mut wrong = without_reason(&repo.read(ROOT)?);
    // The fuzz targets are a separate workspace: their one dependency must not affect the lock file of the others.
    let members: Vec<&str> = repo
        .ending(&["Cargo.toml"])
        .filter(|f| *f != ROOT && !f.starts_with("fuzz/") && !f.contains("/fuzz/"))
        .collect();
    for path in &members {
        let manifest: Table = repo.read(path)?.parse().map_err(|why| format!("{path}: {why}"))?;
        wrong.extend(
            not_from_root(&manifest).into_iter().map(|name| format!("{path}: {name} is not `.workspace = true`")),
        );
    }
    Ok(Found::of(wrong, format!("{} manifests", members.len() + 1)))
}

/// Returns the dependencies that a manifest declares itself.
fn not_from_root(manifest: &Table) -> Vec<String> {
    let mut found = Vec::new();
    for (key, value) in manifest {
        match value {
            Value::Table(entries) if key.ends_with("dependencies") => {
                for (name, how) in entries {
                    if how.get("workspace").and_then(Value::as_bool) != Some(true) {
                        found.push(name.clone());
                    }
                }
            }
            // [target.'cfg(…)'.dependencies]
            Value::Table(inner) if key == "target" => {
                found.extend(inner.values().filter_map(Value::as_table).flat_map(not_from_root));
            }
            _ => {}
        }
    }
    found
}

/// Returns the dependencies of the root without a comment: above them, above their block of lines, or at the end of the
/// line.
fn without_reason(root: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let (mut inside, mut reason) = (false, false);
    for line in root.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line == "[workspace.dependencies]";
            reason = false;
        } else if line.is_empty() {
            reason = false;
        } else if line.starts_with('#') {
            reason = true;
        } else if inside && !reason {
            let (name, how) = line.split_once('=').unwrap_or((line, ""));
            if !how.contains("path =") && !how.contains('#') {
                wrong.push(format!("{ROOT}: {} has no comment that says why", name.trim()));
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_holds_for_its_block() {
        let root = "[workspace.dependencies]\nmodel = { path = \"m\" }\n\n# Why.\na = \"1\"\nb = \"1\"\n\nc = \"1\"\nd = \"1\" # why\n";
        assert_eq!(without_reason(root), ["Cargo.toml: c has no comment that says why"]);
    }

    #[test]
    fn other_sections_need_none() {
        assert!(without_reason("[workspace.package]\nversion = \"1\"\n").is_empty());
    }

    #[test]
    fn only_the_root_says_versions() {
        let manifest: Table = "[dependencies]\na.workspace = true\nb = \"1\"\n[dev-dependencies]\nc = { version = \"1\" }\n\
                               [target.'cfg(unix)'.dependencies]\nd = { workspace = true, optional = true }\ne = \"2\"\n"
            .parse()
            .unwrap();
        assert_eq!(not_from_root(&manifest), ["b", "c", "e"]);
    }
}
