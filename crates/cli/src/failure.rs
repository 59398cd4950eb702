//! An error as shown to the user: a message (what happened, where, what to do) and the exit code.

use capture::CaptureError;
use engine::EngineError;
use std::io::{ErrorKind, Write};
use std::path::Path;
use stores::StoreError;

/// Success.
pub const OK: u8 = 0;
/// An error.
pub const ERROR: u8 = 1;
/// Invalid arguments.
pub const USAGE: u8 = 2;
/// The command ran, but a check failed, printed figures contradict each other, or a recording ended early.
pub const INCOMPLETE: u8 = 3;
/// The command ran and found what `diagnose --fail-on` or `compare --fail-on` asked to fail on.
pub const FOUND: u8 = 4;

/// The maximum number of entries of a folder that are searched for a name.
const MAX_ENTRIES: usize = 10_000;

/// Why a command failed.
#[derive(Debug)]
pub struct Failure {
    /// One sentence: what happened, where, and what to do.
    pub message: String,
    /// The exit code.
    pub code: u8,
}

impl Failure {
    /// Returns an ordinary error.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: ERROR }
    }

    /// Returns an error for invalid arguments.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: USAGE }
    }

    /// Returns a function for [`Result::map_err`] that adds the path to a system error.
    pub fn at(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |error| match error.kind() {
            ErrorKind::AlreadyExists => Self::new(format!(
                "{}: already exists and is not overwritten: choose another name or remove it",
                path.display()
            )),
            _ => Self::new(format!("{}: {error}", path.display())),
        }
    }

    /// Returns the error for a file or folder that does not exist, with the name that may have been meant.
    pub fn not_found(path: &Path) -> Self {
        if stores::is_url(path) {
            let path = path.display();
            if !stores::are_built() {
                return StoreError::NotBuilt(path.to_string()).into();
            }
            return Self::new(format!("{path}: a URL cannot be used here: run `corewise fleet copy {path} .` first"));
        }
        Self::new(format!("{}: {}", path.display(), missing(path)))
    }

    /// Prints the message to standard error.
    pub fn print(&self) {
        let mut err = std::io::stderr().lock();
        let _ = writeln!(err, "corewise: {}", self.message);
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match &error {
            EngineError::Io { path, error: why } if why.kind() == ErrorKind::NotFound => Self::not_found(path),
            _ => Self::new(error.to_string()),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match &error {
            // No URL can be an argument of this build.
            StoreError::NotBuilt(_) => Self::usage(error.to_string()),
            _ => Self::new(error.to_string()),
        }
    }
}

impl From<export::ExportError> for Failure {
    fn from(error: export::ExportError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<compare::NotComparable> for Failure {
    fn from(e: compare::NotComparable) -> Self {
        Self::new(e.to_string())
    }
}

impl From<serve::ServeError> for Failure {
    fn from(error: serve::ServeError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(format!("cannot write the output: {error}"))
    }
}

impl From<CaptureError> for Failure {
    fn from(error: CaptureError) -> Self {
        let code = match &error {
            CaptureError::DiskFull(_) => INCOMPLETE,
            // The exit codes that a shell uses.
            CaptureError::Command { why, .. } if why.kind() == ErrorKind::NotFound => 127,
            CaptureError::Command { .. } => 126,
            _ => ERROR,
        };
        let message = match &error {
            CaptureError::DiskFull(dir) => {
                format!(
                    "{error}: run `corewise recover {} -o OTHER`, with OTHER on a disk with free space",
                    dir.display()
                )
            }
            CaptureError::Command { command, why } if why.kind() == ErrorKind::NotFound => {
                format!("cannot run {command}: {}", advice_for_missing(command))
            }
            CaptureError::NoProcess(_) => format!("{error}: `ps -e` lists the running processes"),
            _ => error.to_string(),
        };
        Self { message, code }
    }
}

/// Why a command does not exist, and what to do.
fn advice_for_missing(command: &str) -> String {
    let here = Path::new(command);
    if crate::args::duration(command).is_ok() {
        return format!("it is no program; to record for a time, use --duration {command}");
    }
    if !command.contains('/') && here.is_file() {
        return format!("it is not on PATH, but in this folder: run ./{command}");
    }
    if !command.contains('/') {
        return "it is not on PATH: check its name, or give its path (./game)".to_owned();
    }
    missing(here)
}

/// What is missing, with the name in the folder that may have been meant.
fn missing(path: &Path) -> String {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = std::fs::read_dir(parent) else {
        return format!("there is no folder {}", parent.display());
    };
    let names: Vec<String> =
        entries.flatten().take(MAX_ENTRIES).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    format!("there is no such file or folder{}", engine::did_you_mean(&name, names.iter().map(String::as_str)))
}
