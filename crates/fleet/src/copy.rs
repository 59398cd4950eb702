//! Copies recordings into an object store, and from there into a folder.

use crate::error::FleetError;
use crate::runs::{self, Runs};
use crate::walk::{Found, Kind, LEVELS, MANIFEST};
use safefs::Dir;
use serde::Serialize;
use std::collections::HashMap;
use std::fs::File;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use stores::{Store, StoreError};

/// What `copy` did.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Copied {
    /// The new recordings: their paths or URLs.
    pub copied: Vec<PathBuf>,
    /// Bytes of the new recordings.
    pub bytes: i64,
    /// Recordings that were there already, with the same size, manifest and labels.
    pub same: usize,
    /// What was not copied, and why.
    pub failed: Vec<(PathBuf, String)>,
}

/// A recording to copy, and its name below the target.
struct Wanted<'a> {
    from: &'a Runs,
    found: Found,
    name: PathBuf,
}

/// Copies recordings, or all recordings below folders or URLs, to a URL or, from a store, into a folder, without what only the viewer needs.
/// Nothing is overwritten. `each` is called with the number of recordings that were dealt with, and of all.
///
/// # Errors
/// A source or the target cannot be read. What fails with one recording is in the result.
pub fn copy(
    sources: &[PathBuf],
    target: &Path,
    scratch: &Path,
    each: &mut dyn FnMut(usize, usize),
) -> Result<Copied, FleetError> {
    let opened = sources.iter().map(|source| Source::open(source)).collect::<Result<Vec<_>, _>>()?;
    let mut wanted = Vec::new();
    for source in &opened {
        source.add(&mut wanted)?;
    }
    let into = Target::open(target, &opened)?;
    let mut done = Copied::default();
    let all = wanted.len();
    for (at, of) in wanted.iter().enumerate() {
        let to = into.path(&of.name);
        match into.take(of, scratch) {
            Ok(true) => {
                done.bytes = done.bytes.saturating_add(of.found.bytes);
                done.copied.push(to);
            }
            Ok(false) => done.same += 1,
            Err(why) => done.failed.push((to, why.to_string())),
        }
        each(at + 1, all);
    }
    Ok(done)
}

/// Fetches the one recording that a URL names into a folder. Returns the path of the copy.
///
/// # Errors
/// The URL has no recording, or several; the store does not answer or refuses.
pub fn fetch(url: &Path, scratch: &Path) -> Result<PathBuf, FleetError> {
    let source = Source::open(url)?;
    let mut wanted = Vec::new();
    source.add(&mut wanted)?;
    let (Runs::Store(store), [one]) = (&source.runs, wanted.as_slice()) else {
        return Err(FleetError::Request(format!(
            "{}: has {} recordings: name one, such as {}",
            url.display(),
            wanted.len(),
            wanted.first().map_or_else(String::new, |one| one.found.path.display().to_string())
        )));
    };
    let (folder, copy) = runs::fetched(store, &one.found, scratch)?.ok_or_else(no_recording)?;
    // It is removed with the folder that the caller named.
    let _ = folder.keep();
    Ok(copy)
}

/// Sends the edited labels of a copy that [`fetch`] made.
///
/// # Errors
/// The file of labels cannot be read; the store does not answer or refuses.
pub fn send_labels(url: &Path, copy: &Path) -> Result<(), FleetError> {
    let labels = engine::labels_file(copy);
    let url = url.display().to_string();
    let place = if copy.is_dir() {
        format!("{}/{}", url.trim_end_matches('/'), engine::LABELS)
    } else {
        runs::labels_key(&url)
    };
    let (folder, name) = place.rsplit_once('/').unwrap_or(("", &place));
    let file = File::open(&labels).map_err(FleetError::io(&labels, "reading it"))?;
    Ok(Store::open(folder)?.put_file(name, file)?)
}

/// What the user named: one recording, or where recordings are.
struct Source {
    runs: Runs,
    /// A local file, which has no folder of its own.
    file: Option<Found>,
}

