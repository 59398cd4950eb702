//! Slow frames: drawn ones, capability 42 (the list of slow frames to investigate), and invariants of random ones.

use crate::support;
use engine::{Format, PassOptions, Session, SlowFrameOptions, TableRequest, Target, import};
use model::{
    Event, EventKind, FramePart, FrameTime, Mark, MarkEdge, NameId, Ns, Pid, Present, Span, Table, Tid, Value, tables,
};
use std::collections::BTreeMap;
use std::path::Path;
use testkit::{ByName, Mode, Random, Rng, ms};

/// Returns the table as Markdown and as rows.
fn slow_frames(session: &Session, span: Option<Span>) -> (String, Table) {
    (markdown(session, "slow_frames", span), table(session, "slow_frames", span))
}

/// Returns a table as Markdown.
fn markdown(session: &Session, name: &str, span: Option<Span>) -> String {
    let mut out = Vec::new();
    TableRequest { span, ..TableRequest::whole(name) }.write(session, Format::Markdown, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Reads a whole table.
fn table(session: &Session, name: &str, span: Option<Span>) -> Table {
    let mut table = Table::new(session.definition(name).unwrap());
    let keep = &mut |rows: &[Vec<Value>]| {
        table.rows.extend_from_slice(rows);
        Ok(())
    };
    session.rows_within(name, span, keep).unwrap();
    table
}

/// Runs a case: the marks named A are frames; the lines `budget MS`, `slowest N` and `range FROM TO` (ms) set options, and
/// `table NAME` another table.
fn run_case(block: &str) -> String {
    let option = |word: &str| {
        let line = block.lines().find_map(|l| l.strip_prefix(word)).unwrap_or_default();
        line.split_whitespace().map(|w| w.parse().unwrap()).collect::<Vec<i64>>()
    };
    let drawing: Vec<&str> =
        block.lines().filter(|l| !["budget", "slowest", "range", "table"].iter().any(|w| l.starts_with(w))).collect();
    let slow = SlowFrameOptions {
        mark_name: Some("A".to_owned()),
        budget: option("budget").first().map(|n| ms(*n)),
        max_frames: option("slowest").first().map_or(10, |n| *n as usize),
    };
    let span = match option("range")[..] {
        [from, to] => Some(Span::new(ms(from), ms(to))),
        _ => None,
    };
    let session = support::drawn(&drawing.join("\n"), |_, _| ()).with_slow_frames(slow);
    let name = block.lines().find_map(|l| l.strip_prefix("table ")).unwrap_or("slow_frames");
    markdown(&session, name, span)
}

#[test]
fn cases() {
    testkit::cases::run(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/cases")), run_case);
}

/// A frame log of process 1, joined with threads A and B on two performance cores; A is the only thread of the process. Frame 2 takes
/// 7 ms, the others 2 ms: A is blocked from 5 to 9 ms, and B does not count.
#[test]
fn cap_42_slow_frames_of_a_log() {
    let drawing = "
        cpu0 P0  A A A A A . . . . A A A .
        cpu1 P1  B B B B B B B B B B B B B
        waking   . . . . . . . . . A@0 . . .";
    let log = |pid: Pid| {
        support::drawn(drawing, |_, batch| {
            for (frame, (at, took)) in (0..).zip([(0, 2), (2, 2), (4, 7), (11, 2)]) {
                let none = NameId::NONE;
                let present = Present { frame, swap_chain: 1, pid, application: none, mode: none, displayed: None };
                let time = FrameTime { frame, of: FramePart::Whole, took: ms(took) };
                let event = |what| Event { at: ms(at), what, ..batch.events[0] };
                let events = [EventKind::Present(present), EventKind::FrameTime(time)].map(event);
                batch.events.extend(events);
            }
            batch.events.sort_by_key(|e| e.at);
        })
    };
    let causes = |session: &Session| {
        let table = slow_frames(session, None).1;
        let cell = |row, col| table.int(row, col).unwrap_or(-1);
        let frame = |row| (cell(row, "thread"), cell(row, "frame_ns"), cell(row, "over_ns"));
        let cause = |row| (table.text(row, "cause").unwrap_or_default().to_owned(), cell(row, "time_ns") / 1_000_000);
        ((0..table.rows.len()).map(cause).collect::<Vec<_>>(), table.rows.first().map(|_| frame(0)))
    };
    let (blocked, running) = (("blocked".to_owned(), 4), ("running".to_owned(), 3));
    let whole = Some((1, 7_000_000, 5_000_000));
    assert_eq!(causes(&log(Pid(1))), (vec![blocked.clone(), running.clone()], whole));
    // The process of the frames is unknown, until the user names a thread.
    let unknown = (vec![("unknown".to_owned(), 7)], Some((-1, 7_000_000, 5_000_000)));
    assert_eq!(causes(&log(Pid::UNKNOWN)), unknown);
    assert_eq!(causes(&log(Pid::UNKNOWN).with_path_end(Tid(1))), (vec![blocked, running], whole));
    assert_eq!(
        causes(&log(Pid(1)).with_slow_frames(SlowFrameOptions { budget: Some(ms(7)), ..SlowFrameOptions::default() })),
        (vec![], None)
    );
}

/// Frames of 2, 2 and 3 ms with one CPU parked; the median is 2 ms. The same budget applies to the tables of slow frames and of frames
/// with parked CPUs, in a file and in its folder, independent of the order of requests.
#[test]
fn slow_frames_and_frames_parked_have_the_same_budget() {
    let drawing = "
        cpu0 P0 A  A A    A A     A A A
        cpu1 P1 .  . .    . .     . . .
        mark    A( . A),A( . A),A( . . A)
        parked  (@1 . .   . .     . . .";
    let over = |session: &Session| {
        let table = session.table("frames_parked").unwrap();
        (table.int(0, "budget_ns").unwrap() / 1_000_000, table.int(0, "over_budget").unwrap())
    };
    let (folder, drawn) = (tempfile::tempdir().unwrap(), || support::drawn(drawing, |_, _| ()));
    let dir = folder.path().join("run.cw");
    let source = support::source_of(testkit::trace(drawing).batch);
    import(source.as_ref(), Target::New(&dir), &PassOptions::default(), &mut |_| ()).unwrap();
    let open = || Session::open(&dir, PassOptions::default()).unwrap();
    for session in [drawn(), open(), open()] {
        assert_eq!(over(&session), (2, 1));
        let slow = |budget| SlowFrameOptions {
            mark_name: Some("A".to_owned()),
            budget: Some(ms(budget)),
            ..SlowFrameOptions::default()
        };
        let session = session.with_slow_frames(slow(1));
        assert_eq!(over(&session), (1, 3));
        assert_eq!(slow_frames(&session, None).1.int(0, "budget_ns"), Some(1_000_000));
        assert_eq!(over(&session.with_slow_frames(slow(3))), (3, 0));
    }
    assert!(drawn().may_have_rows(&tables::FRAMES_PARKED));
    let without_marks = support::drawn("cpu0 P0 A A\nparked (@0 .", |_, _| ());
    without_marks.prepare(&["marks"]).unwrap();
    assert!(!without_marks.may_have_rows(&tables::FRAMES_PARKED));
}

#[test]
fn the_error_for_a_missing_mark_lists_the_marks() {
    let session = support::drawn("cpu0 U0 A A B B .\nmark A( . A),B( . B)", |_, _| ());
    let session = session
        .with_slow_frames(SlowFrameOptions { mark_name: Some("frame".to_owned()), ..SlowFrameOptions::default() });
    let why = session.table("slow_frames").unwrap_err().to_string();
    assert!(why.contains("no mark is named frame; the names are A, B (`corewise table"), "{why}");
}

/// Random traces in which threads have random marks, some of which overlap.
fn random(seed: u64, mode: Mode) -> model::Batch {
    let (mut batch, mut rng) = (Random { mode, seed, steps: 400 }.batch(), Rng(seed));
    let name = NameId(batch.names.len() as u32 + 1);
    batch.names.push("frame".into());
    let mut mark = |event: &Event| {
        let edge = match rng.below(12) {
            0..3 => MarkEdge::Begin,
            3..6 => MarkEdge::End,
            _ => return None,
        };
        let mark = Mark { tid: Tid(1 + rng.below(5) as i32), pid: Pid::UNKNOWN, track: 0, name, edge };
        Some(Event { what: EventKind::Mark(mark), ..*event })
    };
    batch.events = batch.events.iter().flat_map(|e| [Some(*e), mark(e)]).flatten().collect();
    batch
}

const MACHINE: &str = "cpu0 P0\ncpu1 P0\ncpu2 E1\ncpu3 M2";

/// Sums the causes (with core type and the thread queued behind) of the table `critical_path` for one window.
fn causes_of(path: &Table) -> BTreeMap<[String; 3], i64> {
    let mut causes = BTreeMap::new();
    for row in 0..path.rows.len() {
        let (state, sibling_busy) = (path.text(row, "state").unwrap(), path.text(row, "sibling") == Some("busy"));
        let running = state == "running";
        let cause = if running && sibling_busy { "running_sibling_busy" } else { state };
        let core_type = path.text(row, "core_type").filter(|_| running).unwrap_or_default();
        let queued_behind = path.int(row, "queued_behind").map_or(String::new(), |b| b.to_string());
        let time = path.int(row, "end_ns").unwrap() - path.int(row, "start_ns").unwrap();
        *causes.entry([cause.to_owned(), core_type.to_owned(), queued_behind]).or_default() += time;
    }
    causes
}

/// Each frame's causes are those of its own critical path and add up to its time; the typical times add up to the same for all frames;
/// a folder gives the same as the file. For whole traces and parts.
#[test]
fn causes_match_the_critical_path_and_add_up() {
    let (mut compared, mut overlapping, mut ready, place) = (0, 0, 0, tempfile::tempdir().unwrap());
    for seed in 0..20 {
        let (batch, mut rng) = (random(seed, if seed % 2 == 0 { Mode::Whole } else { Mode::Deleted }), Rng(seed));
        let open = || support::of_events(batch.clone(), MACHINE);
        let slow = SlowFrameOptions {
            mark_name: Some("frame".to_owned()),
            budget: Some(Ns(rng.below(2) as i64)),
            max_frames: 40,
        };
        let session = open().with_slow_frames(slow.clone());
        let end = session.summary().span_ns;
        let part = (seed % 4 == 3).then(|| Span::new(Ns(end / 5), Ns(end)));
        let table = slow_frames(&session, part).1;
        let int = |row: usize, col| table.int(row, col).unwrap();
        let ranks: Vec<Vec<usize>> = (1..)
            .map(|rank| (0..table.rows.len()).filter(|row| int(*row, "rank") == rank).collect::<Vec<_>>())
            .take_while(|rows| !rows.is_empty())
            .collect();
        let windows: Vec<(i64, i64)> = ranks.iter().map(|r| (int(r[0], "start_ns"), int(r[0], "end_ns"))).collect();
        overlapping += windows.iter().filter(|a| windows.iter().any(|b| b.0 < a.0 && a.0 < b.1)).count();
        for rows in &ranks {
            let sum = |col| rows.iter().map(|row| int(*row, col)).sum::<i64>();
            let frame = int(rows[0], "frame_ns");
            assert_eq!(sum("time_ns"), frame);
            assert_eq!(sum("typical_ns"), ranks[0].iter().map(|row| int(*row, "typical_ns")).sum::<i64>());
            assert_eq!(sum("excess_ns"), frame - sum("typical_ns"));
            assert!(frame > int(rows[0], "budget_ns") && int(rows[0], "over_ns") == frame - int(rows[0], "budget_ns"));
            let window = Span::new(Ns(int(rows[0], "start_ns")), Ns(int(rows[0], "end_ns")));
            let thread = table.int(rows[0], "thread");
            if thread.is_none() {
                // The thread of the mark was unknown.
                let all = |row: &usize| table.text(*row, "cause") == Some("unknown") && int(*row, "time_ns") == frame;
                assert!(rows.iter().any(all), "{seed}");
                continue;
            }
            let threads = self::table(&session, "threads", None);
            let of_key = (0..threads.rows.len()).find(|row| threads.int(*row, "thread") == thread).unwrap();
            let tid = Tid(i32::try_from(threads.int(of_key, "tid").unwrap()).unwrap());
            let path = self::table(&open().with_path_end(tid), "critical_path", Some(window));
            if path.int(path.rows.len() - 1, "thread") != thread {
                continue; // a later instance of the same TID
            }
            let text = |row: usize, col| table.text(row, col).unwrap_or_default().to_owned();
            let mut causes = BTreeMap::new();
            for row in rows.iter().filter(|row| int(**row, "time_ns") > 0) {
                let queued_behind = table.int(*row, "queued_behind").map_or(String::new(), |b| b.to_string());
                causes.insert([text(*row, "cause"), text(*row, "core_type"), queued_behind], int(*row, "time_ns"));
            }
            assert_eq!(causes, causes_of(&path), "{seed}: {window:?}");
            ready += causes.keys().filter(|[cause, ..]| cause == "ready").count();
            compared += 1;
        }
        let folder = place.path().join(format!("{seed}.cw"));
        let source = support::source_of(batch.clone());
        import(source.as_ref(), Target::New(&folder), &support::options(MACHINE), &mut |_| ()).unwrap();
        let of_folder = Session::open(&folder, PassOptions::default()).unwrap().with_slow_frames(slow);
        assert_eq!(self::table(&of_folder, "slow_frames", part).rows, table.rows, "{seed}");
    }
    assert!(compared > 200 && overlapping > 50 && ready > 20, "{compared} {overlapping} {ready}");
}
