//! `corewise try`: the fix of a finding, applied and undone.

use crate::support::{Folder, Ran, corewise, good, ran, run};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Urgent (nice 0) is woken at 10 ms, waits 30 ms for the CPU on which hog (nice 19) runs, and then runs for 10 ms. The fix: SCHED_IDLE for hog.
const HOG: &str = "# tracer: nop
#
          <idle>-0     [000] d... 100.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=hog next_pid=10 next_prio=139
             hog-10    [000] d... 100.010000: sched_waking: comm=urgent pid=11 prio=120 target_cpu=000
             hog-10    [000] d... 100.040000: sched_switch: prev_comm=hog prev_pid=10 prev_prio=139 prev_state=R+ ==> next_comm=urgent next_pid=11 next_prio=120
          urgent-11    [000] d... 100.050000: sched_switch: prev_comm=urgent prev_pid=11 prev_prio=120 prev_state=S ==> next_comm=hog next_pid=10 next_prio=139
";

/// Whatever else runs on the machine of this test, no pair is repeated.
const ANY: [&str; 4] = ["--max-load", "100%", "--max-steal", "100%"];

/// A recording with the finding, and a program with the name of its thread.
fn recording(folder: &Folder) -> (String, String) {
    std::fs::write(folder.path("run.txt"), HOG).unwrap();
    std::fs::copy("/bin/sleep", folder.path("hog")).unwrap();
    (folder.name("run.txt"), folder.name("hog"))
}

/// The program, with journals of its own: another trial on this machine is none of this test's.
fn tried(folder: &Folder, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = corewise(words);
    command.env("COREWISE_TRIALS", folder.path("journals"));
    command
}

