//! Exports a trace to Perfetto and reads it back: the states must be equal, to the nanosecond.

use crate::support::{exported, pftrace, rows, session, session_with};
use engine::{Facts, PassOptions, Session};
use export::Options;
use export::formats::perfetto::Perfetto;
use model::{
    Batch, Clock, CpuId, EnergyUse, Event, EventKind, EventTableId, NameId, Ns, Span, StackFrame, StackId, Tid, Value,
    tables,
};
use std::collections::BTreeSet;
use std::path::Path;
use testkit::{Mode, Random};

/// Exports a trace, reads it back, and compares the tables.
fn round_trip(of: &str, before: &Session) {
    let file = exported(&Perfetto, before, &Options::default());
    let read = pftrace::read(&file);
    let mut facts = before.facts().clone();
    let described =
        |f: &engine::Facts| (f.clock.clone(), f.has_waking, f.has_wakeup, f.has_charges, f.whole_machine, f.focus);
    assert_eq!(described(&read.facts), described(&facts), "{of}");
    assert_eq!(read.facts.online, facts.online, "{of}");
    assert_eq!(read.facts.machine.as_ref(), Some(before.machine()), "{of}");
    facts = read.facts;
    let after = session(facts, read.batch);
    for table in ["thread_state", "cpu_state", "cpus", "loss"] {
        let (was, is) = (rows(before, table), rows(&after, table));
        let differs = was.iter().zip(&is).position(|(a, b)| a != b).unwrap_or(was.len().min(is.len()));
        assert!(was == is, "{of}: {table} row {differs}: {:?} became {:?}", was.get(differs), is.get(differs));
    }
    assert_eq!(names(before), names(&after), "{of}");
}

/// TID, process and name of each thread instance.
fn names(session: &Session) -> Vec<Vec<Value>> {
    let table = session.table("threads").expect("threads");
    let cols = ["thread", "tid", "instance", "name"].map(|c| table.def.col(c).expect("a column"));
    table.rows.iter().map(|r| cols.iter().map(|c| r[*c].clone()).collect()).collect()
}

#[test]
fn recordings() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/fixtures/perf_data");
    for name in ["sched.data", "sched-pipe.data", "sched-zstd.data", "switch.data"] {
        round_trip(name, &Session::open(&fixtures.join(name), PassOptions::default()).expect("the fixture opens"));
    }
}

#[test]
#[ignore = "needs ../shared"]
fn recordings_of_other_tools() {
    // Only small ones, as a debug build is slow.
    let files = testkit::corpus::list("guests").into_iter().map(|guest| guest.join("perf.data"));
    for file in files.filter(|f| f.metadata().is_ok_and(|m| m.len() < 4_000_000)) {
        round_trip(&file.display().to_string(), &Session::open(&file, PassOptions::default()).expect("it opens"));
    }
}

#[test]
#[ignore = "needs COREWISE_TRACE"]
fn a_trace_named_by_the_environment() {
    let path = std::env::var_os("COREWISE_TRACE").expect("COREWISE_TRACE names a trace");
    let path = Path::new(&path);
    round_trip(&path.display().to_string(), &Session::open(path, PassOptions::default()).expect("it opens"));
}

#[test]
fn every_drawn_case() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../account/cases");
    let mut drawn = 0;
    for case in std::fs::read_dir(folder).expect("the cases").map(|c| c.expect("a file").path()) {
        let text = std::fs::read_to_string(&case).expect("a text");
        for block in text.split("```trace\n").skip(1).map(|b| b.split("```").next().unwrap_or_default()) {
            let trace = testkit::trace(block);
            let mut facts = trace.facts.clone();
            facts.has_waking = Some(!(trace.says("no_waking") || trace.says("no_wakes")));
            facts.has_wakeup = Some(!trace.says("no_wakes"));
            let options = PassOptions { strict_loss: false, ..PassOptions::default() };
            round_trip(&format!("{}\n{block}", case.display()), &session_with(facts, trace.batch, options));
            drawn += 1;
        }
    }
    assert!(drawn > 20, "{drawn}");
}

