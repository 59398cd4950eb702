//! From call frame information to rules: what a row can express, and what it cannot.

use crate::{Kind, Machine, Row};
use gimli::{
    CfaRule, EndianSlice, Expression, LittleEndian, Operation, Register, RegisterRule, UnwindContextStorage,
    UnwindExpression, UnwindSection, UnwindTableRow,
};

/// The bytes of call frame information.
pub(crate) type Bytes<'d> = EndianSlice<'d, LittleEndian>;

/// The most operations of an expression that is recognised.
const MAX_OPERATIONS: usize = 10;
/// The most registers that a function saves: those of the signal frame are the most, 32 on arm64 and some vectors.
const MAX_RULES: usize = 80;
/// How deep states may be remembered within a function.
const MAX_REMEMBERED: usize = 8;

/// The memory of one function's evaluation.
#[derive(Debug)]
pub(crate) struct Storage;

impl UnwindContextStorage<usize> for Storage {
    type Rules = [(Register, RegisterRule<usize>); MAX_RULES];
    type Stack = Box<[UnwindTableRow<usize, Self>; MAX_REMEMBERED]>;
}

/// The numbers that a machine's call frame information has for its registers.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    fp: Register,
    sp: Register,
    /// The column of the return address: x86-64's `rip`, arm64's link register.
    ra: Register,
}

impl Numbers {
    const fn of(machine: Machine) -> Self {
        match machine {
            Machine::X86_64 => Self { fp: Register(6), sp: Register(7), ra: Register(16) },
            Machine::Arm64 => Self { fp: Register(29), sp: Register(31), ra: Register(30) },
        }
    }
}

/// A signal frame of x86-64 (`struct rt_sigframe` without its first word, which the return has taken): a ucontext, whose
/// `uc_mcontext` is at 40. Of its registers, `rsp` is at 160 and `rip` at 168 from the stack pointer.
const SIGNAL_SP: i64 = 160;
const SIGNAL_PC: i64 = 168;

/// Returns the row for a rule of call frame information; `None` if a row cannot express it. `ra`: the column of the return address;
/// `signal`: the function is marked as the return from a signal handler.
pub(crate) fn row<'d, S: UnwindSection<Bytes<'d>>>(
    machine: Machine,
    ra: Register,
    signal: bool,
    at: u32,
    row: &UnwindTableRow<usize, Storage>,
    section: &S,
) -> Option<Row> {
    let of = Numbers::of(machine);
    if ra != of.ra {
        return None;
    }
    let ra = row.register(of.ra);
    if signal && is_signal_frame(machine, row, ra.as_ref(), section) {
        return Some(Row::plain(at, Kind::Signal));
    }
    let ra = match ra {
        Some(RegisterRule::Undefined) => return Some(Row::plain(at, Kind::End)),
        Some(RegisterRule::Offset(offset)) => below(offset)?,
        None | Some(RegisterRule::SameValue) if machine == Machine::Arm64 => 0,
        _ => return None,
    };
    let fp = row.register(of.fp);
    match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => {
            let kind = if *register == of.sp {
                Kind::Sp
            } else if *register == of.fp {
                Kind::Fp
            } else {
                return None;
            };
            let fp = match fp {
                None | Some(RegisterRule::SameValue) => 0,
                Some(RegisterRule::Offset(offset)) => below(offset)?,
                // gcc leaves the rule of a realigned stack in force until the return, where nothing is on the stack any more but the return
                // address: the frame pointer is the caller's again.
                Some(RegisterRule::Expression(expression))
                    if machine == Machine::X86_64
                        && kind == Kind::Sp
                        && *offset == 8
                        && at_register(&expression, section) == Some((of.fp, 0)) =>
                {
                    0
                }
                _ => return None,
            };
            Row::new(at, kind, *offset, fp, ra)
        }
        CfaRule::Expression(expression) => of_expression(of, at, expression, fp, ra, section),
    }
}

