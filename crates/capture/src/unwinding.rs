//! Prepares what the BPF programs need to unwind user stacks (bpf/unwind.h): the tables of files, and what processes have mapped.
//!
//! ```text
//!   missing ─ processes that occur ─┐
//!                                   ├─▶ /proc/PID/maps ─▶ tables of the files ─▶ banks
//!   mmap events of known ones ──────┘                └──▶ mappings, spaces
//! ```
//!
//! A thread does this while the recording runs. Another one reads the tables, so that a large file does not keep the spaces waiting. The tables of the
//! files that the recorded command is going to map are read before it starts. Then come those of other processes, small ones first: those that many
//! programs use are small. Until the tables of a callchain are read, it is the kernel's, by frame pointers.

use crate::kept::Kept;
use crate::libbpf::why;
use crate::mapped::Mapped;
use crate::mappings::{self, Mapping};
use crate::mmap_events::{MmapEvents, News};
use crate::options::CaptureError;
use crate::rights;
use crate::vdso;
use libbpf_rs::libbpf_sys;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use unwind::Table;

/// As in bpf/unwind.h.
const BANK_ROWS: usize = 1 << 18;
const MAX_BANKS: usize = 64;
const MAX_MAPPINGS: u32 = 1 << 17;
/// The most mappings of a process: a search takes 14 steps.
const MAX_OF_PROCESS: usize = 1 << 13;
/// The most processes, as in bpf/unwind.h.
const MAX_PROCESSES: usize = 1 << 15;

/// How long a run of mappings that is no longer used is left as it is: a program may still read it.
const QUARANTINE: Duration = Duration::from_secs(2);
/// How often processes that occur are looked for, if nothing is mapped.
const PERIOD_MS: i32 = 20;
/// How long the recorded command waits for the tables of its files.
const PREPARE: Duration = Duration::from_secs(1);
/// How often the spaces of processes that wait for tables are made again while tables are read.
const RENEW: Duration = Duration::from_millis(20);
/// The most files that are open until their tables are read. Others are opened again when their processes' spaces are made again.
const MAX_WAITING: usize = 128;
/// The rows of a file whose table is not read yet: callchains through it follow frame pointers.
const NOT_READ: u32 = u32::MAX;

/// How long tables are read before processes are looked for again.
const READING: Duration = Duration::from_millis(5);
/// How long after a mapping the others of the same program are waited for.
const GATHER: Duration = Duration::from_millis(1);

/// The BPF maps.
#[derive(Clone, Copy)]
pub struct Maps {
    pub spaces: RawFd,
    pub missing: RawFd,
    pub mappings: RawFd,
    pub banks: RawFd,
}

/// What of a process's mapping the programs need: `struct mapping` of bpf/unwind.h.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    from: u64,
    to: u64,
    /// The address of the table's 0.
    base: u64,
    first: u32,
    rows: u32,
}

/// The words of an entry.
const ENTRY_BYTES: usize = 32;

/// The mappings of a process, or of several with the same ones.
struct Run {
    first: u32,
    entries: Vec<Entry>,
}

/// Which entries of the map of mappings are used.
#[derive(Default)]
struct Runs {
    end: u32,
    /// Since when, the first, and how many.
    free: Vec<(Instant, u32, u32)>,
}

impl Runs {
    fn take(&mut self, count: u32, now: Instant) -> Option<u32> {
        let is_old = |since: Instant| now.saturating_duration_since(since) >= QUARANTINE;
        if let Some(place) = self.free.iter().position(|(since, _, free)| *free >= count && is_old(*since)) {
            let (_, first, free) = &mut self.free[place];
            let taken = *first;
            (*first, *free) = (taken + count, *free - count);
            if *free == 0 {
                self.free.swap_remove(place);
            }
            return Some(taken);
        }
        let first = self.end;
        self.end = first.checked_add(count).filter(|end| *end <= MAX_MAPPINGS)?;
        Some(first)
    }

    fn give(&mut self, first: u32, count: u32, now: Instant) {
        if count > 0 {
            self.free.push((now, first, count));
        }
    }
}

