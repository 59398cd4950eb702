//! Samples of profilers: `profiling/profile_packet.proto`, with their callchains as interned data (`profiling/profile_common.proto`,
//! `interned_data/interned_data.proto`). Ids of names and callchains are those of the trace.
//!
//! A frame of a file is relative to a mapping that would have the whole file at this place, so that `start` + `rel_pc` is its address, and
//! `rel_pc` its offset in the file. A mapping without a range has frames whose offset is unknown; their `rel_pc` is the address. The address
//! of a frame without a mapping is its `rel_pc` too. Perf's markers between kernel and user addresses are left out.

use super::Pen;
use super::bundles::PACKET;
use super::programs::{SEQUENCE, packet};
use super::proto::Proto;
use model::{CpuId, NameId, Ns, StackFrame, StackId, Stacks, Tid};
use rustc_hash::{FxHashMap, FxHashSet};
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
    pub(super) const MAPPINGS: u32 = 19;
}

/// A mapping: the file, its build id, and where it begins, unless offsets are unknown.
type Mapping = (NameId, NameId, Option<u64>);

/// The interned data written so far.
#[derive(Default)]
pub(super) struct Samples {
    stacks: Arc<Stacks>,
    /// The names written in each field.
    names: FxHashSet<(u32, NameId)>,
    mappings: FxHashMap<Mapping, u64>,
    frames: FxHashMap<StackFrame, u64>,
    callstacks: FxHashSet<StackId>,
    /// Whether paths are left out.
    redact: bool,
}

impl Samples {
    pub(super) fn new(stacks: Arc<Stacks>, redact: bool) -> Self {
        Self { stacks, redact, ..Self::default() }
    }

    /// Writes what a callchain refers to and was not written yet.
    fn intern(&mut self, id: StackId, to: &mut Proto) {
        let stacks = Arc::clone(&self.stacks);
        let Some(chain) = stacks.chain(id).filter(|_| self.callstacks.insert(id)) else { return };
        let frames: Vec<u64> = chain
            .iter()
            .filter(|frame| frame.address < StackFrame::CONTEXT_MARKERS)
            .map(|frame| self.frame(frame, &stacks, to))
            .collect();
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
        let offset = if mapping.is_some() && frame.offset != u64::MAX { frame.offset } else { frame.address };
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
        to.uint(4, offset);
        to.end(of);
        iid
    }

    fn mapping(&mut self, frame: &StackFrame, stacks: &Stacks, to: &mut Proto) -> Option<u64> {
        stacks.name(frame.file).filter(|_| !self.redact)?;
        let start = (frame.offset != u64::MAX).then(|| frame.address.wrapping_sub(frame.offset));
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
        let digits = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes = stacks.name(id).and_then(|name| name.as_bytes().chunks(2).map(digits).collect::<Option<Vec<u8>>>());
        let Some(bytes) = bytes else { return false };
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

impl Pen<'_> {
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