/// Returns n of a value that is saved at CFA - 8 n.
fn below(offset: i64) -> Option<u64> {
    let bytes = u64::try_from(offset.checked_neg()?).ok()?;
    (bytes > 0 && bytes % 8 == 0).then_some(bytes / 8)
}

fn of_expression<'d, S: UnwindSection<Bytes<'d>>>(
    of: Numbers,
    at: u32,
    expression: &UnwindExpression<usize>,
    fp: Option<RegisterRule<usize>>,
    ra: u64,
    section: &S,
) -> Option<Row> {
    let operations = operations(expression, section)?;
    match operations.as_slice() {
        [Operation::RegisterOffset { register, offset, .. }, Operation::Deref { size: 8, space: false, .. }] => {
            if *register == of.fp {
                let Some(RegisterRule::Expression(of_fp)) = fp else { return None };
                return (at_register(&of_fp, section)? == (of.fp, 0))
                    .then(|| Row::new(at, Kind::FpDeref, *offset, 0, ra))
                    .flatten();
            }
            let fp = match fp {
                None | Some(RegisterRule::SameValue) => 0,
                Some(RegisterRule::Offset(offset)) => below(offset)?,
                _ => return None,
            };
            (*register == of.sp).then(|| Row::new(at, Kind::SpDeref, *offset, fp, ra)).flatten()
        }
        [
            Operation::RegisterOffset { register: sp, offset: 8, .. },
            Operation::RegisterOffset { register: pc, offset: 0, .. },
            Operation::UnsignedConstant { value: 15 },
            Operation::And,
            Operation::UnsignedConstant { value: from },
            Operation::Ge,
            Operation::UnsignedConstant { value: 3 },
            Operation::Shl,
            Operation::Plus,
        ] if *sp == of.sp && *pc == of.ra && ra == 1 && matches!(fp, None | Some(RegisterRule::SameValue)) => {
            Row::new(at, Kind::Plt, 0, 0, *from)
        }
        _ => None,
    }
}

/// Whether the registers are where the kernel writes them.
fn is_signal_frame<'d, S: UnwindSection<Bytes<'d>>>(
    machine: Machine,
    row: &UnwindTableRow<usize, Storage>,
    ra: Option<&RegisterRule<usize>>,
    section: &S,
) -> bool {
    // arm64's vDSO describes the frame record that the kernel writes next to the signal frame, which lacks the interrupted address.
    if machine == Machine::Arm64 {
        return true;
    }
    let sp = Numbers::of(machine).sp;
    let CfaRule::Expression(cfa) = row.cfa() else { return false };
    let cfa = operations(cfa, section);
    let Some(RegisterRule::Expression(ra)) = ra else { return false };
    matches!(
        cfa.as_deref(),
        Some([Operation::RegisterOffset { register, offset: SIGNAL_SP, .. }, Operation::Deref { size: 8, space: false, .. }])
            if *register == sp
    ) && at_register(ra, section) == Some((sp, SIGNAL_PC))
}

/// Returns the register and the offset of an expression that is nothing else.
fn at_register<'d, S: UnwindSection<Bytes<'d>>>(
    expression: &UnwindExpression<usize>,
    section: &S,
) -> Option<(Register, i64)> {
    match operations(expression, section)?.as_slice() {
        [Operation::RegisterOffset { register, offset, .. }] => Some((*register, *offset)),
        _ => None,
    }
}

/// Returns the operations of an expression; `None` if it is damaged, or longer than any that is recognised.
fn operations<'d, S: UnwindSection<Bytes<'d>>>(
    expression: &UnwindExpression<usize>,
    section: &S,
) -> Option<Vec<Operation<Bytes<'d>>>> {
    let encoding = gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 4 };
    let expression: Expression<Bytes<'d>> = expression.get(section).ok()?;
    let mut all = expression.operations(encoding);
    let mut found = Vec::new();
    while let Some(operation) = all.next().ok()? {
        if found.len() == MAX_OPERATIONS {
            return None;
        }
        found.push(operation);
    }
    Some(found)
}
