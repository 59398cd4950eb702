//! Tests single kinds of records and layouts.

use crate::perf_data::writer::{
    Attr, Bytes, CALLCHAIN, CPU, ID, IDENTIFIER, Order, PerfData, RAW, READ, Stamp, TID, TIME, USUAL, record, switch,
};
use crate::perf_data::{file, pipe};
use ingest::{Anomalies, Anomaly, Facts, Importer, Input, Reach};
use model::{Batch, Event, EventKind, Ns, SwitchOut, Wake, WakeKind};
use std::io::Cursor;
use testkit::{Mode, Random, Replay};

/// Returns a file with two CPUs and three threads in two rounds; in a round, the buffers of the CPUs are read in turn.
fn two_cpus(order: Order, sample_type: u64) -> PerfData {
    let mut d = PerfData::of_tracepoints(order, sample_type);
    d.other(3, 0, &Bytes::new(order).i32(7).i32(11).comm("early").1, Stamp { at: 0, ..Stamp::default() });
    d.switch(1_000, 0, 0, 0, 11).switch(1_500, 0, 11, 1, 12).switch(1_900, 0, 12, 256, 0);
    d.waking(1_200, 1, 12).switch(1_300, 1, 0, 0, 13).switch(1_800, 1, 13, 16, 0).round();
    d.switch(2_100, 0, 0, 0, 12).waking(1_950, 1, 11).switch(2_050, 1, 0, 0, 11).round();
    d
}

const TWO_CPUS: [&str; 9] = [
    "0 cpu0 swapper/0:0 Runnable → t11:11",
    "200 cpu1 Waking t12:12 for Some(1)",
    "300 cpu1 swapper/0:0 Runnable → t13:13",
    "500 cpu0 t11:11 Blocked → t12:12",
    "800 cpu1 t13:13 Exited → swapper/0:0",
    "900 cpu0 t12:12 Preempted → swapper/0:0",
    "950 cpu1 Waking t11:11 for Some(1)",
    "1050 cpu1 swapper/0:0 Runnable → t11:11",
    "1100 cpu0 swapper/0:0 Runnable → t12:12",
];

#[test]
fn both_byte_orders_are_read_from_file_and_pipe() {
    for order in [Order::Little, Order::Big] {
        let d = two_cpus(order, USUAL);
        let (from_file, from_pipe) = (file(&d.file()).unwrap(), pipe(&d.pipe()).unwrap());
        assert_eq!(from_file.lines(), TWO_CPUS, "{order:?}");
        assert_eq!(from_pipe.all(), from_file.all(), "{order:?}");
        assert_eq!(file(&d.pipe()).unwrap().all(), from_file.all(), "a pipe's bytes in a file");
        for read in [from_file, from_pipe] {
            assert_eq!((read.facts.has_waking, read.facts.has_wakeup), (Some(true), Some(false)));
            assert!(read.facts.whole_machine);
            assert_eq!(read.facts.about, [("kernel_release".to_owned(), "6.1.0".to_owned())]);
            assert!(read.anomalies.0.is_empty() && read.stopped.is_none() && read.late == 0);
        }
    }
}

/// simpleperf writes the tracepoints' descriptions within their record, and perf after it.
#[test]
fn descriptions_within_their_record_are_read() {
    for order in [Order::Little, Order::Big] {
        let mut d = two_cpus(order, USUAL);
        let tracing = std::mem::take(&mut d.tracing);
        let body = Bytes::new(order).u32(tracing.len() as u32).raw(&tracing).padded(8).1;
        d.records.insert(0, record(order, 66, 0, &body));
        for read in [file(&d.file()).unwrap(), pipe(&d.pipe()).unwrap()] {
            assert_eq!((read.lines(), read.anomalies.0.len()), (TWO_CPUS.map(str::to_owned).to_vec(), 0), "{order:?}");
        }
    }
}

