//! A folder of files: LTTng's channels, schedviz's per-CPU buffers.
//!
//! A session of LTTng is several of them, which are one source together:
//!
//! ```text
//!   session/  kernel/  metadata, channel0_0, …                    the kernel's events
//!             ust/     uid/1000/64-bit/  metadata, channel0_0, …  those of programs: by user, or by process (ust/pid/NAME-7-…/)
//! ```

use super::checksum::source_id;
use super::file::Positioned;
use super::{Haste, Identity, JoinedSource, Part, Source, head};
use crate::EngineError;
use ingest::{Fatal, Folder, Importer, Input, Opened, ReadSeek};
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::SourceFile;
use tempfile::TempDir;

/// So deep below the folder that the user names, the trace may lie: `X.trace/lttngTrace/auto-DATE/ust/uid/1000/64-bit` in
/// what perfcollect packs.
const DEEPEST: usize = 8;
/// So deep in a trace its files may lie.
const DEPTH: usize = 3;
/// More files than any trace has: somebody named the wrong folder.
const MOST_FILES: usize = 100_000;
/// The same, of folders in which a trace is looked for.
const MOST_FOLDERS: usize = 20_000;
/// So many files beside the trace are looked at, whether they are recordings too.
const MOST_BESIDE: usize = 256;
/// And so many are named.
const MOST_NAMED: usize = 5;

/// A folder of a format that an importer knows.
pub struct FolderSource {
    path: PathBuf,
    root: PathBuf,
    names: Vec<String>,
    importer: &'static dyn Importer,
    /// What lies beside it and is not read, a sentence each.
    lacks: Vec<String>,
    /// Where it was unpacked to; goes when the last source in it goes.
    _unpacked: Option<Arc<TempDir>>,
}

/// A folder that is a trace.
struct Found {
    root: PathBuf,
    names: Vec<String>,
    importer: &'static dyn Importer,
}

/// Opens a folder, or the trace that lies in it.
///
/// # Errors
/// It cannot be read, or no importer knows it.
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
    let mut found = first_in(root, DEEPEST)?;
    let sessions: Vec<PathBuf> = found.iter().filter_map(|f| session_of(root, &f.root)).collect();
    if let Some(session) = sessions.first().filter(|s| sessions.iter().all(|other| other == *s))
        && sessions.len() == found.len()
    {
        found = all_of_session(session)?;
    } else if found.len() > 1 {
        let several = shown(root, found.iter().map(|f| f.root.as_path()));
        let advice = if unpacked.is_some() { "unpack it and name one of them" } else { "name one of them" };
        return Err(EngineError::Other(format!("{}: several traces lie in it ({several}): {advice}", path.display())));
    }
    let mut lacks: Vec<String> = beside(root, &found)?.into_iter().collect();
    let several = found.len() > 1;
    let mut parts = Vec::new();
    for Found { root: at, names, importer } in found {
        let inner = at.strip_prefix(root).unwrap_or(Path::new("")).to_owned();
        let path = if several { path.join(&inner) } else { path.to_owned() };
        let source = FolderSource { path, root: at, names, importer, lacks: Vec::new(), _unpacked: unpacked.clone() };
        // A program that wrote nothing leaves a description of nothing, which is no trace by itself.
        match source.open() {
            Err(why) if several => lacks.push(format!("The part {} was not read: {why}.", inner.display())),
            _ => parts.push(source),
        }
    }
    if several && parts.is_empty() {
        return Err(EngineError::Other(format!("{}: {}", path.display(), lacks.join(" "))));
    }
    if let Some(first) = parts.first_mut() {
        first.lacks = lacks;
    }
    let parts = parts.into_iter().map(|source| Part { source: Box::new(source), offset: None }).collect::<Vec<_>>();
    match <[Part; 1]>::try_from(parts) {
        Ok([one]) => Ok(one.source),
        Err(none) if none.is_empty() => Err(EngineError::Other(format!(
            "{}: neither a trace folder of corewise (no manifest.json) nor a folder that an importer knows ({})",
            path.display(),
            folder_formats()
        ))),
        Err(several) => Ok(Box::new(JoinedSource::new(several)?.called(path))),
    }
}

