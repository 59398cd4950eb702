//! Drawn call frame information: what gimli reads at an address is what the table's row says.

use proptest::prelude::*;
use unwind::{Code, Ended, Kind, Machine, Memory, Registers, Row, Table, walk};

/// Where the code of the drawn files is.
const CODE: u64 = 0x40_1000;
/// Where their `.eh_frame` is.
const FRAMES: u64 = 0x40_3000;

/// An instruction of call frame information.
#[derive(Clone, Debug)]
enum Instruction {
    Advance(u8),
    Cfa { fp: bool, offset: u16 },
    CfaOffset(u16),
    FpSaved(u8),
    FpRestored,
    Remember,
    Restore,
    NoReturn,
    Other(u8),
}

fn instruction() -> impl Strategy<Value = Instruction> {
    prop_oneof![
        4 => (1..40_u8).prop_map(Instruction::Advance),
        2 => (any::<bool>(), 0..2000_u16).prop_map(|(fp, words)| Instruction::Cfa { fp, offset: words * 8 }),
        2 => (1..2000_u16).prop_map(|words| Instruction::CfaOffset(words * 8)),
        1 => (1..100_u8).prop_map(Instruction::FpSaved),
        1 => Just(Instruction::FpRestored),
        1 => Just(Instruction::Remember),
        1 => Just(Instruction::Restore),
        1 => Just(Instruction::NoReturn),
        1 => any::<u8>().prop_map(Instruction::Other),
    ]
}

fn unsigned(out: &mut Vec<u8>, mut value: u64) {
    while value > 127 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}

fn encode(instructions: &[Instruction]) -> Vec<u8> {
    let mut out = Vec::new();
    for instruction in instructions {
        match instruction {
            Instruction::Advance(by) => out.push(0x40 | by),
            Instruction::Cfa { fp, offset } => {
                out.extend([0x0c, if *fp { 6 } else { 7 }]);
                unsigned(&mut out, u64::from(*offset));
            }
            Instruction::CfaOffset(offset) => {
                out.push(0x0e);
                unsigned(&mut out, u64::from(*offset));
            }
            Instruction::FpSaved(n) => {
                out.push(0x80 | 6);
                unsigned(&mut out, u64::from(*n));
            }
            Instruction::FpRestored => out.push(0xc0 | 6),
            Instruction::Remember => out.push(0x0a),
            Instruction::Restore => out.push(0x0b),
            Instruction::NoReturn => out.extend([0x07, 16]),
            Instruction::Other(byte) => out.push(*byte),
        }
    }
    out
}

