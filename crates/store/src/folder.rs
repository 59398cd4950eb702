//! Opening a trace folder and reading its tables and stretches.

use crate::encoder::Encoder;
use crate::error::{AGAIN, Error, RECOMPUTE};
use crate::format::EachRows;
use crate::manifest::{FORMAT_VERSION, FileInfo, MANIFEST, Manifest};
use crate::read::{Expected, Reader, Texts};
use crate::sheet::{Column, Store, TRACE_KEY, columns};
use crate::states_out::{CPU_STORES, GROUP, THREAD_STORES};
use crate::values::{NO_WORD, Values};

use crate::small::{self, RowSheet};
use crate::words as w;
use model::{CpuId, CpuStretch, MaybeNs, Ns, Span, Table, TableDef, ThreadKey, ThreadStretch, Tid, Value, tables};
use safefs::Dir;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

/// A trace folder.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    manifest: Manifest,
    /// The format of the manifest on disk.
    stored_format: AtomicU32,
}

impl Folder {
    /// Opens a folder; its manifest is brought to this version's form, on disk only when something of this form is stored there.
    ///
    /// # Errors
    /// Where it is none, is damaged, or of a newer format.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = path.join(MANIFEST);
        let text = std::fs::read(&file).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
                let why = if path.exists() { "it has no manifest.json" } else { "it is not there" };
                Error::NotATrace { path: path.to_owned(), why: why.into() }
            }
            _ => Error::io(&file, "reading it")(e),
        })?;
        let (manifest, stored_format) = Manifest::upgraded(&text, &file)?;
        Ok(Self { path: path.to_owned(), manifest, stored_format: stored_format.into() })
    }

    /// What the folder says of itself.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The tables it can hand out at once, in the order in which tables are listed to the user: those computed before, and
    /// the stretches.
    #[must_use]
    pub fn tables(&self) -> Vec<&'static TableDef> {
        let there = |def: &&&'static TableDef| match self.states_of(def) {
            Some(name) => self.path.join(name).exists(),
            None => self.table_path(def.name).exists(),
        };
        tables::ALL.iter().filter(there).copied().collect()
    }

    /// Reads a small table. A table computed by another version of its definition, or none, is `Ok(None)`: it is to be
    /// computed.
    ///
    /// # Errors
    /// Where the name is of no table, or the file is damaged.
    pub fn read_table(&self, name: &str) -> Result<Option<Table>, Error> {
        let def = self.small(name)?;
        let mut table = Table::new(def);
        let there = self.table_rows(name, &mut |rows| {
            table.rows.extend_from_slice(rows);
            Ok(())
        })?;
        Ok(there.then_some(table))
    }

    /// [`Self::read_table`], some thousand rows at a time; tells whether the table is there.
    ///
    /// # Errors
    /// Where the name is of no table, the file is damaged, or what `each` says.
    pub fn table_rows(&self, name: &str, each: EachRows<'_>) -> Result<bool, Error> {
        let def = self.small(name)?;
        let path = self.table_path(name);
        if !path.exists() {
            return Ok(false);
        }
        // Which version it is must be known before its columns are asked for.
        if !is_of_version(&path, def)? {
            return Ok(false);
        }
        let stores = small::stores(def);
        let reader = Reader::open(&path, &columns(def, &stores, &[]), None, RECOMPUTE)?;
        // Tables of format 1 have it as a column instead.
        if reader.about(TRACE_KEY).is_some_and(|trace| trace != self.manifest.trace.to_string()) {
            return Err(reader.damaged("it is of another trace"));
        }
        let mut texts = Texts::default();
        for group in 0..reader.groups() {
            texts.clear();
            let (rows, cols) = reader.group(group, &mut texts)?;
            in_cells(rows, &cols, &texts.names, each)?;
        }
        Ok(true)
    }

    fn small(&self, name: &str) -> Result<&'static TableDef, Error> {
        tables::ALL.iter().find(|d| d.name == name && self.states_of(d).is_none()).copied().ok_or_else(|| {
            let has = self.tables().iter().map(|d| d.name).collect::<Vec<_>>().join(", ");
            Error::NoTable { path: self.path.clone(), name: name.to_owned(), has }
        })
    }

    /// Whether a small table is there as this version defines it.
    #[must_use]
    pub fn has(&self, def: &TableDef) -> bool {
        let path = self.table_path(def.name);
        path.exists() && is_of_version(&path, def).unwrap_or(false)
    }

    /// Keeps a table that was computed later; one that is there is replaced.
    ///
    /// # Errors
    /// Where it cannot be written (the folder may be read-only).
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
        let done =
            done.and_then(|_| tables.rename(&part, &tables, &name).map_err(Error::io(&path, "giving it its name")));
        if done.is_err() {
            let _ = tables.remove(&part);
        }
        done
    }

    /// Stores the manifest in this version's form, where it was of an earlier one. Else an earlier corewise would take the files that
    /// are written beside it for damaged.
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

    /// The stretches of all threads that overlap the span (or all), in order of start, some thousands at a time, until `each`
    /// fails.
    ///
    /// # Errors
    /// The folder is damaged, or `each` failed.
    pub fn thread_stretches<E: From<Error>>(
        &self,
        span: Option<Span>,
        mut each: impl FnMut(&[ThreadStretch]) -> Result<(), E>,
    ) -> Result<(), E> {
        let columns = known(&tables::THREAD_STATE, THREAD_STORES);
        self.stretches(&tables::THREAD_STATE, &columns, span, thread_rows, |stretches| each(&stretches))
    }

    /// [`Self::thread_stretches`] from the last to the first, until `each` breaks off or fails.
    ///
    /// # Errors
    /// As [`Self::thread_stretches`].
    pub fn thread_stretches_back<E: From<Error>>(
        &self,
        span: Option<Span>,
        mut each: impl FnMut(&ThreadStretch) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        let groups = self.groups(&tables::THREAD_STATE, &known(&tables::THREAD_STATE, THREAD_STORES), span)?;
        for part in groups.parts().rev() {
            for stretch in groups.read(part, thread_rows)?.iter().rev() {
                if each(stretch)?.is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The stretches of all CPUs that overlap the span (or all), in order of start, until `each` fails.
    ///
    /// # Errors
    /// As [`Self::thread_stretches`].
    pub fn cpu_stretches<E: From<Error>>(
        &self,
        span: Option<Span>,
        mut each: impl FnMut(&[CpuStretch]) -> Result<(), E>,
    ) -> Result<(), E> {
        let columns = known(&tables::CPU_STATE, CPU_STORES);
        self.stretches(&tables::CPU_STATE, &columns, span, cpu_rows, |stretches| each(&stretches))
    }

    /// The stretches as rows of their table (`thread_state` or `cpu_state`), a row group at a time.
    ///
    /// # Errors
    /// Where the folder is damaged, or the table is not one of stretches.
    pub fn state_rows(
        &self,
        def: &'static TableDef,
        span: Option<Span>,
        mut each: impl FnMut(&[Vec<Value>]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let stores = if def.name == tables::THREAD_STATE.name { THREAD_STORES } else { CPU_STORES };
        let groups = self.groups(def, &all_of(def, stores), span)?;
        groups
            .parts()
            .try_for_each(|part| groups.read(part, |rows, cols| Some(in_cells(rows, cols, &[], &mut each)))?)
    }

    pub(crate) fn states_of(&self, def: &TableDef) -> Option<&'static str> {
        match def.name {
            n if n == tables::THREAD_STATE.name => Some("states/thread.parquet"),
            n if n == tables::CPU_STATE.name => Some("states/cpu.parquet"),
            _ => None,
        }
    }

    fn table_path(&self, name: &str) -> PathBuf {
        self.path.join("tables").join(format!("{name}.parquet"))
    }

    /// A file of `events/` or `states/`, checked against what the manifest says of it; `None` where the folder was made
    /// without.
    pub(crate) fn reader(&self, name: &str, columns: &[Column]) -> Result<Option<Reader>, Error> {
        let Some(FileInfo { bytes, footer_crc32, .. }) = self.manifest.files.get(name).copied() else {
            return Ok(None);
        };
        let expected = Expected { bytes, footer: footer_crc32 };
        Reader::open(&self.path.join(name), columns, Some(expected), AGAIN).map(Some)
    }

    /// What `make` makes of each row group of stretches, cut to those rows that overlap the span. To decode one takes longer than
    /// most that is done with it, so several threads do so in turn.
    pub(crate) fn stretches<T: Send, E: From<Error>>(
        &self,
        def: &'static TableDef,
        columns: &[Column],
        span: Option<Span>,
        make: impl Fn(usize, &[Values]) -> Option<T> + Sync,
        mut each: impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        let read = |first: usize, tell: &SyncSender<Result<T, Error>>| {
            let groups = self.groups(def, columns, span)?;
            for part in groups.parts().skip(first).step_by(READERS) {
                if tell.send(Ok(groups.read(part, &make)?)).is_err() {
                    break; // nobody listens any more: another thread failed
                }
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let readers = [(); READERS].map(|()| sync_channel(1));
            let read = &read;
            let told = readers.into_iter().enumerate().map(|(first, (tell, told))| {
                scope.spawn(move || read(first, &tell).or_else(|error| tell.send(Err(error))));
                told
            });
            let told: Vec<_> = told.collect();
            // Whose turn it is and has none left had the last one before.
            told.iter().cycle().map_while(|told| told.recv().ok()).try_for_each(|made| each(made?))
        })
    }

    /// The row groups in which the stretches of a span stand.
    fn groups(&self, def: &'static TableDef, columns: &[Column], span: Option<Span>) -> Result<Groups, Error> {
        let name = self.states_of(def).ok_or_else(|| Error::Bug(format!("{} has no stretches", def.name)))?;
        let missing = || Error::damaged(&self.path.join(MANIFEST), format!("it does not list {name}"), AGAIN);
        let main = self.reader(name, columns)?.ok_or_else(missing)?;
        let start = columns.iter().position(|c| c.col.name == "start_ns").unwrap_or(0);
        let (mut within, mut index) = (0..main.groups(), None);
        if let Some(span) = span {
            // The last group that begins at or before the span; what is open at its begin stands in the index.
            let begins = |g: usize| main.range(g, start).map_or(i64::MIN, |(least, _)| least);
            within.start = within.clone().rev().find(|g| begins(*g) <= span.start.0).unwrap_or(0);
            within.end = within.clone().find(|g| begins(*g) >= span.end.0).unwrap_or(within.end);
            if within.start > 0 {
                let with_group = [columns, &[Column { col: GROUP, store: Store::Key }]].concat();
                let file = name.replace(".parquet", ".index.parquet");
                index = Some(self.reader(&file, &with_group)?.ok_or_else(missing)?);
            }
        }
        let before_yields = main.about("corewise.version").is_some_and(|version| version == "1");
        let reason = columns.iter().position(|c| c.col.name == "reason").filter(|_| before_yields);
        Ok(Groups { main, index, within, of_group: columns.len(), start, reason_before_yields: reason, span })
    }
}

const UNKNOWN_WORD: &str = "a word that this corewise does not know";

/// Threads that decode row groups.
const READERS: usize = 2;

/// Those that a stretch has; its core type is its CPU's.
fn known(def: &TableDef, stores: &[Store]) -> Vec<Column> {
    all_of(def, stores).into_iter().filter(|c| c.col.name != "core_type").collect()
}

/// The row groups of a file of stretches that are wanted, and the rows that were open at their begin.
struct Groups {
    main: Reader,
    index: Option<Reader>,
    within: std::ops::Range<usize>,
    /// The index's column that says before which row group a row was open.
    of_group: usize,
    /// Where `start_ns` is, and `end_ns` behind it.
    start: usize,
    /// Where the reason is, of a file that calls all of them "yielded" that left runnable without a mark.
    reason_before_yields: Option<usize>,
    span: Option<Span>,
}

/// One of them.
#[derive(Clone, Copy)]
enum Part {
    Index(usize),
    Main(usize),
}

impl Groups {
    /// All of them, in order of start.
    fn parts(&self) -> impl DoubleEndedIterator<Item = Part> {
        let wanted = self.within.start as i64;
        let index = self.index.iter().flat_map(move |index| {
            let has = move |g: &usize| index.range(*g, self.of_group).is_none_or(|(l, m)| l <= wanted && wanted <= m);
            (0..index.groups()).filter(has)
        });
        index.map(Part::Index).chain(self.within.clone().map(Part::Main))
    }

    /// What `each` makes of the rows of one that overlap the span.
    fn read<T>(&self, part: Part, each: impl FnOnce(usize, &[Values]) -> Option<T>) -> Result<T, Error> {
        let (reader, group) = match (part, &self.index) {
            (Part::Index(group), Some(index)) => (index, group),
            (Part::Index(group) | Part::Main(group), _) => (&self.main, group),
        };
        let (rows, mut cols) = reader.group(group, &mut Texts::default())?;
        if let Some(Values::Word(codes, _)) = self.reason_before_yields.and_then(|at| cols.get_mut(at)) {
            codes.iter_mut().for_each(|code| *code = w::before_yields(*code));
        }
        let open_before = if cols.len() > self.of_group { cols.pop() } else { None };
        if open_before.is_none() && self.span.is_none() {
            return each(rows, &cols).ok_or_else(|| reader.damaged(UNKNOWN_WORD));
        }
        let wanted = self.within.start as i64;
        let (rows, cols) = cut(rows, cols, self.start, &|s, e, row| {
            let of_group = match &open_before {
                Some(Values::Key(of)) => of.get(row) == Some(&wanted),
                _ => true,
            };
            of_group && self.span.is_none_or(|span| s < span.end.0 && e > span.start.0)
        });
        each(rows, &cols).ok_or_else(|| reader.damaged(UNKNOWN_WORD))
    }
}

/// The columns of a table, as they are stored.
pub(crate) fn all_of(def: &TableDef, stores: &[Store]) -> Vec<Column> {
    def.cols.iter().zip(stores).map(|(c, s)| Column { col: *c, store: *s }).collect()
}

fn is_of_version(path: &Path, def: &TableDef) -> Result<bool, Error> {
    let version = Reader::open(path, &[], None, RECOMPUTE)?.about("corewise.version");
    Ok(version == Some(def.version.to_string()))
}

/// Keeps the rows wanted, by start, end and place.
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

/// Hands on columns as rows. Boxed cells take far more room than columns: some at a time.
fn in_cells(rows: usize, cols: &[Values], names: &[Box<str>], each: EachRows<'_>) -> Result<(), Error> {
    for from in (0..rows).step_by(4096) {
        let part = from..rows.min(from + 4096);
        let cells: Vec<Vec<Value>> = part.map(|r| cols.iter().map(|c| cell(c, r, names)).collect()).collect();
        each(&cells)?;
    }
    Ok(())
}

/// One cell of columns read.
pub(crate) fn cell(values: &Values, row: usize, names: &[Box<str>]) -> Value {
    let known = match values {
        Values::Alike { value, of, .. } => {
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
    known.unwrap_or(Value::Null)
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
            state: w::thread_state(*state.get(i)?)?,
            reason: w::reason(*reason.get(i)?)?,
            cpu: cpu.get(i).filter(|c| **c != i32::MIN).map(|c| CpuId(*c as u32)),
            waker_thread: waker.get(i).filter(|k| **k != i64::MIN).map_or(ThreadKey::UNKNOWN, |k| ThreadKey(*k)),
            exec: MaybeNs::of_word(*exec.get(i)?),
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
            state: w::cpu_state(*state.get(i)?)?,
            thread: thread.get(i).filter(|k| **k != i64::MIN).map_or(ThreadKey::UNKNOWN, |k| ThreadKey(*k)),
        })
    };
    (0..rows).map(row).collect()
}