impl Source {
    fn open(source: &Path) -> Result<Self, FleetError> {
        if !stores::is_url(source) && source.is_file() {
            let file = source.canonicalize().and_then(|path| crate::walk::file(&path));
            let file = file.map_err(FleetError::io(source, "opening it"))?;
            let folder = file.path.parent().unwrap_or(Path::new("/")).to_owned();
            return Ok(Self { runs: Runs::Folder(folder), file: Some(file) });
        }
        let runs = Runs::open(source)?;
        let Runs::Store(store) = &runs else { return Ok(Self { runs, file: None }) };
        // One object has a store of its folder, in which its labels are, too.
        let Some((folder, _)) = store.url().rsplit_once('/') else { return Ok(Self { runs, file: None }) };
        match store.find("") {
            Ok(object) if object.bytes > 0 => {
                let bytes = i64::try_from(object.bytes).unwrap_or(i64::MAX);
                let modified_ns = object.modified_ns;
                let file = Found { path: PathBuf::from(store.url()), kind: Kind::File, bytes, modified_ns };
                Ok(Self { runs: Runs::open(Path::new(folder))?, file: Some(file) })
            }
            Err(why @ StoreError::Denied { .. }) => Err(why.into()),
            // Not an object: a folder, or nothing, as its list says.
            _ => Ok(Self { runs, file: None }),
        }
    }

    fn add<'a>(&'a self, wanted: &mut Vec<Wanted<'a>>) -> Result<(), FleetError> {
        let found = match (&self.file, &self.runs) {
            (Some(file), _) => vec![file.clone()],
            (None, runs) => runs.walk()?.found,
        };
        if found.is_empty() {
            return Err(FleetError::Request(format!("{}: has no recordings", self.runs.root().display())));
        }
        for found in found {
            let below = found.path.strip_prefix(self.runs.root()).unwrap_or(&found.path);
            let name = if below.as_os_str().is_empty() { found.path.file_name().map(PathBuf::from) } else { None };
            let name = name.unwrap_or_else(|| below.to_owned());
            wanted.push(Wanted { from: &self.runs, found, name });
        }
        Ok(())
    }
}

/// Where copies go, and what is there.
enum Target {
    Store(Store, HashMap<PathBuf, Found>),
    Folder(PathBuf),
}

impl Target {
    fn open(target: &Path, sources: &[Source]) -> Result<Self, FleetError> {
        if stores::is_url(target) {
            let store = Store::open(&target.display().to_string())?;
            let there = match crate::walk_store::walk(&store) {
                Ok(walk) => walk.found,
                Err(FleetError::Request(_)) => Vec::new(),
                Err(why) => return Err(why),
            };
            return Ok(Self::Store(store, there.into_iter().map(|found| (found.path.clone(), found)).collect()));
        }
        if sources.iter().any(|source| matches!(source.runs, Runs::Folder(_))) {
            return Err(FleetError::Request(format!(
                "{}: is no URL of a store: `cp -r` copies from a folder to another",
                target.display()
            )));
        }
        Dir::make_all(target).map_err(FleetError::io(target, "making it"))?;
        let root = target.canonicalize().map_err(FleetError::io(target, "opening it"))?;
        Ok(Self::Folder(root))
    }

    fn path(&self, name: &Path) -> PathBuf {
        match self {
            Self::Store(store, _) => Path::new(store.url()).join(name),
            Self::Folder(root) => root.join(name),
        }
    }

    /// Copies one recording; false if it is there already.
    fn take(&self, of: &Wanted<'_>, scratch: &Path) -> Result<bool, FleetError> {
        if of.found.kind == Kind::Interrupted {
            return Err(FleetError::Request(runs::interrupted(&of.found.path)));
        }
        match (self, of.from) {
            (Self::Store(to, there), Runs::Folder(_)) => {
                let known = there.get(&self.path(&of.name));
                send(to, known, &of.name, &of.found, &of.found.path)
            }
            (Self::Store(to, there), Runs::Store(from)) => {
                let Some((_copy, at)) = runs::fetched(from, &of.found, scratch)? else { return Err(no_recording()) };
                send(to, there.get(&self.path(&of.name)), &of.name, &of.found, &at)
            }
            (Self::Folder(root), Runs::Store(from)) => receive(from, &of.found, &root.join(&of.name)),
            (Self::Folder(_), Runs::Folder(_)) => Err(FleetError::Request("a folder is not copied here".to_owned())),
        }
    }
}

fn no_recording() -> FleetError {
    FleetError::Request("it is a file of no known format".to_owned())
}

