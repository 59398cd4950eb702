//! What in a folder of a store is a recording. A store has no folders, only keys, whose sizes and times are in its list: no object is read.

use crate::catalogue::ABOUT;
use crate::error::FleetError;
use crate::runs::{below, is_cache, labels_key};
use crate::walk::{Found, Kind, MANIFEST, NO_RECORDINGS, SPOOL, Walk};
use engine::{LABELS, TRIED};
use std::collections::BTreeMap;
use std::path::PathBuf;
use stores::Store;

/// What is known of the objects in one folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Folder {
    bytes: i64,
    /// When the manifest, or what was added to it, was written.
    manifest_ns: Option<i64>,
    added_ns: Option<i64>,
    is_catalogue: bool,
}

/// The objects of a list, by folder.
#[derive(Default, Debug)]
struct Listed {
    folders: BTreeMap<String, Folder>,
    /// What may be a file of another tool.
    files: Vec<(String, i64, i64)>,
    /// When the labels of files were written, by key.
    labels: BTreeMap<String, i64>,
}

/// What a folder belongs to.
enum Owner<'a> {
    Trace(&'a str),
    Interrupted(&'a str),
    Hidden,
    Nothing,
}

/// Finds all recordings in a folder of a store.
pub(crate) fn walk(store: &Store) -> Result<Walk, FleetError> {
    let mut listed = Listed::default();
    let mut objects = 0u64;
    store.list("", &mut |object| {
        objects += 1;
        listed.add(&object.key, object.bytes, object.modified_ns);
    })?;
    if objects == 0 {
        return Err(FleetError::Request(format!("{}: the store has nothing there: check the URL", store.url())));
    }
    Ok(listed.walk(&|key| PathBuf::from(store.url_of(key))))
}

impl Listed {
    fn add(&mut self, key: &str, bytes: u64, modified_ns: i64) {
        let (folder, name) = key.rsplit_once('/').unwrap_or(("", key));
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let of = self.folders.entry(folder.to_owned()).or_default();
        of.bytes = of.bytes.saturating_add(bytes);
        match name {
            MANIFEST => of.manifest_ns = Some(modified_ns),
            LABELS | TRIED => of.added_ns = of.added_ns.max(Some(modified_ns)),
            ABOUT => of.is_catalogue = true,
            _ if name.ends_with(LABELS) => drop(self.labels.insert(key.to_owned(), modified_ns)),
            _ if name.starts_with('.') || NO_RECORDINGS.iter().any(|end| name.ends_with(end)) => {}
            _ => self.files.push((key.to_owned(), bytes, modified_ns)),
        }
    }

    /// What a folder belongs to: the outermost one decides.
    fn owner<'a>(&self, folder: &'a str) -> Owner<'a> {
        let ends = std::iter::once(0).chain(folder.match_indices('/').map(|(at, _)| at)).chain([folder.len()]);
        for end in ends {
            let outer = &folder[..end];
            let is_hidden = outer.rsplit('/').next().is_some_and(|name| name.starts_with('.'));
            match self.folders.get(outer) {
                _ if is_hidden => return Owner::Hidden,
                Some(of) if of.is_catalogue => return Owner::Hidden,
                Some(of) if of.manifest_ns.is_some() => return Owner::Trace(outer),
                _ if below(folder, outer).split('/').next() == Some(SPOOL) && end < folder.len() => {
                    return Owner::Interrupted(outer);
                }
                _ => {}
            }
        }
        Owner::Nothing
    }

    fn walk(&self, path: &dyn Fn(&str) -> PathBuf) -> Walk {
        let mut traces = BTreeMap::<&str, (Kind, i64)>::new();
        for (folder, of) in &self.folders {
            let (outer, kind) = match self.owner(folder) {
                Owner::Trace(outer) => (outer, Kind::Trace),
                Owner::Interrupted(outer) => (outer, Kind::Interrupted),
                Owner::Hidden | Owner::Nothing => continue,
            };
            let sum = traces.entry(outer).or_insert((kind, 0));
            if !is_cache(&format!("{}/", below(folder, outer))) {
                sum.1 = sum.1.saturating_add(of.bytes);
            }
        }
        let mut found: Vec<Found> = Vec::new();
        for (key, (kind, bytes)) in traces {
            let of = self.folders.get(key).copied().unwrap_or_default();
            let modified_ns = of.manifest_ns.max(of.added_ns).unwrap_or(0);
            found.push(Found { path: path(key), kind, bytes, modified_ns });
        }
        for (key, bytes, modified_ns) in &self.files {
            let folder = key.rsplit_once('/').map_or("", |(folder, _)| folder);
            // An object without content may stand for a folder.
            if *bytes == 0 || !matches!(self.owner(folder), Owner::Nothing) {
                continue;
            }
            let labels = self.labels.get(&labels_key(key)).copied().unwrap_or(i64::MIN);
            let modified_ns = labels.max(*modified_ns);
            found.push(Found { path: path(key), kind: Kind::File, bytes: *bytes, modified_ns });
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Walk { found, unreadable: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_grouped_into_recordings() {
        let mut listed = Listed::default();
        for (key, bytes, at) in [
            ("a.cw/events/switch.parquet", 3, 9),
            ("a.cw/manifest.json", 2, 5),
            ("a.cw/labels.json", 1, 7),
            ("a.cw/tables/threads.parquet", 100, 8),
            ("a.cw-2/manifest.json", 4, 1),
            ("catalogue/catalogue.json", 1, 1),
            ("catalogue/x.cw/manifest.json", 1, 1),
            ("deep/b.cw/spool/0.zst", 6, 1),
            ("deep/perf.data", 10, 2),
            ("deep/perf.data.labels.json", 1, 3),
            ("deep/notes.md", 1, 3),
            ("deep", 0, 3),
            (".hidden/c.cw/manifest.json", 1, 1),
        ] {
            listed.add(key, bytes, at);
        }
        let found: Vec<_> = listed.walk(&|key| PathBuf::from(key)).found;
        let shown: Vec<_> =
            found.iter().map(|of| (of.path.to_str().unwrap(), of.kind, of.bytes, of.modified_ns)).collect();
        assert_eq!(
            shown,
            [
                ("a.cw", Kind::Trace, 6, 7),
                ("a.cw-2", Kind::Trace, 4, 1),
                ("deep/b.cw", Kind::Interrupted, 6, 0),
                ("deep/perf.data", Kind::File, 10, 3)
            ]
        );
    }
}
