//! Tests files recorded by trace-cmd: ours, and those of other projects.

use crate::trace_dat::{Read, file};
use model::{CpuState, EventKind, ThreadState, WakeKind};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::corpus;

const OURS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/trace_dat");

/// Compares the files of `fixtures/trace_dat` with its `*.md`, whose `trace` blocks name them.
#[test]
fn our_files_match_their_descriptions() {
    testkit::cases::run(Path::new(OURS), |name| {
        let bytes = std::fs::read(Path::new(OURS).join(name.trim())).unwrap();
        summary(&file(&bytes).unwrap())
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
    let switches = read.events.iter().filter(|e| matches!(e.what, EventKind::Switch(_) | EventKind::Wake(_)));
    for event in switches.take(6) {
        let _ = writeln!(text, "{}", read.describe(event));
    }
    text
}

/// Compares the tables of our files with those that the referee made when they were cut.
#[test]
fn our_files_match_the_referee() {
    for name in ["v6", "v7", "v7-zlib", "v7-zstd"] {
        let read = file(&std::fs::read(format!("{OURS}/{name}.dat")).unwrap()).unwrap();
        let answer = std::fs::read_to_string(format!("{OURS}/{name}.referee.json")).unwrap();
        compare(name, &read, &serde_json::from_str(&answer).unwrap());
    }
}

/// Compares recordings of other machines and other projects with trace-cmd and the referee.
#[test]
#[ignore = "needs python3, trace-cmd"]
fn files_of_other_machines_match_the_referee() {
    let files = recordings();
    assert!(!files.is_empty());
    for path in files {
        let name = path.display().to_string();
        let report = Command::new("trace-cmd").args(["report", "-t", "-R", "-i"]).arg(&path).output().unwrap();
        assert!(report.status.success(), "{name}: {}", String::from_utf8_lossy(&report.stderr));
        let text = String::from_utf8_lossy(&report.stdout).into_owned();
        let read = file(&std::fs::read(&path).unwrap()).unwrap();
        assert!(read.anomalies.0.is_empty() && read.late == 0, "{name}: {:?}", read.anomalies);
        compare(&name, &read, &testkit::referee::ask(&[text])[0]);
    }
}

/// Returns the files of the collection, and those in `COREWISE_TRACE_DAT`.
fn recordings() -> Vec<PathBuf> {
    let guests = corpus::list("guests").into_iter().map(|guest| guest.join("trace.dat"));
    let others = corpus::list("trace-dat").into_iter().filter(|p| p.extension().is_some_and(|x| x == "dat"));
    let more = std::env::var_os("COREWISE_TRACE_DAT");
    let more = more.iter().flat_map(std::env::split_paths);
    let mut files: Vec<PathBuf> = guests.chain(others).chain(more).filter(|p| p.is_file()).collect();
    files.sort();
    files
}

fn compare(name: &str, read: &Read, answer: &Value) {
    let totals = totals(read);
    let samples = read.events.iter().filter(|e| e.is_sample());
    let switches = read.events.iter().filter(|e| matches!(e.what, EventKind::Switch(_))).count();
    let wakeups = read.events.iter().filter(|e| matches!(e.what, EventKind::Wake(_))).count();
    let last = samples.clone().map(|e| e.at.0).max().unwrap();
    let span = answer["end_ns"].as_i64().unwrap() - answer["begin_ns"].as_i64().unwrap();
    assert_eq!(json!([samples.count(), switches, last]), json!([answer["events"], answer["switches"], span]), "{name}");
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
    let tids: std::collections::BTreeSet<_> = ours.iter().map(|t| t.tid).collect();
    assert_eq!(tids.len(), threads.len(), "threads of {name}");
    let followed = totals.cpus.iter().filter(|c| c.followed);
    for cpu in followed.clone() {
        let theirs = &answer["cpus"][cpu.cpu.0.to_string()];
        for state in CpuState::ALL {
            let column = format!("{}_ns", state.as_str());
            assert_eq!(json!(cpu.time(state).0), theirs[&column], "{column} of CPU {} in {name}", cpu.cpu.0);
        }
    }
    let cpus = followed.count();
    assert_eq!(cpus, answer["cpus"].as_object().unwrap().len(), "CPUs of {name}");
    eprintln!("{name}: equal: {switches} switches, {wakeups} wakeups, {} threads, {cpus} CPUs", threads.len());
}

/// Returns the tables. If a source does not state whether it has sched_waking, one among its first 10,000 wakeups decides
/// (docs/accounting.md).
pub(crate) fn totals(read: &Read) -> account::Totals {
    let kinds = || {
        let wakes =
            read.events.iter().filter_map(|e| if let EventKind::Wake(w) = e.what { Some(w.kind) } else { None });
        wakes.filter(|k| matches!(k, WakeKind::Waking | WakeKind::Wakeup)).take(10_000)
    };
    let has_waking = read.facts.has_waking.unwrap_or_else(|| kinds().any(|k| k == WakeKind::Waking));
    let has_wakes = kinds().next().is_some();
    let rules =
        account::Rules { has_waking, has_wakes, online: read.facts.online.clone(), ..account::Rules::default() };
    crate::accounted(rules, &read.events)
}