fn there_already() -> FleetError {
    FleetError::Request("something else has this name there: nothing is overwritten".to_owned())
}

/// The files of a recording that are copied, below its folder; for a file, it and what was added to it. The manifest is last: without it, what was copied is no
/// recording.
fn files(found: &Found, at: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut all = Vec::new();
    if found.kind == Kind::File {
        all.push(at.to_owned());
        all.extend(engine::added_files(at).into_iter().filter(|added| added.is_file()));
        return Ok(all);
    }
    let mut folders = vec![at.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            let is_levels = folder == at && entry.file_name() == LEVELS;
            if kind.is_dir() && !is_levels {
                folders.push(entry.path());
            } else if kind.is_file() {
                all.push(entry.path());
            }
        }
    }
    all.sort_by_key(|path| (*path == at.join(MANIFEST), path.clone()));
    Ok(all)
}

/// Sends a recording that is `at` a path.
fn send(to: &Store, known: Option<&Found>, name: &Path, found: &Found, at: &Path) -> Result<bool, FleetError> {
    let io = |what| FleetError::io(at, what);
    let name = name.to_str().ok_or_else(|| FleetError::Request("its name is not UTF-8: rename it".to_owned()))?;
    if let Some(known) = known {
        // These two say which recording it is, and how it is labelled.
        let is_same = |of: &str| -> Result<bool, FleetError> {
            let there = to.read(&format!("{name}/{of}"))?.map(|(bytes, _)| bytes);
            Ok(there == std::fs::read(at.join(of)).ok())
        };
        let is_trace = found.kind == Kind::Trace;
        if known.kind == found.kind
            && known.bytes == found.bytes
            && (!is_trace || is_same(MANIFEST)? && is_same(engine::LABELS)?)
        {
            return Ok(false);
        }
        return Err(there_already());
    }
    for path in files(found, at).map_err(io("reading it"))? {
        let below = path.strip_prefix(at).unwrap_or(&path);
        let key = if found.kind == Kind::Trace {
            below.to_str().map(|below| format!("{name}/{below}"))
        } else if path == at {
            Some(name.to_owned())
        } else {
            let (own, its) = (at.file_name().unwrap_or_default(), path.file_name().unwrap_or_default());
            its.to_str().zip(own.to_str()).and_then(|(its, own)| Some(format!("{name}{}", its.strip_prefix(own)?)))
        };
        let key = key.ok_or_else(|| FleetError::Request("a name in it is not UTF-8: rename it".to_owned()))?;
        let file = File::open(&path).map_err(FleetError::io(&path, "reading it"))?;
        to.put_file(&key, file)?;
    }
    Ok(true)
}

/// Fetches a recording into a new file or folder.
fn receive(from: &Store, found: &Found, to: &Path) -> Result<bool, FleetError> {
    let io = |what| FleetError::io(to, what);
    let (Some(folder), Some(name)) = (to.parent(), to.file_name()) else {
        return Err(io("making it")(ErrorKind::InvalidFilename.into()));
    };
    let folder = Dir::make_all(folder).map_err(io("making its folder"))?;
    let objects = runs::objects(from, found)?;
    if folder.has(name) {
        let there = if to.is_dir() { crate::walk::recording(to) } else { crate::walk::file(to).map(Some) };
        let there = there.map_err(io("reading it"))?;
        return match there {
            Some(there) if there.kind == found.kind && there.bytes == found.bytes => Ok(false),
            _ => Err(there_already()),
        };
    }
    // Complete, or not there.
    let hidden = format!(".{}.fetching", name.to_string_lossy());
    folder.remove_all(&hidden).map_err(io("removing what was left"))?;
    let into = folder.make(&hidden).map_err(io("making it"))?;
    let fetched = from.fetch(&objects, runs::key(from, found), &into).map_err(FleetError::from).and_then(|()| {
        if found.kind == Kind::Trace {
            return folder.rename(&hidden, &folder, name).map_err(io("naming it"));
        }
        for part in into.names().map_err(io("reading it"))? {
            into.rename(&part, &folder, &part).map_err(io("naming it"))?;
        }
        Ok(())
    });
    let _ = folder.remove_all(&hidden);
    fetched.map(|()| true)
}