fn run_in(folder: &Folder, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Ran {
    ran(tried(folder, words).output().expect("corewise runs"))
}

#[test]
fn what_will_be_done_is_shown_first() {
    let folder = Folder::new();
    let (trace, hog) = recording(&folder);
    let text = good(["try", &trace, "--dry-run", "--", &hog, "1"]);
    for part in [
        "1. low-priority-ran-while-high-was-ready",
        "set the policy of its threads to SCHED_IDLE",
        "those named hog of the command",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.contains("What it costs others: these threads get only the CPU time that others leave"), "{text}");
}

#[test]
fn what_cannot_be_tried_says_why() {
    let folder = Folder::new();
    let (trace, hog) = recording(&folder);
    for (words, code, why) in [
        (&["try", &trace][..], 2, "a command after --"),
        (&["try"], 2, "TRACE"),
        (&["try", &trace, "0", "--", &hog], 2, "numbered from 1"),
        (&["try", &trace, "no-such-rule", "--", &hog], 2, "neither the number of a finding nor a rule"),
        (&["try", &trace, "7", "--", &hog], 1, "none with number 7"),
        (&["try", &trace, "lock-convoy", "--", &hog], 1, "none of lock-convoy"),
        (&["try", &trace, "--pid", "2147483647"], 2, "there is no process"),
        (&["try", &trace, "--all"], 2, "no end to measure"),
    ] {
        let ran = run(words);
        assert!(ran.code == Some(code) && ran.err.contains(why), "{words:?}: {:?} {}", ran.code, ran.err);
    }
}

/// The scheduling policy of the first process with this command, once it runs.
fn policy_of(program: &str) -> Option<(i32, i32)> {
    let pids = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let runs = |pid: &i32| {
        let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        arguments.split(|byte| *byte == 0).next() == Some(program.as_bytes())
    };
    let pid = pids.into_iter().find(runs)?;
    // SAFETY: no memory is involved.
    Some((pid, unsafe { libc::sched_getscheduler(pid) }))
}

/// Begins a trial of a long command, whose first run has the fix (of this seed), and waits until it is applied.
fn begin(folder: &Folder) -> (Child, i32) {
    let (trace, hog) = recording(folder);
    let words = ["try", &trace, "-n", "1", "--warm-up", "0", "--seed", "1"];
    let mut trial = tried(folder, words.into_iter().chain(ANY).chain(["--", &hog, "100"]));
    let mut trial = trial.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    let pid = loop {
        if let Some((pid, libc::SCHED_IDLE)) = policy_of(&hog) {
            break pid;
        }
        let is_over = trial.try_wait().unwrap().is_some() || begun.elapsed() > Duration::from_secs(300);
        if is_over {
            trial.kill().ok();
            panic!("the fix was not applied: {}", ran(trial.wait_with_output().unwrap()).err);
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    (trial, pid)
}

fn kill(pid: u32, signal: i32) {
    // SAFETY: no memory is involved.
    assert_eq!(unsafe { libc::kill(pid.cast_signed(), signal) }, 0);
}

#[test]
#[ignore = "needs BPF rights"]
fn pairs_are_measured_and_nothing_is_left() {
    let folder = Folder::new();
    let (trace, hog) = recording(&folder);
    let words = ["try", &trace, "-n", "2", "--warm-up", "1", "--format", "json", "--keep", &folder.name("runs")];
    let measured = run_in(&folder, words.into_iter().chain(ANY).chain(["--", &hog, "0.2"]));
    assert_eq!(measured.code, Some(0), "{}", measured.err);
    let json: Value = serde_json::from_str(&measured.out).unwrap();
    let outcome = &json["outcome"];
    assert_eq!(
        (&outcome["pairs"], &outcome["threads"], &outcome["measure"]),
        (&2.into(), &1.into(), &"end".into()),
        "{json}"
    );
    assert!(outcome["medians"].as_array().unwrap().iter().all(|ns| ns.as_f64().unwrap() >= 2e8), "{json}");
    assert_eq!(json["fix"]["policy"], "idle");
    let kept = std::fs::read_dir(folder.path("runs")).unwrap().flatten();
    assert_eq!(kept.filter(|entry| entry.path().extension().is_some_and(|of| of == "cw")).count(), 6);
    assert!(run_in(&folder, ["try", "--undo"]).err.contains("nothing to undo"));
}

#[test]
#[ignore = "needs BPF rights"]
fn a_command_without_the_findings_threads_is_refused() {
    let folder = Folder::new();
    let (trace, _) = recording(&folder);
    let words = ["try", &trace, "-n", "1"];
    let refused = run_in(&folder, words.into_iter().chain(ANY).chain(["--", "sleep", "0.1"]));
    assert!(refused.code == Some(1) && refused.err.contains("no thread named hog ran"), "{}", refused.err);
}

#[test]
#[ignore = "needs BPF rights"]
fn ctrl_c_ends_the_trial_and_leaves_nothing() {
    let folder = Folder::new();
    let (trial, hog) = begin(&folder);
    kill(trial.id(), libc::SIGINT);
    let ended = ran(trial.wait_with_output().unwrap());
    assert!(ended.code == Some(1) && ended.err.contains("no pair was completed"), "{:?} {}", ended.code, ended.err);
    assert!(!Path::new(&format!("/proc/{hog}")).exists(), "the command runs");
    assert!(run_in(&folder, ["try", "--undo"]).err.contains("nothing to undo"));
}

#[test]
#[ignore = "needs BPF rights"]
fn what_a_killed_trial_left_can_be_undone() {
    let folder = Folder::new();
    let (trial, hog) = begin(&folder);
    kill(trial.id(), libc::SIGKILL);
    trial.wait_with_output().unwrap();
    let again = run_in(&folder, ["try", &folder.name("run.txt"), "--", "true"]);
    assert!(again.code == Some(1) && again.err.contains("corewise try --undo"), "{}", again.err);
    let undone = run_in(&folder, ["try", "--undo"]);
    assert!(undone.code == Some(0) && undone.err.contains("undone: settings of 1 thread"), "{}", undone.err);
    // SAFETY: no memory is involved.
    assert_eq!(unsafe { libc::sched_getscheduler(hog) }, libc::SCHED_OTHER);
    kill(hog.cast_unsigned(), libc::SIGTERM);
}
