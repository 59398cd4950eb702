//! Writes `states/{thread,cpu}.parquet`, the stretches in order of start, and an index of open stretches for each.
//!
//! A reader of a range starts at the row group in which the range begins. It would miss stretches that began in earlier groups and
//! continue (a thread that sleeps for an hour). Therefore the index has, for each row group, copies of the rows that began before it
//! and end after its begin: at most one per thread or CPU.

use crate::encoder::Encoder;
use crate::error::Error;
use crate::manifest::FileInfo;
use crate::sheet::{Column, Disk, Done, Sheet, columns};
use crate::values::Values;
use crate::words as w;
use model::{
    Coded, Col, CoreType, CpuState, CpuStretch, Kind, Ns, Storage, TableDef, ThreadKey, ThreadState, ThreadStretch,
    tables,
};
use safefs::Dir;
use topology::Machine;

/// The number of rows in a row group. With twice as many, a folder is 0.9 % smaller and an import needs 30 MB more memory.
pub(crate) const GROUP_ROWS: usize = 1 << 16;
/// The number of rows whose columns are filled in turn: few enough to stay in a core's L1 cache from column to column.
pub(crate) const ROWS_AT_ONCE: usize = 256;
/// A row group that spans this much time is closed early, if it has [`MIN_GROUP_ROWS`] rows.
pub(crate) const GROUP_NS: i64 = 60_000_000_000;
/// The minimum number of rows in a row group that is closed early.
pub(crate) const MIN_GROUP_ROWS: usize = 1 << 14;

pub(crate) const THREAD_STORES: &[Storage] = &[
    Storage::Key,
    Storage::Int,
    Storage::Long,
    Storage::Long,
    Storage::Word(w::word::<ThreadState>),
    Storage::Int,
    Storage::Word(w::word::<CoreType>),
    Storage::Word(w::reason_word),
    Storage::Key,
    Storage::Long,
    Storage::Int,
];

pub(crate) const CPU_STORES: &[Storage] =
    &[Storage::Int, Storage::Long, Storage::Long, Storage::Word(w::word::<CpuState>), Storage::Key];

/// The last column of the index, after the columns of its table.
pub(crate) const GROUP: Col =
    Col::new("row_group", Kind::Int, "", "The row group at whose begin this row is still open.");

/// The core type of each CPU, as the code of its word.
pub(crate) struct CoreTypes(Vec<u8>);

impl CoreTypes {
    pub(crate) fn of(machine: &Machine) -> Self {
        // A machine file may contain any number; no kernel supports more CPUs than this.
        let max = machine.cpus.iter().map(|c| c.id.0).filter(|c| *c < 1 << 16).max();
        let all = 0..max.map_or(0, |m| m + 1);
        Self(all.map(|c| machine.core_type(model::CpuId(c)).code()).collect())
    }

    pub(crate) fn code(&self, cpu: u32) -> u8 {
        let uniform = CoreType::Uniform.code();
        self.0.get(cpu as usize).copied().unwrap_or(uniform)
    }
}

/// A file of stretches and its index, being written.
pub(crate) struct StateSheets {
    main: Sheet<Disk>,
    index: Sheet<Disk>,
    /// Rows of closed groups that may still be open, by column.
    open: Vec<Values>,
    /// The column of `start_ns`; `end_ns` is the next.
    start: usize,
    groups: i64,
    last: i64,
}

impl StateSheets {
    pub(crate) fn threads(folder: &Dir) -> Result<Self, Error> {
        Self::new(folder, "thread", &tables::THREAD_STATE, THREAD_STORES, 2)
    }

    pub(crate) fn cpus(folder: &Dir) -> Result<Self, Error> {
        Self::new(folder, "cpu", &tables::CPU_STATE, CPU_STORES, 1)
    }

    fn new(folder: &Dir, name: &str, def: &TableDef, stores: &[Storage], start: usize) -> Result<Self, Error> {
        let (main, index) = (format!("{name}.parquet"), format!("{name}.index.parquet"));
        let group = Column { col: GROUP, store: Storage::Key };
        Ok(Self {
            main: Sheet::create(folder, &main, def, &columns(def, stores, &[]))?,
            index: Sheet::create(folder, &index, def, &columns(def, stores, &[group]))?,
            open: stores.iter().map(|s| Values::of(*s)).collect(),
            start,
            groups: 0,
            last: i64::MIN,
        })
    }

    pub(crate) fn take_threads(
        &mut self,
        rows: &[ThreadStretch],
        types: &CoreTypes,
        with: &mut Encoder,
    ) -> Result<(), Error> {
        self.begin(rows.iter().map(|r| r.span.start), with)?;
        for rows in rows.chunks(ROWS_AT_ONCE) {
            self.add_threads(rows, types);
        }
        self.end(with)
    }

