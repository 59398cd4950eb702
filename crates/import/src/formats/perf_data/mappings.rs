//! Tracks what was mapped where and when, so that the addresses of callchains can be converted to file offsets.
//!
//! perf reads its buffers in turn, so in the file a mapping may follow a sample that is later in time:
//!
//! ```text
//!   file:  … [cpu0: sample 5, sample 7] [cpu1: mmap 4] ROUND …      both samples are in the mapping made at 4
//! ```
//!
//! So if there are callchains, the file's mapping records are read first ([`scan`]), and each process's mappings are
//! replayed in the order of time as its samples are resolved. The samples of a process are not in order of time either.
//! For one before the last replayed change, the changes are searched backwards, unless what is mapped at its address has not
//! changed since.

use super::frames::{Frames, Record};
use super::header::{self, Attr, Header, TracingData};
use super::stream::Layouts;
use crate::tracepoint::ByteOrder;
use model::Ns;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use unwind::{Inode, Tables};

/// The maximum number of mapping changes kept, so that a hostile file cannot exhaust memory.
const MAX_CHANGES: usize = 1 << 19;
/// The maximum number of bytes of paths kept.
const MAX_PATH_BYTES: usize = 16 << 20;
/// The maximum number of parents searched for a mapping that a process did not make itself.
const MAX_PARENTS: usize = 16;
/// The maximum number of changes that all searches backwards look at, so that a hostile file cannot take forever.
const MAX_STEPS_BACK: u64 = 1 << 28;
/// The kernel's address space.
const KERNEL: i32 = -1;
/// Bits of `misc`: the mode ([`super::stacks::Mode`]; the kernel is 1), a data mapping, an exec, with a build ID, with its length.
pub(super) const MODE: u16 = 7;
const IN_KERNEL: u16 = 1;
const OF_DATA: u16 = 1 << 13;
const OF_EXEC: u16 = 1 << 13;
const WITH_BUILD_ID: u16 = 1 << 14;
const WITH_LENGTH: u16 = 1 << 15;
/// The size of a build ID in `perf_event.h`.
const BUILD_ID: usize = 20;

/// The location of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// Index into [`Mappings::files`].
    pub(super) file: usize,
    /// The byte in the file; for the kernel, counted from `_text`. `u64::MAX` if unknown.
    pub(super) offset: u64,
}

/// A mapped file, or a function that the kernel generated.
#[derive(PartialEq, Eq, Hash, Clone, Debug)]
pub(super) struct Code {
    pub(super) path: Box<[u8]>,
    pub(super) build_id: Option<Box<str>>,
    /// Set if the record contains it: BPF programs and the kernel's trampolines.
    pub(super) function: Option<Box<[u8]>>,
    /// `None`: the record does not have it.
    inode: Option<Inode>,
}

#[derive(Clone, Copy)]
struct Mapping {
    to: u64,
    since: Ns,
    /// The offset of the first address; `None` if unknown.
    offset: Option<u64>,
    file: usize,
}

impl Mapping {
    /// Returns the location of an address, if the mapping begins here.
    fn place(&self, from: u64, address: u64) -> Place {
        let offset = self.offset.map_or(u64::MAX, |offset| offset.wrapping_add(address - from));
        Place { file: self.file, offset }
    }
}

enum MappingEvent {
    Map(u64, Mapping),
    Unmap(u64, u64),
    Exec,
    /// Created by this process.
    Fork(i32),
}

/// An address space.
#[derive(Default)]
struct Space {
    changes: Vec<(Ns, MappingEvent)>,
    next: usize,
    /// The time of its last creation or exec.
    begin: Option<Ns>,
    parent: Option<i32>,
    current: BTreeMap<u64, Mapping>,
}

/// What an address of an address space is.
enum Found {
    Place(Place),
    /// As in the parent at the time when this process was created.
    InParent(i32, Ns),
    Nothing,
}

/// Whether a path is the kernel's name for memory of no file, such as that of generated code: `[heap]`, `//anon`, `/memfd:…`.
pub(super) fn is_of_no_file(path: &[u8]) -> bool {
    const NAMES: [&[u8]; 5] = [b"//anon", b"/anon_hugepage", b"/memfd:", b"/dev/zero", b"/SYSV"];
    path != b"[vdso]" && (!path.starts_with(b"/") || NAMES.iter().any(|name| path.starts_with(name)))
}

