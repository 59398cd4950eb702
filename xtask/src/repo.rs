//! The repository for the checks: its files and cargo's metadata.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The repository.
pub struct Repo {
    /// Its root folder.
    pub root: PathBuf,
    /// What `cargo metadata` prints.
    pub metadata: Value,
    /// Files that git tracks or would track, relative to the root.
    pub files: Vec<String>,
}

impl Repo {
    /// The repository that contains this crate. `cargo run` says at run time where it is: clones may share a target folder.
    pub fn find() -> Result<Self, String> {
        let crate_folder =
            std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
        let root = Path::new(&crate_folder).parent().ok_or("xtask has no parent folder")?.to_path_buf();
        let metadata = stdout(&root, "cargo", &["metadata", "--all-features", "--format-version", "1", "--quiet"])?;
        let metadata = serde_json::from_str(&metadata).map_err(|why| format!("cargo metadata: {why}"))?;
        // Untracked files count too, so that a check fails before the commit and not after it.
        let listed = stdout(&root, "git", &["ls-files", "--cached", "--others", "--exclude-standard"])?;
        let files = listed.lines().filter(|f| root.join(f).is_file()).map(ToOwned::to_owned).collect();
        Ok(Self { root, metadata, files })
    }

    /// Returns a file's text.
    pub fn read(&self, path: &str) -> Result<String, String> {
        let bytes = std::fs::read(self.root.join(path)).map_err(|why| format!("{path}: {why}"))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The files with one of these endings.
    pub fn ending<'a>(&'a self, endings: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
        self.files.iter().map(String::as_str).filter(|f| endings.iter().any(|e| f.ends_with(e)))
    }

    /// Returns `COREWISE`, or the newest build.
    pub fn corewise(&self) -> Result<PathBuf, String> {
        let target = Path::new(text(&self.metadata["target_directory"]));
        let named = std::env::var_os("COREWISE").map(PathBuf::from);
        let built = ["debug", "release"].iter().map(|profile| target.join(profile).join("corewise"));
        let there = named.into_iter().chain(built).filter(|p| p.is_file());
        let newest = there.max_by_key(|p| p.metadata().and_then(|m| m.modified()).ok());
        newest.ok_or_else(|| "corewise is not built: cargo build --package corewise".to_owned())
    }

    /// The packages of this workspace.
    pub fn members(&self) -> impl Iterator<Item = &Value> {
        let ids: Vec<&Value> = list(&self.metadata["workspace_members"]).collect();
        list(&self.metadata["packages"]).filter(move |p| ids.contains(&&p["id"]))
    }
}

/// cargo, in the environment of a shell. `cargo run` adds what describes this program, and build scripts that read it (ring's) would run again,
/// with all that uses them, each time that cargo is called from the other place.
pub fn cargo() -> Command {
    let mut cargo = Command::new("cargo");
    let is_ours = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_ours)) {
        cargo.env_remove(name);
    }
    cargo
}

/// The elements of a JSON list; empty if it is not one.
pub fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// A JSON string; empty if it is not one.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn stdout(root: &Path, program: &str, args: &[&str]) -> Result<String, String> {
    let out = Command::new(program).args(args).current_dir(root).output().map_err(|why| format!("{program}: {why}"))?;
    if out.status.success() {
        Ok(String::from_utf8_lossy(&out.stdout).into_owned())
    } else {
        Err(format!("{program} {}: {}", args.join(" "), String::from_utf8_lossy(&out.stderr).trim()))
    }
}
