//! Answers compared with the tables.

use crate::support::{Trace, arrow, longs, session, texts};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt8Type};
use model::{CpuState, ThreadState};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::time::{Duration, Instant};

/// A runs 2 ms on CPU 0 and is preempted by B for 1 ms; C runs from 1 ms to 3 ms on CPU 1, then A, which waited 1 ms. Output of perf
/// ends with its last event, so the recording ends at 3 ms.
const DRAWN: &str = "cpu0 A A+ B .\ncpu1 . C C A\nwaking C C . .";

fn states(batch: &RecordBatch) -> Vec<u8> {
    batch.column_by_name("state").unwrap().as_primitive::<UInt8Type>().values().to_vec()
}

#[test]
fn at_a_narrow_width_slices_are_the_stretches_of_the_table() {
    let trace = Trace::drawn(DRAWN);
    let client = trace.served();
    let (mut expected_threads, mut expected_cpus) = (Vec::new(), Vec::new());
    let session = trace.session();
    let tracks = serve::Tracks::of(&session).unwrap();
    session
        .thread_stretches(|all| {
            expected_threads.extend(all.iter().map(|s| {
                let track = tracks.of_thread(s.thread).unwrap();
                (track as i32, s.span.start.0, s.span.end.0, s.state as u8, s.cpu.map_or(-1, |c| i64::from(c.0)))
            }));
            Ok(())
        })
        .unwrap();
    session
        .cpu_stretches(|all| {
            expected_cpus
                .extend(all.iter().map(|s| (s.cpu.0 as i32, s.span.start.0, s.span.end.0, s.state as u8, s.thread.0)));
            Ok(())
        })
        .unwrap();
    for (kind, mut expected) in [("thread", expected_threads), ("cpu", expected_cpus)] {
        expected.retain(|e| e.1 < e.2);
        expected.sort_unstable();
        let batch = arrow(&client, &format!("/api/slices?kind={kind}&first=0&last=9&from=0&to=50000&width=1000000"));
        assert!(batch.num_rows() > 0 && batch.num_rows() < expected.len(), "only what overlaps the first 50 µs");
        let batch = arrow(&client, &format!("/api/slices?kind={kind}&first=0&last=9&from=0&to=4000000&width=200"));
        let track = batch.column_by_name("track").unwrap().as_primitive::<Int32Type>().values().to_vec();
        let (start, end, what) = (longs(&batch, "start_ns"), longs(&batch, "end_ns"), longs(&batch, "what"));
        let state = states(&batch);
        let got: Vec<_> = (0..track.len()).map(|i| (track[i], start[i], end[i], state[i], what[i])).collect();
        assert_eq!(got, expected, "{kind}");
        assert_eq!(longs(&batch, "state_ns"), expected.iter().map(|e| e.2 - e.1).collect::<Vec<_>>());
    }
}

#[test]
fn at_a_wide_width_slices_have_the_state_that_took_most_of_the_time() {
    let trace = Trace::drawn(DRAWN);
    let client = trace.served();
    // At 4 ms per pixel, CPU 0's stretches are one slice: busy for its 3 ms, of which A ran 2 ms and B 1 ms.
    let batch = arrow(&client, "/api/slices?kind=cpu&first=0&last=0&from=0&to=4000000&width=4000001");
    assert_eq!((longs(&batch, "start_ns")[0], longs(&batch, "end_ns")[0]), (0, 3_000_000));
    assert_eq!((states(&batch)[0], longs(&batch, "state_ns")[0]), (CpuState::Busy as u8, 3_000_000));
    let threads = arrow(&client, "/api/threads?first=0&last=9");
    let of = |name: &str| {
        let at = texts(&threads, "name").iter().position(|n| n.as_deref() == Some(name)).unwrap();
        longs(&threads, "thread")[at]
    };
    assert_eq!((longs(&batch, "what")[0], longs(&batch, "what_ns")[0]), (of("A"), 2_000_000));
}

#[test]
fn a_table_has_the_rows_of_the_requested_time_and_thread() {
    let trace = Trace::drawn(DRAWN);
    let client = trace.served();
    let threads = arrow(&client, "/api/threads?first=0&last=9");
    let a = texts(&threads, "name").iter().position(|n| n.as_deref() == Some("A")).unwrap();
    let a = longs(&threads, "thread")[a];
    // A was preempted at 2 ms, and waited until CPU 1 took it at 3 ms.
    let rows = arrow(&client, &format!("/api/table/thread_state?from=2000000&to=2000001&thread={a}"));
    assert_eq!((longs(&rows, "start_ns"), longs(&rows, "end_ns")), (vec![2_000_000], vec![3_000_000]));
    assert_eq!(texts(&rows, "state"), [Some(ThreadState::Ready.as_str().to_owned())]);
    assert_eq!(texts(&rows, "reason"), [Some("preempted".to_owned())]);
    // Meanwhile CPU 0, on whose queue it was, ran B.
    let rows = arrow(&client, "/api/table/cpu_state?from=2000000&to=3000000&cpu=0");
    assert_eq!((longs(&rows, "start_ns"), longs(&rows, "end_ns")), (vec![2_000_000], vec![3_000_000]));
    let refused = client.get("/api/table/cpu_state?from=0&to=1&thread=1&cpu=0");
    assert!(refused.code == 200 || refused.text().contains("no column"), "{}", refused.text());
    let refused = client.get("/api/table/cpus?from=0&to=1&thread=1");
    assert_eq!((refused.code, refused.text().contains("no column thread")), (400, true));
}

#[test]
fn the_server_exits_after_the_idle_time() {
    let trace = Trace::drawn(DRAWN);
    let session = trace.session();
    let tracks = serve::Tracks::of(&session).unwrap();
    let levels = serve::prepare(&session, &tracks, &mut |_| ()).unwrap();
    let idle = Some(Duration::from_millis(300));
    let options = serve::Options { listen: IpAddr::V4(Ipv4Addr::LOCALHOST), port: 0, idle, share: None };
    // The idle time starts when the server starts listening.
    let began = Instant::now();
    let server = serve::Server::bind(session, tracks, levels, &options).unwrap();
    server.run().unwrap();
    assert!(began.elapsed() >= Duration::from_millis(300));
}

#[test]
fn levels_are_built_once_and_again_for_another_trace() {
    let trace = Trace::drawn(DRAWN);
    let prepare = |path: &Path| {
        let session = session(path);
        let tracks = serve::Tracks::of(&session).unwrap();
        serve::prepare(&session, &tracks, &mut |_| ()).unwrap().made
    };
    assert!(prepare(&trace.path()));
    assert!(!prepare(&trace.path()));
    let levels = trace.path().join("levels");
    assert_eq!(std::fs::read_dir(&levels).unwrap().count(), 5, "no incomplete file is left");
    let other = Trace::drawn("cpu0 A B C D\ncpu1 . . . .");
    for file in ["thread.levels", "cpu.levels", "concurrency.levels", "groups.levels", "kinds.json"] {
        std::fs::create_dir_all(other.path().join("levels")).unwrap();
        std::fs::copy(levels.join(file), other.path().join("levels").join(file)).unwrap();
    }
    assert!(prepare(&other.path()), "levels of another trace are not used");
    std::fs::write(levels.join("cpu.levels"), "damaged").unwrap();
    // No process has this PID: the maximum is below 4,194,304.
    std::fs::write(levels.join("cpu.levels.part-4194305"), "left").unwrap();
    assert!(prepare(&trace.path()), "a damaged file is built again");
    assert_eq!(std::fs::read_dir(&levels).unwrap().count(), 5, "files of an ended process are removed");
}
