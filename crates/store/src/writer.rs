//! Writes a trace folder from a stream of events and stretches.

use crate::encoder::Encoder;
use crate::error::Error;
use crate::events_out::EventSheets;
use crate::manifest::{FileInfo, MANIFEST, Manifest};
use crate::sheet::{Disk, Sheet};
use crate::small::{RowSheet, RowSink};
use crate::states_out::{CoreTypes, StateSheets};
use model::{CpuStretch, Event, Rows, StackFrame, Table, TableDef, ThreadStretch};
use safefs::{Access, Dir, Place};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use topology::Machine;

/// The approximate number of rows in a batch: enough that the handover costs nothing, few enough to stay in the cache.
pub(crate) const BATCH: usize = 4096;
/// The capacity of the queue to the writing thread, in batches: as many as are produced while another thread has its CPU. With a
/// shorter queue, both threads wait and wake in turn, and one of two CPUs idles while the other has all ready threads.
const QUEUE_BATCHES: usize = 32;

enum Job {
    Names(Vec<Box<str>>),
    Stacks(Vec<Box<[StackFrame]>>),
    Events(Vec<Event>),
    Threads(Vec<ThreadStretch>),
    Finish(i64),
}

/// Batches that were written and can be reused.
enum Empty {
    Events(Vec<Event>),
    Threads(Vec<ThreadStretch>),
}

type Files = BTreeMap<String, FileInfo>;

/// Writes a trace folder. A thread of its own writes events and thread stretches; the caller's thread writes the CPU stretches,
/// which are fewer, so that two threads share the work. Until [`FolderWriter::finish`] the folder has a temporary name; if the
/// writer is dropped before, the folder is removed.
pub struct FolderWriter {
    target: Target,
    /// The unfinished folder.
    part: Dir,
    part_name: OsString,
    tables_folder: Dir,
    jobs: Option<SyncSender<Job>>,
    empty: Receiver<Empty>,
    worker: Option<JoinHandle<Result<Files, Error>>>,
    /// Batches to reuse.
    spare_events: Vec<Vec<Event>>,
    spare_threads: Vec<Vec<ThreadStretch>>,
    /// The CPU stretches; `None` when they are closed.
    cpus: Option<StateSheets>,
    tables: Vec<Sheet<Disk>>,
    encoder: Encoder,
    finished: bool,
}

/// Where the finished folder will be.
enum Target {
    /// A new folder, with its path for messages.
    New(Place, PathBuf),
    /// The folder of a recording's spool.
    Spool(Dir),
    /// A finished trace folder, whose events are kept.
    Finished(Dir, Files),
}

impl Target {
    /// Returns the folder that contains the unfinished one.
    fn parent(&self) -> &Dir {
        match self {
            Self::New(place, _) => place.parent(),
            Self::Spool(dir) | Self::Finished(dir, _) => dir,
        }
    }
}

/// The subfolders of a trace folder.
const SUBFOLDERS: [&str; 3] = ["events", "states", "tables"];

/// The number of bits of an event's offset that hold its place in its source. The bits above hold the number of the source.
pub const PART_SHIFT: u32 = 48;

/// Options of a [`FolderWriter`].
#[derive(Clone, Copy, Debug)]
pub struct WriterOptions<'a> {
    /// The machine, for the core types of the stretches.
    pub machine: &'a Machine,
    /// The number of sources that the events come from; each event keeps its place in its source. 0: corewise's own recording.
    /// With more than one source, an event's offset also names its source, see [`PART_SHIFT`].
    pub sources: usize,
}

impl FolderWriter {
    /// Creates a new folder. It is written next to the final path and renamed at the end, so that an interrupted import leaves no
    /// folder that looks complete.
    ///
    /// # Errors
    /// If the path exists, or cannot be written.
    pub fn create(path: &Path, access: Access, options: WriterOptions<'_>) -> Result<Self, Error> {
        let (place, part_name) = part_of(path, access)?;
        let part = place.make_sibling(&part_name).map_err(Error::io(path, "creating it"))?;
        let parent = place.parent().clone();
        let started = Self::start(Target::New(place, path.to_owned()), part, part_name.clone(), options);
        if started.is_err() {
            let _ = parent.remove_all(&part_name);
        }
        started
    }

    /// Checks that a new folder can be created at the path, before a long import.
    ///
    /// # Errors
    /// As [`FolderWriter::create`].
    pub fn can_create(path: &Path, access: Access) -> Result<(), Error> {
        let (place, part_name) = part_of(path, access)?;
        let made = place.make_sibling(&part_name).and_then(|_| place.parent().remove_dir(&part_name));
        made.map_err(Error::io(path, "creating it"))
    }

