//! Marks that look like frames are found by their names, in a recording in the format of Android's systrace.

use engine::{FrameSource, PassOptions, Session, SlowFrameOptions, TableRequest, open_source};
use model::{FrameMarkKind, Ns, Row, tables};

/// Two threads of a phone: the app's frames of 4 ms and 9 ms, the renderer's frames, and steps of frames. Stretches end without the
/// process with which they begin.
const PHONE: &str = "\
# tracer: nop
     swapper-0     [000] ...1 1.000000: sched_switch: prev_comm=swapper prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=app next_pid=7 next_prio=120
         app-7     [000] ...1 1.001000: tracing_mark_write: B|7|Choreographer#doFrame 11
         app-7     [000] ...1 1.002000: tracing_mark_write: B|7|notifyFramePending
         app-7     [000] ...1 1.003000: tracing_mark_write: E
         app-7     [000] ...1 1.005000: tracing_mark_write: E
         app-7     [000] ...1 1.006000: tracing_mark_write: B|7|Choreographer#doFrame 12
         app-7     [000] ...1 1.015000: tracing_mark_write: E
         app-7     [000] ...1 1.016000: sched_switch: prev_comm=app prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=Render next_pid=8 next_prio=120
      Render-8     [000] ...1 1.017000: tracing_mark_write: B|7|DrawFrame
      Render-8     [000] ...1 1.018000: tracing_mark_write: E
      Render-8     [000] ...1 1.019000: tracing_mark_write: I|7|frame
      Render-8     [000] ...1 1.020000: tracing_mark_write: B|7|frame
";

fn opened(text: &str) -> (tempfile::TempDir, Session) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("phone.txt");
    std::fs::write(&file, text).unwrap();
    let session = Session::of_source(open_source(&file).unwrap(), PassOptions::default()).unwrap();
    (dir, session)
}

#[test]
fn frames_of_a_phone_are_found_and_explained() {
    let (_dir, session) = opened(PHONE);
    let found = session.frame_marks().unwrap();
    let found: Vec<_> = found.iter().map(|of| (of.name.as_str(), of.kind, of.count)).collect();
    // Neither the instant `frame` nor the one that never ends is a frame.
    let wanted = [("Choreographer#doFrame *", FrameMarkKind::Choreographer, 2), ("DrawFrame", FrameMarkKind::Named, 1)];
    assert_eq!(found, wanted);
    let options = SlowFrameOptions { mark_name: Some(found[0].0.to_owned()), ..SlowFrameOptions::default() };
    let session = session.with_slow_frames(options);
    let mut frames = Vec::new();
    session
        .each(tables::slow_frames::Table, |row: Row<'_, tables::slow_frames::Table>| {
            use tables::slow_frames::{CAUSE, FRAME_NS, TIME_NS};
            frames.push((row.get(CAUSE).to_owned(), row.get(FRAME_NS), row.get(TIME_NS)));
        })
        .unwrap();
    assert_eq!(frames, [("running".to_owned(), Ns(9_000_000), Ns(9_000_000))]);
}

/// Asynchronous stretches are operations: their number says nothing about threads, and no thread waits for the last one.
#[test]
fn asynchronous_marks_are_no_parallel_region() {
    const ANIMATIONS: &str = "\
# tracer: nop
     swapper-0     [000] ...1 1.000000: sched_switch: prev_comm=swapper prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=app next_pid=7 next_prio=120
         app-7     [000] ...1 1.001000: tracing_mark_write: S|7|animator|1
         app-7     [000] ...1 1.002000: tracing_mark_write: S|7|animator|2
         app-7     [000] ...1 1.004000: tracing_mark_write: F|7|animator|1
         app-7     [000] ...1 1.014000: tracing_mark_write: F|7|animator|2
";
    let (_dir, session) = opened(ANIMATIONS);
    let count = |table: &str| {
        let mut count = 0;
        let mut add = |rows: &[Vec<model::Value>]| {
            count += rows.len();
            Ok(())
        };
        session.rows(table, &mut add).unwrap();
        count
    };
    assert_eq!([count("mark_stretches"), count("parallel_regions")], [2, 0]);
}

#[test]
fn a_trace_without_marks_has_no_frames() {
    let (_dir, session) =
        opened(&PHONE.lines().filter(|l| !l.contains("mark_write")).map(|l| format!("{l}\n")).collect::<String>());
    assert_eq!(session.frame_marks().unwrap(), []);
}

/// The rows of a table of causes: cause, time and extra time.
fn causes(rows: &[Vec<model::Value>], def: &model::TableDef) -> Vec<(String, i64, i64)> {
    let int = |row: &[model::Value], name: &str| match row[def.col(name).unwrap()] {
        model::Value::Int(int) => int,
        _ => -1,
    };
    let cause = |row: &Vec<model::Value>| match &row[def.col("cause").unwrap()] {
        model::Value::Text(cause) => (cause.clone(), int(row, "time_ns"), int(row, "excess_ns")),
        _ => (String::new(), -1, -1),
    };
    rows.iter().map(cause).collect()
}

