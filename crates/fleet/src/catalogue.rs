//! A catalogue on disk: one Parquet file for each table and partition, and `catalogue.json`.
//!
//! Files are replaced one by one, by rename. `recordings` is replaced last, so that a recording is in the catalogue only when all of its rows
//! are. A run that was interrupted leaves `catalogue.json` with `complete: false`; the next one then cleans every partition of rows that belong
//! to no recording.

use crate::error::FleetError;
use crate::packed::Changed;
use crate::parquet_in;
use crate::partition::Partition;
use crate::remote::Remote;
use crate::tables::{ERRORS, PARTITIONED, RECORDINGS};
use engine::{Format, TableWriter};
use model::{TableDef, Value};
use safefs::Dir;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;
use stores::Store;

/// The file that makes a folder a catalogue.
pub(crate) const ABOUT: &str = "catalogue.json";
/// The version of catalogues that this corewise writes. It reads this one and all earlier ones.
const VERSION: u32 = 1;
/// The file of a partition.
pub(crate) const PART: &str = "part.parquet";
/// A file that is being written: readers of data sets skip names that begin so.
const NEW: &str = "_new";

/// A catalogue in a store that is incomplete and was written less than this ago is being written, ns.
const AT_WORK_NS: i64 = 5 * 60 * 1_000_000_000;

/// Whether a folder is a catalogue, or the URL of one. Of a URL, this is asked of the store.
#[must_use]
pub fn is_catalogue(folder: &Path) -> bool {
    if stores::is_url(folder) {
        let of = Store::open(&folder.display().to_string()).and_then(|store| store.read(ABOUT));
        return of.is_ok_and(|about| about.is_some());
    }
    folder.join(ABOUT).is_file()
}

/// A file of a catalogue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CatalogueFile {
    /// Its path.
    pub path: PathBuf,
    /// Its partition; `None` for a table that is not partitioned.
    pub partition: Option<Partition>,
}

/// `catalogue.json`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct About {
    /// The version of the catalogue.
    pub(crate) catalogue: u32,
    /// The corewise that wrote it last.
    pub(crate) corewise: String,
    /// The folders that were indexed.
    pub(crate) roots: BTreeSet<PathBuf>,
    /// When it was indexed last, ns since 1970.
    pub(crate) indexed_ns: i64,
    /// Whether the last run came to its end.
    pub(crate) complete: bool,
}

impl About {
    fn new() -> Self {
        Self {
            catalogue: VERSION,
            corewise: crate::measure::VERSION.to_owned(),
            roots: BTreeSet::new(),
            indexed_ns: 0,
            complete: false,
        }
    }
}

/// A catalogue of recordings.
#[derive(Debug)]
pub struct Catalogue {
    /// Its folder; of one in a store, that of its copy.
    path: PathBuf,
    pub(crate) about: About,
    remote: Option<Remote>,
    changed: Mutex<Changed>,
}

impl Catalogue {
    /// Opens a catalogue in a folder, or, by its URL, in a store.
    ///
    /// # Errors
    /// It is none, is damaged, or is of a newer corewise; a store does not answer or refuses.
    pub fn open(path: &Path) -> Result<Self, FleetError> {
        if !stores::is_url(path) {
            return Self::open_folder(path);
        }
        let remote = Remote::fetch(&path.display().to_string())?;
        if !remote.exists() {
            let why = "the store has nothing there".to_owned();
            return Err(FleetError::NotACatalogue { path: path.to_owned(), why });
        }
        Ok(Self {
            about: Self::open_folder(remote.copy())?.about,
            path: remote.copy().to_owned(),
            remote: Some(remote),
            changed: Mutex::default(),
        })
    }

    fn open_folder(path: &Path) -> Result<Self, FleetError> {
        let file = path.join(ABOUT);
        let text = match std::fs::read(&file) {
            Ok(text) => text,
            Err(why) if matches!(why.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                let why = if path.exists() { format!("it has no {ABOUT}") } else { "it does not exist".to_owned() };
                return Err(FleetError::NotACatalogue { path: path.to_owned(), why });
            }
            Err(why) => return Err(FleetError::io(&file, "reading it")(why)),
        };
        let json: serde_json::Value = serde_json::from_slice(&text).map_err(|why| FleetError::damaged(&file, why))?;
        let found = json.get("catalogue").and_then(serde_json::Value::as_u64).unwrap_or(0);
        let found = u32::try_from(found).unwrap_or(u32::MAX);
        if found > VERSION {
            return Err(FleetError::Newer { path: path.to_owned(), found, known: VERSION });
        }
        let about = serde_json::from_value(json).map_err(|why| FleetError::damaged(&file, why))?;
        Ok(Self { path: path.to_owned(), about, remote: None, changed: Mutex::default() })
    }

