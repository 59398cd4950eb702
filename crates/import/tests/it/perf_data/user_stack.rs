//! Tests callchains of programs that are not recorded as such: from copies of stacks, and from the processor's records of calls.

use crate::perf_data::unwound;
use crate::perf_data::writer::{Bytes, Order, PerfData, Stamp};
use crate::perf_data::{Read, file};
use model::EventKind;
use std::sync::{Arc, Mutex};
use unwind::{Endings, Inode, Kind, Machine, Row, Segment, Table, Tables, Why};

const SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;
const BRANCH_STACK: u64 = 1 << 11;
const REGS_USER: u64 = 1 << 12;
const STACK_USER: u64 = 1 << 13;
const CALL_STACK: u64 = 1 << 11;
const HW_INDEX: u64 = 1 << 17;
/// rbp, rsp and rip, and rax, which is not needed.
const REGISTERS: u64 = 1 | 1 << 6 | 1 << 7 | 1 << 8;
const KERNEL: u64 = (-128_i64).cast_unsigned();
const USER: u64 = (-512_i64).cast_unsigned();
const IN_KERNEL: u64 = 0xffff_ffff_8100_0000;
const LOADED: u64 = 0x5500_0000_0000;
const STACK: u64 = 0x7fff_0000_0000;

/// The table of one program: a function with 16 bytes of stack from 0x100, one with a frame pointer from 0x200, the root from 0x300.
struct OneProgram {
    table: Result<Arc<Table>, Why>,
    endings: Mutex<Endings>,
}

impl Tables for OneProgram {
    fn table(&self, path: &str, build_id: Option<&str>) -> Result<Arc<Table>, Why> {
        assert_eq!((path, build_id), ("/bin/game", Some("abcd0001")));
        self.table.clone()
    }

    fn ended(&self, endings: Endings) {
        self.endings.lock().unwrap().add(&endings);
    }
}

/// The same program, whose file is known by its inode.
struct ByInode(Arc<Table>);

impl Tables for ByInode {
    fn table(&self, _: &str, build_id: Option<&str>) -> Result<Arc<Table>, Why> {
        build_id.map(|_| Arc::clone(&self.0)).ok_or(Why::NoBuildId)
    }

    fn identify(&self, path: &str, inode: Inode, lasted_ns: u64) -> Option<String> {
        assert_eq!((path, lasted_ns), ("/bin/game", 5_000));
        (inode == INODE).then(|| "abcd0001".to_owned())
    }

    fn ended(&self, _: Endings) {}
}

fn program() -> Table {
    let rows = vec![
        Row::new(0x100, Kind::Sp, 16, 0, 1).unwrap(),
        Row::new(0x200, Kind::Fp, 16, 2, 1).unwrap(),
        Row::plain(0x300, Kind::End),
        Row::plain(0x400, Kind::None),
    ];
    let segments = vec![Segment { offset: 0x1000, size: 0x1000, vaddr: 0x40_0000 }];
    Table { machine: Machine::X86_64, base: 0x40_0000, segments, rows, functions: 3, without: 0 }
}

fn stamp(at: u64) -> Stamp {
    Stamp { at, cpu: 0, pid: 11, tid: 11, id: 1 }
}

/// Starts a recording of a program whose code is mapped, and of generated code.
fn recording(order: Order, sample_type: u64, more: [u64; 2]) -> PerfData {
    let id = [&[4, 0, 0, 0][..], &[0xab, 0xcd, 0, 1], &[0; 16]].concat();
    recording_of(order, sample_type, more, (&id, 1 << 14))
}

/// As [`recording`]: `file`: what the record has of the program, and how that is marked.
fn recording_of(order: Order, sample_type: u64, more: [u64; 2], (file, mark): (&[u8], u16)) -> PerfData {
    let mut d = PerfData::of_samples(order, &[(SOFTWARE, CPU_CLOCK)]);
    d.attrs[0].sample_type |= sample_type;
    d.attrs[0].more = more;
    d.features.push((6, Bytes::new(order).u32(64).raw(b"x86_64").padded(68).1));
    let body = Bytes::new(order).i32(11).i32(11).u64(LOADED).u64(0x1000).u64(0x1000);
    let body = body.raw(file).u32(5).u32(2).raw(b"/bin/game\0").padded(8).1;
    d.other(10, 2 | mark, &body, stamp(0));
    let body =
        Bytes::new(order).i32(11).i32(11).u64(LOADED + 0x10_0000).u64(0x1000).u64(0).raw(b"//anon\0").padded(8).1;
    d.other(1, 2, &body, stamp(0));
    d
}

