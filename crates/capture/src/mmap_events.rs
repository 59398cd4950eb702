//! Code that programs map, as they map it: so that addresses of processes which ended before `/proc/PID/maps` was read are known.
//!
//! A software event on each CPU that counts nothing has the records of mappings, forks, execs and exits (perf_event_open(2)). What is
//! unmapped is not recorded; what is mapped there later replaces it.

use crate::mapped::page;
use crate::mappings::Mapping;
use crate::perf_events::{
    Attr, FLAG_CLOCK, FLAG_COMM, FLAG_SAMPLE_ID_ALL, FLAG_TASK, RECORD_COMM, RECORD_EXIT, RECORD_FORK, RECORD_LOST,
    SAMPLE_TID, SAMPLE_TIME, open_on_cpu,
};
use crate::samples;
use crate::wire;
use model::Ns;
use std::collections::{HashMap, HashSet};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use symbols::build_id;

/// The size of a buffer, bytes.
const BUFFER: usize = 256 << 10;
/// How many passes the mappings of a process are kept when it has ended: its callchains are read in the next one.
const KEPT_PASSES: u64 = 4;
/// The most processes that are followed: a limit for machines that start programs continuously.
const MAX_PROCESSES: usize = 32_768;
/// The most mappings of a process.
const MAX_MAPPINGS: usize = 8192;

// linux/perf_event.h: flags of the attributes, types of records, and what a record says of itself.
const FLAG_MMAP: u64 = 1 << 8;
/// `wakeup` is in bytes.
const FLAG_WATERMARK: u64 = 1 << 14;
const FLAG_MMAP2: u64 = 1 << 23;
const FLAG_COMM_EXEC: u64 = 1 << 24;
const FLAG_BUILD_ID: u64 = 1 << 34;
const RECORD_MMAP2: u32 = 10;
const MISC_COMM_EXEC: u16 = 1 << 13;
const MISC_BUILD_ID: u16 = 1 << 14;

/// The most programs of a process that are kept, by exec: the last ones.
const MAX_IMAGES: usize = 8;

/// What happened to a process.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Happened {
    Mapped(Mapping),
    Forked { parent: i32 },
    Executed,
    Ended,
}

/// A record: when, of which process, and what.
type Record = (Ns, i32, Happened);

/// The mappings of a process from a fork or an exec on.
struct Image {
    begin: Ns,
    number: u64,
    mappings: Arc<Vec<Mapping>>,
}

/// A process.
#[derive(Default)]
struct Process {
    /// In order of their begin.
    images: Vec<Image>,
    /// The pass in which it turned out to have ended.
    ended: Option<u64>,
}

/// What happened to processes since the last [`MmapEvents::take_news`].
#[derive(Default)]
pub struct News {
    /// Parent and child, in order.
    pub forked: Vec<(i32, i32)>,
    /// Those that mapped code, or called exec.
    pub changed: HashSet<i32>,
    pub ended: Vec<i32>,
    /// Records were lost: anything may have happened.
    pub lost: bool,
}

/// The most entries of each list of [`News`], if no one takes them.
const MAX_NEWS: usize = 65_536;

/// The mappings of processes.
#[derive(Default)]
pub struct MmapEvents {
    buffers: Vec<Buffer>,
    processes: HashMap<i32, Process>,
    /// Records that are too young: an earlier one of another CPU may not have been read.
    pending: Vec<Record>,
    passes: u64,
    images: u64,
    news: News,
    /// How many records the kernel could not write.
    pub lost: u64,
}

impl MmapEvents {
    /// Opens the events on these CPUs; on none, if the kernel does not permit it.
    pub fn open(cpus: impl Iterator<Item = u32>) -> Self {
        let buffers = cpus.map(|cpu| Buffer::open(cpu, FLAG_BUILD_ID).or_else(|| Buffer::open(cpu, 0)));
        Self { buffers: buffers.collect::<Option<_>>().unwrap_or_default(), ..Self::default() }
    }

    /// Begins a pass of the recorder: processes that ended a few passes ago are forgotten.
    pub fn begin_pass(&mut self) {
        self.passes += 1;
        self.read();
    }

