//! What a sample has of the program's stack other than a callchain: registers and a copy of the stack (`--call-graph dwarf`), which are
//! unwound by the call frame information of the mapped files, or the processor's records of calls (`--call-graph lbr`).

use super::features;
use super::header::{Attr, Header};
use super::mappings::{Mappings, is_of_no_file};
use super::sample::Stamp;
use super::stacks::Mode;
use crate::tracepoint::ByteOrder;
use model::{CallchainEnd, StackFrame};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use unwind::{Code, Ended, Endings, Machine, Memory, Registers, Table, Tables, Why};

// Bits of `sample_type` (perf_event.h), in the order of their parts.
const BRANCH_STACK: u64 = 1 << 11;
const REGS_USER: u64 = 1 << 12;
const STACK_USER: u64 = 1 << 13;
// Bits of `branch_sample_type`.
pub(super) const CALL_STACK: u64 = 1 << 11;
const HW_INDEX: u64 = 1 << 17;
const COUNTERS: u64 = 1 << 19;
/// The most frames of a program that are followed: perf's own default is 127.
const DEPTH: usize = 127;
/// `PERF_SAMPLE_REGS_ABI_64`.
const ABI_64: u64 = 2;

/// Which of these parts the samples of an attribute have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    branches: Option<u64>,
    registers: Option<u64>,
    stack: bool,
}

impl Parts {
    pub(super) fn of(attr: &Attr) -> Self {
        let has = |bit| attr.sample_type & bit != 0;
        Self {
            branches: has(BRANCH_STACK).then_some(attr.branches),
            registers: has(REGS_USER).then_some(attr.registers),
            stack: has(STACK_USER),
        }
    }

    /// Whether callchains can be made from them.
    pub(super) fn any(self) -> bool {
        self.stack && self.registers.is_some() || self.branches.is_some_and(|kind| kind & CALL_STACK != 0)
    }
}

/// What a sample has of the program's stack.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct UserStack<'b> {
    /// The calls that have not returned, innermost first: from, to, flags.
    calls: Option<(&'b [u8], ByteOrder)>,
    copy: Option<Copied<'b>>,
}

impl UserStack<'_> {
    /// Whether there is any.
    pub(super) fn any(&self) -> bool {
        self.copy.is_some() || self.calls.is_some()
    }
}

/// Registers, and the copy of the stack from the stack pointer on.
#[derive(Clone, Copy, Debug)]
struct Copied<'b> {
    mask: u64,
    registers: &'b [u8],
    stack: &'b [u8],
    order: ByteOrder,
}

/// Reads the parts after the tracepoint's record; `None` if the sample is too short.
pub(super) fn read(parts: Parts, body: &[u8], order: ByteOrder) -> Option<UserStack<'_>> {
    let mut user = UserStack::default();
    let mut at = 0;
    let word = |at: &mut usize| {
        let word = order.u64_at(body, *at)?;
        *at += 8;
        Some(word)
    };
    let take = |at: &mut usize, size: u64| {
        let part = body.get(*at..)?.get(..usize::try_from(size).ok()?)?;
        *at += part.len();
        Some(part)
    };
    if let Some(kind) = parts.branches {
        let count = word(&mut at)?;
        if kind & HW_INDEX != 0 {
            word(&mut at)?;
        }
        let branches = take(&mut at, count.checked_mul(24)?)?;
        if kind & COUNTERS != 0 {
            take(&mut at, count.checked_mul(8)?)?;
        }
        if kind & CALL_STACK != 0 {
            user.calls = Some((branches, order)).filter(|_| count > 0);
        }
    }
    let Some(mask) = parts.registers else { return Some(user) };
    let abi = word(&mut at)?;
    let registers = if abi == 0 { &[] } else { take(&mut at, u64::from(mask.count_ones()) * 8)? };
    if !parts.stack {
        return Some(user);
    }
    let size = word(&mut at)?;
    if size > 0 {
        let stack = take(&mut at, size)?;
        let used = usize::try_from(word(&mut at)?).ok()?.min(stack.len());
        // Of 32-bit programs, the registers are left out, so that the stack is counted as not unwound.
        let registers = if abi == ABI_64 { registers } else { &[] };
        user.copy = Some(Copied { mask, registers, stack: &stack[..used], order }).filter(|_| abi != 0);
    }
    Some(user)
}