    /// Writes into an existing folder that contains a recording's spool.
    ///
    /// # Errors
    /// If it already contains a finished trace, belongs to another user, or cannot be written.
    pub fn create_in_place(dir: &Dir, options: WriterOptions<'_>) -> Result<Self, Error> {
        let path = dir.path();
        if dir.has(MANIFEST) {
            return Err(Error::Exists(path.to_owned()));
        }
        dir.check_owner().map_err(Error::io(path, "writing into it"))?;
        let part_name = OsString::from(".part");
        remove(dir, &part_name)?;
        for kind in SUBFOLDERS {
            // Left by an attempt interrupted between two renames; without a manifest they belong to no trace.
            remove(dir, kind)?;
        }
        let part = dir.make(&part_name).map_err(Error::io(path, "writing into it"))?;
        Self::start(Target::Spool(dir.clone()), part, part_name, options)
    }

    /// Writes the states and tables of a finished trace folder again; its events are kept. The manifest is replaced last, so that an
    /// interrupted attempt is made again.
    ///
    /// # Errors
    /// If the folder belongs to another user, or cannot be written.
    pub fn restate(dir: &Dir, manifest: &Manifest) -> Result<Self, Error> {
        let path = dir.path();
        dir.check_owner().map_err(Error::io(path, "writing into it"))?;
        let part_name = OsString::from(".part");
        remove(dir, &part_name)?;
        let part = dir.make(&part_name).map_err(Error::io(path, "writing into it"))?;
        let events = manifest.files.iter().filter(|(name, _)| name.starts_with("events/"));
        let events = events.map(|(name, info)| (name.clone(), *info)).collect();
        let options = WriterOptions { machine: &manifest.machine, sources: 0 };
        Self::start(Target::Finished(dir.clone(), events), part, part_name, options)
    }

    fn start(target: Target, part: Dir, part_name: OsString, options: WriterOptions<'_>) -> Result<Self, Error> {
        let make = |kind: &str| part.make(kind).map_err(Error::io(&part.path().join(kind), "creating it"));
        let [events, states, tables_folder] = SUBFOLDERS.map(make);
        let (events, states, tables_folder) = (events?, states?, tables_folder?);
        let zstd = || Encoder::new().map_err(|e| Error::Bug(format!("zstd: {e}")));
        let (jobs, todo) = sync_channel(QUEUE_BATCHES);
        // Room for all batches that can be in use, so that returning one never waits.
        let (done, empty) = sync_channel(2 * QUEUE_BATCHES);
        let writer = WriterThread {
            events: EventSheets::new(events, options.sources),
            all_events: false,
            threads: StateSheets::threads(&states)?,
            types: CoreTypes::of(options.machine),
            encoder: zstd()?,
        };
        let worker = std::thread::Builder::new().name("store".into()).spawn(move || writer.run(&todo, &done));
        Ok(Self {
            worker: Some(worker.map_err(Error::io(part.path(), "starting a thread to write it"))?),
            cpus: Some(StateSheets::cpus(&states)?),
            target,
            part,
            part_name,
            tables_folder,
            jobs: Some(jobs),
            empty,
            spare_events: Vec::new(),
            spare_threads: Vec::new(),
            tables: Vec::new(),
            encoder: zstd()?,
            finished: false,
        })
    }

    /// Adds texts; their numbers continue after the last one. The first text of a trace is [`model::NameId`] 1. Texts must be
    /// added before the events that use them.
    ///
    /// # Errors
    /// If the writing thread failed.
    pub fn names(&mut self, more: &[Box<str>]) -> Result<(), Error> {
        if more.is_empty() { Ok(()) } else { self.send(Job::Names(more.to_vec())) }
    }

    /// Adds callchains, numbered as the texts are. They must be added before the events that use them.
    ///
    /// # Errors
    /// If the writing thread failed.
    pub fn stacks(&mut self, more: &[Box<[StackFrame]>]) -> Result<(), Error> {
        if more.is_empty() { Ok(()) } else { self.send(Job::Stacks(more.to_vec())) }
    }

    /// Adds events, in the merged order. The vector is taken and replaced by an empty one with memory to reuse.
    ///
    /// # Errors
    /// If the writing thread failed.
    pub fn events(&mut self, events: &mut Vec<Event>) -> Result<(), Error> {
        if events.is_empty() {
            return Ok(());
        }
        let taken = std::mem::replace(events, self.spare_events.pop().unwrap_or_default());
        self.send(Job::Events(taken))
    }

    /// Adds thread stretches, in order of start. The vector is taken and replaced by an empty one with memory to reuse.
    ///
    /// # Errors
    /// If the writing thread failed.
    pub fn thread_stretches(&mut self, rows: &mut Vec<ThreadStretch>) -> Result<(), Error> {
        if rows.is_empty() {
            return Ok(());
        }
        // No more events will come: free their memory.
        self.spare_events.clear();
        let taken = std::mem::replace(rows, self.spare_threads.pop().unwrap_or_default());
        self.send(Job::Threads(taken))
    }