/// A file's table in the banks.
struct Loaded {
    first: u32,
    rows: u32,
    /// The file's table without its rows: it converts addresses.
    of: Table,
}

/// Name, device and inode.
type FileKey = (String, u32, u64);

/// Which file's table is read first: those of the recorded command and its children (`false`) before others, then by size, bytes.
type Rank = (bool, u64);

/// What is known of the table of a file.
enum Known {
    Loaded(Rc<Loaded>),
    /// It has none.
    Nothing,
    NotRead,
}

/// The tables of files.
struct Tables {
    banks_map: RawFd,
    banks: Vec<(OwnedFd, Mapped)>,
    used: usize,
    /// By name, device and inode; `None`: the file has no table.
    files: HashMap<FileKey, Option<Rc<Loaded>>>,
    /// Files whose tables are to be read, in order.
    waiting: BTreeMap<(Rank, FileKey), File>,
    /// To the thread that reads tables, and from it; and the file that it has.
    read: Sender<(FileKey, File)>,
    done: Receiver<(FileKey, Option<Table>)>,
    reading: Option<FileKey>,
    /// The program of this process. Its table comes late: who records a command rarely looks at the recorder.
    itself: Option<PathBuf>,
    vdso: Option<Option<Rc<Loaded>>>,
    /// Files that found no room.
    without_room: u64,
}

/// What the thread did, for the sentences of the recording.
#[derive(Clone, Copy, Default, Debug)]
pub struct Done {
    /// The memory of the tables, bytes.
    pub bytes: u64,
    /// Files with a table.
    pub tables: u64,
    /// Files or processes for which there was no room.
    pub without_room: u64,
}

/// Prepares tables and mappings.
pub struct Unwinder {
    maps: Maps,
    memory: Mapped,
    runs: Runs,
    tables: Tables,
    processes: HashMap<i32, Rc<Run>>,
    /// Processes that wait for tables.
    waiting: HashSet<i32>,
    /// The recorded command and its children.
    targets: HashSet<i32>,
    renewed: Instant,
    /// A number for each change of a space.
    generation: u32,
    without_room: u64,
}

/// What is to be recorded: its files come first.
#[derive(Clone, Default)]
pub struct First {
    /// The process, if it is only one.
    pub process: Option<i32>,
    /// The files that it is going to map.
    pub files: Vec<PathBuf>,
}

/// The thread that does it.
pub struct Thread {
    stop: Arc<AtomicBool>,
    /// Receives when the first tables are read.
    prepared: Receiver<()>,
    handle: JoinHandle<Done>,
}

impl Thread {
    /// Starts it. It needs to read what processes have mapped, and to create BPF maps.
    ///
    /// # Errors
    /// If the memory of a map cannot be mapped, or the thread cannot be started.
    pub fn start(maps: Maps, events: Arc<Mutex<MmapEvents>>, first: First) -> Result<Self, CaptureError> {
        let failed = |e: std::io::Error| CaptureError::Bpf(format!("cannot prepare the unwinding of callchains: {e}"));
        let memory = Mapped::new(maps.mappings, 0, MAX_MAPPINGS as usize * ENTRY_BYTES, true).map_err(failed)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let (send, prepared) = sync_channel(1);
        let run = move || {
            let mut all = Unwinder::new(maps, memory, first.process);
            all.prepare(first);
            let _ = send.send(());
            while !stopped.load(Ordering::Acquire) {
                all.read_tables();
                let news = wait(&events, all.is_idle());
                all.follow(news);
            }
            all.done()
        };
        let handle = std::thread::Builder::new().name("unwind tables".into()).spawn(run).map_err(failed)?;
        Ok(Self { stop, prepared, handle })
    }

    /// Waits until the first tables are read, but not for long.
    pub fn wait_until_prepared(&self) {
        let _ = self.prepared.recv_timeout(PREPARE);
    }

    /// Stops it.
    pub fn stop(self) -> Done {
        self.stop.store(true, Ordering::Release);
        self.handle.join().unwrap_or_default()
    }
}