impl Copied<'_> {
    /// Returns a register by perf's number for it.
    fn register(&self, number: u32) -> Option<u64> {
        let bit = 1_u64.checked_shl(number)?;
        let before = (self.mask & (bit - 1)).count_ones() as usize;
        (self.mask & bit != 0).then(|| self.order.u64_at(self.registers, before * 8)).flatten()
    }

    /// Returns the registers that the walk needs (arch/x86/include/uapi/asm/perf_regs.h, arch/arm64/include/uapi/asm/perf_regs.h).
    fn of(&self, machine: Machine) -> Option<Registers> {
        let [pc, sp, fp] = match machine {
            Machine::X86_64 => [8, 7, 6],
            Machine::Arm64 => [32, 31, 29],
        }
        .map(|number| self.register(number));
        let lr = if machine == Machine::Arm64 { self.register(30)? } else { 0 };
        Some(Registers { pc: pc?, sp: sp?, fp: fp?, lr })
    }
}

/// The copy of a stack as memory.
struct Copy<'b> {
    from: u64,
    bytes: &'b [u8],
    order: ByteOrder,
    /// Memory after the copy was needed.
    beyond: bool,
}

impl Memory for Copy<'_> {
    fn word(&mut self, at: u64) -> Option<u64> {
        let inside = usize::try_from(at.checked_sub(self.from)?).ok()?;
        let word = self.order.u64_at(self.bytes, inside);
        self.beyond |= word.is_none();
        word
    }
}

/// What code of a mapped file is to the walk.
#[derive(Clone)]
enum Known {
    /// Its table.
    Table(Arc<Table>),
    /// Generated code, and files without call frame information.
    NoTable,
    Missing,
}

/// Makes callchains of programs.
pub(super) struct Unwinder {
    tables: Option<Arc<dyn Tables>>,
    machine: Option<Machine>,
    /// How long the recording lasted at least, ns, until the files without a build ID have been identified.
    lasted_ns: Option<u64>,
    /// Of each file in [`Mappings::files`] that was needed.
    known: FxHashMap<usize, Known>,
    endings: Endings,
    /// The callchain made last.
    addresses: Vec<u64>,
    /// How it ended.
    end: CallchainEnd,
}

impl Default for Unwinder {
    fn default() -> Self {
        Self {
            tables: None,
            machine: None,
            lasted_ns: None,
            known: FxHashMap::default(),
            endings: Endings::default(),
            addresses: Vec::new(),
            end: CallchainEnd::Unknown,
        }
    }
}

impl Unwinder {
    pub(super) fn new(header: &Header) -> Self {
        let machine = match features::arch(header).as_deref() {
            _ if header.order == ByteOrder::Big => None,
            Some("x86_64") => Some(Machine::X86_64),
            Some("aarch64" | "arm64") => Some(Machine::Arm64),
            _ => None,
        };
        Self { machine, lasted_ns: features::lasted(header), ..Self::default() }
    }

    pub(super) fn unwind_by(&mut self, tables: &Arc<dyn Tables>) {
        self.tables = Some(Arc::clone(tables));
    }

    /// Says how the walks ended, at the end of the recording.
    pub(super) fn end(&mut self) {
        let endings = std::mem::take(&mut self.endings);
        if let Some(tables) = self.tables.as_ref().filter(|_| endings.all() > 0) {
            tables.ended(endings);
        }
    }

