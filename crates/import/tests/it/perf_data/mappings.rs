//! Tests the files at the addresses of callchains, from the records of mappings.

use crate::perf_data::writer::{Bytes, CALLCHAIN, Order, PerfData, Stamp, USUAL, switch};
use crate::perf_data::{Read, file, pipe};
use model::{EventKind, StackFrame};

const KERNEL: u16 = 1;
const USER: u16 = 2;
const EXEC: u16 = 1 << 13;
const WITH_BUILD_ID: u16 = 1 << 14;
const TEXT: u64 = 0xffff_ffff_8100_0000;
const MARKS: [u64; 2] = [(-128_i64).cast_unsigned(), (-512_i64).cast_unsigned()];

fn of(pid: i32, at: u64) -> Stamp {
    Stamp { at, cpu: 0, pid, tid: pid, id: 0 }
}

/// Adds a mapping: the addresses `[from, to)` of a file from an offset on.
fn mapping(d: &mut PerfData, pid: i32, at: u64, [from, to, offset]: [u64; 3], path: &str) {
    let body = Bytes::new(d.order).i32(pid).i32(pid).u64(from).u64(to - from).u64(offset);
    let body = body.raw(path.as_bytes()).raw(&[0]).padded(8).1;
    d.other(1, if pid < 0 { KERNEL } else { USER }, &body, of(pid, at));
}

/// Adds a mapping as MMAP2, with a build id of four bytes.
fn with_build_id(d: &mut PerfData, pid: i32, at: u64, [from, to, offset]: [u64; 3], path: &str) {
    let body = Bytes::new(d.order).i32(pid).i32(pid).u64(from).u64(to - from).u64(offset);
    let id = [&[4, 0, 0, 0][..], &[0xab, 0xcd, 0, 1], &[0; 16]].concat();
    let body = body.raw(&id).u32(5).u32(2).raw(path.as_bytes()).raw(&[0]).padded(8).1;
    d.other(10, USER | WITH_BUILD_ID, &body, of(pid, at));
}

/// Adds a switch-out with addresses of the kernel and of the program.
fn out(d: &mut PerfData, pid: i32, at: u64, kernel: &[u64], program: &[u64]) {
    let chain = [&MARKS[..1], kernel, &MARKS[1..], program].concat();
    let raw = switch(d.order, pid, 1, 0);
    d.sample(0, of(pid, at), &chain, &raw);
}

