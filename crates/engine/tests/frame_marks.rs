//! Marks that look like frames are found by their names, in a recording in the format of Android's systrace.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

use engine::{PassOptions, Session, SlowFrameOptions, open_source};
use model::{FrameMarkKind, Row, tables};

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
    assert_eq!(frames, [("running".to_owned(), 9_000_000, 9_000_000)]);
}

#[test]
fn a_trace_without_marks_has_no_frames() {
    let (_dir, session) =
        opened(&PHONE.lines().filter(|l| !l.contains("mark_write")).map(|l| format!("{l}\n")).collect::<String>());
    assert_eq!(session.frame_marks().unwrap(), []);
}
