//! What debuginfod servers have of a program.

/// What is fetched of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DebugFile {
    /// Its debug information.
    DebugInfo,
    /// The program itself.
    Executable,
}

impl DebugFile {
    /// Returns its name in requests.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DebugInfo => "debuginfo",
            Self::Executable => "executable",
        }
    }
}