/// Reads the tables of files, until no one sends more. The files may be anyone's, so their reader has no rights.
fn read_tables(files: &Receiver<(FileKey, File)>, done: &Sender<(FileKey, Option<Table>)>) {
    if rights::drop_all().is_err() {
        return;
    }
    for (key, file) in files {
        let table = Table::of_open(file).ok();
        if done.send((key, table)).is_err() {
            return;
        }
    }
}

/// Waits until something is mapped, or for the period; not while tables are read. Returns what happened to processes.
fn wait(events: &Mutex<MmapEvents>, is_idle: bool) -> News {
    let lock = || events.lock().unwrap_or_else(PoisonError::into_inner);
    let mut fds: Vec<libc::pollfd> =
        lock().descriptors().map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
    // SAFETY: as many as the list has; the descriptors are open as long as `events`.
    let ready = unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, if is_idle { PERIOD_MS } else { 0 }) };
    if ready > 0 && is_idle {
        std::thread::sleep(GATHER);
    }
    let mut events = lock();
    events.read();
    events.take_news()
}

impl Unwinder {
    fn new(maps: Maps, memory: Mapped, target: Option<i32>) -> Self {
        let ((read, files), (send, done)) = (channel(), channel());
        // Without the thread, no table is ever read, and the callchains say so.
        let _ = std::thread::Builder::new().name("unwind reader".into()).spawn(move || read_tables(&files, &send));
        let tables = Tables {
            read,
            done,
            reading: None,
            itself: std::env::current_exe().ok(),
            banks_map: maps.banks,
            banks: Vec::new(),
            used: 0,
            files: HashMap::new(),
            waiting: BTreeMap::new(),
            vdso: None,
            without_room: 0,
        };
        let (runs, renewed) = (Runs::default(), Instant::now());
        let (processes, waiting, targets) = (HashMap::new(), HashSet::new(), target.into_iter().collect());
        Self { maps, memory, runs, tables, processes, waiting, targets, renewed, generation: 0, without_room: 0 }
    }

    /// Reads the tables of what is recorded first, and of the libraries of this process, which most programs have.
    fn prepare(&mut self, first: First) {
        if let (true, Some(pid)) = (first.files.is_empty(), first.process) {
            self.refresh(pid);
        }
        let own = std::process::id().cast_signed();
        for mapping in mappings::of_process(own).unwrap_or_default() {
            self.tables.entry(own, false, &mapping);
        }
        let (mut files, end) = (first.files.into_iter(), Instant::now() + PREPARE);
        loop {
            let room = MAX_WAITING.saturating_sub(self.tables.waiting.len());
            files.by_ref().take(room).for_each(|file| self.tables.expect(&file));
            let waits = files.len() > 0 || self.tables.waiting.keys().any(|((is_other, _), _)| !is_other);
            self.tables.read_next();
            let left = end.saturating_duration_since(Instant::now());
            if !(waits || self.tables.reading.is_some()) || left.is_zero() || !self.tables.take(left) {
                break;
            }
        }
    }

    /// Whether there is nothing to read.
    fn is_idle(&self) -> bool {
        self.tables.reading.is_none() && self.tables.waiting.is_empty() && self.waiting.is_empty()
    }

    /// Has tables read for a moment. Then makes the spaces of the processes that wait for them again, from time to time.
    fn read_tables(&mut self) {
        let end = Instant::now() + READING;
        loop {
            self.tables.read_next();
            let left = end.saturating_duration_since(Instant::now());
            if self.tables.reading.is_none() || left.is_zero() || !self.tables.take(left) {
                break;
            }
        }
        if !self.waiting.is_empty() && (self.renewed.elapsed() >= RENEW || self.tables.reading.is_none()) {
            self.renewed = Instant::now();
            std::mem::take(&mut self.waiting).into_iter().for_each(|pid| self.refresh(pid));
        }
    }

