//! Tests recorded collections: ours, and SchedViz's own.

use crate::schedviz::{Files, Read, folder};
use model::{CpuState, EventKind, ThreadState};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::corpus;

const OURS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/schedviz");
const READER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../acceptance/schedviz_text.py");

/// Compares our collections with `recorded.md`, whose `trace` blocks name their folders.
#[test]
fn our_files_match_their_descriptions() {
    testkit::cases::run(Path::new(OURS), |name| {
        let files = Files::of_folder(&Path::new(OURS).join(name.trim()));
        assert!(import::detect_folder(&ingest::Folder::names(&files)).is_some_and(|f| f.id() == "schedviz"));
        summary(&folder(&files).unwrap())
    });
}

fn summary(read: &Read) -> String {
    let mut text = String::new();
    let f = &read.facts;
    let _ = writeln!(text, "clock: {}; waking: {:?}, wakeup: {:?}", f.clock, f.has_waking, f.has_wakeup);
    let _ = writeln!(text, "online: {:?}", f.online.iter().map(|c| c.0).collect::<Vec<_>>());
    for (name, value) in &f.about {
        let _ = writeln!(text, "{name}: {value}");
    }
    for lack in &f.lacks {
        let _ = writeln!(text, "lacks: {lack}");
    }
    let _ = write!(text, "{}", topology::draw(f.machine.as_ref().unwrap()));
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for event in &read.events {
        let debug = format!("{:?}", event.what);
        *kinds.entry(debug.split(['(', ' ']).next().unwrap_or_default().to_owned()).or_default() += 1;
    }
    let _ = writeln!(text, "events: {kinds:?}");
    let _ = writeln!(text, "names: {}, anomalies: {:?}, late: {}", read.names.len(), read.anomalies.0, read.late);
    for event in read.events.iter().filter(|e| matches!(e.what, EventKind::Loss(_))) {
        let _ = writeln!(text, "{}", read.describe(event));
    }
    for line in read.lines().iter().take(10) {
        let _ = writeln!(text, "{line}");
    }
    text
}

/// Compares all collections with the referee, which reads the text of a slow reader in Python.
#[test]
#[ignore = "needs python3"]
fn all_collections_match_the_referee() {
    let ours = ["ftrace", "ebpf"].map(|name| PathBuf::from(OURS).join(name));
    let theirs = corpus::list("schedviz");
    for path in ours.into_iter().chain(theirs) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let out = Command::new("python3").arg("-B").arg(READER).arg(&path).output().unwrap();
        assert!(out.status.success(), "{name}: {}", String::from_utf8_lossy(&out.stderr));
        let text = String::from_utf8(out.stdout).unwrap();
        let lines = text.lines().count();
        let files = if path.is_dir() { Files::of_folder(&path) } else { Files::of_archive(&path) };
        let read = folder(&files).unwrap();
        let sampled = read.events.iter().filter(|e| e.is_sample()).count();
        assert_eq!(sampled, lines, "{name}: each event is a line of the other reader");
        assert!(read.anomalies.0.is_empty(), "{name}: {:?}", read.anomalies.0);
        compare(&name, &read, &testkit::referee::ask(&[text])[0]);
    }
}

fn compare(name: &str, read: &Read, answer: &Value) {
    assert_eq!(answer["unparsed"], json!({}), "{name}");
    let totals = totals(read);
    let switches = read.events.iter().filter(|e| matches!(e.what, EventKind::Switch(_))).count();
    assert_eq!(json!(switches), answer["switches"], "{name}");
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
        for state in ThreadState::ALL {
            let column = format!("{}_ns", state.as_str());
            let ours = instances.iter().map(|t| t.time(state).0).sum::<i64>();
            assert_eq!(json!(ours), theirs[&column], "{column} of {tid} in {name}");
        }
        let ours = [
            instances.iter().map(|t| t.involuntary).sum::<u64>(),
            instances.iter().map(|t| t.voluntary).sum(),
            instances.iter().map(|t| t.migrations).sum(),
        ];
        let counts = json!([theirs["involuntary"], theirs["voluntary"], theirs["migrations"]]);
        assert_eq!(json!(ours), counts, "counts of {tid} in {name}");
    }
    let followed: Vec<_> = totals.cpus.iter().filter(|c| c.followed).collect();
    for cpu in &followed {
        let theirs = &answer["cpus"][cpu.cpu.0.to_string()];
        for state in CpuState::ALL {
            let column = format!("{}_ns", state.as_str());
            assert_eq!(json!(cpu.time(state).0), theirs[&column], "{column} of CPU {} in {name}", cpu.cpu.0);
        }
    }
    eprintln!("{name}: {switches} switches, {} threads, {} CPUs equal", threads.len(), followed.len());
}

fn totals(read: &Read) -> account::Totals {
    let (has_waking, online) = (read.facts.has_waking.unwrap_or(true), read.facts.online.clone());
    let rules = account::Rules { has_waking, has_wakes: true, online, ..account::Rules::default() };
    crate::accounted(rules, &read.events)
}

/// The machine comes from the collection's topology folder.
#[test]
fn siblings_of_schedviz_own_collection() {
    let path = corpus::path("schedviz/schedviz__ebpf_trace.tar.gz");
    let read = folder(&Files::of_archive(&path)).unwrap();
    let machine = read.facts.machine.unwrap();
    let siblings: Vec<String> = machine.cpus.iter().map(|c| topology::cpulist::format(c.siblings.clone())).collect();
    assert_eq!(siblings, ["0,2", "1,3", "0,2", "1,3"]);
    assert!(machine.cpus.iter().all(|c| c.node == Some(0) && c.package == Some(0)));
    assert_eq!(read.facts.online.len(), 4);
}
