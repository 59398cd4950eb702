//! Writing a trace folder while its events and stretches stream by.

use crate::encoder::Encoder;
use crate::error::Error;
use crate::events_out::EventSheets;
use crate::manifest::{FileInfo, MANIFEST, Manifest};
use crate::sheet::{Disk, Sheet};
use crate::small::{Filling, RowSheet};
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

/// So many rows are taken at once, about: enough that the handing over costs nothing, few enough to stay in the cache.
pub(crate) const BATCH: usize = 4096;
/// So many batches may wait for it, before who makes them waits: as many as are made while another thread has its CPU. Where they are few,
/// both wait and wake in turn, and of two CPUs one idles while the other has all that is ready.
const WAITING: usize = 32;

enum Job {
    Names(Vec<Box<str>>),
    Stacks(Vec<Box<[StackFrame]>>),
    Events(Vec<Event>),
    Threads(Vec<ThreadStretch>),
    Finish(i64),
}

/// Batches written, to be filled again.
enum Empty {
    Events(Vec<Event>),
    Threads(Vec<ThreadStretch>),
}

type Files = BTreeMap<String, FileInfo>;

/// A trace folder being written. Events and the stretches of threads are taken by a thread of its own; those of CPUs, which are fewer,
/// by who hands them on, so that two share the work. Until [`FolderWriter::finish`], what
/// is written stands under another name; dropped before, it is removed again.
pub struct FolderWriter {
    home: Home,
    /// Until it is finished.
    part: Dir,
    part_name: OsString,
    tables_folder: Dir,
    jobs: Option<SyncSender<Job>>,
    empty: Receiver<Empty>,
    worker: Option<JoinHandle<Result<Files, Error>>>,
    /// Batches to be filled.
    spare_events: Vec<Vec<Event>>,
    spare_threads: Vec<Vec<ThreadStretch>>,
    /// Until they are closed.
    cpus: Option<StateSheets>,
    tables: Vec<Sheet<Disk>>,
    encoder: Encoder,
    finished: bool,
}

/// Where the folder will stand.
enum Home {
    /// A new one, with its path for words.
    New(Place, PathBuf),
    /// That of a recording's spool.
    Spool(Dir),
}

impl Home {
    /// The folder in which the unfinished one stands.
    fn around(&self) -> &Dir {
        match self {
            Self::New(place, _) => place.around(),
            Self::Spool(dir) => dir,
        }
    }
}

/// The folders of a trace folder.
const KINDS: [&str; 3] = ["events", "states", "tables"];

/// In an event's offset, the number of its source stands above so many bits of its place there.
pub const PART_SHIFT: u32 = 48;

/// What a folder is made for.
#[derive(Clone, Copy, Debug)]
pub struct Making<'a> {
    /// Tells the core types of the stretches.
    pub machine: &'a Machine,
    /// Of how many sources the events are: each keeps its place there. 0: corewise's own recording. Where there are more than
    /// one, [`PART_SHIFT`] tells how an event's offset names its source.
    pub sources: usize,
}

impl FolderWriter {
    /// A new folder; written beside it first and renamed at the end, so that an interrupted import leaves none that looks
    /// whole.
    ///
    /// # Errors
    /// Where something is there already, or cannot be written.
    pub fn create(path: &Path, access: Access, making: Making<'_>) -> Result<Self, Error> {
        let (place, part_name) = part_of(path, access)?;
        let part = place.make_beside(&part_name).map_err(Error::io(path, "creating it"))?;
        let around = place.around().clone();
        let started = Self::start(Home::New(place, path.to_owned()), part, part_name.clone(), making);
        if started.is_err() {
            let _ = around.remove_all(&part_name);
        }
        started
    }

    /// Whether a new folder can be written there, before a long reading of what it is made of.
    ///
    /// # Errors
    /// As of [`FolderWriter::create`].
    pub fn can_create(path: &Path, access: Access) -> Result<(), Error> {
        let (place, part_name) = part_of(path, access)?;
        let made = place.make_beside(&part_name).and_then(|_| place.around().remove_dir(&part_name));
        made.map_err(Error::io(path, "creating it"))
    }

    /// Into a folder that is there and holds a recording's spool.
    ///
    /// # Errors
    /// Where it holds a finished trace already, is another user's, or cannot be written.
    pub fn create_in_place(dir: &Dir, making: Making<'_>) -> Result<Self, Error> {
        let path = dir.path();
        if dir.has(MANIFEST) {
            return Err(Error::Exists(path.to_owned()));
        }
        dir.ours().map_err(Error::io(path, "writing into it"))?;
        let part_name = OsString::from(".part");
        remove(dir, &part_name)?;
        for kind in KINDS {
            // Of an attempt interrupted between two renames; without a manifest they belong to no trace.
            remove(dir, kind)?;
        }
        let part = dir.make(&part_name).map_err(Error::io(path, "writing into it"))?;
        Self::start(Home::Spool(dir.clone()), part, part_name, making)
    }

