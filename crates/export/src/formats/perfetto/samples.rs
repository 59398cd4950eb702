//! Samples of profilers: `profiling/profile_packet.proto`, with their callchains as interned data (`profiling/profile_common.proto`,
//! `interned_data/interned_data.proto`). Ids of names and callchains are those of the trace.
//!
//! A frame of a file is relative to a mapping that would have the whole file at this place, so that `start` + `rel_pc` is its address, and
//! `rel_pc` its offset in the file. A mapping without a range has frames whose offset is unknown; their `rel_pc` is the address. The address
//! of a frame without a mapping is its `rel_pc` too. Perf's markers between kernel and user addresses are left out.
//!
//! Inlined functions have no frames of their own: `ModuleSymbols`, at the end, has the functions with lines at each `rel_pc` of a file, innermost first. A
//! frame has its own line too. A place that has other functions as a caller, which is before the return address, than as the interrupted one has no
//! symbols. There, and in frames without a mapping, inlined functions are frames.

use super::Pen;
use super::bundles::PACKET;
use super::programs::{SEQUENCE, packet};
use super::proto::Proto;
use model::{CpuId, NameId, Ns, StackFrame, StackId, Stacks, Tid};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// `SequenceFlags`: the packet refers to interned data.
const NEEDS_STATE: u64 = 2;
/// The size of a mapping: more than any file has.
const MAPPED: u64 = 1 << 40;

/// `interned_data.proto`.
mod interned {
    pub(super) const FUNCTIONS: u32 = 5;
    pub(super) const FRAMES: u32 = 6;
    pub(super) const CALLSTACKS: u32 = 7;
    pub(super) const BUILD_IDS: u32 = 16;
    pub(super) const PATHS: u32 = 17;
    pub(super) const SOURCES: u32 = 18;
    pub(super) const MAPPINGS: u32 = 19;
}

/// A mapping: the file, its build id, and where it begins, unless offsets are unknown.
type Mapping = (NameId, NameId, Option<u64>);

/// The functions at each `rel_pc` of a file, innermost first.
type Places = BTreeMap<u64, Box<[StackFrame]>>;

/// A file, its build id, and the place in it.
type Place = (NameId, NameId, u64);

/// The interned data written so far.
#[derive(Default)]
pub(super) struct Samples {
    stacks: Arc<Stacks>,
    /// The names written in each field.
    names: FxHashSet<(u32, NameId)>,
    mappings: FxHashMap<Mapping, u64>,
    frames: FxHashMap<StackFrame, u64>,
    callstacks: FxHashSet<StackId>,
    /// By file and build id.
    symbols: BTreeMap<(NameId, NameId), Places>,
    /// The places at which the functions are not the same in all callchains.
    ambiguous: FxHashSet<Place>,
}

impl Samples {
    pub(super) fn new(stacks: Arc<Stacks>) -> Self {
        let ambiguous = ambiguous(&stacks);
        Self { stacks, ambiguous, ..Self::default() }
    }

    /// Writes what a callchain refers to and was not written yet.
    fn intern(&mut self, id: StackId, to: &mut Proto) {
        let stacks = Arc::clone(&self.stacks);
        let Some(chain) = stacks.chain(id).filter(|_| self.callstacks.insert(id)) else { return };
        let mut frames = Vec::new();
        for functions in places(chain) {
            match functions.split_last() {
                Some((frame, _)) if self.has_symbols(frame) => {
                    let places = self.symbols.entry((frame.file, frame.build_id)).or_default();
                    places.entry(rel_pc(frame)).or_insert_with(|| functions.into());
                    frames.push(self.frame(frame, &stacks, to));
                }
                _ => functions.iter().for_each(|frame| frames.push(self.frame(frame, &stacks, to))),
            }
        }
        let callstack = to.begin(interned::CALLSTACKS);
        to.uint(1, id.0.into());
        // The outermost frame comes first.
        frames.iter().rev().for_each(|frame| to.uint(2, *frame));
        to.end(callstack);
    }

