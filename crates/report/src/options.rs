//! Report options.

use crate::profile::Profile;
use crate::sections::Sections;

/// The sort order of threads: largest first, names alphabetically.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sort {
    /// Running time.
    #[default]
    Running,
    /// Time ready but not running.
    Ready,
    /// The longest single wait for a CPU.
    MaxReady,
    /// Blocked time.
    Blocked,
    /// Unknown time.
    Unknown,
    /// Voluntary and involuntary switch-outs.
    Switches,
    /// Switch-ins on a different CPU.
    Migrations,
    /// Name.
    Name,
}

/// What a report shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The maximum number of threads in each group; the others are summed in one row.
    pub top: usize,
    /// Show only this process, by PID or by the name of its first thread, or threads of this name. Otherwise, the process for which
    /// the recording was made comes first.
    pub process: Option<String>,
    /// The requested range ([`engine::Session::limited_to`]), as command-line options.
    pub period: Option<String>,
    /// The order of threads.
    pub sort: Sort,
    /// Whether to always show concurrency. For a file, this requires its stretches.
    pub concurrency: bool,
    /// The sections to show.
    pub sections: Sections,
    /// The maximum number of lines of text: what does not fit is left out and named at the end.
    pub max_lines: Option<usize>,
    /// The address of a page with the timeline of this trace, relative to the report's page, to which that page links.
    pub timeline: Option<String>,
    /// Whether the output has pictures and room for any number of rows.
    pub pictures: bool,
    /// Treat stretches with this mark name as frames; a `*` at the end matches any suffix.
    pub frames_of: Option<String>,
    /// The samples with which those of the report are compared.
    pub baseline: Option<Profile>,
    /// The terminal's width in columns.
    pub width: usize,
    /// Whether to use terminal colours.
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
            max_lines: None,
            timeline: None,
            pictures: false,
            frames_of: None,
            baseline: None,
            width: 100,
            color: false,
        }
    }
}
