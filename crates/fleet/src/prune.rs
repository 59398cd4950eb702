//! Which recordings may be removed, and their removal.
//!
//! Only what the catalogue has is removed, and only if it has not changed since it was indexed: all else is left alone.

use crate::catalogue::{Catalogue, path_of};
use crate::error::FleetError;
use crate::partition::Partition;
use crate::runs::{self, Runs};
use crate::tables::{LABELS, RECORDINGS};
use crate::walk::{Found, Kind, MANIFEST};
use model::Value;
use safefs::Dir;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use stores::{Store, StoreError};

/// The label that protects a recording, and its value.
const PROTECTED: (&str, &str) = ("keep", "yes");
/// What a trace folder has. One with anything else is not removed: it is not ours.
const OURS: [&str; 9] =
    ["manifest.json", "processes.json", engine::LABELS, engine::TRIED, "events", "states", "tables", "levels", "spool"];
/// How the name of a folder ends that is being removed.
const REMOVING: &str = ".removing";

/// What to keep. What no rule keeps may be removed; without a rule, all is kept, up to the size.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Keep {
    /// Recordings that started less than this ago, ns.
    pub newer_than_ns: Option<i64>,
    /// The last recordings of each host.
    pub last_of_host: Option<usize>,
    /// Recordings with a finding of this severity (`low`, `medium`, `high`) or a higher one.
    pub severity: Option<diagnose::Severity>,
    /// The largest size of all recordings together, bytes: of those that are kept otherwise, the oldest go.
    pub max_bytes: Option<i64>,
}

/// A recording that would be removed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Removal {
    /// Its path.
    pub path: PathBuf,
    /// Its host, if recorded.
    pub host: Option<String>,
    /// When it started, or was last changed if that was not recorded, ns since 1970.
    pub at_ns: i64,
    /// Its size, without tables and levels, bytes.
    pub bytes: i64,
    #[serde(skip)]
    partition: Partition,
    #[serde(skip)]
    found: Found,
}

/// How many recordings a reason keeps.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Kept {
    /// The reason, in words.
    pub why: &'static str,
    /// The number of recordings.
    pub recordings: usize,
}

/// What would be removed, and what is kept.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Plan {
    /// What would be removed, the oldest first.
    pub remove: Vec<Removal>,
    /// What is kept, by the first reason.
    pub kept: Vec<Kept>,
    /// The size of what is kept, bytes.
    pub kept_bytes: i64,
    /// Whether it is larger than the limit nevertheless, since the rest is protected.
    pub is_over_limit: bool,
}

/// A recording and why it is kept.
struct Candidate {
    of: Removal,
    kept: Option<&'static str>,
}

