//! What was mapped where and when, so that an address of a callchain is a byte of a file.
//!
//! perf reads its buffers in turn, so a mapping may stand in the file behind a sample that came after it:
//!
//! ```text
//!   file:  … [cpu0: sample 5, sample 7] [cpu1: mmap 4] ROUND …      both samples are in what was mapped at 4
//! ```
//!
//! So where there are callchains the file's records of mappings are read first ([`scan`]), and each process's are gone through
//! in order of time as its samples ask. What asks for a time before the last change at its place is told nothing.

use super::frames::{Frames, Record};
use super::header::{self, Attr, Header};
use super::stream::Layouts;
use crate::tracepoint::ByteOrder;
use model::Ns;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Changes of mappings kept in all; a hostile file must not fill the memory.
const MOST_CHANGES: usize = 1 << 19;
/// Bytes of paths kept in all.
const MOST_BYTES: usize = 16 << 20;
/// So many parents back what a process did not map itself is looked for.
const MOST_PARENTS: usize = 16;
/// The kernel's address space.
const KERNEL: i32 = -1;
/// Bits of `misc`: in which mode (kernel 1, user 2), of data, of an exec, with a build id, with its length.
const MODE: u16 = 7;
const IN_KERNEL: u16 = 1;
const OF_DATA: u16 = 1 << 13;
const OF_EXEC: u16 = 1 << 13;
const WITH_BUILD_ID: u16 = 1 << 14;
const WITH_LENGTH: u16 = 1 << 15;
/// A build id as `perf_event.h` has it.
const BUILD_ID: usize = 20;

/// What lies at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// Index into [`Mappings::files`].
    pub(super) file: usize,
    /// The byte of it; of the kernel, from `_text` on. `u64::MAX` where that is not known.
    pub(super) offset: u64,
}

/// A file that is mapped, or a function that the kernel made.
#[derive(PartialEq, Eq, Hash, Clone, Debug)]
pub(super) struct Code {
    pub(super) path: Box<[u8]>,
    pub(super) build_id: Option<Box<str>>,
    /// Where the record names it: BPF programs and the kernel's trampolines.
    pub(super) function: Option<Box<[u8]>>,
    inode: u64,
}

#[derive(Clone, Copy)]
struct Mapping {
    to: u64,
    since: Ns,
    /// Of its first address; `None`: not known.
    offset: Option<u64>,
    file: usize,
}

enum Change {
    Map(u64, Mapping),
    Unmap(u64, u64),
    Exec,
    /// By which process.
    Born(i32),
}

/// An address space.
#[derive(Default)]
struct Space {
    changes: Vec<(Ns, Change)>,
    next: usize,
    /// Since when it is as new.
    begin: Option<Ns>,
    parent: Option<i32>,
    now: BTreeMap<u64, Mapping>,
}

/// All address spaces.
#[derive(Default)]
pub(super) struct Mappings {
    pub(super) files: Vec<Code>,
    numbers: FxHashMap<Code, usize>,
    bytes: usize,
    changes: usize,
    /// Changes that were not kept, for there were too many.
    pub(super) left_out: u64,
    spaces: FxHashMap<i32, Space>,
    /// By path and whether the kernel's: what the header or a record of its own tells.
    build_ids: FxHashMap<(Box<[u8]>, bool), Box<str>>,
}

