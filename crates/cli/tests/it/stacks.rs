//! The causes of waits that `record --stacks` records.

use crate::support::{Folder, compiled, good, run};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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

/// How often each thread of the program waits (stacks/waits.c).
const TIMES: i64 = 40;

/// Records while the program waits. It exists until the recording has ended, so that its mappings can be read, however late the recorder
/// does that. Returns how often each of its threads left its CPU to wait, as the kernel counted it.
fn recorded(folder: &Folder, dir: &str) -> Vec<(String, i64)> {
    let mut program = Command::new(waits(folder)).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (begun, over) = (folder.path("begun"), folder.path("over"));
    let script = format!("touch {}; while ! test -e {}; do sleep 0.02; done", begun.display(), over.display());
    let (ran, lines) = std::thread::scope(|scope| {
        let words = ["record", "-o", dir, "--backend", "bpf", "--stacks", "--", "sh", "-c", &script];
        let recorder = scope.spawn(move || run(words));
        while !begun.exists() && !recorder.is_finished() {
            std::thread::sleep(Duration::from_millis(10));
        }
        program.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        let lines = BufReader::new(program.stdout.take().unwrap()).lines().map_while(Result::ok).take(4);
        let lines: Vec<String> = lines.collect();
        std::fs::write(&over, "").unwrap();
        (recorder.join().unwrap(), lines)
    });
    drop(program.stdin.take());
    assert!(program.wait().unwrap().success());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let count = |line: &String| line.split_once(' ').map(|(thread, count)| (thread.to_owned(), count.parse().unwrap()));
    let counts: Vec<(String, i64)> = lines.iter().filter_map(count).collect();
    assert_eq!(counts.len(), 4, "{lines:?}");
    counts
}

/// How many callchains are lost, as the recording says: the kernel's table has one place for several callchains.
fn lost(dir: &str) -> i64 {
    let manifest = std::fs::read_to_string(std::path::Path::new(dir).join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let lacks = manifest["facts"]["lacks"].as_array().unwrap().iter().filter_map(Value::as_str);
    lacks.filter_map(|lack| lack.split_once(" callchains are lost:")?.0.parse::<i64>().ok()).sum()
}

/// Returns how often a thread blocked for each reason; "" without a reason.
fn reasons(dir: &str, thread: &str) -> Vec<(String, i64)> {
    let rows: Vec<Value> =
        serde_json::from_str(&good(["table", dir, "switch_causes", "--format", "json"])).expect("JSON");
    let of = rows.iter().filter(|row| row["thread_name"] == thread && row["cause"] == "blocked");
    of.map(|row| (row["reason"].as_str().unwrap_or_default().to_owned(), row["count"].as_i64().unwrap())).collect()
}

/// Each of the 40 calls waits by construction, so each has its reason, or its callchain is one that the recording says is lost. Together,
/// no more is recorded of a call than the kernel counted for its thread, and no less of the thread.
#[test]
#[ignore = "needs BPF rights, kernel symbols"]
fn each_thread_has_the_reasons_of_its_waits() {
    let _exclusive = exclusive();
    let folder = Folder::new();
    let (dir, profile) = (folder.name("run.cw"), folder.name("run.json"));
    let counted = recorded(&folder, &dir);
    let lost = lost(&dir);
    // The C library sleeps with clock_nanosleep, and waits with epoll_wait or epoll_pwait.
    let calls = [
        ("nanosleep", &["clock_nanosleep", "nanosleep"][..]),
        ("futex", &["futex"]),
        ("read", &["read"]),
        ("epoll", &["epoll_wait", "epoll_pwait"]),
    ];
    let mut with_reason = 0;
    for (thread, calls) in calls {
        let reasons = reasons(&dir, thread);
        let own = counted.iter().find(|(name, _)| name == thread).unwrap().1;
        let all: i64 = reasons.iter().map(|(_, n)| n).sum();
        let waited: i64 = reasons.iter().filter(|(reason, _)| calls.contains(&reason.as_str())).map(|(_, n)| n).sum();
        assert!(waited + lost >= TIMES, "{thread}: {reasons:?}, {lost} lost");
        assert!(waited <= own && own <= all, "{thread}: the kernel counted {own}: {reasons:?}");
        with_reason += waited;
    }
    assert!(with_reason > 0, "no wait has a reason, {lost} callchains are lost");
    // The names of the program's functions are in an exported profile too.
    good(["export", &dir, "--to", "firefox", "-o", &profile]);
    let text = std::fs::read_to_string(&profile).unwrap();
    for function in ["nanosleep_waiter", "futex_waiter", "read_waiter", "epoll_waiter"] {
        // All waits of a thread have one callchain.
        assert!(text.contains(function) || lost >= TIMES, "{function}");
    }
    let redacted = folder.name("redacted.json");
    good(["export", &dir, "--to", "firefox", "--redact", "-o", &redacted]);
    let text = std::fs::read_to_string(&redacted).unwrap();
    assert!(
        (text.contains("read_waiter") || lost >= TIMES) && !text.contains("libc.so") && !text.contains(".cw"),
        "the redacted profile contains a path"
    );
}

/// The waits of a program are in the functions in which it waited, and what is not known of is in the row without a function.
#[test]
#[ignore = "needs BPF rights, kernel symbols"]
fn waits_and_idle_wakeups_belong_to_the_functions_that_waited() {
    let _exclusive = exclusive();
    let folder = Folder::new();
    let dir = folder.name("run.cw");
    recorded(&folder, &dir);
    let lost = lost(&dir);
    let rows = |table: &str| -> Vec<Value> {
        serde_json::from_str(&good(["table", &dir, table, "--format", "json"])).expect("JSON")
    };
    let by_function = rows("power_by_function");
    let sum = |rows: &[Value], col: &str| rows.iter().map(|row| row[col].as_i64().unwrap_or(0)).sum::<i64>();
    // Threads wait in functions of the C library, 40 times in each way (futex has none but syscall).
    let mut in_functions = 0;
    for call in ["clock_nanosleep", "syscall", "read", "epoll"] {
        let is_of = |row: &&Value| row["function"].as_str().is_some_and(|function| function.contains(call));
        let of: Vec<Value> = by_function.iter().filter(is_of).cloned().collect();
        let [switches, wakeups, below] =
            ["sync_switches", "idle_wakeups", "idle_wakeups_below"].map(|col| sum(&of, col));
        assert!(switches + lost >= TIMES, "{call}: {switches} switches, {lost} lost");
        assert!(wakeups <= below, "{call}: {wakeups} of {below} idle wakeups");
        in_functions += switches;
    }
    assert!(in_functions > 0, "no wait has a function, {lost} callchains are lost");
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
