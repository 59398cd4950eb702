//! Callchains: the code location of a thread when it was switched out.

use crate::{Batch, NameId};
use serde::{Deserialize, Serialize};

/// A callchain of a stream; 0 means none. Ids count from 1 in the order of [`crate::Batch::stacks`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct StackId(pub u32);

impl StackId {
    /// No callchain was recorded.
    pub const NONE: Self = Self(0);
}

/// A frame of a callchain. Unknown names are [`NameId::NONE`].
///
/// ```
/// use model::StackFrame;
///
/// assert!(StackFrame::at(0xffff_ffff_8100_0000).in_kernel());
/// assert!(!StackFrame::at(0x40_1000).in_kernel());
/// // Not an address, but a marker: the next frames are in the program.
/// assert!(!StackFrame::at(StackFrame::CONTEXT_USER).in_kernel());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StackFrame {
    /// The address in memory: for the innermost frame the next instruction, for its callers the return address. Values from
    /// [`Self::CONTEXT_MARKERS`] on are perf's markers between kernel and user addresses; [`Self::UNKNOWN_KERNEL_ADDRESS`] is
    /// not an address.
    pub address: u64,
    /// The symbol of the function.
    pub function: NameId,
    /// The mapping at the address: a file path, or a name in brackets (`[kernel]`, `[vdso]`, a module name).
    pub file: NameId,
    /// The file's GNU build id, in hexadecimal.
    pub build_id: NameId,
    /// The offset in the file; for the kernel, relative to the begin of its code (`_text`), and for a module, to its load
    /// address. `u64::MAX` if unknown. See [`Self::FROM_BASE`].
    pub offset: u64,
    /// The path of the source file.
    pub source: NameId,
    /// The line in it: of the code or, for callers and functions into which others were inlined, of the call. 0 if unknown.
    pub line: u32,
    /// Whether the function is inlined: its code is a part of the function of the next frame that is not. All of them have the same address.
    pub inlined: bool,
}

impl StackFrame {
    /// The lowest context marker: `PERF_CONTEXT_MAX` (include/uapi/linux/perf_event.h).
    pub const CONTEXT_MARKERS: u64 = -4095_i64 as u64;

    /// `PERF_CONTEXT_USER`: user addresses follow. In programs without frame pointers, some of them may be invalid.
    pub const CONTEXT_USER: u64 = -512_i64 as u64;

    /// Stands for the unknown address of a kernel frame: the lowest kernel address.
    pub const UNKNOWN_KERNEL_ADDRESS: u64 = 1 << 63;

    /// A bit of [`Self::offset`]: the rest of it is no offset in the file, but relative to the lowest address for which the file is linked, as some
    /// sources have it. Only the file's headers say where in the file that is.
    pub const FROM_BASE: u64 = 1 << 62;

    /// The file name that stands for the kernel.
    pub const KERNEL: &str = "[kernel]";

    /// The file name that stands for memory of no file: code that the program made while it ran.
    pub const GENERATED: &str = "//anon";

    /// The function name of a frame that is no call: the code of the next frame only waits for another thread, without leaving its CPU.
    pub const SPIN_WAIT: &str = "[spin-wait]";

    /// The function names of a frame that is no call: the callchain is truncated there, and why. It stands in place of the callers that are
    /// missing. [`CallchainEnd::frame`] has it.
    const TRUNCATED: [&str; 6] = [
        "[truncated: too deep]",
        "[truncated: no unwind table]",
        "[truncated: stack not readable]",
        "[truncated: return address not in code]",
        "[by frame pointers: may be truncated]",
        "[truncated: end of the copied stack]",
    ];

    /// Whether a function name is that of a frame which is no call: it says why the callchain is truncated.
    #[must_use]
    pub fn says_truncated(function: &str) -> bool {
        Self::TRUNCATED.contains(&function)
    }

    /// Returns a frame with only an address.
    #[must_use]
    pub const fn at(address: u64) -> Self {
        let none = NameId::NONE;
        let (function, file, build_id, source) = (none, none, none, none);
        Self { address, function, file, build_id, offset: u64::MAX, source, line: 0, inlined: false }
    }

    /// Whether the frame is in the kernel, which has the upper half of the addresses.
    #[must_use]
    pub const fn in_kernel(&self) -> bool {
        self.address >> 63 == 1 && self.address < Self::CONTEXT_MARKERS
    }
}

/// How the part of a callchain in a program ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CallchainEnd {
    /// It is not known: it was followed by frame pointers, which a program need not keep.
    Unknown,
    /// At the root: the function that the kernel called first.
    Root,
    /// At the limit of frames.
    Depth,
    /// In code without a table for unwinding, or without frame pointers where it has none.
    NoTable,
    /// At a part of the stack that could not be read.
    Unreadable,
    /// At a return address that is not in code that was known.
    NotCode,
    /// It is not known, as [`Self::Unknown`]: the recorder, which unwinds others, did not know the process yet, or had not read a table.
    NotYet,
    /// At the end of the copy of the stack: perf copies only its innermost part.
    Cut,
}

impl CallchainEnd {
    /// All, in the order of their numbers in recordings.
    pub const ALL: [Self; 8] = [
        Self::Unknown,
        Self::Root,
        Self::Depth,
        Self::NoTable,
        Self::Unreadable,
        Self::NotCode,
        Self::NotYet,
        Self::Cut,
    ];

    /// Returns the name of the frame that stands for the missing callers; `None`: none are missing, or it is not known.
    #[must_use]
    pub fn frame(self) -> Option<&'static str> {
        let place = (self as usize).checked_sub(Self::Depth as usize)?;
        StackFrame::TRUNCATED.get(place).copied()
    }
}

/// Callchains and the names that they use.
///
/// ```
/// use model::{Batch, NameId, StackFrame, StackId, Stacks};
///
/// let frame = StackFrame { function: NameId(1), ..StackFrame::at(0x40_1000) };
/// let mut all = Stacks::default();
/// all.add(&Batch { names: vec!["main".into()], stacks: vec![[frame].into()], ..Batch::default() });
/// let chain = all.chain(StackId(1)).expect("the first callchain");
/// assert_eq!(all.name(chain[0].function), Some("main"));
/// assert_eq!(all.chain(StackId::NONE), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    /// The callchains, innermost frame first; the first one is [`StackId`] 1.
    pub chains: Vec<Box<[StackFrame]>>,
    /// The names; the first one is [`NameId`] 1.
    pub names: Vec<Box<str>>,
}

impl Stacks {
    /// Adds those of the next batch of a stream.
    pub fn add(&mut self, batch: &Batch) {
        self.chains.extend(batch.stacks.iter().cloned());
        self.names.extend(batch.names.iter().cloned());
    }

    /// Returns the name with this id, if there is one.
    #[must_use]
    pub fn name(&self, id: NameId) -> Option<&str> {
        self.names.get((id.0 as usize).checked_sub(1)?).map(AsRef::as_ref)
    }

    /// Returns the callchain with this id, if there is one.
    #[must_use]
    pub fn chain(&self, id: StackId) -> Option<&[StackFrame]> {
        self.chains.get((id.0 as usize).checked_sub(1)?).map(AsRef::as_ref)
    }
}
