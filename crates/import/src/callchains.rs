//! Callchains of sources that name functions themselves: each different one once.

use model::{Batch, NameId, StackFrame, StackId};
use rustc_hash::FxHashMap;

/// Frames of callchains kept in all; a hostile source must not fill the memory.
const MOST_FRAMES: usize = 4 << 20;
/// As many as the kernel's largest callchain.
const LONGEST: usize = 1024;

/// The callchains met, and the one under way.
#[derive(Default)]
pub(crate) struct Callchains {
    ids: FxHashMap<Box<[StackFrame]>, StackId>,
    frames: usize,
    chain: Vec<StackFrame>,
    /// Whether the one under way is longer than is kept.
    cut: bool,
}

impl Callchains {
    /// The next caller; `name` is asked only for what is kept.
    pub(crate) fn push(&mut self, address: u64, name: impl FnOnce() -> NameId) {
        if self.chain.len() < LONGEST {
            let function = if self.frames < MOST_FRAMES { name() } else { NameId::NONE };
            self.chain.push(StackFrame { function, ..StackFrame::at(address) });
        } else {
            self.cut = true;
        }
    }

    /// Forgets the one under way.
    pub(crate) fn clear(&mut self) {
        self.chain.clear();
        self.cut = false;
    }

    /// Ends the one under way: its number; none where it is empty, or there are too many.
    pub(crate) fn end(&mut self, out: &mut Batch) -> StackId {
        out.left_out.callchains += u64::from(std::mem::take(&mut self.cut));
        let id = match self.ids.get(self.chain.as_slice()) {
            Some(id) => *id,
            None if self.chain.is_empty() => StackId::NONE,
            None if self.frames + self.chain.len() > MOST_FRAMES => {
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
    fn each_once_and_no_longer_than_the_kernels() {
        let (mut chains, mut out) = (Callchains::default(), Batch::default());
        let mut of = |addresses: &[u64]| {
            addresses.iter().for_each(|address| chains.push(*address, || NameId::NONE));
            chains.end(&mut out)
        };
        let ids = [&[1, 2][..], &[], &[1], &[1, 2], &[7; 2 * LONGEST]].map(&mut of);
        assert_eq!(ids, [1, 0, 2, 1, 3].map(StackId));
        assert_eq!(out.left_out.callchains, 1, "the one that is cut off");
        assert_eq!(out.stacks.iter().map(|s| s.len()).collect::<Vec<_>>(), [2, 1, LONGEST]);
    }
}
