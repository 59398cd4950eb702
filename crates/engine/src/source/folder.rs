//! A source that is a folder of files: LTTng's channels, schedviz's per-CPU buffers.
//!
//! A session of LTTng consists of several such folders, which together are one source:
//!
//! ```text
//!   session/  kernel/  metadata, channel0_0, …                    the kernel's events
//!             ust/     uid/1000/64-bit/  metadata, channel0_0, …  those of programs: by user, or by process (ust/pid/NAME-7-…/)
//! ```

use super::checksum::source_id;
use super::file::Positioned;
use super::{Identity, JoinedPart, JoinedSource, Priority, Source, head};
use crate::EngineError;
use ingest::{Fatal, Folder, Importer, Input, Opened, ReadSeek};
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{ContentHash, SourceFile};
use tempfile::TempDir;

/// The maximum depth of the trace below the folder that the user names: perfcollect packs
/// `X.trace/lttngTrace/auto-DATE/ust/uid/1000/64-bit`.
const MAX_TRACE_DEPTH: usize = 8;
/// The maximum depth of files within a trace.
const MAX_FILE_DEPTH: usize = 3;
/// The maximum number of files; no trace has more, so the user probably named the wrong folder.
const MAX_FILES: usize = 100_000;
/// The maximum number of folders that are searched for a trace.
const MAX_FOLDERS: usize = 20_000;
/// The maximum number of files next to the trace that are checked for being recordings too.
const MAX_OTHERS: usize = 256;
/// The maximum number of files that a message lists.
const MAX_LISTED: usize = 5;

/// A folder of a known format.
pub struct FolderSource {
    path: PathBuf,
    root: PathBuf,
    names: Vec<String>,
    importer: &'static dyn Importer,
    /// Notes on recordings next to the trace that are not read.
    lacks: Vec<String>,
    /// The temporary folder of an unpacked archive; removed with the last source in it.
    _unpacked: Option<Arc<TempDir>>,
}

/// A folder that is a trace.
struct Found {
    root: PathBuf,
    names: Vec<String>,
    importer: &'static dyn Importer,
}

/// Opens a folder, or the trace inside it.
///
/// # Errors
/// The folder cannot be read, or its format is unknown.
pub(super) fn open(path: &Path) -> Result<Box<dyn Source>, EngineError> {
    find(path, path, None)
}

/// Opens the trace in a folder that was unpacked from the file that the user named.
///
/// # Errors
/// As [`open`].
pub(super) fn unpacked(path: &Path, folder: TempDir) -> Result<Box<dyn Source>, EngineError> {
    let root = folder.path().to_owned();
    find(path, &root, Some(Arc::new(folder)))
}

fn find(path: &Path, root: &Path, unpacked: Option<Arc<TempDir>>) -> Result<Box<dyn Source>, EngineError> {
    let mut found = first_in(root, MAX_TRACE_DEPTH)?;
    let sessions: Vec<PathBuf> = found.iter().filter_map(|f| session_of(root, &f.root)).collect();
    if let Some(session) = sessions.first().filter(|s| sessions.iter().all(|other| other == *s))
        && sessions.len() == found.len()
    {
        found = all_of_session(session)?;
    } else if found.len() > 1 {
        let several = shown(root, found.iter().map(|f| f.root.as_path()));
        let advice = if unpacked.is_some() { "unpack it and name one of them" } else { "name one of them" };
        return Err(EngineError::NotOpened(format!(
            "{}: the folder contains several traces ({several}): {advice}",
            path.display()
        )));
    }
    let mut lacks: Vec<String> = other_recordings(root, &found)?.into_iter().collect();
    let several = found.len() > 1;
    let mut parts = Vec::new();
    for Found { root: at, names, importer } in found {
        let inner = at.strip_prefix(root).unwrap_or(Path::new("")).to_owned();
        let path = if several { path.join(&inner) } else { path.to_owned() };
        let source = FolderSource { path, root: at, names, importer, lacks: Vec::new(), _unpacked: unpacked.clone() };
        // A program that recorded nothing leaves metadata without events, which is not a trace.
        match source.open() {
            Err(why) if several => lacks.push(format!("The part {} was not read: {why}.", inner.display())),
            _ => parts.push(source),
        }
    }
    if several && parts.is_empty() {
        return Err(EngineError::NotOpened(format!("{}: {}", path.display(), lacks.join(" "))));
    }
    if let Some(first) = parts.first_mut() {
        first.lacks = lacks;
    }
    let parts =
        parts.into_iter().map(|source| JoinedPart { source: Box::new(source), offset: None }).collect::<Vec<_>>();
    match <[JoinedPart; 1]>::try_from(parts) {
        Ok([one]) => Ok(one.source),
        Err(none) if none.is_empty() => Err(EngineError::NotOpened(format!(
            "{}: neither a trace folder of corewise (no manifest.json) nor a folder in a known format ({}): name the folder that \
             `corewise record` or `import` wrote",
            path.display(),
            folder_formats()
        ))),
        Err(several) => Ok(Box::new(JoinedSource::new(several)?.with_path(path))),
    }
}

