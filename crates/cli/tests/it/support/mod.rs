//! Helpers that run the binary.

pub mod recording;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The binary, without settings of the terminal or the user.
pub fn corewise<S: AsRef<OsStr>>(words: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corewise"));
    command.args(words).stdin(Stdio::null()).env_remove("NO_COLOR").env_remove("COLUMNS");
    command
}

/// The result of a run.
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// Runs the binary to its end.
pub fn run<S: AsRef<OsStr>>(words: impl IntoIterator<Item = S>) -> Ran {
    ran(corewise(words).output().expect("corewise runs"))
}

pub fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs the binary, which must succeed, and returns its output.
pub fn good<S: AsRef<OsStr>>(words: impl IntoIterator<Item = S>) -> String {
    let ran = run(words);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran.out
}

/// The words of a text, however it is wrapped.
pub fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the path of a small recording by perf.
pub fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/fixtures/perf_data").join(name);
    path.display().to_string()
}

/// A temporary folder.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn name(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }
}

/// Copies a recording, or a folder of them, without what only the viewer needs.
pub fn copy_recordings(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true if entry.file_name() == "levels" => {}
            true => copy_recordings(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), &to).unwrap()),
        }
    }
}

/// Compiles a C program with the compiler of the BPF programs.
pub fn compiled(folder: &Folder, source: &str, how: &[&str]) -> String {
    let program = folder.name(Path::new(source).file_stem().and_then(OsStr::to_str).expect("a name"));
    let clang = std::env::var("CLANG").unwrap_or_else(|_| "clang".into());
    let done = Command::new(clang).args(how).args(["-o", &program, source]).output().expect("clang runs");
    assert!(done.status.success(), "{source}: {}", String::from_utf8_lossy(&done.stderr));
    program
}

/// A machine file with two figures: a hand-over on one CPU in `ns`, and to another CPU in five times as long.
pub fn machine_with_costs(ns: u32) -> String {
    let figure = |pair: &str, cpus: &str, ns: u32| {
        let (low, high) = (ns - ns / 50, ns + ns / 50);
        format!(
            "[[costs]]\nprobe = \"switch\"\nfigure = \"pipe\"\npair = \"{pair}\"\ncpus = {cpus}\nunit = \"ns\"\nrepetitions = 40\n\
             estimate = {{ value = {ns}, low = {low}, high = {high} }}\ncontrol = {{ value = 1, low = -9, high = 12 }}\nprecise = true\n"
        )
    };
    format!(
        "model = \"Laptop\"\n\n[[cpus]]\nids = \"0-1\"\n\n[measured]\nat = \"2026-11-26T16:00:00Z\"\ncorewise = \"0.1.0\"\n\
         left_out = [\"switch: no siblings\"]\n\n{}\n{}",
        figure("same_cpu", "[0]", ns),
        figure("other_core", "[0, 1]", 5 * ns)
    )
}
