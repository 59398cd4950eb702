//! Tests single features of the format, in files written here.

use crate::trace_dat::file;
use crate::trace_dat::writer::{Order, Ring, Shape, TraceDat};
use model::{EventKind, MarkEdge, Pid, StackFrame, Tid};
use testkit::Rng;

/// Returns every shape that a file may have.
fn shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for order in [Order::Little, Order::Big] {
        for (page, long) in [(4096, 8), (4096, 4), (1024, 8), (65_536, 8)] {
            shapes.push(Shape { order, version: 6, page, long, codec: "none" });
            for codec in ["none", "zstd", "zlib"] {
                shapes.push(Shape { order, version: 7, page, long, codec });
            }
        }
    }
    shapes
}

#[test]
fn events_are_equal_in_every_shape() {
    let read_shape = |shape| {
        let mut rng = Rng(7);
        let mut d = TraceDat::new(shape, 3);
        d.cmdlines = "11 eleven\n12 <...>\n13 a name with blanks\n";
        let mut now = 5_000_000_000;
        for _ in 0..600 {
            now += [30, 900, 70_000, 200_000_000][rng.below(4)];
            let cpu = rng.below(3);
            let tid = 11 + rng.below(3) as i32;
            match rng.below(5) {
                0 => d.cpu(cpu).waking(now, tid),
                1 => d.cpu(cpu).other(now, 12 + rng.below(200)),
                2 => d.cpu(cpu).discarded(now, 8 + 4 * rng.below(10)),
                3 => d.cpu(cpu).absolute(now).switch(now, tid, 1, 0),
                _ => d.cpu(cpu).switch(now, 0, 0, tid),
            };
        }
        let read = file(&d.file()).unwrap();
        assert!(read.anomalies.0.is_empty() && read.late == 0 && read.stopped.is_none(), "{shape:?}");
        assert_eq!(read.facts.clock, "ftrace local", "{shape:?}");
        assert_eq!(read.facts.online.len(), 3, "{shape:?}");
        read.all()
    };
    let expected = read_shape(Shape::PLAIN);
    assert!(expected.len() > 400, "{}", expected.len());
    for shape in shapes() {
        assert_eq!(read_shape(shape), expected, "{shape:?}");
    }
}