/// Reads the mappings of a file whose events begin here; where no event has callchains, nothing.
pub(super) fn scan(mut frames: Frames<'_>, header: &Header) -> Mappings {
    let mut scan = Scan { order: header.order, attrs: header.attrs.clone(), layouts: None, all: Mappings::default() };
    scan.build_ids(header);
    // What cannot be read is told when the events are.
    while let Ok(Some(record)) = frames.peek() {
        let aside = match scan.read(&record) {
            Some(aside) => aside,
            None => return Mappings::default(),
        };
        frames.take();
        frames.gaps();
        if aside > 0 && frames.skip_aside(aside).is_err() {
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
    /// Reads a record; gives how many bytes behind it are none, or `None` where there are no callchains.
    fn read(&mut self, record: &Record<'_>) -> Option<usize> {
        let body = record.body;
        let size = |size: Option<u64>| size.and_then(|s| usize::try_from(s).ok()).unwrap_or(0);
        match record.kind {
            header::HEADER_ATTR => self.attrs.extend(header::attr_of_record(body, self.order)),
            header::TRACING_DATA => return Some(size(self.order.u32_at(body, 0).map(u64::from))),
            header::AUXTRACE => return Some(size(self.order.u64_at(body, 0))),
            header::BUILD_ID => {
                self.build_id(record.misc, body);
            }
            kind if kind >= header::FIRST_SYNTHETIC => {}
            _ if self.layouts.is_none() => {
                if !self.attrs.iter().any(Attr::has_callchains) {
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
                self.of_process(record, |_, _| Some(Change::Exec));
            }
            header::FORK => {
                // Those of time 0 tell what was there already, each with mappings of its own.
                let born = |order: ByteOrder, body: &[u8]| {
                    let parent = order.u32_at(body, 4)? as i32;
                    (Some(parent) != order.u32_at(body, 0).map(|pid| pid as i32)).then_some(Change::Born(parent))
                };
                if self.time(record) > Ns::ZERO {
                    self.of_process(record, born);
                }
            }
            _ => {}
        }
        Some(0)
    }

    /// When; what tells no time was so from the begin.
    fn time(&self, record: &Record<'_>) -> Ns {
        let layout = self.layouts.as_ref().and_then(|l| l.get(record.body, self.order, false));
        layout.and_then(|l| l.stamp_behind(record.body, self.order)).map_or(Ns::ZERO, |stamp| stamp.at)
    }

    /// A text that ends with NUL, before the stamp.
    fn text<'b>(&self, body: &'b [u8], at: usize) -> Option<&'b [u8]> {
        let layout = self.layouts.as_ref().and_then(|l| l.get(body, self.order, false));
        let end = body.len().checked_sub(layout.map_or(0, |l| l.id_size))?;
        body.get(at..end)?.split(|b| *b == 0).next()
    }

    fn of_process(
        &mut self,
        record: &Record<'_>,
        change: impl FnOnce(ByteOrder, &[u8]) -> Option<Change>,
    ) -> Option<()> {
        let pid = self.order.u32_at(record.body, 0)? as i32;
        let change = change(self.order, record.body)?;
        let at = self.time(record);
        self.all.add(pid, at, change);
        Some(())
    }

    /// pid, tid, address, length, offset; MMAP2 goes on with the file's number or build id, and protection.
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
            return Some(()); // a guest's
        }
        let (path, offset): (&[u8], _) = match path.strip_prefix(b"[kernel.kallsyms]") {
            // Where the symbol behind the name lay stands in the place of the offset.
            Some(b"_text") if pid == KERNEL => (model::StackFrame::KERNEL.as_bytes(), Some(from.wrapping_sub(offset))),
            Some(_) => (model::StackFrame::KERNEL.as_bytes(), None),
            None => (path, Some(offset)),
        };
        let told = second && misc & WITH_BUILD_ID != 0;
        let build_id = if told { body.get(36..)?.get(..usize::from(*body.get(32)?).min(BUILD_ID)) } else { None };
        let inode = if second && !told { order.u64_at(body, 40)? } else { 0 };
        let code = Code { path: path.into(), build_id: build_id.map(hexadecimal), function: None, inode };
        let at = self.time(record);
        let file = self.all.file(code)?;
        self.all.add(pid, at, Change::Map(from, Mapping { to, since: at, offset, file }));
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
            self.all.add(KERNEL, at, Change::Unmap(from, to));
            return Some(());
        }
        let path = model::StackFrame::KERNEL.as_bytes();
        let code = Code { path: path.into(), build_id: None, function: Some(function.into()), inode: 0 };
        let file = self.all.file(code)?;
        self.all.add(KERNEL, at, Change::Map(from, Mapping { to, since: at, offset: None, file }));
        Some(())
    }

    /// Those of the header: `struct perf_record_header_build_id`, one behind the other, each with a head as records have.
    fn build_ids(&mut self, header: &Header) {
        let mut rest = header.features.iter().find(|(f, _)| *f == header::FEATURE_BUILD_ID).map_or(&[][..], |(_, b)| b);
        while let (Some(misc), Some(size)) = (self.order.u16_at(rest, 4), self.order.u16_at(rest, 6)) {
            let Some((entry, behind)) = rest.split_at_checked(usize::from(size).max(8)) else { break };
            self.build_id(misc, &entry[8..]);
            rest = behind;
        }
    }

    /// pid, build id (20 bytes, its length, padding), path.
    fn build_id(&mut self, misc: u16, entry: &[u8]) -> Option<()> {
        let id = entry.get(4..4 + BUILD_ID)?;
        let length = if misc & WITH_LENGTH != 0 { usize::from(*entry.get(4 + BUILD_ID)?) } else { BUILD_ID };
        let path = entry.get(28..)?.split(|b| *b == 0).next()?;
        let in_kernel = misc & MODE == IN_KERNEL;
        let image = path.starts_with(b"[kernel.") || path.rsplit(|b| *b == b'/').next()?.starts_with(b"vmlinux");
        let path = if in_kernel && image { model::StackFrame::KERNEL.as_bytes() } else { path };
        if self.all.room_for(path.len() + id.len()) {
            let id = hexadecimal(&id[..length.min(BUILD_ID)]);
            self.all.build_ids.insert((path.into(), in_kernel), id);
        }
        Some(())
    }
}

impl Mappings {
    fn room_for(&mut self, bytes: usize) -> bool {
        let fits = self.bytes + bytes <= MOST_BYTES;
        self.bytes += if fits { bytes } else { 0 };
        self.left_out += u64::from(!fits);
        fits
    }

