//! The recordings of a query, and the copies of their tables that DuckDB reads.

use super::catalogue::CatalogueTables;
use super::views::{self, Part};
use super::words;
use crate::args::Global;
use crate::failure::Failure;
use crate::frame_marks;
use crate::progress::Line;
use crate::temporary::TemporaryFolder;
use engine::{EngineError, Format, Redact, Redaction, Session, SlowFrameOptions, TableRequest, TableWriter};
use model::{TableDef, tables};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A pattern matches at most so many paths.
const MAX_PATHS: usize = 10_000;

/// An open recording.
pub struct Trace {
    /// As named on the command line; redacted, a number.
    pub name: String,
    pub session: Session,
}

/// The recordings, and their tables made so far; or a catalogue of recordings.
pub struct Traces {
    catalogue: Option<CatalogueTables>,
    all: Vec<Trace>,
    /// The statements for the tables made so far.
    made: BTreeMap<&'static str, Vec<String>>,
    folder: TemporaryFolder,
}

impl Traces {
    /// Opens recordings, or a catalogue.
    ///
    /// # Errors
    /// One cannot be read, no temporary folder can be made, or a catalogue is opened with `redact`, which leaves out what is private.
    pub fn open(paths: &[PathBuf], global: &Global, redact: Option<Redact>) -> Result<Self, Failure> {
        let folder = TemporaryFolder::create("corewise-sql-").map_err(EngineError::temporary)?;
        if let Some(path) = paths.iter().find(|path| fleet::is_catalogue(path)) {
            if paths.len() > 1 {
                return Err(Failure::usage(format!(
                    "{}: a catalogue is queried alone: name nothing else",
                    path.display()
                )));
            }
            if redact.is_some() {
                return Err(Failure::usage(format!(
                    "{}: a catalogue has the names of hosts and the paths of recordings as keys: remove --redact, or use corewise fleet report --redact",
                    path.display()
                )));
            }
            let catalogue = Some(CatalogueTables::open(path)?);
            return Ok(Self { catalogue, all: Vec::new(), made: BTreeMap::new(), folder });
        }
        // The same names have the same stand-ins in all of them.
        let redaction = redact.map(|what| Arc::new(Redaction::new(what)));
        let mut all = Vec::with_capacity(paths.len());
        let mut line = Line::new();
        for (done, path) in paths.iter().enumerate() {
            line.show(|| format!("Opening {} ({} of {})", path.display(), done + 1, paths.len()));
            let mut session = global.open_kept(path)?;
            if let Some(redaction) = &redaction {
                session.redact_as(Arc::clone(redaction));
            }
            let slow = frame_marks::found(&session, SlowFrameOptions::default())?;
            let name = path.display().to_string();
            let mut name = if name.len() > 1 { name.trim_end_matches('/').to_owned() } else { name };
            let session = session.with_slow_frames(slow);
            if redaction.is_some() {
                name = if paths.len() > 1 { format!("TRACE {}", done + 1) } else { "TRACE".to_owned() };
            }
            all.push(Trace { name, session });
        }
        Ok(Self { catalogue: None, all, made: BTreeMap::new(), folder })
    }

    /// The folder that DuckDB may use.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Makes the tables that a query names, and returns the statements that declare all views it may need.
    ///
    /// # Errors
    /// A trace cannot be read, or the temporary folder cannot be written.
    pub fn views(&mut self, query: &str) -> Result<Vec<String>, Failure> {
        if let Some(catalogue) = &mut self.catalogue {
            return catalogue.views(query, self.folder.path());
        }
        let wanted = words::tables_named(query);
        self.make(&wanted)?;
        let mut statements = views::traces(&self.all);
        if words::lists_tables(query) {
            let others = tables::ALL.iter().filter(|def| !wanted.iter().any(|of| of.name == def.name));
            statements.extend(others.flat_map(|def| views::view(tables::named(def), &[])));
        }
        statements.extend(wanted.iter().filter_map(|def| self.made.get(def.name)).flatten().cloned());
        Ok(statements)
    }

    /// The files of the tables made so far.
    ///
    /// # Errors
    /// The temporary folder cannot be read.
    pub fn files(&self) -> Result<Vec<PathBuf>, Failure> {
        let entries = std::fs::read_dir(self.folder()).map_err(Failure::at(self.folder()))?;
        let files = entries.flatten().map(|entry| entry.path());
        Ok(files.filter(|path| path.extension().is_some_and(|kind| kind == "parquet")).collect())
    }