#[test]
fn a_file_through_a_pipe_is_refused_with_advice() {
    let error = pipe(&two_cpus(Order::Little, USUAL).file()).err().unwrap();
    assert!(error.what.contains("give the file itself"), "{error}");
}

#[test]
fn files_without_round_marks_are_read() {
    let mut d = two_cpus(Order::Little, USUAL);
    d.records.retain(|r| r[0] != 68);
    assert_eq!(file(&d.file()).unwrap().lines(), TWO_CPUS);
}

/// Returns two rounds of two CPUs, each with 3,000 switches a millisecond apart; `backwards` for an overwritable buffer.
fn large_rounds(cpus: &[i64], backwards: bool) -> PerfData {
    let mut d = PerfData::of_tracepoints(Order::Little, USUAL);
    d.id_index(cpus);
    for round in 0..2 {
        for cpu in 0..2 {
            for at in 0..3_000 {
                let at = round * 3_000 + if backwards { 2_999 - at } else { at };
                let (from, to) = if at % 2 == 0 { (0, 11 + cpu) } else { (11 + cpu, 0) };
                d.switch(1_000_000 * (at + 1) + cpu as u64, cpu as u32, from, 1, to);
            }
        }
        d.round();
    }
    d
}

#[test]
fn events_of_cpu_buffers_are_emitted_before_the_round_ends() {
    let in_rounds = file(&large_rounds(&[-1, -1], false).file()).unwrap().lines();
    // (ID_INDEX, backwards, whether events are emitted before the first mark)
    for (cpus, backwards, early) in [([0, 1], false, true), ([0, -1], false, false), ([0, 1], true, false)] {
        let d = large_rounds(&cpus, backwards);
        let read = file(&d.file()).unwrap();
        assert_eq!((read.late, read.lines() == in_rounds), (0, true), "{cpus:?} {backwards}");
        let bytes = d.file();
        let mut opened =
            import::formats::perf_data::PerfData.open(Input::File(Box::new(Cursor::new(&bytes[..])))).unwrap();
        let (mut batch, mut emitted, mut reached) = (Batch::default(), 0, Vec::new());
        while let Reach::Until(until) = opened.streams[0].next(&mut batch, &mut Anomalies::default()).unwrap() {
            emitted += batch.events.iter().filter(|e| e.is_sample()).count();
            reached.push((emitted, until.get().unwrap_or(Ns::MIN)));
            batch.clear();
        }
        let before_mark =
            reached.iter().filter(|(emitted, _)| *emitted < 6_000).map(|(_, until)| *until).max().unwrap();
        assert_eq!(before_mark > Ns(1_000_000_000), early, "{cpus:?} {backwards}: {reached:?}");
    }
}

#[test]
fn compressed_records_are_read_even_if_split() {
    for order in [Order::Little, Order::Big] {
        for size in [50, 333, 1 << 14] {
            let d = two_cpus(order, USUAL).packed(size);
            assert_eq!(file(&d.file()).unwrap().lines(), TWO_CPUS, "{order:?} {size}");
            assert_eq!(pipe(&d.pipe()).unwrap().lines(), TWO_CPUS, "{order:?} {size}");
        }
    }
}

#[test]
fn damaged_compressed_records_are_a_loss() {
    let mut d = two_cpus(Order::Little, USUAL).packed(200);
    d.records[1][20..].fill(0xff);
    let read = file(&d.file()).unwrap();
    assert!(read.anomalies.0.values().all(|t| t.what == Anomaly::Lost) && !read.anomalies.0.is_empty());
}

