//! The interface between sources and the rest of corewise.

use crate::{Facts, Ledger, Offer};
use model::{Batch, MaybeNs};
use std::io::{Read, Seek};
use std::sync::Arc;

/// Whether the first bytes of a file match a format.
///
/// ```
/// use ingest::Sniff;
///
/// // Of several formats, the one that is sure is preferred.
/// assert_eq!([Sniff::Maybe, Sniff::Yes, Sniff::No].into_iter().max(), Some(Sniff::Yes));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Sniff {
    /// They do not.
    No,
    /// They may.
    Maybe,
    /// They do.
    Yes,
}

/// A seekable file.
pub trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}

/// A folder of files, so that parsers do not access the file system.
pub trait Folder {
    /// Returns the names of its files, sorted.
    fn names(&self) -> Vec<String>;
    /// Opens one of them.
    ///
    /// # Errors
    /// The error of the file system.
    fn open(&self, name: &str) -> std::io::Result<Box<dyn ReadSeek + Send>>;
}

/// The input of an importer.
///
/// ```
/// use ingest::Input;
/// use std::io::{Cursor, Read};
///
/// let (mut from, mut text) = (Input::File(Box::new(Cursor::new("# tracer: nop"))), String::new());
/// match &mut from {
///     Input::File(file) => file.read_to_string(&mut text)?,
///     Input::Pipe(pipe) => pipe.read_to_string(&mut text)?,
///     Input::Folder(_) => 0,
/// };
/// assert_eq!(text, "# tracer: nop");
/// # Ok::<(), std::io::Error>(())
/// ```
pub enum Input<'a> {
    /// A file.
    File(Box<dyn ReadSeek + Send + 'a>),
    /// A pipe, which can be read only once.
    Pipe(Box<dyn Read + Send + 'a>),
    /// A folder of files.
    Folder(Box<dyn Folder + Send + 'a>),
}

/// An error that ends the reading of a source.
///
/// ```
/// use ingest::{Fatal, Fault};
///
/// let cut_off = Fatal::new("record cut off by the end of the file", 42);
/// assert_eq!(cut_off.to_string(), "record cut off by the end of the file at byte 42");
/// // The file did not cause this, so the message has no place in it.
/// let full = Fatal::in_reader("the disk is full");
/// assert_eq!((full.to_string().as_str(), full.fault), ("the disk is full", Fault::Reader));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}{}", place(self))]
pub struct Fatal {
    /// What is wrong, and what to do if that helps. " at byte N" follows it when it is printed.
    pub what: String,
    /// The offset in the source.
    pub offset: u64,
    /// Whether the events before are a valid result.
    pub fault: Fault,
}

fn place(fatal: &Fatal) -> String {
    match fatal.fault {
        Fault::Source => format!(" at byte {}", fatal.offset),
        Fault::Reader => String::new(),
    }
}

/// The cause of an error that ended a reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The source is cut off or damaged. The events before are valid.
    Source,
    /// corewise or this machine failed: a panic in a reader, a full disk. The events before are not a result.
    Reader,
}

impl Fatal {
    /// Returns an error for a source that is cut off or damaged at an offset.
    pub fn new(what: impl Into<String>, offset: u64) -> Self {
        Self { what: what.into(), offset, fault: Fault::Source }
    }

    /// Returns an error that is not caused by the source.
    pub fn in_reader(what: impl Into<String>) -> Self {
        Self { what: what.into(), offset: 0, fault: Fault::Reader }
    }
}

/// An open source: its metadata and its events.
pub struct Opened<'a> {
    /// The metadata of the source.
    pub facts: Facts,
    /// Its events.
    pub streams: Vec<Box<dyn Stream + Send + 'a>>,
}

/// An importer of a format.
///
/// ```
/// use ingest::{Facts, Fatal, Importer, Input, Offer, Opened, Sniff};
///
/// struct Empty;
/// impl Importer for Empty {
///     fn id(&self) -> &'static str { "empty" }
///     fn offer(&self) -> Offer { Offer { made_by: "no program", provides: &[], cannot: &[] } }
///     fn sniff(&self, head: &[u8]) -> Sniff { if head == b"EMPTY" { Sniff::Yes } else { Sniff::No } }
///     fn open<'a>(&self, _: Input<'a>) -> Result<Opened<'a>, Fatal> {
///         Ok(Opened { facts: Facts::default(), streams: Vec::new() })
///     }
/// }
/// assert_eq!(Empty.sniff(b"EMPTY"), Sniff::Yes);
/// ```
pub trait Importer: Sync {
    /// Returns the name of the format in lists and manifests.
    fn id(&self) -> &'static str;
    /// Returns what its recordings provide.
    fn offer(&self) -> Offer;
    /// Whether its recordings are folders of files.
    fn is_folder(&self) -> bool {
        false
    }
    /// Whether a folder with files of these names is of this format.
    fn sniff_folder(&self, _names: &[String]) -> Sniff {
        Sniff::No
    }
    /// Whether these first bytes (up to 4 KiB; fewer only if the file is shorter) are of this format.
    fn sniff(&self, head: &[u8]) -> Sniff;
    /// Reads the metadata before the events.
    ///
    /// # Errors
    /// [`Fatal`] if nothing can be read.
    fn open<'a>(&self, from: Input<'a>) -> Result<Opened<'a>, Fatal>;
}

/// The approximate number of events in a batch: small enough (64 bytes each) to be in the L2 cache when they are ordered.
pub const BATCH: usize = 2048;

/// A stream of events: usually a CPU's buffer, in time order. A file with round marks is one stream whose [`Reach::Until`] advances
/// at each round, so that a CPU without events never stalls the merge. Between two rounds, events may be in any order across CPUs,
/// but in time order on each.
///
/// ```
/// use ingest::{Fatal, Ledger, Reach, Stream};
/// use model::{Batch, CpuId, Event, EventKind, Ns, Tid};
///
/// struct One;
/// impl Stream for One {
///     fn next(&mut self, out: &mut Batch, _: &mut dyn Ledger) -> Result<Reach, Fatal> {
///         let (cpu, current) = (CpuId(0), Tid::UNKNOWN);
///         out.events.push(Event { at: Ns(7), offset: 0, cpu, current, what: EventKind::Sample });
///         Ok(Reach::End)
///     }
/// }
/// ```
pub trait Stream {
    /// Appends some events (about [`BATCH`]) to `out`; what cannot be read is reported to `bad` and skipped.
    ///
    /// # Errors
    /// [`Fatal`] if reading cannot continue; events delivered before stay valid.
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal>;

    /// Takes what finds the call frame information of recorded files, before the first batch. Streams that have no copies of stacks ignore it.
    fn unwind_by(&mut self, _tables: &Arc<dyn unwind::Tables>) {}
}

/// How far a stream is complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// No event before this time will follow; [`MaybeNs::NONE`]: not known yet.
    Until(MaybeNs),
    /// No event will follow.
    End,
}