    /// Opens a catalogue, or makes an empty one.
    ///
    /// # Errors
    /// As [`Self::open`]; the folder has other files, or cannot be written.
    pub(crate) fn open_or_make(path: &Path) -> Result<Self, FleetError> {
        let remote = if stores::is_url(path) { Some(Remote::fetch(&path.display().to_string())?) } else { None };
        if let Some(remote) = remote {
            let about = if remote.exists() { Self::open_folder(remote.copy())?.about } else { About::new() };
            return Ok(Self { path: remote.copy().to_owned(), about, remote: Some(remote), changed: Mutex::default() });
        }
        if is_catalogue(path) {
            return Self::open(path);
        }
        let folder = Dir::make_all(path).map_err(FleetError::io(path, "making the catalogue"))?;
        let names = folder.names().map_err(FleetError::io(path, "reading it"))?;
        // What was left where the first run ended at once.
        if names.iter().any(|name| !name.to_string_lossy().starts_with(ABOUT)) {
            return Err(FleetError::NotACatalogue {
                path: path.to_owned(),
                why: "the folder has other files".to_owned(),
            });
        }
        let mut made = Self { path: path.to_owned(), about: About::new(), remote: None, changed: Mutex::default() };
        made.store_about()?;
        Ok(made)
    }

    /// The path or URL of the catalogue.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.remote.as_ref().map_or(&self.path, Remote::url)
    }

    /// Its folder; of one in a store, that of its copy.
    pub(crate) fn folder(&self) -> &Path {
        &self.path
    }

    /// Notes that a file was written or removed, which is sent if the catalogue is in a store.
    pub(crate) fn note(&self, file: &Path) {
        if let Some(remote) = &self.remote {
            remote.note(file);
        }
    }

    /// Copies files from the store, if the catalogue is in one.
    pub(crate) fn ensure(&self, files: &[PathBuf]) -> Result<(), FleetError> {
        self.remote.as_ref().map_or(Ok(()), |remote| remote.ensure(files))
    }

    /// What has changed since the tables were packed.
    pub(crate) fn changed(&self) -> MutexGuard<'_, Changed> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the right to write, which ends with the returned descriptor. In a store, [`Self::begin`] decides.
    ///
    /// # Errors
    /// Another process has it.
    pub(crate) fn lock(&self) -> Result<impl Sized + use<>, FleetError> {
        if let Some(remote) = &self.remote {
            let is_at_work = now() < self.about.indexed_ns.saturating_add(AT_WORK_NS);
            if remote.exists() && !self.about.complete && is_at_work {
                return Err(FleetError::AtWork(remote.url().to_owned()));
            }
            return Ok(None);
        }
        let path = self.path.join(ABOUT);
        // The folder, not the file: the file is replaced.
        let folder = std::fs::File::open(&self.path).map_err(FleetError::io(&path, "opening it"))?;
        match rustix::fs::flock(&folder, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(folder)),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(FleetError::Busy(self.path.clone())),
            Err(why) => Err(FleetError::io(&path, "locking it")(why.into())),
        }
    }

    /// Says that files are about to change.
    ///
    /// # Errors
    /// `catalogue.json` cannot be written; in a store, also if another run has begun since it was read.
    pub(crate) fn begin(&mut self) -> Result<(), FleetError> {
        // Packed tables are right until a partition changes.
        self.changed().is_packed |= self.about.complete;
        self.about.complete = false;
        if self.remote.is_some() {
            self.about.indexed_ns = now();
        }
        self.store_about()
    }

    /// Sends to a store what has changed since the last call.
    ///
    /// # Errors
    /// The store does not answer or refuses, or another run has begun meanwhile.
    pub(crate) fn send(&mut self) -> Result<(), FleetError> {
        if self.remote.is_none() {
            return Ok(());
        }
        self.begin()?;
        self.remote.as_ref().map_or(Ok(()), Remote::send)
    }

    /// Says that all files are as they should be, or that more are to change (`complete: false`).
    ///
    /// # Errors
    /// As [`Self::send`] and [`Self::begin`].
    pub(crate) fn end(&mut self, complete: bool) -> Result<(), FleetError> {
        self.pack()?;
        self.send()?;
        self.about.complete = complete;
        self.store_about()
    }

    /// Writes `catalogue.json`.
    fn store_about(&mut self) -> Result<(), FleetError> {
        let file = self.path().join(ABOUT);
        let mut json = serde_json::to_vec_pretty(&self.about).map_err(|why| FleetError::damaged(&file, why))?;
        json.push(b'\n');
        if let Some(remote) = &mut self.remote {
            return remote.put_about(json);
        }
        let folder = Dir::open_for_writing(&self.path);
        folder.and_then(|folder| folder.replace(ABOUT, &json)).map_err(FleetError::io(&file, "writing it"))?;
        Ok(())
    }

    /// The files of a table, in order of their partitions.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn files(&self, def: &TableDef) -> Result<Vec<CatalogueFile>, FleetError> {
        let of_table = self.path.join(def.name);
        if def.name == ERRORS.name {
            let file = CatalogueFile { path: of_table.join(PART), partition: None };
            return Ok(Some(file).filter(|file| file.path.exists()).into_iter().collect());
        }
        let mut all = Vec::new();
        for host in names(&of_table)? {
            for date in names(&of_table.join(&host))? {
                let Some(partition) = Partition::of_folders(&host, &date) else { continue };
                let path = of_table.join(&host).join(&date).join(PART);
                if path.is_file() {
                    all.push(CatalogueFile { path, partition: Some(partition) });
                }
            }
        }
        for key in self.remote.iter().flat_map(|remote| remote.missing(def.name)) {
            let mut names = key.split('/').skip(1);
            let partition = names.next().zip(names.next()).and_then(|(host, date)| Partition::of_folders(host, date));
            all.extend(partition.map(|of| CatalogueFile { path: self.path.join(&key), partition: Some(of) }));
        }
        all.sort_by(|a, b| a.partition.cmp(&b.partition));
        Ok(all)
    }

    /// Reads a file; columns that are not wanted are null (`wanted` empty: all).
    ///
    /// # Errors
    /// It is damaged.
    pub(crate) fn rows(
        &self,
        file: &CatalogueFile,
        def: &TableDef,
        wanted: &[&str],
    ) -> Result<Vec<Vec<Value>>, FleetError> {
        self.ensure(std::slice::from_ref(&file.path))?;
        let open = std::fs::File::open(&file.path).map_err(FleetError::io(&file.path, "reading it"))?;
        parquet_in::rows(&file.path, open, def, wanted)
    }

    /// Replaces rows of a partition: those of the recordings in `gone` go, and new ones are added, table by table. Rows of no recording go too.
    ///
    /// # Errors
    /// A file is damaged, or cannot be written.
    pub(crate) fn replace(
        &self,
        partition: &Partition,
        gone: &BTreeSet<String>,
        new: &BTreeMap<&'static str, Vec<Vec<Value>>>,
    ) -> Result<(), FleetError> {
        self.will_change(partition)?;
        let [host, date] = partition.folders();
        let parts = PARTITIONED.map(|def| self.path.join(def.name).join(&host).join(&date).join(PART));
        self.ensure(&parts)?;
        let kept = |def: &TableDef| -> Result<Vec<Vec<Value>>, FleetError> {
            let path = self.path.join(def.name).join(&host).join(&date).join(PART);
            match std::fs::File::open(&path) {
                Ok(file) => parquet_in::rows(&path, file, def, &[]),
                Err(why) if why.kind() == ErrorKind::NotFound => Ok(Vec::new()),
                Err(why) => Err(FleetError::io(&path, "reading it")(why)),
            }
        };
        let is_new =
            |path: &str| new.get(RECORDINGS.name).is_some_and(|rows| rows.iter().any(|row| path_of(row) == path));
        let recordings = kept(&RECORDINGS)?;
        let stays: BTreeSet<&str> =
            recordings.iter().map(|row| path_of(row)).filter(|path| !gone.contains(*path) && !is_new(path)).collect();
        for def in PARTITIONED {
            let mut rows = kept(def)?;
            rows.retain(|row| stays.contains(path_of(row)));
            rows.extend(new.get(def.name).into_iter().flatten().cloned());
            self.write(def, &[&host, &date], &rows)?;
        }
        Ok(())
    }

    /// Replaces the rows of the table of errors.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn replace_errors(&self, rows: &[Vec<Value>]) -> Result<(), FleetError> {
        self.write(&ERRORS, &[], rows)
    }

    /// Replaces a file; without rows, removes it with folders that are then empty.
    fn write(&self, def: &'static TableDef, folders: &[&str], rows: &[Vec<Value>]) -> Result<(), FleetError> {
        let path = folders.iter().fold(self.path.join(def.name), |path, folder| path.join(folder));
        let io = |what| FleetError::io(&path, what);
        if rows.is_empty() {
            let removed = std::fs::remove_file(path.join(PART));
            if removed.is_ok() {
                self.note(&path.join(PART));
            }
            // Folders that still have something stay.
            let _ = path.ancestors().take(folders.len()).try_for_each(std::fs::remove_dir);
            return match removed {
                Err(why) if why.kind() != ErrorKind::NotFound => Err(io("removing its file")(why)),
                _ => Ok(()),
            };
        }
        let mut bytes = Vec::new();
        let mut writer = TableWriter::new(def, None, Format::Parquet, &mut bytes).map_err(engine::EngineError::from)?;
        rows.iter().try_for_each(|row| writer.push(row)).map_err(engine::EngineError::from)?;
        writer.finish().map_err(engine::EngineError::from)?;
        let replace = || {
            let folder = folders
                .iter()
                .try_fold(Dir::open_for_writing(&self.path)?.open_or_make(def.name)?, |folder, name| {
                    folder.open_or_make(name)
                })?;
            // Left over if a process was killed before the rename.
            let _ = folder.remove(NEW);
            let mut file = folder.create(NEW)?;
            file.write_all(&bytes).and_then(|()| file.sync_all()).and_then(|()| folder.rename(NEW, &folder, PART))
        };
        replace().map_err(io("writing its file"))?;
        self.note(&path.join(PART));
        Ok(())
    }
}

