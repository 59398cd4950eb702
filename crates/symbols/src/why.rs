//! Why code has no name.

use std::fmt;

/// Why code has no function's name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Why {
    /// The file was not found.
    NotFound,
    /// The file was deleted before it could be read.
    Deleted,
    /// There is a file of that name, with another build id.
    OtherBuild,
    /// The recording lacks the file's build id.
    NoBuildId,
    /// The file has no symbols, and no separate debug file was found.
    Stripped,
    /// The file has symbols, but none for this code.
    NoSymbol,
    /// The file is no ELF file, or damaged.
    Unreadable,
    /// The file belongs to the kernel (`[vdso]`), and no copy was found.
    OfKernel,
    /// The memory belongs to no file: code that the program made while it ran.
    Generated,
    /// What was mapped at the address is unknown.
    Unmapped,
}

impl Why {
    /// Returns the reason and what helps, as a part of a sentence.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::NotFound => {
                "the file is not on this machine: give a folder that has it with --debug-dir, or use `corewise symbolize`"
            }
            Self::Deleted => "the file was deleted or replaced while the program ran",
            Self::OtherBuild => "the file on this machine has another build id: it was replaced since the recording",
            Self::NoBuildId => {
                "the recording lacks the file's build id (perf record --buildid-mmap records it; -Wl,--build-id makes it)"
            }
            Self::Stripped => {
                "stripped, and no debug file was found: install its debug symbols (Debian and Ubuntu: the package with -dbgsym), give their \
                 folder with --debug-dir, or use `corewise symbolize --debuginfod`"
            }
            Self::NoSymbol => {
                "its symbols have no function there (code of a linker, such as jumps to other libraries, has none)"
            }
            Self::Unreadable => "the file is not a readable ELF file",
            Self::OfKernel => "it is a part of the kernel, of which no copy was found (perf keeps one in ~/.debug)",
            Self::Generated => {
                "memory of no file: code generated at run time, whose names the program has to write (Node.js --perf-basic-prof, Python \
                 -X perf, a JVM with perf-map-agent)"
            }
            Self::Unmapped => {
                "what was mapped at the address is not known: the process had ended, or the address is none of code"
            }
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

/// What separate debug information lacks, for some code of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NoLines {
    /// It is in files of its own (`.dwo`, `.dwp`), which are not read.
    Split,
    /// It has more bytes than are read.
    TooLarge,
    /// Reading it took too long.
    TooSlow,
    /// It is damaged, or of an unknown form.
    Unreadable,
}

impl NoLines {
    /// Returns the reason, as a part of a sentence.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Split => "its debug information is in .dwo or .dwp files, which are not read",
            Self::TooLarge => "its debug information has more than 2 GB, which is not read",
            Self::TooSlow => "reading its debug information took too long",
            Self::Unreadable => "its debug information is damaged or of an unknown form",
        }
    }
}
