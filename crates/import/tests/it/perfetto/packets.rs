//! Tests each kind of packet in traces written here.

use crate::perfetto::read;
use crate::perfetto::writer::{Message, bundle, events, kernel_only, switch, trace};
use ingest::{Importer, Sniff};
use model::{BlockOperation, Device, EventKind};
use std::num::NonZeroI32;

fn m() -> Message {
    Message::default()
}

#[test]
fn columns_have_the_events_of_messages() {
    let columns = m()
        .bytes(5, b"t11")
        .bytes(5, b"t12")
        .bytes(5, b"swapper")
        .packed(1, &[1000, 50, 50])
        .packed(2, &[0, 1, 256])
        .packed(3, &[11, 0, 12])
        .packed(4, &[120, 120, 100])
        .packed(6, &[0, 2, 1])
        .packed(7, &[1020])
        .packed(8, &[12])
        .packed(9, &[1])
        .packed(10, &[100])
        .packed(11, &[1]);
    let further =
        m().bytes(5, b"swapper").packed(1, &[1200]).packed(2, &[2]).packed(3, &[0]).packed(4, &[120]).packed(6, &[0]);
    let after_loss = further.clone();
    let packets = [
        bundle(0, &m().message(4, &columns)),
        bundle(0, &m().message(4, &further)),
        bundle(0, &m().message(4, &after_loss).number(3, 1)),
    ];
    let lines = read(&trace(&packets)).unwrap().all();
    assert_eq!(
        lines,
        [
            "0 cpu0 :-1 Runnable → t11:11",
            "20 cpu0 Waking t12:12 for Some(1) by 11",
            "50 cpu0 :11 Blocked → swapper:0",
            "100 cpu0 :0 Preempted → t12:12",
            "200 cpu0 :12 Blocked → swapper:0",
            "200 cpu0 :-1 Blocked → swapper:0",
            "200 cpu0 lost -1 of Some(0): 200–200",
        ]
    );
}

/// The device number is that of user space (`makedev`), not the kernel's.
#[test]
fn devices_have_user_space_numbers() {
    let issue = m().number(1, 0x10_0000 | 259 << 8 | 1).number(2, 1234).number(3, 8).bytes(5, b"WS");
    let event = m().number(1, 1000).number(2, 7).message(45, &issue);
    let trace_read = read(&trace(&[kernel_only(), bundle(0, &events(&[event]))])).unwrap();
    let of = |e: &model::Event| match e.what {
        EventKind::Block { tid, request } => {
            Some((tid.0, request.device, request.sector, request.bytes, request.operation))
        }
        _ => None,
    };
    let requests: Vec<_> = trace_read.events.iter().filter_map(of).collect();
    assert_eq!(requests, [(7, Device::new(259, 257), 1234, 4096, BlockOperation::Write)]);
}

/// Flags 1: interrupts were off, as in every wakeup; 9: also in a hardware interrupt.
#[test]
fn an_interrupted_thread_is_not_the_waker() {
    let waking =
        |at, flags| m().number(1, at).number(2, 11).number(5, flags).message(20, &m().number(2, 12).number(5, 1));
    let columns = m()
        .bytes(5, b"t12")
        .packed(7, &[1030, 10])
        .packed(8, &[12, 12])
        .packed(9, &[1, 1])
        .packed(10, &[0, 0])
        .packed(11, &[0, 0])
        .packed(12, &[9, 1]);
    let mut content = events(&[switch(1000, 0, 0, 11), waking(1010, 1), waking(1020, 9)]);
    content.0.extend_from_slice(&m().message(4, &columns).0);
    let lines = read(&trace(&[bundle(0, &content)])).unwrap().all();
    let wakers: Vec<_> = lines.iter().filter_map(|t| t.split_once(" by ").map(|(_, by)| by)).collect();
    assert_eq!(wakers, ["11", "0", "0", "11"]);
}

