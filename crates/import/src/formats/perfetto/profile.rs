//! Callchains of samples, as interned data of their sequence: `profiling/profile_common.proto`.
//!
//! The address of a frame is `rel_pc` − `load_bias` + `start_offset` − `exact_offset` + `start` of its mapping, and its offset in the file
//! `rel_pc` − `load_bias` + `start_offset`. Without a mapping, or a range of it, `rel_pc` is taken as the address.
//!
//! The functions of a frame, with inlined ones and lines, are those of `ModuleSymbols` (`symbols`) at its `rel_pc`, or else the one that it names.

use super::marks::{for_each_number, push_bounded};
use super::symbols::{Symbols, hexadecimal};
use super::wire::{Fields, Malformed};
use crate::callchains::Callchains;
use crate::tracepoint::Names;
use model::{Batch, CallchainEnd, NameId, StackFrame, StackId};
use rustc_hash::FxHashMap;

/// The maximum number of frames of a callchain, as the kernel has.
const MAX_FRAMES: usize = 1024;
/// Names of the kernel's mapping.
const KERNEL: [&str; 3] = ["/kernel", "/[kernel]", "[kernel]"];
/// The mapping of the frame that stands for missing callers (`Unwinder::UnwindSample` of traced_perf).
const ERROR: &str = "/ERROR";

/// The interned data of a sequence; cleared when the sequence requests it.
#[derive(Default)]
pub(super) struct Interned {
    /// By `iid`: names of functions.
    functions: FxHashMap<u64, NameId>,
    /// Paths of source files.
    sources: FxHashMap<u64, NameId>,
    /// Parts of paths, and build ids in hexadecimal.
    paths: FxHashMap<u64, Box<str>>,
    build_ids: FxHashMap<u64, Box<str>>,
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
    is_error: bool,
    /// Its number among the files with symbols.
    module: Option<usize>,
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
    source: u64,
    line: u32,
}

/// How the callchains of a packet were written.
#[derive(Clone, Copy, Default)]
pub(super) struct Form {
    /// How much less than the return address is the address of a caller: traced_perf has that of the call.
    pub(super) back: u64,
    /// Whether the kernel's frames are followed by those of the program without a marker, which is added.
    pub(super) unmarked: bool,
    /// How the callchain ended, if its writer says it: its outermost frame stands for the missing callers.
    pub(super) ended: Option<CallchainEnd>,
}

/// What callchains are made with.
pub(super) struct Maker<'m> {
    pub(super) symbols: &'m Symbols,
    pub(super) chains: &'m mut Callchains,
    pub(super) names: &'m mut Names,
}