/// All address spaces.
#[derive(Default)]
pub(super) struct Mappings {
    pub(super) files: Vec<Code>,
    numbers: FxHashMap<Code, usize>,
    bytes: usize,
    changes: usize,
    /// The number of changes that were not kept, and of addresses that were not found, because there were too many.
    pub(super) left_out: u64,
    steps_back: u64,
    spaces: FxHashMap<i32, Space>,
    kernel_is_mapped: bool,
    /// The build IDs from the header or from records, by path and by whether the file is the kernel's.
    build_ids: FxHashMap<(Box<[u8]>, bool), Box<str>>,
}

/// Reads the mappings of a file whose events start here; returns none if no event has callchains.
pub(super) fn scan(mut frames: Frames<'_>, header: &Header) -> Mappings {
    let mut scan = Scan { order: header.order, attrs: header.attrs.clone(), layouts: None, all: Mappings::default() };
    scan.build_ids(header);
    // Unreadable places are reported when the events are read.
    while let Ok(Some(record)) = frames.peek() {
        let payload = match scan.read(&record) {
            Some(payload) => payload,
            None => return Mappings::default(),
        };
        frames.take();
        frames.gaps();
        if payload > 0 && frames.skip_payload(payload).is_err() {
            break;
        }
    }
    scan.all.finish();
    scan.all
}

struct Scan {
    order: ByteOrder,
    attrs: Vec<Attr>,
    layouts: Option<Layouts>,
    all: Mappings,
}

impl Scan {
    /// Reads a record and returns the size of the payload after it, or `None` if there are no callchains.
    fn read(&mut self, record: &Record<'_>) -> Option<usize> {
        let body = record.body;
        let size = |size: Option<u64>| size.and_then(|s| usize::try_from(s).ok()).unwrap_or(0);
        match record.kind {
            header::HEADER_ATTR => self.attrs.extend(header::attr_of_record(body, self.order)),
            header::TRACING_DATA => {
                return Some(match header::tracing_data(body, self.order) {
                    TracingData::Within(_) => 0,
                    TracingData::After(size) => size,
                });
            }
            header::AUXTRACE => return Some(size(self.order.u64_at(body, 0))),
            header::BUILD_ID => {
                self.build_id(record.misc, body);
            }
            kind if kind >= header::FIRST_SYNTHETIC => {}
            _ if self.layouts.is_none() => {
                if !self.attrs.iter().any(Attr::has_code) {
                    return None;
                }
                self.layouts = Some(Layouts::of(&self.attrs).ok()?);
                return self.read(record);
            }
            header::MMAP | header::MMAP2 => {
                self.mapping(record);
            }
            header::KSYMBOL => {
                self.symbol(record);
            }
            header::COMM if record.misc & OF_EXEC != 0 => {
                self.of_process(record, |_, _| Some(MappingEvent::Exec));
            }
            header::FORK => {
                // Forks at time 0 describe existing processes, whose mappings are recorded separately.
                let fork = |order: ByteOrder, body: &[u8]| {
                    let parent = order.u32_at(body, 4)? as i32;
                    (Some(parent) != order.u32_at(body, 0).map(|pid| pid as i32)).then_some(MappingEvent::Fork(parent))
                };
                if self.time(record) > Ns::ZERO {
                    self.of_process(record, fork);
                }
            }
            _ => {}
        }
        Some(0)
    }

    /// Returns the time of a record, or 0 if it has none: it then holds from the start.
    fn time(&self, record: &Record<'_>) -> Ns {
        let layout = self.layouts.as_ref().and_then(|l| l.get(record.body, self.order, false));
        layout.and_then(|l| l.trailing_stamp(record.body, self.order)).map_or(Ns::ZERO, |stamp| stamp.at)
    }

