//! Sources that can be read more than once.

use crate::EngineError;
use ingest::{Fatal, Importer, Input, Opened};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
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
pub trait Source: Sync {
    /// The file or folder that the user named.
    fn path(&self) -> &Path;
    /// The format's name.
    fn format(&self) -> &'static str;
    /// Opens it from the start.
    ///
    /// # Errors
    /// As its importer says.
    fn open(&self) -> Result<Opened<'static>, Fatal>;
    /// What it is known by; may read all of it.
    ///
    /// # Errors
    /// It cannot be read.
    fn identity(&self) -> Result<Identity, EngineError>;
}

/// The names of all formats that are read.
#[must_use]
pub fn formats() -> Vec<&'static str> {
    import::FORMATS.iter().map(|f| f.id()).collect()
}

/// A file of a format that an importer knows.
pub struct FileSource {
    path: PathBuf,
    file: File,
    importer: &'static dyn Importer,
}

impl FileSource {
    /// Opens a file and recognises its format. A pipe (or `-`, standard input) is copied to a temporary file first, since
    /// it may have to be read twice.
    ///
    /// # Errors
    /// Where it cannot be read, or no importer knows it.
    pub fn open(path: &Path) -> Result<Self, EngineError> {
        let mut file = if path == Path::new("-") {
            spooled(&mut std::io::stdin().lock()).map_err(EngineError::temporary)?
        } else {
            let mut file = File::open(path).map_err(EngineError::io(path))?;
            let kind = file.metadata().map_err(EngineError::io(path))?.file_type();
            if kind.is_dir() {
                return Err(EngineError::UnknownFormat { path: path.to_owned(), known: formats().join(", ") });
            }
            if kind.is_file() { file } else { spooled(&mut file).map_err(EngineError::temporary)? }
        };
        let mut head = Vec::new();
        (&mut file).take(HEAD).read_to_end(&mut head).map_err(EngineError::io(path))?;
        let unknown = || EngineError::UnknownFormat { path: path.to_owned(), known: formats().join(", ") };
        let importer = import::detect(&head).ok_or_else(unknown)?;
        Ok(Self { path: path.to_owned(), file, importer })
    }
}

fn spooled(from: &mut impl Read) -> std::io::Result<File> {
    let mut file = tempfile::tempfile()?;
    std::io::copy(from, &mut file)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

impl Source for FileSource {
    fn path(&self) -> &Path {
        &self.path
    }

    fn format(&self) -> &'static str {
        self.importer.id()
    }

    fn open(&self) -> Result<Opened<'static>, Fatal> {
        let again = || -> std::io::Result<File> {
            let mut file = self.file.try_clone()?;
            file.seek(SeekFrom::Start(0))?;
            Ok(file)
        };
        let file = again().map_err(|e| Fatal::new(format!("cannot be read again: {e}"), 0))?;
        self.importer.open(Input::File(Box::new(file)))
    }

    fn identity(&self) -> Result<Identity, EngineError> {
        let mut whole = FromStart { file: &self.file, at: 0 };
        let id = store::source_id_of(&mut whole).map_err(EngineError::io(&self.path))?;
        let trace = store::trace_id_of_sources(std::slice::from_ref(&id));
        let path = self.path.display().to_string();
        let format = self.importer.id().to_owned();
        Ok(Identity { trace, files: vec![SourceFile { path, sha256: id.sha256, bytes: id.bytes, format }] })
    }
}

/// Reads a file without moving its place, which the importer uses meanwhile.
struct FromStart<'a> {
    file: &'a File,
    at: u64,
}

impl Read for FromStart<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let got = self.file.read_at(into, self.at)?;
        self.at += got as u64;
        Ok(got)
    }
}
