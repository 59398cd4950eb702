//! Tests samples of profilers and their callchains.

use crate::perfetto::writer::{Message, bundle, events, switch, trace};
use crate::perfetto::{Trace, read};
use model::{EventKind, StackFrame};

fn m() -> Message {
    Message::default()
}

fn text(iid: u64, text: &[u8]) -> Message {
    m().number(1, iid).bytes(2, text)
}

/// A library that is mapped from its second page on, and the kernel, whose addresses are not recorded. The outermost frame comes first.
fn interned() -> Message {
    let library = m().number(1, 1).number(2, 4).number(8, 0x1000).number(4, 0x7000).number(5, 0x9000);
    m().message(5, &text(5, b"main"))
        .message(5, &text(6, b"vfs_read"))
        .message(16, &text(4, &[0xab, 0x01]))
        .message(17, &text(1, b"system"))
        .message(17, &text(2, b"lib.so"))
        .message(17, &text(3, b"kernel"))
        .message(17, &text(4, b"ERROR"))
        .message(18, &text(1, b"main.c"))
        .message(19, &library.number(7, 1).number(7, 2))
        .message(19, &m().number(1, 2).number(7, 3))
        .message(19, &m().number(1, 3).number(7, 4))
        .message(6, &m().number(1, 1).number(2, 5).number(3, 1).number(4, 0x1800).number(5, 1).number(6, 12))
        .message(6, &m().number(1, 2).number(2, 6).number(3, 2))
        .message(6, &m().number(1, 3).number(3, 1).number(4, 0x1900))
        .message(6, &m().number(1, 4).number(3, 3))
        .message(7, &m().number(1, 9).number(2, 1).number(2, 3).number(2, 2))
        .message(7, &m().number(1, 8).number(2, 4).number(2, 3))
}

/// `PerfSampleDefaults` with an event (`PerfEvents.Counter`).
fn sampled_event(counter: u64) -> Message {
    m().message(12, &m().message(1, &m().number(4, counter)))
}

fn sample(at: u64, of: &Message) -> Message {
    m().number(8, at).number(10, 3).message(66, of)
}

/// Describes each sample: time, CPU, TID, and the functions with files, source lines and offsets, innermost first.
fn samples(read: &Trace) -> Vec<String> {
    let frame = |f: &StackFrame| {
        if f.address >= StackFrame::CONTEXT_MARKERS {
            return "user".to_owned();
        }
        let (function, file, source) = (read.name(f.function), read.name(f.file), read.name(f.source));
        let place = if f.offset == u64::MAX { String::new() } else { format!("+{:#x} at {:#x}", f.offset, f.address) };
        let line = if f.line == 0 { String::new() } else { format!(" ({source}:{})", f.line) };
        format!("{function}{}{line}@{file}{place}", if f.inlined { " inlined" } else { "" })
    };
    let of = |event: &model::Event| match event.what {
        EventKind::CpuSample { tid, stack, .. } => {
            let chain = (stack.0 as usize).checked_sub(1).and_then(|at| read.stacks.get(at)).into_iter().flatten();
            let chain: Vec<String> = chain.map(frame).collect();
            Some(format!("{} cpu{} {}: {}", event.at.0, event.cpu.0 as i32, tid.0, chain.join(" < ")))
        }
        _ => None,
    };
    read.events.iter().filter_map(of).collect()
}

fn anomalies(read: &Trace) -> Vec<(&'static str, u64)> {
    read.anomalies.0.iter().map(|(what, of)| (*what, of.count)).collect()
}

/// The address of a caller is that of its call, so the return address is after it.
#[test]
fn samples_have_callchains_with_the_place_of_each_frame() {
    let first = m().number(1, 0).number(2, 11).number(3, 12).number(4, 9).number(5, 2).number(6, 100);
    let packet = sample(1100, &first).number(13, 1).message(12, &interned());
    let lost = sample(1150, &m().number(1, 0).number(17, 5));
    // Not sampled: it is not one of those that were asked for.
    let skipped = sample(1160, &m().number(1, 1).number(2, 21).number(3, 22).number(6, 100).number(18, 4));
    let stopped = sample(1170, &m().message(19, &m().number(1, 1)));
    let read = read(&trace(&[bundle(0, &events(&[switch(1000, 0, 0, 12)])), packet, lost, skipped, stopped])).unwrap();
    assert_eq!(
        samples(&read),
        [
            "100 cpu0 12: vfs_read@[kernel] < user < @/system/lib.so+0x1900 at 0x7900 < main \
             (main.c:12)@/system/lib.so+0x1801 at 0x7801",
            "160 cpu1 22: ",
        ]
    );
    assert_eq!(read.name(read.stacks[0][2].build_id), "ab01");
    let sampled = read.facts.sampled.as_ref().unwrap();
    assert_eq!((sampled.event.as_str(), sampled.of_time), ("", true));
    assert_eq!(
        anomalies(&read),
        [
            ("the kernel had no room for samples", 1),
            ("the profiler reached its limit and stopped: later samples are missing", 1)
        ]
    );
    let named = read.all().into_iter().filter(|line| line.contains(" of ")).collect::<Vec<_>>();
    assert_eq!(named, ["100 cpu-1 12 of 11 is \"\"", "160 cpu-1 22 of 21 is \"\""], "the processes of sampled threads");
}