    /// Returns a text that ends with NUL, before the stamp.
    fn text<'b>(&self, body: &'b [u8], at: usize) -> Option<&'b [u8]> {
        let layout = self.layouts.as_ref().and_then(|l| l.get(body, self.order, false));
        let end = body.len().checked_sub(layout.map_or(0, |l| l.id_size))?;
        body.get(at..end)?.split(|b| *b == 0).next()
    }

    fn of_process(
        &mut self,
        record: &Record<'_>,
        change: impl FnOnce(ByteOrder, &[u8]) -> Option<MappingEvent>,
    ) -> Option<()> {
        let pid = self.order.u32_at(record.body, 0)? as i32;
        let change = change(self.order, record.body)?;
        let at = self.time(record);
        self.all.add(pid, at, change);
        Some(())
    }

    /// pid, tid, address, length, offset; MMAP2 adds the file's inode or build ID, and the protection.
    fn mapping(&mut self, record: &Record<'_>) -> Option<()> {
        let (order, body, misc) = (self.order, record.body, record.misc);
        if misc & OF_DATA != 0 {
            return Some(());
        }
        let second = record.kind == header::MMAP2;
        let pid = order.u32_at(body, 0)? as i32;
        let (from, length, offset) = (order.u64_at(body, 8)?, order.u64_at(body, 16)?, order.u64_at(body, 24)?);
        let path = self.text(body, if second { 64 } else { 32 })?;
        let to = from.checked_add(length)?;
        if (misc & MODE == IN_KERNEL) != (pid == KERNEL) {
            return Some(()); // of a guest
        }
        let (path, offset): (&[u8], _) = match path.strip_prefix(b"[kernel.kallsyms]") {
            // The field for the offset contains the address of the symbol after the name.
            Some(b"_text") if pid == KERNEL => (model::StackFrame::KERNEL.as_bytes(), Some(from.wrapping_sub(offset))),
            Some(_) => (model::StackFrame::KERNEL.as_bytes(), None),
            None => (path, Some(offset)),
        };
        let has_build_id = second && misc & WITH_BUILD_ID != 0;
        let build_id =
            if has_build_id { body.get(36..)?.get(..usize::from(*body.get(32)?).min(BUILD_ID)) } else { None };
        let inode = if second && !has_build_id {
            let device = [order.u32_at(body, 32)?, order.u32_at(body, 36)?];
            Some(Inode { device, number: order.u64_at(body, 40)? })
        } else {
            None
        };
        let code = Code { path: path.into(), build_id: build_id.map(hexadecimal), function: None, inode };
        let at = self.time(record);
        let file = self.all.file(code)?;
        self.all.add(pid, at, MappingEvent::Map(from, Mapping { to, since: at, offset, file }));
        Some(())
    }

    /// address, length (u32), kind and flags (u16 each), name.
    fn symbol(&mut self, record: &Record<'_>) -> Option<()> {
        let (order, body) = (self.order, record.body);
        let from = order.u64_at(body, 0)?;
        let to = from.checked_add(u64::from(order.u32_at(body, 8)?))?;
        let gone = order.u16_at(body, 14)? & 1 != 0;
        let function = self.text(body, 16)?;
        let at = self.time(record);
        if gone {
            self.all.add(KERNEL, at, MappingEvent::Unmap(from, to));
            return Some(());
        }
        let path = model::StackFrame::KERNEL.as_bytes();
        let code = Code { path: path.into(), build_id: None, function: Some(function.into()), inode: None };
        let file = self.all.file(code)?;
        self.all.add(KERNEL, at, MappingEvent::Map(from, Mapping { to, since: at, offset: None, file }));
        Some(())
    }

    /// Reads the build IDs of the header: a sequence of `struct perf_record_header_build_id`, each with a record head.
    fn build_ids(&mut self, header: &Header) {
        let mut rest = header.features.iter().find(|(f, _)| *f == header::FEATURE_BUILD_ID).map_or(&[][..], |(_, b)| b);
        while let (Some(misc), Some(size)) = (self.order.u16_at(rest, 4), self.order.u16_at(rest, 6)) {
            let Some((entry, after)) = rest.split_at_checked(usize::from(size).max(8)) else { break };
            self.build_id(misc, &entry[8..]);
            rest = after;
        }
    }

    /// pid, build ID (20 bytes, its length, padding), path.
    fn build_id(&mut self, misc: u16, entry: &[u8]) -> Option<()> {
        let id = entry.get(4..4 + BUILD_ID)?;
        let length = if misc & WITH_LENGTH != 0 { usize::from(*entry.get(4 + BUILD_ID)?) } else { BUILD_ID };
        let path = entry.get(28..)?.split(|b| *b == 0).next()?;
        let in_kernel = misc & MODE == IN_KERNEL;
        let image = path.starts_with(b"[kernel.") || path.rsplit(|b| *b == b'/').next()?.starts_with(b"vmlinux");
        let path = if in_kernel && image { model::StackFrame::KERNEL.as_bytes() } else { path };
        if self.all.reserve(path.len() + id.len()) {
            let id = hexadecimal(&id[..length.min(BUILD_ID)]);
            self.all.build_ids.insert((path.into(), in_kernel), id);
        }
        Some(())
    }
}