/// What differs after a round trip: marks gain the process that Perfetto's tracks need, and a mark about the trace itself; and
/// callchains of switches are not exported, and with them the functions that waited and the system calls that tell requests from other
/// wakings.
/// Kinds of tasks are by program, and threads without a process gain one.
const DIFFERENT: [&str; 9] = [
    "marks",
    "mark_stretches",
    "parallel_regions",
    "served_waits",
    "switch_causes",
    "wait_objects",
    "power_by_function",
    "requests",
    "task_classes",
];

/// Clears the process ID that threads without a process gained by the round trip.
fn forget_added_processes(table: &str, was: &[Vec<Value>], is: &mut [Vec<Value>]) {
    let Some(pid) = tables::renamed::find(table).and_then(|def| def.col("pid")) else { return };
    for (_, gained) in was.iter().zip(is).filter(|(was, _)| was[pid] == Value::Null) {
        gained[pid] = Value::Null;
    }
}

/// Clears the callchains of waits, which Perfetto has only of samples.
fn forget_callchains(table: &str, was: &mut [Vec<Value>]) {
    let Some(def) = tables::renamed::find(table).filter(|def| def.col("stack").is_some()) else { return };
    for at in ["stack", "source_file", "line", "call_site"].iter().filter_map(|name| def.col(name)) {
        was.iter_mut().for_each(|row| row[at] = Value::Null);
    }
}

/// Makes drawn inlined functions plain ones: drawn frames have no file, in which Perfetto has a place for them (`samples`).
fn without_inlined(line: &str) -> String {
    if line.starts_with("sample") || line.starts_with("stack") { line.replace('^', "") } else { line.to_owned() }
}

/// The other analyses have the same rows after the round trip: no event that one of them reads is left out.
#[test]
fn every_analysis() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis/cases");
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("drawn.pftrace");
    let mut with_rows = BTreeSet::new();
    for case in std::fs::read_dir(folder).expect("the cases").map(|c| c.expect("a folder")) {
        let name = case.file_name().into_string().expect("a name");
        if DIFFERENT.contains(&&*name) {
            continue;
        }
        for file in std::fs::read_dir(case.path()).expect("the cases").map(|f| f.expect("a file").path()) {
            let text = std::fs::read_to_string(&file).expect("a text");
            for block in text.split("```trace\n").skip(1).map(|b| b.split("```").next().unwrap_or_default()) {
                // These are for the analysis, not of the trace.
                let of_analysis =
                    |line: &&str| ["range ", "thread ", "gain ", "states "].iter().any(|word| line.starts_with(word));
                let drawing = block.lines().filter(|line| !of_analysis(line));
                let trace = testkit::trace(&drawing.map(without_inlined).collect::<Vec<_>>().join("\n"));
                let before = session(trace.facts.clone(), trace.batch);
                std::fs::write(&path, exported(&Perfetto, &before, &Options::default())).expect("it is written");
                let after = Session::open(&path, PassOptions::default()).expect("the exported file opens");
                let (mut was, mut is) = (rows(&before, &name), rows(&after, &name));
                forget_added_processes(&name, &was, &mut is);
                forget_callchains(&name, &mut was);
                assert!(was == is, "{}: {name}\n{block}\n{was:?}\nbecame\n{is:?}", file.display());
                if !was.is_empty() {
                    with_rows.insert(name.clone());
                }
            }
        }
    }
    assert!(with_rows.len() > 30, "{with_rows:?}");
}

