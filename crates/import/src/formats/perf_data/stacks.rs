//! Callchains: each different one once, with what lay at its addresses.

use super::mappings::Mappings;
use super::sample::Stamp;
use crate::tracepoint::Names;
use model::{Batch, NameId, StackFrame, StackId};
use rustc_hash::FxHashMap;

/// Addresses of callchains kept in all; a hostile file must not fill the memory.
const MOST_ADDRESSES: usize = 4 << 20;

/// The callchains met.
#[derive(Default)]
pub(super) struct Stacks {
    /// By process, what was mapped in it and in the kernel ([`Mappings::version`]), and addresses: the same are the same frames.
    known: FxHashMap<Box<[u64]>, StackId>,
    ids: FxHashMap<Box<[StackFrame]>, StackId>,
    addresses: usize,
    /// The callchain in hand, as it is asked for in `known`.
    key: Vec<u64>,
    /// Path, build id and function of each file, as far as they were told.
    told: FxHashMap<usize, [NameId; 3]>,
}

impl Stacks {
    /// The number of a callchain; none where there are too many.
    pub(super) fn id(
        &mut self,
        addresses: impl Iterator<Item = u64>,
        stamp: Stamp,
        mappings: &mut Mappings,
        names: &mut Names,
        out: &mut Batch,
    ) -> StackId {
        const BEFORE: usize = 3;
        let of_program = |address: u64| address < 1 << 63;
        self.key.clear();
        self.key.extend([0; BEFORE]);
        self.key.extend(addresses);
        // Those of the kernel alone are the same in every process.
        let pid = if self.key[BEFORE..].iter().any(|a| of_program(*a)) { stamp.pid.0 } else { 0 };
        let [of_process, of_kernel] = mappings.version(pid, stamp.at);
        self.key[..BEFORE].copy_from_slice(&[u64::from(pid.cast_unsigned()), of_process, of_kernel]);
        if let Some(id) = self.known.get(self.key.as_slice()) {
            return *id;
        }
        out.left_out.entries += std::mem::take(&mut mappings.left_out);
        if self.addresses + 2 * self.key.len() > MOST_ADDRESSES {
            out.left_out.callchains += 1;
            return StackId::NONE;
        }
        let (told, mut innermost, mut of_program) = (&mut self.told, true, false);
        let frames: Box<[StackFrame]> = self.key[BEFORE..]
            .iter()
            .map(|address| {
                let mut frame = StackFrame::at(*address);
                if *address >= StackFrame::CONTEXTS {
                    (innermost, of_program) = (true, *address == StackFrame::OF_PROGRAM);
                    return frame;
                }
                // A caller is where it called, which may be the last thing in its mapping.
                let back = u64::from(!std::mem::take(&mut innermost));
                let asked = address.wrapping_sub(back);
                if let Some(place) = mappings.at(pid, stamp.at, asked, frame.in_kernel() && !of_program) {
                    let code = &mappings.files[place.file];
                    let [file, build_id, function] = *told.entry(place.file).or_insert_with(|| {
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
