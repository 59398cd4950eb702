//! Samples of profilers (data source `linux.perf`) and their callchains: `profiling/profile_packet.proto` and the interned data that they
//! refer to, `profiling/profile_common.proto`.
//!
//! The address of a frame is `rel_pc` − `load_bias` + `start_offset` − `exact_offset` + `start` of its mapping, and its offset in the file
//! `rel_pc` − `load_bias` + `start_offset`. Without a mapping, or a range of it, `rel_pc` is taken as the address.

use super::marks::{for_each_number, push_bounded};
use super::wire::{Fields, Malformed};
use crate::callchains::Callchains;
use crate::tracepoint::Names;
use model::{Batch, CpuId, NameId, StackFrame, StackId, Tid};
use rustc_hash::FxHashMap;
use std::fmt::Write as _;

/// The maximum number of frames of a callchain, as the kernel has.
const MAX_FRAMES: usize = 1024;
/// Names of the kernel's mapping.
const KERNEL: [&str; 3] = ["/kernel", "/[kernel]", "[kernel]"];

/// The interned data of a sequence; cleared when the sequence requests it.
#[derive(Default)]
pub(super) struct Interned {
    /// By `iid`: names of functions.
    functions: FxHashMap<u64, NameId>,
    /// Parts of paths, and build ids.
    paths: FxHashMap<u64, Box<str>>,
    build_ids: FxHashMap<u64, NameId>,
    mappings: FxHashMap<u64, Mapping>,
    frames: FxHashMap<u64, Frame>,
    callstacks: FxHashMap<u64, Box<[u64]>>,
}

/// A mapped file.
#[derive(Clone, Default)]
struct Mapping {
    file: NameId,
    build_id: NameId,
    is_kernel: bool,
    range: [u64; 2],
    load_bias: u64,
    start_offset: u64,
    exact_offset: u64,
}

#[derive(Clone, Copy, Default)]
struct Frame {
    function: u64,
    mapping: u64,
    rel_pc: u64,
}

