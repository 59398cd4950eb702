//! Parts of a recording selected by mark or frame, and rows of one process.

use crate::support;
use engine::{IntervalName, PassOptions, Session, TableRequest, open_source};
use model::{EventKind, NameId, Ns, Pid, Span};
use std::path::Path;
use testkit::ms;

fn span(from: i64, to: i64) -> Result<Span, String> {
    Ok(Span::new(ms(from), ms(to)))
}

/// A has two marks, and B has one during A's first. A and B are one process, C is another.
const MARKED: &str = "
    cpu0 U0  A A A A A A A A .
    cpu1 U1  B B B B C C C C .
    mark     A( B( B) . A) A( . A) .";

fn by_mark(session: &Session, mark: &str) -> Result<Span, String> {
    session.marked_span(mark).map_err(|e| e.to_string())
}

#[test]
fn a_mark_selects_its_time() {
    let session = support::drawn(MARKED, |_, _| ());
    assert_eq!(by_mark(&session, "B"), span(1, 2));
    assert_eq!((by_mark(&session, "A#1"), by_mark(&session, "A#2")), (span(0, 4), span(5, 7)));
    let which = "2 marks are named A: select one, from 'A#1' to 'A#2'";
    for wrong in ["A", "A#3"] {
        let why = by_mark(&session, wrong).unwrap_err();
        assert!(why.contains(which) && why.contains("corewise table"), "{why}");
    }
    for wrong in ["Z", "Z#1", "A#0", "A#x", ""] {
        let why = by_mark(&session, wrong).unwrap_err();
        assert!(why.contains("the names are A, B ("), "{why}");
    }
    let like = by_mark(&session, "A#").unwrap_err();
    assert!(like.contains("no mark is named A#, did you mean A?"), "{like}");
    let none = support::drawn("cpu0 U0 A A .", |_, _| ());
    assert!(by_mark(&none, "A").unwrap_err().contains("the trace has no marks"));
}

/// `A#2` selects a mark with exactly this name, if there is one, instead of the second mark named A.
#[test]
fn a_name_may_contain_a_number() {
    let session = support::drawn(MARKED, |_, batch| {
        batch.names.push("A#2".into());
        let name = NameId(batch.names.len() as u32);
        for event in &mut batch.events {
            if let EventKind::Mark(mark) = &mut event.what
                && mark.name == NameId(2)
            {
                mark.name = name;
            }
        }
    });
    assert_eq!(by_mark(&session, "A#2"), span(1, 2));
    assert_eq!(by_mark(&session, "A#1"), span(0, 4));
}

/// An interrupt wakes A every 4 ms; in its fifth period it works for longer than that.
#[test]
fn an_interval_is_selected_by_its_thread_or_name() {
    let session = support::drawn(
        "
        cpu0 U0  A . . .  . A . .  . A . .  . A . .  . A . .  . A A A  A A A .  . A . .  . A . .  . A . .  . A . .
        waking   . . . .  A<.@0 . . .  A<.@0 . . .  A<.@0 . . .  A<.@0 . . .  A<.@0 . . .  . . . .  A<.@0 . . .  A<.@0 . . .  A<.@0 . . .  A<.@0 . . .
        mark     . . . .  . . . .  . . . .  . . . .  . A( . .  . A) . .",
        |_, _| (),
    );
    let by = |name: &str| {
        let name: IntervalName = name.parse().unwrap();
        session.interval(&name).map(|found| found.span).map_err(|why| why.to_string())
    };
    assert_eq!((by("period:A#1"), by("period:1#5")), (span(4, 8), span(20, 28)));
    let which = "there are 8 periods of A: select one, from 'period:A#1' to 'period:A#8'";
    for wrong in ["period:A", "period:A#9"] {
        assert!(by(wrong).unwrap_err().contains(which), "{:?}", by(wrong));
    }
    for wrong in ["period:B", "period:B#1", "period:A#0", "period:2"] {
        assert!(by(wrong).unwrap_err().contains("there are periods of A (`corewise table"), "{:?}", by(wrong));
    }
    for (wrong, none) in [("request:A#1", "the trace has no requests"), ("region:A", "the trace has no regions")] {
        assert!(by(wrong).unwrap_err().contains(none), "{:?}", by(wrong));
    }
    for bad in ["", "A#1", "period:", "mark:A"] {
        assert!(bad.parse::<IntervalName>().unwrap_err().contains("expected period:THREAD#N"), "{bad}");
    }
    // The same in a part of the recording, whose periods have the same numbers.
    let part = session.limited_to(Span::new(ms(16), ms(40))).unwrap();
    assert_eq!(part.interval(&"period:A#5".parse().unwrap()).unwrap().span, Span::new(ms(20), ms(28)));
}

