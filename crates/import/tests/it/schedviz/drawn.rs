//! Tests lines and pages written here.

use crate::schedviz::{Files, folder, read};
use import::formats::schedviz::SchedViz;
use ingest::{Anomaly, Folder, Importer, Input, Sniff};
use model::{Event, EventKind};

fn lines(text: &str) -> crate::schedviz::Read {
    read(Input::Pipe(Box::new(text.as_bytes()))).unwrap()
}

#[test]
fn output_of_sched_bt_is_detected_by_its_start() {
    assert_eq!(SchedViz.sniff(b"Attaching 6 probes...\nST:0:cc6b0587\nS:"), Sniff::Yes);
    for not in [&b""[..], b"S:1:0:0:0:8\n", b"ST:0:xyz\n", b"\0ST:0:1"] {
        assert_eq!(SchedViz.sniff(not), Sniff::No, "{not:?}");
    }
}

#[test]
fn all_kinds_of_lines_are_read() {
    let trace = lines(
        "Attaching 6 probes...\nST:0:64\nP:0:8:78:a:b\nS:1:0:0:0:8\nM:2:1:0:3:9\nW:3:1:3:9\nS:4:0:8:1:0\nS:5:3:0:0:9\n\
         S:6:3:9:100:0\nS:7:0:0:0:9\nS:8:0:9:1000:0\n",
    );
    let expected = [
        "0 cpu-1 8 is \"a:b\"",
        "0 cpu0 :0 Runnable → a:b:8",
        "1 cpu1 Migrate { tid: Tid(9), from: CpuId(0), to: CpuId(3) }",
        "2 cpu1 Wakeup :9 for Some(3)",
        "3 cpu0 a:b:8 Blocked → :0",
        "4 cpu3 :0 Runnable → :9",
        "5 cpu3 :9 Preempted → :0",
        "6 cpu0 :0 Runnable → :9",
        "7 cpu0 :9 Preempted → :0",
    ];
    // The name has its own time, before the first sample.
    assert_eq!(trace.lines()[1..], expected[1..]);
    assert!(trace.lines()[0].ends_with("8 is \"a:b\""));
    assert!(trace.anomalies.0.is_empty(), "{:?}", trace.anomalies.0);
}

#[test]
fn times_of_32_bits_continue_after_an_overflow() {
    let trace = lines(
        "ST:0:0\nS:fffffff0:0:0:0:8\nS:10:0:8:1:0\nS:ffffffff:1:0:0:9\nS:70000000:0:0:0:8\nS:e0000000:0:8:1:0\nS:1:0:0:0:8\n",
    );
    let at: Vec<i64> = trace.events.iter().map(|e| e.at.0).collect();
    let overflow = 1_i64 << 32;
    assert_eq!(at, [0, 0xf, 0x20, 0x7000_0010, 0xe000_0010, overflow + 0x11]);
    // The times of a version that prints all bits are used unchanged.
    let trace = lines("ST:0:0\nS:1:0:0:0:8\nS:1ffffffff:0:8:1:0\nS:200000000:0:0:0:8\n");
    assert_eq!(trace.events.last().unwrap().at.0, 0x1_ffff_ffff);
}

#[test]
fn losses_begin_at_the_longest_silent_cpu() {
    let trace = lines("ST:0:0\nS:1:1:0:0:9\nS:5:0:0:0:8\nLost 17 events\nS:9:0:8:1:0\nLost 1 events\n");
    let losses: Vec<String> =
        trace.events.iter().filter(|e| matches!(e.what, EventKind::Loss(_))).map(|e| trace.describe(e)).collect();
    assert_eq!(losses, ["8 cpu-1 lost 17 of None: 0–8", "8 cpu-1 lost 1 of None: 0–∞"]);
}

#[test]
fn unreadable_lines_are_reported() {
    let trace = lines(
        "S:1:0:0:0:8\nST:0:0\nS:1:0:0:0:8\nS:0:0:8:1:0\nS:2:ffff:0:0:8\nS:2:0:x:0:8\nhello\nS:2:0:8:1:0:7\nST:0:9\nS:3:0:8:1:0",
    );
    let anomalies: Vec<_> = trace.anomalies.0.iter().map(|(code, t)| (*code, t.what, t.count)).collect();
    let expected = [
        ("a CPU number is out of range", Anomaly::Lost, 1),
        ("a line does not have the form of sched.bt's output", Anomaly::NotUnderstood, 1),
        ("a line has more fields than sched.bt writes", Anomaly::NotUnderstood, 1),
        ("a line has numbers that cannot be read", Anomaly::Lost, 1),
        ("a line is cut off by the end of the file", Anomaly::Warning, 1),
        ("a line is earlier than the previous one of its CPU", Anomaly::Lost, 1),
        ("a line precedes the start line", Anomaly::Lost, 1),
        ("a second start: the text contains two recordings, only the first is read", Anomaly::Lost, 1),
    ];
    assert_eq!(anomalies, expected);
    assert_eq!(trace.events.len(), 1);
}

