//! The walk through a stack, from the registers of a thread to its root.

use crate::{Kind, Machine, Row, Table};

/// The registers of a thread that the walk needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Registers {
    /// The address of the next instruction.
    pub pc: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The frame pointer: `rbp`, `x29`.
    pub fp: u64,
    /// The link register: arm64's `x30`. Unused on x86-64.
    pub lr: u64,
}

/// The memory of the thread.
pub trait Memory {
    /// Returns the 8 bytes at an address as a number; `None` if they are not known.
    fn word(&mut self, at: u64) -> Option<u64>;
}

/// What is at an address.
#[derive(Clone, Copy, Debug)]
pub enum Code<'t> {
    /// Code of a file with a table, and the address relative to the table's base.
    Table(&'t Table, u32),
    /// Code with this row.
    Row(Row),
    /// Code without a table: generated at run time, or of a file without call frame information. Its frame pointers are followed.
    NoTable,
    /// Code that has no rule, or whose table could not be read. The walk ends.
    Missing,
    /// No code.
    Nothing,
}

/// How a walk ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Ended {
    /// At the root: the call frame information says that there is no caller, or the return address is 0.
    Root,
    /// There are more frames than were to be followed.
    Depth,
    /// There is no rule for the address.
    NoTable,
    /// The stack could not be read, or is none: its frames do not grow.
    Unreadable,
    /// The address is not in code.
    NotCode,
}

/// A callchain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Walk {
    /// The addresses, innermost first: that of the next instruction, then return addresses.
    pub addresses: Vec<u64>,
    /// How it ended.
    pub ended: Ended,
}

/// Which address bits of arm64 are used: the others hold the signature of a pointer (pointer authentication) or a tag. User space has 48 bits,
/// unless a program asks the kernel for more (52).
const ARM64_ADDRESS: u64 = (1 << 48) - 1;

/// Where the kernel writes the interrupted registers, from the stack pointer at the return from a handler.
struct SignalFrame {
    pc: u64,
    sp: u64,
    fp: u64,
    lr: Option<u64>,
}

impl SignalFrame {
    /// x86-64: at sp is `struct ucontext`; `uc_mcontext` (`struct sigcontext_64`) at 40 has `r8`–`r15`, `rdi`, `rsi`, `rbp`, `rbx`, `rdx`,
    /// `rax`, `rcx`, `rsp`, `rip` (Linux: arch/x86/include/uapi/asm/sigcontext.h, include/uapi/asm-generic/ucontext.h).
    const X86_64: Self = Self { pc: 168, sp: 160, fp: 120, lr: None };
    /// arm64: at sp is `struct rt_sigframe`: 128 bytes of siginfo, then `struct ucontext`, whose `uc_mcontext` (`struct sigcontext`) at 176 has
    /// the faulting address, `x0`–`x30`, `sp`, `pc` (Linux: arch/arm64/kernel/signal.c, arch/arm64/include/uapi/asm/{ucontext,sigcontext}.h).
    const ARM64: Self = Self { pc: 568, sp: 560, fp: 544, lr: Some(552) };
}

/// What a step found.
enum Step {
    /// The caller's registers.
    Caller(Registers),
    /// The registers that a signal interrupted: their pc is no return address.
    Interrupted(Registers),
    Ends(Ended),
}

/// Walks a stack. `code` finds what is at an address; `depth` is the most addresses that are returned.
pub fn walk<'t>(
    machine: Machine,
    registers: Registers,
    memory: &mut dyn Memory,
    code: &mut dyn FnMut(u64) -> Code<'t>,
    depth: usize,
) -> Walk {
    let mut now = Registers { pc: address(machine, registers.pc), ..registers };
    let mut addresses = Vec::new();
    // The link register holds a return address only in code that has called nothing since: the innermost, or what a signal interrupted.
    let mut exact = true;
    let ended = loop {
        if addresses.len() >= depth {
            break Ended::Depth;
        }
        // A return address may belong to the next function, if the call is the last instruction of its own.
        let looked_up = if exact { now.pc } else { now.pc.wrapping_sub(1) };
        let found = code(looked_up);
        if !addresses.is_empty() && matches!(found, Code::Nothing) {
            break if now.pc == 0 { Ended::Root } else { Ended::NotCode };
        }
        addresses.push(now.pc);
        let step = match found {
            Code::Table(table, at) => match table.find(at) {
                Some(row) => by_row(machine, row, now, exact, looked_up, memory),
                None => Step::Ends(Ended::NoTable),
            },
            Code::Row(row) => by_row(machine, row, now, exact, looked_up, memory),
            Code::NoTable => by_frame_pointer(now, exact, memory),
            Code::Missing => Step::Ends(Ended::NoTable),
            Code::Nothing => Step::Ends(Ended::NotCode),
        };
        (now, exact) = match step {
            Step::Caller(caller) => (caller, false),
            Step::Interrupted(interrupted) => (interrupted, true),
            Step::Ends(ended) => break ended,
        };
        now.pc = address(machine, now.pc);
        if now.pc == 0 {
            break Ended::Root;
        }
    };
    Walk { addresses, ended }
}

