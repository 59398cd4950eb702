//! What `record` keeps of marks, in recordings of a small server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod support;

use serde_json::Value;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use support::{Folder, compiled, corewise, good, run};

/// One recording at a time: what it leaves in tracefs is looked at.
static ONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
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

/// The rows of that name and thread.
fn named<'m>(marks: &'m [Value], thread: &str, name: &str) -> Vec<&'m Value> {
    marks.iter().filter(|row| row["name"] == name && row["thread_name"] == thread).collect()
}

fn number(row: &Value, column: &str) -> i64 {
    row[column].as_i64().unwrap_or_else(|| panic!("{column} of {row}"))
}

/// 20 requests, each a sleep of 2 ms; the first calls itself once, within its own time: 21 calls, that of the first as long as two
/// sleeps, and at least 22 sleeps in the sum of all. Between two there is the probe.
#[test]
#[ignore = "needs BPF rights, uprobes"]
fn calls_of_a_function_and_a_probe_are_marks() {
    let _alone = alone();
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
    // A thread that sleeps is blocked, and what it did meanwhile is the stretch's time.
    assert!(number(request, "blocked_ns") >= 22 * 1_900_000, "{request}");
    let states = ["running_ns", "ready_ns", "blocked_ns", "unknown_ns"].map(|c| number(request, c));
    assert_eq!(states.iter().sum::<i64>(), all, "{request}");
    let [served] = named(&marks, "server", "served")[..] else { panic!("{marks:?}") };
    assert_eq!((number(served, "count"), number(served, "duration_ns")), (20, 0));
}

/// Returns of a Go program's functions cannot be watched, or it dies: its calls are moments, and the recording says so.
#[test]
#[ignore = "needs BPF rights, uprobes"]
fn calls_of_a_go_program_have_no_end() {
    let _alone = alone();
    let folder = Folder::new();
    let server = server(&folder, &["-DGO"]);
    let (dir, request) = (folder.name("run.cw"), format!("request={server}:handle_request"));
    let ran = run(["record", "-o", &dir, "--backend", "bpf", "--mark", &request, "--", &server]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("Marks of request are moments without an end"), "{}", ran.err);
    let marks = marks(&dir);
    let [request] = named(&marks, "server", "request")[..] else { panic!("{marks:?}") };
    assert_eq!(["count", "open", "duration_ns"].map(|c| number(request, c)), [21, 0, 0]);
}

/// What a killed recorder left in tracefs goes when the next one starts.
#[test]
#[ignore = "needs BPF rights, trace_marker"]
fn the_next_recorder_clears_up() {
    let _alone = alone();
    let folder = Folder::new();
    let words = ["record", "-o", &folder.name("killed.cw"), "--duration", "60"];
    let mut killed = corewise(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let own = format!("corewise-{}", killed.id());
    let end = Instant::now() + Duration::from_secs(20);
    while !instances().contains(&own) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(instances().contains(&own), "the recorder made no instance of tracefs");
    good(["record", "-o", &folder.name("next.cw"), "--duration", "200ms"]);
    // Others may be recording at the same time.
    assert!(!instances().contains(&own), "{:?}", instances());
}

/// The server draws 20 times around its requests, and says a word at its end.
#[test]
#[ignore = "needs BPF rights, perf events, trace_marker"]
fn what_a_program_writes_to_trace_marker_is_kept() {
    let _alone = alone();
    let folder = Folder::new();
    let server = server(&folder, &[]);
    for backend in ["bpf", "perf"] {
        let dir = folder.name(backend);
        let ran = run(["record", "-o", &dir, "--backend", backend, "--", &server]);
        assert!(ran.code == Some(0) && !ran.err.contains("trace_marker is not kept"), "{}", ran.err);
        let stays = |name: &String| {
            let pid = name.strip_prefix("corewise-").filter(|pid| pid.bytes().all(|b| b.is_ascii_digit()));
            pid.is_some_and(|pid| !std::path::Path::new("/proc").join(pid).exists())
        };
        assert!(!instances().iter().any(stays), "the recorder's own instance stays behind: {:?}", instances());
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

/// Another's texts are not the target's.
#[test]
#[ignore = "needs BPF rights, trace_marker"]
fn a_strangers_words_are_left_out() {
    let _alone = alone();
    let folder = Folder::new();
    let server = server(&folder, &[]);
    let over = AtomicBool::new(false);
    let told = std::thread::scope(|scope| {
        // The server again and again, while two others are recorded.
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                Command::new(&server).status().unwrap();
            }
        });
        let told = ["--irq", "--only-focus"].map(|how| {
            let dir = folder.name(how);
            let ran = run(["record", "-o", &dir, how, "--", "sleep", "0.4"]);
            (dir, ran)
        });
        over.store(true, Ordering::Relaxed);
        told
    });
    for (_, ran) in &told {
        assert!(ran.code == Some(0) && !ran.err.contains("trace_marker is not kept"), "{}", ran.err);
    }
    let [all, focus] = told.map(|(dir, _)| marks(&dir));
    assert!(all.iter().any(|row| row["name"] == "draw"));
    assert_eq!(focus, [] as [Value; 0]);
}

#[test]
#[ignore = "needs BPF rights, uprobes"]
fn what_cannot_be_marked_is_told_and_leaves_nothing() {
    let _alone = alone();
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
    assert!(why("n=/no/such/file:f", 1).contains("there is no file /no/such/file"));
    assert!(why(&format!("n={server}.c:f"), 1).contains("there is no file"));
    assert!(
        why(&format!("n={server}:handle_requests"), 1)
            .contains("has no function handle_requests (there is handle_request)")
    );
    assert!(
        why(&format!("n={server}:usdt:server:serve"), 1).contains("no probe server:serve (there is server:served)")
    );
    let perf = run(["record", "-o", &dir, "--backend", "perf", "--mark", &format!("n={server}:main"), "--", "true"]);
    assert!(perf.code == Some(1) && perf.err.contains("perf events keep no marked calls"), "{}", perf.err);
}