/// Whether a `catalogue.json` says that all files are as they should be.
pub(crate) fn is_complete(json: &[u8]) -> bool {
    serde_json::from_slice::<About>(json).is_ok_and(|about| about.complete)
}

/// The time, ns since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// The path of the recording to which a row belongs.
pub(crate) fn path_of(row: &[Value]) -> &str {
    match row.first() {
        Some(Value::Text(path)) => path,
        _ => "",
    }
}

/// The names of the folders in a folder; none, if it does not exist.
fn names(folder: &Path) -> Result<Vec<String>, FleetError> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(why) => return Err(FleetError::io(folder, "reading it")(why)),
    };
    let is_folder = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    Ok(entries.flatten().filter(is_folder).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Fleet, ReportOptions};
    use crate::tables::RULES;

    fn text(of: &str) -> Value {
        Value::Text(of.to_owned())
    }

    /// A row of `recordings` with nothing but what is needed.
    fn recording(path: &str, indexed_by: &str) -> Vec<Value> {
        let cell = |col: &model::Col| match (col.name, col.kind) {
            ("path", _) => text(path),
            ("indexed_by", _) => text(indexed_by),
            ("consistent", _) => Value::Bool(true),
            _ if col.nullable => Value::Null,
            (_, model::Kind::Int) => Value::Int(1),
            _ => text(""),
        };
        RECORDINGS.cols.iter().map(cell).collect()
    }

    fn rule(path: &str) -> Vec<Value> {
        vec![text(path), text("oversubscribed"), text("found"), Value::Int(1), text("high"), Value::Int(1)]
    }

    fn rows(all: &[(&str, &str)]) -> BTreeMap<&'static str, Vec<Vec<Value>>> {
        [
            ("recordings", all.iter().map(|(path, version)| recording(path, version)).collect()),
            ("rules", all.iter().map(|(path, _)| rule(path)).collect()),
        ]
        .into()
    }

    fn paths(catalogue: &Catalogue, def: &TableDef) -> Vec<String> {
        let files = catalogue.files(def).unwrap();
        let rows = files.iter().flat_map(|file| catalogue.rows(file, def, &[]).unwrap());
        rows.map(|row| path_of(&row).to_owned()).collect()
    }

    #[test]
    fn rows_of_a_partition_are_replaced_in_all_tables() {
        let folder = tempfile::tempdir().unwrap();
        let mut catalogue = Catalogue::open_or_make(&folder.path().join("c")).unwrap();
        let host = |name: &str| Partition { host: Some(name.to_owned()), date: None };
        let none = BTreeSet::new();
        catalogue.replace(&host("a"), &none, &rows(&[("1", "0.1"), ("2", "0.1")])).unwrap();
        catalogue.replace(&host("b"), &none, &rows(&[("3", "0.2")])).unwrap();
        assert_eq!(
            (paths(&catalogue, &RECORDINGS), paths(&catalogue, &RULES).len()),
            (vec!["1".into(), "2".into(), "3".into()], 3)
        );
        // 1 goes, 2 is measured again, 4 is new.
        let gone = BTreeSet::from(["1".to_owned(), "2".to_owned()]);
        catalogue.replace(&host("a"), &gone, &rows(&[("2", "0.2"), ("4", "0.2")])).unwrap();
        for def in [&RECORDINGS, &RULES] {
            assert_eq!(paths(&catalogue, def), ["2", "4", "3"], "{}", def.name);
        }
        // A partition without rows has no files and no folders.
        catalogue.replace(&host("b"), &BTreeSet::from(["3".to_owned()]), &BTreeMap::new()).unwrap();
        assert!(
            !folder.path().join("c/recordings/host=b").exists() && folder.path().join("c/recordings/host=a").exists()
        );
        // Versions that differ are said.
        catalogue.replace(&host("b"), &none, &rows(&[("5", "0.3")])).unwrap();
        catalogue.about.complete = true;
        let options = ReportOptions { by: Vec::new(), since: None, top: 3, redact: None };
        let cautions = Fleet::of(&catalogue, &options).unwrap().cautions;
        assert!(
            cautions.iter().any(|of| of.starts_with("Indexed by different versions of corewise (0.2, 0.3)")),
            "{cautions:?}"
        );
    }

    /// The partitions and paths of a table, as readers get them.
    fn each(catalogue: &Catalogue, def: &TableDef) -> BTreeSet<(Partition, String)> {
        let mut all = BTreeSet::new();
        catalogue
            .each(def, &["path"], &mut |partition, row| {
                all.insert((partition.clone(), path_of(&row).to_owned()));
            })
            .unwrap();
        all
    }

    #[test]
    fn packed_tables_have_the_rows_of_all_partitions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        let mut catalogue = Catalogue::open_or_make(&path).unwrap();
        let host = |name: Option<&str>| Partition { host: name.map(str::to_owned), date: None };
        let none = BTreeSet::new();
        catalogue.replace(&host(Some("a")), &none, &rows(&[("1", "0.1"), ("2", "0.1")])).unwrap();
        catalogue.replace(&host(None), &none, &rows(&[("3", "0.1")])).unwrap();
        let unpacked = each(&catalogue, &RECORDINGS);
        assert!(unpacked.len() == 3 && catalogue.packed(&RECORDINGS).is_none());
        catalogue.end(true).unwrap();
        let file = catalogue.packed(&RECORDINGS).unwrap();
        assert_eq!((each(&catalogue, &RECORDINGS), each(&catalogue, &RULES)), (unpacked.clone(), unpacked.clone()));
        // All cells, not only those that were asked for.
        let of_packed = catalogue.rows(&file, &RECORDINGS, &[]).unwrap();
        assert!(of_packed.contains(&recording("3", "0.1")), "{of_packed:?}");
        // A change takes them away, also for other processes, until they are packed again: from the old ones and what has changed.
        catalogue.replace(&host(Some("a")), &BTreeSet::from(["1".to_owned()]), &rows(&[("4", "0.2")])).unwrap();
        assert!(Catalogue::open(&path).unwrap().packed(&RECORDINGS).is_none());
        let unpacked = each(&catalogue, &RULES);
        catalogue.pack().unwrap();
        assert_eq!((each(&catalogue, &RECORDINGS), each(&catalogue, &RULES)), (unpacked.clone(), unpacked.clone()));
        assert_eq!(unpacked.iter().map(|(_, path)| path.as_str()).collect::<Vec<_>>(), ["3", "2", "4"]);
        // A run that was killed leaves none that count; the next one makes them from all partitions.
        catalogue.begin().unwrap();
        catalogue.replace(&host(Some("b")), &none, &rows(&[("5", "0.2")])).unwrap();
        drop(catalogue);
        let next = Catalogue::open(&path).unwrap();
        std::fs::rename(path.join("_packed_old"), path.join("_packed")).unwrap();
        assert!(next.packed(&RULES).is_none());
        next.pack().unwrap();
        assert!(next.packed(&RULES).is_some() && each(&next, &RULES).len() == 4);
    }

    #[test]
    fn only_one_process_writes() {
        let folder = tempfile::tempdir().unwrap();
        let catalogue = Catalogue::open_or_make(folder.path()).unwrap();
        let lock = catalogue.lock().unwrap();
        let other = Catalogue::open(folder.path()).unwrap();
        assert!(matches!(other.lock(), Err(FleetError::Busy(_))));
        drop(lock);
        assert!(other.lock().is_ok());
    }
}