    fn make(&mut self, wanted: &[&'static TableDef]) -> Result<(), Failure> {
        let missing: Vec<&'static TableDef> =
            wanted.iter().copied().filter(|def| !self.made.contains_key(def.name)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let mut line = Line::new();
        let mut parts: BTreeMap<&str, Vec<Part>> = BTreeMap::new();
        for (at, trace) in self.all.iter().enumerate() {
            let names: Vec<&str> = missing.iter().map(|def| def.name).collect();
            line.show(|| format!("Making {} of {}", names.join(", "), trace.name));
            trace.session.prepare(&names)?;
            for def in &missing {
                let part = self.part(at, trace, def)?;
                parts.entry(def.name).or_default().push(part);
            }
        }
        for def in missing {
            let declared = self.all.first().map_or(Ok(def), |trace| trace.session.definition(def.name))?;
            let parts = parts.remove(def.name).unwrap_or_default();
            self.made.insert(def.name, views::view(tables::named(declared), &parts));
        }
        Ok(())
    }

    /// Makes a table of one recording: a copy of the file of the folder, or a new file. A copy, because a query could write to what it can read.
    fn part(&self, at: usize, trace: &Trace, def: &'static TableDef) -> Result<Part, Failure> {
        let file = self.folder().join(format!("{at}.{}.parquet", def.name));
        let trace_name = trace.name.clone();
        // A copy of a file has all that is in it.
        let stored = trace.session.states_file(def).filter(|_| !trace.session.is_redacted());
        if let Some(stored) = stored {
            std::fs::copy(&stored, &file).map_err(Failure::at(&file))?;
            let has_names = def.cols.iter().any(|col| col.is_thread_key);
            let names = if has_names { Some(self.table(at, trace, &tables::THREADS)?) } else { None };
            return Ok(Part { trace: trace_name, file, names });
        }
        Ok(Part { trace: trace_name, file: self.table(at, trace, def)?, names: None })
    }

    /// Writes a table of one recording with the names of its threads, unless that was done before.
    fn table(&self, at: usize, trace: &Trace, def: &'static TableDef) -> Result<PathBuf, Failure> {
        let file = self.folder().join(format!("{at}.{}.parquet", def.name));
        if file.exists() {
            return Ok(file);
        }
        let request = TableRequest::whole(def.name);
        let mut out = BufWriter::new(File::create_new(&file).map_err(Failure::at(&file))?);
        // Without the trace's id: computing it reads all of a file that was not imported.
        let written = |out: &mut BufWriter<File>| -> Result<(), EngineError> {
            let mut writer = TableWriter::new(request.definition(&trace.session)?, None, Format::Parquet, out)?;
            let mut failed = Ok(());
            let read = request.rows(&trace.session, &mut |rows| {
                failed = rows.iter().try_for_each(|row| writer.push(row));
                if failed.is_ok() { Ok(()) } else { Err(std::io::ErrorKind::BrokenPipe.into()) }
            });
            failed?;
            read?;
            Ok(writer.finish()?)
        };
        let written = written(&mut out);
        if written.is_err() {
            let _ = std::fs::remove_file(&file);
        }
        written?;
        Ok(file)
    }
}

/// Returns the paths that the arguments name. `*` and `?` match in names, for patterns that no shell has expanded.
///
/// # Errors
/// A pattern matches nothing.
pub fn paths(arguments: &[String]) -> Result<Vec<PathBuf>, Failure> {
    let mut all: Vec<PathBuf> = Vec::new();
    for argument in arguments {
        let path = Path::new(argument);
        if path.exists() || !argument.contains(['*', '?']) {
            all.push(path.to_owned());
            continue;
        }
        let found = matching(path)?;
        if found.is_empty() {
            return Err(Failure::new(format!("{argument}: no file or folder matches this pattern")));
        }
        all.extend(found);
    }
    let mut seen = std::collections::BTreeSet::new();
    all.retain(|path| seen.insert(path.clone()));
    Ok(all)
}

fn matching(pattern: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = vec![PathBuf::new()];
    for part in pattern.components() {
        let word = part.as_os_str().to_string_lossy();
        if !word.contains(['*', '?']) {
            found.iter_mut().for_each(|path| path.push(part));
            found.retain(|path| path.exists());
            continue;
        }
        let mut next = Vec::new();
        for folder in found {
            let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
            let Ok(entries) = std::fs::read_dir(&folder) else { continue };
            let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
            let names = names.filter(|name| (!name.starts_with('.') || word.starts_with('.')) && matches(&word, name));
            let is_here = folder == Path::new(".");
            next.extend(names.map(|name| if is_here { PathBuf::from(name) } else { folder.join(name) }));
            if next.len() > MAX_PATHS {
                return Err(Failure::new(format!("{}: more than {MAX_PATHS} paths match", pattern.display())));
            }
        }
        next.sort();
        found = next;
    }
    Ok(found)
}

/// Whether a name matches a pattern with `*` and `?`.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => (p, n) = (p + 1, n + 1),
            // The last asterisk takes one character more.
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    (p, n) = (at + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names() {
        for (pattern, name, expected) in [
            ("*.cw", "run.cw", true),
            ("*.cw", "run.cw2", false),
            ("a*b*c", "aXbYbc", true),
            ("a*b*c", "aXbYb", false),
            ("r?n", "run", true),
            ("r?n", "rn", false),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn patterns_find_folders_in_order() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.cw", "a.cw", "x.txt", ".c.cw"] {
            std::fs::create_dir_all(folder.path().join("runs").join(name)).unwrap();
        }
        let pattern = folder.path().join("r*").join("*.cw").display().to_string();
        let found = paths(&[pattern.clone(), pattern]).unwrap();
        let names: Vec<_> = found.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
        assert_eq!(names, ["a.cw", "b.cw"]);
        let none = folder.path().join("q*.cw").display().to_string();
        assert!(paths(&[none]).unwrap_err().message.contains("matches this pattern"));
    }
}