/// Returns the frames of each switch-out as `function file build-id offset`.
fn frames_of(read: &Read) -> Vec<String> {
    let frame = |f: &StackFrame| {
        let offset = if f.offset == u64::MAX { "?".to_owned() } else { format!("{:x}", f.offset) };
        let words = [read.name(f.function), read.name(f.file), read.name(f.build_id), &offset];
        words.into_iter().filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let chains = read.events.iter().filter_map(|e| match &e.what {
        EventKind::Switch(s) => Some(&read.frames[s.stack.0 as usize - 1]),
        EventKind::CpuSample { stack, .. } => Some(&read.frames[stack.0 as usize - 1]),
        _ => None,
    });
    let frames =
        |c: &[StackFrame]| c.iter().filter(|f| f.address < StackFrame::CONTEXT_MARKERS).map(frame).collect::<Vec<_>>();
    chains.map(|chain| frames(chain).join(", ")).collect()
}

/// Adds the kernel's build id to the header.
fn with_kernel_id(d: &mut PerfData) {
    let name = b"[kernel.kallsyms]\0";
    let entry = Bytes::new(d.order).u32(0).u16(KERNEL).u16(8 + 28 + 20).i32(-1).raw(&[0x11; 20]);
    d.features.push((2, entry.u32(0).raw(name).padded(8).1));
    d.features.sort();
}

fn drawn(order: Order) -> PerfData {
    let mut d = PerfData::of_tracepoints(order, USUAL | CALLCHAIN);
    with_kernel_id(&mut d);
    mapping(&mut d, -1, 0, [TEXT, TEXT + 0x100_0000, TEXT], "[kernel.kallsyms]_text");
    mapping(&mut d, -1, 0, [0xffff_ffff_c000_0000, 0xffff_ffff_c000_1000, 0], "[ext4]");
    d
}

/// The sample is stored before the mapping that it belongs to. Callers are recorded by their return address, and one that returns to
/// the first byte after its mapping still belongs to it.
#[test]
fn frames_are_in_the_files_mapped_at_their_time() {
    let kernel = "[kernel] 1111111111111111111111111111111111111111";
    for order in [Order::Little, Order::Big] {
        let mut d = drawn(order);
        out(&mut d, 11, 5_000, &[TEXT + 0x10, 0xffff_ffff_c000_0020], &[0x40_0010, 0x40_2000, 0x50_0000]);
        mapping(&mut d, 11, 4_000, [0x40_0000, 0x40_2000, 0x1000], "/bin/game");
        d.round();
        with_build_id(&mut d, 11, 6_000, [0x40_0000, 0x40_1000, 0], "/lib/new.so");
        out(&mut d, 11, 7_000, &[], &[0x40_0010, 0x40_1010]);
        d.other(3, EXEC, &Bytes::new(order).i32(11).i32(11).raw(b"next\0\0\0\0").1, of(11, 8_000));
        out(&mut d, 11, 9_000, &[], &[0x40_0010]);
        let expected = [
            format!("{kernel} 10, [ext4] 20, /bin/game 1010, /bin/game 3000, ?"),
            "/lib/new.so abcd0001 10, /bin/game 2010".to_owned(),
            "?".to_owned(),
        ];
        assert_eq!(frames_of(&file(&d.file()).unwrap()), expected);
        assert_eq!(frames_of(&file(&d.packed(100).file()).unwrap()), expected, "packed");
        // A pipe can be read only once, so it only has addresses.
        assert!(frames_of(&pipe(&d.pipe()).unwrap()).iter().all(|chain| !chain.contains('/')));
        assert_eq!(frames_of(&file(&d.pipe()).unwrap())[1], expected[1], "a pipe's bytes in a file");
    }
}

/// A child has the mappings that its parent had at the fork, and its own. A process that was running when perf started (time 0) only
/// has its own records.
#[test]
fn children_have_their_parents_mappings() {
    let mut d = drawn(Order::Little);
    let fork = |d: &mut PerfData, pid: i32, parent: i32, at: u64| {
        let body = Bytes::new(d.order).i32(pid).i32(parent).i32(pid).i32(parent).u64(at).1;
        d.other(7, 0, &body, of(pid, at));
    };
    mapping(&mut d, 11, 0, [0x40_0000, 0x40_2000, 0], "/bin/parent");
    fork(&mut d, 13, 11, 0);
    fork(&mut d, 12, 11, 2_000);
    mapping(&mut d, 12, 3_000, [0x40_1000, 0x40_2000, 0], "/bin/own");
    mapping(&mut d, 11, 4_000, [0x50_0000, 0x50_1000, 0], "/bin/late");
    out(&mut d, 12, 5_000, &[], &[0x40_0010, 0x40_1010, 0x50_0010]);
    out(&mut d, 13, 6_000, &[], &[0x40_0010]);
    assert_eq!(frames_of(&file(&d.file()).unwrap()), ["/bin/parent 10, /bin/own 10, ?", "?"]);
}

/// perf reads one buffer after the other: samples before a fork's own mapping, or before an exec, may follow later ones.
#[test]
fn samples_that_follow_later_ones_have_the_mappings_of_their_time() {
    let mut d = drawn(Order::Little);
    mapping(&mut d, 11, 0, [0x40_0000, 0x40_2000, 0], "/bin/sh");
    d.other(7, 0, &Bytes::new(d.order).i32(12).i32(11).i32(12).i32(11).u64(2_000).1, of(12, 2_000));
    mapping(&mut d, 12, 4_000, [0x40_1000, 0x40_2000, 0], "/lib/own.so");
    d.other(3, EXEC, &Bytes::new(d.order).i32(12).i32(12).raw(b"next\0\0\0\0").1, of(12, 6_000));
    mapping(&mut d, 12, 7_000, [0x40_1000, 0x40_2000, 0], "/bin/next");
    for at in [8_000, 5_000, 3_000, 6_500, 5_500] {
        out(&mut d, 12, at, &[], &[0x40_1010]);
    }
    d.round();
    let expected = ["/bin/sh 1010", "/lib/own.so 10", "/lib/own.so 10", "?", "/bin/next 10"];
    assert_eq!(frames_of(&file(&d.file()).unwrap()), expected);
}

/// Where the kernel was loaded is not recorded, but each record has a mode, and callchains have markers.
#[test]
fn code_of_the_kernel_without_mappings_is_known_by_its_mode() {
    let kernel = "[kernel] 1111111111111111111111111111111111111111 ?";
    for (mode, file_of) in [(0, "?"), (1, kernel), (2, "?"), (3, "[hypervisor] ?"), (4, "[guest.kernel.kallsyms] ?")] {
        let mut d = PerfData::of_samples(Order::Little, &[(0, 0)]);
        d.attrs[0].sample_type &= !CALLCHAIN;
        with_kernel_id(&mut d);
        d.sample(0, of(11, 1_000), &[], &[]);
        d.records[0][4] = mode;
        assert_eq!(frames_of(&file(&d.file()).unwrap()), [file_of], "mode {mode}");
    }
    let mut d = PerfData::of_samples(Order::Little, &[(0, 0)]);
    with_kernel_id(&mut d);
    d.sample(0, of(11, 1_000), &[MARKS[0], TEXT + 0x10, MARKS[1], 0x40_0010], &[]);
    assert_eq!(frames_of(&file(&d.file()).unwrap()), [format!("{kernel}, ?")]);
}

/// BPF programs and the kernel's trampolines have names from separate records, while they exist.
#[test]
fn generated_kernel_code_is_named_by_the_recording() {
    let mut d = drawn(Order::Little);
    let at = 0xffff_ffff_c100_0000;
    let symbol = |d: &mut PerfData, flags: u16, when: u64| {
        let body = Bytes::new(d.order).u64(at).u32(0x100).u16(1).u16(flags).raw(b"bpf_prog_1\0").padded(8).1;
        d.other(17, 0, &body, of(0, when));
    };
    symbol(&mut d, 0, 1_000);
    out(&mut d, 11, 2_000, &[at + 8], &[]);
    symbol(&mut d, 1, 3_000);
    out(&mut d, 11, 4_000, &[at + 8], &[]);
    assert_eq!(frames_of(&file(&d.file()).unwrap()), ["bpf_prog_1 [kernel] ?", "[kernel] ?"]);
}