/// The registers and the copy of the stack, as the kernel writes them; `used`: how many words of the copy are the stack's.
fn copied(order: Order, [pc, sp, fp]: [u64; 3], stack: &[u64], used: u64) -> Vec<u8> {
    let b = Bytes::new(order).u64(2).u64(77).u64(fp).u64(sp).u64(pc).u64(stack.len() as u64 * 8);
    stack.iter().fold(b, |b, word| b.u64(*word)).u64(used * 8).1
}

fn chains(read: &Read) -> Vec<Vec<u64>> {
    let of = |stack: model::StackId| (stack.0 as usize).checked_sub(1).map_or(Vec::new(), |at| read.stacks[at].clone());
    let samples = read.events.iter().filter_map(|event| match event.what {
        EventKind::CpuSample { stack, .. } => Some(of(stack)),
        _ => None,
    });
    samples.collect()
}

fn tables(table: Result<Table, Why>) -> (Arc<OneProgram>, Arc<dyn Tables>) {
    let tables = Arc::new(OneProgram { table: table.map(Arc::new), endings: Mutex::default() });
    (Arc::clone(&tables), tables)
}

/// A stack of three functions: at 0x108 in the first, returns to 0x220 in the second, to 0x310 in the root.
const WORDS: [u64; 6] = [0, LOADED + 0x220, STACK + 0x30, LOADED + 0x310, 1, 2];
const REGS: [u64; 3] = [LOADED + 0x108, STACK, STACK + 0x10];
const INODE: Inode = Inode { device: [254, 1], number: 77 };
const UNWOUND: [u64; 3] = [LOADED + 0x108, LOADED + 0x220, LOADED + 0x310];

#[test]
fn copies_of_stacks_are_unwound() {
    let order = Order::Little;
    let mut d = recording(order, REGS_USER | STACK_USER, [0, REGISTERS]);
    let copy = copied(order, REGS, &WORDS, 6);
    d.sample_with(0, stamp(1_000), &[], &[], &copy);
    d.sample_with(0, stamp(2_000), &[KERNEL, IN_KERNEL], &[], &copy);
    // The copy ends after the first frame.
    d.sample_with(0, stamp(3_000), &[], &[], &copied(order, REGS, &WORDS, 2));
    // In code without a rule, and where nothing is mapped.
    d.sample_with(0, stamp(4_000), &[], &[], &copied(order, [LOADED + 0x500, STACK, 0], &WORDS, 6));
    d.sample_with(0, stamp(5_000), &[], &[], &copied(order, [0x1000, STACK, 0], &WORDS, 6));
    // In generated code, whose frame pointer is followed.
    d.sample_with(0, stamp(6_000), &[], &[], &copied(order, [LOADED + 0x10_0010, STACK, STACK], &WORDS, 6));
    // Of a kernel's thread: no registers.
    d.sample_with(0, stamp(7_000), &[KERNEL, IN_KERNEL], &[], &Bytes::new(order).u64(0).u64(0).1);
    // Of a program of 32 bits.
    let narrow = Bytes::new(order).u64(1).u64(0).u64(0).u64(0).u64(0).u64(8).u64(0).u64(8).1;
    d.sample_with(0, stamp(8_000), &[KERNEL, IN_KERNEL], &[], &narrow);
    d.round();
    let (found, tables) = tables(Ok(program()));
    let read = unwound(&d.file(), &tables);
    let program = |addresses: &[u64]| [&[USER], addresses].concat();
    let expected = [
        program(&UNWOUND),
        [&[KERNEL, IN_KERNEL][..], &program(&UNWOUND)].concat(),
        program(&[&UNWOUND[..2], &[0]].concat()),
        program(&[LOADED + 0x500, 0]),
        program(&[0x1000, 0]),
        program(&[LOADED + 0x10_0010, LOADED + 0x220, 0]),
        vec![KERNEL, IN_KERNEL],
        vec![KERNEL, IN_KERNEL],
    ];
    assert_eq!(chains(&read), expected);
    let whys: Vec<&str> =
        read.frames.iter().filter_map(|chain| chain.last()).map(|frame| read.name(frame.function)).collect();
    assert_eq!(
        whys,
        [
            "",
            "",
            "[truncated: end of the copied stack]",
            "[truncated: no unwind table]",
            "[truncated: return address not in code]",
            "[truncated: stack not readable]",
            "",
        ]
    );
    let no_table = [("/bin/game".to_owned(), 1)].into();
    let endings = Endings { root: 2, cut: 1, no_table, unreadable: 1, not_code: 1, not_walked: 1, depth: 0 };
    assert_eq!(*found.endings.lock().unwrap(), endings);
    let frame = &read.frames[0][1];
    assert_eq!((read.name(frame.file), frame.offset), ("/bin/game", 0x1108));
}

