//! Brings a catalogue up to date: opens what is new or changed, on all CPUs, and takes out what is gone.

use crate::catalogue::{Catalogue, now, path_of};
use crate::error::FleetError;
use crate::measure::{Measured, Outcome, VERSION};
use crate::partition::Partition;
use crate::runs::Runs;
use crate::tables::{ERRORS, RECORDINGS};
use crate::walk::{Found, Walk};
use model::{TableDef, Value};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

/// What was measured is written at least so often, so that a run that is interrupted loses little.
const WRITE_AFTER: Duration = Duration::from_secs(30);
/// It is also written when so many recordings wait in memory.
const WRITE_AT: usize = 500;

/// A run ends when the store did not answer for so many recordings in a row.
const MAX_DOWN: usize = 8;

/// What to index.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IndexOptions {
    /// Opens all recordings, not only those that are new or changed.
    pub again: bool,
    /// The number of recordings that are opened at the same time; `None`: one for each CPU, of a store two.
    pub jobs: Option<usize>,
    /// The folder in which recordings of a store are copied to be opened; `None`: the system's folder for temporary files.
    pub scratch: Option<PathBuf>,
}

/// What a run did.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Indexed {
    /// Recordings in the catalogue that are in the folder.
    pub recordings: usize,
    /// Recordings that were not in the catalogue.
    pub new: usize,
    /// Recordings that were in it, and have changed since.
    pub changed: usize,
    /// Recordings that were not opened, since they have not changed.
    pub unchanged: usize,
    /// Recordings that were in it and are no longer in the folder.
    pub removed: usize,
    /// What could not be read, and why.
    pub errors: Vec<(String, String)>,
    /// Files that are no recordings.
    pub other_files: usize,
    /// Recordings that another version of corewise indexed, whose rules may differ.
    pub of_other_versions: usize,
}

/// What the catalogue knows of a recording.
struct Known {
    partition: Option<Partition>,
    bytes: i64,
    modified_ns: i64,
}

fn int(def: &TableDef, row: &[Value], name: &str) -> i64 {
    match def.col(name).and_then(|at| row.get(at)) {
        Some(Value::Int(value)) => *value,
        _ => 0,
    }
}

/// Indexes the recordings below a folder or a URL into a catalogue, which is made if it does not exist. `each` is called with the number of recordings
/// that were opened, and of all to open; when it returns false, the run ends early, with a catalogue of what was opened.
///
/// # Errors
/// The folder or the store cannot be read, or the catalogue cannot be written.
pub fn index(
    runs: &Path,
    into: &Path,
    options: &IndexOptions,
    each: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Indexed, FleetError> {
    let runs = Runs::open(runs)?;
    let mut catalogue = Catalogue::open_or_make(into)?;
    let _lock = catalogue.lock()?;
    let walk = runs.walk()?;
    let mut run = Run::start(&mut catalogue, runs.root(), &walk)?;
    let wanted: Vec<&Found> = walk.found.iter().filter(|found| options.again || run.is_new(found)).collect();
    run.done.unchanged = walk.found.iter().filter(|found| run.is_recording(found)).count()
        - wanted.iter().filter(|found| run.is_recording(found)).count();
    let ended = run.open(&runs, &wanted, options, each)?;
    run.finish(&walk, ended)?;
    match run.gave_up {
        Some(why) => {
            Err(FleetError::Request(format!("the store did not answer for {MAX_DOWN} recordings in a row: {why}")))
        }
        None => Ok(run.done),
    }
}

/// A run of `index`.
struct Run<'a> {
    catalogue: &'a mut Catalogue,
    /// What is in the catalogue below the indexed folder, by path.
    known: BTreeMap<String, Known>,
    /// Rows of `errors`, by path.
    errors: BTreeMap<String, Vec<Value>>,
    /// Partitions that lose rows, with the paths.
    gone: BTreeMap<Partition, BTreeSet<String>>,
    waiting: Vec<Measured>,
    written: Instant,
    done: Indexed,
    /// For how many recordings in a row the store did not answer, and why no more are tried.
    down: usize,
    gave_up: Option<String>,
}

/// A path as a text by which the catalogue knows it: bytes that are not UTF-8 as `\xFF`, so that different paths stay different.
pub(crate) fn name(path: &Path) -> String {
    let mut all = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        all.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| all.push_str(&format!("\\x{byte:02X}")));
    }
    all
}

