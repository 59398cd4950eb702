//! Tests single features of the format.

use crate::ctf::writer::{CONTEXT, HEADER, Packet, SWITCH, preamble, switch, trace};
use crate::ctf::{Files, read};
use import::formats::ctf::Ctf;
use ingest::{Importer, Input, Sniff};
use model::{BlockOperation, Device, EventKind};
use std::io::Cursor;

fn usual() -> String {
    preamble(CONTEXT, HEADER) + SWITCH
}

#[test]
fn a_folder_is_detected_by_its_metadata() {
    let names = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
    assert_eq!(Ctf.sniff_folder(&names(&["channel0_0", "metadata"])), Sniff::Yes);
    assert_eq!(Ctf.sniff_folder(&names(&["kernel", "metadata.txt"])), Sniff::No);
    for head in [&b"\x75\xd1\x1d\x57...."[..], b"\x57\x1d\xd1\x75....", b"/* CTF 1.8 */ trace {"] {
        assert_eq!(Ctf.sniff(head), Sniff::Yes);
        let Err(fatal) = Ctf.open(Input::File(Box::new(Cursor::new(head.to_vec())))) else { panic!("opened") };
        assert!(fatal.what.contains("open the folder"), "{fatal}");
    }
    assert_eq!(Ctf.sniff(b"PERFILE2"), Sniff::No);
}

#[test]
fn discarded_events_are_lost_after_the_last_packet_with_free_space() {
    // Packet 0 ends with 10 free bytes, too few for a record; three events were lost before packet 1 began.
    let first = Packet { discarded: 3, room: 10, ..Packet::default() };
    let first = first.event(1, 100, &switch(0, 0, 7)).event(1, 200, &switch(7, 1, 0));
    let second = Packet { sequence: 1, discarded: 3, ..Packet::default() }.event(1, 900, &switch(0, 0, 7));
    // Packet 2 is missing, so the number of lost events is unknown.
    let fourth = Packet { sequence: 3, discarded: 3, ..Packet::default() }.event(1, 1_200, &switch(7, 1, 0));
    let read_trace = read(&trace(&usual(), &[first, second, fourth])).unwrap();
    let lost: Vec<String> = read_trace.lines().into_iter().filter(|t| t.contains("lost")).collect();
    // Times count from the first event: 100.
    assert_eq!(lost, ["800 cpu0 lost 3 of Some(0): 0–800", "1100 cpu0 lost -1 of Some(0): 800–1100"]);
}

#[test]
fn variants_sequences_and_bit_fields_are_skipped() {
    let mixed = r#"event { name = "mixed"; id = 2; stream_id = 0; fields := struct {
        enum : uint8_t { _a, _b = 5 ... 9 } kind;
        variant <kind> { uint32_t _a; struct { uint16_t n; struct { string s; uint8_t x; } each[n]; } _b; } v;
        integer { size = 3; align = 1; signed = true; } bits; integer { size = 7; align = 1; } more;
        uint8_t length; floating_point { exp_dig = 8; mant_dig = 24; align = 32; } floats[length];
        struct { uint8_t deep; uint16_t many[deep]; } inner[2]; string end; } align(8); };"#;
    let metadata = usual() + mixed;
    let head: usize = 8 + 5 * 8 + 4 + 9;
    let start = vec![0; head.next_multiple_of(4) - head]; // the alignment of the floats applies to all fields
    let mut fields = start.clone();
    fields.extend([7, 2, 0]); // kind b, two elements
    fields.extend(b"one\0\x01two\0\x02");
    fields.extend([0xff, 0x01, 1]); // 3 and 7 bits, then aligned: a length of 1
    while !(head + fields.len()).is_multiple_of(4) {
        fields.push(0);
    }
    fields.extend(1.5_f32.to_le_bytes());
    fields.extend([2, 1, 0, 2, 0, 0]); // two elements in the first of inner, none in the second
    fields.extend(b"end\0");
    let packet = Packet::default().event(2, 10, &fields).event(1, 20, &switch(0, 0, 7));
    let mut other = start;
    other.extend([0, 9, 9, 9, 9, 0, 0, 0]); // kind a; no floats
    while !(head + other.len()).is_multiple_of(4) {
        other.push(0);
    }
    other.extend(b"\0\0\0");
    let again = Packet { sequence: 1, ..Packet::default() }.event(2, 30, &other).event(1, 40, &switch(7, 64, 0));
    let read_trace = read(&trace(&metadata, &[packet, again])).unwrap();
    let expected = [
        "0 cpu0 Sample",
        "10 cpu0 swapper/0:0 (20) Runnable R → t7:7 (20)",
        "20 cpu0 Sample",
        "30 cpu0 t7:7 (20) Blocked P → swapper/0:0 (20)",
    ];
    assert_eq!(
        (read_trace.lines(), read_trace.anomalies.0.len()),
        (expected.map(str::to_owned).to_vec(), 0),
        "{:?}",
        read_trace.anomalies
    );
}

