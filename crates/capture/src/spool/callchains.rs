//! Callchains: from the numbers that switches carry to frames with their names.

use super::rare::Names;
use crate::places::{KERNEL, Place};
use crate::wire::{self, Bytes, Chain};
use model::{StackFrame, StackId};
use std::collections::HashMap;

/// Frames of callchains kept in all; a damaged spool must not fill the memory.
const MOST_FRAMES: usize = 4 << 20;

/// A callchain of a program.
struct Within {
    space: u32,
    addresses: Box<[u64]>,
}

/// What is known of callchains while a spool is read: bounded by the different ones.
#[derive(Default)]
pub struct Callchains {
    /// What lies where; by address space and address.
    places: HashMap<(u32, u64), Place>,
    kernel: HashMap<i32, Box<[u64]>>,
    /// By process and number.
    user: HashMap<(i32, i32), Within>,
    ids: HashMap<Box<[StackFrame]>, StackId>,
    frames: usize,
    /// Not yet handed out.
    pub fresh: Vec<Box<[StackFrame]>>,
    /// Uses of callchains that there is no room for, since this was last taken.
    pub left_out: u64,
}

impl Callchains {
    /// What lies where ([`crate::places::load`]).
    pub fn places(&mut self, places: Vec<Place>) {
        self.places = places.into_iter().map(|place| ((place.space, place.address), place)).collect();
    }

    /// Takes in a frame that tells the addresses of a callchain, behind its kind; `false` where it makes no sense.
    pub fn tell(&mut self, b: &mut Bytes<'_>) -> bool {
        let (space, pid, number) = (b.u32(), b.i32(), b.i32());
        let (addresses, rest) = b.rest().as_chunks::<8>();
        if !b.whole || !rest.is_empty() || self.frames + addresses.len() > MOST_FRAMES {
            return false;
        }
        self.frames += addresses.len();
        let addresses = addresses.iter().map(|bytes| u64::from_ne_bytes(*bytes)).collect();
        match space {
            KERNEL => drop(self.kernel.insert(number, addresses)),
            _ => drop(self.user.insert((pid, number), Within { space, addresses })),
        }
        true
    }

    /// The callchain that a switch names: the kernel's frames, then the program's. None where its addresses were lost.
    pub fn id(&mut self, chain: Chain, names: &mut Names) -> StackId {
        let (places, frames) = (&self.places, &mut Vec::new());
        let mut add = |space: u32, addresses: &[u64]| {
            for (depth, address) in addresses.iter().enumerate() {
                let asked = wire::code_at(*address, depth == 0);
                frames.push(places.get(&(space, asked)).map_or(StackFrame::at(*address), |place| {
                    let mut name = |text: &Option<String>| names.id(text.as_deref().unwrap_or_default());
                    let (function, file, build_id) = (name(&place.function), name(&place.file), name(&place.build_id));
                    // What lies at a caller's own place is told of where it returns to.
                    let offset = place.offset.map_or(u64::MAX, |o| o.wrapping_add(address.wrapping_sub(asked)));
                    StackFrame { address: *address, function, file, build_id, offset }
                }));
            }
        };
        if let Some(addresses) = self.kernel.get(&chain.kernel) {
            add(KERNEL, addresses);
        }
        if let Some(Within { space, addresses }) = self.user.get(&(chain.pid, chain.user)) {
            add(*space, addresses);
        }
        if frames.is_empty() {
            return StackId::NONE;
        }
        if let Some(id) = self.ids.get(frames.as_slice()) {
            return *id;
        }
        if self.frames + frames.len() > MOST_FRAMES {
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