    fn frame(&mut self, frame: &StackFrame, stacks: &Stacks, to: &mut Proto) -> u64 {
        if let Some(iid) = self.frames.get(frame) {
            return *iid;
        }
        let has_function = self.name(interned::FUNCTIONS, frame.function, stacks, to);
        let mapping = self.mapping(frame, stacks, to);
        let has_source = self.name(interned::SOURCES, frame.source, stacks, to);
        let iid = self.frames.len() as u64 + 1;
        self.frames.insert(*frame, iid);
        let of = to.begin(interned::FRAMES);
        to.uint(1, iid);
        if has_function {
            to.uint(2, frame.function.0.into());
        }
        if let Some(mapping) = mapping {
            to.uint(3, mapping);
        }
        to.uint(4, if mapping.is_some() { rel_pc(frame) } else { frame.address });
        if has_source {
            to.uint(5, frame.source.0.into());
            to.uint(6, frame.line.into());
        }
        to.end(of);
        iid
    }

    /// Whether the functions of a frame are among the symbols of its file, and not frames.
    fn has_symbols(&self, frame: &StackFrame) -> bool {
        frame.file != NameId::NONE && !frame.inlined && !self.ambiguous.contains(&place(frame))
    }

    /// Returns the `ModuleSymbols` of all frames that were written, in messages of some thousand places.
    pub(super) fn symbols(&self) -> Vec<Proto> {
        let mut all = Vec::new();
        for ((file, build_id), places) in &self.symbols {
            let named: Vec<_> = places.iter().filter(|(_, of)| of.iter().any(|of| of.line > 0 || of.inlined)).collect();
            for places in named.chunks(PLACES) {
                let mut message = Proto::default();
                let path = self.stacks.name(*file).unwrap_or_default();
                // The name of a mapping begins with a slash, whatever it is.
                message.text(1, &if path.starts_with('/') { path.to_owned() } else { format!("/{path}") });
                if let Some(bytes) = bytes_of(*build_id, &self.stacks) {
                    message.bytes(2, &bytes);
                }
                for (place, functions) in places {
                    let address = message.begin(3);
                    message.uint(1, **place);
                    functions.iter().for_each(|function| self.line(function, &mut message));
                    message.end(address);
                }
                all.push(message);
            }
        }
        all
    }

    fn line(&self, function: &StackFrame, to: &mut Proto) {
        let line = to.begin(2);
        to.text(1, self.stacks.name(function.function).unwrap_or_default());
        if let Some(source) = self.stacks.name(function.source) {
            to.text(2, source);
        }
        if function.line > 0 {
            to.uint(3, function.line.into());
        }
        to.end(line);
    }

    fn mapping(&mut self, frame: &StackFrame, stacks: &Stacks, to: &mut Proto) -> Option<u64> {
        stacks.name(frame.file)?;
        let start = has_offset(frame).then(|| frame.address.wrapping_sub(frame.offset));
        let key = (frame.file, frame.build_id, start);
        if let Some(iid) = self.mappings.get(&key) {
            return Some(*iid);
        }
        self.name(interned::PATHS, frame.file, stacks, to);
        let has_build_id = self.build_id(frame.build_id, stacks, to);
        let iid = self.mappings.len() as u64 + 1;
        self.mappings.insert(key, iid);
        let of = to.begin(interned::MAPPINGS);
        to.uint(1, iid);
        if has_build_id {
            to.uint(2, frame.build_id.0.into());
        }
        if let Some(start) = start {
            to.uint(4, start);
            to.uint(5, start.wrapping_add(MAPPED));
        }
        to.uint(7, frame.file.0.into());
        to.end(of);
        Some(iid)
    }

    /// Writes a name, unless it was written; returns whether there is one.
    fn name(&mut self, field: u32, id: NameId, stacks: &Stacks, to: &mut Proto) -> bool {
        let Some(name) = stacks.name(id) else { return false };
        self.bytes(field, id, name.as_bytes(), to);
        true
    }

    /// Writes a build id, which is not in hexadecimal here.
    fn build_id(&mut self, id: NameId, stacks: &Stacks, to: &mut Proto) -> bool {
        let Some(bytes) = bytes_of(id, stacks) else { return false };
        self.bytes(interned::BUILD_IDS, id, &bytes, to);
        true
    }

    fn bytes(&mut self, field: u32, id: NameId, bytes: &[u8], to: &mut Proto) {
        if self.names.insert((field, id)) {
            let of = to.begin(field);
            to.uint(1, id.0.into());
            to.bytes(2, bytes);
            to.end(of);
        }
    }
}