/// perf stores the kernel's flags. 1: interrupts were off, as in every wakeup; 9: also in a hardware interrupt.
#[test]
fn an_interrupted_thread_is_not_the_waker() {
    let waking = r#"event { name = "sched:sched_waking"; id = 2; stream_id = 0; fields := struct { int32_t perf_tid;
        uint8_t common_flags; string comm; int32_t pid; int32_t prio; int32_t target_cpu; } align(8); };"#;
    let woken = |flags: u8| {
        let numbers = [7_i32, 120, 1].map(i32::to_le_bytes).concat();
        [&5_i32.to_le_bytes()[..], &[flags], b"t7\0", &numbers].concat()
    };
    let packet = Packet::default().event(2, 10, &woken(1)).event(2, 20, &woken(9));
    let lines = read(&trace(&(usual() + waking), &[packet])).unwrap().lines();
    assert_eq!(lines, ["0 cpu0 Waking t7:7 for Some(1) by 5", "10 cpu0 Waking t7:7 for Some(1) by 0"]);
}

/// LTTng records the operation of a request to a block device as bits instead of characters.
#[test]
fn operations_of_lttng_are_read_from_bits() {
    let metadata = usual()
        + r#"env { tracer_name = "lttng-modules"; }; event { name = "block_rq_issue"; id = 2; stream_id = 0; fields := struct {
        uint32_t _dev; unsigned long _sector; uint32_t _nr_sector; int32_t _tid; uint32_t _rwbs; string _comm; }; };"#;
    let request = |rwbs: u32| {
        let numbers = [8_u32, 7, rwbs].map(u32::to_le_bytes).concat();
        [&(8_u32 << 20).to_le_bytes()[..], &1234_u64.to_le_bytes(), &numbers, b"fio\0"].concat()
    };
    let packet =
        Packet::default().event(2, 10, &request(1 | 1 << 5)).event(2, 20, &request(1 << 2)).event(2, 30, &request(0));
    let trace_read = read(&trace(&metadata, &[packet])).unwrap();
    let of = |e: &model::Event| match e.what {
        EventKind::Block { request, .. } => Some((request.device, request.sector, request.bytes, request.operation)),
        _ => None,
    };
    let requests: Vec<_> = trace_read.events.iter().filter_map(of).collect();
    let wanted = [BlockOperation::Write, BlockOperation::Read, BlockOperation::Other];
    assert_eq!(requests, wanted.map(|operation| (Device::new(8, 0), 1234, 4096, operation)));
}

/// For events of LTTng's user-space tracer, the mark's name is the text of the event, or else its name. Names of kernel events have no
/// meaning here.
#[test]
fn events_of_programs_are_marks() {
    let event = |id: u8, name: &str, fields: &str| {
        format!(
            "event {{ name = \"{name}\"; id = {id}; stream_id = 0; context := struct {{ int32_t _vpid; int32_t _vtid; }};
             fields := struct {{ {fields} }}; }};\n"
        )
    };
    let texts = "uint32_t __msg_length; integer { size = 8; align = 8; encoding = UTF8; } _msg[__msg_length];";
    let metadata = [
        usual(),
        "env { domain = \"ust\"; };".to_owned(),
        event(2, "game:frame", "uint32_t _msg;"),
        event(3, "lttng_ust_tracef:event", texts),
        event(4, "lttng_ust_statedump:end", "uint8_t _x;"),
    ]
    .concat();
    let ids = [5_i32, 7].map(i32::to_le_bytes).concat();
    let with = |fields: &[u8]| [&ids, fields].concat();
    let packet = Packet::default()
        .event(1, 5, &switch(0, 0, 7))
        .event(2, 10, &with(&9_u32.to_le_bytes()))
        .event(3, 20, &with(&[&5_u32.to_le_bytes()[..], b"lap 3"].concat()))
        .event(4, 30, &with(&[1]));
    let read_trace = read(&trace(&metadata, &[packet])).unwrap();
    let describe = |e: &model::Event| match e.what {
        EventKind::Mark(m) => format!("{} {:?} of {} in {}", e.at.0, read_trace.name(m.name), m.tid.0, m.pid.0),
        other => format!("{} {other:?}", e.at.0),
    };
    let marks: Vec<_> = read_trace.events.iter().map(describe).collect();
    let expected =
        ["0 \"sched_switch\" of -1 in -1", "5 \"game:frame\" of 7 in 5", "15 \"lap 3\" of 7 in 5", "25 Sample"];
    assert_eq!(marks, expected);
    assert!(!read_trace.facts.whole_machine, "the program's sched_switch is not a switch");
}

