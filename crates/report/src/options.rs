//! What a report shows.

use crate::sections::Sections;

/// What threads are sorted by; the largest first, names by alphabet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sort {
    /// Running time.
    #[default]
    Running,
    /// Time ready, but not running.
    Ready,
    /// The longest single wait for a CPU.
    MaxReady,
    /// Blocked time.
    Blocked,
    /// Unknown time.
    Unknown,
    /// Switch-outs of both kinds.
    Switches,
    /// Switch-ins on another CPU.
    Migrations,
    /// Name.
    Name,
}

/// What a report shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// So many threads of each group; the others are one row.
    pub top: usize,
    /// Only this process, by number or by the name of its first thread, or threads of this name. Without, the process that
    /// the recording was made for stands first, and the others after it.
    pub process: Option<String>,
    /// How the part of the recording was asked for that is told ([`engine::Session::of_part`]), as options of a command line.
    pub period: Option<String>,
    /// The order of threads.
    pub sort: Sort,
    /// Whether to show how many CPUs ran at once also where no section is made: of a file, that takes its stretches.
    pub concurrency: bool,
    /// What is told of the analyses.
    pub sections: Sections,
    /// Whether there is room for pictures, and for as many rows as are wanted.
    pub pictures: bool,
    /// Stretches that a program marked so (with `*` at the end: that begin so) are frames.
    pub frames_of: Option<String>,
    /// Columns of the terminal.
    pub width: usize,
    /// Whether to use the terminal's colours.
    pub color: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            top: 20,
            process: None,
            period: None,
            sort: Sort::Running,
            concurrency: false,
            sections: Sections::Quick,
            pictures: false,
            frames_of: None,
            width: 100,
            color: false,
        }
    }
}