/// A and B mark two regions with the name of A. B arrives last at the end of the first one, A at that of the second one.
#[test]
fn a_region_is_selected_by_the_name_of_its_marks() {
    let session = support::drawn(
        "
        cpu0 U0  A       A  A  A  A    A  A  .
        cpu1 U1  B       B  B  B  B    B  B  .
        mark     A(,B(=1 A) B) A( B(=1 B) A) .",
        |_, _| (),
    );
    let found = |name: &str| {
        let found = session.interval(&name.parse().unwrap()).unwrap();
        (found.span, found.thread.0)
    };
    assert_eq!(found("region:A#1"), (Span::new(ms(0), ms(2)), 2));
    assert_eq!(found("region:A#2"), (Span::new(ms(3), ms(6)), 1));
}

/// Row 2 of PresentMon's log begins 20 ms after the first row.
#[test]
fn a_frame_is_selected_by_its_row() {
    let open = |name: &str| {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../import/fixtures")).join(name);
        Session::of_source(open_source(&path).unwrap(), PassOptions::default()).unwrap()
    };
    let log = open("present_mon/v1.csv");
    assert_eq!(log.frame_span(2).unwrap(), Span::new(ms(20), ms(32)));
    let why = log.frame_span(7).unwrap_err().to_string();
    assert!(why.contains("there is no frame 7 in the frame log; the last one is 6"), "{why}");
    let none = support::drawn(MARKED, |_, _| ()).frame_span(0).unwrap_err().to_string();
    assert!(none.contains("the trace has no frame log; use --mark"), "{none}");
}

/// A and B are process 1, with A as its main thread; C is process 3.
#[test]
fn rows_of_a_process() {
    let session = support::drawn(MARKED, |_, batch| {
        let first = batch.events[0];
        for (tid, pid) in [(1, 1), (2, 1), (3, 3)] {
            let what = EventKind::Name { tid: model::Tid(tid), pid: Pid(pid), name: NameId::NONE };
            batch.events.insert(0, model::Event { at: Ns::ZERO, what, ..first });
        }
    });
    let threads = |table: &str, process: &str| {
        let (mut threads, request) =
            (Vec::new(), TableRequest { process: Some(process), ..TableRequest::whole(table) });
        let at = session.definition(table).unwrap().col("thread");
        let read = request.rows(&session, &mut |rows| {
            threads.extend(rows.iter().map(|row| at.map(|at| row[at].clone())));
            Ok(())
        });
        let keys = || threads.iter().map(|key| if let Some(model::Value::Int(v)) = key { *v } else { -1 }).collect();
        read.map(|()| keys()).map_err(|e| e.to_string())
    };
    assert_eq!(threads("threads", "1"), Ok(vec![1, 2]));
    assert_eq!(threads("threads", "A"), Ok(vec![1, 2]), "by the name of its main thread");
    assert_eq!(threads("threads", "B"), Ok(vec![2]), "by a thread's name");
    assert_eq!(threads("threads", "3"), Ok(vec![3]));
    assert_eq!(threads("ready_wait", "A"), Ok(vec![1, 2]));
    assert_eq!(threads("marks", "B"), Ok(vec![2]));
    assert!(threads("threads", "nothing").unwrap_err().contains("no process or thread nothing. `corewise table"));
    let why = threads("concurrency", "A").unwrap_err();
    assert!(
        why.starts_with("the table concurrency has no columns for processes; tables that have are threads, "),
        "{why}"
    );
}