    fn follow(&mut self, news: News) {
        for (parent, child) in news.forked {
            if self.targets.contains(&parent) && self.targets.len() < MAX_PROCESSES {
                self.targets.insert(child);
            }
            if self.waiting.contains(&parent) {
                self.waiting.insert(child);
            }
            // The program has copied its parent's space, which may be another one by now.
            if let Some(run) = self.processes.get(&parent).map(Rc::clone) {
                self.set(child, Some(run));
            }
        }
        if news.lost {
            self.waiting.extend(self.processes.keys());
        }
        let mut changed: HashSet<i32> = news
            .changed
            .into_iter()
            .filter(|pid| self.processes.contains_key(pid) || self.targets.contains(pid))
            .collect();
        news.ended.into_iter().for_each(|pid| {
            changed.remove(&pid);
            self.waiting.remove(&pid);
            self.targets.remove(&pid);
            self.set(pid, None);
        });
        changed.extend(self.take_missing());
        changed.into_iter().for_each(|pid| self.refresh(pid));
    }

    /// Takes the processes that occurred without a space.
    fn take_missing(&self) -> Vec<i32> {
        let (mut all, mut pid) = (Vec::new(), 0i32);
        loop {
            // SAFETY: the map's keys are four bytes; without a key, the kernel returns the first one.
            let failed =
                unsafe { libbpf_sys::bpf_map_get_next_key(self.maps.missing, std::ptr::null(), (&raw mut pid).cast()) };
            // SAFETY: as above.
            if failed != 0
                || unsafe { libbpf_sys::bpf_map_delete_elem(self.maps.missing, (&raw const pid).cast()) } != 0
            {
                return all;
            }
            all.push(pid);
        }
    }

    /// Reads what a process has mapped now.
    fn refresh(&mut self, pid: i32) {
        let Some(mappings) = mappings::of_process(pid) else { return self.set(pid, None) };
        let is_other = !self.targets.contains(&pid);
        let entries: Vec<Entry> =
            (mappings.iter().take(MAX_OF_PROCESS)).map(|mapping| self.tables.entry(pid, is_other, mapping)).collect();
        if entries.iter().any(|entry| entry.rows == NOT_READ) {
            self.waiting.insert(pid);
        }
        if self.processes.get(&pid).is_some_and(|run| run.entries == entries) {
            // After an exec, the program has removed it.
            let run = self.processes.get(&pid).map(Rc::clone);
            return self.set(pid, run);
        }
        let Some(first) = self.runs.take(entries.len() as u32, Instant::now()) else {
            self.without_room += 1;
            return self.set(pid, None);
        };
        for (entry, number) in entries.iter().zip(first as usize..) {
            let words = [entry.from, entry.to, entry.base, u64::from(entry.first) | u64::from(entry.rows) << 32];
            let words = if cfg!(target_endian = "big") {
                [words[0], words[1], words[2], words[3].rotate_left(32)]
            } else {
                words
            };
            for (word, at) in words.into_iter().zip((number * ENTRY_BYTES..).step_by(8)) {
                self.memory.u64_at(at).store(word, Ordering::Release);
            }
        }
        self.set(pid, Some(Rc::new(Run { first, entries })));
    }

    /// Sets or removes the space of a process.
    fn set(&mut self, pid: i32, run: Option<Rc<Run>>) {
        let run = run.filter(|_| self.processes.len() < MAX_PROCESSES || self.processes.contains_key(&pid));
        // SAFETY: the keys of the map are four bytes, and its values sixteen.
        unsafe {
            match &run {
                Some(run) => {
                    self.generation = self.generation.wrapping_add(1);
                    let space = [run.first, run.entries.len() as u32, self.generation, 0];
                    libbpf_sys::bpf_map_update_elem(
                        self.maps.spaces,
                        (&raw const pid).cast(),
                        space.as_ptr().cast(),
                        u64::from(libbpf_sys::BPF_ANY),
                    );
                }
                None => {
                    libbpf_sys::bpf_map_delete_elem(self.maps.spaces, (&raw const pid).cast());
                }
            }
        }
        let before = match run {
            Some(run) => self.processes.insert(pid, run),
            None => self.processes.remove(&pid),
        };
        if let Some(run) = before.and_then(Rc::into_inner) {
            self.runs.give(run.first, run.entries.len() as u32, Instant::now());
        }
    }

