//! Callchains: each distinct one once, with the locations of its addresses.

use super::mappings::Mappings;
use super::sample::Stamp;
use crate::tracepoint::Names;
use model::{Batch, NameId, StackFrame, StackId};
use rustc_hash::FxHashMap;

/// The maximum number of addresses of callchains kept, so that a hostile file cannot exhaust memory.
const MAX_ADDRESSES: usize = 4 << 20;

/// The callchains so far.
#[derive(Default)]
pub(super) struct Stacks {
    /// Keyed by process, by the versions of the process's and the kernel's mappings ([`Mappings::version`]), and by
    /// addresses: equal keys have the same frames.
    known: FxHashMap<Box<[u64]>, StackId>,
    ids: FxHashMap<Box<[StackFrame]>, StackId>,
    addresses: usize,
    /// The current callchain as a key of `known`.
    key: Vec<u64>,
    /// Path, build ID and function of each file used so far.
    files: FxHashMap<usize, [NameId; 3]>,
}

impl Stacks {
    /// Returns the ID of a callchain; none if there are too many.
    pub(super) fn id(
        &mut self,
        addresses: impl Iterator<Item = u64>,
        stamp: Stamp,
        mappings: &mut Mappings,
        names: &mut Names,
        out: &mut Batch,
    ) -> StackId {
        const PREFIX: usize = 3;
        let of_program = |address: u64| address < 1 << 63;
        self.key.clear();
        self.key.extend([0; PREFIX]);
        self.key.extend(addresses);
        // Callchains of the kernel only are the same in all processes.
        let pid = if self.key[PREFIX..].iter().any(|a| of_program(*a)) { stamp.pid.0 } else { 0 };
        let [of_process, of_kernel] = mappings.version(pid, stamp.at);
        self.key[..PREFIX].copy_from_slice(&[u64::from(pid.cast_unsigned()), of_process, of_kernel]);
        if let Some(id) = self.known.get(self.key.as_slice()) {
            return *id;
        }
        out.left_out.entries += std::mem::take(&mut mappings.left_out);
        if self.addresses + 2 * self.key.len() > MAX_ADDRESSES {
            out.left_out.callchains += 1;
            return StackId::NONE;
        }
        let (files, mut innermost, mut of_program) = (&mut self.files, true, false);
        let frames: Box<[StackFrame]> = self.key[PREFIX..]
            .iter()
            .map(|address| {
                let mut frame = StackFrame::at(*address);
                if *address >= StackFrame::CONTEXT_MARKERS {
                    (innermost, of_program) = (true, *address == StackFrame::CONTEXT_USER);
                    return frame;
                }
                // A return address is after the call, which may be the last instruction in its mapping.
                let back = u64::from(!std::mem::take(&mut innermost));
                let call = address.wrapping_sub(back);
                if let Some(place) = mappings.at(pid, stamp.at, call, frame.in_kernel() && !of_program) {
                    let code = &mappings.files[place.file];
                    let [file, build_id, function] = *files.entry(place.file).or_insert_with(|| {
                        let id = code.build_id.as_deref().unwrap_or_default();
                        [&code.path, id.as_bytes(), code.function.as_deref().unwrap_or_default()]
                            .map(|text| names.id(text, out))
                    });
                    (frame.file, frame.build_id, frame.function) = (file, build_id, function);
                    frame.offset = if place.offset == u64::MAX { u64::MAX } else { place.offset.wrapping_add(back) };
                }
                frame
            })
            .collect();
        self.addresses += self.key.len();
        let next = StackId(self.ids.len() as u32 + 1);
        let id = *self.ids.entry(frames).or_insert_with_key(|frames| {
            self.addresses += frames.len();
            out.stacks.push(frames.clone());
            next
        });
        self.known.insert(self.key.as_slice().into(), id);
        id
    }
}
