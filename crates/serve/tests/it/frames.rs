//! The slowest frames, their causes and critical paths, compared with the engine, and invalid requests.

use crate::support::{Client, Trace, arrow, longs, texts};
use engine::{SlowFrameOptions, TableRequest};
use model::{Tid, Value};

/// A phone's app marks three frames: 4 ms running; 9 ms, of which it is ready for 3 ms while `other` runs; 4 ms again.
const PHONE: &str = "\
# tracer: nop
   swapper-0     [000] ...1 1.000000: sched_switch: prev_comm=swapper prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=app next_pid=7 next_prio=120
       app-7     [000] ...1 1.001000: tracing_mark_write: B|7|Choreographer#doFrame 11
       app-7     [000] ...1 1.005000: tracing_mark_write: E
       app-7     [000] ...1 1.006000: tracing_mark_write: B|7|Choreographer#doFrame 12
       app-7     [000] ...1 1.008000: sched_switch: prev_comm=app prev_pid=7 prev_prio=120 prev_state=R ==> next_comm=<b>other next_pid=8 next_prio=110
     other-8     [000] ...1 1.011000: sched_switch: prev_comm=<b>other prev_pid=8 prev_prio=110 prev_state=S ==> next_comm=app next_pid=7 next_prio=120
       app-7     [000] ...1 1.015000: tracing_mark_write: E
       app-7     [000] ...1 1.016000: tracing_mark_write: B|7|Choreographer#doFrame 13
       app-7     [000] ...1 1.020000: tracing_mark_write: E
       app-7     [000] ...1 1.021000: sched_switch: prev_comm=app prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper next_pid=0 next_prio=120
";
const OF: &str = "mark:Choreographer%23doFrame%20*";

fn bad(client: &Client, path: &str, why: &str) {
    let answer = client.get(path);
    assert_eq!(answer.code, 400, "{path}: {}", answer.text());
    assert!(answer.text().contains(why), "{path}: {}", answer.text());
}

#[test]
fn frames_are_found_listed_and_explained_as_in_the_table() {
    let trace = Trace::printed(PHONE);
    let client = trace.served();
    let sources = client.get("/api/frames/sources").text();
    assert!(
        sources.contains(r#""of":"mark:Choreographer#doFrame *""#) && sources.contains(r#""frames":true"#),
        "{sources}"
    );
    let list = arrow(&client, &format!("/api/frames?of={OF}"));
    assert_eq!(longs(&list, "frame_ns"), [9_000_000, 4_000_000, 4_000_000]);
    assert_eq!(longs(&list, "start_ns"), [6_000_000, 1_000_000, 16_000_000]);
    assert_eq!(longs(&list, "over_ns"), [5_000_000, 0, 0]);
    assert_eq!(texts(&list, "name")[0].as_deref(), Some("Choreographer#doFrame 12"));
    let schema = list.schema();
    let metadata = |name: &str| schema.metadata()[name].clone();
    assert_eq!(["frames", "over", "budget_ns", "median_ns"].map(metadata), ["3", "1", "4000000", "4000000"]);
    let causes = arrow(&client, &format!("/api/frames/causes?of={OF}&rank=1"));
    // The same rows as the table, which has only this frame.
    let options =
        SlowFrameOptions { mark_name: Some("Choreographer#doFrame *".to_owned()), ..SlowFrameOptions::default() };
    let (session, mut rows) = (trace.session().with_slow_frames(options), Vec::new());
    let request = TableRequest::whole("slow_frames");
    let def = request.definition(&session).unwrap();
    request
        .rows(&session, &mut |more| {
            rows.extend_from_slice(more);
            Ok(())
        })
        .unwrap();
    for name in ["frame_ns", "time_ns", "typical_ns", "excess_ns"] {
        let of = |row: &Vec<Value>| if let Value::Int(ns) = row[def.col(name).unwrap()] { ns } else { -1 };
        assert_eq!(longs(&causes, name), rows.iter().map(of).collect::<Vec<_>>(), "{name}");
    }
    assert_eq!(longs(&causes, "time_ns"), [3_000_000, 6_000_000]);
    assert_eq!(texts(&causes, "queued_behind_name")[0].as_deref(), Some("<b>other"));
    // A frame within its budget has causes too.
    let within = arrow(&client, &format!("/api/frames/causes?of={OF}&budget=5000000&rank=2"));
    assert_eq!((longs(&within, "time_ns"), longs(&within, "over_ns")), (vec![4_000_000], vec![-1_000_000]));
    // The path leads to the end of the given thread, even if another one ran last.
    let threads = arrow(&client, "/api/threads?first=0&last=9");
    let at = longs(&threads, "tid").iter().position(|tid| *tid == 7).unwrap();
    let app = longs(&threads, "thread")[at];
    let path = arrow(&client, &format!("/api/path?from=6000000&to=10000000&thread={app}"));
    let mut starts = Vec::new();
    let span = Some(model::Span::new(model::Ns(6_000_000), model::Ns(10_000_000)));
    let request = TableRequest { span, ..TableRequest::whole("critical_path") };
    let start = request.definition(&session).unwrap().col("start_ns").unwrap();
    request
        .rows(&session.with_path_end(Tid(7)), &mut |rows| {
            starts.extend(rows.iter().map(|row| row[start].clone()));
            Ok(())
        })
        .unwrap();
    assert_eq!(longs(&path, "start_ns").into_iter().map(Value::Int).collect::<Vec<_>>(), starts);
    assert_eq!(longs(&path, "thread"), vec![app; starts.len()]);
}

#[test]
fn invalid_requests_are_refused() {
    let trace = Trace::printed(PHONE);
    let client = trace.served();
    bad(&client, "/api/frames?of=other", "no source");
    bad(&client, "/api/frames?of=log&budget=0", "at least 1 ns");
    bad(&client, "/api/frames?of=log&most=1", "unknown field");
    bad(&client, "/api/frames", "missing field");
    bad(&client, "/api/frames/sources?intervals=maybe", "true");
    bad(&client, &format!("/api/frames/causes?of={OF}"), "`rank`");
    bad(&client, &format!("/api/frames/causes?of={OF}&rank=0"), "`rank`");
    bad(&client, &format!("/api/frames/causes?of={OF}&rank=4"), "no frame");
    bad(&client, "/api/path?from=5&to=5&thread=1", "greater");
    bad(&client, "/api/path?from=900000000&to=900000001&thread=1", "outside");
    // A source without frames has none; a thread without stretches has a path of unknown time.
    assert!(longs(&arrow(&client, "/api/frames?of=log"), "rank").is_empty());
    assert_eq!(longs(&arrow(&client, "/api/path?from=0&to=5000&thread=999"), "start_ns"), [0]);
}
