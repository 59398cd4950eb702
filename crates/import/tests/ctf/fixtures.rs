//! Traces that tracers wrote: ours, and those of other projects.

use crate::{Files, Read, read};
use model::{Batch, CpuState, ThreadState, What};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const OURS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/ctf");
const OF_OTHERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces/ctf");
const TO_TEXT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../acceptance/ctf_text.py");
const PERF_DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/perf_data");
/// Our traces, which `make.py` writes.
const WRITTEN: [&str; 2] = ["lttng-le", "lttng-be"];

/// What the folders of `fixtures/ctf` tell: see its `*.md`, whose `trace` blocks name them.
#[test]
fn ours() {
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
    let _ = writeln!(text, "names: {}, trouble: {:?}, late: {}", read.names.len(), read.troubles.0, read.late);
    let of_threads = read
        .events
        .iter()
        .filter(|e| matches!(e.what, What::Switch(_) | What::Wake(_) | What::Fork { .. } | What::Mark(_)));
    let losses = read.events.iter().filter(|e| matches!(e.what, What::Loss(_)));
    for event in of_threads.take(8).chain(losses) {
        let _ = writeln!(text, "{}", read.words(event));
    }
    text
}

/// babeltrace2's text of a folder, made readable for the referee.
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

/// Ours and other projects', as babeltrace2 and the referee read them.
#[test]
#[ignore = "needs ../shared, babeltrace2, python3"]
fn as_babeltrace2_and_the_referee_have_them() {
    let ours = WRITTEN.iter().map(|name| Path::new(OURS).join(name));
    let others = std::fs::read_dir(OF_OTHERS).unwrap().map(|d| d.unwrap().path());
    for folder in ours.chain(others) {
        let told = read(&Files::of(&folder)).unwrap();
        if !told.events.iter().any(|e| matches!(e.what, What::Switch(_))) {
            eprintln!("{}: {} events, no switch", folder.display(), told.events.len());
            continue;
        }
        let release = told.facts.about.iter().find(|(name, _)| name == "kernel_release").map_or("9.9", |(_, v)| v);
        let answers = testkit::referee::ask(&[text_of(&folder, release)]);
        compare(&folder.display().to_string(), &told, &answers[0]);
    }
}

/// What babeltrace2 writes of our traces, in its own layout, tells the same.
#[test]
#[ignore = "needs babeltrace2"]
fn babeltrace2_writes_the_same() {
    for name in WRITTEN {
        let folder = std::env::temp_dir().join(format!("corewise-ctf-{}-{name}", std::process::id()));
        let source = Path::new(OURS).join(name);
        let written =
            Command::new("babeltrace2").arg(&source).args(["--output-format=ctf", "-w"]).arg(&folder).output();
        assert!(written.as_ref().is_ok_and(|out| out.status.success()), "{written:?}");
        let of_trace = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).find(|p| p.is_dir());
        let theirs = read(&Files::of(&of_trace.unwrap_or_else(|| folder.clone()))).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let events = |read: &Read| read.told().into_iter().filter(|t| !t.contains("lost")).collect::<Vec<_>>();
        let (ours, theirs) = (events(&read(&Files::of(&source)).unwrap()), events(&theirs));
        assert_eq!(ours.len(), theirs.len(), "{name}");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            // babeltrace2 forgets which task the chain said was current behind a loss.
            assert_eq!(ours.split(" by ").next(), theirs.split(" by ").next(), "{name}");
        }
    }
}

/// perf's own conversion of our recordings tells what the recordings tell.
#[test]
#[ignore = "needs perf that converts to CTF"]
fn perf_converts_to_the_same() {
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
        let told = read(&Files::of(&folder));
        std::fs::remove_dir_all(&folder).unwrap();
        let answer = std::fs::read_to_string(format!("{PERF_DATA}/{name}.referee.json")).unwrap();
        compare(name, &told.unwrap(), &serde_json::from_str(&answer).unwrap());
    }
}

fn compare(name: &str, read: &Read, answer: &Value) {
    let totals = totals(read);
    assert_eq!(answer["unparsed"], json!({}), "{name}");
    assert!(read.stopped.is_none() && read.late == 0, "{name}: {:?} {}", read.stopped, read.late);
    let is_event = |e: &&model::Event| e.is_sample();
    assert_eq!(json!(read.events.iter().filter(is_event).count()), answer["events"], "{name}: events");
    assert_eq!(json!([totals.broken(), totals.unwoken()]), json!([answer["broken"], answer["unwoken"]]), "{name}");
    let threads = answer["threads"].as_array().unwrap();
    let ours = totals.threads.all().unwrap();
    for theirs in threads {
        let tid = theirs["tid"].as_i64().unwrap();
        let lives: Vec<_> = ours.iter().filter(|t| i64::from(t.tid.0) == tid).collect();
        let time = |s| lives.iter().map(|t| t.time(s).0).sum::<i64>();
        for state in ThreadState::ALL {
            let column = format!("{}_ns", state.as_str());
            assert_eq!(json!(time(state)), theirs[&column], "{column} of {tid} in {name}");
        }
        let counts = [
            lives.iter().map(|t| t.involuntary).sum::<u64>(),
            lives.iter().map(|t| t.voluntary).sum(),
            lives.iter().map(|t| t.migrations).sum(),
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
    let wakes = read.events.iter().filter(|e| matches!(e.what, What::Wake(_))).count();
    let (switches, cpus) = (&answer["switches"], totals.cpus.len());
    eprintln!("{name}: equal: {switches} switches, {wakes} wakings, {} threads, {cpus} CPUs", threads.len());
}

fn totals(read: &Read) -> account::Totals {
    let (has_waking, online) = (read.facts.has_waking.unwrap_or(true), read.facts.online.clone());
    let has_wakes = has_waking || read.facts.has_wakeup.unwrap_or(true);
    let rules = account::Rules { has_waking, has_wakes, online, ..account::Rules::default() };
    let mut accountant = account::Accountant::new(rules);
    accountant.push(&Batch { events: read.events.clone(), ..Batch::default() }, &mut ());
    accountant.finish(&mut ())
}

/// A trace of a program (LTTng-UST) has no switches; all its events are read.
#[test]
#[ignore = "needs ../shared"]
fn of_other_projects_without_switches() {
    let folder = Path::new(OF_OTHERS).join("tracecompass__hello-lost");
    let told = read(&Files::of(&folder)).unwrap();
    let trouble: u64 = told.troubles.0.values().map(|t| t.count).sum();
    let lost: Vec<_> = told.told().into_iter().filter(|line| line.contains("lost")).collect();
    eprintln!(
        "hello-lost: {} events, {} late, {trouble} troubles, {} losses",
        told.events.len(),
        told.late,
        lost.len()
    );
    assert!(told.events.len() > 30 && told.facts.lacks.iter().any(|l| l.starts_with("No context switches")));
}