    /// The descriptors that are readable when something has happened.
    pub fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        self.buffers.iter().map(|buffer| buffer.event.as_raw_fd())
    }

    /// Returns what happened to processes since the last call.
    pub fn take_news(&mut self) -> News {
        std::mem::take(&mut self.news)
    }

    /// Reads what has happened.
    pub fn read(&mut self) {
        let until = wire::ns(samples::now());
        let mut records = std::mem::take(&mut self.pending);
        let mut lost = 0;
        for buffer in &self.buffers {
            buffer.drain(&mut |record| match lost_by(record) {
                Some(count) => lost += count,
                None => records.extend(parse(record)),
            });
        }
        if lost > 0 {
            // What is missing may be of any of them.
            self.processes.clear();
            self.lost += lost;
            self.news.lost = true;
        }
        self.take(records, until);
    }

    fn take(&mut self, mut records: Vec<Record>, until: Ns) {
        records.sort_by_key(|(at, ..)| *at);
        let complete = records.partition_point(|(at, ..)| *at < until);
        self.pending = records.split_off(complete);
        for (at, pid, what) in records {
            self.apply(at, pid, what);
        }
        let now = self.passes;
        self.processes.retain(|_, process| process.ended.is_none_or(|at| now < at + KEPT_PASSES));
    }

    fn apply(&mut self, at: Ns, pid: i32, what: Happened) {
        match what {
            Happened::Forked { parent } if self.news.forked.len() < MAX_NEWS => self.news.forked.push((parent, pid)),
            Happened::Ended if self.news.ended.len() < MAX_NEWS => self.news.ended.push(pid),
            Happened::Mapped(_) | Happened::Executed if self.news.changed.len() < MAX_NEWS => {
                self.news.changed.insert(pid);
            }
            // As if the record was lost.
            Happened::Forked { .. } | Happened::Ended | Happened::Mapped(_) | Happened::Executed => {
                self.news.lost = true
            }
        }
        let mut begin = |mappings| {
            self.images += 1;
            Image { begin: at, number: self.images, mappings }
        };
        match what {
            Happened::Forked { parent } => {
                let of_parent = self.processes.get(&parent).and_then(|parent| parent.images.last());
                let mappings = of_parent.map(|image| Arc::clone(&image.mappings));
                // A process that had the same number has ended.
                self.processes.remove(&pid);
                if let Some(mappings) = mappings.filter(|_| self.processes.len() < MAX_PROCESSES) {
                    let images = vec![begin(mappings)];
                    self.processes.insert(pid, Process { images, ended: None });
                }
            }
            Happened::Executed => {
                if self.processes.len() < MAX_PROCESSES || self.processes.contains_key(&pid) {
                    let image = begin(Arc::default());
                    let process = self.processes.entry(pid).or_default();
                    process.ended = None;
                    if process.images.len() == MAX_IMAGES {
                        process.images.remove(0);
                    }
                    process.images.push(image);
                }
            }
            // Of a process that was there before, `/proc` shows all mappings.
            Happened::Mapped(mapping) => {
                if let Some(image) = self.processes.get_mut(&pid).and_then(|process| process.images.last_mut()) {
                    insert(Arc::make_mut(&mut image.mappings), mapping);
                }
            }
            Happened::Ended => {
                if let Some(process) = self.processes.get_mut(&pid) {
                    process.ended = Some(self.passes);
                }
            }
        }
    }

    /// Returns the mappings of a process, which were the same program from one time to another, with the program's number.
    pub fn mappings(&self, pid: i32, first: Ns, last: Ns) -> Option<(u64, Arc<Vec<Mapping>>)> {
        let images = &self.processes.get(&pid)?.images;
        let next = images.partition_point(|image| image.begin <= first);
        let image = images.get(next.checked_sub(1)?)?;
        let is_same = images.get(next).is_none_or(|next| last < next.begin);
        (is_same && !image.mappings.is_empty()).then(|| (image.number, Arc::clone(&image.mappings)))
    }
}

/// Adds a mapping, in order of address, if there is room; what was there is replaced in any case.
fn insert(all: &mut Vec<Mapping>, new: Mapping) {
    if new.from >= new.to {
        return;
    }
    let mut rest = Vec::new();
    all.retain_mut(|old| {
        if old.to <= new.from || old.from >= new.to {
            return true;
        }
        if old.to > new.to {
            let offset = old.offset.wrapping_add(new.to - old.from);
            rest.push(Mapping { from: new.to, offset, ..old.clone() });
        }
        old.to = new.from;
        old.from < old.to
    });
    for mapping in rest.into_iter().chain([new]) {
        if all.len() >= MAX_MAPPINGS {
            return;
        }
        let at = all.partition_point(|old| old.from < mapping.from);
        all.insert(at, mapping);
    }
}