fn collection(kind: &str) -> Files {
    let mut files = Files::default();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/schedviz/ftrace");
    files.0 = Files::of_folder(std::path::Path::new(root)).0;
    files.0.insert("metadata.textproto".into(), format!("trace_type: {kind}\n").into_bytes());
    files
}

#[test]
fn missing_parts_of_a_collection_are_named() {
    let why = |change: &dyn Fn(&mut Files)| {
        let mut files = collection("FTRACE");
        change(&mut files);
        folder(&files).err().unwrap().what
    };
    assert!(why(&|f| f.0.retain(|n, _| !n.ends_with("sched_switch/format"))).contains("sched_switch"));
    assert!(why(&|f| f.0.retain(|n, _| !n.starts_with("traces/"))).contains("contains no events"));
    let kind = why(&|f| *f = collection("PERF"));
    assert!(kind.contains("trace_type PERF"), "{kind}");
    let sizes = why(&|f| drop(f.0.insert("formats/header_page".into(), b"nothing".to_vec())));
    assert!(sizes.starts_with("formats/header_page: "), "{sizes}");
    // Without the header page and the metadata, the format of 64-bit kernels is assumed.
    let mut files = collection("FTRACE");
    let complete = folder(&files).unwrap();
    files.0.retain(|n, _| !n.contains("header_page") && !n.starts_with("metadata") && !n.starts_with("topology"));
    assert_eq!(SchedViz.sniff_folder(&files.names()), Sniff::Yes);
    let read = folder(&files).unwrap();
    assert_eq!(read.events, complete.events);
    assert!(read.facts.machine.is_none() && read.facts.online.is_empty());
}

#[test]
fn a_page_that_is_cut_off_keeps_its_events_and_is_a_loss() {
    let mut files = collection("FTRACE");
    let complete = folder(&files).unwrap();
    let pages = files.0.get_mut("traces/cpu0").unwrap();
    pages.truncate(pages.len() - 100);
    let read = folder(&files).unwrap();
    let last = |of: &crate::schedviz::Read| of.events.iter().filter(|e| matches!(e.what, EventKind::Loss(_))).count();
    assert_eq!(last(&read), last(&complete) + 1);
    assert_eq!(read.anomalies.0.keys().collect::<Vec<_>>(), [&"a page is cut off by the end of the file"]);
    let samples = |of: &crate::schedviz::Read| of.events.iter().filter(|e| Event::is_sample(e)).count();
    assert!(samples(&read) < samples(&complete) && samples(&read) > 100);
}

/// Returns a page with one `sched_switch` (64 bytes) in the fixture's format, with a byte order and size of `long`.
fn page(big: bool, long: usize, at: u64, (prev, state, next): (u32, u64, u32)) -> Vec<u8> {
    let u16s = |n: u16| if big { n.to_be_bytes() } else { n.to_le_bytes() };
    let u32s = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
    let u64s = |n: u64| if big { n.to_be_bytes() } else { n.to_le_bytes() };
    let number = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/fixtures/schedviz/ftrace/formats/sched/sched_switch/format"
    ));
    let number: u16 = number.unwrap().split("ID: ").nth(1).unwrap().lines().next().unwrap().parse().unwrap();
    let mut record = vec![];
    record.extend(u16s(number));
    record.extend([0, 0]);
    record.extend(u32s(prev));
    for (name, tid) in [("from", prev), ("to", next)] {
        record.extend(name.bytes().chain(std::iter::repeat(0)).take(16));
        record.extend(u32s(tid));
        record.extend(u32s(120));
        if name == "from" {
            record.extend(u64s(state));
        }
    }
    assert_eq!(record.len(), 64);
    let mut page = u64s(at).to_vec();
    let used = 4 + record.len();
    page.extend(if long == 8 { u64s(used as u64).to_vec() } else { u32s(used as u32).to_vec() });
    page.extend(u32s(if big { 16 << 27 | 5 } else { 16 | 5 << 5 }));
    page.extend(record);
    page.resize(4096, 0);
    page
}

#[test]
fn pages_of_other_machines_are_read() {
    for (big, long) in [(false, 8), (true, 8), (false, 4), (true, 4)] {
        let mut files = collection("FTRACE");
        let data = 8 + long;
        let head = format!(
            "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:{long};\tsigned:1;\n\
             \tfield: char data;\toffset:{data};\tsize:{};\tsigned:1;\n",
            4096 - data
        );
        files.0.insert("formats/header_page".into(), head.into_bytes());
        let first = page(big, long, 1_000, (0, 0, 11));
        files.0.insert("traces/cpu0".into(), [first, page(big, long, 3_000, (11, 256, 0))].concat());
        files.0.insert("traces/cpu1".into(), page(big, long, 2_000, (12, 1, 0)));
        let read = folder(&files).unwrap();
        let expected = [
            "0 cpu0 from:0 Runnable → to:11",
            "1000 cpu1 from:12 Blocked → to:0",
            "2000 cpu0 from:11 Preempted → to:0",
        ];
        assert_eq!(read.lines(), expected, "big: {big}, long: {long}");
        assert!(read.anomalies.0.is_empty(), "{:?}", read.anomalies.0);
    }
}
