//! What `record --stacks` tells of threads that wait.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod support;

use serde_json::Value;
use std::sync::{Mutex, MutexGuard, PoisonError};
use support::{Folder, compiled, good, run};

/// One recording at a time: each would tell of the other's program too.
static ONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Compiles the program.
fn waits(folder: &Folder) -> String {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stacks/waits.c");
    compiled(folder, source, &["-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread"])
}

/// How often a thread blocked for each reason; the last column of those without one is "".
fn reasons(dir: &str, thread: &str) -> Vec<(String, i64)> {
    let rows: Vec<Value> =
        serde_json::from_str(&good(["table", dir, "switch_causes", "--format", "json"])).expect("JSON");
    let of = rows.iter().filter(|row| row["thread_name"] == thread && row["cause"] == "blocked");
    of.map(|row| (row["reason"].as_str().unwrap_or_default().to_owned(), row["count"].as_i64().unwrap())).collect()
}

#[test]
#[ignore = "needs BPF rights, kernel symbols"]
fn what_each_thread_waits_for_is_told() {
    let _alone = alone();
    let folder = Folder::new();
    let program = waits(&folder);
    let (dir, profile) = (folder.name("run.cw"), folder.name("run.json"));
    let ran = run(["record", "-o", &dir, "--backend", "bpf", "--stacks", "--", &program]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    // The C library sleeps by clock_nanosleep, and waits by epoll_wait or epoll_pwait.
    let calls = [
        ("nanosleep", &["clock_nanosleep", "nanosleep"][..]),
        ("futex", &["futex"]),
        ("read", &["read"]),
        ("epoll", &["epoll_wait", "epoll_pwait"]),
    ];
    for (thread, calls) in calls {
        let told = reasons(&dir, thread);
        let waited: i64 = told.iter().filter(|(reason, _)| calls.contains(&reason.as_str())).map(|(_, n)| n).sum();
        // One that finds what it waits for when it comes does not block.
        assert!((30..=40).contains(&waited), "{thread}: {told:?}");
    }
    // Functions of the program by name, in a profile too.
    good(["export", &dir, "--to", "firefox", "-o", &profile]);
    let text = std::fs::read_to_string(&profile).unwrap();
    for function in ["nanosleep_waiter", "futex_waiter", "read_waiter", "epoll_waiter"] {
        assert!(text.contains(function), "{function}");
    }
    let redacted = folder.name("redacted.json");
    good(["export", &dir, "--to", "firefox", "--redact", "-o", &redacted]);
    let text = std::fs::read_to_string(&redacted).unwrap();
    assert!(text.contains("read_waiter") && !text.contains("libc.so") && !text.contains(".cw"), "a path is told");
}

/// Without, nothing of it is recorded.
#[test]
#[ignore = "needs BPF rights"]
fn callchains_are_kept_only_where_they_are_asked_for() {
    let _alone = alone();
    let folder = Folder::new();
    let program = waits(&folder);
    let dir = folder.name("run.cw");
    let ran = run(["record", "-o", &dir, "--backend", "bpf", "--", &program]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(!folder.path("run.cw/events/stack.parquet").exists());
    let told = reasons(&dir, "read");
    assert!(!told.is_empty() && told.iter().all(|(reason, _)| reason.is_empty()), "{told:?}");
    let refused = run(["record", "-o", &folder.name("other.cw"), "--backend", "perf", "--stacks", "--", &program]);
    assert!(refused.code == Some(1) && refused.err.contains("--stacks"), "{}", refused.err);
}

/// `perf script` names the functions: a kernel thread waits in the first that is not the scheduler's.
#[test]
fn perf_scripts_names_tell_it_too() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/fixtures/perf_script/chains.txt");
    // schedule, smpboot_thread_fn, kthread, …
    assert_eq!(reasons(file, "migration/0"), [("smpboot_thread_fn".to_owned(), 1)]);
}