#[test]
fn too_short_columns_are_reported_and_the_rest_is_read() {
    let columns =
        m().bytes(5, b"t11").packed(1, &[1000, 50]).packed(2, &[0]).packed(3, &[11]).packed(4, &[1]).packed(6, &[0]);
    let packets = [bundle(0, &m().message(4, &columns)), bundle(0, &events(&[switch(2000, 11, 1, 0)]))];
    let read = read(&trace(&packets)).unwrap();
    assert_eq!(read.all().len(), 2);
    assert!(read.anomalies.0.contains_key("a bundle of compact switches is damaged"), "{:?}", read.anomalies.0);
}

#[test]
fn state_numbers_follow_the_kernel_release() {
    for (release, number, expected) in [
        ("6.1.0", 256, "Preempted"),
        ("4.9.270", 4096, "Preempted"),
        ("4.9.270", 256, "Blocked"),
        ("4.4.1", 2048, "Preempted"),
    ] {
        let system = m().message(45, &m().message(1, &m().bytes(3, release.as_bytes())));
        let lines = read(&trace(&[system, bundle(0, &events(&[switch(5, 11, number, 0)]))])).unwrap().all();
        assert!(lines[0].contains(expected), "{release} {number}: {lines:?}");
    }
}

#[test]
fn rounds_of_cpus_are_sorted_and_no_event_is_late() {
    let mut packets = vec![kernel_only()];
    for round in 0..400 {
        for cpu in 0..3 {
            let now = round * 10_000 + cpu * 3_000;
            let of_cpu: Vec<_> = (0..60).map(|n| switch(now + n * 40 + cpu, n % 2, 1, (n + 1) % 2)).collect();
            packets.push(bundle(cpu, &events(&of_cpu)));
        }
    }
    let read = read(&trace(&packets)).unwrap();
    assert_eq!((read.events.len(), read.late), (400 * 3 * 60, 0));
    assert!(read.events.is_sorted_by_key(|e| e.at));
}

#[test]
fn cpus_that_are_stored_one_after_the_other_are_merged() {
    let mut packets = vec![kernel_only()];
    for cpu in 0..3 {
        for part in 0..100 {
            let of_cpu: Vec<_> = (0..60).map(|n| switch(part * 6_000 + n * 100 + cpu, n % 2, 1, (n + 1) % 2)).collect();
            packets.push(bundle(cpu, &events(&of_cpu)));
        }
    }
    let read = read(&trace(&packets)).unwrap();
    assert_eq!((read.events.len(), read.late), (18_000, 0));
}

#[test]
fn other_clocks_are_converted_to_boottime() {
    let reading = |clock, ns| m().number(1, clock).number(2, ns);
    let snapshot = m().message(6, &m().message(1, &reading(6, 10_000)).message(1, &reading(3, 4_000)));
    let mark = m().number(8, 4_500).number(58, 3).message(11, &m().number(9, 3).bytes(23, b"now"));
    let unknown = m().number(8, 4_500).number(58, 99).message(11, &m().number(9, 3).bytes(23, b"never"));
    let packets = [bundle(0, &events(&[switch(10_000, 0, 0, 11)])), snapshot, mark, unknown];
    let read = read(&trace(&packets)).unwrap();
    let lines = read.all();
    assert!(lines.contains(&"500 cpu-1 Instant \"now\" of -1 in -1 on track 0".to_owned()), "{lines:?}");
    assert!(lines.iter().any(|t| t.contains("Monotonic")), "{lines:?}");
    assert!(read.anomalies.0.contains_key("a mark has an unknown clock"), "{:?}", read.anomalies.0);
}

#[test]
fn kernel_events_of_another_clock_keep_their_durations() {
    let first = m().number(5, 3).number(6, 1_000).number(7, 50_000);
    let bundle_of = |clock: &Message, at| {
        let mut content = events(&[switch(at, 0, 0, 11)]);
        content.0.extend_from_slice(&clock.0);
        bundle(0, &content)
    };
    let later = m().number(5, 3).number(6, 9_000).number(7, 58_010);
    let read = read(&trace(&[bundle_of(&first, 1_000), bundle_of(&later, 9_000)])).unwrap();
    assert_eq!(read.events.iter().map(|e| e.at.0).collect::<Vec<_>>(), [0, 8_000]);
}

