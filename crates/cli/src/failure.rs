//! An error on its way to the user: one sentence, with where and what to do, and the exit code.

use capture::CaptureError;
use engine::EngineError;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// All is well.
pub const OK: u8 = 0;
/// It did not work.
pub const ERROR: u8 = 1;
/// The command line makes no sense.
pub const USAGE: u8 = 2;
/// It worked, but a law is broken, printed figures contradict each other, or a recording ended early.
pub const INCOMPLETE: u8 = 3;
/// It worked, and something is wrong that was to make it fail (`diagnose --fail-on`).
pub const FOUND: u8 = 4;

/// Why a command did not work.
#[derive(Debug)]
pub struct Failure {
    /// A sentence.
    pub words: String,
    /// The exit code.
    pub code: u8,
}

impl Failure {
    /// An error.
    pub fn new(words: impl Into<String>) -> Self {
        Self { words: words.into(), code: ERROR }
    }

    /// A command line that makes no sense.
    pub fn usage(words: impl Into<String>) -> Self {
        Self { words: words.into(), code: USAGE }
    }

    /// A file that the system refuses, for [`Result::map_err`].
    pub fn at(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |error| match error.kind() {
            ErrorKind::AlreadyExists => Self::new(format!(
                "{}: is there already; nothing is overwritten: choose another name or remove it",
                path.display()
            )),
            _ => Self::new(format!("{}: {error}", path.display())),
        }
    }

    /// Prints it.
    pub fn tell(&self) {
        let mut err = std::io::stderr().lock();
        let _ = writeln!(err, "corewise: {}", self.words);
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
            // As a shell has it.
            CaptureError::Command { why, .. } if why.kind() == ErrorKind::NotFound => 127,
            CaptureError::Command { .. } => 126,
            _ => ERROR,
        };
        let words = match &error {
            CaptureError::DiskFull(dir) => {
                format!("{error}: `corewise recover {} -o OTHER` with OTHER on a disk with room", dir.display())
            }
            CaptureError::NoProcess(_) => format!("{error}: `ps -e` lists those that there are"),
            _ => error.to_string(),
        };
        Self { words, code }
    }
}