    /// The number of a file; `None` where there are too many.
    fn file(&mut self, code: Code) -> Option<usize> {
        if let Some(number) = self.numbers.get(&code) {
            return Some(*number);
        }
        let bytes = code.path.len() + code.function.as_ref().map_or(0, |f| f.len()) + size_of::<Code>();
        if !self.room_for(2 * bytes) {
            return None;
        }
        self.files.push(code.clone());
        self.numbers.insert(code, self.files.len() - 1);
        Some(self.files.len() - 1)
    }

    fn add(&mut self, pid: i32, at: Ns, change: Change) {
        if self.changes >= MOST_CHANGES {
            self.left_out += 1;
            return;
        }
        self.changes += 1;
        self.spaces.entry(pid).or_default().changes.push((at, change));
    }

    /// All is told.
    fn finish(&mut self) {
        self.spaces.values_mut().for_each(|space| space.changes.sort_by_key(|(at, _)| *at));
        // The header tells build ids by path, at the recording's end: of two files of one path it is nobody's.
        let mut inodes: FxHashMap<&[u8], u64> = FxHashMap::default();
        let mut two: Vec<Box<[u8]>> = Vec::new();
        for code in &self.files {
            if *inodes.entry(&code.path).or_insert(code.inode) != code.inode {
                two.push(code.path.clone());
            }
        }
        two.iter().for_each(|path| drop(self.build_ids.remove(&(path.clone(), false))));
        // Modules stand among the kernel's, by a path that no program is mapped from.
        for code in self.files.iter_mut().filter(|c| c.build_id.is_none() && c.function.is_none()) {
            let id =
                [false, true].into_iter().find_map(|in_kernel| self.build_ids.get(&(code.path.clone(), in_kernel)));
            code.build_id = id.cloned();
        }
        self.numbers = FxHashMap::default();
    }

    /// How many changes a process has seen by then, and the kernel: where it is the same, the same addresses are the same places.
    pub(super) fn version(&mut self, pid: i32, at: Ns) -> [u64; 2] {
        [pid, KERNEL].map(|pid| {
            let space = self.spaces.get_mut(&pid);
            space.map_or(0, |space| {
                space.advance(at);
                // One that is told nothing, or less, is another one than that which is.
                (space.next as u64) << 1
                    | u64::from(space.changes[..space.next].last().is_some_and(|(last, _)| *last > at))
            })
        })
    }

    /// What lies at an address of a process, or of the kernel.
    pub(super) fn at(&mut self, pid: i32, at: Ns, address: u64, in_kernel: bool) -> Option<Place> {
        let (mut pid, mut at) = (if in_kernel { KERNEL } else { pid }, at);
        for _ in 0..MOST_PARENTS {
            let space = self.spaces.get_mut(&pid)?;
            space.advance(at);
            if space.begin.is_some_and(|begin| begin > at) {
                return None;
            }
            if let Some((from, mapping)) = space.now.range(..=address).next_back().filter(|(_, m)| address < m.to) {
                let offset = mapping.offset.map_or(u64::MAX, |offset| offset.wrapping_add(address - from));
                return (mapping.since <= at).then_some(Place { file: mapping.file, offset });
            }
            (pid, at) = (space.parent?, space.begin?);
        }
        None
    }
}

impl Space {
    /// Takes in what changed until then.
    fn advance(&mut self, at: Ns) {
        while let Some((when, change)) = self.changes.get(self.next).filter(|(when, _)| *when <= at) {
            match change {
                Change::Map(from, mapping) => {
                    let (from, mapping) = (*from, *mapping);
                    self.clear(from, mapping.to);
                    if mapping.to > from {
                        self.now.insert(from, mapping);
                    }
                }
                Change::Unmap(from, to) => {
                    let (from, to) = (*from, *to);
                    self.clear(from, to);
                }
                Change::Exec => (self.begin, self.parent, self.now) = (Some(*when), None, BTreeMap::new()),
                Change::Born(parent) => {
                    (self.begin, self.parent, self.now) = (Some(*when), Some(*parent), BTreeMap::new());
                }
            }
            self.next += 1;
        }
    }

    /// Takes away what is mapped there; of a mapping that goes on before or behind, the rest stays.
    fn clear(&mut self, from: u64, to: u64) {
        let first = self.now.range(..from).next_back().filter(|(_, m)| m.to > from).map(|(at, _)| *at);
        let there: Vec<u64> = first.into_iter().chain(self.now.range(from..to.max(from)).map(|(at, _)| *at)).collect();
        for begin in there {
            let Some(old) = self.now.remove(&begin) else { continue };
            if begin < from {
                self.now.insert(begin, Mapping { to: from, ..old });
            }
            if old.to > to {
                self.now.insert(to, Mapping { offset: old.offset.map(|o| o.wrapping_add(to - begin)), ..old });
            }
        }
    }
}

fn hexadecimal(id: &[u8]) -> Box<str> {
    id.iter().map(|b| format!("{b:02x}")).collect::<String>().into()
}
