//! Recordings of the test machine.

use crate::support::{self, Folder, corewise, good, run};
use ingest::{Anomalies, Reach};
use model::Batch;
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

fn check(dir: &str) -> Value {
    let checked: Value = serde_json::from_str(&good(["verify", dir, "--format", "json"])).expect("JSON");
    assert_eq!(checked["holds"], true, "{checked}");
    assert!(checked["events"].as_i64().is_some_and(|n| n > 0), "{checked}");
    checked
}

/// Returns whether an event of the recording, which goes on, can be read.
fn has_events(dir: &str) -> bool {
    let Ok(opened) = capture::open_spool(Path::new(dir)) else { return false };
    let (mut batch, mut bad) = (Batch::default(), Anomalies::default());
    opened.streams.into_iter().any(|mut stream| {
        while matches!(stream.next(&mut batch, &mut bad), Ok(Reach::Until(_))) && batch.events.is_empty() {}
        !batch.events.is_empty()
    })
}

/// Waits until the recording has events that are written. It has begun before that: the snapshot of all threads comes first.
fn wait_for_events(dir: &str) {
    let end = Instant::now() + Duration::from_secs(60);
    while !has_events(dir) {
        assert!(Instant::now() < end, "the recorder writes no events to {dir}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn start(words: &[&str]) -> Child {
    corewise(words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("corewise runs")
}

#[test]
#[ignore = "needs BPF rights"]
fn a_command_is_recorded_and_its_exit_code_passed_on() {
    let folder = Folder::new();
    let dir = folder.name("run.cw");
    let ran =
        run(["record", "-o", &dir, "--label", "os=new", "--", "sh", "-c", "echo of the command; sleep 0.2; exit 7"]);
    assert_eq!(ran.code, Some(7), "{}", ran.err);
    assert_eq!(ran.out, "of the command\n");
    assert!(ran.err.contains("next: corewise report") && ran.err.contains("Recording overhead"), "{}", ran.err);
    check(&dir);
    assert!(!folder.path("run.cw/spool").exists());
    let manifest = std::fs::read_to_string(folder.path("run.cw/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let about = manifest["facts"]["about"].as_array().unwrap();
    assert!(about.contains(&serde_json::json!(["label.os", "new"])), "{about:?}");
    let report = good(["report", &dir]);
    assert!(report.contains("Threads of process") && report.contains("(sh)"), "{report}");
    let again = run(["record", "-o", &dir, "--", "true"]);
    assert!(again.code == Some(1) && again.err.contains("does not overwrite"), "{}", again.err);
}

#[test]
#[ignore = "needs BPF rights"]
fn a_command_that_does_not_exist_is_reported() {
    let folder = Folder::new();
    let ran = run(["record", "-o", &folder.name("run.cw"), "--", "/no/such/command"]);
    assert_eq!(ran.code, Some(127), "{}", ran.err);
    assert!(ran.err.contains("/no/such/command"), "{}", ran.err);
    assert!(!folder.path("run.cw").exists());
}

/// While the recorder reads tables for unwinding, events are already recorded, so that nothing is missing later. The command does not run yet.
#[test]
#[ignore = "needs BPF rights"]
fn what_happens_before_the_command_is_left_out() {
    let folder = Folder::new();
    let dir = folder.name("run.cw");
    let ran = run(["record", "-o", &dir, "--stacks", "--keep-spool", "--", "true"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    check(&dir);
    let segments = std::fs::read_dir(folder.path("run.cw/spool")).unwrap().map(|of| of.unwrap().file_name());
    let segments: Vec<_> = segments.filter(|name| name.to_string_lossy().ends_with(".seg")).collect();
    assert_eq!(segments, ["000001.seg"], "the segment of the preparation is removed");
}

#[test]
#[ignore = "needs BPF rights"]
fn a_recording_ends_after_its_duration() {
    let folder = Folder::new();
    let dir = folder.name("run.cw");
    let begin = Instant::now();
    let ran = run(["record", "-o", &dir, "--duration", "500ms", "--irq", "--keep-spool"]);
    let took = i64::try_from(begin.elapsed().as_nanos()).unwrap();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    // The last event may be some time before its end.
    let span = check(&dir)["span_ns"].as_i64().unwrap();
    assert!((400_000_000..took).contains(&span), "{span} of {took}");
    assert!(folder.path("run.cw/spool").is_dir());
    let recovered = run(["recover", &dir]);
    assert_eq!(recovered.code, Some(1), "a complete folder is not recovered: {}", recovered.out);
}

#[test]
#[ignore = "needs BPF rights"]
fn ctrl_c_ends_a_recording_normally() {
    let folder = Folder::new();
    let dir = folder.name("run.cw");
    let child = start(&["record", "-o", &dir]);
    wait_for_events(&dir);
    // SAFETY: a signal to our own child.
    assert_eq!(unsafe { libc::kill(child.id().cast_signed(), libc::SIGINT) }, 0);
    let ended = support::ran(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    check(&dir);
}

#[test]
#[ignore = "needs BPF rights"]
fn the_recording_of_a_killed_recorder_can_be_recovered() {
    let folder = Folder::new();
    let (dir, other) = (folder.name("run.cw"), folder.name("other.cw"));
    let mut child = start(&["record", "-o", &dir, "--", "sleep", "30"]);
    wait_for_events(&dir);
    child.kill().unwrap();
    child.wait().unwrap();
    let report = run(["report", &dir]);
    assert!(report.code == Some(1) && report.err.contains("corewise recover"), "{}", report.err);
    good(["recover", &dir, "-o", &other]);
    let elsewhere = check(&other);
    let output = good(["recover", &dir]);
    assert!(output.contains("killed"), "{output}");
    assert_eq!(check(&dir), elsewhere);
    assert!(!folder.path("run.cw/spool").exists());
}

#[test]
#[ignore = "needs BPF rights"]
fn the_demo_shows_its_threads() {
    let folder = Folder::new();
    let dir = folder.name("demo.cw");
    let ran = run(["demo", "-o", &dir, "--duration", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("The trace folder is"), "{}", ran.out);
    check(&dir);
    for name in ["Game", "Render", "Worker1", "Streamer", "Background", "Audio"] {
        assert!(ran.out.contains(name), "{name} in {}", ran.out);
    }
}

/// Starts two threads that spin on the CPU of this thread, and returns their TIDs.
fn spin(on: &'static std::sync::atomic::AtomicBool) -> Vec<i64> {
    let (send, received) = std::sync::mpsc::channel();
    // SAFETY: no memory is involved.
    let cpu = unsafe { libc::sched_getcpu() } as usize;
    for _ in 0..2 {
        let send = send.clone();
        std::thread::spawn(move || {
            // SAFETY: a valid mask of one CPU, of this thread.
            let tid = unsafe {
                let mut one: libc::cpu_set_t = std::mem::zeroed();
                libc::CPU_SET(cpu, &mut one);
                libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const one);
                libc::gettid()
            };
            send.send(i64::from(tid)).unwrap();
            while on.load(std::sync::atomic::Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
    }
    received.iter().take(2).collect()
}

#[test]
#[ignore = "needs BPF rights, two CPUs"]
fn an_idle_cpu_is_not_free_for_threads_that_are_pinned_elsewhere() {
    static ON: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(true);
    let tids = spin(&ON);
    let folder = Folder::new();
    let dir = folder.name("run.cw");
    let ran = run(["record", "-o", &dir, "--duration", "500ms"]);
    ON.store(false, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let table = |name: &str| -> Vec<Value> {
        serde_json::from_str(&good(["table", &dir, name, "--format", "json"])).expect("JSON")
    };
    let waits: Vec<Value> =
        table("ready_wait").into_iter().filter(|r| tids.contains(&r["tid"].as_i64().unwrap())).collect();
    assert_eq!(waits.len(), 2, "{waits:?}");
    let sum = |col: &str| waits.iter().map(|r| r[col].as_i64().unwrap_or(0)).sum::<i64>();
    // Permissions before the snapshot are unknown.
    let unknown = sum("permission_unknown_ns") + sum("unknown_ns") + sum("free_unknown_ns");
    assert!(sum("free_same_type_ns") + sum("free_other_type_ns") <= sum("permission_unknown_ns"), "{waits:?}");
    // One of the two is always ready, so all idle time of other CPUs counts as free but not allowed.
    let idle = table("cpus").iter().map(|r| r["idle_ns"].as_i64().unwrap()).max().unwrap();
    assert!(sum("free_not_allowed_ns") >= idle - unknown, "{idle} ns idle: {waits:?}");
    let span = check(&dir)["span_ns"].as_i64().unwrap();
    assert!(unknown < span, "nothing is known about {span} ns: {waits:?}");
    // No CPU goes offline or comes online meanwhile: each keeps its state for the whole recording.
    let whole = |r: &Value| [&r["parked_ns"], &r["unparked_ns"]].iter().any(|ns| ns.as_i64() == Some(span));
    let (parking, report) = (table("parking"), good(["report", &dir]));
    assert_eq!(
        parking.iter().all(whole),
        !report.contains("CPUs that go offline and come online are not recorded"),
        "{parking:?}"
    );
}

#[test]
#[ignore = "needs root"]
fn without_permission_the_error_says_what_to_do() {
    let folder = Folder::new();
    let binary = folder.path("corewise");
    std::fs::copy(env!("CARGO_BIN_EXE_corewise"), &binary).unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(folder.path("."), open).unwrap();
    let as_user = |words: &[&str]| {
        use std::os::unix::process::CommandExt;
        let mut command = std::process::Command::new(&binary);
        support::ran(command.args(words).uid(65534).gid(65534).current_dir(folder.path(".")).output().unwrap())
    };
    let record = as_user(&["record", "-o", "run.cw", "--", "true"]);
    assert_eq!(record.code, Some(1), "{}", record.err);
    assert!(
        record.err.contains("CAP_BPF") && record.err.contains("sudo") && record.err.contains("setcap"),
        "{}",
        record.err
    );
    assert!(!folder.path("run.cw").exists());
    assert_eq!(as_user(&["doctor"]).code, Some(1));
    let demo = as_user(&["demo", "-o", "demo.cw"]);
    assert_eq!(demo.code, Some(0), "{}", demo.err);
    assert!(demo.err.contains("bundled") && demo.out.contains("Threads"), "{}", demo.err);
}
