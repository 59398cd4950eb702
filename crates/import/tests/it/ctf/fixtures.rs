//! Tests traces written by tracers: ours, and those of other projects.

use crate::ctf::{Files, Read, read};
use model::{CpuState, EventKind, ThreadState};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use testkit::corpus;

const OURS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/ctf");
const TO_TEXT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../acceptance/ctf_text.py");
const PERF_DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/perf_data");
/// Our traces, which `make.py` writes.
const WRITTEN: [&str; 2] = ["lttng-le", "lttng-be"];

/// Compares the folders of `fixtures/ctf` with its `*.md`, whose `trace` blocks name them.
#[test]
fn our_files_match_their_descriptions() {
    testkit::cases::run(Path::new(OURS), |name| {
        summary(&read(&Files::of(&Path::new(OURS).join(name.trim()))).unwrap())
    });
}

fn summary(read: &Read) -> String {
    let mut text = String::new();
    let f = &read.facts;
    let _ = writeln!(text, "clock: {}; waking: {:?}, wakeup: {:?}", f.clock, f.has_waking, f.has_wakeup);
    let _ = writeln!(text, "charges: {}; whole machine: {}", f.has_charges, f.whole_machine);
    let _ = writeln!(text, "online: {:?}", f.online.iter().map(|c| c.0).collect::<Vec<_>>());
    for (name, value) in &f.about {
        let _ = writeln!(text, "{name}: {value}");
    }
    for lack in &f.lacks {
        let _ = writeln!(text, "lacks: {lack}");
    }
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for event in &read.events {
        let debug = format!("{:?}", event.what);
        *kinds.entry(debug.split(['(', ' ']).next().unwrap_or_default().to_owned()).or_default() += 1;
    }
    let _ = writeln!(text, "events: {kinds:?}");
    let _ = writeln!(text, "names: {}, anomalies: {:?}, late: {}", read.names.len(), read.anomalies.0, read.late);
    let of_threads = read.events.iter().filter(|e| {
        matches!(e.what, EventKind::Switch(_) | EventKind::Wake(_) | EventKind::Fork { .. } | EventKind::Mark(_))
    });
    let losses = read.events.iter().filter(|e| matches!(e.what, EventKind::Loss(_)));
    for event in of_threads.take(8).chain(losses) {
        let _ = writeln!(text, "{}", read.describe(event));
    }
    text
}

/// Returns babeltrace2's text of a folder, converted for the referee.
fn text_of(folder: &Path, release: &str) -> String {
    let out = Command::new("babeltrace2").args(["--clock-seconds", "--no-delta"]).arg(folder).output().unwrap();
    assert!(out.status.success(), "{}: {:.200}", folder.display(), String::from_utf8_lossy(&out.stderr));
    let text = out.stdout;
    let mut script = Command::new("python3");
    script.args(["-B", TO_TEXT, "--release", release]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut script = script.spawn().unwrap();
    let mut stdin = script.stdin.take().unwrap();
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, &text));
    let out = script.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(out.status.success(), "{TO_TEXT} could not read a scheduler's line");
    String::from_utf8(out.stdout).unwrap()
}

/// Compares our traces and those of other projects with babeltrace2 and the referee.
#[test]
#[ignore = "needs ../shared, babeltrace2, python3"]
fn traces_match_babeltrace2_and_the_referee() {
    let ours = WRITTEN.iter().map(|name| Path::new(OURS).join(name));
    let others = corpus::list("ctf");
    for folder in ours.chain(others) {
        let trace = read(&Files::of(&folder)).unwrap();
        if !trace.events.iter().any(|e| matches!(e.what, EventKind::Switch(_))) {
            eprintln!("{}: {} events, no switch", folder.display(), trace.events.len());
            continue;
        }
        let release = trace.facts.about.iter().find(|(name, _)| name == "kernel_release").map_or("9.9", |(_, v)| v);
        let answers = testkit::referee::ask(&[text_of(&folder, release)]);
        compare(&folder.display().to_string(), &trace, &answers[0]);
    }
}

/// Compares our traces with babeltrace2's copies in its own layout.
#[test]
#[ignore = "needs babeltrace2"]
fn copies_of_babeltrace2_are_equal() {
    for name in WRITTEN {
        let folder = std::env::temp_dir().join(format!("corewise-ctf-{}-{name}", std::process::id()));
        let source = Path::new(OURS).join(name);
        let written =
            Command::new("babeltrace2").arg(&source).args(["--output-format=ctf", "-w"]).arg(&folder).output();
        assert!(written.as_ref().is_ok_and(|out| out.status.success()), "{written:?}");
        let of_trace = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).find(|p| p.is_dir());
        let theirs = read(&Files::of(&of_trace.unwrap_or_else(|| folder.clone()))).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let events = |read: &Read| read.lines().into_iter().filter(|t| !t.contains("lost")).collect::<Vec<_>>();
        let (ours, theirs) = (events(&read(&Files::of(&source)).unwrap()), events(&theirs));
        assert_eq!(ours.len(), theirs.len(), "{name}");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            // babeltrace2 does not know the current task after a loss.
            assert_eq!(ours.split(" by ").next(), theirs.split(" by ").next(), "{name}");
        }
    }
}

