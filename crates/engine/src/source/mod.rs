//! Sources that can be read more than once.

mod archive;
mod checksum;
mod file;
mod folder;
mod joined;
mod unpack;

pub use checksum::Haste;
pub use file::FileSource;
pub use joined::{JoinedSource, Part};

use crate::EngineError;
use ingest::{Fatal, Importer, Opened};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use store::SourceFile;

/// The largest head that an importer asks for.
const HEAD: u64 = 4096;

/// What a source is known by.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The trace's id, in every key of every table.
    pub trace: i64,
    /// The files that it was made from.
    pub files: Vec<SourceFile>,
}

/// A source of events that may be opened again: a late event or a loss asks for a second reading.
pub trait Source: Sync + Send {
    /// The file or folder that the user named.
    fn path(&self) -> &Path;
    /// The format's name.
    fn format(&self) -> &'static str;
    /// Of how many sources it is joined; each event's offset then tells which ([`store::PART_SHIFT`]).
    fn parts(&self) -> usize {
        1
    }
    /// Opens it from the start.
    ///
    /// # Errors
    /// As its importer says.
    fn open(&self) -> Result<Opened<'static>, Fatal>;
    /// What it is known by; may read all of it.
    ///
    /// # Errors
    /// It cannot be read, or nobody wants it any more.
    fn identity(&self, haste: &Haste) -> Result<Identity, EngineError>;
}

/// Every format that is read, in the order in which they are asked.
#[must_use]
pub fn formats() -> &'static [&'static dyn Importer] {
    import::FORMATS
}

/// Opens what another tool recorded: a file, a folder of files, or either of them packed (gzip, zip, zstd, tar). `-` is
/// standard input.
///
/// # Errors
/// It cannot be read, or no importer knows it.
pub fn open_source(path: &Path) -> Result<Box<dyn Source>, EngineError> {
    if path.is_dir() {
        return folder::open(path);
    }
    let file = file::whole(path)?;
    if import::detect(&head(&file, path)?).is_some() {
        return Ok(Box::new(FileSource::of(path, file)?));
    }
    match unpack::unpack(path, file)? {
        unpack::Unpacked::File(file) => Ok(Box::new(FileSource::of(path, file)?)),
        unpack::Unpacked::Folder(folder) => folder::unpacked(path, folder),
    }
}

/// The folder that an archive holds; `None` where the path names no archive, or one that cannot be unpacked.
pub(crate) fn unpacked_folder(path: &Path) -> Option<tempfile::TempDir> {
    // A pipe would be waited on for ever.
    let file = if path.is_file() { File::open(path).ok()? } else { return None };
    match unpack::unpack(path, file).ok()? {
        unpack::Unpacked::Folder(folder) => Some(folder),
        unpack::Unpacked::File(_) => None,
    }
}

/// A file's first bytes; it stands at its start again.
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

/// No importer knows it.
fn unknown(path: &Path) -> EngineError {
    let known: Vec<&str> = formats().iter().map(|f| f.id()).collect();
    EngineError::UnknownFormat { path: path.to_owned(), known: known.join(", ") }
}