impl Mappings {
    fn reserve(&mut self, bytes: usize) -> bool {
        let fits = self.bytes + bytes <= MAX_PATH_BYTES;
        self.bytes += if fits { bytes } else { 0 };
        self.left_out += u64::from(!fits);
        fits
    }

    /// Returns the index of a file; `None` if there are too many.
    fn file(&mut self, code: Code) -> Option<usize> {
        if let Some(number) = self.numbers.get(&code) {
            return Some(*number);
        }
        let bytes = code.path.len() + code.function.as_ref().map_or(0, |f| f.len()) + size_of::<Code>();
        if !self.reserve(2 * bytes) {
            return None;
        }
        self.files.push(code.clone());
        self.numbers.insert(code, self.files.len() - 1);
        Some(self.files.len() - 1)
    }

    fn add(&mut self, pid: i32, at: Ns, change: MappingEvent) {
        if self.changes >= MAX_CHANGES {
            self.left_out += 1;
            return;
        }
        self.changes += 1;
        self.spaces.entry(pid).or_default().changes.push((at, change));
    }

    /// Finishes reading: sorts the changes and resolves the build IDs.
    fn finish(&mut self) {
        self.spaces.values_mut().for_each(|space| space.changes.sort_by_key(|(at, _)| *at));
        // The header contains build IDs by path, at the recording's end. If two files had the same path, the ID is
        // ambiguous.
        let mut inodes: FxHashMap<&[u8], Option<Inode>> = FxHashMap::default();
        let mut ambiguous: Vec<Box<[u8]>> = Vec::new();
        for code in &self.files {
            if *inodes.entry(&code.path).or_insert(code.inode) != code.inode {
                ambiguous.push(code.path.clone());
            }
        }
        ambiguous.iter().for_each(|path| drop(self.build_ids.remove(&(path.clone(), false))));
        // Modules are listed with the kernel, under paths that no program maps.
        for code in self.files.iter_mut().filter(|c| c.build_id.is_none() && c.function.is_none()) {
            let id =
                [false, true].into_iter().find_map(|in_kernel| self.build_ids.get(&(code.path.clone(), in_kernel)));
            code.build_id = id.cloned();
        }
        self.numbers = FxHashMap::default();
        let is_kernel = |code: &Code| *code.path == *model::StackFrame::KERNEL.as_bytes() && code.function.is_none();
        self.kernel_is_mapped = self.files.iter().any(is_kernel);
    }

    /// Finds the build IDs that the recording does not have. `lasted_ns`: how long it lasted at least.
    pub(super) fn identify(&mut self, tables: &dyn Tables, lasted_ns: u64) {
        for code in self.files.iter_mut().filter(|code| code.build_id.is_none() && !is_of_no_file(&code.path)) {
            let path = std::str::from_utf8(&code.path).ok().filter(|path| path.starts_with('/'));
            if let (Some(path), Some(inode)) = (path, code.inode.filter(|inode| inode.number != 0)) {
                code.build_id = tables.identify(path, inode, lasted_ns).map(Into::into);
            }
        }
    }

    /// Returns the build ID of a kernel that no mapping locates: this one, or that of the guest.
    pub(super) fn kernel_id(&self, path: &str, is_guest: bool) -> Option<&str> {
        // Where the kernel is mapped, code outside it is that of modules, or was generated.
        let is_mapped = !is_guest && self.kernel_is_mapped;
        self.build_ids.get(&(path.as_bytes().into(), !is_guest)).filter(|_| !is_mapped).map(AsRef::as_ref)
    }

    /// Returns how many changes the process and the kernel have seen at this time. If these are equal, the same
    /// addresses have the same locations.
    pub(super) fn version(&mut self, pid: i32, at: Ns) -> [u64; 2] {
        [pid, KERNEL].map(|pid| self.spaces.get_mut(&pid).map_or(0, |space| space.seen(at) as u64))
    }