/// The traces of the first level that has any.
fn first_in(root: &Path, deepest: usize) -> Result<Vec<Found>, EngineError> {
    let (mut level, mut seen) = (vec![root.to_owned()], 0);
    for _ in 0..=deepest {
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
        if seen > MOST_FOLDERS {
            let root = root.display();
            return Err(EngineError::Other(format!(
                "{root}: no trace in the first {MOST_FOLDERS} folders of it: name the trace's own folder"
            )));
        }
        level = below(&level)?;
    }
    Ok(Vec::new())
}

/// The session of LTTng that a trace is a part of: what holds its `kernel`, or its `ust`.
fn session_of(root: &Path, trace: &Path) -> Option<PathBuf> {
    let inside = trace.strip_prefix(root).ok()?;
    let is_domain = |part: &OsStr| part == "kernel" || part == "ust";
    let at = inside.components().position(|part| is_domain(part.as_os_str()))?;
    Some(root.join(inside.components().take(at).collect::<PathBuf>()))
}

/// The kernel's trace first: it is what the others are marks of.
fn all_of_session(session: &Path) -> Result<Vec<Found>, EngineError> {
    let mut all = Vec::new();
    // Programs' traces lie at unlike depths.
    let ust = session.join("ust");
    let places = [session.join("kernel"), ust.join("uid"), ust.join("pid")];
    for place in places.iter().filter(|place| place.is_dir()) {
        all.append(&mut first_in(place, DEPTH)?);
    }
    Ok(all)
}

/// What else lies there and is a recording, but none that is read with these.
fn beside(root: &Path, found: &[Found]) -> Result<Option<String>, EngineError> {
    let (mut all, mut looked) = (Vec::new(), 0);
    let mut level = if found.iter().any(|f| f.root == root) { Vec::new() } else { vec![root.to_owned()] };
    while let Some(folder) = level.pop() {
        for entry in std::fs::read_dir(&folder).map_err(EngineError::io(&folder))? {
            let entry = entry.map_err(EngineError::io(&folder))?;
            let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
            let is_read = found.iter().any(|f| path == f.root);
            if kind.is_dir() && found.iter().any(|f| f.root.starts_with(&path)) && !is_read {
                level.push(path);
            } else if kind.is_file() && looked < MOST_BESIDE {
                looked += 1;
                let known = File::open(&path).ok().and_then(|file| import::detect(&head(&file, &path).ok()?));
                all.extend(known.map(|_| path));
            }
        }
    }
    all.sort();
    let named = shown(root, all.iter().map(PathBuf::as_path));
    let more = all.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Ok((!all.is_empty()).then(|| format!("Recordings that lie beside this one were not read: {named}{more}.")))
}

/// Which formats are folders.
fn folder_formats() -> String {
    let known: Vec<&str> = import::FORMATS.iter().filter(|f| f.is_folder()).map(|f| f.id()).collect();
    known.join(", ")
}

fn shown<'a>(root: &Path, paths: impl Iterator<Item = &'a Path>) -> String {
    let names = paths.take(MOST_NAMED).map(|f| f.strip_prefix(root).unwrap_or(f).display().to_string());
    names.collect::<Vec<_>>().join(", ")
}

/// The folders in these.
fn below(folders: &[PathBuf]) -> Result<Vec<PathBuf>, EngineError> {
    let mut all = Vec::new();
    for folder in folders {
        for entry in std::fs::read_dir(folder).map_err(EngineError::io(folder))? {
            let entry = entry.map_err(EngineError::io(folder))?;
            // One beyond what is looked at, so that it is said that there are more.
            if entry.file_type().is_ok_and(|t| t.is_dir()) && all.len() <= MOST_FOLDERS {
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
        let mut opened = self.importer.open(Input::Folder(Box::new(folder)))?;
        opened.facts.lacks.extend_from_slice(&self.lacks);
        Ok(opened)
    }

    fn identity(&self, haste: &Haste) -> Result<Identity, EngineError> {
        let id_of = |name| {
            let path = self.root.join(name);
            File::open(&path).and_then(|mut file| source_id(&mut file, haste)).map_err(EngineError::io(&path))
        };
        let ids = self.names.iter().map(id_of).collect::<Result<Vec<_>, _>>()?;
        // One source, whatever its files are called.
        let whole = store::source_id_of_files(&ids);
        let trace = store::trace_id_of_sources(std::slice::from_ref(&whole));
        let (path, format) = (self.path.display().to_string(), self.importer.id().to_owned());
        Ok(Identity { trace, files: vec![SourceFile { path, sha256: whole.sha256, bytes: whole.bytes, format }] })
    }
}