/// How many records were lost, if this record says so (`PERF_RECORD_LOST`: id, number).
fn lost_by(record: &[u8]) -> Option<u64> {
    let kind = u32::from_ne_bytes(record.get(..4)?.try_into().ok()?);
    let count = u64::from_ne_bytes(record.get(16..24)?.try_into().ok()?);
    (kind == RECORD_LOST).then_some(count)
}

/// Parses a record with its head.
fn parse(record: &[u8]) -> Option<Record> {
    let word = |at: usize| Some(u32::from_ne_bytes(record.get(at..at + 4)?.try_into().ok()?));
    let long = |at: usize| Some(u64::from_ne_bytes(record.get(at..at + 8)?.try_into().ok()?));
    let kind = word(0)?;
    let misc = u16::from_ne_bytes(record.get(4..6)?.try_into().ok()?);
    // The time is the last field of all records.
    let at = wire::ns(long(record.len().checked_sub(8)?)?);
    let (pid, second) = (word(8)?.cast_signed(), word(12)?.cast_signed());
    let what = match kind {
        RECORD_COMM if misc & MISC_COMM_EXEC != 0 => Happened::Executed,
        // pid, ppid, tid, ptid: only the first thread is a new process, or its end.
        RECORD_FORK if pid != second => Happened::Forked { parent: second },
        RECORD_EXIT if word(16)?.cast_signed() == pid => Happened::Ended,
        RECORD_MMAP2 => {
            let (from, length, offset) = (long(16)?, long(24)?, long(32)?);
            let text = record.get(72..record.len().checked_sub(16)?)?;
            let text = &text[..text.iter().position(|byte| *byte == 0)?];
            let name = String::from_utf8_lossy(text);
            let name = if name == model::StackFrame::GENERATED { String::new() } else { name.into_owned() };
            let (inode, id) = match misc & MISC_BUILD_ID != 0 {
                true => {
                    let id = record.get(44..44 + usize::from(*record.get(40)?).min(20))?;
                    (Mapping::UNKNOWN_INODE, Some(build_id::hexadecimal(id)))
                }
                false => (long(48)?, None),
            };
            Happened::Mapped(Mapping { from, to: from.saturating_add(length), offset, device: 0, inode, name, id })
        }
        _ => return None,
    };
    Some((at, pid, what))
}

/// The buffer of a CPU.
struct Buffer {
    event: OwnedFd,
    at: *mut u8,
}

// SAFETY: the mapping belongs to the buffer, and may be read from any thread.
unsafe impl Send for Buffer {}

impl Buffer {
    fn open(cpu: u32, flags: u64) -> Option<Self> {
        let side = FLAG_MMAP | FLAG_MMAP2 | FLAG_COMM | FLAG_COMM_EXEC | FLAG_TASK;
        let attr = Attr {
            kind: 1, // PERF_TYPE_SOFTWARE
            size: size_of::<Attr>() as u32,
            config: 9, // PERF_COUNT_SW_DUMMY
            sample_type: SAMPLE_TID | SAMPLE_TIME,
            flags: side | FLAG_SAMPLE_ID_ALL | FLAG_CLOCK | FLAG_WATERMARK | flags,
            wakeup: 1,
            clock: libc::CLOCK_MONOTONIC,
            ..Attr::default()
        };
        let event = open_on_cpu(&attr, cpu).ok()?;
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping at an address that the kernel chooses.
        let at = unsafe {
            libc::mmap(std::ptr::null_mut(), page() + BUFFER, rights, libc::MAP_SHARED, event.as_raw_fd(), 0)
        };
        (at != libc::MAP_FAILED).then(|| Self { event, at: at.cast() })
    }

