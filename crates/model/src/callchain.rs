//! Callchains: where in its code a thread was when it was switched out.

use crate::{Batch, NameId};
use serde::{Deserialize, Serialize};

/// A callchain of this stream; 0 is "none". Ids count from 1 in the order of [`crate::Batch::stacks`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct StackId(pub u32);

impl StackId {
    /// The source recorded none here.
    pub const NONE: Self = Self(0);
}

/// A frame of a callchain. What of it is not known is [`NameId::NONE`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StackFrame {
    /// Where it lay in memory: of the innermost frame the next instruction, of its callers the one to which it returns. Numbers
    /// from [`Self::CONTEXTS`] on are perf's marks between the kernel's addresses and the program's;
    /// [`Self::SOMEWHERE_IN_KERNEL`] is no place.
    pub address: u64,
    /// The function, by its symbol.
    pub function: NameId,
    /// What was mapped there: a file's path, or a name in brackets (`[kernel]`, `[vdso]`, a module's).
    pub file: NameId,
    /// The file's GNU build id, in hexadecimal.
    pub build_id: NameId,
    /// The byte of the file that lay there; of the kernel, bytes from the begin of its code (`_text`), and of a module from
    /// where it was loaded. `u64::MAX` where it is not known.
    pub offset: u64,
}

impl StackFrame {
    /// `PERF_CONTEXT_MAX` (include/uapi/linux/perf_event.h).
    pub const CONTEXTS: u64 = -4095_i64 as u64;

    /// `PERF_CONTEXT_USER`: what follows is the program's. Without frame pointers some of it may be no addresses at all.
    pub const OF_PROGRAM: u64 = -512_i64 as u64;

    /// Where a frame is told to lie that is the kernel's, of which nobody told the address: the least that the kernel has.
    pub const SOMEWHERE_IN_KERNEL: u64 = 1 << 63;

    /// What the kernel itself is called where files are.
    pub const KERNEL: &str = "[kernel]";

    /// A frame of which only the address is known.
    #[must_use]
    pub const fn at(address: u64) -> Self {
        Self { address, function: NameId::NONE, file: NameId::NONE, build_id: NameId::NONE, offset: u64::MAX }
    }

    /// Whether it lies in the kernel, which has the upper half of the addresses.
    #[must_use]
    pub const fn in_kernel(&self) -> bool {
        self.address >> 63 == 1 && self.address < Self::CONTEXTS
    }
}

/// Callchains with the texts that they name.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    /// Innermost frame first; the first is [`StackId`] 1.
    pub chains: Vec<Box<[StackFrame]>>,
    /// The first is [`NameId`] 1.
    pub names: Vec<Box<str>>,
}

impl Stacks {
    /// Those of a stream's next batch.
    pub fn add(&mut self, batch: &Batch) {
        self.chains.extend(batch.stacks.iter().cloned());
        self.names.extend(batch.names.iter().cloned());
    }

    /// A text, where it is known.
    #[must_use]
    pub fn name(&self, id: NameId) -> Option<&str> {
        self.names.get((id.0 as usize).checked_sub(1)?).map(AsRef::as_ref)
    }

    /// A callchain, where there is one of this number.
    #[must_use]
    pub fn chain(&self, id: StackId) -> Option<&[StackFrame]> {
        self.chains.get((id.0 as usize).checked_sub(1)?).map(AsRef::as_ref)
    }
}