/// A loss lasts from the last event of its CPU before to the first one after; other CPUs are not affected.
#[test]
fn lost_records_are_spans() {
    for order in [Order::Little, Order::Big] {
        let mut d = PerfData::of_tracepoints(order, USUAL);
        let lost = |n: u64| Bytes::new(order).u64(3160).u64(n).1;
        d.switch(1_000, 0, 0, 0, 11).switch(1_100, 1, 0, 0, 12);
        d.other(2, 0, &lost(5), Stamp { at: 1_300, cpu: 0, ..Stamp::default() });
        d.other(2, 0, &lost(2), Stamp { at: 1_350, cpu: 0, ..Stamp::default() });
        d.switch(1_200, 1, 12, 1, 0).switch(1_400, 0, 11, 1, 0).round();
        d.other(2, 0, &lost(1), Stamp { at: 1_900, cpu: 1, ..Stamp::default() });
        d.switch(2_000, 0, 0, 0, 11).round();
        let lines = file(&d.file()).unwrap().lines();
        let losses: Vec<_> = lines.iter().filter(|t| t.contains("lost")).collect();
        assert_eq!(
            losses,
            ["400 cpu0 lost 7 of Some(0): 0–400", "1000 cpu1 lost 1 of Some(1): 200–1000"],
            "{lines:#?}"
        );
    }
}

#[test]
fn lost_samples_with_a_time_and_as_a_closing_sum() {
    let order = Order::Little;
    let mut d = PerfData::of_tracepoints(order, USUAL);
    let lost = |n: u64| Bytes::new(order).u64(n).1;
    d.switch(1_000, 0, 0, 0, 11);
    d.other(13, 0, &lost(4), Stamp { at: 1_300, cpu: 0, ..Stamp::default() });
    d.switch(1_400, 0, 11, 1, 0).switch(2_000, 1, 0, 0, 12);
    d.other(13, 0, &lost(9), Stamp::default());
    let lines = file(&d.file()).unwrap().lines();
    let losses: Vec<_> = lines.iter().filter(|t| t.contains("lost")).map(String::as_str).collect();
    // The closing sum includes earlier LOST records; it does not state the buffer of the rest.
    assert_eq!(losses, ["400 cpu0 lost 4 of Some(0): 0–400", "1000 cpu0 lost 5 of None: 400–1000"]);
}

fn switch_records(order: Order, release: &str, kind: u32) -> PerfData {
    let mut d = PerfData::of_switch_records(order, release);
    let body = if kind == 15 { Bytes::new(order).i32(5).i32(5).1 } else { Vec::new() };
    let stamp = |at, tid| Stamp { at, cpu: 2, pid: 10, tid, id: 1 };
    d.other(kind, 0, &body, stamp(1_000, 11));
    d.other(kind, 1 << 13 | 1 << 14, &body, stamp(1_100, 11));
    d.other(kind, 0, &body, stamp(1_200, 12));
    d.other(kind, 1 << 13, &body, stamp(1_300, 12));
    d
}

#[test]
fn both_kinds_of_switch_records_are_read() {
    for (order, kind) in [(Order::Little, 14), (Order::Little, 15), (Order::Big, 14), (Order::Big, 15)] {
        let read = file(&switch_records(order, "6.1.0", kind).file()).unwrap();
        let out: Vec<&str> = read.facts.lacks.iter().map(String::as_str).filter(|l| l.contains("wakeups")).collect();
        assert_eq!(out.len(), 1, "{:?}", read.facts.lacks);
        assert_eq!(
            read.lines(),
            [
                "0 cpu2 :-1 Blocked → :11",
                "100 cpu2 :11 Preempted → :-1",
                "200 cpu2 :-1 Blocked → :12",
                "300 cpu2 :12 Blocked → :-1"
            ]
        );
    }
}

/// These records have a preemption flag since Linux 4.17; before, the reason of a switch-out is unknown.
#[test]
fn switch_records_without_a_preemption_flag() {
    let mut d = switch_records(Order::Little, "4.14.1", 15);
    d.records.remove(1);
    assert_eq!(
        file(&d.file()).unwrap().lines(),
        ["0 cpu2 :-1 NotRecorded → :11", "200 cpu2 :-1 NotRecorded → :12", "300 cpu2 :12 NotRecorded → :-1"]
    );
}