    /// Adds CPU stretches, in order of start.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn cpu_stretches(&mut self, rows: &[CpuStretch]) -> Result<(), Error> {
        let cpus = self.cpus.as_mut().ok_or_else(closed)?;
        rows.chunks(BATCH).try_for_each(|rows| cpus.take_cpus(rows, &mut self.encoder))
    }

    /// Writes a small table; call it once per table.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn table(&mut self, table: &Table) -> Result<(), Error> {
        self.table_rows_from(table.def, |out| {
            table.rows.iter().for_each(|row| out.row(row));
            Ok(())
        })
    }

    /// Writes a small table whose rows `fill` produces; call it once per table.
    ///
    /// # Errors
    /// If it cannot be written, or `fill` fails.
    pub fn table_rows_from<E: From<Error>>(
        &mut self,
        def: &'static TableDef,
        fill: impl FnOnce(&mut dyn Rows) -> Result<(), E>,
    ) -> Result<(), E> {
        let sheet = RowSheet::create(&self.tables_folder, &format!("{}.parquet", def.name), def)?;
        let mut sink = RowSink { sheet, encoder: &mut self.encoder, failed: Ok(()) };
        fill(&mut sink)?;
        sink.failed?;
        self.tables.push(sink.sheet.finish(&mut self.encoder)?);
        Ok(())
    }

    /// Writes the remaining rows and the manifest, whose `files` are set here, and gives the folder its final name.
    ///
    /// # Errors
    /// If something cannot be written.
    pub fn finish(mut self, manifest: Manifest) -> Result<Manifest, Error> {
        let trace = manifest.trace;
        self.send(Job::Finish(trace))?;
        let cpus = self.cpus.take().ok_or_else(closed)?.close(trace, &mut self.encoder)?;
        let mut files = self.join()?;
        files.extend(StateSheets::files("cpu", cpus));
        if let Target::Finished(_, events) = &self.target {
            files.extend(events.clone());
        }
        for table in std::mem::take(&mut self.tables) {
            table.close_file(trace, &mut self.encoder, &[])?;
        }
        let manifest = Manifest { files, ..manifest };
        let text = manifest.to_json()?;
        let file = self.part.create(MANIFEST).and_then(|mut file| file.write_all(text.as_ref()).map(|()| file));
        let file = file.map_err(Error::io(&self.part.path().join(MANIFEST), "writing it"))?;
        match &self.target {
            Target::Spool(dir) => self.replace_spool(dir, &file)?,
            Target::Finished(dir, _) => self.replace_states(dir, &file)?,
            Target::New(place, path) => {
                // On Linux a rename replaces an empty folder, but not a full one that was created in the meantime.
                let renamed = place.parent().rename(&self.part_name, place.parent(), place.name());
                renamed.map_err(Error::io(path, "renaming it"))?;
                self.finished = true;
                self.part.hand_over().map_err(Error::io(path, "giving it to the user who ran sudo"))?;
            }
        }
        self.finished = true;
        Ok(manifest)
    }

    /// Replaces the states and tables of a finished folder, and removes its levels of detail, which are made from them.
    fn replace_states(&self, dir: &Dir, manifest: &std::fs::File) -> Result<(), Error> {
        const MADE: [&str; 2] = ["states", "tables"];
        let path = dir.path();
        let folders = MADE.iter().map(|kind| self.part.open_dir(kind)).collect::<std::io::Result<Vec<_>>>();
        let folders = folders.map_err(Error::io(path, "reading it"))?;
        self.part.sync_all().map_err(Error::io(path, "syncing it to disk"))?;
        remove(dir, "levels")?;
        for name in MADE {
            remove(dir, name)?;
        }
        for names in [&MADE[..], &[MANIFEST]] {
            for name in names {
                let renamed = self.part.rename(name, dir, name);
                renamed.map_err(Error::io(&path.join(name), "renaming it"))?;
            }
            dir.sync().map_err(Error::io(path, "syncing it to disk"))?;
        }
        remove(dir, &self.part_name)?;
        let given = folders.iter().try_for_each(Dir::hand_over).and_then(|()| dir.hand_over_file(manifest));
        given.map_err(Error::io(path, "giving it to the user who ran sudo"))
    }

    /// Moves the written files next to the spool, which can be deleted once this returns. At every moment, even after a power cut,
    /// either the spool or the folder is complete. The manifest, which makes it a trace folder, is moved last, when all else is on disk.
    fn replace_spool(&self, dir: &Dir, manifest: &std::fs::File) -> Result<(), Error> {
        let path = dir.path();
        // Keep descriptors: by the time of the handover, the names may refer to something else.
        let folders = SUBFOLDERS.iter().map(|kind| self.part.open_dir(kind)).collect::<std::io::Result<Vec<_>>>();
        let folders = folders.map_err(Error::io(path, "reading it"))?;
        self.part.sync_all().map_err(Error::io(path, "syncing it to disk"))?;
        for names in [&SUBFOLDERS[..], &[MANIFEST]] {
            for name in names {
                let renamed = self.part.rename(name, dir, name);
                renamed.map_err(Error::io(&path.join(name), "renaming it"))?;
            }
            dir.sync().map_err(Error::io(path, "syncing it to disk"))?;
        }
        remove(dir, &self.part_name)?;
        let given = folders.iter().try_for_each(Dir::hand_over).and_then(|()| dir.hand_over_file(manifest));
        given.map_err(Error::io(path, "giving it to the user who ran sudo"))
    }

    fn send(&mut self, job: Job) -> Result<(), Error> {
        if self.jobs.as_ref().is_none_or(|jobs| jobs.send(job).is_err()) {
            // The thread has ended; its result has the reason.
            return self.join().and(Err(Error::Bug("the folder's writer ended early".into())));
        }
        // Collect the batches to reuse.
        while let Ok(empty) = self.empty.try_recv() {
            match empty {
                Empty::Events(v) => self.spare_events.push(v),
                Empty::Threads(v) => self.spare_threads.push(v),
            }
        }
        Ok(())
    }

    fn join(&mut self) -> Result<Files, Error> {
        self.jobs = None;
        let worker = self.worker.take().ok_or_else(|| Error::Bug("the folder's writer was joined twice".into()))?;
        worker.join().unwrap_or_else(|_| Err(Error::Bug("the folder's writer panicked".into())))
    }
}

