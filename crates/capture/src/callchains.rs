//! Callchains of threads that go to wait (`--stacks`), as they are recorded.
//!
//! ```text
//!   switches carry numbers ─ see ─▶ those not told yet ─ tell ─▶ their addresses, into the spool
//!                                          └── /proc/PID/maps: what is mapped there ──▶ places.json, with names at the end
//! ```
//!
//! A number means the same addresses to the end, but an address something else after an exec. So each process has an address
//! space with a number of its own from each exec on. What was seen before one that is told meanwhile has none, if it was not told
//! before: nobody can read any more what was mapped.

use crate::mappings::{self, Mapping};
use crate::places::{self, KERNEL, Place, UNKNOWN};
use crate::spool::frame;
use crate::wire::{self, Chain};
use model::{Ns, StackId};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::hash::Hash;
use std::io::{BufReader, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use symbols::build_id;

/// What the kernel's map says where another callchain has the place, and where it is full.
const LOST: [i32; 2] = [-libc::EEXIST, -libc::ENOMEM];

/// A process's mappings from an exec, or since it was seen first.
struct Space {
    number: u32,
    mappings: Vec<Mapping>,
    read_at: Ns,
    /// In which telling: a chain through what is no code is not looked for again and again.
    telling: u64,
}

/// A file that callchains go through.
struct Code {
    name: String,
    build_id: Option<String>,
    inode: u64,
}

/// Follows them from the first to the last.
pub struct Callchains {
    /// The kernel's list of functions, opened while that was permitted.
    functions: Option<BufReader<File>>,
    /// The kernel's that were seen since the last telling.
    kernel_seen: HashSet<i32>,
    /// The programs', by process and number, and when first and last.
    user_seen: HashMap<(i32, i32), (Ns, Ns)>,
    kernel_told: HashSet<i32>,
    user_told: HashMap<i32, HashSet<i32>>,
    spaces: HashMap<i32, Space>,
    last_space: u32,
    tellings: u64,
    /// Spaces that turned out to be read after an exec.
    mistaken: HashSet<u32>,
    /// Processes that began another program since the last telling, and when first and last.
    execs: HashMap<i32, (Ns, Ns)>,
    /// Those that ended.
    ended: HashSet<i32>,
    files: Vec<Code>,
    file_numbers: HashMap<(String, u64), usize>,
    /// What lies at an address of a space: a file's number, and the byte of it.
    places: BTreeMap<(u32, u64), Option<(usize, u64)>>,
    /// Whether there is something that was not stored yet.
    pub changed: bool,
    /// Callchains that the kernel's maps had no place for.
    pub lost: u64,
    /// Callchains of programs whose mappings nobody knows.
    pub unmapped: u64,
    /// Frames that have no name, for there were too many.
    pub nameless: u64,
}

impl Callchains {
    /// Before the rights to read the kernel's list of functions are given up.
    pub fn start() -> Self {
        Self {
            functions: File::open("/proc/kallsyms").map(|f| BufReader::with_capacity(1 << 16, f)).ok(),
            kernel_seen: HashSet::new(),
            user_seen: HashMap::new(),
            kernel_told: HashSet::new(),
            user_told: HashMap::new(),
            spaces: HashMap::new(),
            last_space: KERNEL,
            tellings: 0,
            mistaken: HashSet::new(),
            execs: HashMap::new(),
            ended: HashSet::new(),
            files: Vec::new(),
            file_numbers: HashMap::new(),
            places: BTreeMap::new(),
            changed: false,
            lost: 0,
            unmapped: 0,
            nameless: 0,
        }
    }

    /// A block of events was handed over.
    pub fn see(&mut self, block: &[u8]) {
        let Some(head) = wire::block_head(block) else { return };
        let data = block.get(wire::BLOCK_HEAD..).unwrap_or_default();
        let mut each = |chain: Chain, at: Ns| {
            self.lost += [chain.kernel, chain.user].iter().filter(|n| LOST.contains(n)).count() as u64;
            if chain.kernel >= 0 {
                self.kernel_seen.insert(chain.kernel);
            }
            if chain.user >= 0 {
                widen(&mut self.user_seen, (chain.pid, chain.user), at);
            }
            StackId::NONE
        };
        wire::decode_block(&head, data, 0, &mut each, &mut |_| ());
    }

    /// A process began another program.
    pub fn exec(&mut self, pid: i32, at: Ns) {
        widen(&mut self.execs, pid, at);
        if let Some(space) = self.spaces.get(&pid).filter(|space| space.read_at >= at) {
            self.mistaken.insert(space.number);
        }
    }

    /// A process ended. What was read of its mappings until then stays true.
    pub fn exit(&mut self, pid: i32) {
        self.ended.insert(pid);
    }

    /// A segment begins: it must tell all that it uses.
    pub fn begin_segment(&mut self) {
        self.kernel_told.clear();
        self.user_told.clear();
    }

    /// Tells those that are new, as payloads of frames. `addresses` gives those of a number, of a program (`true`) or the kernel;
    /// `known`: of which processes the mappings may be kept.
    pub fn tell(
        &mut self,
        addresses: &dyn Fn(bool, u32) -> Option<Vec<u64>>,
        known: &dyn Fn(i32) -> bool,
        write: &mut dyn FnMut(&[u8]),
    ) {
        self.tellings += 1;
        for number in std::mem::take(&mut self.kernel_seen) {
            if self.kernel_told.insert(number) {
                let found = addresses(false, number.cast_unsigned()).unwrap_or_default();
                self.tell_one(KERNEL, (0, number), found, write);
            }
        }
        let execs = std::mem::take(&mut self.execs);
        let told_before: HashMap<i32, HashSet<i32>> =
            execs.keys().filter_map(|pid| Some((*pid, self.user_told.remove(pid)?))).collect();
        execs.keys().for_each(|pid| drop(self.spaces.remove(pid)));
        for ((pid, number), (first, last)) in std::mem::take(&mut self.user_seen) {
            let exec = execs.get(&pid);
            let before = exec.is_some_and(|exec| last < exec.0);
            if before && told_before.get(&pid).is_some_and(|told| told.contains(&number)) {
                continue;
            }
            if !before && !self.user_told.entry(pid).or_default().insert(number) {
                continue;
            }
            let found = addresses(true, number.cast_unsigned()).unwrap_or_default();
            let after = exec.is_none_or(|exec| first > exec.1);
            let space = if after && known(pid) { self.space(pid, &found) } else { UNKNOWN };
            self.unmapped += u64::from(space == UNKNOWN);
            self.tell_one(space, (pid, number), found, write);
        }
        for pid in self.ended.drain() {
            self.spaces.remove(&pid);
            self.user_told.remove(&pid);
        }
    }

    fn tell_one(&mut self, space: u32, of: (i32, i32), addresses: Vec<u64>, write: &mut dyn FnMut(&[u8])) {
        let mut payload = vec![frame::STACK];
        payload.extend_from_slice(&space.to_ne_bytes());
        payload.extend_from_slice(&of.0.to_ne_bytes());
        payload.extend_from_slice(&of.1.to_ne_bytes());
        for (depth, address) in addresses.into_iter().enumerate() {
            payload.extend_from_slice(&address.to_ne_bytes());
            self.place(space, of.0, wire::code_at(address, depth == 0));
        }
        write(&payload);
    }

    /// Notes what lies at an address.
    fn place(&mut self, space: u32, pid: i32, address: u64) {
        if space == UNKNOWN || self.places.contains_key(&(space, address)) {
            return;
        }
        if self.places.len() >= places::MOST {
            self.nameless += 1;
            return;
        }
        let mapping = self.spaces.get(&pid).filter(|of| of.number == space);
        let mapping = mapping.and_then(|of| mappings::at(&of.mappings, address)).cloned();
        let lies = mapping.map(|m| {
            let byte = address - m.from + m.offset;
            (self.file(pid, m), byte)
        });
        self.places.insert((space, address), lies);
        self.changed = true;
    }

    /// The number of a file; its build id is read when it is seen first.
    fn file(&mut self, pid: i32, mapping: Mapping) -> usize {
        let key = (mapping.name, mapping.inode);
        if let Some(number) = self.file_numbers.get(&key) {
            return *number;
        }
        let (name, inode) = key.clone();
        let inside = PathBuf::from(format!("/proc/{pid}/root{name}"));
        let build_id =
            [inside.as_path(), Path::new(&name)].into_iter().filter(|path| is(path, inode)).find_map(build_id::of_file);
        self.files.push(Code { name, build_id, inode });
        self.file_numbers.insert(key, self.files.len() - 1);
        self.files.len() - 1
    }

    /// The address space of a process that has something mapped at all these addresses, as far as it has at all.
    fn space(&mut self, pid: i32, addresses: &[u64]) -> u32 {
        let telling = self.tellings;
        let has = |space: &Space| addresses.iter().all(|a| mappings::at(&space.mappings, *a).is_some());
        if let Some(space) = self.spaces.get(&pid).filter(|space| space.telling == telling || has(space)) {
            return space.number;
        }
        let read_at = wire::ns(crate::samples::now());
        let Some(mappings) = mappings::of_process(pid) else { return UNKNOWN };
        if let Some(space) = self.spaces.get_mut(&pid)
            && space.mappings == mappings
        {
            space.telling = telling;
            return space.number;
        }
        self.last_space += 1;
        self.spaces.insert(pid, Space { number: self.last_space, mappings, read_at, telling });
        self.last_space
    }

    /// Writes what lies where into a spool's folder: with names of functions at the end (`named`), without until then.
    ///
    /// # Errors
    /// As the file system says.
    pub fn store(&mut self, spool: &Path, named: bool) -> std::io::Result<()> {
        self.changed = false;
        let mut all = Vec::with_capacity(self.places.len());
        for ((space, address), lies) in self.places.iter().filter(|((space, _), _)| !self.mistaken.contains(space)) {
            let code = lies.and_then(|(file, byte)| Some((self.files.get(file)?, byte)));
            let file = code.map(|(file, _)| file.name.clone()).filter(|name| !name.is_empty());
            let (build_id, offset) = match code {
                Some((file, byte)) if file.inode != 0 => (file.build_id.clone(), Some(byte)),
                _ => (None, None),
            };
            all.push(Place { space: *space, address: *address, function: None, file, build_id, offset });
        }
        if named {
            if let Some(list) = &mut self.functions {
                let _ = list.rewind().and_then(|()| places::name_kernel(&mut all, list));
            }
            // Without a build id the file's number tells whether it is the same: on this machine, and so soon, that is enough.
            let mut inodes: HashMap<&str, u64> = HashMap::new();
            for file in &self.files {
                // One of two files of a name would take the other's functions.
                inodes.entry(&file.name).and_modify(|inode| *inode = 0).or_insert(file.inode);
            }
            places::name_files(&mut all, &|file| inodes.get(file).is_some_and(|inode| is(Path::new(file), *inode)));
        }
        places::store(spool, &all)
    }

    /// What could not be kept, a sentence each.
    pub fn lacks(&self) -> Vec<String> {
        let mut told = Vec::new();
        if self.lost > 0 {
            let lost = self.lost;
            told.push(format!(
                "Callchains that are lost: {lost}. The kernel's table of them was full, or had another one in their place."
            ));
        }
        if self.unmapped > 0 {
            let unmapped = self.unmapped;
            told.push(format!(
                "Callchains of programs that are addresses alone: {unmapped}. Their process had ended, began another program or is \
                 not the target's, so that its mappings could not be read."
            ));
        }
        if self.nameless > 0 {
            let (nameless, most) = (self.nameless, places::MOST);
            told.push(format!(
                "Frames of callchains that are not named: {nameless}. Names of {most} addresses are kept."
            ));
        }
        told
    }
}

/// Whether a path leads to this file.
fn is(path: &Path, inode: u64) -> bool {
    inode != 0 && std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.ino() == inode)
}

/// Takes a moment in between the first and the last ones of something.
fn widen<K: Hash + Eq>(all: &mut HashMap<K, (Ns, Ns)>, of: K, at: Ns) {
    let (first, last) = all.entry(of).or_insert((at, at));
    (*first, *last) = ((*first).min(at), (*last).max(at));
}