impl<'a> Run<'a> {
    fn start(catalogue: &'a mut Catalogue, root: &Path, walk: &Walk) -> Result<Self, FleetError> {
        let (mut known, mut gone) = (BTreeMap::new(), BTreeMap::<Partition, BTreeSet<String>>::new());
        let mut done = Indexed::default();
        let there: BTreeSet<String> = walk.found.iter().map(|found| name(&found.path)).collect();
        // What cannot be read now may still be there.
        let is_hidden = |path: &str| walk.unreadable.iter().any(|(folder, _)| Path::new(path).starts_with(folder));
        let is_complete = catalogue.about.complete;
        catalogue.each(&RECORDINGS, &["path", "bytes", "modified_ns"], &mut |partition, row| {
            if !is_complete {
                gone.entry(partition.clone()).or_default();
            }
            let path = path_of(&row).to_owned();
            if !Path::new(&path).starts_with(root) || is_hidden(&path) {
                return;
            }
            if there.contains(&path) {
                let (bytes, modified_ns) = (int(&RECORDINGS, &row, "bytes"), int(&RECORDINGS, &row, "modified_ns"));
                known.insert(path, Known { partition: Some(partition.clone()), bytes, modified_ns });
            } else {
                done.removed += 1;
                gone.entry(partition.clone()).or_default().insert(path);
            }
        })?;
        let mut errors = BTreeMap::new();
        for file in catalogue.files(&ERRORS)? {
            for row in catalogue.rows(&file, &ERRORS, &[])? {
                let path = path_of(&row).to_owned();
                if there.contains(&path) {
                    let (bytes, modified_ns) = (int(&ERRORS, &row, "bytes"), int(&ERRORS, &row, "modified_ns"));
                    known.insert(path.clone(), Known { partition: None, bytes, modified_ns });
                }
                if there.contains(&path) || !Path::new(&path).starts_with(root) {
                    errors.insert(path, row);
                }
            }
        }
        catalogue.about.roots.insert(root.to_owned());
        catalogue.begin()?;
        Ok(Self {
            catalogue,
            known,
            errors,
            gone,
            waiting: Vec::new(),
            written: Instant::now(),
            done,
            down: 0,
            gave_up: None,
        })
    }

    /// Whether a recording must be opened.
    fn is_new(&self, found: &Found) -> bool {
        let is_same = |of: &Known| of.bytes == found.bytes && of.modified_ns == found.modified_ns;
        !self.known.get(&name(&found.path)).is_some_and(is_same)
    }

    /// Whether the catalogue has it as a recording.
    fn is_recording(&self, found: &Found) -> bool {
        self.known.get(&name(&found.path)).is_some_and(|of| of.partition.is_some())
    }