#[test]
fn without_a_file_no_caller_is_guessed() {
    let order = Order::Little;
    let mut d = recording(order, REGS_USER | STACK_USER, [0, REGISTERS]);
    d.sample_with(0, stamp(1_000), &[], &[], &copied(order, REGS, &WORDS, 6));
    d.round();
    let (found, tables) = tables(Err(Why::NotFound));
    assert_eq!(chains(&unwound(&d.file(), &tables)), [[USER, UNWOUND[0], 0]]);
    assert_eq!(found.endings.lock().unwrap().no_table["/bin/game"], 1);
    // Without tables, the address of the sample is all that there is.
    assert_eq!(chains(&file(&d.file()).unwrap()), [[0xffff_8000]]);
}

#[test]
fn files_without_tables_are_unwound_by_frame_pointers() {
    let order = Order::Little;
    let mut d = recording(order, REGS_USER | STACK_USER, [0, REGISTERS]);
    d.sample_with(0, stamp(1_000), &[], &[], &copied(order, REGS, &WORDS, 6));
    d.round();
    let (found, tables) = tables(Err(Why::NoTable));
    // From the frame pointer, the return address 0x310; the next frame pointer is after the copy.
    assert_eq!(chains(&unwound(&d.file(), &tables)), [[USER, UNWOUND[0], UNWOUND[2], 0]]);
    assert_eq!(found.endings.lock().unwrap().cut, 1);
}

#[test]
fn records_of_calls_are_callchains() {
    for order in [Order::Little, Order::Big] {
        for more in [CALL_STACK, CALL_STACK | HW_INDEX] {
            let mut d = recording(order, BRANCH_STACK, [more, 0]);
            let calls = |calls: &[[u64; 2]]| {
                let b = Bytes::new(order).u64(calls.len() as u64);
                let b = if more & HW_INDEX != 0 { b.u64(3) } else { b };
                calls.iter().fold(b, |b, [from, to]| b.u64(*from).u64(*to).u64(0)).1
            };
            let both = calls(&[[LOADED + 0x21b, LOADED + 0x100], [LOADED + 0x30b, LOADED + 0x200]]);
            let chain = [KERNEL, IN_KERNEL, USER, LOADED + 0x108, 0x1234];
            d.sample_with(0, stamp(1_000), &chain, &[], &both);
            // Without records, the chain is the kernel's.
            d.sample_with(0, stamp(2_000), &chain, &[], &calls(&[]));
            d.round();
            let read = file(&d.file()).unwrap();
            let expected = [KERNEL, IN_KERNEL, USER, LOADED + 0x108, LOADED + 0x21c, LOADED + 0x30c];
            assert_eq!(chains(&read), [&expected[..], &chain], "{order:?} {more:x}");
            assert!(read.facts.lacks.iter().any(|lack| lack.contains("--call-graph lbr")), "{:?}", read.facts.lacks);
        }
    }
}

#[test]
fn files_without_a_recorded_build_id_are_identified_by_their_inode() {
    let order = Order::Little;
    let chain_of = |number: u64| {
        let [major, minor] = INODE.device;
        let file = Bytes::new(order).u32(major).u32(minor).u64(number).u64(0).1;
        let mut d = recording_of(order, REGS_USER | STACK_USER, [0, REGISTERS], (&file, 0));
        d.features.push((21, Bytes::new(order).u64(1_000).u64(6_000).1));
        d.sample_with(0, stamp(1_000), &[], &[], &copied(order, REGS, &WORDS, 6));
        d.round();
        let table = Arc::new(program());
        let tables: Arc<dyn Tables> = Arc::new(ByInode(table));
        chains(&unwound(&d.file(), &tables)).remove(0)
    };
    assert_eq!(chain_of(INODE.number), [&[USER][..], &UNWOUND].concat());
    assert_eq!(chain_of(INODE.number + 1), [USER, UNWOUND[0], 0]);
}