    /// Passes each record to `take`.
    fn drain(&self, take: &mut dyn FnMut(&[u8])) {
        // SAFETY: data_head and data_tail of the first page, shared with the kernel, hence atomic (linux/perf_event.h).
        let (head, tail) =
            unsafe { (&*self.at.add(1024).cast::<AtomicU64>(), &*self.at.add(1032).cast::<AtomicU64>()) };
        let end = head.load(Ordering::Acquire);
        let mut at = tail.load(Ordering::Relaxed);
        let mut record = Vec::new();
        while at < end {
            self.copy(at, 8, &mut record);
            let size = usize::from(u16::from_ne_bytes([record[6], record[7]]));
            if size < 8 || size as u64 > end - at {
                at = end;
                break;
            }
            self.copy(at, size, &mut record);
            take(&record);
            at += size as u64;
        }
        tail.store(at, Ordering::Release);
    }

    /// Copies bytes from a position, which may wrap.
    fn copy(&self, at: u64, size: usize, to: &mut Vec<u8>) {
        to.clear();
        let begin = at as usize & (BUFFER - 1);
        let first = size.min(BUFFER - begin);
        for (from, length) in [(begin, first), (0, size - first)] {
            // SAFETY: inside the mapping; the kernel does not write where the tail has not passed.
            to.extend_from_slice(unsafe { std::slice::from_raw_parts(self.at.add(page() + from), length) });
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: our own mapping.
        unsafe { libc::munmap(self.at.cast(), page() + BUFFER) };
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn mapping(from: u64, to: u64, offset: u64, name: &str) -> Mapping {
        Mapping { from, to, offset, device: 0, inode: 7, name: name.to_owned(), id: None }
    }

    fn record(kind: u32, misc: u16, body: &[u8], at: u64) -> Vec<u8> {
        let tail = [&[0; 8][..], &at.to_ne_bytes()].concat();
        let size = (8 + body.len() + tail.len()) as u16;
        [&kind.to_ne_bytes()[..], &misc.to_ne_bytes(), &size.to_ne_bytes(), body, &tail].concat()
    }

    fn mmap(pid: u32, range: [u64; 3], misc: u16, which: &[u8], name: &[u8], at: u64) -> Vec<u8> {
        let head = [pid, pid].map(u32::to_ne_bytes).concat();
        let body = [&head[..], &range.map(u64::to_ne_bytes).concat(), which, &[5, 0, 0, 0, 2, 0, 0, 0], name].concat();
        record(RECORD_MMAP2, misc, &body, at)
    }

    #[test]
    fn records_are_parsed() {
        let inode = [[0_u8, 0, 0, 8, 1, 0, 0, 0].as_slice(), &77_u64.to_ne_bytes(), &[0; 8]].concat();
        let found = parse(&mmap(5, [0x1000, 0x2000, 0x3000], 0, &inode, b"/usr/bin/a\0\0\0\0\0\0", 9)).unwrap();
        let expected = Mapping { inode: 77, ..mapping(0x1000, 0x3000, 0x3000, "/usr/bin/a") };
        assert_eq!(found, (Ns(9), 5, Happened::Mapped(expected)));
        let id = [&[4_u8, 0, 0, 0, 0xab, 1, 2, 3][..], &[0; 16]].concat();
        let found = parse(&mmap(5, [0, 16, 0], MISC_BUILD_ID, &id, b"/lib/b.so\0\0\0\0\0\0\0", 9)).unwrap();
        let id = Some("ab010203".to_owned());
        let expected = Mapping { inode: Mapping::UNKNOWN_INODE, id, ..mapping(0, 16, 0, "/lib/b.so") };
        assert_eq!(found.2, Happened::Mapped(expected));
        let words = |all: [u32; 4]| all.map(u32::to_ne_bytes).concat();
        assert_eq!(parse(&record(RECORD_FORK, 0, &words([6, 5, 6, 5]), 9)).unwrap().2, Happened::Forked { parent: 5 });
        assert_eq!(parse(&record(RECORD_FORK, 0, &words([5, 5, 6, 5]), 9)), None, "a thread");
        assert_eq!(parse(&record(RECORD_EXIT, 0, &words([5, 4, 5, 4]), 9)).unwrap().2, Happened::Ended);
        let comm = [&[5, 0, 0, 0, 5, 0, 0, 0][..], b"name\0\0\0\0"].concat();
        assert_eq!(parse(&record(RECORD_COMM, MISC_COMM_EXEC, &comm, 9)).unwrap().2, Happened::Executed);
        assert_eq!(parse(&record(RECORD_COMM, 0, &comm, 9)), None, "a new name");
        for cut in 0..90 {
            let whole = mmap(5, [0, 16, 0], 0, &inode, b"/a\0\0\0\0\0\0", 9);
            let _ = parse(&whole[..cut.min(whole.len())]);
        }
    }

    #[test]
    fn lost_records_are_counted() {
        let lost = record(RECORD_LOST, 0, &[7_u64, 12].map(u64::to_ne_bytes).concat(), 9);
        assert_eq!((lost_by(&lost), parse(&lost)), (Some(12), None));
        assert_eq!(lost_by(&record(RECORD_EXIT, 0, &[0; 16], 9)), None);
        assert_eq!(lost_by(&lost[..12]), None);
    }

    #[test]
    fn a_mapping_without_room_removes_what_was_there() {
        let pages = (0..MAX_MAPPINGS as u64).map(|n| mapping(n << 12, (n + 1) << 12, 0, "a"));
        let mut all: Vec<Mapping> = pages.collect();
        insert(&mut all, mapping(0x1800, 0x2800, 0, "b"));
        assert!(all.iter().all(|of| of.name == "a") && all.len() == MAX_MAPPINGS);
        assert!(crate::mappings::at(&all, 0x1900).is_none() && crate::mappings::at(&all, 0x1100).is_some());
    }

    #[test]
    fn only_the_last_programs_of_a_process_are_kept() {
        let mut events = MmapEvents::default();
        for at in 0..20 {
            events.apply(Ns(at * 10), 5, Happened::Executed);
            events.apply(Ns(at * 10 + 1), 5, Happened::Mapped(mapping(0x1000, 0x2000, 0, &at.to_string())));
        }
        let name = |at: i64| events.mappings(5, Ns(at), Ns(at)).map(|(_, all)| all[0].name.clone());
        assert_eq!((name(195).as_deref(), name(125).as_deref(), name(115)), (Some("19"), Some("12"), None));
        // The number is used again by a child of a process that is not known.
        events.apply(Ns(300), 5, Happened::Forked { parent: 77 });
        assert!(events.mappings(5, Ns(310), Ns(310)).is_none());
    }

    #[test]
    fn a_mapping_replaces_what_was_there() {
        let mut all = Vec::new();
        insert(&mut all, mapping(0x1000, 0x9000, 0, "a"));
        insert(&mut all, mapping(0x3000, 0x4000, 0x100, "b"));
        insert(&mut all, mapping(0x8000, 0xa000, 0, "c"));
        insert(&mut all, mapping(5, 5, 0, "empty"));
        let expected = [
            mapping(0x1000, 0x3000, 0, "a"),
            mapping(0x3000, 0x4000, 0x100, "b"),
            mapping(0x4000, 0x8000, 0x3000, "a"),
            mapping(0x8000, 0xa000, 0, "c"),
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn a_process_that_has_ended_is_known_for_a_while() {
        let mut events = MmapEvents::default();
        let map = |pid: i32, at: i64, name: &str| (Ns(at), pid, Happened::Mapped(mapping(0x1000, 0x2000, 0, name)));
        let records = vec![
            (Ns(1), 5, Happened::Executed),
            // Of another CPU, read later.
            (Ns(30), 6, Happened::Ended),
            map(5, 2, "shell"),
            (Ns(10), 6, Happened::Forked { parent: 5 }),
            (Ns(20), 6, Happened::Executed),
            map(6, 21, "program"),
            map(9, 22, "before"),
            (Ns(40), 5, Happened::Executed),
        ];
        events.passes = 1;
        events.take(records, Ns(35));
        assert_eq!(events.pending.len(), 1, "too young");
        let name = |pid: i32, first: i64, last: i64| {
            events.mappings(pid, Ns(first), Ns(last)).map(|(_, all)| all[0].name.clone())
        };
        assert_eq!(name(6, 12, 19).as_deref(), Some("shell"), "as its parent");
        assert_eq!(name(6, 22, 29).as_deref(), Some("program"));
        assert_eq!(name(6, 12, 22), None, "before and after an exec");
        assert_eq!(name(6, 5, 5), None, "before it was there");
        assert_eq!(name(9, 23, 23), None, "of a process that was there before");
        assert_eq!(name(5, 22, 22).as_deref(), Some("shell"));
        events.passes += KEPT_PASSES;
        events.take(Vec::new(), Ns(100));
        assert!(events.mappings(6, Ns(22), Ns(29)).is_none() && events.mappings(5, Ns(22), Ns(22)).is_some());
    }
}