    fn start(home: Home, part: Dir, part_name: OsString, making: Making<'_>) -> Result<Self, Error> {
        let make = |kind: &str| part.make(kind).map_err(Error::io(&part.path().join(kind), "creating it"));
        let [events, states, tables_folder] = KINDS.map(make);
        let (events, states, tables_folder) = (events?, states?, tables_folder?);
        let zstd = || Encoder::new().map_err(|e| Error::Bug(format!("zstd: {e}")));
        let (jobs, todo) = sync_channel(WAITING);
        // As many batches as can be under way, so that handing them back never waits.
        let (done, empty) = sync_channel(2 * WAITING);
        let desk = Desk {
            events: EventSheets::new(events, making.sources),
            all_events: false,
            threads: StateSheets::threads(&states)?,
            types: CoreTypes::of(making.machine),
            encoder: zstd()?,
        };
        let worker = std::thread::Builder::new().name("store".into()).spawn(move || desk.work(&todo, &done));
        Ok(Self {
            worker: Some(worker.map_err(Error::io(part.path(), "starting a thread to write it"))?),
            cpus: Some(StateSheets::cpus(&states)?),
            home,
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

    /// More texts, numbered on from the last: the first text of a trace is [`model::NameId`] 1. They must be told before
    /// the events that use them.
    ///
    /// # Errors
    /// What went wrong on the writing thread.
    pub fn names(&mut self, more: &[Box<str>]) -> Result<(), Error> {
        if more.is_empty() { Ok(()) } else { self.send(Job::Names(more.to_vec())) }
    }

    /// More callchains, numbered as the texts are; told before the events that use them.
    ///
    /// # Errors
    /// What went wrong on the writing thread.
    pub fn stacks(&mut self, more: &[Box<[StackFrame]>]) -> Result<(), Error> {
        if more.is_empty() { Ok(()) } else { self.send(Job::Stacks(more.to_vec())) }
    }

    /// Events, in the merged order. They are taken with their memory, in whose place other memory is given.
    ///
    /// # Errors
    /// What went wrong on the writing thread.
    pub fn events(&mut self, events: &mut Vec<Event>) -> Result<(), Error> {
        if events.is_empty() {
            return Ok(());
        }
        let taken = std::mem::replace(events, self.spare_events.pop().unwrap_or_default());
        self.send(Job::Events(taken))
    }

    /// Stretches of threads, in order of start. They are taken with their memory, in whose place other memory is given.
    ///
    /// # Errors
    /// What went wrong on the writing thread.
    pub fn thread_stretches(&mut self, rows: &mut Vec<ThreadStretch>) -> Result<(), Error> {
        if rows.is_empty() {
            return Ok(());
        }
        // Events come no more: others may use their memory.
        self.spare_events.clear();
        let taken = std::mem::replace(rows, self.spare_threads.pop().unwrap_or_default());
        self.send(Job::Threads(taken))
    }

    /// Stretches of CPUs, in order of start.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn cpu_stretches(&mut self, rows: &[CpuStretch]) -> Result<(), Error> {
        let cpus = self.cpus.as_mut().ok_or_else(closed)?;
        rows.chunks(BATCH).try_for_each(|rows| cpus.take_cpus(rows, &mut self.encoder))
    }

    /// A small table, once.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn table(&mut self, table: &Table) -> Result<(), Error> {
        self.table_of(table.def, |out| {
            table.rows.iter().for_each(|row| out.row(row));
            Ok(())
        })
    }

    /// A table that `fill` makes row by row, once.
    ///
    /// # Errors
    /// Where it cannot be written, or what `fill` says.
    pub fn table_of<E: From<Error>>(
        &mut self,
        def: &'static TableDef,
        fill: impl FnOnce(&mut dyn Rows) -> Result<(), E>,
    ) -> Result<(), E> {
        let sheet = RowSheet::create(&self.tables_folder, &format!("{}.parquet", def.name), def)?;
        let mut filling = Filling { sheet, encoder: &mut self.encoder, failed: Ok(()) };
        fill(&mut filling)?;
        filling.failed?;
        self.tables.push(filling.sheet.finish(&mut self.encoder)?);
        Ok(())
    }

    /// Writes what is left and the manifest (its `files` are set here), and gives the folder its name.
    ///
    /// # Errors
    /// Where something cannot be written.
    pub fn finish(mut self, manifest: Manifest) -> Result<Manifest, Error> {
        let trace = manifest.trace;
        self.send(Job::Finish(trace))?;
        let cpus = self.cpus.take().ok_or_else(closed)?.close(trace, &mut self.encoder)?;
        let mut files = self.join()?;
        files.extend(StateSheets::files("cpu", cpus));
        for table in std::mem::take(&mut self.tables) {
            table.close_file(trace, &mut self.encoder, &[])?;
        }
        let manifest = Manifest { files, ..manifest };
        let text = manifest.to_json()?;
        let file = self.part.create(MANIFEST).and_then(|mut file| file.write_all(text.as_ref()).map(|()| file));
        let file = file.map_err(Error::io(&self.part.path().join(MANIFEST), "writing it"))?;
        match &self.home {
            Home::Spool(dir) => self.replace_spool(dir, &file)?,
            Home::New(place, path) => {
                // On Linux an empty folder is replaced by the renamed one; a full one, made meanwhile, is not.
                let renamed = place.around().rename(&self.part_name, place.around(), place.name());
                renamed.map_err(Error::io(path, "giving it its name"))?;
                self.finished = true;
                self.part.hand_over().map_err(Error::io(path, "handing it over to who called sudo"))?;
            }
        }
        self.finished = true;
        Ok(manifest)
    }

    /// What was written takes its place beside the spool, which may go once this returns: at every moment, that of a power cut too,
    /// the spool is whole or the folder is. The manifest, which makes it a trace folder, comes when all else is on disk.
    fn replace_spool(&self, dir: &Dir, manifest: &std::fs::File) -> Result<(), Error> {
        let path = dir.path();
        // Held by descriptor: under their names something else may stand by the time that they are handed over.
        let folders = KINDS.iter().map(|kind| self.part.open_dir(kind)).collect::<std::io::Result<Vec<_>>>();
        let folders = folders.map_err(Error::io(path, "reading it"))?;
        self.part.sync_all().map_err(Error::io(path, "bringing it to disk"))?;
        for names in [&KINDS[..], &[MANIFEST]] {
            for name in names {
                let renamed = self.part.rename(name, dir, name);
                renamed.map_err(Error::io(&path.join(name), "giving it its name"))?;
            }
            dir.sync().map_err(Error::io(path, "bringing it to disk"))?;
        }
        remove(dir, &self.part_name)?;
        let given = folders.iter().try_for_each(Dir::hand_over).and_then(|()| dir.hand_over_file(manifest));
        given.map_err(Error::io(path, "handing it over to who called sudo"))
    }

    fn send(&mut self, job: Job) -> Result<(), Error> {
        if self.jobs.as_ref().is_none_or(|jobs| jobs.send(job).is_err()) {
            // The thread has ended, and its result says why.
            return self.join().and(Err(Error::Bug("the folder's writer ended early".into())));
        }
        // Batches that came back are filled again.
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
        let worker = self.worker.take().ok_or_else(|| Error::Bug("the folder's writer was asked twice".into()))?;
        worker.join().unwrap_or_else(|_| Err(Error::Bug("the folder's writer panicked".into())))
    }
}

impl Drop for FolderWriter {
    fn drop(&mut self) {
        if self.worker.is_some() {
            let _ = self.join();
        }
        if !self.finished {
            // By descriptor: by now its name may be another folder's.
            let _ = self.part.clear().and_then(|()| self.home.around().remove_dir(&self.part_name));
        }
    }
}

/// Nothing can be added to a folder that is finished: whoever could has given it away.
fn closed() -> Error {
    Error::Bug("the folder is finished".into())
}

/// The writing thread's side.
struct Desk {
    events: EventSheets,
    /// Whether no more of them will come.
    all_events: bool,
    threads: StateSheets,
    types: CoreTypes,
    encoder: Encoder,
}

impl Desk {
    fn work(mut self, todo: &Receiver<Job>, done: &SyncSender<Empty>) -> Result<Files, Error> {
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
                    // They come when all events are known.
                    if !std::mem::replace(&mut self.all_events, true) {
                        self.events.rest(&mut self.encoder)?;
                    }
                    self.threads.take_threads(&rows, &self.types, &mut self.encoder)?;
                    rows.clear();
                    Empty::Threads(rows)
                }
                Job::Finish(trace) => return self.finish(trace),
            };
            let _ = done.try_send(empty);
        }
        // Nobody will finish this folder.
        Ok(Files::new())
    }

    fn finish(mut self, trace: i64) -> Result<Files, Error> {
        // All are begun before any is waited for.
        self.threads.flush(&mut self.encoder)?;
        self.events.rest(&mut self.encoder)?;
        let events = self.events.close(trace, &mut self.encoder)?;
        let events = events.into_iter().map(|(name, done)| (format!("events/{name}.parquet"), done.into()));
        let threads = self.threads.close(trace, &mut self.encoder)?;
        Ok(events.chain(StateSheets::files("thread", threads)).collect())
    }
}

/// Where a new folder will stand, and the name of what is written until it is whole. What a killed process of the same number left
/// there is removed.
fn part_of(path: &Path, access: Access) -> Result<(Place, OsString), Error> {
    let place = Place::of(path, access).map_err(Error::io(path, "creating it"))?;
    if !place.is_free().map_err(Error::io(path, "creating it"))? {
        return Err(Error::Exists(path.to_owned()));
    }
    let mut part = OsString::from(".");
    part.push(place.name());
    part.push(format!(".part-{}", std::process::id()));
    remove(place.around(), &part)?;
    Ok((place, part))
}

/// Removes a folder of corewise's own making, if it is there.
fn remove(from: &Dir, name: impl AsRef<OsStr>) -> Result<(), Error> {
    let name = name.as_ref();
    from.remove_all(name).map_err(Error::io(&from.path().join(name), "removing what is left of it"))
}
