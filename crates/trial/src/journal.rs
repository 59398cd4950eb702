//! What was changed, written before it is changed, so that it can be undone by another process too.
//!
//! A journal is a file of JSON lines: first the process that tries, then what was changed, in order. A journal whose process has ended is left
//! over: its process was killed.

use crate::{Setting, files, processes};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Result, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// One line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Entry {
    /// The process that tries, and when it began (clock ticks since boot).
    By { pid: i32, start: u64 },
    /// A thread that gets a setting, and what it had.
    Thread { tid: i32, start: u64, was: Setting, to: Setting },
    /// A file of the kernel that gets a value, and what it had.
    File { path: PathBuf, was: String, to: String },
}

/// The journal of a trial that runs.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

/// What was undone.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Undone {
    /// The number of settings of threads.
    pub threads: usize,
    /// The number of threads that have ended: nothing to undo.
    pub ended: usize,
    /// The files that have their former values.
    pub files: usize,
    /// What could not be undone, and why: sentences without full stops.
    pub left: Vec<String>,
}

/// The variable that names another folder for the journals.
const FOLDER: &str = "COREWISE_TRIALS";

/// The folder of the journals. What it describes ends with the system's run, as these folders do; the last one is for systems without them.
fn folder() -> Result<PathBuf> {
    let of = |name: &str| std::env::var_os(name).filter(|path| Path::new(path).is_absolute()).map(PathBuf::from);
    if let Some(folder) = of(FOLDER) {
        return Ok(folder);
    }
    // SAFETY: no memory is involved.
    if unsafe { libc::geteuid() } == 0 {
        return Ok("/run/corewise".into());
    }
    let home = || of("HOME").map(|home| home.join(".cache"));
    let parent = of("XDG_RUNTIME_DIR").or_else(home);
    parent.map(|parent| parent.join("corewise")).ok_or_else(|| Error::other("neither XDG_RUNTIME_DIR nor HOME is set"))
}

impl Journal {
    /// Begins a journal.
    ///
    /// # Errors
    /// Another trial runs, one was killed and not undone, or the file cannot be written.
    pub fn begin() -> Result<Self> {
        Self::begin_in(&folder()?)
    }

    fn begin_in(folder: &Path) -> Result<Self> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let own = std::process::id().cast_signed();
        if let Some((path, runs)) = in_folder(folder)?.into_iter().next() {
            let what = if runs {
                "another `corewise try` runs"
            } else {
                "a `corewise try` was killed: undo it with `corewise try --undo`"
            };
            return Err(Error::new(ErrorKind::AlreadyExists, format!("{what} ({})", path.display())));
        }
        let path = folder.join(format!("try-{own}.json"));
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path)?;
        let mut journal = Self { path, file };
        journal.add(&[Entry::By { pid: own, start: processes::start_of(own).unwrap_or_default() }])?;
        Ok(journal)
    }

    /// Adds entries. They survive if this process is killed.
    pub(crate) fn add(&mut self, entries: &[Entry]) -> Result<()> {
        let mut text = String::new();
        for entry in entries {
            text.push_str(&serde_json::to_string(entry)?);
            text.push('\n');
        }
        self.file.write_all(text.as_bytes())
    }

    /// Undoes what was changed until now. The journal goes on.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn undo(&mut self) -> Result<Undone> {
        let (entries, undone) = undo_entries(&self.path)?;
        if undone.left.is_empty() {
            // Only the first line remains.
            self.file.set_len(serde_json::to_string(&entries.first())?.len() as u64 + 1)?;
        }
        Ok(undone)
    }

    /// Undoes all and removes the journal; it stays if something could not be undone.
    ///
    /// # Errors
    /// The journal cannot be read or removed.
    pub fn end(mut self) -> Result<Undone> {
        let undone = self.undo()?;
        if undone.left.is_empty() {
            std::fs::remove_file(&self.path)?;
        }
        Ok(undone)
    }
}

/// The journals that exist, and whether their process runs.
///
/// # Errors
/// The folder cannot be read.
pub fn journals() -> Result<Vec<(PathBuf, bool)>> {
    in_folder(&folder()?)
}

fn in_folder(folder: &Path) -> Result<Vec<(PathBuf, bool)>> {
    let entries = match std::fs::read_dir(folder) {
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let is_one = entry.file_name().to_str().is_some_and(|name| name.starts_with("try-") && name.ends_with(".json"));
        if is_one {
            found.push((entry.path(), runs(&read(&entry.path())?)));
        }
    }
    found.sort();
    Ok(found)
}

/// Whether the process that wrote it still runs.
fn runs(entries: &[Entry]) -> bool {
    matches!(entries.first(), Some(Entry::By { pid, start }) if processes::start_of(*pid) == Some(*start))
}

/// The last line may be cut off: what it describes was not changed yet.
fn read(path: &Path) -> Result<Vec<Entry>> {
    let text = std::fs::read_to_string(path)?;
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    let entry = |line: &str| serde_json::from_str(line).map_err(|why| Error::new(ErrorKind::InvalidData, why));
    complete.lines().map(entry).collect()
}

/// Undoes a journal that is left over, and removes it.
///
/// # Errors
/// It cannot be read or removed.
pub fn undo(path: &Path) -> Result<Undone> {
    let (_, undone) = undo_entries(path)?;
    if undone.left.is_empty() {
        std::fs::remove_file(path)?;
    }
    Ok(undone)
}