    /// Returns the location of an address of a process, or of the kernel.
    pub(super) fn at(&mut self, pid: i32, at: Ns, address: u64, in_kernel: bool) -> Option<Place> {
        let (mut pid, mut at) = (if in_kernel { KERNEL } else { pid }, at);
        for _ in 0..MAX_PARENTS {
            let space = self.spaces.get_mut(&pid)?;
            let seen = space.seen(at);
            let found = match space.now(at, address) {
                Some(place) => Found::Place(place),
                None if seen == space.next => match (space.parent, space.begin) {
                    (Some(parent), Some(begin)) => Found::InParent(parent, begin),
                    _ => Found::Nothing,
                },
                None => {
                    let left = MAX_STEPS_BACK.saturating_sub(self.steps_back);
                    self.left_out += u64::from(left == 0);
                    let (found, steps) = space.before(seen, address, left);
                    self.steps_back += steps;
                    found
                }
            };
            match found {
                Found::Place(place) => return Some(place),
                Found::InParent(parent, begin) => (pid, at) = (parent, begin),
                Found::Nothing => return None,
            }
        }
        None
    }
}

impl Space {
    /// Applies the changes up to this time. Returns how many there are; more may have been applied for a later time.
    fn seen(&mut self, at: Ns) -> usize {
        self.advance(at);
        let applied = &self.changes[..self.next];
        match applied.last() {
            Some((last, _)) if *last > at => applied.partition_point(|(when, _)| *when <= at),
            _ => self.next,
        }
    }

    /// Returns what is mapped at an address, if it was there at this time, which may be before the last change applied.
    fn now(&self, at: Ns, address: u64) -> Option<Place> {
        if self.begin.is_some_and(|begin| begin > at) {
            return None;
        }
        let (from, mapping) = self.current.range(..=address).next_back()?;
        (address < mapping.to && mapping.since <= at).then(|| mapping.place(*from, address))
    }

    /// Searches the first changes backwards for an address, and returns how many it looked at.
    fn before(&self, changes: usize, address: u64, max_steps: u64) -> (Found, u64) {
        let mut steps = 0;
        for (when, change) in
            self.changes[..changes].iter().rev().take(usize::try_from(max_steps).unwrap_or(usize::MAX))
        {
            steps += 1;
            let found = match change {
                MappingEvent::Map(from, mapping) if (*from..mapping.to).contains(&address) => {
                    Found::Place(mapping.place(*from, address))
                }
                MappingEvent::Unmap(from, to) if (*from..*to).contains(&address) => Found::Nothing,
                MappingEvent::Fork(parent) => Found::InParent(*parent, *when),
                MappingEvent::Exec => Found::Nothing,
                MappingEvent::Map(..) | MappingEvent::Unmap(..) => continue,
            };
            return (found, steps);
        }
        (Found::Nothing, steps)
    }

    /// Applies the changes up to this time.
    fn advance(&mut self, at: Ns) {
        while let Some((when, change)) = self.changes.get(self.next).filter(|(when, _)| *when <= at) {
            match change {
                MappingEvent::Map(from, mapping) => {
                    let (from, mapping) = (*from, *mapping);
                    self.clear(from, mapping.to);
                    if mapping.to > from {
                        self.current.insert(from, mapping);
                    }
                }
                MappingEvent::Unmap(from, to) => {
                    let (from, to) = (*from, *to);
                    self.clear(from, to);
                }
                MappingEvent::Exec => (self.begin, self.parent, self.current) = (Some(*when), None, BTreeMap::new()),
                MappingEvent::Fork(parent) => {
                    (self.begin, self.parent, self.current) = (Some(*when), Some(*parent), BTreeMap::new());
                }
            }
            self.next += 1;
        }
    }

    /// Removes the mappings in a range. Of a mapping that extends beyond it, the rest is kept.
    fn clear(&mut self, from: u64, to: u64) {
        let first = self.current.range(..from).next_back().filter(|(_, m)| m.to > from).map(|(at, _)| *at);
        let overlapping: Vec<u64> =
            first.into_iter().chain(self.current.range(from..to.max(from)).map(|(at, _)| *at)).collect();
        for begin in overlapping {
            let Some(old) = self.current.remove(&begin) else { continue };
            if begin < from {
                self.current.insert(begin, Mapping { to: from, ..old });
            }
            if old.to > to {
                self.current.insert(to, Mapping { offset: old.offset.map(|o| o.wrapping_add(to - begin)), ..old });
            }
        }
    }
}

fn hexadecimal(id: &[u8]) -> Box<str> {
    id.iter().map(|b| format!("{b:02x}")).collect::<String>().into()
}
