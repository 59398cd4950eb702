//! Sources of events, which can be read more than once.

mod archive;
mod cancel;
mod checksum;
mod coverage;
mod file;
mod folder;
mod hint;
mod joined;
mod unpack;

pub use cancel::CancellableSource;
pub use checksum::Priority;
pub use file::FileSource;
pub use joined::{JoinedPart, JoinedSource};

use crate::EngineError;
use ingest::{Fatal, Importer, Opened};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use store::SourceFile;
use tempfile::TempDir;

/// The number of bytes at the start of a file from which importers detect their format.
pub const HEAD: u64 = 4096;

/// The identity of a source.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The trace's id, computed from the content of its files.
    pub trace: i64,
    /// The files of the source.
    pub files: Vec<SourceFile>,
}

/// A source of events. It can be opened again, since a late event or a loss requires a second reading.
pub trait Source: Sync + Send {
    /// The file or folder that the user named.
    fn path(&self) -> &Path;
    /// The format's name.
    fn format(&self) -> &'static str;
    /// The number of joined sources; each event's offset contains the index of its source ([`store::PART_SHIFT`]).
    fn parts(&self) -> usize {
        1
    }
    /// Opens the source at its start.
    ///
    /// # Errors
    /// Those of the importer.
    fn open(&self) -> Result<Opened<'static>, Fatal>;
    /// Returns the share of the source that the importer has read in its current pass, 0 to 1; `None` if that is unknown.
    fn read_share(&self) -> Option<f64> {
        None
    }
    /// Computes the identity; may read the whole source.
    ///
    /// # Errors
    /// The source cannot be read, or the checksum was cancelled.
    fn identity(&self, priority: &Priority) -> Result<Identity, EngineError>;
}

/// All supported formats, in the order in which they are tried.
///
/// ```
/// use engine::Capability;
///
/// let with_frames = engine::formats().iter().filter(|f| f.offer().of(Capability::Frames).is_some());
/// assert!(with_frames.map(|f| f.id()).any(|id| id == "PresentMon"));
/// ```
#[must_use]
pub fn formats() -> &'static [&'static dyn Importer] {
    import::FORMATS
}

/// Opens a recording of another tool: a file, a folder of files, or either of them packed (gzip, zip, zstd, tar). `-` is
/// standard input.
///
/// ```
/// use engine::{EngineError, open_source};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/fixtures/ftrace_text/trace.txt");
/// # let path = std::path::Path::new(path);
/// // The content determines the format, not the name.
/// assert_eq!(open_source(path)?.format(), "ftrace text");
/// let not_a_trace = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
/// assert!(matches!(open_source(&not_a_trace), Err(EngineError::UnknownFormat { .. })));
/// # Ok::<(), engine::EngineError>(())
/// ```
///
/// # Errors
/// The recording cannot be read, or its format is unknown.
pub fn open_source(path: &Path) -> Result<Box<dyn Source>, EngineError> {
    match open_any(path)? {
        Any::Source(source) => Ok(source),
        Any::Trace(_) => {
            let path = path.display();
            Err(EngineError::NotOpened(format!("{path}: a packed trace folder of corewise: unpack it first")))
        }
    }
}

/// What a path may be, other than a trace folder.
pub(crate) enum Any {
    Source(Box<dyn Source>),
    /// A trace folder of corewise that was packed.
    Trace(UnpackedTrace),
}

/// A packed trace folder.
pub(crate) struct UnpackedTrace {
    /// Where it was unpacked.
    pub(crate) at: PathBuf,
    /// Removes it.
    pub(crate) folder: TempDir,
}

/// As [`open_source`]; also unpacks a trace folder.
pub(crate) fn open_any(path: &Path) -> Result<Any, EngineError> {
    if path.is_dir() {
        return folder::open(path).map(Any::Source);
    }
    let file = file::open_seekable(path)?;
    if import::detect(&head(&file, path)?).is_some() {
        return Ok(Any::Source(Box::new(FileSource::of(path, file)?)));
    }
    match unpack::unpack(path, file)? {
        unpack::Unpacked::File(file) => Ok(Any::Source(Box::new(FileSource::of(path, file)?))),
        unpack::Unpacked::Folder(folder) => match trace_in(folder.path()) {
            Some(at) => Ok(Any::Trace(UnpackedTrace { at, folder })),
            None => folder::unpacked(path, folder).map(Any::Source),
        },
    }
}

/// The trace folder that an archive has: the archive itself, or the only folder in it.
fn trace_in(unpacked: &Path) -> Option<PathBuf> {
    let is_trace = |folder: &Path| std::fs::symlink_metadata(folder.join(store::MANIFEST)).is_ok_and(|of| of.is_file());
    if is_trace(unpacked) {
        return Some(unpacked.to_owned());
    }
    let mut entries = std::fs::read_dir(unpacked).ok()?.flatten();
    let one = entries.next()?;
    let is_alone = entries.next().is_none() && one.file_type().is_ok_and(|kind| kind.is_dir());
    Some(one.path()).filter(|folder| is_alone && is_trace(folder))
}

/// Unpacks an archive of a folder; `None` if the path is not an archive or cannot be unpacked.
pub(crate) fn unpacked_folder(path: &Path) -> Option<tempfile::TempDir> {
    // Opening a pipe would block forever.
    let file = if path.is_file() { File::open(path).ok()? } else { return None };
    match unpack::unpack(path, file).ok()? {
        unpack::Unpacked::Folder(folder) => Some(folder),
        unpack::Unpacked::File(_) => None,
    }
}

/// Whether a file with these first [`HEAD`] bytes may be a recording, alone or packed. It may still be something else.
#[must_use]
pub fn may_be_recording(head: &[u8]) -> bool {
    import::detect(head).is_some() || unpack::is_packed(head)
}

/// Reads a file's first bytes and seeks back to its start.
fn head(mut file: &File, path: &Path) -> Result<Vec<u8>, EngineError> {
    let mut head = Vec::new();
    let mut read = || {
        file.seek(SeekFrom::Start(0))?;
        file.take(HEAD).read_to_end(&mut head)?;
        file.seek(SeekFrom::Start(0))
    };
    read().map_err(EngineError::io(path))?;
    Ok(head)
}

/// Returns the error for an unknown format.
fn unknown(path: &Path) -> EngineError {
    let known: Vec<&str> = formats().iter().map(|f| f.id()).collect();
    EngineError::UnknownFormat {
        path: path.to_owned(),
        known: known.join(", "),
        hint: hint::of(path).unwrap_or_default(),
    }
}