    fn done(&self) -> Done {
        Done {
            bytes: (self.tables.used * size_of::<u64>()) as u64,
            tables: self.tables.files.values().flatten().count() as u64,
            without_room: self.without_room + self.tables.without_room,
        }
    }
}

/// Returns the address in memory of a table's 0, by a mapping of its file. A mapping begins at a page, the part of the file that it contains may
/// begin later.
fn base_of(table: &Table, mapping: &Mapping) -> Option<u64> {
    let end = mapping.offset.checked_add(mapping.to - mapping.from)?;
    let part = table.segments.iter().find(|part| {
        let part_end = part.offset.saturating_add(part.size);
        part.offset < end && mapping.offset < part_end
    })?;
    // Wrapping: the difference may be negative, and the sum is an address again.
    let first = part.vaddr.wrapping_sub(part.offset).wrapping_add(mapping.offset);
    Some(mapping.from.wrapping_sub(first.wrapping_sub(table.base)))
}

impl Tables {
    /// Returns the entry of a mapping, and reads the table of its file if it is a new one.
    fn entry(&mut self, pid: i32, is_other: bool, mapping: &Mapping) -> Entry {
        let by_frame_pointer = Entry { from: mapping.from, to: mapping.to, base: 0, first: 0, rows: 0 };
        let loaded = match self.of(pid, is_other, mapping) {
            Known::Loaded(loaded) => loaded,
            Known::Nothing => return by_frame_pointer,
            Known::NotRead => return Entry { rows: NOT_READ, ..by_frame_pointer },
        };
        let Some(base) = base_of(&loaded.of, mapping) else { return by_frame_pointer };
        Entry { base, first: loaded.first, rows: loaded.rows, ..by_frame_pointer }
    }

    fn of(&mut self, pid: i32, is_other: bool, mapping: &Mapping) -> Known {
        let known = |loaded: Option<Rc<Loaded>>| loaded.map_or(Known::Nothing, Known::Loaded);
        if mapping.name == vdso::NAME && vdso::is_ours(mapping.from) {
            if self.vdso.is_none() {
                let table = vdso::image().and_then(|image| Table::of_bytes(&image).ok());
                self.vdso = Some(table.and_then(|table| self.load(table)));
            }
            return known(self.vdso.clone().flatten());
        }
        if mapping.inode == 0 {
            return Known::Nothing;
        }
        let key = (mapping.name.clone(), mapping.device, mapping.inode);
        if let Some(loaded) = self.files.get(&key) {
            return known(loaded.clone());
        }
        if self.is_expected(&key, is_other) || self.waiting.len() >= MAX_WAITING {
            return Known::NotRead;
        }
        let is_other = is_other || self.itself.as_deref() == Some(Path::new(&mapping.name));
        let file = Kept::mapped(pid, &mapping.name, mapping.inode);
        let Some((size, file)) = file.and_then(|file| Some((file.metadata().ok()?.len(), file))) else {
            // It is another file by now.
            self.files.insert(key, None);
            return Known::Nothing;
        };
        self.waiting.insert(((is_other, size), key), file);
        Known::NotRead
    }

    /// Whether a file's table is being read or waits for it; before those of other processes from now on, if it is not theirs only.
    fn is_expected(&mut self, key: &FileKey, is_other: bool) -> bool {
        let Some(rank) = self.waiting.keys().find(|(_, of)| of == key).map(|(rank, _)| *rank) else {
            return self.reading.as_ref() == Some(key);
        };
        let file = self.waiting.remove(&(rank, key.clone()));
        self.waiting.extend(file.map(|file| (((is_other && rank.0, rank.1), key.clone()), file)));
        true
    }