/// Plans what to remove of the recordings below a folder.
///
/// # Errors
/// The catalogue or the folder cannot be read.
pub fn plan(catalogue: &Catalogue, runs: &Path, keep: &Keep, now_ns: i64) -> Result<Plan, FleetError> {
    let walk = Runs::open(runs)?.walk()?;
    let there: HashMap<String, &Found> =
        walk.found.iter().map(|found| (crate::index::name(&found.path), found)).collect();
    let protected = protected(catalogue)?;
    let (mut all, mut unknown) = (Vec::new(), there.len());
    let wanted = ["path", "started_ns", "severity", "bytes", "modified_ns"];
    catalogue.each(&RECORDINGS, &wanted, &mut |partition, row| {
        let (path, partition) = (path_of(&row), partition.clone());
        let Some(found) = there.get(path) else { return };
        let of = |name: &str| match RECORDINGS.col(name).and_then(|at| row.get(at)) {
            Some(Value::Int(value)) => Some(*value),
            _ => None,
        };
        if of("bytes") != Some(found.bytes) || of("modified_ns") != Some(found.modified_ns) {
            return;
        }
        unknown -= 1;
        let at_ns = of("started_ns").unwrap_or(found.modified_ns);
        let severity = match RECORDINGS.col("severity").and_then(|at| row.get(at)) {
            Some(Value::Text(word)) => severity(word),
            _ => None,
        };
        let kept = if protected.contains(path) {
            Some("labelled keep=yes")
        } else if keep.newer_than_ns.is_some_and(|age| at_ns > now_ns.saturating_sub(age)) {
            Some("newer")
        } else if keep.severity.is_some_and(|least| severity >= Some(least)) {
            Some("with findings")
        } else if keep.newer_than_ns.is_none() && keep.severity.is_none() && keep.last_of_host.is_none() {
            Some("within the size")
        } else {
            None
        };
        let (host, found) = (partition.host.clone(), (*found).clone());
        let of = Removal { path: found.path.clone(), host, at_ns, bytes: found.bytes, partition, found };
        all.push(Candidate { of, kept });
    })?;
    // The newest first.
    all.sort_by(|a, b| (b.of.at_ns, &b.of.path).cmp(&(a.of.at_ns, &a.of.path)));
    keep_last(&mut all, keep.last_of_host.unwrap_or(0));
    let mut plan = Plan::default();
    let mut bytes: i64 = all.iter().filter(|of| of.kept.is_some()).map(|of| of.of.bytes).sum();
    for of in all.iter_mut().rev() {
        if keep.max_bytes.is_some_and(|max| bytes > max) && of.kept.is_some_and(|why| why != "labelled keep=yes") {
            bytes -= of.of.bytes;
            of.kept = None;
        }
    }
    plan.is_over_limit = keep.max_bytes.is_some_and(|max| bytes > max);
    plan.kept_bytes = bytes;
    let mut reasons = BTreeMap::<&'static str, usize>::new();
    for of in all.into_iter().rev() {
        match of.kept {
            Some(why) => *reasons.entry(why).or_default() += 1,
            None => plan.remove.push(of.of),
        }
    }
    if unknown > 0 {
        reasons.insert("not in the catalogue, or changed since", unknown);
    }
    plan.kept = reasons.into_iter().map(|(why, recordings)| Kept { why, recordings }).collect();
    Ok(plan)
}

fn severity(word: &str) -> Option<diagnose::Severity> {
    use diagnose::Severity::{High, Low, Medium};
    [Low, Medium, High].into_iter().find(|of| of.as_str() == word)
}

/// The paths of recordings with the label that protects them.
fn protected(catalogue: &Catalogue) -> Result<BTreeSet<String>, FleetError> {
    let mut all = BTreeSet::new();
    let wanted = [Value::Text(PROTECTED.0.to_owned()), Value::Text(PROTECTED.1.to_owned())];
    catalogue.each(&LABELS, &[], &mut |_, row| {
        if row[1..] == wanted {
            all.insert(path_of(&row).to_owned());
        }
    })?;
    Ok(all)
}

/// Keeps the first recordings of each host. Those without a host count as those of one.
fn keep_last(all: &mut [Candidate], last: usize) {
    let mut seen = HashMap::<Option<String>, usize>::new();
    for of in all {
        let count = seen.entry(of.of.host.clone()).or_default();
        *count += 1;
        if *count <= last && of.kept.is_none() {
            of.kept = Some("among the last of a host");
        }
    }
}

/// Removes what a plan says, and takes it out of the catalogue. Returns what could not be removed, and why.
///
/// # Errors
/// The catalogue cannot be written, or a store is not open to requests.
pub fn remove(
    catalogue: &mut Catalogue,
    runs: &Path,
    plan: &Plan,
    each: &mut dyn FnMut(usize, usize),
) -> Result<Vec<(PathBuf, String)>, FleetError> {
    let _lock = catalogue.lock()?;
    let runs = Runs::open(runs)?;
    let was_complete = catalogue.about.complete;
    catalogue.begin()?;
    let mut failed = Vec::new();
    let mut gone = BTreeMap::<&Partition, BTreeSet<String>>::new();
    for (at, removal) in plan.remove.iter().enumerate() {
        let removed = match &runs {
            Runs::Folder(_) => remove_one(removal).map_err(|why| why.to_string()),
            Runs::Store(store) => remove_from_store(store, &removal.found),
        };
        match removed {
            Ok(()) => {
                gone.entry(&removal.partition).or_default().insert(removal.path.display().to_string());
            }
            Err(why) => failed.push((removal.path.clone(), why)),
        }
        each(at + 1, plan.remove.len());
    }
    for (partition, gone) in gone {
        catalogue.replace(partition, &gone, &BTreeMap::new())?;
    }
    catalogue.end(was_complete)?;
    Ok(failed)
}

