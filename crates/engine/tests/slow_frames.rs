//! Slow frames: drawn ones, capability 42 (the list of slow frames to look into), and laws of random ones.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

#[path = "../../report/tests/support/mod.rs"]
mod support;

use engine::{Asked, Format, PassOptions, Session, Slow, Target, import};
use model::{
    Event, FramePart, FrameTime, Mark, MarkEdge, NameId, Ns, Pid, Present, Span, Table, Tid, Value, What, tables,
};
use std::collections::BTreeMap;
use std::path::Path;
use testkit::{ByName, Mode, Random, Rng, ms};

/// The table of a session as a user gets it, and as it is.
fn slow_frames(session: &Session, span: Option<Span>) -> (String, Table) {
    let asked = Asked { span, ..Asked::whole("slow_frames") };
    let mut out = Vec::new();
    asked.write(session, Format::Markdown, &mut out).unwrap();
    (String::from_utf8(out).unwrap(), table(session, "slow_frames", span))
}

/// Any table, held: those of tests are short.
fn table(session: &Session, name: &str, span: Option<Span>) -> Table {
    let mut table = Table::new(session.definition(name).unwrap());
    let keep = &mut |rows: &[Vec<Value>]| {
        table.rows.extend_from_slice(rows);
        Ok(())
    };
    session.rows_within(name, span, keep).unwrap();
    table
}

/// The stretches that A marks are frames; lines `budget MS`, `slowest N` and `range FROM TO` (ms) say more.
fn told(block: &str) -> String {
    let says = |word: &str| {
        let line = block.lines().find_map(|l| l.strip_prefix(word)).unwrap_or_default();
        line.split_whitespace().map(|w| w.parse().unwrap()).collect::<Vec<i64>>()
    };
    let drawing: Vec<&str> =
        block.lines().filter(|l| !["budget", "slowest", "range"].iter().any(|w| l.starts_with(w))).collect();
    let slow = Slow {
        marked: Some("A".to_owned()),
        budget: says("budget").first().map(|n| ms(*n)),
        most: says("slowest").first().map_or(10, |n| *n as usize),
    };
    let span = match says("range")[..] {
        [from, to] => Some(Span::new(ms(from), ms(to))),
        _ => None,
    };
    slow_frames(&support::drawn(&drawing.join("\n"), |_, _| ()).slow(slow), span).0
}

#[test]
fn cases() {
    testkit::cases::run(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/cases")), told);
}

/// A log of frames of process 1 beside threads A and B, of which A is its only one, on a machine of two performance cores. Frame 2
/// takes 7 ms where others take 2: A is blocked from 5 to 9, and B does not count.
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
                let tells = |what| Event { at: ms(at), what, ..batch.events[0] };
                let told = [What::Present(present), What::FrameTime(time)].map(tells);
                batch.events.extend(told);
            }
            batch.events.sort_by_key(|e| e.at);
        })
    };
    let causes = |session: &Session| {
        let table = slow_frames(session, None).1;
        let cell = |row, col| table.int(row, col).unwrap_or(-1);
        let whole = |row| (cell(row, "thread"), cell(row, "frame_ns"), cell(row, "over_ns"));
        let told = |row| (table.text(row, "cause").unwrap_or_default().to_owned(), cell(row, "time_ns") / 1_000_000);
        ((0..table.rows.len()).map(told).collect::<Vec<_>>(), table.rows.first().map(|_| whole(0)))
    };
    let (blocked, running) = (("blocked".to_owned(), 4), ("running".to_owned(), 3));
    let whole = Some((1, 7_000_000, 5_000_000));
    assert_eq!(causes(&log(Pid(1))), (vec![blocked.clone(), running.clone()], whole));
    // Nobody says whose frames they are, until somebody does.
    let unknown = (vec![("unknown".to_owned(), 7)], Some((-1, 7_000_000, 5_000_000)));
    assert_eq!(causes(&log(Pid::UNKNOWN)), unknown);
    assert_eq!(causes(&log(Pid::UNKNOWN).ending_with(Tid(1))), (vec![blocked, running], whole));
    assert_eq!(causes(&log(Pid(1)).slow(Slow { budget: Some(ms(7)), ..Slow::default() })), (vec![], None));
}

/// Frames of 2, 2 and 3 ms, with one CPU parked: of these the median is 2 ms, and the same budget holds where frames are slow and
/// where they are told by what was parked, in a file and in its folder, whichever was asked for before.
#[test]
fn one_budget_for_slow_frames_and_for_those_beside_parked_cpus() {
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
        let slow = |budget| Slow { marked: Some("A".to_owned()), budget: Some(ms(budget)), ..Slow::default() };
        let session = session.slow(slow(1));
        assert_eq!(over(&session), (1, 3));
        assert_eq!(slow_frames(&session, None).1.int(0, "budget_ns"), Some(1_000_000));
        assert_eq!(over(&session.slow(slow(3))), (3, 0));
    }
    assert!(drawn().may_have_rows(&tables::FRAMES_PARKED));
    let unmarked = support::drawn("cpu0 P0 A A\nparked (@0 .", |_, _| ());
    unmarked.prepare(&["marks"]).unwrap();
    assert!(!unmarked.may_have_rows(&tables::FRAMES_PARKED));
}

