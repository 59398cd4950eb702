//! Opens a trace folder and reads its tables and stretches.

use crate::batches::{self, Layout};
use crate::encoder::Encoder;
use crate::error::{AGAIN, Error, RECOMPUTE};
use crate::format::EachRows;
use crate::manifest::{FORMAT_VERSION, FileInfo, MANIFEST, Manifest};
use crate::read::{Expected, Reader, Texts};
use crate::sheet::{Column, TRACE_KEY, columns};
use crate::states_out::{CPU_STORES, GROUP, THREAD_STORES};
use crate::values::{NO_WORD, Values};

use crate::small::{self, RowSheet};
use crate::words as w;
use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, BooleanArray, Int64Array, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_schema::SchemaRef;
use model::{
    Coded, CpuId, CpuState, CpuStretch, MaybeNs, Ns, PROCESSES, Process, Span, Storage, Table, TableDef, ThreadKey,
    ThreadState, ThreadStretch, Tid, Value, tables,
};
use safefs::Dir;
use std::cell::OnceCell;
use std::collections::HashSet;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

/// No recorder writes a longer list of programs: the rest of such a file is not read.
const MAX_PROCESSES_BYTES: u64 = 256 << 20;

/// A trace folder.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    pub(crate) manifest: Manifest,
    /// The format version of the manifest on disk.
    pub(crate) stored_format: AtomicU32,
}

