//! Tests recordings whose state numbers are not those of their tables, in every format that has them. The numbers are read as the
//! switches show them, at a second reading.

use crate::perfetto::writer::{Message, bundle, events, kernel_only, trace};
use crate::{ctf, perf_data, perfetto, trace_dat};
use import::formats::ctf::Ctf;
use import::formats::ftrace_text::FtraceText;
use import::formats::perf_data::PerfData;
use import::formats::perfetto::Perfetto;
use import::formats::schedviz::SchedViz;
use import::formats::trace_dat::TraceDat;
use ingest::{Importer, Input, Limits, Reading, StateReading, run};
use model::EventKind;
use std::fmt::Write as _;
use std::io::Cursor;
use std::ops::ControlFlow;

/// A switch: time, previous thread, number, next thread.
type Drawn = (u64, i32, u64, i32);

/// Returns what the first reading shows, and how the switches leave their threads in the second: the thread, the state letter and what it
/// means.
fn read_twice<'a>(format: &dyn Importer, input: impl Fn() -> Input<'a>) -> (StateReading, Vec<String>) {
    let read = |states| {
        let (mut outs, reading) = (Vec::new(), Reading { states, ..Reading::default() });
        let ingested = run(format.open(input()).unwrap(), reading, Limits::default(), |batch| {
            outs.extend(batch.events.iter().filter_map(|event| match &event.what {
                EventKind::Switch(s) => Some(format!("{} {} {:?}", s.prev.0, char::from(s.state_letter), s.out)),
                _ => None,
            }));
            Ok::<_, std::io::Error>(ControlFlow::Continue(()))
        });
        (ingested.unwrap().states, outs)
    };
    let (states, _) = read(StateReading::AsDescribed);
    let (again, outs) = read(states);
    assert_eq!(again, states, "a second reading needs no third");
    (states, outs)
}

fn file<'a>(bytes: &'a [u8]) -> impl Fn() -> Input<'a> {
    move || Input::File(Box::new(Cursor::new(bytes)))
}

fn message(format: &dyn Fn(Drawn) -> Message, drawn: &[Drawn]) -> Vec<u8> {
    let all: Vec<Message> = drawn.iter().map(|switch| format(*switch)).collect();
    trace(&[kernel_only(), bundle(0, &events(&all))])
}

/// Linux stored the bit above for some time: R is 1, S is 2, D is 4, and X is 32. Tables of Linux 4.14 and later print S, D, T and Z for
/// them, and the idle task leaves in S.
#[test]
fn shifted_bits_are_read_in_every_format() {
    const DRAWN: [Drawn; 6] = [
        (1_000, 0, 1, 11),
        (2_000, 11, 2, 0),
        (3_000, 0, 1, 12),
        (4_000, 12, 256, 11),
        (5_000, 11, 32, 12),
        (6_000, 12, 1, 0),
    ];
    let expected = ["0 R Runnable", "11 S Blocked", "0 R Runnable", "12 R Preempted", "11 X Exited", "12 R Runnable"]
        .map(str::to_owned);
    let check = |name: &str, found: (StateReading, Vec<String>)| {
        assert_eq!(found, (StateReading::Shifted, expected.to_vec()), "{name}");
    };

    let mut perf =
        perf_data::writer::PerfData::of_tracepoints(perf_data::writer::Order::Little, perf_data::writer::USUAL);
    for (at, prev, state, next) in DRAWN {
        perf.switch(at, 0, prev, state, next);
    }
    check("perf.data", read_twice(&PerfData, file(&perf.file())));

    let mut dat = trace_dat::writer::TraceDat::new(trace_dat::writer::Shape::PLAIN, 1);
    for (at, prev, state, next) in DRAWN {
        dat.cpu(0).switch(at, prev, state, next);
    }
    check("trace.dat", read_twice(&TraceDat, file(&dat.file())));

    let of = |(at, prev, state, next): Drawn| perfetto::writer::switch(at, prev as u64, state, next as u64);
    check("Perfetto", read_twice(&Perfetto, file(&message(&of, &DRAWN))));

    let packet = DRAWN.iter().fold(ctf::writer::Packet::default(), |packet, (at, prev, state, next)| {
        packet.event(1, *at, &ctf::writer::switch(*prev, *state, *next))
    });
    let metadata = ctf::writer::preamble(ctf::writer::CONTEXT, ctf::writer::HEADER) + ctf::writer::SWITCH;
    let files = ctf::writer::trace(&metadata, &[packet]);
    check("CTF", read_twice(&Ctf, || Input::Folder(Box::new(files.clone()))));

    let mut sched_viz = "ST:0:0\n".to_owned();
    let mut text = "# tracer: nop\n".to_owned();
    let name = |tid| if tid == 0 { "swapper/0".to_owned() } else { format!("t{tid}") };
    for (at, prev, state, next) in DRAWN {
        let (from, to) = (name(prev), name(next));
        let _ = writeln!(sched_viz, "S:{at:x}:0:{prev:x}:{state:x}:{next:x}");
        let _ = writeln!(
            text,
            "  {from}-{prev} [000] 1.{at:09}: sched_switch: prev_comm={from} prev_pid={prev} prev_prio=120 prev_state={state} next_comm={to} \
             next_pid={next} next_prio=120"
        );
    }
    check("SchedViz", read_twice(&SchedViz, file(sched_viz.as_bytes())));
    check("ftrace text", read_twice(&FtraceText, file(text.as_bytes())));
}

