//! The contract between a source and the rest.

use crate::{Facts, Ledger, Offer};
use model::{Batch, MaybeNs};
use std::io::{Read, Seek};

/// Whether a file's first bytes are of a format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Sniff {
    /// They are not.
    No,
    /// They may be.
    Maybe,
    /// They are.
    Yes,
}

/// A file that may be read anywhere.
pub trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}

/// A folder of files, so that a parser never touches the file system itself.
pub trait Folder {
    /// The names of its files, sorted.
    fn names(&self) -> Vec<String>;
    /// Opens one of them.
    ///
    /// # Errors
    /// As the file system says.
    fn open(&self, name: &str) -> std::io::Result<Box<dyn ReadSeek + Send>>;
}

/// What an importer is handed.
pub enum Input<'a> {
    /// A file.
    File(Box<dyn ReadSeek + Send + 'a>),
    /// Something that can be read once.
    Pipe(Box<dyn Read + Send + 'a>),
    /// A folder of files.
    Folder(Box<dyn Folder + Send + 'a>),
}

/// The source cannot be read on from here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}{}", place(self))]
pub struct Fatal {
    /// What is wrong, and where it helps, what to do.
    pub what: String,
    /// Where in the source.
    pub offset: u64,
    /// Whether what came before is a result.
    pub fault: Fault,
}

fn place(fatal: &Fatal) -> String {
    match fatal.fault {
        Fault::Source => format!(" at byte {}", fatal.offset),
        Fault::Reader => String::new(),
    }
}

/// Where the fault lies that ended a reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// In the source: it is cut off or damaged. What came before is what it holds.
    Source,
    /// In corewise or in this machine: a reader's panic, a full disk. What came before is no result.
    Reader,
}

impl Fatal {
    /// The source is cut off or damaged at an offset.
    pub fn new(what: impl Into<String>, offset: u64) -> Self {
        Self { what: what.into(), offset, fault: Fault::Source }
    }

    /// Reading failed, through no fault of the source.
    pub fn of_reader(what: impl Into<String>) -> Self {
        Self { what: what.into(), offset: 0, fault: Fault::Reader }
    }
}

/// A source that was opened: what it says of itself, and its events.
pub struct Opened<'a> {
    /// What the source says of itself before its first event.
    pub facts: Facts,
    /// Its events.
    pub streams: Vec<Box<dyn Stream + Send + 'a>>,
}

/// A format.
pub trait Importer: Sync {
    /// Its name in lists and manifests.
    fn id(&self) -> &'static str;
    /// What its recordings tell.
    fn offer(&self) -> Offer;
    /// Whether its recordings are folders of files.
    fn is_folder(&self) -> bool {
        false
    }
    /// Whether a folder that holds files of these names is of this format.
    fn sniff_folder(&self, _names: &[String]) -> Sniff {
        Sniff::No
    }
    /// Whether these first bytes (up to 4 KiB; fewer only where the file is shorter) are of this format.
    fn sniff(&self, head: &[u8]) -> Sniff;
    /// Reads what stands before the events.
    ///
    /// # Errors
    /// [`Fatal`] where nothing can be read from it.
    fn open<'a>(&self, from: Input<'a>) -> Result<Opened<'a>, Fatal>;
}

/// Events that a stream hands out at once, about: of 64 bytes each, so that they are still in a core's second cache when they are
/// put in order.
pub const BATCH: usize = 2048;

/// A source of events: usually a CPU's buffer, in time order. A file with round marks is one stream whose [`Reach::Until`]
/// advances at each round, so that a silent CPU never stalls the merge; between two rounds it may hand out events in any
/// order across CPUs, but in time order on each.
pub trait Stream {
    /// Appends some events (about [`BATCH`]) to `out`; what cannot be read is told to `bad`, and reading goes on behind it.
    ///
    /// # Errors
    /// [`Fatal`] where reading cannot go on: what was delivered before stays good.
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal>;
}

/// How far a stream has told everything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// Nothing earlier than this will come; [`MaybeNs::NONE`] says nothing yet.
    Until(MaybeNs),
    /// Nothing more will come.
    End,
}