impl Folder {
    /// Opens a folder. An older manifest is upgraded in memory, and on disk only when a table is written.
    ///
    /// # Errors
    /// If it is not a trace folder, is damaged, or is of a newer format.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = path.join(MANIFEST);
        let text = std::fs::read(&file).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
                let why = if path.exists() { "it has no manifest.json" } else { "it does not exist" };
                Error::NotATrace { path: path.to_owned(), why: why.into() }
            }
            _ => Error::io(&file, "reading it")(e),
        })?;
        let (manifest, stored_format) = Manifest::upgraded(&text, &file)?;
        Ok(Self { path: path.to_owned(), manifest, stored_format: stored_format.into() })
    }

    /// Returns the manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the programs that processes ran; none, if the recording did not collect them.
    ///
    /// # Errors
    /// If the file is not readable, or is damaged.
    pub fn processes(&self) -> Result<Vec<Process>, Error> {
        let path = self.path.join(PROCESSES);
        let file = match Dir::open(&self.path).and_then(|dir| dir.open_file(PROCESSES)) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io(&path, "reading it")(error)),
        };
        let mut bytes = Vec::new();
        file.take(MAX_PROCESSES_BYTES).read_to_end(&mut bytes).map_err(Error::io(&path, "reading it"))?;
        serde_json::from_slice(&bytes).map_err(|error| {
            Error::damaged(&path, error, "remove this file: only names and versions of programs are lost")
        })
    }

    /// Returns the tables that are stored, in the order in which the user sees them: the tables computed before, and the
    /// stretches.
    #[must_use]
    pub fn tables(&self) -> Vec<&'static TableDef> {
        let is_stored = |def: &&&'static TableDef| match states_name(def) {
            Some(name) => self.path.join(name).exists(),
            None => self.table_path(def.name).exists(),
        };
        tables::ALL.iter().filter(is_stored).copied().collect()
    }

    /// Reads a small table. Returns `Ok(None)` if it is missing or was computed by another version of its definition; the
    /// caller then computes it.
    ///
    /// # Errors
    /// If there is no table of this name, or the file is damaged.
    pub fn read_table(&self, name: &str) -> Result<Option<Table>, Error> {
        let def = self.small(name)?;
        let mut table = Table::new(def);
        let found = self.table_rows(name, &mut |rows| {
            table.rows.extend_from_slice(rows);
            Ok(())
        })?;
        Ok(found.then_some(table))
    }

    /// Like [`Self::read_table`], some thousand rows at a time. Returns whether the table was found.
    ///
    /// # Errors
    /// If there is no table of this name, the file is damaged, or `each` fails.
    pub fn table_rows(&self, name: &str, each: EachRows<'_>) -> Result<bool, Error> {
        let def = self.small(name)?;
        let path = self.table_path(name);
        if !path.exists() {
            return Ok(false);
        }
        // Another version may have other columns, so check the version first.
        if !is_of_version(&path, def)? {
            return Ok(false);
        }
        let stores = small::stores(def);
        let reader = Reader::open(&path, &columns(def, &stores, &[]), None, RECOMPUTE)?;
        // In format 1 the trace's id is a column instead.
        if reader.about(TRACE_KEY).is_some_and(|trace| trace != self.manifest.trace.to_string()) {
            return Err(reader.damaged("it belongs to another trace"));
        }
        let mut texts = Texts::default();
        for group in 0..reader.groups() {
            texts.clear();
            let (rows, cols) = reader.group(group, &mut texts)?;
            rows_as_cells(rows, &cols, &texts.names, each)?;
        }
        Ok(true)
    }

    fn small(&self, name: &str) -> Result<&'static TableDef, Error> {
        tables::ALL.iter().find(|d| d.name == name && states_name(d).is_none()).copied().ok_or_else(|| {
            let has = self.tables().iter().map(|d| d.name).collect::<Vec<_>>().join(", ");
            Error::NoTable { path: self.path.clone(), name: name.to_owned(), has }
        })
    }

    /// Returns whether a small table is stored with the current version of its definition.
    #[must_use]
    pub fn has(&self, def: &TableDef) -> bool {
        let path = self.table_path(def.name);
        path.exists() && is_of_version(&path, def).unwrap_or(false)
    }

    /// Returns the file that has exactly the rows of a table of stretches, for other readers of Parquet; `None` if the folder has another
    /// format, whose names and values differ.
    #[must_use]
    pub fn states_file(&self, def: &TableDef) -> Option<PathBuf> {
        let path = self.path.join(states_name(def)?);
        let is_current = self.stored_format.load(Ordering::Relaxed) == FORMAT_VERSION;
        (is_current && is_of_version(&path, def).unwrap_or(false)).then_some(path)
    }

    /// Stores a computed table; an existing one is replaced.
    ///
    /// # Errors
    /// If it cannot be written (the folder may be read-only).
    pub fn write_table(&self, table: &Table) -> Result<(), Error> {
        let path = self.table_path(table.def.name);
        let name = format!("{}.parquet", table.def.name);
        let part = format!("{}.part-{}", table.def.name, std::process::id());
        let tables = Dir::open_for_writing(&self.path).and_then(|folder| folder.open_dir("tables"));
        let tables = tables.map_err(Error::io(&path, "opening its folder"))?;
        let mut encoder = Encoder::new().map_err(|e| Error::Bug(format!("zstd: {e}")))?;
        let _ = tables.remove(&part);
        let mut write = || {
            let mut sheet = RowSheet::create(&tables, &part, table.def)?;
            table.rows.iter().try_for_each(|row| sheet.push(row, &mut encoder))?;
            sheet.finish(&mut encoder)?.close_file(self.manifest.trace, &mut encoder, &[])
        };
        self.store_upgrade()?;
        let done = write();
        let done = done.and_then(|_| tables.rename(&part, &tables, &name).map_err(Error::io(&path, "renaming it")));
        if done.is_err() {
            let _ = tables.remove(&part);
        }
        done
    }

    /// Upgrades the manifest on disk if it is of an earlier format. Otherwise an earlier corewise would report the new files as
    /// damaged.
    fn store_upgrade(&self) -> Result<(), Error> {
        if self.stored_format.load(Ordering::Relaxed) == FORMAT_VERSION {
            return Ok(());
        }
        let (path, json) = (self.path.join(MANIFEST), self.manifest.to_json()?);
        let done = Dir::open_for_writing(&self.path).and_then(|folder| folder.replace(MANIFEST, json.as_ref()));
        done.map_err(Error::io(&path, "upgrading it"))?;
        self.stored_format.store(FORMAT_VERSION, Ordering::Relaxed);
        Ok(())
    }

    /// Passes the stretches of all threads that overlap the span (or all) to `each`, in order of start, some thousands at a time,
    /// until `each` fails.
    ///
    /// # Errors
    /// If the folder is damaged, or `each` fails.
    pub fn thread_stretches<E: From<Error>>(
        &self,
        span: Option<Span>,
        mut each: impl FnMut(&[ThreadStretch]) -> Result<(), E>,
    ) -> Result<(), E> {
        let columns = stretch_columns(&tables::THREAD_STATE, THREAD_STORES);
        self.stretches(&tables::THREAD_STATE, &columns, span, thread_rows, |stretches| each(&stretches))
    }

    /// Like [`Self::thread_stretches`], from the last to the first, until `each` breaks or fails.
    ///
    /// # Errors
    /// As [`Self::thread_stretches`].
    pub fn thread_stretches_back<E: From<Error>>(
        &self,
        span: Option<Span>,
        mut each: impl FnMut(&ThreadStretch) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        let groups =
            self.groups(&tables::THREAD_STATE, &stretch_columns(&tables::THREAD_STATE, THREAD_STORES), span)?;
        for part in groups.parts().rev() {
            for stretch in groups.read(part, thread_rows)?.iter().rev() {
                if each(stretch)?.is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Passes the stretches of all CPUs that overlap the span (or all) to `each`, in order of start, until `each` fails.
    ///
    /// # Errors
    /// As [`Self::thread_stretches`].
    pub fn cpu_stretches<E: From<Error>>(
        &self,
        span: Option<Span>,
        mut each: impl FnMut(&[CpuStretch]) -> Result<(), E>,
    ) -> Result<(), E> {
        let columns = stretch_columns(&tables::CPU_STATE, CPU_STORES);
        self.stretches(&tables::CPU_STATE, &columns, span, cpu_rows, |stretches| each(&stretches))
    }

    /// Passes the stretches to `each` as rows of their table (`thread_state` or `cpu_state`), some thousands at a time.
    ///
    /// # Errors
    /// If the folder is damaged, the table is not one of stretches, or `each` fails.
    pub fn state_rows(
        &self,
        def: &'static TableDef,
        span: Option<Span>,
        mut each: impl FnMut(&[Vec<Value>]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let stores = if def.name == tables::THREAD_STATE.name { THREAD_STORES } else { CPU_STORES };
        let groups = self.groups(def, &stored_columns(def, stores), span)?;
        groups
            .parts()
            .try_for_each(|part| groups.read(part, |rows, cols| Some(rows_as_cells(rows, cols, &[], &mut each)))?)
    }

    fn table_path(&self, name: &str) -> PathBuf {
        self.path.join("tables").join(format!("{name}.parquet"))
    }

    /// Opens a file of `events/` or `states/` and verifies it against the manifest; `None` if the folder was written without it.
    pub(crate) fn reader(&self, name: &str, columns: &[Column]) -> Result<Option<Reader>, Error> {
        let Some(FileInfo { bytes, footer_crc32, .. }) = self.manifest.files.get(name).copied() else {
            return Ok(None);
        };
        let expected = Expected { bytes, footer: footer_crc32 };
        Reader::open(&self.path.join(name), columns, Some(expected), AGAIN).map(Some)
    }

    /// Converts each row group of stretches with `make`, reduced to the rows that overlap the span, and passes the results to `each`.
    /// Decoding usually takes longer than `each`, so several threads decode in turn.
    pub(crate) fn stretches<T: Send, E: From<Error>>(
        &self,
        def: &'static TableDef,
        columns: &[Column],
        span: Option<Span>,
        make: impl Fn(usize, &[Values]) -> Option<T> + Sync,
        mut each: impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        in_turn(READERS, || self.groups(def, columns, span), |groups, part| groups.read(part, &make), &mut each)
    }

    /// Passes the stretches to `each` as record batches with the columns of their table (`thread_state` or `cpu_state`), a row group at a time, in
    /// order of start. `make` converts them on the threads that decode. `threads`: only rows with these keys.
    ///
    /// # Errors
    /// If the folder is damaged, the table is not one of stretches, or `each` fails.
    pub fn state_batches<T: Send, E: From<Error>>(
        &self,
        def: &'static TableDef,
        span: Option<Span>,
        threads: Option<&HashSet<ThreadKey>>,
        make: impl Fn(RecordBatch) -> T + Sync,
        each: impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        self.batches_of(def, |columns| self.groups(def, columns, span), threads, make, each)
    }

    /// Like [`Self::state_batches`], only the rows that are stored in some row groups. Each row is in one row group, that of its start. Row groups
    /// that the file does not have are ignored.
    ///
    /// # Errors
    /// As [`Self::state_batches`].
    pub fn state_batches_of_groups<T: Send, E: From<Error>>(
        &self,
        def: &'static TableDef,
        row_groups: &std::ops::Range<usize>,
        threads: Option<&HashSet<ThreadKey>>,
        make: impl Fn(RecordBatch) -> T + Sync,
        each: impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        let open = |columns: &[Column]| {
            let mut groups = self.groups(def, columns, None)?;
            let end = row_groups.end.min(groups.within.end);
            groups.within = row_groups.start.min(end)..end;
            Ok(groups)
        };
        self.batches_of(def, open, threads, make, each)
    }

    fn batches_of<T: Send, E: From<Error>>(
        &self,
        def: &'static TableDef,
        open: impl Fn(&[Column]) -> Result<Groups, Error> + Sync,
        threads: Option<&HashSet<ThreadKey>>,
        make: impl Fn(RecordBatch) -> T + Sync,
        mut each: impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        let stores = if def.name == tables::THREAD_STATE.name { THREAD_STORES } else { CPU_STORES };
        let columns = stored_columns(def, stores);
        let selected = threads.map(|keys| (def.col("thread").unwrap_or(0), keys));
        let schema = batches::schema(def);
        let readers = std::thread::available_parallelism().map_or(READERS, |cpus| cpus.get().clamp(1, MAX_READERS));
        in_turn(readers, || open(&columns), |groups, part| groups.batch(part, selected, &schema).map(&make), &mut each)
    }

    /// Returns the row groups that contain the stretches of a span.
    fn groups(&self, def: &'static TableDef, columns: &[Column], span: Option<Span>) -> Result<Groups, Error> {
        let name = states_name(def).ok_or_else(|| Error::Bug(format!("{} is not a table of stretches", def.name)))?;
        let missing = || Error::damaged(&self.path.join(MANIFEST), format!("it does not list {name}"), AGAIN);
        let main = self.reader(name, columns)?.ok_or_else(missing)?;
        let start = columns.iter().position(|c| c.col.name == "start_ns").unwrap_or(0);
        let (mut within, mut index) = (0..main.groups(), None);
        if let Some(span) = span {
            // Start with the last group that begins at or before the span; the index has the rows open at its begin.
            let begins = |g: usize| main.range(g, start).map_or(i64::MIN, |(min, _)| min);
            within.start = within.clone().rev().find(|g| begins(*g) <= span.start.0).unwrap_or(0);
            within.end = within.clone().find(|g| begins(*g) >= span.end.0).unwrap_or(within.end);
            if within.start > 0 {
                let with_group = [columns, &[Column { col: GROUP, store: Storage::Key }]].concat();
                let file = name.replace(".parquet", ".index.parquet");
                index = Some(self.reader(&file, &with_group)?.ok_or_else(missing)?);
            }
        }
        let false_yields = main.about("corewise.version").is_some_and(|version| version == "1");
        let reason = columns.iter().position(|c| c.col.name == "reason").filter(|_| false_yields);
        Ok(Groups {
            main,
            index,
            within,
            group_column: columns.len(),
            start,
            false_yields_column: reason,
            span,
            layouts: OnceCell::new(),
        })
    }
}

/// Returns the name of the file that has the rows of a table of stretches, in a trace folder.
#[must_use]
pub fn states_name(def: &TableDef) -> Option<&'static str> {
    match def.name {
        n if n == tables::THREAD_STATE.name => Some("states/thread.parquet"),
        n if n == tables::CPU_STATE.name => Some("states/cpu.parquet"),
        _ => None,
    }
}

const UNKNOWN_WORD: &str = "a word that this corewise does not know";

/// The number of threads that decode row groups.
const READERS: usize = 2;
/// The largest number of threads that decode row groups for a caller that only passes them on.
const MAX_READERS: usize = 4;

/// Makes something of each row group on several threads in turn, and passes the results to `each` in order.
fn in_turn<T: Send, E: From<Error>>(
    readers: usize,
    open: impl Fn() -> Result<Groups, Error> + Sync,
    make: impl Fn(&Groups, Part) -> Result<T, Error> + Sync,
    each: &mut impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let read = |first: usize, results: &SyncSender<Result<T, Error>>| {
        let groups = open()?;
        for part in groups.parts().skip(first).step_by(readers) {
            if results.send(Ok(make(&groups, part)?)).is_err() {
                break; // the receiver is gone: another thread failed
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let read = &read;
        let results = (0..readers).map(|first| {
            let (sender, receiver) = sync_channel(1);
            scope.spawn(move || read(first, &sender).or_else(|error| sender.send(Err(error))));
            receiver
        });
        let results: Vec<_> = results.collect();
        // The first thread in turn without a row group marks the end: the one before had the last.
        results.iter().cycle().map_while(|receiver| receiver.recv().ok()).try_for_each(|made| each(made?))
    })
}

/// Returns the columns of a stretch, without the core type, which follows from the CPU.
fn stretch_columns(def: &TableDef, stores: &[Storage]) -> Vec<Column> {
    stored_columns(def, stores).into_iter().filter(|c| c.col.name != "core_type").collect()
}

/// The requested row groups of a file of stretches, and the index of rows that were open at their begin.
struct Groups {
    main: Reader,
    index: Option<Reader>,
    within: std::ops::Range<usize>,
    /// The column of the index with the row group before whose begin the row began.
    group_column: usize,
    /// The column of `start_ns`; `end_ns` is the next.
    start: usize,
    /// The column of the reason, if the file stores "yielded" for every thread that left its CPU runnable without a preemption mark.
    false_yields_column: Option<usize>,
    span: Option<Span>,
    /// How record batches are read from the main file, and from the index.
    layouts: OnceCell<(Layout, Option<Layout>)>,
}

/// A row group of the index or of the main file.
#[derive(Clone, Copy)]
enum Part {
    Index(usize),
    Main(usize),
}

impl Groups {
    /// Returns all row groups, in order of start.
    fn parts(&self) -> impl DoubleEndedIterator<Item = Part> {
        let wanted = self.within.start as i64;
        let index = self.index.iter().flat_map(move |index| {
            let has = move |g: &usize| {
                index.range(*g, self.group_column).is_none_or(|(min, max)| min <= wanted && wanted <= max)
            };
            (0..index.groups()).filter(has)
        });
        index.map(Part::Index).chain(self.within.clone().map(Part::Main))
    }

    /// Reads a row group and converts its rows that overlap the span.
    fn read<T>(&self, part: Part, convert: impl FnOnce(usize, &[Values]) -> Option<T>) -> Result<T, Error> {
        let (reader, group) = match (part, &self.index) {
            (Part::Index(group), Some(index)) => (index, group),
            (Part::Index(group) | Part::Main(group), _) => (&self.main, group),
        };
        let (rows, mut cols) = reader.group(group, &mut Texts::default())?;
        if let Some(Values::Word(codes, _)) = self.false_yields_column.and_then(|at| cols.get_mut(at)) {
            codes.iter_mut().for_each(|code| *code = w::without_false_yields(*code));
        }
        let open_before = if cols.len() > self.group_column { cols.pop() } else { None };
        if open_before.is_none() && self.span.is_none() {
            return convert(rows, &cols).ok_or_else(|| reader.damaged(UNKNOWN_WORD));
        }
        let wanted = self.within.start as i64;
        let (rows, cols) = cut(rows, cols, self.start, &|s, e, row| {
            let in_group = match &open_before {
                Some(Values::Key(of)) => of.get(row) == Some(&wanted),
                _ => true,
            };
            in_group && self.span.is_none_or(|span| s < span.end.0 && e > span.start.0)
        });
        convert(rows, &cols).ok_or_else(|| reader.damaged(UNKNOWN_WORD))
    }
}

impl Groups {
    /// Reads a row group as a record batch: the rows that overlap the span, and that have one of these keys in this column.
    fn batch(
        &self,
        part: Part,
        selected: Option<(usize, &HashSet<ThreadKey>)>,
        schema: &SchemaRef,
    ) -> Result<RecordBatch, Error> {
        let layouts = match self.layouts.get() {
            Some(layouts) => layouts,
            None => {
                let made = (self.main.layout()?, self.index.as_ref().map(Reader::layout).transpose()?);
                self.layouts.get_or_init(|| made)
            }
        };
        let (reader, layout, group) = match (part, &self.index, &layouts.1) {
            (Part::Index(group), Some(index), Some(layout)) => (index, layout, group),
            (Part::Index(group) | Part::Main(group), ..) => (&self.main, &layouts.0, group),
        };
        let mut decoded = reader.decoded(layout, group)?;
        let open_before = if decoded.width() > self.group_column { decoded.pop() } else { None };
        if open_before.is_some() || self.span.is_some() || selected.is_some() {
            let missing = || reader.damaged("a column is missing");
            let open_before = open_before.as_ref().map(|of| of.as_primitive_opt().ok_or_else(missing)).transpose()?;
            let starts = decoded.longs(self.start).ok_or_else(missing)?;
            let ends = decoded.longs(self.start + 1).ok_or_else(missing)?;
            let keys = selected.map(|(at, keys)| Ok((decoded.longs(at).ok_or_else(missing)?, keys))).transpose()?;
            let wanted = self.within.start as i64;
            let is_kept = |row: usize| {
                open_before.is_none_or(|of: &Int64Array| of.value(row) == wanted)
                    && self.span.is_none_or(|span| starts.value(row) < span.end.0 && ends.value(row) > span.start.0)
                    && keys.is_none_or(|(of, keys)| of.is_valid(row) && keys.contains(&ThreadKey(of.value(row))))
            };
            let kept = BooleanArray::new(BooleanBuffer::collect_bool(decoded.rows(), is_kept), None);
            decoded.select(&kept)?;
        }
        decoded.into_batch(schema, self.false_yields_column, reader)
    }
}

/// Returns the columns of a table, as they are stored.
pub(crate) fn stored_columns(def: &TableDef, stores: &[Storage]) -> Vec<Column> {
    def.cols.iter().zip(stores).map(|(c, s)| Column { col: *c, store: *s }).collect()
}

fn is_of_version(path: &Path, def: &TableDef) -> Result<bool, Error> {
    let version = Reader::open(path, &[], None, RECOMPUTE)?.about("corewise.version");
    Ok(version == Some(def.version.to_string()))
}

/// Keeps the rows for which `keep` (start, end, row) returns true.
fn cut(rows: usize, cols: Vec<Values>, start: usize, keep: &dyn Fn(i64, i64, usize) -> bool) -> (usize, Vec<Values>) {
    let (Some(Values::Long(starts)), Some(Values::Long(ends))) = (cols.get(start), cols.get(start + 1)) else {
        return (rows, cols);
    };
    let kept = (0u32..).zip(starts.iter().zip(ends)).filter(|(i, (s, e))| keep(**s, **e, *i as usize));
    let kept: Vec<u32> = kept.map(|(i, _)| i).collect();
    if kept.len() == rows {
        return (rows, cols);
    }
    let taken = cols.iter().map(|c| {
        let mut to = c.empty();
        to.take(c, &kept);
        to
    });
    (kept.len(), taken.collect())
}

/// Passes columns on as rows of cells, some at a time, since cells take far more memory than columns.
fn rows_as_cells(rows: usize, cols: &[Values], names: &[Box<str>], each: EachRows<'_>) -> Result<(), Error> {
    for from in (0..rows).step_by(4096) {
        let part = from..rows.min(from + 4096);
        let cells: Vec<Vec<Value>> = part.map(|r| cols.iter().map(|c| cell(c, r, names)).collect()).collect();
        each(&cells)?;
    }
    Ok(())
}

/// Returns one cell of a column.
pub(crate) fn cell(values: &Values, row: usize, names: &[Box<str>]) -> Value {
    let value = match values {
        Values::Constant { value, of, .. } => {
            let null = if matches!(**of, Values::Int(_)) { i32::MIN.into() } else { i64::MIN };
            (*value != null).then_some(Value::Int(*value))
        }
        Values::Long(v) | Values::Key(v) => v.get(row).filter(|v| **v != i64::MIN).map(|v| Value::Int(*v)),
        Values::Int(v) => v.get(row).filter(|v| **v != i32::MIN).map(|v| Value::Int(i64::from(*v))),
        Values::Word(v, word) => v.get(row).filter(|v| **v != NO_WORD).map(|v| Value::Text(word(*v))),
        Values::Text(v) => {
            let text = v.get(row).and_then(|v| names.get((*v as usize).wrapping_sub(1)));
            text.map(|t| Value::Text(t.to_string()))
        }
        Values::Float(v) => v.get(row).copied().flatten().map(Value::Float),
        Values::Bool(v) => v.get(row).copied().flatten().map(Value::Bool),
    };
    value.unwrap_or(Value::Null)
}

fn thread_rows(rows: usize, cols: &[Values]) -> Option<Vec<ThreadStretch>> {
    let [
        Values::Key(thread),
        Values::Int(tid),
        Values::Long(start),
        Values::Long(end),
        Values::Word(state, _),
        Values::Int(cpu),
        Values::Word(reason, _),
        Values::Key(waker),
        Values::Long(exec),
        Values::Int(prio),
    ] = cols
    else {
        return None;
    };
    let row = |i: usize| {
        Some(ThreadStretch {
            span: Span { start: Ns(*start.get(i)?), end: Ns(*end.get(i)?) },
            thread: ThreadKey(*thread.get(i)?),
            tid: Tid(*tid.get(i)?),
            state: ThreadState::of_code(*state.get(i)?)?,
            reason: w::reason(*reason.get(i)?)?,
            cpu: cpu.get(i).filter(|c| **c != i32::MIN).map(|c| CpuId(*c as u32)),
            waker_thread: waker.get(i).filter(|k| **k != i64::MIN).map_or(ThreadKey::UNKNOWN, |k| ThreadKey(*k)),
            exec: MaybeNs::from_word(*exec.get(i)?),
            prio: i16::try_from(*prio.get(i)?).ok().into(),
        })
    };
    (0..rows).map(row).collect()
}

fn cpu_rows(rows: usize, cols: &[Values]) -> Option<Vec<CpuStretch>> {
    let [Values::Int(cpu), Values::Long(start), Values::Long(end), Values::Word(state, _), Values::Key(thread)] = cols
    else {
        return None;
    };
    let row = |i: usize| {
        Some(CpuStretch {
            span: Span { start: Ns(*start.get(i)?), end: Ns(*end.get(i)?) },
            cpu: CpuId(*cpu.get(i)? as u32),
            state: CpuState::of_code(*state.get(i)?)?,
            thread: thread.get(i).filter(|k| **k != i64::MIN).map_or(ThreadKey::UNKNOWN, |k| ThreadKey(*k)),
        })
    };
    (0..rows).map(row).collect()
}