#[test]
fn atrace_marks_values_and_tracks_are_read() {
    let print = |at, text: &str| m().number(1, at).number(2, 42).message(3, &m().bytes(2, text.as_bytes()));
    let lines = ["B|40|draw\n", "E|40\n", "C|40|fps|59\n", "S|40|a|b|7\n", "F|40|a|b|7\n", "hello", "C|40|load|0.5\n"];
    let prints: Vec<_> = lines.iter().zip(1_u64..).map(|(t, at)| print(at, t)).collect();
    let lines = read(&trace(&[bundle(2, &events(&prints))])).unwrap().all();
    assert_eq!(
        lines,
        [
            "0 cpu2 Begin \"draw\" of 42 in 40 on track 0",
            "1 cpu2 End \"\" of 42 in 40 on track 0",
            "2 cpu2 fps of 40 is 59",
            "3 cpu2 Begin \"a|b\" of -1 in 40 on track 7",
            "4 cpu2 End \"a|b\" of -1 in 40 on track 7",
            "5 cpu2 Instant \"hello\" of 42 in -1 on track 0",
            "6 cpu2 load of 40 is 0.5",
        ]
    );
}

#[test]
fn the_end_of_a_frame_has_the_fields_of_its_begin() {
    let begin = m().number(1, 9).number(2, 3).number(4, 400).bytes(5, b"layer").number(9, 2);
    let frame = |at, field, body: &Message| m().number(8, at).message(76, &m().message(field, body));
    let packets = [
        bundle(0, &events(&[switch(100, 0, 0, 11)])),
        frame(150, 4, &begin),
        frame(180, 5, &m().number(1, 9)),
        frame(190, 5, &m().number(1, 9)),
    ];
    let read = read(&trace(&packets)).unwrap();
    let frames: Vec<_> =
        read.events.iter().filter_map(|e| if let EventKind::Frame(f) = e.what { Some(f) } else { None }).collect();
    assert_eq!(frames.len(), 2);
    assert_eq!(
        (frames[0].begins, frames[1].begins, frames[1].jank, frames[1].pid.0),
        (true, false, NonZeroI32::new(2), 400)
    );
    assert!(read.anomalies.0.contains_key("a frame ends that did not start"));
}

#[test]
fn packets_dropped_between_bundles_are_a_loss() {
    let packets =
        [bundle(0, &events(&[switch(100, 0, 0, 11)])), bundle(0, &events(&[switch(900, 11, 1, 0)])).number(42, 1)];
    let lines = read(&trace(&packets)).unwrap().all();
    assert!(lines.contains(&"800 cpu0 lost -1 of None: 0–800".to_owned()), "{lines:?}");
}

#[test]
fn the_machine_and_the_requested_events_are_read() {
    let of = |capacity| m().packed(2, &[600_000, 2_000_000]).number(3, capacity);
    let info = m().message(67, &m().message(1, &of(400)).message(1, &of(1024)));
    let config = m()
        .bytes(1, b"linux.ftrace")
        .message(100, &m().bytes(1, b"sched/sched_switch").bytes(1, b"sched/sched_wakeup"));
    let config_packet = m().message(33, &m().message(2, &m().message(1, &config)));
    let facts = read(&trace(&[config_packet, info, bundle(0, &events(&[switch(5, 0, 0, 11)]))])).unwrap().facts;
    let machine = facts.machine.unwrap();
    assert_eq!(machine.class.iter().map(|c| c.best.value).collect::<Vec<_>>(), [0, 1]);
    assert_eq!((facts.has_waking, facts.has_wakeup), (Some(false), None));
}

#[test]
fn traces_are_detected_by_their_content() {
    let sniff = |bytes: &[u8]| import::formats::perfetto::Perfetto.sniff(bytes);
    let file = trace(&[kernel_only(), bundle(0, &events(&[switch(5, 0, 0, 11)]))]);
    assert_eq!(sniff(&file), Sniff::Yes);
    assert_eq!(sniff(&file[..20]), Sniff::Yes);
    let others: [&[u8]; 5] =
        [b"", b"\n", b"\n\n\nhello, this is text\n", b"PERFILE2", &[0x0a, 3, 0xff, 0xff, 0xff, 1, 2]];
    assert!(others.iter().all(|b| sniff(b) == Sniff::No));
}
