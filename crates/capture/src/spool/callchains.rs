//! Resolves the callchain numbers of switches to frames with names.

use super::rare::Names;
use crate::places::{KERNEL, Place};
use crate::wire::{self, Bytes, Chain};
use model::{CallchainEnd, StackFrame, StackId};
use std::collections::HashMap;

/// Maximum number of frames in memory: a damaged spool must not fill the memory.
const MAX_FRAMES: usize = 4 << 20;

/// A user callchain.
struct UserChain {
    space: u32,
    addresses: Box<[u64]>,
    ended: CallchainEnd,
}

/// The callchains of a spool that is read. The number of different callchains limits its size.
#[derive(Default)]
pub struct Callchains {
    /// Functions and files, by address space and address.
    places: HashMap<(u32, u64), Place>,
    kernel: HashMap<i32, Box<[u64]>>,
    /// User callchains by process and number.
    user: HashMap<(i32, i32), UserChain>,
    ids: HashMap<Box<[StackFrame]>, StackId>,
    frames: usize,
    /// New callchains that have not been handed out.
    pub fresh: Vec<Box<[StackFrame]>>,
    /// Number of uses of callchains beyond the limit, since this was last taken.
    pub left_out: u64,
}

impl Callchains {
    /// Sets the functions and files at addresses ([`crate::places::load`]).
    pub fn places(&mut self, places: Vec<Place>) {
        self.places = places.into_iter().map(|place| ((place.space, place.address), place)).collect();
    }

    /// Adds the callchain in a frame, which is read after its kind. Returns `false` if it is invalid.
    pub fn add(&mut self, b: &mut Bytes<'_>) -> bool {
        let (space, pid, number, ended) = (b.u32(), b.i32(), b.i32(), wire::ended(b.u32()));
        let (addresses, rest) = b.rest().as_chunks::<8>();
        if !b.complete || !rest.is_empty() || self.frames + addresses.len() > MAX_FRAMES {
            return false;
        }
        self.frames += addresses.len();
        let addresses = addresses.iter().map(|bytes| u64::from_ne_bytes(*bytes)).collect();
        match space {
            KERNEL => drop(self.kernel.insert(number, addresses)),
            _ => drop(self.user.insert((pid, number), UserChain { space, addresses, ended })),
        }
        true
    }

    /// Returns the id of a switch's callchain: the kernel frames, then the user frames. [`StackId::NONE`] if its addresses were lost.
    pub fn id(&mut self, chain: Chain, names: &mut Names) -> StackId {
        let (places, frames) = (&self.places, &mut Vec::new());
        if chain.kernel >= wire::CALLS {
            frames.push(StackFrame {
                function: names.id(&entry_of(chain.kernel - wire::CALLS)),
                file: names.id(StackFrame::KERNEL),
                ..StackFrame::at(StackFrame::UNKNOWN_KERNEL_ADDRESS)
            });
        }
        let mut add = |space: u32, addresses: &[u64]| {
            for (depth, address) in addresses.iter().enumerate() {
                let code = wire::code_at(*address, depth == 0);
                let Some(place) = places.get(&(space, code)) else {
                    frames.push(StackFrame::at(*address));
                    continue;
                };
                let mut name = |text: &Option<String>| names.id(text.as_deref().unwrap_or_default());
                let (function, file, build_id) = (name(&place.function), name(&place.file), name(&place.build_id));
                // The place describes the call; the frame's offset is that of the return address.
                let offset = place.offset.map_or(u64::MAX, |o| o.wrapping_add(address.wrapping_sub(code)));
                let (source, line) = (name(&place.source), place.line);
                let frame = StackFrame { function, file, build_id, offset, source, line, ..StackFrame::at(*address) };
                frames.extend(place.inlined.iter().map(|of| StackFrame {
                    function: name(&of.function),
                    source: name(&of.source),
                    line: of.line,
                    inlined: true,
                    ..frame
                }));
                frames.push(frame);
            }
        };
        if let Some(addresses) = self.kernel.get(&chain.kernel) {
            add(KERNEL, addresses);
        }
        if let Some(UserChain { space, addresses, ended }) = self.user.get(&(chain.pid, chain.user)) {
            add(*space, addresses);
            if let Some(missing) = ended.frame() {
                frames.push(StackFrame { function: names.id(missing), ..StackFrame::at(0) });
            }
        }
        if frames.is_empty() {
            return StackId::NONE;
        }
        if let Some(id) = self.ids.get(frames.as_slice()) {
            return *id;
        }
        if self.frames + frames.len() > MAX_FRAMES {
            self.left_out += 1;
            return StackId::NONE;
        }
        self.frames += frames.len();
        let id = StackId(self.ids.len() as u32 + 1);
        let chain: Box<[StackFrame]> = frames.as_slice().into();
        self.fresh.push(chain.clone());
        self.ids.insert(chain, id);
        id
    }
}

/// Returns the kernel's entry function for a system call of x86-64, by its number, or for a page fault. It stands for a callchain of which
/// only this frame is known.
fn entry_of(call: i32) -> String {
    if call == wire::PAGE_FAULT {
        return "asm_exc_page_fault".to_owned();
    }
    format!("__x64_sys_{}", call_name(call))
}

/// Returns the name of a system call, or its number if it has no known name.
pub fn call_name(call: i32) -> String {
    let known = usize::try_from(call).ok().and_then(syscalls::x86_64::Sysno::new);
    known.map_or_else(|| call.to_string(), |call| call.name().to_owned())
}