/// Perfetto's columns name only the thread that comes: a kernel thread that leaves in 8 is the one that came before.
#[test]
fn an_index_is_read_in_columns() {
    let columns = |states: &[i64]| {
        let m = Message::default().bytes(5, b"swapper").bytes(5, b"kworker/0:1").bytes(5, b"app");
        let m = m.packed(1, &[1000, 50, 50, 50, 50]).packed(2, states).packed(3, &[21, 0, 30, 21, 0]);
        m.packed(4, &[120; 5]).packed(6, &[1, 0, 2, 1, 0])
    };
    let read = |states: &[i64]| {
        let of = trace(&[kernel_only(), bundle(0, &Message::default().message(4, &columns(states)))]);
        read_twice(&Perfetto, file(&of))
    };
    let (states, outs) = read(&[0, 8, 0, 5, 8]);
    assert_eq!(states, StateReading::Index);
    assert_eq!(outs[1..], ["21 I Blocked", "0 R Runnable", "30 X Exited", "21 I Blocked"].map(str::to_owned));
    // A program that is traced leaves in 8 of the table of bits.
    let (states, outs) = read(&[0, 128, 0, 8, 128]);
    assert_eq!(states, StateReading::AsDescribed);
    assert_eq!(outs[1..], ["21 I Blocked", "0 R Runnable", "30 t Blocked", "21 I Blocked"].map(str::to_owned));
}

/// An event of the number of `sched_switch` that has a text where the previous thread's number belongs is none: what ran is unknown.
#[test]
fn events_with_the_numbers_of_a_vendor_are_not_understood() {
    let m = Message::default;
    let counter = |at| m().number(1, at).number(2, 7).message(4, &m().number(1, 9).bytes(2, b"fps").number(3, 60));
    let of_vendor = |at: u64| {
        let switch = perfetto::writer::switch(at, 7, 1, 0);
        // The same message, one number higher.
        m().number(1, at).number(2, 7).message(5, &m().bytes(1, &switch.0))
    };
    let print = m().number(1, 1_400).number(2, 7).message(3, &m().bytes(2, b"I|7|here"));
    let read = perfetto::read(&trace(&[
        kernel_only(),
        bundle(2, &events(&[counter(1_000), of_vendor(1_100), of_vendor(1_200), print.clone()])),
        bundle(2, &events(&[counter(2_000), of_vendor(2_100)])),
    ]))
    .unwrap();
    let (switches, samples, marks) = read.counts();
    assert_eq!((switches, samples, marks), (0, 5, 1));
    assert_eq!(read.not_understood(), [5]);
    // A single one among others is only itself not understood.
    let switches = [(3_000, 0, 0, 7), (3_100, 7, 1, 0), (3_200, 0, 0, 7)];
    let mut all: Vec<Message> =
        switches.map(|(at, prev, state, next)| perfetto::writer::switch(at, prev, state, next)).into();
    all.push(counter(3_300));
    let read = perfetto::read(&trace(&[kernel_only(), bundle(0, &events(&all))])).unwrap();
    assert_eq!((read.counts(), read.not_understood()), ((3, 1, 0), vec![1]));
}