#[test]
fn a_mark_that_is_not_there_is_told_of_with_those_that_are() {
    let session = support::drawn("cpu0 U0 A A B B .\nmark A( . A),B( . B)", |_, _| ());
    let session = session.slow(Slow { marked: Some("frame".to_owned()), ..Slow::default() });
    let why = session.table("slow_frames").unwrap_err().to_string();
    assert!(why.contains("no stretch of it is marked frame; there are A, B (`corewise table"), "{why}");
}

/// Random traces, in which threads mark stretches of their own at random, some on top of others'.
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
        Some(Event { what: What::Mark(mark), ..*event })
    };
    batch.events = batch.events.iter().flat_map(|e| [Some(*e), mark(e)]).flatten().collect();
    batch
}

const MACHINE: &str = "cpu0 P0\ncpu1 P0\ncpu2 E1\ncpu3 M2";

/// The times of causes (with type of core and whom behind), as the table `critical_path` has them of a window by itself.
fn the_slow_way(path: &Table) -> BTreeMap<[String; 3], i64> {
    let mut causes = BTreeMap::new();
    for row in 0..path.rows.len() {
        let (state, beside) = (path.text(row, "state").unwrap(), path.text(row, "sibling") == Some("busy"));
        let running = state == "running";
        let cause = if running && beside { "running_beside_busy" } else { state };
        let core_type = path.text(row, "core_type").filter(|_| running).unwrap_or_default();
        let behind = path.int(row, "behind").map_or(String::new(), |b| b.to_string());
        let time = path.int(row, "end_ns").unwrap() - path.int(row, "start_ns").unwrap();
        *causes.entry([cause.to_owned(), core_type.to_owned(), behind]).or_default() += time;
    }
    causes
}

/// Each frame's causes are those that its path has by itself and sum to it, what is typical sums to the same for all, and a folder
/// tells what the file does; over all of a trace and over parts.
#[test]
fn laws() {
    let (mut compared, mut overlapping, mut behind, place) = (0, 0, 0, tempfile::tempdir().unwrap());
    for seed in 0..20 {
        let (batch, mut rng) = (random(seed, if seed % 2 == 0 { Mode::Whole } else { Mode::Deleted }), Rng(seed));
        let open = || support::of_events(batch.clone(), MACHINE);
        let slow = Slow { marked: Some("frame".to_owned()), budget: Some(Ns(rng.below(2) as i64)), most: 40 };
        let session = open().slow(slow.clone());
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
            assert_eq!(sum("more_ns"), frame - sum("typical_ns"));
            assert!(frame > int(rows[0], "budget_ns") && int(rows[0], "over_ns") == frame - int(rows[0], "budget_ns"));
            let window = Span::new(Ns(int(rows[0], "start_ns")), Ns(int(rows[0], "end_ns")));
            let thread = table.int(rows[0], "thread");
            if thread.is_none() {
                // Nobody knew the thread when it marked.
                let all = |row: &usize| table.text(*row, "cause") == Some("unknown") && int(*row, "time_ns") == frame;
                assert!(rows.iter().any(all), "{seed}");
                continue;
            }
            let threads = self::table(&session, "threads", None);
            let of_key = (0..threads.rows.len()).find(|row| threads.int(*row, "thread") == thread).unwrap();
            let tid = Tid(i32::try_from(threads.int(of_key, "tid").unwrap()).unwrap());
            let path = self::table(&open().ending_with(tid), "critical_path", Some(window));
            if path.int(path.rows.len() - 1, "thread") != thread {
                continue; // of a later life of the same number
            }
            let text = |row: usize, col| table.text(row, col).unwrap_or_default().to_owned();
            let mut causes = BTreeMap::new();
            for row in rows.iter().filter(|row| int(**row, "time_ns") > 0) {
                let behind = table.int(*row, "behind").map_or(String::new(), |b| b.to_string());
                causes.insert([text(*row, "cause"), text(*row, "core_type"), behind], int(*row, "time_ns"));
            }
            assert_eq!(causes, the_slow_way(&path), "{seed}: {window:?}");
            behind += causes.keys().filter(|[cause, ..]| cause == "ready").count();
            compared += 1;
        }
        let folder = place.path().join(format!("{seed}.cw"));
        let source = support::source_of(batch.clone());
        import(source.as_ref(), Target::New(&folder), &support::options(MACHINE), &mut |_| ()).unwrap();
        let of_folder = Session::open(&folder, PassOptions::default()).unwrap().slow(slow);
        assert_eq!(self::table(&of_folder, "slow_frames", part).rows, table.rows, "{seed}");
    }
    assert!(compared > 200 && overlapping > 50 && behind > 20, "{compared} {overlapping} {behind}");
}
