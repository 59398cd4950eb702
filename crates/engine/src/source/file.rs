//! A source that is one file.

use super::checksum::source_id;
use super::coverage::{Coverage, Covered};
use super::{Identity, Priority, Source, head, unknown};
use crate::EngineError;
use ingest::{Fatal, Importer, Input, Opened};
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{ContentHash, SourceFile};

/// How long to wait for a writer of a FIFO, in ms.
const WRITER_MS: u64 = 10_000;

/// A file of a known format.
pub struct FileSource {
    path: PathBuf,
    file: File,
    importer: &'static dyn Importer,
    coverage: Arc<Coverage>,
}

impl FileSource {
    /// Creates a source from an open file and the path that the user gave.
    ///
    /// # Errors
    /// The file cannot be read, or its format is unknown.
    pub(super) fn of(path: &Path, file: File) -> Result<Self, EngineError> {
        let importer = import::detect(&head(&file, path)?).ok_or_else(|| unknown(path))?;
        let bytes = file.metadata().map_err(EngineError::io(path))?.len();
        Ok(Self { path: path.to_owned(), file, importer, coverage: Arc::new(Coverage::new(bytes)) })
    }
}

/// Opens a file for seeking. A pipe (or `-`, standard input) is copied to a temporary file, since it may have to be read twice.
pub(super) fn open_seekable(path: &Path) -> Result<File, EngineError> {
    if path == Path::new("-") {
        return spooled(&mut std::io::stdin().lock()).map_err(EngineError::temporary);
    }
    let kind = std::fs::metadata(path).map_err(EngineError::io(path))?.file_type();
    if kind.is_file() {
        return File::open(path).map_err(EngineError::io(path));
    }
    let mut pipe = if kind.is_fifo() { fifo(path)? } else { File::open(path).map_err(EngineError::io(path))? };
    spooled(&mut pipe).map_err(EngineError::temporary)
}

/// Opens a FIFO, and waits at most [`WRITER_MS`] for a writer.
fn fifo(path: &Path) -> Result<File, EngineError> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(EngineError::io(path))?;
    let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
    let mut wait = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let until = Instant::now() + Duration::from_millis(WRITER_MS);
    // After a signal, wait for the rest of the time.
    let ready = loop {
        let left = until.saturating_duration_since(Instant::now()).as_millis();
        // SAFETY: one entry, valid for the call.
        let ready = unsafe { libc::poll(&raw mut wait, 1, i32::try_from(left).unwrap_or(i32::MAX)) };
        if ready >= 0 || std::io::Error::last_os_error().kind() != ErrorKind::Interrupted {
            break ready;
        }
    };
    // SAFETY: changes the flags of a file that is open here.
    unsafe { libc::fcntl(fd, libc::F_SETFL, libc::fcntl(fd, libc::F_GETFL) & !libc::O_NONBLOCK) };
    if ready > 0 {
        return Ok(file);
    }
    let (path, seconds) = (path.display(), WRITER_MS / 1000);
    Err(EngineError::NotOpened(format!(
        "{path}: nothing was written to this FIFO within {seconds} s: start its writer first"
    )))
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
        let reopen = || -> std::io::Result<Positioned> { Ok(Positioned { file: self.file.try_clone()?, at: 0 }) };
        let file = reopen().map_err(|e| Fatal::new(format!("the file cannot be read again: {e}"), 0))?;
        self.importer.open(Input::File(Box::new(Covered::new(file, Arc::clone(&self.coverage)))))
    }

    fn read_share(&self) -> Option<f64> {
        Some(self.coverage.share())
    }

    fn identity(&self, priority: &Priority) -> Result<Identity, EngineError> {
        let mut file =
            self.file.try_clone().map(|file| Positioned { file, at: 0 }).map_err(EngineError::io(&self.path))?;
        let id = source_id(&mut file, priority).map_err(EngineError::io(&self.path))?;
        let trace = store::trace_id_of_sources(std::slice::from_ref(&id));
        let path = self.path.display().to_string();
        let format = self.importer.id().to_owned();
        Ok(Identity {
            trace,
            files: vec![SourceFile { path, hash: Some(ContentHash::Blake3(id.blake3)), bytes: id.bytes, format }],
        })
    }
}

/// A file with its own position: the importer and the checksum read the same file at the same time.
pub(super) struct Positioned {
    pub(super) file: File,
    pub(super) at: u64,
}

impl Read for Positioned {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = loop {
            match self.file.read_at(into, self.at) {
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                done => break done?,
            }
        };
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Positioned {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let end = || -> std::io::Result<u64> { Ok(self.file.metadata()?.len()) };
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => end()?.checked_add_signed(by),
        };
        self.at = at.ok_or(std::io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