const CHANGED: &str = "it has changed meanwhile: it is left alone";

/// Refuses a trace folder with a file or folder of this name.
fn not_ours(name: &str) -> String {
    format!("it has {name}, which corewise did not write: it is left alone")
}

/// Removes the objects of a recording, the manifest first, so that half of a recording is never taken for one.
fn remove_from_store(store: &Store, planned: &Found) -> Result<(), String> {
    let say = |why: StoreError| match why {
        StoreError::Changed(_) => CHANGED.to_owned(),
        why => why.to_string(),
    };
    let key = runs::key(store, planned);
    let mut keys = Vec::new();
    let mut changed_ns = i64::MIN;
    let objects = runs::objects(store, planned).map_err(say)?;
    for object in &objects {
        let below = runs::below(&object.key, key);
        if planned.kind == Kind::File || below == MANIFEST || below == engine::LABELS {
            changed_ns = changed_ns.max(object.modified_ns);
        }
    }
    if changed_ns != planned.modified_ns {
        return Err(CHANGED.to_owned());
    }
    if planned.kind == Kind::File {
        keys.extend(objects.into_iter().map(|object| object.key));
    } else {
        // With the caches.
        store.list(key, &mut |object| keys.push(object.key)).map_err(say)?;
        let mut firsts = keys.iter().map(|of| runs::below(of, key).split('/').next().unwrap_or_default());
        if let Some(other) = firsts.find(|first| !OURS.contains(first)) {
            return Err(not_ours(other));
        }
        keys.sort_by_key(|of| runs::below(of, key) != MANIFEST);
    }
    let (first, others) = keys.split_at(keys.len().min(1));
    store.remove(first).map_err(say)?;
    store.remove(others).map_err(|why| {
        let url = store.url_of(key);
        format!("only its first object is removed ({why}): remove the others, which begin with {url}")
    })
}

fn remove_one(removal: &Removal) -> Result<(), Error> {
    let path = &removal.path;
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(ErrorKind::InvalidFilename.into());
    };
    let parent = Dir::open(parent)?;
    let is_file = std::fs::symlink_metadata(path)?.is_file();
    let found = if is_file { Some(crate::walk::file(path)?) } else { crate::walk::recording(path)? };
    if found.is_none_or(|found| found != removal.found) {
        return Err(Error::other(CHANGED));
    }
    if is_file {
        parent.remove(name)?;
        for added in engine::added_files(path) {
            match added.file_name().map_or(Ok(()), |name| parent.remove(name)) {
                Err(why) if why.kind() != ErrorKind::NotFound => return Err(why),
                _ => {}
            }
        }
        return Ok(());
    }
    let folder = parent.open_dir(name)?;
    if let Some(other) = folder.names()?.into_iter().find(|name| !OURS.iter().any(|ours| name == *ours)) {
        let other = other.to_string_lossy().into_owned();
        return Err(Error::other(not_ours(&other)));
    }
    // Under another name, so that half of a recording is never taken for one.
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(REMOVING);
    parent.remove_all(&hidden)?;
    folder.check_owner()?;
    parent.rename(name, &parent, &hidden)?;
    parent.remove_all(&hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changed_after_the_plan_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().canonicalize().unwrap().join("perf.data");
        std::fs::write(&path, "12").unwrap();
        let planned = || {
            let found = crate::walk::file(&path).unwrap();
            let (partition, bytes) = (Partition::default(), found.bytes);
            Removal { path: path.clone(), host: None, at_ns: 0, bytes, partition, found }
        };
        let old = planned();
        std::fs::write(&path, "345").unwrap();
        assert!(remove_one(&old).unwrap_err().to_string().contains("changed meanwhile"));
        assert!(path.exists());
        remove_one(&planned()).unwrap();
        assert!(!path.exists());
    }
}
