//! Records callchains at blocking switch-outs (`--stacks`) and of samples (`--sample`).
//!
//! ```text
//!   switches carry numbers ─ see ─▶ new numbers ─ write_new ─▶ their addresses, into the spool
//!                                        └── /proc/PID/maps: what is mapped there ──▶ places.json, with names at the end
//! ```
//!
//! A number means the same addresses to the end, but an address means something else after an exec. So each process gets a new address
//! space, with its own number, at each exec. A callchain that was seen before an exec and not written by then has no address
//! space: its mappings can no longer be read.

use crate::generated::{self, GeneratedCode};
use crate::kept::{self, Kept};
use crate::mappings::{self, Mapping};
use crate::mmap_events::MmapEvents;
use crate::places::{self, CodeFile, KERNEL, Place, UNKNOWN};
use crate::spool::frame;
use crate::vdso;
use crate::wire::{self, Chain};
use model::{CallchainEnd, Ns, StackFrame, StackId};
use safefs::Dir;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::hash::Hash;
use std::io::{BufReader, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use symbols::build_id;

/// The errors of the kernel's map if another callchain has the slot, and if it is full.
const LOST: [i32; 2] = [-libc::EEXIST, -libc::ENOMEM];

/// The first number of the callchains of samples. The kernel's maps are smaller.
const FIRST_OWN: i32 = 1 << 24;
/// The most addresses of such callchains: 64 MB, as each is kept twice.
const MAX_OWN_ADDRESSES: usize = 4 << 20;

/// How many passes the address space of a process that has ended is kept after its last callchain.
const FORGET_ENDED: u64 = 8;

/// A process's mappings since an exec, or since it was first seen.
struct Space {
    number: u32,
    mappings: Vec<Mapping>,
    read_at: Ns,
    /// The pass in which they were read: a chain through memory that is not code does not cause more reads in one pass.
    pass: u64,
}

/// A file with code that occurs in callchains.
struct Code {
    name: String,
    build_id: Option<String>,
    inode: u64,
    /// Open, so that it can be read when it or its process is gone.
    file: Option<File>,
}

/// The callchains of a recording.
pub struct Callchains {
    of_switches: bool,
    /// Whether user callchains are unwound by tables: one that is not is the first of its process.
    unwinds: bool,
    /// The kernel's list of functions, opened before capabilities were dropped.
    functions: Option<BufReader<File>>,
    /// Kernel callchains seen since the last pass.
    kernel_seen: HashSet<i32>,
    /// User callchains by process and number, with the first and last time they were seen.
    user_seen: HashMap<(i32, i32), (Ns, Ns)>,
    /// How often each user callchain was seen since the last pass, and how they ended, by the number of [`CallchainEnd::ALL`].
    user_times: HashMap<i32, u64>,
    pub ends: [u64; CallchainEnd::ALL.len()],
    ended_by_number: HashMap<i32, CallchainEnd>,
    kernel_written: HashSet<i32>,
    user_written: HashMap<i32, HashSet<i32>>,
    spaces: HashMap<i32, Space>,
    last_space: u32,
    passes: u64,
    /// Spaces whose mappings turned out to be read after an exec.
    mistaken: HashSet<u32>,
    /// Processes that called exec since the last pass, with the first and last time.
    execs: HashMap<i32, (Ns, Ns)>,
    /// Processes that ended since the last pass.
    ended: HashSet<i32>,
    files: Vec<Code>,
    kept: Kept,
    generated: GeneratedCode,
    file_numbers: HashMap<(String, u64, Option<String>), usize>,
    /// What is mapped at an address of a space: a file's number, and the offset in it.
    places: BTreeMap<(u32, u64), Option<(usize, u64)>>,
    /// The mappings of processes that have ended, and their address spaces, by the number of the program.
    mmap_events: Arc<Mutex<MmapEvents>>,
    ended_spaces: HashMap<u64, Space>,
    /// Whether there are changes since the last call of [`Self::store`].
    pub changed: bool,
    /// The callchains of samples, which have no numbers in the kernel's maps: their numbers, from [`FIRST_OWN`] on.
    own_numbers: HashMap<Box<[u64]>, i32>,
    own: Vec<Box<[u64]>>,
    /// The number of addresses in `own`.
    own_addresses: usize,
    /// Callchains for which the kernel's maps, or [`MAX_OWN_ADDRESSES`], had no room.
    pub lost: u64,
    /// User callchains with unknown mappings.
    pub unmapped: u64,
    /// Frames without a name because there were too many.
    pub nameless: u64,
}

impl Callchains {
    /// Must be called before the capabilities for reading the kernel's list of functions are dropped.
    /// `of_switches`: switches have callchains, not only samples. `unwinds`: BPF programs unwind those of processes that are known.
    pub fn start(of_switches: bool, unwinds: bool) -> Self {
        Self {
            of_switches,
            unwinds,
            functions: File::open("/proc/kallsyms").map(|f| BufReader::with_capacity(1 << 16, f)).ok(),
            kernel_seen: HashSet::new(),
            user_seen: HashMap::new(),
            user_times: HashMap::new(),
            ends: [0; CallchainEnd::ALL.len()],
            ended_by_number: HashMap::new(),
            kernel_written: HashSet::new(),
            user_written: HashMap::new(),
            spaces: HashMap::new(),
            last_space: KERNEL,
            passes: 0,
            mistaken: HashSet::new(),
            execs: HashMap::new(),
            ended: HashSet::new(),
            files: Vec::new(),
            kept: Kept::default(),
            generated: GeneratedCode::default(),
            file_numbers: HashMap::new(),
            places: BTreeMap::new(),
            mmap_events: Arc::new(Mutex::new(MmapEvents::open(crate::procfs::online().into_iter()))),
            ended_spaces: HashMap::new(),
            changed: false,
            own_numbers: HashMap::new(),
            own: Vec::new(),
            own_addresses: 0,
            lost: 0,
            unmapped: 0,
            nameless: 0,
        }
    }

    /// What processes map.
    pub fn mmap_events(&self) -> Arc<Mutex<MmapEvents>> {
        Arc::clone(&self.mmap_events)
    }

    /// Notes the callchains in a block of events.
    pub fn see(&mut self, block: &[u8]) {
        let Some(head) = wire::block_head(block).filter(|_| self.of_switches) else { return };
        let data = block.get(wire::BLOCK_HEAD..).unwrap_or_default();
        let mut each = |chain: Chain, at: Ns| {
            self.see_one(chain, at);
            StackId::NONE
        };
        wire::decode_block(&head, data, 0, &mut each, &mut |_| ());
    }

    /// Notes the callchains of a sample, and returns their numbers.
    pub fn see_sample(&mut self, pid: i32, addresses: &[Vec<u64>; 2], ended: CallchainEnd, at: Ns) -> Chain {
        let ends = [CallchainEnd::Unknown, ended];
        let [kernel, user] = [0, 1].map(|part| self.own_number(&addresses[part], ends[part]));
        let chain = Chain { pid, kernel, user };
        self.see_one(chain, at);
        chain
    }

    fn own_number(&mut self, addresses: &[u64], ended: CallchainEnd) -> i32 {
        if addresses.is_empty() {
            return -libc::EFAULT;
        }
        // Its last word is how it ended.
        let addresses = [addresses, &[ended as u64]].concat().into_boxed_slice();
        if let Some(number) = self.own_numbers.get(&addresses) {
            return *number;
        }
        if self.own_addresses + addresses.len() > MAX_OWN_ADDRESSES {
            return -libc::ENOMEM;
        }
        self.own_addresses += addresses.len();
        let number = FIRST_OWN + self.own.len() as i32;
        self.own.push(addresses.clone());
        self.own_numbers.insert(addresses, number);
        number
    }

    /// Notes the callchains of an event.
    pub fn see_one(&mut self, chain: Chain, at: Ns) {
        self.lost += [chain.kernel, chain.user].iter().filter(|n| LOST.contains(n)).count() as u64;
        if (0..wire::CALLS).contains(&chain.kernel) {
            self.kernel_seen.insert(chain.kernel);
        }
        if chain.user >= 0 {
            widen(&mut self.user_seen, (chain.pid, chain.user), at);
            *self.user_times.entry(chain.user).or_default() += 1;
        }
    }

    /// Notes that a process called exec.
    pub fn exec(&mut self, pid: i32, at: Ns) {
        widen(&mut self.execs, pid, at);
        if let Some(space) = self.spaces.get(&pid).filter(|space| space.read_at >= at) {
            self.mistaken.insert(space.number);
        }
    }

    /// Notes that a process ended. Mappings that were read until then stay valid.
    pub fn exit(&mut self, pid: i32) {
        self.ended.insert(pid);
    }

    /// Begins a segment. It must contain all callchains that it uses.
    pub fn begin_segment(&mut self) {
        self.kernel_written.clear();
        self.user_written.clear();
    }

    /// Writes the new callchains as payloads of frames. `addresses` returns the addresses of a number, in user space (`true`) or in the
    /// kernel; `known` returns whether the mappings of a process may be kept.
    pub fn write_new(
        &mut self,
        addresses: &dyn Fn(bool, u32) -> Option<(Vec<u64>, CallchainEnd)>,
        known: &dyn Fn(i32) -> bool,
        write: &mut dyn FnMut(&[u8]),
    ) {
        self.passes += 1;
        self.mapped().begin_pass();
        let (own, unwinds) = (std::mem::take(&mut self.own), self.unwinds);
        let addresses = |user, number: i32| {
            let found = match usize::try_from(number - FIRST_OWN) {
                Ok(at) => {
                    own.get(at).and_then(|of| of.split_last()).map(|(end, of)| (of.to_vec(), wire::ended(*end as u32)))
                }
                Err(_) => addresses(user, number.cast_unsigned()),
            };
            let (of, ended) = found.unwrap_or((Vec::new(), CallchainEnd::Unknown));
            let not_yet = user && unwinds && ended == CallchainEnd::Unknown && !of.is_empty();
            (of, if not_yet { CallchainEnd::NotYet } else { ended })
        };
        for (number, times) in std::mem::take(&mut self.user_times) {
            let ended = *self.ended_by_number.entry(number).or_insert_with(|| addresses(true, number).1);
            self.ends[ended as usize] += times;
        }
        for number in std::mem::take(&mut self.kernel_seen) {
            if self.kernel_written.insert(number) {
                let found = addresses(false, number);
                self.write_one(KERNEL, (0, number), found, write);
            }
        }
        let execs = std::mem::take(&mut self.execs);
        let written_before: HashMap<i32, HashSet<i32>> =
            execs.keys().filter_map(|pid| Some((*pid, self.user_written.remove(pid)?))).collect();
        execs.keys().for_each(|pid| drop(self.spaces.remove(pid)));
        for ((pid, number), (first, last)) in std::mem::take(&mut self.user_seen) {
            let exec = execs.get(&pid);
            let before = exec.is_some_and(|exec| last < exec.0);
            if before && written_before.get(&pid).is_some_and(|written| written.contains(&number)) {
                continue;
            }
            if !before && !self.user_written.entry(pid).or_default().insert(number) {
                continue;
            }
            let found = addresses(true, number);
            let after = exec.is_none_or(|exec| first > exec.1);
            let mut space = if after && known(pid) { self.space(pid, &found.0) } else { UNKNOWN };
            if space == UNKNOWN && known(pid) {
                space = self.ended_space(pid, first, last);
            }
            self.unmapped += u64::from(space == UNKNOWN);
            self.write_one(space, (pid, number), found, write);
        }
        self.generated.look_again(&mut self.kept);
        self.ended_spaces.retain(|_, space| self.passes < space.pass + FORGET_ENDED);
        for pid in self.ended.drain() {
            self.spaces.remove(&pid);
            self.user_written.remove(&pid);
        }
        self.own = own;
    }

    fn mapped(&self) -> MutexGuard<'_, MmapEvents> {
        self.mmap_events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_one(
        &mut self,
        space: u32,
        of: (i32, i32),
        (addresses, ended): (Vec<u64>, CallchainEnd),
        write: &mut dyn FnMut(&[u8]),
    ) {
        let mut payload = vec![frame::STACK];
        payload.extend_from_slice(&space.to_ne_bytes());
        payload.extend_from_slice(&of.0.to_ne_bytes());
        payload.extend_from_slice(&of.1.to_ne_bytes());
        payload.extend_from_slice(&(ended as u32).to_ne_bytes());
        for (depth, address) in addresses.into_iter().enumerate() {
            payload.extend_from_slice(&address.to_ne_bytes());
            self.place(space, of.0, wire::code_at(address, depth == 0));
        }
        write(&payload);
    }

    /// Notes what is mapped at an address.
    fn place(&mut self, space: u32, pid: i32, address: u64) {
        if space == UNKNOWN || self.places.contains_key(&(space, address)) {
            return;
        }
        if self.places.len() >= places::MAX_PLACES {
            self.nameless += 1;
            return;
        }
        let of_ended = || self.ended_spaces.values().find(|of| of.number == space);
        let mapping = self.spaces.get(&pid).filter(|of| of.number == space).or_else(of_ended);
        if let Some(of) = mapping
            && mappings::at(&of.mappings, address).is_some_and(generated::is_generated)
        {
            self.generated.see(space, pid, &of.mappings, &mut self.kept);
        }
        let mapping = mapping.and_then(|of| mappings::at(&of.mappings, address)).cloned();
        let location = mapping.map(|m| {
            let offset = address - m.from + m.offset;
            (self.file(pid, m), offset)
        });
        self.places.insert((space, address), location);
        self.changed = true;
    }

    /// Returns the number of a file. Reads its build id when it is first seen.
    fn file(&mut self, pid: i32, mapping: Mapping) -> usize {
        let key = (mapping.name, mapping.inode, mapping.id);
        if let Some(number) = self.file_numbers.get(&key) {
            return *number;
        }
        let (name, inode, id) = key.clone();
        let file = match &id {
            Some(id) => Kept::with_id(pid, &name, id),
            None => Kept::mapped(pid, &name, inode),
        };
        let build_id = id.or_else(|| build_id::of_file(&kept::path_of(file.as_ref()?)));
        // Without the open file, its build id still finds it later.
        let file = file.filter(|_| self.kept.has_room());
        self.files.push(Code { name, build_id, inode, file });
        self.file_numbers.insert(key, self.files.len() - 1);
        self.files.len() - 1
    }

    /// Returns the address space of a process that has mappings at all these addresses, as far as the process has them.
    fn space(&mut self, pid: i32, addresses: &[u64]) -> u32 {
        let pass = self.passes;
        let has = |space: &Space| addresses.iter().all(|a| mappings::at(&space.mappings, *a).is_some());
        if let Some(space) = self.spaces.get(&pid).filter(|space| space.pass == pass || has(space)) {
            return space.number;
        }
        let read_at = wire::ns(crate::samples::now());
        let Some(mappings) = mappings::of_process(pid) else { return UNKNOWN };
        if let Some(space) = self.spaces.get_mut(&pid)
            && space.mappings == mappings
        {
            space.pass = pass;
            return space.number;
        }
        self.last_space += 1;
        self.spaces.insert(pid, Space { number: self.last_space, mappings, read_at, pass });
        self.last_space
    }

    /// Returns the address space of a process that has ended or called exec, by what it had mapped between two times.
    fn ended_space(&mut self, pid: i32, first: Ns, last: Ns) -> u32 {
        let Some((number, mappings)) = self.mapped().mappings(pid, first, last) else { return UNKNOWN };
        let space = self.ended_spaces.entry(number).or_insert_with(|| {
            self.last_space += 1;
            Space { number: self.last_space, mappings: Vec::new(), read_at: last, pass: self.passes }
        });
        space.mappings.clone_from(&mappings);
        space.pass = self.passes;
        space.number
    }

    /// Writes `places.json` to a spool's folder; with names of functions if `named` (at the end of the recording).
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn store(&mut self, spool: &Dir, named: bool) -> std::io::Result<()> {
        self.changed = false;
        let (mut all, mut of) = (Vec::with_capacity(self.places.len()), Vec::new());
        for ((space, address), location) in self.places.iter().filter(|((space, _), _)| !self.mistaken.contains(space))
        {
            let code = location.and_then(|(file, byte)| Some((self.files.get(file)?, byte)));
            let name = |name: &String| if name.is_empty() { StackFrame::GENERATED.to_owned() } else { name.clone() };
            let file = code.map(|(file, _)| name(&file.name));
            let (build_id, offset) = match code {
                Some((file, byte)) if file.inode != 0 => (file.build_id.clone(), Some(byte)),
                _ => (None, None),
            };
            of.push(location.map(|(file, _)| file));
            all.push(Place { space: *space, address: *address, file, build_id, offset, ..Place::default() });
        }
        if named {
            if let Some(list) = &mut self.functions {
                let _ = list.rewind().and_then(|()| places::name_kernel(&mut all, list));
            }
            let files: Vec<CodeFile> = self.files.iter().map(Code::readable).collect();
            places::name_files(&mut all, &of, &files);
            self.name_vdso(&mut all);
            self.generated.look_again(&mut self.kept);
            self.generated.name(&mut all);
        }
        places::store(spool, &all)
    }

    /// Names the places in the kernel's code for programs.
    fn name_vdso(&self, all: &mut [Place]) {
        let is_in_it = |place: &&mut Place| place.file.as_deref() == Some(vdso::NAME) && vdso::is_ours(place.address);
        let mut places: Vec<&mut Place> = all.iter_mut().filter(is_in_it).collect();
        if places.is_empty() {
            return;
        }
        let offset = |place: &Place| self.places.get(&(place.space, place.address)).copied().flatten();
        let offsets: Vec<u64> = places.iter().map(|place| offset(place).map_or(u64::MAX, |(_, byte)| byte)).collect();
        for (place, functions) in places.iter_mut().zip(vdso::functions(&offsets)) {
            place.set(functions);
        }
    }

    /// What could not be recorded, one sentence each.
    pub fn lacks(&self) -> Vec<String> {
        let mut lacks = Vec::new();
        if self.lost > 0 {
            let lost = self.lost;
            lacks.push(format!(
                "{lost} callchains are lost: the kernel's table of callchains was full, or another callchain had their slot."
            ));
        }
        if self.unmapped > 0 {
            let unmapped = self.unmapped;
            lacks.push(format!(
                "{unmapped} user callchains are addresses without names: their process had ended, called exec or is outside the \
                 target, so its mappings could not be read."
            ));
        }
        let lost_mappings = self.mapped().lost;
        if lost_mappings > 0 {
            lacks.push(format!(
                "{lost_mappings} records of what programs mapped are lost: callchains of processes that had ended by then may be addresses \
                 without names."
            ));
        }
        if self.generated.several > 0 {
            let several = self.generated.several;
            lacks.push(format!(
                "{several} addresses of code generated at run time had several functions, one after the other: they have the name of the \
                 last one."
            ));
        }
        if self.nameless > 0 {
            let (nameless, max) = (self.nameless, places::MAX_PLACES);
            lacks.push(format!(
                "{nameless} frames of callchains have no name: the limit of {max} addresses was reached."
            ));
        }
        lacks
    }
}

impl Code {
    /// Returns where the file can be read. Without a build id, the inode shows whether it is the same file. That is enough on the same machine, so
    /// soon after.
    fn readable(&self) -> CodeFile {
        let open = self.file.as_ref().map(kept::path_of);
        let unkept = || Some(PathBuf::from(&self.name)).filter(|path| is(path, self.inode));
        CodeFile { name: self.name.clone(), build_id: self.build_id.clone(), at: open.or_else(unkept) }
    }
}

/// Whether a path refers to this file.
fn is(path: &Path, inode: u64) -> bool {
    inode != 0 && std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.ino() == inode)
}

/// Extends an entry's first and last time to include `at`.
fn widen<K: Hash + Eq>(all: &mut HashMap<K, (Ns, Ns)>, of: K, at: Ns) {
    let (first, last) = all.entry(of).or_insert((at, at));
    (*first, *last) = ((*first).min(at), (*last).max(at));
}
