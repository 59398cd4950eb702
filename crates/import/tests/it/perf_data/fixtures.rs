//! Tests files recorded by perf: ours, and those of other projects.

use crate::perf_data::{Read, file};
use ingest::Input;
use model::{CpuState, EventKind, ThreadState};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use testkit::corpus;

const OURS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/perf_data");
const FIELDS: &str = "comm,tid,cpu,time,event,trace";

/// Compares the files of `fixtures/perf_data` with its `*.md`, whose `trace` blocks name them.
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
    for (name, value) in f.about.iter().filter(|(name, _)| name != "command_line") {
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

/// Compares the thread, time and innermost address of each sample with perf's own output.
#[test]
fn samples_of_a_profiler_match_perf() {
    let read = file(&std::fs::read(format!("{OURS}/profile.data")).unwrap()).unwrap();
    let is_code = |address: &&u64| **address < model::StackFrame::CONTEXT_MARKERS;
    let samples = read.events.iter().filter_map(|event| {
        let EventKind::CpuSample { tid, stack, .. } = event.what else { return None };
        let innermost = read.stacks[stack.0 as usize - 1].iter().find(is_code).unwrap();
        // Times count from the first event; perf prints the clock.
        Some((tid.0, event.at.0, *innermost))
    });
    let got: Vec<(i32, i64, u64)> = samples.collect();
    let script = std::fs::read_to_string(format!("{OURS}/profile.script")).unwrap();
    let printed = script.lines().map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (seconds, ns) = words[1].trim_end_matches(':').split_once('.').unwrap();
        let at = seconds.parse::<i64>().unwrap() * 1_000_000_000 + ns.parse::<i64>().unwrap();
        (words[0].parse().unwrap(), at, u64::from_str_radix(words[2], 16).unwrap())
    });
    let printed: Vec<(i32, i64, u64)> = printed.collect();
    let begin = printed[0].1 - got[0].1;
    let since = |of: &[(i32, i64, u64)]| of.iter().map(|(tid, at, ip)| (*tid, at - begin, *ip)).collect::<Vec<_>>();
    assert!(got.len() > 50, "{}", got.len());
    assert_eq!(got, since(&printed));
}

/// Compares the tables of our files with those that the referee made when they were recorded.
#[test]
fn our_files_match_the_referee() {
    for name in ["sched", "sched-zstd", "sched-pipe"] {
        let read = file(&std::fs::read(format!("{OURS}/{name}.data")).unwrap()).unwrap();
        let answer = std::fs::read_to_string(format!("{OURS}/{name}.referee.json")).unwrap();
        compare(name, &read, &serde_json::from_str(&answer).unwrap());
    }
}

/// Compares recordings of other machines, as read by perf and the referee.
#[test]
#[ignore = "needs ../shared, perf, python3"]
fn guests_match_the_referee() {
    for path in corpus::list("guests").into_iter().map(|guest| guest.join("perf.data")).filter(|p| p.is_file()) {
        let name = path.display().to_string();
        let script = Command::new("perf").args(["script", "-F", FIELDS, "--ns", "-i"]).arg(&path).output().unwrap();
        assert!(script.status.success(), "{name}: {}", String::from_utf8_lossy(&script.stderr));
        let text = String::from_utf8_lossy(&script.stdout).into_owned();
        let answers = testkit::referee::ask(&[text]);
        compare(&name, &file(&std::fs::read(&path).unwrap()).unwrap(), &answers[0]);
        eprintln!("{name}: equal");
    }
}

fn compare(name: &str, read: &Read, answer: &Value) {
    let totals = totals(read);
    assert_eq!(
        json!([totals.inconsistent_switches(), totals.missing_wakeups()]),
        json!([answer["broken"], answer["unwoken"]]),
        "{name}"
    );
    let ours = totals.threads.all().unwrap();
    for theirs in answer["threads"].as_array().unwrap() {
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
    for cpu in totals.cpus.iter().filter(|c| c.followed) {
        let theirs = &answer["cpus"][cpu.cpu.0.to_string()];
        for state in CpuState::ALL {
            let column = format!("{}_ns", state.as_str());
            assert_eq!(json!(cpu.time(state).0), theirs[&column], "{column} of CPU {} in {name}", cpu.cpu.0);
        }
    }
}

fn totals(read: &Read) -> account::Totals {
    let (has_waking, online) = (read.facts.has_waking.unwrap_or(true), read.facts.online.clone());
    let rules = account::Rules { has_waking, has_wakes: true, online, ..account::Rules::default() };
    crate::accounted(rules, &read.events)
}

/// Each file of other projects is read, or refused with a reason.
#[test]
fn files_of_other_projects_are_read() {
    for path in corpus::list("perf-data") {
        let bytes = std::fs::read(&path).unwrap();
        let head = &bytes[..bytes.len().min(4096)];
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let importer = import::detect(head).unwrap_or_else(|| panic!("{name} has an unknown format"));
        match importer.open(Input::File(Box::new(std::io::Cursor::new(bytes.as_slice())))) {
            Err(fatal) => {
                assert!(fatal.what.len() > 20, "{name}: {fatal}");
                eprintln!("{name}: refused: {fatal}");
            }
            Ok(opened) => {
                let read = crate::perf_data::read(opened);
                let anomalies: u64 = read.anomalies.0.values().map(|t| t.count).sum();
                eprintln!("{name}: {} events, {anomalies} anomalies, stopped: {:?}", read.events.len(), read.stopped);
                assert!(!read.events.is_empty() || read.stopped.is_some() || !read.facts.lacks.is_empty(), "{name}");
            }
        }
    }
}