/// Finds the traces of the first level of folders that has any.
fn first_in(root: &Path, max_depth: usize) -> Result<Vec<Found>, EngineError> {
    let (mut level, mut seen) = (vec![root.to_owned()], 0);
    for _ in 0..=max_depth {
        let mut found = Vec::new();
        for folder in &level {
            let names = names(folder)?;
            let known = import::detect_folder(&names);
            found.extend(known.map(|importer| Found { root: folder.clone(), names, importer }));
        }
        seen += level.len();
        if !found.is_empty() || level.is_empty() {
            return Ok(found);
        }
        if seen > MAX_FOLDERS {
            let root = root.display();
            return Err(EngineError::NotOpened(format!(
                "{root}: no trace found in its first {MAX_FOLDERS} subfolders: name the folder of the trace itself"
            )));
        }
        level = below(&level)?;
    }
    Ok(Vec::new())
}

/// Returns the LTTng session to which a trace belongs: the parent of its folder `kernel` or `ust`.
fn session_of(root: &Path, trace: &Path) -> Option<PathBuf> {
    let inside = trace.strip_prefix(root).ok()?;
    let is_domain = |part: &OsStr| part == "kernel" || part == "ust";
    let at = inside.components().position(|part| is_domain(part.as_os_str()))?;
    Some(root.join(inside.components().take(at).collect::<PathBuf>()))
}

/// Finds all traces of a session, the kernel's first; the others add marks to it.
fn all_of_session(session: &Path) -> Result<Vec<Found>, EngineError> {
    let mut all = Vec::new();
    // Traces of programs are at different depths.
    let ust = session.join("ust");
    let places = [session.join("kernel"), ust.join("uid"), ust.join("pid")];
    for place in places.iter().filter(|place| place.is_dir()) {
        all.append(&mut first_in(place, MAX_FILE_DEPTH)?);
    }
    Ok(all)
}

/// Returns a note on other recordings in the folder that are not read.
fn other_recordings(root: &Path, found: &[Found]) -> Result<Option<String>, EngineError> {
    let (mut all, mut looked) = (Vec::new(), 0);
    let mut level = if found.iter().any(|f| f.root == root) { Vec::new() } else { vec![root.to_owned()] };
    while let Some(folder) = level.pop() {
        for entry in std::fs::read_dir(&folder).map_err(EngineError::io(&folder))? {
            let entry = entry.map_err(EngineError::io(&folder))?;
            let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
            let is_read = found.iter().any(|f| path == f.root);
            if kind.is_dir() && found.iter().any(|f| f.root.starts_with(&path)) && !is_read {
                level.push(path);
            } else if kind.is_file() && looked < MAX_OTHERS {
                looked += 1;
                let known = File::open(&path).ok().and_then(|file| import::detect(&head(&file, &path).ok()?));
                all.extend(known.map(|_| path));
            }
        }
    }
    all.sort();
    let named = shown(root, all.iter().map(PathBuf::as_path));
    let more = all.len().saturating_sub(MAX_LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Ok((!all.is_empty()).then(|| format!("Other recordings in the same folder were not read: {named}{more}.")))
}

/// Lists the formats that are folders.
fn folder_formats() -> String {
    let known: Vec<&str> = import::FORMATS.iter().filter(|f| f.is_folder()).map(|f| f.id()).collect();
    known.join(", ")
}

fn shown<'a>(root: &Path, paths: impl Iterator<Item = &'a Path>) -> String {
    let names = paths.take(MAX_LISTED).map(|f| f.strip_prefix(root).unwrap_or(f).display().to_string());
    names.collect::<Vec<_>>().join(", ")
}

/// Lists the subfolders of these folders.
fn below(folders: &[PathBuf]) -> Result<Vec<PathBuf>, EngineError> {
    let mut all = Vec::new();
    for folder in folders {
        for entry in std::fs::read_dir(folder).map_err(EngineError::io(folder))? {
            let entry = entry.map_err(EngineError::io(folder))?;
            // One more than the limit, so that exceeding it is detected.
            if entry.file_type().is_ok_and(|t| t.is_dir()) && all.len() <= MAX_FOLDERS {
                all.push(entry.path());
            }
        }
    }
    all.sort();
    Ok(all)
}

/// Lists the files in a folder and its subfolders, as relative paths.
fn names(folder: &Path) -> Result<Vec<String>, EngineError> {
    let mut names = Vec::new();
    let mut level = vec![folder.to_owned()];
    for _ in 0..=MAX_FILE_DEPTH {
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
                if names.len() > MAX_FILES {
                    let folder = folder.display();
                    return Err(EngineError::NotOpened(format!(
                        "{folder}: more than {MAX_FILES} files: this is not a trace"
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
        // Only listed files can be opened, so a name in the trace cannot lead out of the folder.
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
        let mut opened = self.importer.open(Input::Folder(Box::new(folder)))?;
        opened.facts.lacks.extend_from_slice(&self.lacks);
        Ok(opened)
    }

    fn identity(&self, priority: &Priority) -> Result<Identity, EngineError> {
        let id_of = |name| {
            let path = self.root.join(name);
            File::open(&path).and_then(|mut file| source_id(&mut file, priority)).map_err(EngineError::io(&path))
        };
        let ids = self.names.iter().map(id_of).collect::<Result<Vec<_>, _>>()?;
        // The id does not depend on the files' names.
        let id = store::source_id_of_files(&ids);
        let trace = store::trace_id_of_sources(std::slice::from_ref(&id));
        let (path, format) = (self.path.display().to_string(), self.importer.id().to_owned());
        let hash = Some(ContentHash::Blake3(id.blake3));
        Ok(Identity { trace, files: vec![SourceFile { path, hash, bytes: id.bytes, format }] })
    }
}