#[test]
fn the_list_of_frames_has_the_causes_of_the_table_of_slow_frames() {
    let (_dir, session) = opened(PHONE);
    let sources = session.frame_sources(true).unwrap();
    let names: Vec<_> = sources.iter().map(|of| (of.source.clone(), of.count)).collect();
    let marks = |name: &str| FrameSource::Marks(name.to_owned());
    assert_eq!(
        names,
        [(marks("Choreographer#doFrame *"), 2), (marks("DrawFrame"), 1), (marks("notifyFramePending"), 1)]
    );
    let list = session.frame_list(&sources[0].source, Some(Ns(8_000_000)), 5).unwrap().unwrap();
    assert_eq!((list.frames, list.over, list.median.0, list.budget.0), (2, 1, 4_000_000, 8_000_000));
    let frames: Vec<_> = list.slowest().map(|f| (f.span.start.0, f.span.len().0, f.name.unwrap().to_owned())).collect();
    let frame = |start, took, number| (start, took, format!("Choreographer#doFrame {number}"));
    assert_eq!(frames, [frame(6_000_000, 9_000_000, 12), frame(1_000_000, 4_000_000, 11)]);
    // 4 ms are in the bar from 3.9 ms on, 9 ms are the longest: the bars end at 10 ms, the budget and a quarter.
    assert_eq!(list.bar.0, 250_001);
    let filled: Vec<_> = list.bars.iter().enumerate().filter(|(_, count)| **count > 0).collect();
    assert_eq!(filled, [(15, &1), (35, &1)]);
    let mut rows = Vec::new();
    let mut keep = |more: &[Vec<model::Value>]| {
        rows.extend_from_slice(more);
        Ok(())
    };
    let def = session.frame_causes(&list, 0, &mut keep).unwrap();
    session.frame_causes(&list, 1, &mut keep).unwrap();
    assert!(session.frame_causes(&list, 2, &mut keep).is_ok(), "no such frame has no causes");
    // The typical frame is the one of 4 ms; it has causes too, although it is within its budget.
    let running = |time, excess| ("running".to_owned(), time, excess);
    assert_eq!(causes(&rows, def), [running(9_000_000, 5_000_000), running(4_000_000, 0)]);
    let ranks: Vec<_> = rows.iter().map(|row| row[0].clone()).collect();
    assert_eq!(ranks, [model::Value::Int(1), model::Value::Int(2)]);
    // The same row as in the table.
    let options = SlowFrameOptions {
        mark_name: Some("Choreographer#doFrame *".to_owned()),
        budget: Some(Ns(8_000_000)),
        ..SlowFrameOptions::default()
    };
    let (session, mut table) = (session.with_slow_frames(options), Vec::new());
    let request = TableRequest::whole("slow_frames");
    request
        .rows(&session, &mut |rows| {
            table.extend_from_slice(rows);
            Ok(())
        })
        .unwrap();
    assert_eq!(rows[..1], table);
}

#[test]
fn a_frame_log_is_listed_without_causes() {
    let log = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/fixtures/present_mon/v2.csv");
    let session = Session::of_source(open_source(&log).unwrap(), PassOptions::default()).unwrap();
    let sources = session.frame_sources(true).unwrap();
    assert_eq!(sources.iter().map(|of| &of.source).collect::<Vec<_>>(), [&FrameSource::Log]);
    let list = session.frame_list(&FrameSource::Log, None, 3).unwrap().unwrap();
    assert_eq!(Some(list.budget), session.median_frame().unwrap());
    let took: Vec<_> = list.slowest().map(|frame| frame.span.len()).collect();
    assert!(took.len() == 3 && took.is_sorted_by(|a, b| a >= b), "{took:?}");
    assert_eq!(list.bars.iter().sum::<u64>(), list.frames);
    session.frame_causes(&list, 0, &mut |rows| panic!("{rows:?}")).unwrap();
}

/// Without switches no thread is known. Marks still nest by thread: the renderer's frame ends within the app's.
#[test]
fn frames_of_a_recording_without_switches_nest_by_thread() {
    let (_dir, session) = opened(
        "# tracer: nop
         app-7     (-----) [000] ...1 1.001000: tracing_mark_write: B|7|Choreographer#doFrame
      Render-8     (-----) [001] ...1 1.002000: tracing_mark_write: B|7|DrawFrame
         app-7     (-----) [000] ...1 1.005000: tracing_mark_write: E
      Render-8     (-----) [001] ...1 1.009000: tracing_mark_write: E
      Render-8     (-----) [001] ...1 1.010000: tracing_mark_write: I|7|last
",
    );
    let times: Vec<_> = session
        .frame_sources(true)
        .unwrap()
        .iter()
        .map(|of| {
            let list = session.frame_list(&of.source, None, 1).unwrap().unwrap();
            (of.source.clone(), list.median.0)
        })
        .collect();
    let marks = |name: &str| FrameSource::Marks(name.to_owned());
    assert_eq!(times, [(marks("Choreographer#doFrame"), 4_000_000), (marks("DrawFrame"), 7_000_000)]);
}