impl Drop for FolderWriter {
    fn drop(&mut self) {
        if self.worker.is_some() {
            let _ = self.join();
        }
        if !self.finished {
            // By descriptor: the name may belong to another folder by now.
            let _ = self.part.clear().and_then(|()| self.target.parent().remove_dir(&self.part_name));
        }
    }
}

/// Returns the error for rows that are added to a finished folder.
fn closed() -> Error {
    Error::Bug("the folder is finished".into())
}

/// The state of the writing thread.
struct WriterThread {
    events: EventSheets,
    /// Whether all events have been received.
    all_events: bool,
    threads: StateSheets,
    types: CoreTypes,
    encoder: Encoder,
}

impl WriterThread {
    fn run(mut self, todo: &Receiver<Job>, done: &SyncSender<Empty>) -> Result<Files, Error> {
        while let Ok(job) = todo.recv() {
            let empty = match job {
                Job::Names(names) => {
                    self.events.names(names);
                    continue;
                }
                Job::Stacks(stacks) => {
                    self.events.stacks(&stacks, &mut self.encoder)?;
                    continue;
                }
                Job::Events(mut rows) => {
                    self.events.take(&rows, &mut self.encoder)?;
                    rows.clear();
                    Empty::Events(rows)
                }
                Job::Threads(mut rows) => {
                    // Stretches follow the last event.
                    if !std::mem::replace(&mut self.all_events, true) {
                        self.events.flush_all(&mut self.encoder)?;
                    }
                    self.threads.take_threads(&rows, &self.types, &mut self.encoder)?;
                    rows.clear();
                    Empty::Threads(rows)
                }
                Job::Finish(trace) => return self.finish(trace),
            };
            let _ = done.try_send(empty);
        }
        // The writer was dropped without `finish`.
        Ok(Files::new())
    }

    fn finish(mut self, trace: i64) -> Result<Files, Error> {
        // Encoding of all starts before the first wait.
        self.threads.flush(&mut self.encoder)?;
        self.events.flush_all(&mut self.encoder)?;
        let events = self.events.close(trace, &mut self.encoder)?;
        let events = events.into_iter().map(|(name, done)| (format!("events/{name}.parquet"), done.into()));
        let threads = self.threads.close(trace, &mut self.encoder)?;
        Ok(events.chain(StateSheets::files("thread", threads)).collect())
    }
}

/// Returns the place of a new folder and its temporary name. Removes what a killed process with the same PID left under that name.
fn part_of(path: &Path, access: Access) -> Result<(Place, OsString), Error> {
    let place = Place::of(path, access).map_err(Error::io(path, "creating it"))?;
    if !place.is_free().map_err(Error::io(path, "creating it"))? {
        return Err(Error::Exists(path.to_owned()));
    }
    let mut part = OsString::from(".");
    part.push(place.name());
    part.push(format!(".part-{}", std::process::id()));
    remove(place.parent(), &part)?;
    Ok((place, part))
}

/// Removes a folder that corewise created, if it exists.
fn remove(from: &Dir, name: impl AsRef<OsStr>) -> Result<(), Error> {
    let name = name.as_ref();
    from.remove_all(name).map_err(Error::io(&from.path().join(name), "removing the remains of an interrupted run"))
}