/// Writes entries of `.eh_frame`: the common one of x86-64, then the functions by address and size.
fn frames(functions: &[(u64, u32, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut entry = |body: &[u8]| {
        let size = body.len().next_multiple_of(8) + 4;
        out.extend((size as u32).to_le_bytes());
        out.extend(body);
        out.resize(out.len() + size - body.len(), 0);
        out.len()
    };
    // Version 1, "zR", factors 1 and -8, return address in 16, pointers relative and of 4 bytes; CFA = rsp + 8, the return address at CFA - 8.
    let mut at = entry(b"\0\0\0\0\x01zR\0\x01\x78\x10\x01\x1b\x0c\x07\x08\x90\x01");
    for (from, size, instructions) in functions {
        let back = at as u32 + 4;
        let relative = from.wrapping_sub(FRAMES + at as u64 + 8) as u32;
        let head = [back.to_le_bytes(), relative.to_le_bytes(), size.to_le_bytes()].concat();
        at = entry(&[&head[..], &[0], instructions].concat());
    }
    out.extend([0; 4]);
    out
}

/// Writes an ELF file that has the code, and `.eh_frame` in a section.
fn elf(frames: &[u8]) -> Vec<u8> {
    let names = b"\0.eh_frame\0.shstrtab\0";
    let (frames_at, programs, sections) = (0x1000_u64, 64_u64, 64 + 56_u64);
    let mut out = Vec::new();
    out.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    out.extend([3, 0, 62, 0, 1, 0, 0, 0]);
    for word in [0, programs, sections] {
        out.extend(word.to_le_bytes());
    }
    out.extend([0; 4]);
    out.extend([64, 0, 56, 0, 1, 0, 64, 0, 3, 0, 2, 0]);
    // Code, readable and executable, of which the file need not have the bytes.
    out.extend([1, 0, 0, 0, 5, 0, 0, 0]);
    for word in [0, CODE - 0x1000, CODE - 0x1000, 0x10_0000, 0x10_0000, 0x1000] {
        out.extend(word.to_le_bytes());
    }
    let mut section = |name: u32, kind: u32, address: u64, at: u64, size: u64| {
        out.extend([name.to_le_bytes(), kind.to_le_bytes()].concat());
        for word in [2, address, at, size, 0, 8, 0] {
            out.extend(word.to_le_bytes());
        }
    };
    section(0, 0, 0, 0, 0);
    section(1, 1, FRAMES, frames_at, frames.len() as u64);
    section(11, 3, 0, frames_at + frames.len() as u64, names.len() as u64);
    out.resize(frames_at as usize, 0);
    out.extend(frames);
    out.extend(names);
    out
}

/// As deep as tables remember.
struct Storage;

impl gimli::UnwindContextStorage<usize> for Storage {
    type Rules = [(gimli::Register, gimli::RegisterRule<usize>); 192];
    type Stack = Box<[gimli::UnwindTableRow<usize, Self>; 8]>;
}

/// The row that gimli reads at an address; `None`: there is no function or it is damaged before.
fn by_gimli(frames: &[u8], address: u64) -> Option<Row> {
    use gimli::{CfaRule, RegisterRule, UnwindSection};
    let mut section = gimli::EhFrame::new(frames, gimli::LittleEndian);
    section.set_address_size(8);
    let bases = gimli::BaseAddresses::default().set_eh_frame(FRAMES);
    let mut context = gimli::UnwindContext::<usize, Storage>::new_in();
    let find = gimli::EhFrame::cie_from_offset;
    let row = section.unwind_info_for_address(&bases, &mut context, address, find).ok()?;
    let below = |offset: i64| u64::try_from(-offset / 8).ok().filter(|n| *n > 0);
    let ra = match row.register(gimli::Register(16)) {
        Some(RegisterRule::Undefined) => return Some(Row::plain(0, Kind::End)),
        Some(RegisterRule::Offset(offset)) => below(offset)?,
        _ => return None,
    };
    let fp = match row.register(gimli::Register(6)) {
        None => 0,
        Some(RegisterRule::Offset(offset)) => below(offset)?,
        _ => return None,
    };
    let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else { return None };
    let kind = match register.0 {
        6 => Kind::Fp,
        7 => Kind::Sp,
        _ => return None,
    };
    Row::new(0, kind, *offset, fp, ra)
}

struct Words(Vec<u64>);

impl Memory for Words {
    fn word(&mut self, at: u64) -> Option<u64> {
        self.0.get(usize::try_from(at / 8).ok()?).copied()
    }
}

proptest! {
    #[test]
    fn a_table_has_what_its_call_frame_information_says(
        drawn in prop::collection::vec((0..200_u64, 1..200_u32, prop::collection::vec(instruction(), 0..12)), 0..8),
    ) {
        // One after the other, with gaps.
        let (mut at, mut functions) = (CODE, Vec::new());
        for (gap, size, instructions) in &drawn {
            functions.push((at + gap, *size, encode(instructions)));
            at += gap + u64::from(*size);
        }
        let frames = frames(&functions);
        let table = Table::of_bytes(&elf(&frames)).unwrap();
        prop_assert_eq!(table.functions, functions.len());
        prop_assert!(table.rows.windows(2).all(|two| two[0].at() < two[1].at() && two[0].rule() != two[1].rule()));
        for address in CODE..at + 20 {
            let expected = by_gimli(&frames, address).map(Row::rule);
            let found = table.find((address - table.base) as u32).map(Row::rule);
            prop_assert_eq!(found, expected, "at {:x} of {:x?}", address, &functions);
        }
    }

    #[test]
    fn damaged_files_are_read_or_refused(
        instructions in prop::collection::vec(instruction(), 0..12),
        changes in prop::collection::vec((0..0x1100_usize, any::<u8>()), 1..20),
        cut in 0..0x1200_usize,
    ) {
        let mut bytes = elf(&frames(&[(CODE, 100, encode(&instructions))]));
        for (at, byte) in changes {
            // Most of them in the headers and the frames.
            let at = if at < 0xf00 { at % 0x140 } else { at };
            if let Some(changed) = bytes.get_mut(at) {
                *changed = byte;
            }
        }
        bytes.truncate(cut.max(0x100));
        if let Ok(table) = Table::of_bytes(&bytes) {
            prop_assert!(table.rows.windows(2).all(|two| two[0].at() < two[1].at()));
        }
    }

    #[test]
    fn a_walk_ends_whatever_the_rows_and_the_stack_are(
        rows in prop::collection::vec(any::<u64>(), 0..64),
        memory in prop::collection::vec(0..600_u64, 0..64),
        (pc, sp, fp, lr) in (0..600_u64, 0..600_u64, 0..600_u64, 0..600_u64),
        arm: bool,
        depth in 0..200_usize,
    ) {
        let machine = if arm { Machine::Arm64 } else { Machine::X86_64 };
        let mut rows: Vec<Row> = rows.into_iter().map(|row| Row(row & 0x1ff_0e0f_ffff | row >> 60 << 40)).collect();
        rows.sort_unstable();
        rows.dedup_by_key(|row| row.at());
        let table = Table { machine, base: 0, segments: Vec::new(), rows, functions: 0, without: 0 };
        let mut code = |pc: u64| match pc {
            0..500 => Code::Table(&table, pc as u32),
            500..550 => Code::NoTable,
            550..560 => Code::Missing,
            _ => Code::Nothing,
        };
        let walk = walk(machine, Registers { pc, sp, fp, lr }, &mut Words(memory), &mut code, depth);
        prop_assert!(walk.addresses.len() <= depth);
        prop_assert!(walk.ended != Ended::Depth || walk.addresses.len() == depth);
    }
}

/// A stack of arm64: a function in the link register, one with a frame, signed addresses, and a signal.
#[test]
fn a_stack_of_arm64_is_walked() {
    let row = |at, kind, offset, fp, ra| Row::new(at, kind, offset, fp, ra).unwrap();
    let rows = vec![
        row(0x100, Kind::Sp, 0, 0, 0),   // a leaf
        row(0x200, Kind::Fp, 32, 4, 3),  // stp x29, x30, [sp, #-32]!
        Row::plain(0x2fc, Kind::Signal), // the return from a handler, and the instruction in front of it
        row(0x400, Kind::Sp, 16, 2, 1),
        Row::plain(0x500, Kind::End),
    ];
    let machine = Machine::Arm64;
    let table = Table { machine, base: 0, segments: Vec::new(), rows, functions: 0, without: 0 };
    let mut words = vec![0; 200];
    // The handler's frame at 80: x29, and the return address with a signature.
    (words[10], words[11]) = (0, 0x00ab_0000_0000_0300);
    // The signal frame at 112: x29, x30, sp, pc.
    let at = 112 / 8;
    (words[at + 68], words[at + 69], words[at + 70], words[at + 71]) = (0, 0x408, 1200, 0x104);
    // The frame of the function that the leaf returns to, at 1200.
    (words[150], words[151]) = (0, 0x0055_0000_0000_0504);
    let mut code = |pc: u64| if pc < 0x600 { Code::Table(&table, pc as u32) } else { Code::Nothing };
    let from = Registers { pc: 0x204, sp: 80, fp: 80, lr: 0 };
    let walk = walk(machine, from, &mut Words(words), &mut code, 16);
    assert_eq!((walk.addresses, walk.ended), (vec![0x204, 0x300, 0x104, 0x408, 0x504], Ended::Root));
}