/// Removes what is no part of an address.
fn address(machine: Machine, pc: u64) -> u64 {
    match machine {
        Machine::X86_64 => pc,
        Machine::Arm64 => pc & ARM64_ADDRESS,
    }
}

fn by_row(machine: Machine, row: Row, now: Registers, exact: bool, pc: u64, memory: &mut dyn Memory) -> Step {
    caller_by_row(machine, row, now, exact, pc, memory).unwrap_or(Step::Ends(Ended::Unreadable))
}

/// Finds the caller by a row; `None` if the stack cannot be read.
fn caller_by_row(
    machine: Machine,
    row: Row,
    now: Registers,
    exact: bool,
    pc: u64,
    memory: &mut dyn Memory,
) -> Option<Step> {
    let offset = row.offset() as u64;
    let mut ra = row.ra();
    let cfa = match row.kind() {
        Kind::None => return Some(Step::Ends(Ended::NoTable)),
        Kind::End => return Some(Step::Ends(Ended::Root)),
        Kind::Signal => return interrupted(machine, now, memory).map(Step::Interrupted),
        Kind::Sp => now.sp.wrapping_add(offset),
        Kind::Fp => now.fp.wrapping_add(offset),
        Kind::FpDeref => memory.word(now.fp.wrapping_add(offset))?,
        Kind::SpDeref => memory.word(now.sp.wrapping_add(offset))?,
        Kind::Plt => {
            let pushed = pc & 15 >= ra;
            ra = 1;
            now.sp.wrapping_add(if pushed { 16 } else { 8 })
        }
    };
    let return_in_register = ra == 0;
    if return_in_register && !exact {
        return Some(Step::Ends(Ended::NoTable));
    }
    // A frame of a function that has not touched the stack yet is empty.
    if cfa < now.sp || (cfa == now.sp && !return_in_register) {
        return None;
    }
    let pc = if return_in_register { now.lr } else { memory.word(cfa.checked_sub(8 * ra)?)? };
    let fp = match (row.kind(), row.fp()) {
        (Kind::FpDeref, _) => memory.word(now.fp)?,
        (_, 0) => now.fp,
        (_, n) => {
            let at = cfa.checked_sub(8 * n)?;
            match memory.word(at) {
                Some(fp) => fp,
                // Below the stack pointer: the function has taken its own copy back and is about to return, or has not changed it yet.
                None if at < now.sp => now.fp,
                None => return None,
            }
        }
    };
    Some(Step::Caller(Registers { pc, sp: cfa, fp, lr: now.lr }))
}

/// Reads the registers that a signal interrupted.
fn interrupted(machine: Machine, now: Registers, memory: &mut dyn Memory) -> Option<Registers> {
    let at = match machine {
        Machine::X86_64 => SignalFrame::X86_64,
        Machine::Arm64 => SignalFrame::ARM64,
    };
    let mut word = |offset: u64| memory.word(now.sp.checked_add(offset)?);
    let lr = match at.lr {
        Some(lr) => word(lr)?,
        None => 0,
    };
    Some(Registers { pc: word(at.pc)?, sp: word(at.sp)?, fp: word(at.fp)?, lr })
}

/// Follows the frame pointer: the caller's is saved where it points, and the return address after it.
fn by_frame_pointer(now: Registers, exact: bool, memory: &mut dyn Memory) -> Step {
    // The ABI marks the outermost frame by a frame pointer of 0; code that is interrupted may use the register for anything.
    if now.fp == 0 && !exact {
        return Step::Ends(Ended::Root);
    }
    if now.fp == 0 || !now.fp.is_multiple_of(8) || now.fp < now.sp {
        return Step::Ends(Ended::NoTable);
    }
    let mut caller = || {
        let (fp, pc) = (memory.word(now.fp)?, memory.word(now.fp.checked_add(8)?)?);
        Some(Registers { pc, sp: now.fp.checked_add(16)?, fp, lr: now.lr })
    };
    caller().map_or(Step::Ends(Ended::Unreadable), Step::Caller)
}