    fn add_threads(&mut self, rows: &[ThreadStretch], types: &CoreTypes) {
        let to = &mut self.main;
        to.longs(0, rows.iter().map(|r| r.thread.0));
        to.ints(1, rows.iter().map(|r| r.tid.0));
        to.longs(2, rows.iter().map(|r| r.span.start.0));
        to.longs(3, rows.iter().map(|r| r.span.end.0));
        to.words(4, rows.iter().map(|r| r.state.code()));
        to.ints(5, rows.iter().map(|r| r.cpu.map_or(i32::MIN, |c| c.0 as i32)));
        to.words(
            6,
            rows.iter().map(|r| match (r.state, r.cpu) {
                (ThreadState::Running, Some(cpu)) => types.code(cpu.0),
                _ => crate::values::NO_WORD,
            }),
        );
        to.words(7, rows.iter().map(|r| w::reason_code(r.reason)));
        to.longs(
            8,
            rows.iter().map(|r| if r.waker_thread == ThreadKey::UNKNOWN { i64::MIN } else { r.waker_thread.0 }),
        );
        to.longs(9, rows.iter().map(|r| r.exec.to_word()));
        to.ints(10, rows.iter().map(|r| r.prio.get().map_or(i32::MIN, i32::from)));
    }

    pub(crate) fn take_cpus(&mut self, rows: &[CpuStretch], with: &mut Encoder) -> Result<(), Error> {
        self.begin(rows.iter().map(|r| r.span.start), with)?;
        let to = &mut self.main;
        to.ints(0, rows.iter().map(|r| r.cpu.0 as i32));
        to.longs(1, rows.iter().map(|r| r.span.start.0));
        to.longs(2, rows.iter().map(|r| r.span.end.0));
        to.words(3, rows.iter().map(|r| r.state.code()));
        to.longs(4, rows.iter().map(|r| if r.thread == ThreadKey::UNKNOWN { i64::MIN } else { r.thread.0 }));
        self.end(with)
    }

    /// Prepares for new rows: checks their order, and writes the index of a new group.
    fn begin(&mut self, starts: impl Iterator<Item = Ns>, with: &mut Encoder) -> Result<(), Error> {
        let mut first = None;
        for start in starts {
            if start.0 < self.last {
                return Err(Error::Bug(format!(
                    "a stretch that starts at {} after one that starts at {}",
                    start.0, self.last
                )));
            }
            self.last = start.0;
            first.get_or_insert(start.0);
        }
        let Some(first) = first else { return Ok(()) };
        if self.groups > 0 && self.main.rows() == 0 {
            self.keep_open(first);
            let rows = self.open.first().map_or(0, Values::len);
            let all: Vec<u32> = (0..rows as u32).collect();
            for (i, open) in self.open.iter().enumerate() {
                self.index.col(i).take(open, &all);
            }
            self.index.longs(self.open.len(), std::iter::repeat_n(self.groups, rows));
            if self.index.rows() >= GROUP_ROWS {
                self.index.flush(with, &[])?;
            }
        }
        Ok(())
    }

    /// Closes the row group if it is large enough.
    fn end(&mut self, with: &mut Encoder) -> Result<(), Error> {
        let rows = self.main.rows();
        let Values::Long(starts) = self.main.col(self.start).expand() else { return Ok(()) };
        let (Some(first), Some(last)) = (starts.first().copied(), starts.last().copied()) else { return Ok(()) };
        if rows < GROUP_ROWS && !(rows >= MIN_GROUP_ROWS && last - first >= GROUP_NS) {
            return Ok(());
        }
        self.keep_open(last);
        let Values::Long(ends) = self.main.col(self.start + 1).expand() else { return Ok(()) };
        let still: Vec<u32> = (0u32..).zip(ends.iter()).filter(|(_, end)| **end > last).map(|(i, _)| i).collect();
        for (i, open) in self.open.iter_mut().enumerate() {
            open.take(self.main.col(i), &still);
        }
        self.main.flush(with, &[])?;
        self.groups += 1;
        Ok(())
    }

    /// Drops the open rows that end at or before `at`.
    fn keep_open(&mut self, at: i64) {
        let Some(Values::Long(ends)) = self.open.get(self.start + 1) else { return };
        let still: Vec<u32> = (0u32..).zip(ends).filter(|(_, end)| **end > at).map(|(i, _)| i).collect();
        if still.len() == ends.len() {
            return;
        }
        for values in &mut self.open {
            let mut kept = values.empty();
            kept.take(values, &still);
            *values = kept;
        }
    }

    /// Starts to write the remaining rows.
    pub(crate) fn flush(&mut self, with: &mut Encoder) -> Result<(), Error> {
        self.main.flush(with, &[]).and_then(|()| self.index.flush(with, &[]))
    }

    /// Writes the remaining rows and closes both files; returns the result of the file and of its index.
    pub(crate) fn close(self, trace: i64, with: &mut Encoder) -> Result<[Done; 2], Error> {
        Ok([self.main.close_file(trace, with, &[])?, self.index.close_file(trace, with, &[])?])
    }

    /// Returns the files as the manifest lists them.
    pub(crate) fn files(name: &str, [rows, index]: [Done; 2]) -> [(String, FileInfo); 2] {
        [(format!("states/{name}.parquet"), rows.into()), (format!("states/{name}.index.parquet"), index.into())]
    }
}
