//! The contract between a source and the rest.

use crate::{Facts, Ledger};
use model::{Batch, Ns};
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
#[error("{what} at byte {offset}")]
pub struct Fatal {
    /// What is wrong, and where it helps, what to do.
    pub what: String,
    /// Where in the source.
    pub offset: u64,
}

impl Fatal {
    /// An error at an offset.
    pub fn new(what: impl Into<String>, offset: u64) -> Self {
        Self { what: what.into(), offset }
    }
}

/// A source that was opened: what it says of itself, and its events.
pub struct Opened<'a> {
    /// What the source says of itself before its first event.
    pub facts: Facts,
    /// Its events.
    pub streams: Vec<Box<dyn Stream + Send + 'a>>,
}

/// Whether recordings of a format tell something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tells {
    /// Every one does.
    Yes,
    /// Those that were made so: how.
    If(&'static str),
    /// None does.
    No,
}

/// What recordings of a format tell, for the page of formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offer {
    /// Which programs write it, and how it is had of them, in a line.
    pub made_by: &'static str,
    /// Which switch from which thread to which, and why.
    pub switches: Tells,
    /// `sched_waking`.
    pub waking: Tells,
    /// `sched_wakeup`.
    pub wakeup: Tells,
    /// Which process each thread belongs to.
    pub processes: Tells,
    /// Priorities.
    pub priority: Tells,
    /// How threads are set to be scheduled: policy, nice, utilisation clamps, cgroup.
    pub settings: Tells,
    /// Which CPU is best for a thread, as programs say.
    pub ideal_cpu: Tells,
    /// Idle states.
    pub idle: Tells,
    /// Frequencies.
    pub frequency: Tells,
    /// Which CPUs are parked, or taken from the scheduler, from when to when.
    pub parking: Tells,
    /// Interrupts.
    pub irq: Tells,
    /// What the kernel charged for running.
    pub charges: Tells,
    /// Marks and values of programs.
    pub marks: Tells,
    /// Frames.
    pub frames: Tells,
    /// Callchains.
    pub stacks: Tells,
    /// Calls of `sched_yield`, which tell it from a preemption on the way back to user mode.
    pub yields: Tells,
    /// That events were lost.
    pub losses: Tells,
    /// The machine: core types, siblings, capacities.
    pub topology: Tells,
    /// What corewise therefore cannot say, a sentence each.
    pub cannot: &'static [&'static str],
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
    /// Nothing earlier than this will come; [`Ns::MIN`] says nothing yet.
    Until(Ns),
    /// Nothing more will come.
    End,
}