/// If sched_switch was also recorded, each switch is reported once.
#[test]
fn switch_records_are_ignored_if_there_are_tracepoints() {
    let mut d = two_cpus(Order::Little, USUAL);
    let stamp = Stamp { at: 1_000, cpu: 0, pid: 11, tid: 11, id: 0 };
    d.other(14, 0, &[], stamp);
    assert_eq!(file(&d.file()).unwrap().lines(), TWO_CPUS);
}

#[test]
fn names_and_processes_are_read() {
    for order in [Order::Little, Order::Big] {
        let mut d = PerfData::of_tracepoints(order, USUAL);
        let at = |at| Stamp { at, cpu: 1, pid: 7, tid: 8, id: 0 };
        d.other(3, 0, &Bytes::new(order).i32(7).i32(11).comm("before").1, at(0));
        d.switch(1_000, 0, 0, 0, 11);
        d.other(7, 0, &Bytes::new(order).i32(7).i32(7).i32(12).i32(11).u64(1_100).1, at(1_100));
        d.other(3, 0, &Bytes::new(order).i32(7).i32(12).raw(b"worker\0\0").1, at(1_200));
        let read = file(&d.file()).unwrap();
        assert_eq!(
            read.all(),
            [
                "-∞ cpu0 11 of 7 is \"before\"",
                "0 cpu0 swapper/0:0 Runnable → t11:11",
                "100 cpu1 12 of 7 is \"\"",
                "200 cpu1 12 of 7 is \"worker\""
            ]
        );
    }
}

#[test]
fn callchains_of_switches_are_kept() {
    for order in [Order::Little, Order::Big] {
        let mut d = PerfData::of_tracepoints(order, USUAL | CALLCHAIN);
        let at = |at| Stamp { at, cpu: 0, pid: 11, tid: 11, id: 0 };
        let out = switch(order, 11, 1, 0);
        d.sample(0, at(1_000), &[0xffff_8000, 0x1234], &out);
        d.sample(0, at(1_100), &[], &switch(order, 0, 0, 11));
        d.sample(0, at(1_200), &[0xffff_8000, 0x1234], &out);
        let read = file(&d.file()).unwrap();
        assert_eq!(
            read.lines(),
            [
                "0 cpu0 t11:11 Blocked → swapper/0:0 [ffff8000, 1234]",
                "100 cpu0 swapper/0:0 Runnable → t11:11",
                "200 cpu0 t11:11 Blocked → swapper/0:0 [ffff8000, 1234]"
            ]
        );
        assert_eq!(read.stacks.len(), 1, "the same chain is stored once");
    }
}

#[test]
fn readings_and_identifiers_in_front_of_a_record_are_skipped() {
    for read_format in [0, 3, 4, 7, 8, 8 | 4, 8 | 7, 16, 8 | 4 | 16 | 3] {
        let mut d = PerfData::of_tracepoints(Order::Little, USUAL | READ | CALLCHAIN | IDENTIFIER);
        d.attrs.iter_mut().for_each(|a| a.read_format = read_format);
        d.switch(1_000, 0, 0, 0, 11).waking(1_100, 1, 12);
        let lines = file(&d.file()).unwrap().lines();
        assert_eq!(lines, [TWO_CPUS[0], "100 cpu1 Waking t12:12 for Some(1)"], "{read_format}");
    }
}

#[test]
fn attributes_of_different_layouts_are_distinguished_by_id() {
    for with_id in [IDENTIFIER, ID] {
        let mut d = PerfData::of_tracepoints(Order::Little, TID | TIME | CPU | RAW | with_id);
        d.attrs[1].sample_type |= CALLCHAIN;
        d.attrs.push(Attr {
            kind: 0,
            config: 0,
            sample_type: TID | TIME | CPU | READ | with_id,
            ..Attr::tracepoint(99, 0)
        });
        d.switch(1_000, 0, 0, 0, 11).waking(1_100, 1, 12);
        d.sample(2, Stamp { at: 1_200, cpu: 1, pid: 1, tid: 1, id: 0 }, &[], &[]);
        let lines = file(&d.file()).unwrap().lines();
        assert_eq!(lines, [TWO_CPUS[0], "100 cpu1 Waking t12:12 for Some(1)", "200 cpu1 Sample"]);
    }
}