#[test]
fn unreadable_packets_are_reported_and_the_next_packet_is_read() {
    let packet = |n: u64| Packet { sequence: n, ..Packet::default() }.event(1, 100 * n, &switch(0, 0, 7));
    let unknown = packet(1).event(9, 150, &[1, 2, 3]);
    let mut damaged = packet(2).bytes();
    damaged[0] ^= 1; // no magic number
    let mut files = trace(&usual(), &[packet(0), unknown]);
    let stream = files.0.get_mut("channel_0").unwrap();
    stream.extend(damaged);
    stream.extend(packet(3).bytes());
    stream.extend(&packet(4).bytes()[..60]);
    files.0.insert("notes.txt".to_owned(), b"nothing of a trace is in here, but its bytes are many enough".to_vec());
    let read_trace = read(&files).unwrap();
    let switches = read_trace.lines().iter().filter(|t| t.contains("→")).count();
    assert_eq!(switches, 3);
    let anomalies: Vec<_> = read_trace.anomalies.0.keys().copied().collect();
    let all = [
        "a file does not belong to a channel",
        "a packet has no magic number",
        "a packet is cut off by the end of the file",
        "an event is not declared in the metadata",
    ];
    assert_eq!(anomalies, all);
    let lost: Vec<String> = read_trace.lines().into_iter().filter(|t| t.contains("lost")).collect();
    assert_eq!(lost, ["300 cpu0 lost -1 of Some(0): 100–300", "300 cpu0 lost -1 of Some(0): 300–∞"]);
}

#[test]
fn files_of_a_rotated_channel_are_one_stream() {
    let packet = |n: u64| Packet { sequence: n, ..Packet::default() }.event(1, 100 * n, &switch(0, 0, 7)).bytes();
    let mut files = Files::default();
    files.0.insert("metadata".to_owned(), usual().into_bytes());
    // This writer records 0 as the beginning of each packet, so the names give the order.
    for (name, n) in [("channel0_0_0", 0), ("channel0_0_1", 1), ("channel0_0_2", 2)] {
        files.0.insert(name.to_owned(), packet(n));
    }
    // Another channel of this CPU is another stream.
    files.0.insert("channel0_9".to_owned(), packet(0));
    let read_trace = read(&files).unwrap();
    assert_eq!((read_trace.lines().len(), read_trace.late), (4, 0));
    assert!(read_trace.lines().iter().all(|t| !t.contains("lost")), "{:?}", read_trace.lines());
}

#[test]
fn invalid_metadata_is_refused_with_a_reason() {
    for (text, what) in [
        ("trace { major = 1; }", "byte order"),
        ("trace { byte_order = le; ", "expected a name"),
        ("trace { byte_order = le; packet.header := struct { nothing_t x; }; };", "not declared"),
        ("integer { size = 900; } x;", "64 bits"),
        ("typealias integer { size = 8; align = 3; } := x;", "alignment"),
        ("\u{1e}{\"type\":\"preamble\"}", "CTF 2"),
        ("trace { major = 2; };", "not CTF 1.8"),
        (&("struct {".repeat(5_000)), "deeper"),
    ] {
        let files = Files([("metadata".to_owned(), text.as_bytes().to_vec())].into());
        let Err(fatal) = read(&files) else { panic!("{text} was read") };
        assert!(fatal.what.contains(what), "{fatal} does not contain {what}");
    }
}
