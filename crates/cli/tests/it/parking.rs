//! Records while a CPU goes offline. This changes the machine, so the test is ignored unless it is requested.

use crate::support::{Folder, corewise, good, ran};
use serde_json::Value;
use std::time::Duration;

const ONLINE: &str = "/sys/devices/system/cpu/cpu1/online";

/// A guard that keeps CPU 1 offline until it is dropped.
struct Offline;

impl Offline {
    fn take() -> std::io::Result<Self> {
        std::fs::write(ONLINE, "0").map(|()| Self)
    }
}

impl Drop for Offline {
    fn drop(&mut self) {
        let _ = std::fs::write(ONLINE, "1");
    }
}

/// The last switch of a CPU to its idle task is not recorded, since the CPU counts as offline by then. The thread that ran last
/// (`migration/1`) must not be counted as running until the CPU comes back.
#[test]
#[ignore = "needs BPF rights, COREWISE_TEST_OFFLINE"]
fn an_offline_cpu_runs_nothing() {
    let folder = Folder::new();
    let dir = folder.name("run.cw");
    let (begun, over) = (folder.path("begun"), folder.path("over"));
    let script = format!("touch '{}'; while ! test -e '{}'; do sleep 0.02; done", begun.display(), over.display());
    let mut recorder = corewise(["record", "-o", &dir, "--", "sh", "-c", &script]);
    let mut recorder = recorder.stderr(std::process::Stdio::piped()).spawn().expect("corewise runs");
    while !begun.exists() && recorder.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let offline = Offline::take();
    std::thread::sleep(Duration::from_millis(300));
    let taken = offline.map(drop);
    // The CPU also ran before and after that.
    std::thread::sleep(Duration::from_millis(300));
    std::fs::write(&over, "").unwrap();
    let ended = ran(recorder.wait_with_output().unwrap());
    taken.unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.err.contains("by bpf"), "{}", ended.err);
    let table = |name: &str| -> Vec<Value> {
        serde_json::from_str(&good(["table", &dir, name, "--format", "json"])).expect("JSON")
    };
    let parking = table("parking");
    let row = parking.iter().find(|r| r["cpu"] == 1).unwrap();
    // Kernel threads run while the CPU goes down and comes up, but hardly in between.
    let [parked, busy] = ["parked_ns", "busy_ns"].map(|col| row[col].as_i64().unwrap());
    assert!(parked >= 300_000_000 && parked - busy >= 250_000_000, "{row}");
    let idle = |r: &&Value| r["cpu"] == 1 && r["state"] == "idle";
    let longest = |r: &Value| r["end_ns"].as_i64().unwrap() - r["start_ns"].as_i64().unwrap();
    let stretches = table("cpu_state");
    let longest = stretches.iter().filter(idle).map(longest).max().unwrap_or(0);
    assert!(longest >= 250_000_000, "idle for {longest} ns at most, of {parked} ns offline");
}
