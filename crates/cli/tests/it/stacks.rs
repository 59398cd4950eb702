//! The causes of waits that `record --stacks` records.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod support;

use serde_json::Value;
use std::sync::{Mutex, MutexGuard, PoisonError};
use support::{Folder, compiled, good, run};

/// One recording at a time, since each would contain the other's program too.
static ONE: Mutex<()> = Mutex::new(());

fn exclusive() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Compiles the program.
fn waits(folder: &Folder) -> String {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stacks/waits.c");
    compiled(folder, source, &["-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread"])
}

/// Returns how often a thread blocked for each reason; "" without a reason.
fn reasons(dir: &str, thread: &str) -> Vec<(String, i64)> {
    let rows: Vec<Value> =
        serde_json::from_str(&good(["table", dir, "switch_causes", "--format", "json"])).expect("JSON");
    let of = rows.iter().filter(|row| row["thread_name"] == thread && row["cause"] == "blocked");
    of.map(|row| (row["reason"].as_str().unwrap_or_default().to_owned(), row["count"].as_i64().unwrap())).collect()
}

#[test]
#[ignore = "needs BPF rights, kernel symbols"]
fn each_thread_has_the_reasons_of_its_waits() {
    let _exclusive = exclusive();
    let folder = Folder::new();
    let program = waits(&folder);
    let (dir, profile) = (folder.name("run.cw"), folder.name("run.json"));
    let ran = run(["record", "-o", &dir, "--backend", "bpf", "--stacks", "--", &program]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    // The C library sleeps with clock_nanosleep, and waits with epoll_wait or epoll_pwait.
    let calls = [
        ("nanosleep", &["clock_nanosleep", "nanosleep"][..]),
        ("futex", &["futex"]),
        ("read", &["read"]),
        ("epoll", &["epoll_wait", "epoll_pwait"]),
    ];
    for (thread, calls) in calls {
        let reasons = reasons(&dir, thread);
        let waited: i64 = reasons.iter().filter(|(reason, _)| calls.contains(&reason.as_str())).map(|(_, n)| n).sum();
        // A call whose condition is already met does not block.
        assert!((30..=40).contains(&waited), "{thread}: {reasons:?}");
    }
    // The names of the program's functions are in an exported profile too.
    good(["export", &dir, "--to", "firefox", "-o", &profile]);
    let text = std::fs::read_to_string(&profile).unwrap();
    for function in ["nanosleep_waiter", "futex_waiter", "read_waiter", "epoll_waiter"] {
        assert!(text.contains(function), "{function}");
    }
    let redacted = folder.name("redacted.json");
    good(["export", &dir, "--to", "firefox", "--redact", "-o", &redacted]);
    let text = std::fs::read_to_string(&redacted).unwrap();
    assert!(
        text.contains("read_waiter") && !text.contains("libc.so") && !text.contains(".cw"),
        "the redacted profile contains a path"
    );
}

/// The waits of a program are in the functions in which it waited, and what is not known of is in the row without a function.
#[test]
#[ignore = "needs BPF rights, kernel symbols"]
fn waits_and_idle_wakeups_belong_to_the_functions_that_waited() {
    let _exclusive = exclusive();
    let folder = Folder::new();
    let program = waits(&folder);
    let dir = folder.name("run.cw");
    let ran = run(["record", "-o", &dir, "--backend", "bpf", "--stacks", "--", &program]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let rows = |table: &str| -> Vec<Value> {
        serde_json::from_str(&good(["table", &dir, table, "--format", "json"])).expect("JSON")
    };
    let by_function = rows("power_by_function");
    let sum = |rows: &[Value], col: &str| rows.iter().map(|row| row[col].as_i64().unwrap_or(0)).sum::<i64>();
    // Threads wait in functions of the C library, 40 times in each way (futex has none but syscall); a call whose condition is already met does not block.
    for call in ["clock_nanosleep", "syscall", "read", "epoll"] {
        let is_of = |row: &&Value| row["function"].as_str().is_some_and(|function| function.contains(call));
        let of: Vec<Value> = by_function.iter().filter(is_of).cloned().collect();
        let [switches, wakeups, below] =
            ["sync_switches", "idle_wakeups", "idle_wakeups_below"].map(|col| sum(&of, col));
        assert!(switches >= 30, "{call}: {switches} switches");
        assert!(wakeups <= below, "{call}: {wakeups} of {below} idle wakeups");
    }
    // Nothing is lost or counted twice.
    let causes = rows("switch_causes");
    let blocked: Vec<Value> = causes.iter().filter(|row| row["cause"] == "blocked").cloned().collect();
    assert_eq!(sum(&by_function, "sync_switches"), sum(&blocked, "count"));
    assert_eq!(sum(&by_function, "cpu_ns"), sum(&rows("threads"), "running_ns"));
    assert_eq!(sum(&by_function, "idle_wakeups"), sum(&rows("cpu_wakeups"), "periods"));
}

/// Without --stacks, no callchains are recorded; on x86-64, the system call of each wait is.
#[test]
#[ignore = "needs BPF rights"]
fn callchains_are_recorded_only_on_request() {
    let _exclusive = exclusive();
    let folder = Folder::new();
    let program = waits(&folder);
    let dir = folder.name("run.cw");
    let ran = run(["record", "-o", &dir, "--backend", "bpf", "--no-sample", "--", &program]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let profile = folder.name("calls.json");
    good(["export", &dir, "--to", "firefox", "-o", &profile]);
    assert!(!std::fs::read_to_string(&profile).unwrap().contains("read_waiter"), "the profile has a callchain");
    let reasons = reasons(&dir, "read");
    let call = if cfg!(target_arch = "x86_64") { "read" } else { "" };
    assert!(reasons.iter().any(|(reason, _)| reason == call), "{reasons:?}");
    let refused = run(["record", "-o", &folder.name("other.cw"), "--backend", "perf", "--stacks", "--", &program]);
    assert!(refused.code == Some(1) && refused.err.contains("--stacks"), "{}", refused.err);
}

/// `perf script` names functions: a kernel thread waits in the first one outside the scheduler.
#[test]
fn function_names_of_perf_script_give_reasons_too() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/fixtures/perf_script/chains.txt");
    // schedule, smpboot_thread_fn, kthread, …
    assert_eq!(reasons(file, "migration/0"), [("smpboot_thread_fn".to_owned(), 1)]);
}