    /// Has the table of a file read that no process has mapped yet.
    fn expect(&mut self, path: &Path) {
        let Ok(file) = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path) else { return };
        let Some(about) = file.metadata().ok().filter(std::fs::Metadata::is_file) else { return };
        let device = (libc::major(about.dev()) << 20) | libc::minor(about.dev());
        let key = (path.to_string_lossy().into_owned(), device, about.ino());
        if !self.files.contains_key(&key) && !self.is_expected(&key, false) {
            self.waiting.insert(((false, about.len()), key), file);
        }
    }

    /// Has the table of the first file that waits read, if none is.
    fn read_next(&mut self) {
        if self.reading.is_none()
            && let Some(((_, key), file)) = self.waiting.pop_first()
        {
            self.reading = self.read.send((key.clone(), file)).is_ok().then_some(key);
        }
    }

    /// Takes the table that was read; waits so long for it. Returns whether there was one.
    fn take(&mut self, patience: Duration) -> bool {
        let Ok((key, table)) = self.done.recv_timeout(patience) else { return false };
        self.reading = None;
        let loaded = table.and_then(|table| self.load(table));
        self.files.insert(key, loaded);
        true
    }

    /// Adds a table to the banks.
    fn load(&mut self, mut table: Table) -> Option<Rc<Loaded>> {
        let rows = std::mem::take(&mut table.rows);
        let (first, end) = (self.used, self.used + rows.len());
        while self.banks.len() * BANK_ROWS < end {
            let Ok(bank) = self.new_bank() else {
                self.without_room += 1;
                return None;
            };
            self.banks.push(bank);
        }
        for (row, number) in rows.iter().zip(first..) {
            let (_, bank) = &self.banks[number / BANK_ROWS];
            bank.u64_at(number % BANK_ROWS * size_of::<u64>()).store(row.0, Ordering::Release);
        }
        self.used = end;
        Some(Rc::new(Loaded { first: first as u32, rows: rows.len() as u32, of: table }))
    }

    fn new_bank(&self) -> Result<(OwnedFd, Mapped), CaptureError> {
        let number = self.banks.len() as u32;
        if self.banks.len() >= MAX_BANKS {
            return Err(CaptureError::Bpf("the tables for unwinding are full".into()));
        }
        let how = libbpf_sys::bpf_map_create_opts {
            sz: size_of::<libbpf_sys::bpf_map_create_opts>() as _,
            map_flags: libbpf_sys::BPF_F_MMAPABLE,
            ..Default::default()
        };
        let bytes = BANK_ROWS * size_of::<u64>();
        // SAFETY: the name ends with 0.
        let fd = unsafe {
            libbpf_sys::bpf_map_create(
                libbpf_sys::BPF_MAP_TYPE_ARRAY,
                c"bank".as_ptr(),
                4,
                bytes as u32,
                1,
                &raw const how,
            )
        };
        let failed = |what: &str| why(what, &libbpf_rs::Error::from(std::io::Error::last_os_error()));
        if fd < 0 {
            return Err(failed("cannot create a table for unwinding"));
        }
        // SAFETY: it was opened above and is not used elsewhere.
        let bank = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: keys and values of the map are four bytes.
        let refused = unsafe {
            libbpf_sys::bpf_map_update_elem(self.banks_map, (&raw const number).cast(), (&raw const fd).cast(), 0)
        };
        if refused != 0 {
            return Err(failed("cannot add a table for unwinding"));
        }
        let memory = Mapped::new(bank.as_raw_fd(), 0, bytes, true)
            .map_err(|e| CaptureError::Bpf(format!("cannot map a table for unwinding: {e}")))?;
        Ok((bank, memory))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn runs_are_used_again_after_a_while() {
        let (mut runs, now) = (Runs::default(), Instant::now());
        assert_eq!((runs.take(10, now), runs.take(5, now)), (Some(0), Some(10)));
        runs.give(0, 10, now);
        assert_eq!(runs.take(4, now), Some(15), "too young");
        let later = now + QUARANTINE;
        assert_eq!((runs.take(4, later), runs.take(6, later), runs.take(1, later)), (Some(0), Some(4), Some(19)));
        assert_eq!(runs.take(MAX_MAPPINGS, later), None, "no room");
        assert_eq!(runs.take(1, later), Some(20), "what had no room has taken nothing");
    }
}
