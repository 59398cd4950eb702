//! Callchains of sources that record function names themselves. Each distinct callchain is stored once.

use model::{Batch, NameId, StackFrame, StackId};
use rustc_hash::FxHashMap;

/// The maximum number of frames kept in all callchains together, so that a hostile source cannot exhaust memory.
const MAX_FRAMES: usize = 4 << 20;
/// The maximum number of frames in one callchain, the same as the kernel's maximum.
const MAX_CHAIN_LENGTH: usize = 1024;

/// The distinct callchains seen so far, and the one being built.
#[derive(Default)]
pub(crate) struct Callchains {
    ids: FxHashMap<Box<[StackFrame]>, StackId>,
    frames: usize,
    chain: Vec<StackFrame>,
    /// Whether the callchain being built exceeded the maximum length.
    cut: bool,
}

impl Callchains {
    /// Adds the next caller to the callchain being built. `name` is called only for frames that are kept.
    pub(crate) fn push(&mut self, address: u64, name: impl FnOnce() -> NameId) {
        if self.chain.len() < MAX_CHAIN_LENGTH {
            let function = if self.frames < MAX_FRAMES { name() } else { NameId::NONE };
            self.chain.push(StackFrame { function, ..StackFrame::at(address) });
        } else {
            self.cut = true;
        }
    }

    /// Adds the next caller to the callchain being built.
    pub(crate) fn push_frame(&mut self, frame: StackFrame) {
        if self.chain.len() < MAX_CHAIN_LENGTH {
            self.chain.push(frame);
        } else {
            self.cut = true;
        }
    }

    /// Discards the callchain being built.
    pub(crate) fn clear(&mut self) {
        self.chain.clear();
        self.cut = false;
    }

    /// Finishes the callchain being built and returns its ID, or none if it is empty or the frame limit is reached.
    pub(crate) fn end(&mut self, out: &mut Batch) -> StackId {
        out.left_out.callchains += u64::from(std::mem::take(&mut self.cut));
        let id = match self.ids.get(self.chain.as_slice()) {
            Some(id) => *id,
            None if self.chain.is_empty() => StackId::NONE,
            None if self.frames + self.chain.len() > MAX_FRAMES => {
                out.left_out.callchains += 1;
                StackId::NONE
            }
            None => {
                let chain: Box<[StackFrame]> = self.chain.as_slice().into();
                self.frames += chain.len();
                out.stacks.push(chain.clone());
                let id = StackId(self.ids.len() as u32 + 1);
                self.ids.insert(chain, id);
                id
            }
        };
        self.chain.clear();
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_callchain_is_stored_once_and_truncated_at_the_maximum() {
        let (mut chains, mut out) = (Callchains::default(), Batch::default());
        let mut add_chain = |addresses: &[u64]| {
            addresses.iter().for_each(|address| chains.push(*address, || NameId::NONE));
            chains.end(&mut out)
        };
        let ids = [&[1, 2][..], &[], &[1], &[1, 2], &[7; 2 * MAX_CHAIN_LENGTH]].map(&mut add_chain);
        assert_eq!(ids, [1, 0, 2, 1, 3].map(StackId));
        assert_eq!(out.left_out.callchains, 1, "the truncated callchain");
        assert_eq!(out.stacks.iter().map(|s| s.len()).collect::<Vec<_>>(), [2, 1, MAX_CHAIN_LENGTH]);
    }
}
