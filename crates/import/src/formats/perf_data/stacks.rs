//! Callchains: each distinct one once, with the locations of its addresses.

use super::mappings::{MODE, Mappings};
use super::sample::Stamp;
use crate::tracepoint::Names;
use model::{Batch, CallchainEnd, NameId, StackFrame, StackId};
use rustc_hash::FxHashMap;

/// The maximum number of addresses of callchains kept, so that a hostile file cannot exhaust memory.
const MAX_ADDRESSES: usize = 4 << 20;

/// Whose code an address is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// By the address: the kernel has the upper half.
    Unknown,
    Kernel,
    User,
    Hypervisor,
    GuestKernel,
    GuestUser,
}

impl Mode {
    /// Reads the mode of a record's `misc` (`PERF_RECORD_MISC_CPUMODE_MASK`).
    pub(super) fn of_record(misc: u16) -> Self {
        match misc & MODE {
            1 => Self::Kernel,
            2 => Self::User,
            3 => Self::Hypervisor,
            4 => Self::GuestKernel,
            5 => Self::GuestUser,
            _ => Self::Unknown,
        }
    }

    /// Reads a marker of a callchain (`enum perf_callchain_context`).
    fn of_marker(marker: u64) -> Self {
        match (marker as i64).wrapping_neg() {
            32 => Self::Hypervisor,
            128 => Self::Kernel,
            512 => Self::User,
            2176 => Self::GuestKernel,
            2560 => Self::GuestUser,
            _ => Self::Unknown,
        }
    }

    /// Whether an address of the kernel is looked up among the kernel's; `None` if the mappings are not of this code.
    fn in_kernel(self, frame: &StackFrame) -> Option<bool> {
        match self {
            Self::Unknown => Some(frame.in_kernel()),
            Self::Kernel => Some(true),
            Self::User => Some(false),
            Self::Hypervisor | Self::GuestKernel | Self::GuestUser => None,
        }
    }

    /// Returns the name that stands for the file of an address which no mapping contains: perf's, except for the kernel.
    fn file(self, frame: &StackFrame) -> Option<&'static str> {
        match self {
            Self::Unknown => frame.in_kernel().then_some(StackFrame::KERNEL),
            Self::Kernel => Some(StackFrame::KERNEL),
            Self::User => None,
            Self::Hypervisor => Some("[hypervisor]"),
            Self::GuestKernel => Some("[guest.kernel.kallsyms]"),
            Self::GuestUser => Some("[guest]"),
        }
    }
}

/// The callchains so far.
#[derive(Default)]
pub(super) struct Stacks {
    /// Keyed by process, by the versions of the process's and the kernel's mappings ([`Mappings::version`]), by the mode and
    /// the end, and by addresses: equal keys have the same frames.
    known: FxHashMap<Box<[u64]>, StackId>,
    ids: FxHashMap<Box<[StackFrame]>, StackId>,
    addresses: usize,
    /// The current callchain as a key of `known`.
    key: Vec<u64>,
    /// Path, build ID and function of each file used so far.
    files: FxHashMap<usize, [NameId; 3]>,
}

impl Stacks {
    /// Returns the ID of a callchain; none if there are too many. `mode`: that of the record, up to the first marker; `end`: how the
    /// program's part ended.
    pub(super) fn id(
        &mut self,
        addresses: impl Iterator<Item = u64>,
        end: CallchainEnd,
        (stamp, mode): (Stamp, Mode),
        mappings: &mut Mappings,
        names: &mut Names,
        out: &mut Batch,
    ) -> StackId {
        const PREFIX: usize = 4;
        let of_program = |address: u64| address < 1 << 63;
        self.key.clear();
        self.key.extend([0; PREFIX]);
        self.key.extend(addresses);
        // Callchains of the kernel only are the same in all processes.
        let pid = if self.key[PREFIX..].iter().any(|a| of_program(*a)) { stamp.pid.0 } else { 0 };
        let [of_process, of_kernel] = mappings.version(pid, stamp.at);
        self.key[..PREFIX].copy_from_slice(&[
            u64::from(pid.cast_unsigned()),
            of_process,
            of_kernel,
            mode as u64 | (end as u64) << 8,
        ]);
        if let Some(id) = self.known.get(self.key.as_slice()) {
            return *id;
        }
        out.left_out.entries += std::mem::take(&mut mappings.left_out);
        if self.addresses + 2 * self.key.len() > MAX_ADDRESSES {
            out.left_out.callchains += 1;
            return StackId::NONE;
        }
        let (files, mut innermost, mut mode) = (&mut self.files, true, mode);
        let mut frames: Vec<StackFrame> = self.key[PREFIX..]
            .iter()
            .map(|address| {
                let mut frame = StackFrame::at(*address);
                if *address >= StackFrame::CONTEXT_MARKERS {
                    (innermost, mode) = (true, Mode::of_marker(*address));
                    return frame;
                }
                // A return address is after the call, which may be the last instruction in its mapping.
                let back = u64::from(!std::mem::take(&mut innermost));
                let call = address.wrapping_sub(back);
                let place = mode.in_kernel(&frame).and_then(|kernel| mappings.at(pid, stamp.at, call, kernel));
                if let Some(place) = place {
                    let code = &mappings.files[place.file];
                    let [file, build_id, function] = *files.entry(place.file).or_insert_with(|| {
                        let id = code.build_id.as_deref().unwrap_or_default();
                        [&code.path, id.as_bytes(), code.function.as_deref().unwrap_or_default()]
                            .map(|text| names.id(text, out))
                    });
                    (frame.file, frame.build_id, frame.function) = (file, build_id, function);
                    frame.offset = if place.offset == u64::MAX { u64::MAX } else { place.offset.wrapping_add(back) };
                } else if let Some(file) = mode.file(&frame) {
                    let id = mappings.kernel_id(file, mode == Mode::GuestKernel).unwrap_or_default();
                    [frame.file, frame.build_id] = [file, id].map(|text| names.id(text.as_bytes(), out));
                }
                frame
            })
            .collect();
        if let Some(missing) = end.frame() {
            frames.push(StackFrame { function: names.id(missing.as_bytes(), out), ..StackFrame::at(0) });
        }
        self.addresses += self.key.len();
        let next = StackId(self.ids.len() as u32 + 1);
        let id = *self.ids.entry(frames.into()).or_insert_with_key(|frames| {
            self.addresses += frames.len();
            out.stacks.push(frames.clone());
            next
        });
        self.known.insert(self.key.as_slice().into(), id);
        id
    }
}