/// Symbols are at the end of the trace. Those of another build are of other code.
#[test]
fn functions_that_were_added_later_have_inlined_ones_and_lines() {
    let line = |function: &[u8], source: &[u8], line: u64| m().bytes(1, function).bytes(2, source).number(3, line);
    let address = m().number(1, 0x1900).message(2, &line(b"clip", b"clip.h", 4)).message(2, &line(b"draw", b"d.c", 80));
    let unnamed = m().number(1, 0x1800).message(2, &line(b"", b"m.c", 7));
    let symbols = m().bytes(1, b"/system/lib.so").bytes(2, &[0xab, 0x01]).message(3, &address).message(3, &unnamed);
    let other = m().number(1, 0x1900).message(2, &line(b"wrong", b"w.c", 1));
    let other = m().bytes(1, b"/system/lib.so").bytes(2, &[0xab, 0x02]).message(3, &other);
    let first = m().number(1, 0).number(2, 11).number(3, 12).number(4, 9);
    let packets = [
        sample(1100, &first).number(13, 1).message(12, &interned()),
        m().message(61, &other),
        m().message(61, &symbols),
    ];
    let read = read(&trace(&packets)).unwrap();
    assert_eq!(
        samples(&read),
        ["0 cpu0 12: vfs_read@[kernel] < user < clip inlined (clip.h:4)@/system/lib.so+0x1900 at 0x7900 < draw \
          (d.c:80)@/system/lib.so+0x1900 at 0x7900 < main (m.c:7)@/system/lib.so+0x1801 at 0x7801"]
    );
}

#[test]
fn callchains_say_why_they_are_truncated() {
    let of = |error: u64| m().number(1, 0).number(2, 11).number(3, 12).number(4, 8).number(16, error);
    let first = sample(1100, &of(2)).number(13, 1).message(12, &interned());
    let read = read(&trace(&[first, sample(1200, &of(6)), sample(1300, &of(9))])).unwrap();
    let known = "@/system/lib.so+0x1900 at 0x7900 < ";
    assert_eq!(
        samples(&read),
        [
            format!("0 cpu0 12: {known}[truncated: stack not readable]@"),
            format!("100 cpu0 12: {known}[truncated: too deep]@"),
            format!("200 cpu0 12: {known}@/ERROR"),
        ]
    );
}

/// What a sequence defined ends with its incremental state. Samples of another event do not add up.
#[test]
fn each_sequence_has_its_own_names_and_event() {
    let of = |callstack: u64| m().number(1, 0).number(2, 11).number(3, 12).number(4, callstack);
    let first = sample(1100, &of(8)).number(13, 1).message(12, &interned()).message(59, &sampled_event(10));
    let again = sample(1200, &of(8));
    let cleared = sample(1300, &of(8)).number(41, 1);
    let faults = sample(1400, &of(8)).number(13, 1).message(12, &interned()).message(59, &sampled_event(2));
    let faults = Message(faults.0.clone()).number(10, 4);
    let read = read(&trace(&[first, again, cleared, faults])).unwrap();
    let chain = "@/system/lib.so+0x1900 at 0x7900 < @/ERROR";
    assert_eq!(
        samples(&read),
        [format!("0 cpu0 12: {chain}"), format!("100 cpu0 12: {chain}"), "200 cpu0 12: ".to_owned()]
    );
    let sampled = read.facts.sampled.as_ref().unwrap();
    assert_eq!(
        (sampled.event.as_str(), sampled.of_time, &sampled.others[..]),
        ("cycles", true, &["page-faults".to_owned()][..])
    );
    assert_eq!(anomalies(&read), [("a sample of another event is not part of the profile", 1)]);
}

/// Chrome's profiler: several samples of one thread, with times as differences in µs.
#[test]
fn samples_in_packets_of_several_are_of_the_thread_of_their_sequence() {
    let thread = m().number(1, 11).number(2, 12).number(6, 50).bytes(5, b"Compositor");
    let begin = m().number(10, 3).number(13, 1).message(44, &thread);
    let several = |steps: &[i64]| m().packed(1, &[9, 8]).packed(2, steps);
    let packets = [
        m().message(
            6,
            &m().message(1, &m().number(1, 6).number(2, 1_050_000)).message(1, &m().number(1, 3).number(2, 50_000)),
        ),
        begin,
        m().number(10, 3).message(12, &interned()).message(54, &several(&[0, 10])),
        m().number(10, 3).message(54, &several(&[5, -2, 7])),
        m().number(10, 3).message(54, &several(&[1])),
        m().number(10, 4).message(54, &several(&[1, 1])),
    ];
    let read = read(&trace(&packets)).unwrap();
    let [short, long] = [
        "@/system/lib.so+0x1900 at 0x7900 < @/ERROR",
        "vfs_read@[kernel] < @/system/lib.so+0x1900 at 0x7900 < main (main.c:12)@/system/lib.so+0x1800 at 0x7800",
    ];
    assert_eq!(
        samples(&read),
        [
            format!("0 cpu-1 12: {long}"),
            format!("10000 cpu-1 12: {short}"),
            format!("13000 cpu-1 12: {short}"),
            format!("15000 cpu-1 12: {long}"),
            format!("21000 cpu-1 12: {long}"),
        ]
    );
    let sampled = read.facts.sampled.as_ref().unwrap();
    assert_eq!((sampled.event.as_str(), sampled.of_time), ("elapsed time", false));
    assert_eq!(anomalies(&read), [("samples have an unknown thread", 2), ("samples have no time", 1)]);
}
