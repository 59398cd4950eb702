//! What in a folder is a recording: trace folders, interrupted recordings, and files. Links are not followed.

use crate::catalogue;
use engine::{LABELS, TRIED};
use std::fs::Metadata;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Folders are searched down to this depth.
const MAX_DEPTH: usize = 32;
/// The manifest of a trace folder.
pub(crate) const MANIFEST: &str = "manifest.json";
/// The folder of a recording that was not converted.
pub(crate) const SPOOL: &str = "spool";
/// What a trace folder has only for the viewer, and makes again.
pub(crate) const LEVELS: &str = "levels";
/// Where corewise adds files of its own when a recording is read, which are no change of it. Some of the tables belong to the recording.
pub(crate) const CACHES: [&str; 2] = ["tables", LEVELS];
/// Files that are no recordings whatever they have in them, by the end of their names. All others are judged by their content.
pub(crate) const NO_RECORDINGS: [&str; 6] = [".parquet", ".html", ".md", ".py", ".json", ".new"];

/// What may be a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A trace folder.
    Trace,
    /// A recording that was interrupted before it was converted.
    Interrupted,
    /// A file, which may also be something else.
    File,
}

/// A place that may be a recording, and by what a change of it is noticed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    /// Its size, without caches.
    pub(crate) bytes: i64,
    /// When it or what was added to it, as labels, was last changed, ns since 1970.
    pub(crate) modified_ns: i64,
}

/// All recordings below a folder, and the folders that cannot be read.
#[derive(Default, Debug)]
pub(crate) struct Walk {
    pub(crate) found: Vec<Found>,
    pub(crate) unreadable: Vec<(PathBuf, Error)>,
}

impl Walk {
    /// Searches a folder.
    pub(crate) fn of(root: &Path) -> Self {
        let mut walk = Self::default();
        walk.folder(root, 0);
        walk.found.sort_by(|a, b| a.path.cmp(&b.path));
        walk
    }

    fn folder(&mut self, folder: &Path, depth: usize) {
        if catalogue::is_catalogue(folder) || depth > MAX_DEPTH {
            return;
        }
        match self.entries(folder, depth) {
            Ok(()) => {}
            Err(why) => self.unreadable.push((folder.to_owned(), why)),
        }
    }

    fn entries(&mut self, folder: &Path, depth: usize) -> Result<()> {
        if let Some(found) = recording(folder)? {
            self.found.push(found);
            return Ok(());
        }
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            // Of the entry itself: a link is neither a folder nor a file.
            let kind = entry.file_type()?;
            if name.starts_with('.') {
                continue;
            }
            if kind.is_dir() {
                self.folder(&path, depth + 1);
            } else if kind.is_file() && !NO_RECORDINGS.iter().any(|end| name.ends_with(end)) {
                match file(&path) {
                    Ok(found) => self.found.push(found),
                    // Removed meanwhile.
                    Err(why) if why.kind() == ErrorKind::NotFound => {}
                    Err(why) => self.unreadable.push((path, why)),
                }
            }
        }
        Ok(())
    }
}

fn modified(of: &Metadata) -> i64 {
    of.mtime().saturating_mul(1_000_000_000).saturating_add(of.mtime_nsec())
}

/// What a folder is, if it is a recording; not by links.
pub(crate) fn recording(folder: &Path) -> Result<Option<Found>> {
    let exists = |name: &str| match std::fs::symlink_metadata(folder.join(name)) {
        Ok(of) => Ok(Some(of)),
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(None),
        Err(why) => Err(why),
    };
    let kind = match (exists(MANIFEST)?, exists(SPOOL)?) {
        (Some(manifest), _) if manifest.is_file() => Kind::Trace,
        (None, Some(spool)) if spool.is_dir() => Kind::Interrupted,
        _ => return Ok(None),
    };
    let (mut bytes, mut changed) = (0, i64::MIN);
    sizes(folder, 0, &mut bytes)?;
    for name in [MANIFEST, LABELS, TRIED, SPOOL] {
        changed = exists(name)?.map_or(changed, |of| changed.max(modified(&of)));
    }
    Ok(Some(Found { path: folder.to_owned(), kind, bytes, modified_ns: changed }))
}

/// Adds the sizes of the files of a trace folder, without caches.
fn sizes(folder: &Path, depth: usize, bytes: &mut i64) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let of = entry.metadata()?;
        if of.is_dir() && depth < MAX_DEPTH {
            let is_cache = depth == 0 && CACHES.iter().any(|cache| entry.file_name() == *cache);
            if !is_cache {
                sizes(&entry.path(), depth + 1, bytes)?;
            }
        } else if of.is_file() {
            *bytes += i64::try_from(of.len()).unwrap_or(i64::MAX);
        }
    }
    Ok(())
}

/// What a file is; not by links.
pub(crate) fn file(path: &Path) -> Result<Found> {
    let of = std::fs::symlink_metadata(path)?;
    let added = engine::added_files(path).into_iter().filter_map(|file| std::fs::symlink_metadata(file).ok());
    let added = added.map(|of| modified(&of)).max().unwrap_or(i64::MIN);
    let bytes = i64::try_from(of.len()).unwrap_or(i64::MAX);
    Ok(Found { path: path.to_owned(), kind: Kind::File, bytes, modified_ns: modified(&of).max(added) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_catalogues_are_not_searched() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for folder in ["a.cw/events", "a.cw/tables", "deep/b.cw/spool", "catalogue/x.cw", ".hidden/c.cw"] {
            std::fs::create_dir_all(path(folder)).unwrap();
        }
        std::fs::write(path("a.cw/manifest.json"), "{}").unwrap();
        std::fs::write(path("a.cw/events/switch.parquet"), "123").unwrap();
        std::fs::write(path("a.cw/tables/threads.parquet"), "a cache").unwrap();
        std::fs::write(path("catalogue/catalogue.json"), "{}").unwrap();
        std::fs::write(path("catalogue/x.cw/manifest.json"), "{}").unwrap();
        std::fs::write(path("perf.data"), "12").unwrap();
        std::fs::write(path("perf.data.labels.json"), "{}").unwrap();
        std::fs::write(path("notes.md"), "x").unwrap();
        std::os::unix::fs::symlink(path("a.cw"), path("link.cw")).unwrap();
        std::os::unix::fs::symlink(path("perf.data"), path("link.data")).unwrap();
        let walk = Walk::of(root.path());
        let found: Vec<_> = walk.found.iter().map(|of| (of.path.clone(), of.kind, of.bytes)).collect();
        assert_eq!(
            found,
            [
                (path("a.cw"), Kind::Trace, 5),
                (path("deep/b.cw"), Kind::Interrupted, 0),
                (path("perf.data"), Kind::File, 2)
            ]
        );
        assert!(walk.unreadable.is_empty());
    }
}
