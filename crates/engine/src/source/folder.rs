//! A folder of files: LTTng's channels, schedviz's per-CPU buffers.

use super::checksum::source_id;
use super::file::Positioned;
use super::{Identity, Priority, Source};
use crate::EngineError;
use ingest::{Fatal, Folder, Importer, Input, Opened, ReadSeek};
use std::fs::File;
use std::path::{Path, PathBuf};
use store::{ContentHash, SourceFile};
use tempfile::TempDir;

/// So deep below the folder that the user names, the trace may lie (`session/kernel/`).
const DEPTH: usize = 3;
/// More files than any trace has: somebody named the wrong folder.
const MOST_FILES: usize = 100_000;

/// A folder of a format that an importer knows.
pub struct FolderSource {
    path: PathBuf,
    root: PathBuf,
    names: Vec<String>,
    importer: &'static dyn Importer,
    /// Where it was unpacked to; goes when the source goes.
    _unpacked: Option<TempDir>,
}

impl FolderSource {
    /// Opens a folder, or the one below it that holds the trace.
    ///
    /// # Errors
    /// It cannot be read, or no importer knows it.
    pub fn open(path: &Path) -> Result<Self, EngineError> {
        Self::find(path, path, None)
    }

    /// A folder that was unpacked from the file that the user named.
    pub(super) fn unpacked(path: &Path, folder: TempDir) -> Result<Self, EngineError> {
        let root = folder.path().to_owned();
        Self::find(path, &root, Some(folder))
    }

    fn find(path: &Path, root: &Path, unpacked: Option<TempDir>) -> Result<Self, EngineError> {
        let mut level = vec![root.to_owned()];
        for _ in 0..=DEPTH {
            let mut found = Vec::new();
            for folder in &level {
                let names = names(folder)?;
                found.extend(import::detect_folder(&names).map(|importer| (folder.clone(), names, importer)));
            }
            match found.len() {
                0 => {}
                1 => {
                    let Some((root, names, importer)) = found.pop() else { break };
                    return Ok(Self { path: path.to_owned(), root, names, importer, _unpacked: unpacked });
                }
                _ => {
                    let (path, several) = (path.display(), shown(root, found.iter().map(|f| &f.0)));
                    return Err(EngineError::Other(format!(
                        "{path}: several traces lie in this folder; name one of {several}"
                    )));
                }
            }
            level = below(&level)?;
        }
        Err(EngineError::Other(format!(
            "{}: neither a trace folder of corewise (no manifest.json) nor a folder that an importer knows ({})",
            path.display(),
            folder_formats()
        )))
    }
}

/// Which formats are folders.
fn folder_formats() -> String {
    let known: Vec<&str> = import::FORMATS.iter().filter(|f| f.is_folder()).map(|f| f.id()).collect();
    known.join(", ")
}

fn shown<'a>(root: &Path, folders: impl Iterator<Item = &'a PathBuf>) -> String {
    let names = folders.take(5).map(|f| f.strip_prefix(root).unwrap_or(f).display().to_string());
    names.collect::<Vec<_>>().join(", ")
}

/// The folders in these.
fn below(folders: &[PathBuf]) -> Result<Vec<PathBuf>, EngineError> {
    let mut all = Vec::new();
    for folder in folders {
        for entry in std::fs::read_dir(folder).map_err(EngineError::io(folder))? {
            let entry = entry.map_err(EngineError::io(folder))?;
            if entry.file_type().is_ok_and(|t| t.is_dir()) && all.len() < MOST_FILES {
                all.push(entry.path());
            }
        }
    }
    all.sort();
    Ok(all)
}

/// The files in a folder and below it, by their path from it.
fn names(folder: &Path) -> Result<Vec<String>, EngineError> {
    let mut names = Vec::new();
    let mut level = vec![folder.to_owned()];
    for _ in 0..=DEPTH {
        let mut next = Vec::new();
        for dir in &level {
            for entry in std::fs::read_dir(dir).map_err(EngineError::io(dir))? {
                let entry = entry.map_err(EngineError::io(dir))?;
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() {
                    next.push(entry.path());
                } else if kind.is_file()
                    && let Ok(name) = entry.path().strip_prefix(folder)
                {
                    names.push(name.to_string_lossy().into_owned());
                }
                if names.len() > MOST_FILES {
                    let folder = folder.display();
                    return Err(EngineError::Other(format!(
                        "{folder}: more than {MOST_FILES} files: this is no trace"
                    )));
                }
            }
        }
        level = next;
    }
    names.sort();
    Ok(names)
}

/// The folder as a parser sees it.
struct OnDisk {
    root: PathBuf,
    names: Vec<String>,
}

impl Folder for OnDisk {
    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn open(&self, name: &str) -> std::io::Result<Box<dyn ReadSeek + Send>> {
        // Only what was listed: a name from within the trace never leads out of it.
        if !self.names.iter().any(|n| n == name) {
            return Err(std::io::ErrorKind::NotFound.into());
        }
        Ok(Box::new(Positioned { file: File::open(self.root.join(name))?, at: 0 }))
    }
}

impl Source for FolderSource {
    fn path(&self) -> &Path {
        &self.path
    }

    fn format(&self) -> &'static str {
        self.importer.id()
    }

    fn open(&self) -> Result<Opened<'static>, Fatal> {
        let folder = OnDisk { root: self.root.clone(), names: self.names.clone() };
        self.importer.open(Input::Folder(Box::new(folder)))
    }

    fn identity(&self, priority: &Priority) -> Result<Identity, EngineError> {
        let id_of = |name| {
            let path = self.root.join(name);
            File::open(&path).and_then(|mut file| source_id(&mut file, priority)).map_err(EngineError::io(&path))
        };
        let ids = self.names.iter().map(id_of).collect::<Result<Vec<_>, _>>()?;
        // One source, whatever its files are called.
        let whole = store::source_id_of_files(&ids);
        let trace = store::trace_id_of_sources(std::slice::from_ref(&whole));
        let (path, format) = (self.path.display().to_string(), self.importer.id().to_owned());
        let hash = Some(ContentHash::Blake3(whole.blake3));
        Ok(Identity { trace, files: vec![SourceFile { path, hash, bytes: whole.bytes, format }] })
    }
}