/// The number of places in a message.
const PLACES: usize = 4096;

/// Returns the functions of each place of a callchain: the inlined ones, and the one that contains them. Perf's markers are left out.
fn places(chain: &[StackFrame]) -> impl Iterator<Item = &[StackFrame]> {
    let is_code = |of: &&[StackFrame]| of.last().is_some_and(|frame| frame.address < StackFrame::CONTEXT_MARKERS);
    chain.split_inclusive(|frame| !frame.inlined).filter(is_code)
}

/// Returns the places at which the functions are not the same in all callchains: as a caller, the place is before the address.
fn ambiguous(stacks: &Stacks) -> FxHashSet<Place> {
    let (mut known, mut ambiguous) = (FxHashMap::<Place, &[StackFrame]>::default(), FxHashSet::default());
    let lines = |of: &StackFrame| (of.function, of.source, of.line);
    for functions in stacks.chains.iter().flat_map(|chain| places(chain)) {
        let Some(frame) = functions.last().filter(|frame| frame.file != NameId::NONE) else { continue };
        let first = known.entry(place(frame)).or_insert(functions);
        if !first.iter().map(lines).eq(functions.iter().map(lines)) {
            ambiguous.insert(place(frame));
        }
    }
    ambiguous
}

fn place(frame: &StackFrame) -> Place {
    (frame.file, frame.build_id, rel_pc(frame))
}

/// Whether the offset in the file is known.
fn has_offset(frame: &StackFrame) -> bool {
    frame.offset & StackFrame::FROM_BASE == 0
}

/// Returns the place of a frame in its mapping, or its address.
fn rel_pc(frame: &StackFrame) -> u64 {
    if frame.file != NameId::NONE && has_offset(frame) { frame.offset } else { frame.address }
}

/// Returns the bytes of a build id, which is in hexadecimal.
fn bytes_of(id: NameId, stacks: &Stacks) -> Option<Vec<u8>> {
    let digits = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    stacks.name(id)?.as_bytes().chunks(2).map(digits).collect()
}

impl Pen<'_> {
    /// Writes the functions and lines of the frames, after all callchains.
    pub(super) fn symbols(&mut self) {
        for symbols in self.samples.symbols() {
            let p = &mut self.packets;
            let whole = p.begin(PACKET);
            p.uint(packet::SEQUENCE, SEQUENCE);
            p.bytes(packet::MODULE_SYMBOLS, &symbols.bytes);
            p.end(whole);
        }
    }

    /// Writes a callchain that an event refers to, unless it was written.
    pub(super) fn chain(&mut self, stack: StackId) {
        let mut interned = Proto::default();
        self.samples.intern(stack, &mut interned);
        if !interned.bytes.is_empty() {
            let p = &mut self.packets;
            let whole = p.begin(PACKET);
            p.uint(packet::SEQUENCE, SEQUENCE);
            p.uint(packet::SEQUENCE_FLAGS, NEEDS_STATE);
            p.bytes(packet::INTERNED, &interned.bytes);
            p.end(whole);
        }
    }

    /// Writes a sample, with the interned data that it is the first to need.
    pub(super) fn sample(&mut self, cpu: CpuId, at: Ns, tid: Tid, stack: StackId) {
        let mut interned = Proto::default();
        self.samples.intern(stack, &mut interned);
        let has_stack = self.samples.callstacks.contains(&stack);
        let pid = self.pids.get(&tid.0).copied().unwrap_or(tid.0);
        let p = &mut self.packets;
        let whole = p.begin(PACKET);
        p.uint(packet::TIMESTAMP, at.0.max(0).cast_unsigned());
        p.uint(packet::SEQUENCE, SEQUENCE);
        p.uint(packet::SEQUENCE_FLAGS, NEEDS_STATE);
        if !interned.bytes.is_empty() {
            p.bytes(packet::INTERNED, &interned.bytes);
        }
        let sample = p.begin(packet::SAMPLE);
        if cpu != CpuId::UNKNOWN {
            p.uint(1, cpu.0.into());
        }
        p.int(2, pid.into());
        p.int(3, tid.0.into());
        if has_stack {
            p.uint(4, stack.0.into());
        }
        p.end(sample);
        p.end(whole);
    }
}
