//! Marks in recordings of a small server.

use crate::support::{Folder, compiled, corewise, good, run};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// One recording at a time, since the tests check what recordings leave in tracefs.
static ONE: Mutex<()> = Mutex::new(());

fn exclusive() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Compiles the server.
fn server(folder: &Folder, how: &[&str]) -> String {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/marks/server.c");
    compiled(folder, source, &[&["-O1"], how].concat())
}

fn marks(dir: &str) -> Vec<Value> {
    let text = good(["table", dir, "marks", "--format", "json"]);
    serde_json::from_str(&text).expect("JSON")
}

/// Returns the rows with a name and a thread.
fn named<'m>(marks: &'m [Value], thread: &str, name: &str) -> Vec<&'m Value> {
    marks.iter().filter(|row| row["name"] == name && row["thread_name"] == thread).collect()
}

fn number(row: &Value, column: &str) -> i64 {
    row[column].as_i64().unwrap_or_else(|| panic!("{column} of {row}"))
}

/// 20 requests, each with a sleep of 2 ms. The first one calls itself once, so there are 21 calls; the first lasts two sleeps, and the
/// sum is at least 22 sleeps. In each state, a mark has no more than its thread. The probe is hit after each request.
#[test]
#[ignore = "needs BPF rights, uprobes"]
fn calls_of_a_function_and_a_probe_are_marks() {
    let _exclusive = exclusive();
    let folder = Folder::new();
    let server = server(&folder, &[]);
    let (request, served) = (format!("request={server}:handle_request"), format!("served={server}:usdt:server:served"));
    let dir = folder.name("run.cw");
    let ran = run(["record", "-o", &dir, "--backend", "bpf", "--mark", &request, "--mark", &served, "--", &server]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let marks = marks(&dir);
    let [request] = named(&marks, "server", "request")[..] else { panic!("{marks:?}") };
    assert_eq!((number(request, "count"), number(request, "open")), (21, 0));
    let (all, longest) = (number(request, "duration_ns"), number(request, "longest_ns"));
    assert!(all >= 22 * 2_000_000 && (4_000_000..all).contains(&longest), "{request}");
    // A sleeping thread is blocked, and its states add up to the time of the mark. That of a nested call is in both calls.
    let states = ["running_ns", "ready_ns", "blocked_ns", "unknown_ns"].map(|c| number(request, c));
    assert!(number(request, "blocked_ns") > 0 && states.iter().sum::<i64>() == all, "{request}");
    let threads: Vec<Value> =
        serde_json::from_str(&good(["table", &dir, "threads", "--format", "json"])).expect("JSON");
    let of_thread = threads.iter().find(|row| row["thread"] == request["thread"]).expect("the thread of the marks");
    for state in ["running_ns", "ready_ns", "blocked_ns"] {
        assert!(number(request, state) <= 2 * number(of_thread, state), "{state}: {request}, {of_thread}");
    }
    let [served] = named(&marks, "server", "served")[..] else { panic!("{marks:?}") };
    assert_eq!((number(served, "count"), number(served, "duration_ns")), (20, 0));
}

/// Probing the returns of a Go program's functions would crash it, so its calls are moments, and the recording has a note.
#[test]
#[ignore = "needs BPF rights, uprobes"]
fn calls_of_a_go_program_have_no_end() {
    let _exclusive = exclusive();
    let folder = Folder::new();
    let server = server(&folder, &["-DGO"]);
    let (dir, request) = (folder.name("run.cw"), format!("request={server}:handle_request"));
    let ran = run(["record", "-o", &dir, "--backend", "bpf", "--mark", &request, "--", &server]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("Marks of request have no end"), "{}", ran.err);
    let marks = marks(&dir);
    let [request] = named(&marks, "server", "request")[..] else { panic!("{marks:?}") };
    assert_eq!(["count", "open", "duration_ns"].map(|c| number(request, c)), [21, 0, 0]);
}

/// The next recorder removes what a killed one left in tracefs.
#[test]
#[ignore = "needs BPF rights, trace_marker"]
fn the_next_recorder_removes_what_a_killed_one_left() {
    let _exclusive = exclusive();
    let folder = Folder::new();
    let words = ["record", "-o", &folder.name("killed.cw"), "--duration", "60"];
    let mut killed = corewise(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let own = format!("corewise-{}", killed.id());
    let end = Instant::now() + Duration::from_secs(60);
    while !instances().contains(&own) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(instances().contains(&own), "the recorder created no tracefs instance");
    good(["record", "-o", &folder.name("next.cw"), "--duration", "200ms"]);
    // Other recorders may be running.
    assert!(!instances().contains(&own), "{:?}", instances());
}

/// The server marks 20 draws around its requests, and a moment at its end.
#[test]
#[ignore = "needs BPF rights, perf events, trace_marker"]
fn text_written_to_trace_marker_is_recorded() {
    let _exclusive = exclusive();
    let folder = Folder::new();
    let server = server(&folder, &[]);
    for backend in ["bpf", "perf"] {
        let dir = folder.name(backend);
        let ran = run(["record", "-o", &dir, "--backend", backend, "--", &server]);
        assert!(ran.code == Some(0) && !ran.err.contains("trace_marker are not recorded"), "{}", ran.err);
        let stays = |name: &String| {
            let pid = name.strip_prefix("corewise-").filter(|pid| pid.bytes().all(|b| b.is_ascii_digit()));
            pid.is_some_and(|pid| !std::path::Path::new("/proc").join(pid).exists())
        };
        assert!(!instances().iter().any(stays), "the recorder's own instance was not removed: {:?}", instances());
        let marks = marks(&dir);
        let [draw] = named(&marks, "server", "draw")[..] else { panic!("{marks:?}") };
        assert_eq!((number(draw, "count"), number(draw, "open")), (20, 0), "{marks:?}");
        assert!(number(draw, "duration_ns") >= 21 * 2_000_000, "{draw}");
        let [done] = named(&marks, "server", "all done")[..] else { panic!("{marks:?}") };
        assert_eq!((number(done, "count"), &done["pid"]), (1, &draw["pid"]));
    }
}

fn instances() -> Vec<String> {
    let all = std::fs::read_dir("/sys/kernel/tracing/instances").into_iter().flatten().flatten();
    let mut names: Vec<String> = all.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// With --only-focus, texts of other processes are not recorded. Each recording lasts until the server has run.
#[test]
#[ignore = "needs BPF rights, trace_marker"]
fn texts_of_other_processes_are_omitted() {
    let _exclusive = exclusive();
    let folder = Folder::new();
    let server = server(&folder, &[]);
    let recordings = ["--irq", "--only-focus"].map(|how| {
        let (dir, begun, over) = (folder.name(how), folder.path("begun"), folder.path("over"));
        let _ = (std::fs::remove_file(&begun), std::fs::remove_file(&over));
        let script = format!("touch '{}'; while ! test -e '{}'; do sleep 0.02; done", begun.display(), over.display());
        let ran = std::thread::scope(|scope| {
            let words = ["record", "-o", &dir, how, "--", "sh", "-c", &script];
            let recorder = scope.spawn(move || run(words));
            while !begun.exists() && !recorder.is_finished() {
                std::thread::sleep(Duration::from_millis(10));
            }
            let served = Command::new(&server).status();
            std::fs::write(&over, "").unwrap();
            assert!(served.unwrap().success());
            recorder.join().unwrap()
        });
        assert!(ran.code == Some(0) && !ran.err.contains("trace_marker are not recorded"), "{}", ran.err);
        marks(&dir)
    });
    let [all, focus] = recordings;
    assert!(all.iter().any(|row| row["name"] == "draw"));
    assert_eq!(focus, [] as [Value; 0]);
}

#[test]
#[ignore = "needs BPF rights, uprobes"]
fn invalid_marks_are_reported_and_leave_nothing() {
    let _exclusive = exclusive();
    let folder = Folder::new();
    let server = server(&folder, &[]);
    let dir = folder.name("run.cw");
    let why = |mark: &str, code: i32| {
        let ran = run(["record", "-o", &dir, "--mark", mark, "--", "true"]);
        assert_eq!(ran.code, Some(code), "{mark}: {}", ran.err);
        assert!(!folder.path("run.cw").exists(), "{mark}");
        ran.err
    };
    assert!(why("handle_request", 2).contains("NAME=FILE:SYMBOL"));
    assert!(why("n=/no/such/file:f", 1).contains("/no/such/file does not exist"));
    assert!(why(&format!("n={server}.c:f"), 1).contains("does not exist"));
    assert!(
        why(&format!("n={server}:handle_requests"), 1)
            .contains("has no function handle_requests (similar names: handle_request)")
    );
    assert!(
        why(&format!("n={server}:usdt:server:serve"), 1)
            .contains("no probe server:serve (similar names: server:served)")
    );
    let perf = run(["record", "-o", &dir, "--backend", "perf", "--mark", &format!("n={server}:main"), "--", "true"]);
    assert!(perf.code == Some(1) && perf.err.contains("the perf backend cannot record marked calls"), "{}", perf.err);
}