impl Interned {
    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        let texts = self.functions.len() + self.sources.len() + self.paths.len() + self.build_ids.len();
        texts + self.mappings.len() + self.frames.len() + self.callstacks.len()
    }

    /// Whether a field of the interned data belongs to profiles.
    pub(super) fn has(field: u32) -> bool {
        matches!(field, 5..=7 | 16..=19)
    }

    /// Takes an entry of a field. Returns the `iid` of a callchain.
    pub(super) fn learn(
        &mut self,
        field: u32,
        body: &[u8],
        (names, symbols): (&mut Names, &Symbols),
        out: &mut Batch,
    ) -> Result<Option<u64>, Malformed> {
        match field {
            5 | 16..=18 => self.text(field, body, names, out)?,
            6 => self.frame(body)?,
            7 => return self.callstack(body).map(Some),
            19 => self.mapping(body, (names, symbols), out)?,
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
            16 => _ = self.build_ids.insert(iid, hexadecimal(bytes).into()),
            18 => _ = self.sources.insert(iid, names.id(bytes, out)),
            _ => _ = self.paths.insert(iid, String::from_utf8_lossy(bytes).into()),
        }
        Ok(())
    }

    fn mapping(
        &mut self,
        body: &[u8],
        (names, symbols): (&mut Names, &Symbols),
        out: &mut Batch,
    ) -> Result<(), Malformed> {
        let (mut iid, mut mapping, mut parts, mut build_id) = (0, Mapping::default(), Vec::new(), "");
        let mut fields = Fields::of(body);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => iid = value.number(),
                2 => build_id = self.build_ids.get(&value.number()).map_or("", AsRef::as_ref),
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
        mapping.is_error = path == ERROR;
        // The name of a mapping begins with a slash, whatever it is.
        let named = if path.starts_with('/') { path.clone() } else { format!("/{path}") };
        mapping.module = symbols.module(&named, build_id);
        let file = if mapping.is_kernel { StackFrame::KERNEL } else { &path };
        [mapping.file, mapping.build_id] = [file, build_id].map(|text| names.id(text.as_bytes(), out));
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
                5 => frame.source = value.number(),
                6 => frame.line = u32::try_from(value.number()).unwrap_or(0),
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
    pub(super) fn stack(&self, iid: u64, form: Form, with: &mut Maker<'_>, out: &mut Batch) -> StackId {
        let frames = self.callstacks.get(&iid).map(AsRef::as_ref).unwrap_or_default();
        let frames: Vec<&Frame> = frames.iter().rev().filter_map(|frame| self.frames.get(frame)).collect();
        let (mut innermost, mut in_kernel) = (true, false);
        for (at, frame) in frames.iter().enumerate() {
            let mapping = self.mappings.get(&frame.mapping);
            if let Some(missing) = form.ended.and_then(CallchainEnd::frame)
                && mapping.is_some_and(|mapping| mapping.is_error)
                && at + 1 == frames.len()
            {
                let function = with.names.id(missing.as_bytes(), out);
                with.chains.push_frame(StackFrame { function, ..StackFrame::at(0) });
                continue;
            }
            let is_kernel = mapping.is_some_and(|mapping| mapping.is_kernel);
            if form.unmarked && in_kernel && !is_kernel {
                with.chains.push_frame(StackFrame::at(StackFrame::CONTEXT_USER));
                innermost = true;
            }
            in_kernel = is_kernel;
            let back = if std::mem::take(&mut innermost) { 0 } else { form.back };
            self.push(frame, mapping, back, with, out);
        }
        with.chains.end(out)
    }

    /// Adds a frame, and the functions that are inlined there, to the callchain being built.
    fn push(&self, frame: &Frame, mapping: Option<&Mapping>, back: u64, with: &mut Maker<'_>, out: &mut Batch) {
        let place = self.resolved(frame, mapping, back);
        let lines = mapping.and_then(|mapping| mapping.module).map(|module| with.symbols.at(module, frame.rel_pc));
        let Some((last, inner)) = lines.and_then(<[_]>::split_last) else { return with.chains.push_frame(place) };
        for line in inner.iter().chain([last]) {
            let (function, source) = (with.symbols.function(line), with.symbols.source(line));
            let [function, source] = [function, source].map(|text| with.names.id(text.as_bytes(), out));
            let inlined = !std::ptr::eq(line, last);
            let function = if function == NameId::NONE && !inlined { place.function } else { function };
            with.chains.push_frame(StackFrame { function, source, line: line.number, inlined, ..place });
        }
    }

    fn resolved(&self, frame: &Frame, mapping: Option<&Mapping>, back: u64) -> StackFrame {
        let function = self.functions.get(&frame.function).copied().unwrap_or_default();
        let source = self.sources.get(&frame.source).copied().unwrap_or_default();
        let of = StackFrame { function, source, line: frame.line, ..StackFrame::at(frame.rel_pc) };
        let Some(mapping) = mapping else { return of };
        let Mapping { file, build_id, is_kernel, range: [start, end], load_bias, start_offset, exact_offset, .. } =
            *mapping;
        let of = StackFrame { file, build_id, ..of };
        if start == end {
            // The address in the kernel is not recorded.
            let address = if is_kernel && !of.in_kernel() { StackFrame::UNKNOWN_KERNEL_ADDRESS } else { of.address };
            return StackFrame { address, ..of };
        }
        let offset = frame.rel_pc.wrapping_sub(load_bias).wrapping_add(start_offset).wrapping_add(back);
        StackFrame { address: offset.wrapping_sub(exact_offset).wrapping_add(start), offset, ..of }
    }
}