    /// Returns the callchain of a sample whose program's part is in `user`: the kernel's part of `chain`, then the program's; and how that
    /// ended. `None`: `chain` is all that there is. `ip`: the address of the sample.
    pub(super) fn chain(
        &mut self,
        user: &UserStack<'_>,
        chain: impl Iterator<Item = u64> + Clone,
        (stamp, mode, ip): (Stamp, Mode, Option<u64>),
        mappings: &mut Mappings,
    ) -> Option<(&[u64], CallchainEnd)> {
        self.end = CallchainEnd::Unknown;
        let is_marker = |address: &u64| *address == StackFrame::CONTEXT_USER;
        self.addresses.clear();
        self.addresses.extend(chain.clone().take_while(|address| !is_marker(address)));
        // The program's part by frame pointers, if the kernel has recorded it.
        let mut by_kernel = chain.skip_while(|address| !is_marker(address)).skip(1);
        let innermost = by_kernel.next();
        if let Some(copy) = &user.copy {
            if innermost.is_some() {
                return None;
            }
            self.addresses.push(StackFrame::CONTEXT_USER);
            return self.walk(copy, stamp, mappings).then_some((self.addresses.as_slice(), self.end));
        }
        // The innermost call is that of the function in which the sample was taken.
        let innermost = innermost.or(ip.filter(|_| mode == Mode::User))?;
        let (calls, order) = user.calls?;
        let froms = calls.chunks_exact(24).filter_map(|call| order.u64_at(call, 0));
        self.addresses.extend([StackFrame::CONTEXT_USER, innermost]);
        // Of a call, the address of its instruction is recorded, and callchains have what follows it.
        self.addresses.extend(froms.filter(|from| (1..1 << 63).contains(from)).map(|from| from + 1));
        Some((&self.addresses, self.end))
    }

    /// Adds the callchain of a copied stack; `false` if it cannot be walked.
    fn walk(&mut self, copy: &Copied<'_>, stamp: Stamp, mappings: &mut Mappings) -> bool {
        let Some(tables) = self.tables.clone() else { return false };
        let found = self.machine.and_then(|machine| Some((machine, copy.of(machine)?)));
        let Some((machine, registers)) = found.filter(|_| !mappings.files.is_empty()) else {
            self.endings.not_walked += 1;
            return false;
        };
        if let Some(lasted_ns) = self.lasted_ns.take() {
            mappings.identify(&*tables, lasted_ns);
        }
        let mut memory = Copy { from: registers.sp, bytes: copy.stack, order: copy.order, beyond: false };
        let pid = stamp.pid.0;
        let mut last = None;
        let known = &mut self.known;
        let mut code = |pc: u64| {
            let place = mappings.at(pid, stamp.at, pc, false);
            last = place.map(|place| place.file);
            let Some(place) = place else { return Code::Nothing };
            let file = mappings.files.get(place.file);
            match known.entry(place.file).or_insert_with(|| of_file(&*tables, file, machine)) {
                Known::Table(table) => {
                    let row = table.relative(place.offset).and_then(|at| table.find(at));
                    row.map_or(Code::Missing, Code::Row)
                }
                Known::NoTable => Code::NoTable,
                Known::Missing => Code::Missing,
            }
        };
        let walk = unwind::walk(machine, registers, &mut memory, &mut code, DEPTH);
        let file = last.and_then(|file| mappings.files.get(file)).map(|code| &code.path);
        let named =
            file.filter(|path| !is_of_no_file(path)).map(|path| String::from_utf8_lossy(path)).unwrap_or_default();
        let cut = memory.beyond && walk.ended == Ended::Unreadable;
        self.endings.count(walk.ended, cut, &named);
        self.end = match walk.ended {
            Ended::Root => CallchainEnd::Root,
            Ended::Depth => CallchainEnd::Depth,
            Ended::NoTable => CallchainEnd::NoTable,
            Ended::Unreadable if cut => CallchainEnd::Cut,
            Ended::Unreadable => CallchainEnd::Unreadable,
            Ended::NotCode => CallchainEnd::NotCode,
        };
        self.addresses.extend(walk.addresses);
        true
    }
}

/// Finds what a file is to the walk.
fn of_file(tables: &dyn Tables, file: Option<&super::mappings::Code>, machine: Machine) -> Known {
    let Some(file) = file else { return Known::Missing };
    if is_of_no_file(&file.path) {
        return Known::NoTable;
    }
    match tables.table(&String::from_utf8_lossy(&file.path), file.build_id.as_deref()) {
        Ok(table) if table.machine == machine => Known::Table(table),
        Err(Why::NoTable) => Known::NoTable,
        Ok(_) | Err(_) => Known::Missing,
    }
}