/// Compares perf's own conversion of our recordings with the recordings.
#[test]
#[ignore = "needs perf that converts to CTF"]
fn conversions_of_perf_are_equal() {
    for (name, more) in [("sched", None), ("sched-zstd", None), ("sched", Some("--all"))] {
        let folder = std::env::temp_dir().join(format!("corewise-ctf-{}-{name}", std::process::id()));
        let data = format!("{PERF_DATA}/{name}.data");
        let perf = Command::new("perf")
            .args(["data", "convert", "-i", &data])
            .args(more)
            .arg("--to-ctf")
            .arg(&folder)
            .output();
        assert!(perf.as_ref().is_ok_and(|out| out.status.success()), "{perf:?}");
        let trace = read(&Files::of(&folder));
        std::fs::remove_dir_all(&folder).unwrap();
        let answer = std::fs::read_to_string(format!("{PERF_DATA}/{name}.referee.json")).unwrap();
        compare(name, &trace.unwrap(), &serde_json::from_str(&answer).unwrap());
    }
}

fn compare(name: &str, read: &Read, answer: &Value) {
    let totals = totals(read);
    assert_eq!(answer["unparsed"], json!({}), "{name}");
    assert!(read.stopped.is_none() && read.late == 0, "{name}: {:?} {}", read.stopped, read.late);
    let is_event = |e: &&model::Event| e.is_sample();
    assert_eq!(json!(read.events.iter().filter(is_event).count()), answer["events"], "{name}: events");
    assert_eq!(
        json!([totals.inconsistent_switches(), totals.missing_wakeups()]),
        json!([answer["broken"], answer["unwoken"]]),
        "{name}"
    );
    let threads = answer["threads"].as_array().unwrap();
    let ours = totals.threads.all().unwrap();
    for theirs in threads {
        let tid = theirs["tid"].as_i64().unwrap();
        let instances: Vec<_> = ours.iter().filter(|t| i64::from(t.tid.0) == tid).collect();
        let time = |s| instances.iter().map(|t| t.time(s).0).sum::<i64>();
        for state in ThreadState::ALL {
            let column = format!("{}_ns", state.as_str());
            assert_eq!(json!(time(state)), theirs[&column], "{column} of {tid} in {name}");
        }
        let counts = [
            instances.iter().map(|t| t.involuntary).sum::<u64>(),
            instances.iter().map(|t| t.voluntary).sum(),
            instances.iter().map(|t| t.migrations).sum(),
        ];
        let their_counts = json!([theirs["involuntary"], theirs["voluntary"], theirs["migrations"]]);
        assert_eq!(json!(counts), their_counts, "counts of {tid} in {name}");
    }
    let followed: Vec<_> = totals.cpus.iter().filter(|c| c.followed).collect();
    assert_eq!(followed.len(), answer["cpus"].as_object().unwrap().len(), "CPUs of {name}");
    for cpu in followed {
        let theirs = &answer["cpus"][cpu.cpu.0.to_string()];
        for state in CpuState::ALL {
            let column = format!("{}_ns", state.as_str());
            assert_eq!(json!(cpu.time(state).0), theirs[&column], "{column} of CPU {} in {name}", cpu.cpu.0);
        }
    }
    let wakes = read.events.iter().filter(|e| matches!(e.what, EventKind::Wake(_))).count();
    let (switches, cpus) = (&answer["switches"], totals.cpus.len());
    eprintln!("{name}: equal: {switches} switches, {wakes} wakeups, {} threads, {cpus} CPUs", threads.len());
}

fn totals(read: &Read) -> account::Totals {
    let (has_waking, online) = (read.facts.has_waking.unwrap_or(true), read.facts.online.clone());
    let has_wakes = has_waking || read.facts.has_wakeup.unwrap_or(true);
    let rules = account::Rules { has_waking, has_wakes, online, ..account::Rules::default() };
    crate::accounted(rules, &read.events)
}

/// A trace of a program (LTTng-UST) has no switches; all its events are read.
#[test]
#[ignore = "needs ../shared"]
fn a_trace_without_switches_is_read() {
    let folder = corpus::path("ctf/tracecompass__hello-lost");
    let trace = read(&Files::of(&folder)).unwrap();
    let anomalies: u64 = trace.anomalies.0.values().map(|t| t.count).sum();
    let lost: Vec<_> = trace.lines().into_iter().filter(|line| line.contains("lost")).collect();
    eprintln!(
        "hello-lost: {} events, {} late, {anomalies} anomalies, {} losses",
        trace.events.len(),
        trace.late,
        lost.len()
    );
    assert!(trace.events.len() > 30 && trace.facts.lacks.iter().any(|l| l.starts_with("No context switches")));
}
