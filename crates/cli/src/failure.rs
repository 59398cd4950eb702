//! An error as shown to the user: a message (what happened, where, what to do) and the exit code.

use capture::CaptureError;
use engine::EngineError;
use std::io::{ErrorKind, Write};
use std::path::Path;

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

    /// Prints the message to standard error.
    pub fn print(&self) {
        let mut err = std::io::stderr().lock();
        let _ = writeln!(err, "corewise: {}", self.message);
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self::new(error.to_string())
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
            CaptureError::NoProcess(_) => format!("{error}: `ps -e` lists the running processes"),
            _ => error.to_string(),
        };
        Self { message, code }
    }
}