#[test]
fn names_from_the_header_come_first() {
    let mut d = TraceDat::new(Shape::PLAIN, 1);
    d.cmdlines = "11 eleven\n12 <...>\nnonsense\n";
    d.text_option(8, "11 10\n");
    d.cpu(0).switch(500, 0, 256, 11).switch(700, 11, 1, 0);
    let lines = file(&d.file()).unwrap().all();
    let expected = [
        "-∞ cpu-1 11 of -1 is \"eleven\"",
        "-∞ cpu-1 11 of 10 is \"\"",
        "0 cpu0 swapper/0:0 Preempted → t11:11",
        "200 cpu0 t11:11 Blocked → swapper/0:0",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn events_lost_before_a_page_are_read() {
    for shape in shapes().into_iter().filter(|s| s.page == 4096) {
        let mut d = TraceDat::new(shape, 2);
        d.cpu(0).switch(1_000, 0, 0, 11).lose(Some(9)).switch(5_000, 12, 1, 0).lose(None).switch(9_000, 0, 0, 11);
        d.cpu(1).lose(Some(3)).switch(2_000, 0, 0, 13).lose(None);
        let read = file(&d.file()).unwrap();
        let losses: Vec<_> = read.lines().into_iter().filter(|t| t.contains("lost")).collect();
        let expected = [
            "1000 cpu1 lost 3 of Some(1): -∞–1000",
            "1000 cpu1 lost -1 of Some(1): 1000–∞",
            "4000 cpu0 lost 9 of Some(0): 0–4000",
            "8000 cpu0 lost -1 of Some(0): 4000–8000",
        ];
        assert_eq!(losses, expected, "{shape:?}");
        assert!(read.anomalies.0.is_empty(), "{shape:?}: {:?}", read.anomalies);
    }
}

#[test]
fn events_lost_at_an_unknown_time_are_read() {
    let stats = |overrun: u32, dropped: u32| {
        let mut d = TraceDat::new(Shape::SEVEN, 1);
        d.text_option(2, &format!("CPU: 0\noverrun: {overrun}\ncommit overrun: 0\ndropped events: {dropped}\n"));
        d.text_option(2, "\nBuffer: other\n\n").text_option(2, "CPU: 0\noverrun: 0\ndropped events: 77\n");
        d.cpu(0).lose(Some(4)).switch(1_000, 0, 0, 11);
        file(&d.file()).unwrap().lines().into_iter().filter(|t| t.contains("∞–∞")).collect::<Vec<_>>()
    };
    assert_eq!(stats(4, 0), [""; 0], "the page reports them");
    assert_eq!(stats(4, 2), ["0 cpu0 lost 2 of Some(0): -∞–∞"]);
    assert_eq!(stats(5, 2), ["0 cpu0 lost 3 of Some(0): -∞–∞"]);
}

#[test]
fn an_absolute_time_overflows_after_59_bits() {
    let mut d = TraceDat::new(Shape::PLAIN, 1);
    let wraps = 3 << 59;
    d.cpu(0).other(wraps - 50, 12).absolute(wraps + 20).other(wraps + 30, 12);
    let read = file(&d.file()).unwrap();
    assert_eq!(read.lines(), ["0 cpu0 Sample", "80 cpu0 Sample"]);
}

#[test]
fn marks_of_programs_are_read() {
    let mut d = TraceDat::new(Shape { order: Order::Big, long: 4, ..Shape::SEVEN }, 1);
    d.cpu(0)
        .print(1_000, 42, "B|40|draw")
        .print(1_500, 42, "C|40|fps|59.5")
        .print(2_000, 42, "E|40")
        .print(3_000, 42, "hi");
    let read = file(&d.file()).unwrap();
    let marks: Vec<_> = read
        .events
        .iter()
        .map(|e| match e.what {
            EventKind::Mark(m) => format!("{:?} {:?} {:?} {}", m.tid, m.pid, m.edge, read.name(m.name)),
            EventKind::Value { pid, name, value } => format!("{pid:?} {} {value}", read.name(name)),
            other => format!("{other:?}"),
        })
        .collect();
    let (tid, pid) = (Tid(42), Pid(40));
    let expected = [
        format!("{tid:?} {pid:?} {:?} draw", MarkEdge::Begin),
        format!("{pid:?} fps 59.5"),
        format!("{tid:?} {pid:?} {:?} ", MarkEdge::End),
        "Sample".to_owned(),
    ];
    assert_eq!(marks, expected);
}

#[test]
fn a_page_larger_than_a_batch_is_read() {
    let shape = Shape { page: 1 << 20, ..Shape::SEVEN };
    let mut d = TraceDat::new(shape, 2);
    d.cpu(0).lose(Some(5));
    for at in 0..80_000 {
        d.cpu(0).record(1_000 + at, &[0; 8]);
    }
    d.cpu(1).switch(2_500, 0, 0, 11);
    let read = file(&d.file()).unwrap();
    assert_eq!((read.events.len(), read.late), (80_002, 0));
    assert_eq!(read.lines()[0], "0 cpu0 lost 5 of Some(0): -∞–0");
    assert!(read.events.is_sorted_by_key(|e| e.at));
}

#[test]
fn all_clocks_are_read_or_refused() {
    let with = |clock: &'static str, options: &[(u16, Vec<u8>)]| {
        let mut d = TraceDat::new(Shape::SEVEN, 1);
        d.clock = clock;
        d.options.extend_from_slice(options);
        d.cpu(0).other(1_000, 12).other(3_000, 12);
        file(&d.file())
    };
    let mono = with("mono", &[]).unwrap();
    assert_eq!(mono.facts.clock, "CLOCK_MONOTONIC (mono)");
    // 3 >> 1: each tick is 1.5 ns; the offset moves both times.
    let tsc = [&3_u32.to_le_bytes()[..], &1_u32.to_le_bytes(), &[0; 8]].concat();
    let read = with("x86-tsc", &[(14, tsc.clone()), (7, b"-500\0".to_vec())]).unwrap();
    assert_eq!(read.facts.clock, "ftrace x86-tsc, as ns, shifted by the file's own offset");
    assert_eq!(read.lines(), ["0 cpu0 Sample", "3000 cpu0 Sample"]);
    for (clock, options) in [("x86-tsc", &[][..]), ("counter", &[(14, tsc)][..]), ("uptime", &[][..])] {
        let refused = with(clock, options).err().unwrap();
        assert!(refused.what.contains("record with"), "{refused}");
    }
    let dated = with("local", &[(1, b"0x10\0".to_vec())]).unwrap();
    assert_eq!(dated.facts.clock, "ftrace local, shifted to the time of day");
}

#[test]
fn the_instance_with_the_most_events_is_read() {
    for shape in [Shape::PLAIN, Shape::SEVEN] {
        let other = |events: u64| {
            let mut ring = Ring::new(shape);
            for at in 0..events {
                ring.other(1_000 + at * 10, 16).turn();
            }
            vec![ring]
        };
        let mut d = TraceDat::new(shape, 1);
        d.instances.push(("few", other(1)));
        d.instances.push(("many", other(3)));
        let read = file(&d.file()).unwrap();
        assert_eq!(read.events.len(), 3, "the top one has none");
        assert!(read.facts.about.contains(&("instance".to_owned(), "many".to_owned())));
        d.cpu(0).other(500, 12);
        let read = file(&d.file()).unwrap();
        assert_eq!(read.events.len(), 1);
        let lack = "Only the top instance was read. Instances not read: \"few\", \"many\".";
        assert!(read.facts.lacks.iter().any(|l| l == lack), "{:?}", read.facts.lacks);
    }
}

#[test]
fn events_without_a_description_are_samples() {
    let mut d = TraceDat::new(Shape::PLAIN, 1);
    d.cpu(0).switch(1_000, 0, 0, 11).record(1_100, &[0xff; 40]);
    let read = file(&d.file()).unwrap();
    assert_eq!((read.facts.has_waking, read.facts.has_wakeup), (None, Some(false)));
    assert_eq!(read.lines()[1], "100 cpu0 Sample", "an event without a description");
}

#[test]
fn unsupported_files_are_refused() {
    let mut d = TraceDat::new(Shape::PLAIN, 1);
    d.cpu(0).switch(1_000, 0, 0, 11);
    let bytes = d.file();
    let text = |from: &[u8], to: &[u8]| {
        let at = bytes.windows(from.len()).position(|w| w == from).unwrap();
        let mut bytes = bytes.clone();
        bytes[at..at + to.len()].copy_from_slice(to);
        file(&bytes).err().unwrap().what
    };
    assert!(text(b"flyrecord", b"latency  ").contains("trace-cmd report"));
    assert!(text(b"tracing6", b"tracing5").contains("only 6 and 7"));
    let piped =
        ingest::Importer::open(&import::formats::trace_dat::TraceDat, ingest::Input::Pipe(Box::new(&bytes[..])));
    assert!(piped.err().unwrap().what.contains("pipe"));
}

/// Callchains follow the switch at which they were taken, with names from the file's own list. A return address may be the start of the
/// next function. The callchain of a wakeup or of another thread does not belong to the switch.
#[test]
fn switches_have_their_callchains() {
    for shape in shapes() {
        let mut d = TraceDat::new(shape, 2);
        d.symbols = if shape.long == 8 {
            "ffffffff81000100 T __schedule\nffffffff81000200 T schedule\nffffffff81000300 t pipe_read\t[pipes]\nffffffff81000400 D end\n"
        } else {
            "81000100 T __schedule\n81000200 T schedule\n81000300 t pipe_read\t[pipes]\n81000400 D end\n"
        };
        let chain = [0xffff_ffff_8100_0180, 0xffff_ffff_8100_0300, 0xffff_ffff_8100_0380, 0xffff_ffff_8100_0500];
        for n in 0..1_000 {
            let at = 1_000 * (n + 1);
            d.cpu(0).switch(at, 11, 1, 12).kernel_stack(at + 100, 11, &chain);
            d.cpu(1).switch(at + 10, 13, 1, 0).waking(at + 20, 11).kernel_stack(at + 30, 0, &chain[..1]);
            d.cpu(0).switch(at + 500, 12, 1, 11).kernel_stack(at + 600, 11, &chain[1..]);
        }
        let read = file(&d.file()).unwrap();
        assert!(read.anomalies.0.is_empty() && read.late == 0 && read.stopped.is_none(), "{shape:?}");
        let stacks = |tid: i32| {
            let of =
                |e: &model::Event| if let EventKind::Switch(s) = e.what { Some((s.prev, s.stack.0)) } else { None };
            let stacks = read.events.iter().filter_map(of).filter(move |(prev, _)| *prev == Tid(tid));
            stacks.map(|(_, stack)| stack).collect::<Vec<_>>()
        };
        let kept = stacks(11)[0];
        assert!(kept > 0 && stacks(11) == vec![kept; 1_000], "{shape:?}");
        assert!(stacks(12) == vec![0; 1_000] && stacks(13) == vec![0; 1_000], "{shape:?}");
        let names: Vec<&str> = read.stacks[kept as usize - 1].iter().map(|f| read.name(f.function)).collect();
        assert_eq!(names, ["__schedule", "schedule", "pipe_read", ""], "{shape:?}");
        assert!(read.stacks[kept as usize - 1].iter().all(StackFrame::in_kernel), "{shape:?}");
    }
}