/// Events of every kind that Perfetto has no event for are the same after the round trip, with their texts and callchains.
#[test]
fn every_kind_that_is_a_note() {
    // Facts about threads, and what Perfetto has its own events for, or what is not exported.
    let others = [
        EventTableId::Switch,
        EventTableId::Wake,
        EventTableId::Thread,
        EventTableId::Migrate,
        EventTableId::Idle,
        EventTableId::Frequency,
        EventTableId::Irq,
        EventTableId::Block,
        EventTableId::CpuSample,
        EventTableId::Mark,
        EventTableId::Value,
        EventTableId::Frame,
        EventTableId::Sample,
        EventTableId::Loss,
        EventTableId::Present,
        EventTableId::FrameTime,
    ];
    let is_note = |table: &EventTableId| !others.contains(table);
    let texts: Vec<Box<str>> = ["load_scene", "0-3", "/a b", "é"].map(Into::into).into();
    let frame = |function, address| StackFrame { function: NameId(function), ..StackFrame::at(address) };
    let stacks: Vec<Box<[StackFrame]>> = vec![[frame(1, 16)].into(), [frame(4, 32), frame(1, 16)].into()];
    let mut rng = testkit::Rng(53);
    let mut events = Vec::new();
    for table in EventTableId::ALL.iter().copied().filter(is_note) {
        for _ in 0..50 {
            let what = match testkit::random_event(table, &mut rng, texts.len(), stacks.len()) {
                // An import limits these to what is possible.
                EventKind::Count { tid, event, length, count, running } => {
                    let length = length.max(Ns::ZERO);
                    EventKind::Count { tid, event, length, count, running: running.clamp(Ns::ZERO, length) }
                }
                EventKind::CountAtMark { tid, event, length, count, running } => {
                    let length = length.max(Ns::ZERO);
                    EventKind::CountAtMark { tid, event, length, count, running: running.clamp(Ns::ZERO, length) }
                }
                EventKind::Energy(used) => {
                    let (length, spread_nj) = (used.length.max(Ns::ZERO), used.spread_nj.max(0));
                    EventKind::Energy(EnergyUse { length, spread_nj, ..used })
                }
                // A reading of the wall clock is a clock snapshot too, which is read as another reading.
                EventKind::Clock { which: Clock::Realtime, reading } => {
                    EventKind::Clock { which: Clock::Boottime, reading }
                }
                what => what,
            };
            let at = Ns(events.len() as i64);
            events.push(Event { at, offset: 0, cpu: CpuId(0), current: Tid::UNKNOWN, what });
        }
    }
    let batch = Batch { events, names: texts, stacks, ..Batch::default() };
    let before = session(Facts { begin: Some(Ns(0)), ..Facts::default() }, batch);
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("notes.pftrace");
    std::fs::write(&path, exported(&Perfetto, &before, &Options::default())).expect("it is written");
    let after = Session::open(&path, PassOptions::default()).expect("the exported file opens");
    let events_of = |session: &Session| {
        let (mut all, stacks) = (Vec::new(), session.stacks().expect("callchains"));
        let each = &mut |events: &[Event], names: &[Box<str>]| {
            for event in events.iter().filter(|event| is_note(&event.what.table())) {
                let (mut what, mut texts) = (event.what, Vec::new());
                let mut chains: Vec<Vec<(u64, String)>> = Vec::new();
                what.ids(
                    &mut |id, _| {
                        let text = |id: &NameId| names.get((id.0 as usize).wrapping_sub(1)).map(ToString::to_string);
                        texts.push(text(id));
                        *id = NameId::NONE;
                    },
                    &mut |id| {
                        let name = |frame: &StackFrame| stacks.name(frame.function).unwrap_or_default().to_owned();
                        let frames = stacks.chain(*id).unwrap_or_default().iter();
                        chains.push(frames.map(|frame| (frame.address, name(frame))).collect());
                        *id = StackId::NONE;
                    },
                );
                all.push((event.at, what, texts, chains));
            }
            Ok(())
        };
        session.events(each).expect("events");
        all
    };
    let (was, is) = (events_of(&before), events_of(&after));
    assert!(was.len() >= 800, "{}", was.len());
    for (was, is) in was.iter().zip(&is) {
        assert_eq!(was, is);
    }
    assert_eq!(was.len(), is.len());
}

/// The samples of a recording have the same functions and callchains after the round trip.
#[test]
fn samples_and_their_callchains() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/fixtures/perf_data");
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("samples.pftrace");
    let mut before = Session::open(&fixtures.join("profile.data"), PassOptions::default()).expect("the fixture opens");
    std::fs::write(&path, exported(&Perfetto, &before, &Options::default())).expect("it is written");
    let after = Session::open(&path, PassOptions::default()).expect("the exported file opens");
    for table in ["samples", "folded_stacks"] {
        let (was, is) = (rows(&before, table), rows(&after, table));
        let differs = was.iter().zip(&is).position(|(a, b)| a != b).unwrap_or(was.len().min(is.len()));
        assert!(was == is, "{table} row {differs}: {:?} became {:?}", was.get(differs), is.get(differs));
        assert!(!was.is_empty(), "{table} has no rows");
    }
    // Without paths if they are redacted.
    before.redact(engine::Redact::Private);
    let redacted = exported(&Perfetto, &before, &Options::default());
    let has = |file: &[u8], text: &str| file.windows(text.len()).any(|part| part == text.as_bytes());
    let plain = std::fs::read(&path).expect("it was written");
    assert!(has(&plain, "/lib") && !has(&redacted, "/lib"));
}