impl Interned {
    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        let texts = self.functions.len() + self.paths.len() + self.build_ids.len();
        texts + self.mappings.len() + self.frames.len() + self.callstacks.len()
    }

    /// Whether a field of the interned data belongs to profiles.
    pub(super) fn has(field: u32) -> bool {
        matches!(field, 5..=7 | 16 | 17 | 19)
    }

    /// Takes an entry of a field. Returns the `iid` of a callchain.
    pub(super) fn learn(
        &mut self,
        field: u32,
        body: &[u8],
        names: &mut Names,
        out: &mut Batch,
    ) -> Result<Option<u64>, Malformed> {
        match field {
            5 | 16 | 17 => self.text(field, body, names, out)?,
            6 => self.frame(body)?,
            7 => return self.callstack(body).map(Some),
            19 => self.mapping(body, names, out)?,
            _ => {}
        }
        Ok(None)
    }

    fn text(&mut self, field: u32, body: &[u8], names: &mut Names, out: &mut Batch) -> Result<(), Malformed> {
        let (mut iid, mut bytes) = (0, &[][..]);
        let mut fields = Fields::of(body);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => iid = value.number(),
                2 => bytes = value.bytes(),
                _ => {}
            }
        }
        match field {
            5 => _ = self.functions.insert(iid, names.id(bytes, out)),
            16 => {
                let mut hex = String::with_capacity(2 * bytes.len());
                bytes.iter().for_each(|byte| _ = write!(hex, "{byte:02x}"));
                self.build_ids.insert(iid, names.id(hex.as_bytes(), out));
            }
            _ => _ = self.paths.insert(iid, String::from_utf8_lossy(bytes).into()),
        }
        Ok(())
    }

    fn mapping(&mut self, body: &[u8], names: &mut Names, out: &mut Batch) -> Result<(), Malformed> {
        let (mut iid, mut mapping, mut parts) = (0, Mapping::default(), Vec::new());
        let mut fields = Fields::of(body);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => iid = value.number(),
                2 => mapping.build_id = self.build_ids.get(&value.number()).copied().unwrap_or_default(),
                3 => mapping.start_offset = value.number(),
                4 => mapping.range[0] = value.number(),
                5 => mapping.range[1] = value.number(),
                6 => mapping.load_bias = value.number(),
                7 => for_each_number(value, |part| push_bounded(&mut parts, part)),
                8 => mapping.exact_offset = value.number(),
                _ => {}
            }
        }
        let path = self.path(&parts);
        mapping.is_kernel = KERNEL.contains(&path.as_str());
        let file = if mapping.is_kernel { StackFrame::KERNEL } else { &path };
        mapping.file = names.id(file.as_bytes(), out);
        self.mappings.insert(iid, mapping);
        Ok(())
    }

    /// Returns a path by its parts; some writers have the whole path as one part.
    fn path(&self, parts: &[u64]) -> String {
        let parts: Vec<&str> = parts.iter().filter_map(|part| self.paths.get(part)).map(|part| &**part).collect();
        match parts[..] {
            [] => String::new(),
            [whole] if whole.starts_with(['/', '[']) => whole.to_owned(),
            _ => format!("/{}", parts.join("/")),
        }
    }

    fn frame(&mut self, body: &[u8]) -> Result<(), Malformed> {
        let (mut iid, mut frame) = (0, Frame::default());
        let mut fields = Fields::of(body);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => iid = value.number(),
                2 => frame.function = value.number(),
                3 => frame.mapping = value.number(),
                4 => frame.rel_pc = value.number(),
                _ => {}
            }
        }
        self.frames.insert(iid, frame);
        Ok(())
    }

    fn callstack(&mut self, body: &[u8]) -> Result<u64, Malformed> {
        let (mut iid, mut frames) = (0, Vec::new());
        let mut fields = Fields::of(body);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => iid = value.number(),
                2 => for_each_number(value, |frame| {
                    if frames.len() < MAX_FRAMES {
                        frames.push(frame);
                    }
                }),
                _ => {}
            }
        }
        self.callstacks.insert(iid, frames.into());
        Ok(iid)
    }

    /// Returns a callchain, innermost frame first.
    pub(super) fn stack(&self, iid: u64, chains: &mut Callchains, out: &mut Batch) -> StackId {
        let frames = self.callstacks.get(&iid).map(AsRef::as_ref).unwrap_or_default();
        for frame in frames.iter().rev().filter_map(|frame| self.frames.get(frame)) {
            chains.push_frame(self.resolved(frame));
        }
        chains.end(out)
    }

    fn resolved(&self, frame: &Frame) -> StackFrame {
        let function = self.functions.get(&frame.function).copied().unwrap_or_default();
        let Some(mapping) = self.mappings.get(&frame.mapping) else {
            return StackFrame { function, ..StackFrame::at(frame.rel_pc) };
        };
        let Mapping { file, build_id, is_kernel, range: [start, end], load_bias, start_offset, exact_offset } =
            *mapping;
        let of = StackFrame { function, file, build_id, ..StackFrame::at(frame.rel_pc) };
        if start == end {
            // The address in the kernel is not recorded.
            let address = if is_kernel && !of.in_kernel() { StackFrame::UNKNOWN_KERNEL_ADDRESS } else { of.address };
            return StackFrame { address, ..of };
        }
        let offset = frame.rel_pc.wrapping_sub(load_bias).wrapping_add(start_offset);
        StackFrame { address: offset.wrapping_sub(exact_offset).wrapping_add(start), offset, ..of }
    }
}

/// A `PerfSample`.
pub(super) struct Sample {
    pub(super) cpu: CpuId,
    pub(super) tid: Tid,
    /// The `iid` of its callchain; 0 if it has none.
    pub(super) callstack: u64,
}

impl Sample {
    /// Reads a sample; `None` if it is not one of a thread, but reports losses.
    pub(super) fn of(message: &[u8]) -> Result<Option<Self>, Malformed> {
        let (mut sample, mut is_sample) = (Self { cpu: CpuId::UNKNOWN, tid: Tid::UNKNOWN, callstack: 0 }, true);
        let mut fields = Fields::of(message);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => sample.cpu = CpuId(value.number() as u32),
                3 => sample.tid = Tid(value.int()),
                4 => sample.callstack = value.number(),
                // Records lost in the kernel, or an event of the producer.
                17 | 19 => is_sample = false,
                _ => {}
            }
        }
        Ok(Some(sample).filter(|sample| is_sample && sample.tid.0 > 0))
    }
}