    /// Opens recordings on all CPUs. Returns whether it came to the end.
    fn open(
        &mut self,
        runs: &Runs,
        wanted: &[&Found],
        options: &IndexOptions,
        each: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<bool, FleetError> {
        let jobs = options.jobs.unwrap_or_else(|| runs.jobs()).clamp(1, wanted.len().max(1));
        let scratch = options.scratch.clone().unwrap_or_else(std::env::temp_dir);
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let (sender, results) = sync_channel(2 * jobs);
            for _ in 0..jobs {
                let (sender, next, stop, scratch) = (sender.clone(), &next, &stop, &scratch);
                scope.spawn(move || {
                    while let Some(found) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if stop.load(Ordering::Relaxed) || sender.send((*found, runs.measure(found, scratch))).is_err()
                        {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            let mut ended = true;
            for (at, (found, outcome)) in results.iter().enumerate() {
                let taken = self.take(found, outcome);
                if taken.is_err() || ended && (!each(at + 1, wanted.len()) || self.gave_up.is_some()) {
                    stop.store(true, Ordering::Relaxed);
                    ended = false;
                }
                taken?;
            }
            Ok(ended)
        })
    }

    /// Takes the result of a recording.
    fn take(&mut self, found: &Found, outcome: Outcome) -> Result<(), FleetError> {
        let path = name(&found.path);
        self.down = if matches!(outcome, Outcome::Unreachable { is_down: true, .. }) { self.down + 1 } else { 0 };
        if self.gave_up.is_some() {
            return Ok(());
        }
        self.errors.remove(&path);
        let was = self.known.remove(&path);
        let is_known = was.as_ref().is_some_and(|of| of.partition.is_some());
        let forget = |this: &mut Self| {
            if let Some(partition) = was.as_ref().and_then(|of| of.partition.clone()) {
                this.gone.entry(partition).or_default().insert(path.clone());
            }
        };
        match outcome {
            Outcome::Recording(measured) => {
                // It may have another host or date than before.
                forget(self);
                if is_known {
                    self.done.changed += 1;
                } else {
                    self.done.new += 1;
                }
                self.waiting.push(*measured);
            }
            Outcome::Other => {
                forget(self);
                self.done.other_files += 1;
            }
            Outcome::Error(why) => {
                // What it had when it could be read is no longer so.
                forget(self);
                self.add_error(&path, found.bytes, found.modified_ns, why);
            }
            Outcome::Unreachable { why, .. } => {
                forget(self);
                // Of no time, so that the next run tries again.
                self.add_error(&path, found.bytes, 0, why.clone());
                if self.down >= MAX_DOWN {
                    self.gave_up = Some(why);
                }
            }
        }
        if self.waiting.len() >= WRITE_AT || self.written.elapsed() >= WRITE_AFTER {
            self.write()?;
        }
        Ok(())
    }

    fn add_error(&mut self, path: &str, bytes: i64, modified_ns: i64, why: String) {
        let why = model::words::plain(&why);
        let row = vec![
            Value::Text(path.to_owned()),
            Value::Int(bytes),
            Value::Int(modified_ns),
            Value::Text(why),
            Value::Int(now()),
        ];
        self.errors.insert(path.to_owned(), row);
    }

    /// Writes what waits.
    fn write(&mut self) -> Result<(), FleetError> {
        let mut new = BTreeMap::<Partition, BTreeMap<&'static str, Vec<Vec<Value>>>>::new();
        for measured in self.waiting.drain(..) {
            let of = new.entry(measured.partition).or_default();
            measured.rows.into_iter().for_each(|(table, rows)| of.entry(table).or_default().extend(rows));
        }
        // A recording that moves to another partition is written there before it goes here.
        let none = BTreeSet::new();
        for (partition, rows) in &new {
            self.catalogue.replace(partition, self.gone.get(partition).unwrap_or(&none), rows)?;
        }
        for (partition, gone) in std::mem::take(&mut self.gone) {
            if !new.contains_key(&partition) {
                self.catalogue.replace(&partition, &gone, &BTreeMap::new())?;
            }
        }
        let errors: Vec<Vec<Value>> = self.errors.values().cloned().collect();
        self.catalogue.replace_errors(&errors)?;
        self.catalogue.send()?;
        self.written = Instant::now();
        Ok(())
    }

    fn finish(&mut self, walk: &Walk, ended: bool) -> Result<(), FleetError> {
        for (path, why) in &walk.unreadable {
            self.add_error(&name(path), 0, 0, format!("{}: {why}", path.display()));
        }
        self.write()?;
        let there: BTreeSet<String> = walk.found.iter().map(|found| name(&found.path)).collect();
        let version = RECORDINGS.col("indexed_by").unwrap_or(0);
        self.catalogue.pack()?;
        let done = &mut self.done;
        self.catalogue.each(&RECORDINGS, &["path", "indexed_by"], &mut |_, row| {
            if there.contains(path_of(&row)) {
                done.recordings += 1;
                let is_of_other = row.get(version) != Some(&Value::Text(VERSION.to_owned()));
                done.of_other_versions += usize::from(is_of_other);
            }
        })?;
        let unreadable: BTreeSet<String> = walk.unreadable.iter().map(|(path, _)| name(path)).collect();
        let here = self.errors.iter().filter(|(path, _)| there.contains(*path) || unreadable.contains(*path));
        let why = |row: &Vec<Value>| match ERRORS.col("why").and_then(|at| row.get(at)) {
            Some(Value::Text(why)) => why.clone(),
            _ => String::new(),
        };
        self.done.errors = here.map(|(path, row)| (path.clone(), why(row))).collect();
        self.catalogue.about.indexed_ns = now();
        VERSION.clone_into(&mut self.catalogue.about.corewise);
        self.catalogue.end(ended)
    }
}