/// Redacted energy has the same sum, in rows of a second at least; redacted temperatures have no short extremes.
#[test]
fn redacted_energy_and_temperatures() {
    let columns = 2_550;
    let row = |head: &str, cell: &dyn Fn(usize) -> String| {
        format!("{head} {}\n", (0..=columns).map(cell).collect::<Vec<_>>().join(" "))
    };
    let at_reading = |at: usize, text: String| if at > 0 && at.is_multiple_of(50) { text } else { ".".to_owned() };
    let drawing = row("cpu0", &|at| if at < columns { "A" } else { "." }.to_owned())
        + &row("domain", &|at| if at == 0 { "pkg=package:1" } else { "." }.to_owned())
        + &row("energy", &|at| at_reading(at, format!("pkg={}/50", 400 + at % 100)))
        + &row("temp", &|at| at_reading(at, format!("cpu={}", if at.is_multiple_of(100) { 40 } else { 60 })));
    let trace = testkit::trace(&drawing);
    let mut before = session(trace.facts.clone(), trace.batch);
    before.redact(engine::Redact::Private);
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("drawn.pftrace");
    std::fs::write(&path, exported(&Perfetto, &before, &Options::default())).expect("it is written");
    let after = Session::open(&path, PassOptions::default()).expect("the exported file opens");
    let cell = |session: &Session, table: &str, col: &str| {
        let at = tables::renamed::find(table).and_then(|def| def.col(col)).expect("a column");
        rows(session, table)[0][at].clone()
    };
    for col in ["joules", "known_ns", "update_ns"] {
        assert_eq!(cell(&before, "energy", col), cell(&after, "energy", col), "{col}");
    }
    assert_eq!((cell(&before, "energy", "readings"), cell(&after, "energy", "readings")), (51.into(), 2.into()));
    assert_eq!(cell(&before, "temperatures", "max_c"), 60.0.into());
    let (min, max) = (cell(&after, "temperatures", "min_c"), cell(&after, "temperatures", "max_c"));
    assert!(
        matches!((&min, &max), (Value::Float(min), Value::Float(max)) if *min > 48.0 && *max < 52.0),
        "{min:?} {max:?}"
    );
}

#[test]
fn random_traces() {
    // Not garbage: its times are not of a clock, and Perfetto's are never negative.
    for mode in [Mode::Whole, Mode::Deleted] {
        for seed in 0..100 {
            let batch = Random { mode, seed, steps: 200 }.batch();
            let facts = engine::Facts { whole_machine: true, ..engine::Facts::default() };
            round_trip(&format!("{mode:?} {seed}"), &session(facts, batch));
        }
    }
}

#[test]
fn a_part_has_the_states_of_the_whole() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/fixtures/perf_data/sched.data");
    let whole = Session::open(&path, PassOptions::default()).expect("the fixture opens");
    let (from, to) = (10_000_000, 20_000_000);
    let span = Span::new(Ns(from), Ns(to));
    let read = pftrace::read(&exported(&Perfetto, &whole, &Options { span: Some(span), ..Options::default() }));
    let part = session(read.facts, read.batch);
    // By TID and time: which threads run at the part's begin and in its middle, in both.
    for at in [from, 12_345_678, 15_000_000, 19_000_000] {
        let running = |session: &Session, at: i64| {
            let all = rows(session, "thread_state").into_iter();
            let int = |v: &Value| if let Value::Int(v) = v { *v } else { -1 };
            let here = all.filter(|r| int(&r[2]) <= at && at < int(&r[3]) && r[4] == "running".into());
            let mut tids: Vec<(i64, i64)> = here.map(|r| (int(&r[1]), int(&r[5]))).collect();
            tids.sort_unstable();
            tids
        };
        assert_eq!(running(&whole, at), running(&part, at - from), "at {at}");
    }
}
