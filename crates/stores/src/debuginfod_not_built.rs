//! What a build without clients has in the place of `debuginfod.rs`: no server can be asked.

use crate::debug_file::DebugFile;
use std::convert::Infallible;
use std::path::{Path, PathBuf};

/// The servers. There are none in this build.
#[derive(Debug)]
pub struct Debuginfod(Infallible);

impl Debuginfod {
    /// Fails: this build has no client.
    ///
    /// # Errors
    /// Always a sentence.
    pub fn new(_: &[String], _: &Path, _: u64, _: u64) -> Result<Self, String> {
        Err("this build fetches no debug files; build with `--features stores`, or install the package".to_owned())
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        match self.0 {}
    }

    /// Whether no server answers.
    #[must_use]
    pub fn is_down(&self) -> bool {
        match self.0 {}
    }

    /// Fetches a file.
    ///
    /// # Errors
    /// There is no server in this build.
    pub fn fetch(
        &mut self,
        _: &str,
        _: DebugFile,
        _: &dyn Fn(&Path) -> bool,
        _: &mut dyn FnMut(u64),
    ) -> Result<Option<PathBuf>, Vec<String>> {
        match self.0 {}
    }
}