/// Undoes in reverse order. A file is undone up to the value that something else wrote last: what it had before is no longer due.
fn undo_entries(path: &Path) -> Result<(Vec<Entry>, Undone)> {
    let entries = read(path)?;
    let (mut undone, mut reached) = (Undone::default(), BTreeMap::new());
    for entry in entries.iter().rev() {
        match entry {
            Entry::By { .. } => {}
            Entry::Thread { tid, start, was, to } => undo_thread(*tid, *start, was, to, &mut undone),
            Entry::File { path, was, to } => {
                if reached.get(path).is_none_or(|reached| *reached == to) {
                    undo_file(path, was, to, &mut undone);
                    reached.insert(path, was);
                }
            }
        }
    }
    Ok((entries, undone))
}

fn undo_thread(tid: i32, start: u64, was: &Setting, to: &Setting, undone: &mut Undone) {
    // A TID is used again after its thread has ended.
    if processes::start_of(tid) != Some(start) {
        undone.ended += 1;
        return;
    }
    match was.of_thread(tid).and_then(|now| if now == *to { was.give(tid) } else { Ok(()) }) {
        Ok(()) => undone.threads += 1,
        Err(_) if processes::start_of(tid) != Some(start) => undone.ended += 1,
        Err(why) => undone.left.push(format!("thread {tid}: {was:?} cannot be set again: {why}")),
    }
}

fn undo_file(path: &Path, was: &str, to: &str, undone: &mut Undone) {
    let now = match files::value(path) {
        Ok(now) => now,
        // A cgroup that the command made and removed.
        Err(why) if why.kind() == ErrorKind::NotFound => return,
        Err(why) => return undone.left.push(format!("{}: {why}", path.display())),
    };
    if now == was {
        undone.files += 1;
    } else if now != to {
        undone.left.push(format!("{} is {now} now, which was not set by this trial; it was {was}", path.display()));
    } else if let Err(why) = files::set(path, was) {
        undone.left.push(format!("{}: {was} cannot be written: {why}", path.display()));
    } else {
        undone.files += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &Path, was: &str, to: &str) -> Entry {
        Entry::File { path: path.to_owned(), was: was.to_owned(), to: to.to_owned() }
    }

    #[test]
    fn files_get_their_values_back_and_the_journal_goes() {
        let folder = tempfile::tempdir().unwrap();
        let (value, journals) = (folder.path().join("value"), folder.path().join("j"));
        std::fs::write(&value, "1\n").unwrap();
        let mut journal = Journal::begin_in(&journals).unwrap();
        for to in ["2", "3"] {
            journal.add(&[entry(&value, files::value(&value).unwrap().as_str(), to)]).unwrap();
            files::set(&value, to).unwrap();
        }
        assert_eq!(journal.undo().unwrap().files, 2);
        assert_eq!(files::value(&value).unwrap(), "1");
        // Between the two, something else wrote 5.
        for (was, to) in [("1", "2"), ("5", "3")] {
            journal.add(&[entry(&value, was, to)]).unwrap();
        }
        files::set(&value, "3").unwrap();
        let undone = journal.undo().unwrap();
        assert_eq!((undone.files, undone.left.as_slice()), (1, &[][..]));
        assert_eq!(files::value(&value).unwrap(), "5");
        files::set(&value, "1").unwrap();
        assert_eq!(journal.undo().unwrap(), Undone::default());
        assert_eq!(in_folder(&journals).unwrap().len(), 1);
        assert!(in_folder(&journals).unwrap()[0].1, "it runs");
        assert_eq!(Journal::begin_in(&journals).unwrap_err().kind(), ErrorKind::AlreadyExists);
        journal.end().unwrap();
        assert_eq!(in_folder(&journals).unwrap(), []);
    }

    #[test]
    fn what_another_program_changed_stays_and_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let value = folder.path().join("value");
        std::fs::write(&value, "9").unwrap();
        let mut journal = Journal::begin_in(folder.path()).unwrap();
        journal.add(&[entry(&value, "1", "2"), entry(&folder.path().join("gone"), "1", "2")]).unwrap();
        let undone = journal.end().unwrap();
        assert_eq!(undone.left.len(), 1, "{undone:?}");
        assert_eq!(std::fs::read_to_string(&value).unwrap(), "9");
    }

    #[test]
    fn a_journal_of_a_killed_process_is_left_over_and_may_be_cut() {
        let folder = tempfile::tempdir().unwrap();
        let (value, path) = (folder.path().join("value"), folder.path().join("try-1.json"));
        std::fs::write(&value, "2").unwrap();
        let lines = [Entry::By { pid: i32::MAX, start: 1 }, entry(&value, "1", "2")];
        let mut text: String = lines.iter().map(|line| serde_json::to_string(line).unwrap() + "\n").collect();
        text.push_str("{\"file\":{\"path\":");
        std::fs::write(&path, text).unwrap();
        assert_eq!(in_folder(folder.path()).unwrap(), [(path.clone(), false)]);
        assert_eq!(undo(&path).unwrap().files, 1);
        assert_eq!((files::value(&value).unwrap().as_str(), path.exists()), ("1", false));
    }
}