#[test]
fn different_layouts_without_ids_are_refused() {
    let mut d = PerfData::of_tracepoints(Order::Little, TID | TIME | CPU | RAW);
    d.attrs[1].sample_type |= CALLCHAIN;
    d.switch(1_000, 0, 0, 0, 11);
    assert!(file(&d.file()).err().unwrap().what.contains("cannot be distinguished"));
}

/// Reading continues at the next three consecutive records; the garbage in between is a loss.
#[test]
fn reading_continues_after_garbage() {
    for size in [8, 640, 70_000, 3 << 20] {
        let mut d = two_cpus(Order::Little, USUAL);
        let at = d.records.len() - 5;
        d.records.insert(at, vec![0; size]);
        let read = file(&d.file()).unwrap();
        let switches: Vec<_> = read.lines().into_iter().filter(|t| !t.contains("lost")).collect();
        assert_eq!(switches, TWO_CPUS, "{size}");
        assert_eq!(read.anomalies.0.len(), 1, "{:?}", read.anomalies);
        let losses: Vec<_> = read.lines().into_iter().filter(|t| t.contains("lost")).collect();
        assert!((1..=2).contains(&losses.len()), "{losses:?}");
    }
}

/// Random traces are the same after writing and reading, in each form of a file.
#[test]
fn random_traces_round_trip() {
    for seed in 0..60 {
        let mut batch = Random { mode: Mode::Whole, seed, steps: 150 }.batch();
        batch
            .events
            .retain(|e| matches!(e.what, EventKind::Switch(_) | EventKind::Wake(Wake { kind: WakeKind::Waking, .. })));
        // A runnable state without a number in this format is R.
        for e in &mut batch.events {
            if let EventKind::Switch(s) = &mut e.what
                && s.out.is_runnable()
                && s.out != SwitchOut::Preempted
            {
                s.out = SwitchOut::Runnable;
            }
        }
        let order = if seed % 2 == 0 { Order::Little } else { Order::Big };
        let mut d = PerfData::of_tracepoints(order, USUAL);
        for e in &batch.events {
            let at = 5_000 + e.at.0 as u64;
            match e.what {
                EventKind::Switch(s) => {
                    let state = match s.out {
                        SwitchOut::Preempted => 256,
                        SwitchOut::Blocked => 1,
                        SwitchOut::Exited => 16,
                        _ => 0,
                    };
                    d.switch(at, e.cpu.0, s.prev.0, state, s.next.0);
                }
                EventKind::Wake(w) => {
                    d.waking(at, e.cpu.0, w.tid.0);
                }
                _ => {}
            }
        }
        let expected = switches_and_wakeups(&crate::perf_data::read(Replay::all(batch).opened(Facts::default())));
        for bytes in [d.file(), d.pipe(), d.packed(777).file(), d.packed(5_000).pipe()] {
            assert_eq!(switches_and_wakeups(&file(&bytes).unwrap()), expected, "{seed}");
        }
    }
}

/// Returns the time, CPU and threads of switches and wakeups.
fn switches_and_wakeups(read: &crate::perf_data::Read) -> Vec<String> {
    let of = |e: &Event| match e.what {
        EventKind::Switch(s) => Some(format!("{} cpu{} {} {:?} → {}", e.at.0, e.cpu.0, s.prev.0, s.out, s.next.0)),
        EventKind::Wake(w) => Some(format!("{} cpu{} wakes {}", e.at.0, e.cpu.0, w.tid.0)),
        _ => None,
    };
    read.events.iter().filter_map(of).collect()
}
