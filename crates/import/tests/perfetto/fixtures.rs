//! Traces of `fixtures/perfetto`, which hold what `fixtures/perf_data/sched.data` holds, and those of other projects.

use crate::{Told, read, read_by};
use model::{Batch, CpuState, NameId, ThreadState, Tid, WakeKind, What};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const OURS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/perfetto");
const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/perf_data/sched.referee.json");
const OF_OTHERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces/perfetto");
const AS_TEXT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces/perfetto-textproto");
const READER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../acceptance/perfetto_text.py");

fn ours(name: &str) -> Told {
    read(&std::fs::read(format!("{OURS}/{name}")).unwrap()).unwrap()
}

/// What the files tell: see the `*.md` beside them, whose `trace` blocks name them.
#[test]
fn cases() {
    testkit::cases::run(Path::new(OURS), |name| summary(&ours(name.trim())));
}

fn summary(read: &Told) -> String {
    let mut text = String::new();
    let f = &read.facts;
    let _ = writeln!(text, "clock: {}; waking: {:?}, wakeup: {:?}", f.clock, f.has_waking, f.has_wakeup);
    for (name, value) in &f.about {
        let _ = writeln!(text, "{name}: {value}");
    }
    if let Some(machine) = &f.machine {
        let types: Vec<_> = machine.cpus.iter().map(|c| machine.core_type(c.id)).collect();
        let _ = writeln!(text, "core types: {types:?}");
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
    for event in read.events.iter().filter(|e| !matches!(e.what, What::Sample)).take(9) {
        let _ = writeln!(text, "{}", read.words(event));
    }
    text
}

/// The same recording through perf.data and through Perfetto gives the same tables, to the nanosecond.
#[test]
fn ours_as_the_referee_has_perf_data() {
    let answer = serde_json::from_str(&std::fs::read_to_string(SOURCE).unwrap()).unwrap();
    for name in ["plain.pftrace", "compressed.pftrace"] {
        assert_eq!(compare(name, &ours(name), &answer), 54, "threads in {name}");
    }
}

/// Columns tell the same events, but not whom a switch left, nor who woke: those are whom the CPU's last switch brought in
/// (where the kernel broke that chain, as twice here, messages say otherwise), and at first nobody.
#[test]
fn columns_are_the_same_events() {
    let (plain, columns) = (ours("plain.pftrace"), ours("compact.pftrace"));
    let scheduling = |read: &Told| {
        let (mut running, mut lines) = (BTreeMap::new(), Vec::new());
        for event in &read.events {
            let mut event = *event;
            match &mut event.what {
                What::Switch(s) => {
                    let before = running.insert(event.cpu, s.next);
                    (s.prev, s.prev_name) = (before.unwrap_or(Tid::UNKNOWN), NameId::NONE);
                }
                What::Wake(w) if w.kind == WakeKind::Waking => {
                    w.waker = running.get(&event.cpu).copied().unwrap_or(Tid::UNKNOWN);
                }
                What::Wake(_) => {}
                _ => continue,
            }
            lines.push(read.words(&event));
        }
        lines
    };
    let (plain, columns) = (scheduling(&plain), scheduling(&columns));
    assert_eq!(plain.len(), 941);
    for (ours, theirs) in columns.iter().zip(&plain) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(plain.len(), columns.len());
}

/// Gives how many threads were compared.
fn compare(name: &str, read: &Told, answer: &Value) -> usize {
    let totals = totals(read);
    assert_eq!(json!([totals.broken(), totals.unwoken()]), json!([answer["broken"], answer["unwoken"]]), "{name}");
    let threads = answer["threads"].as_array().unwrap();
    let ours = totals.threads.all().unwrap();
    for theirs in threads {
        let tid = theirs["tid"].as_i64().unwrap();
        let lives: Vec<_> = ours.iter().filter(|t| i64::from(t.tid.0) == tid).collect();
        for state in ThreadState::ALL {
            let column = format!("{}_ns", state.as_str());
            let time = lives.iter().map(|t| t.time(state).0).sum::<i64>();
            assert_eq!(json!(time), theirs[&column], "{column} of {tid} in {name}");
        }
        let counts = [
            lives.iter().map(|t| t.involuntary).sum::<u64>(),
            lives.iter().map(|t| t.voluntary).sum(),
            lives.iter().map(|t| t.migrations).sum(),
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
    threads.len()
}

fn totals(read: &Told) -> account::Totals {
    // The source says what was asked for, not what came: the wakings met decide.
    let has_waking = read.events.iter().any(|e| matches!(e.what, What::Wake(w) if w.kind == WakeKind::Waking));
    let rules = account::Rules { has_waking, has_wakes: true, ..account::Rules::default() };
    let mut accountant = account::Accountant::new(rules);
    accountant.push(&Batch { events: read.events.clone(), ..Batch::default() }, &mut ());
    accountant.finish(&mut ())
}

/// Each is read whole.
#[test]
#[ignore = "needs ../shared"]
fn of_other_projects() {
    assert!(!others().is_empty());
}

/// The tables of those that have switches are the referee's, by a second reader (PyPI's `perfetto`).
#[test]
#[ignore = "needs ../shared, python3 with perfetto"]
fn of_other_projects_as_the_referee_has_them() {
    for (path, name, read) in others() {
        if !read.events.iter().any(|e| matches!(e.what, What::Switch(_))) {
            continue;
        }
        let text = String::from_utf8_lossy(&second_reader(&[&path])).into_owned();
        let threads = compare(&name, &read, &testkit::referee::ask(&[text])[0]);
        eprintln!("{name}: {threads} threads equal");
    }
}

/// Each one's path, name and events.
fn others() -> Vec<(String, String, Told)> {
    let mut all = Vec::new();
    for path in std::fs::read_dir(OF_OTHERS).unwrap().map(|f| f.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).unwrap();
        let importer = import::detect(&bytes[..bytes.len().min(4096)]);
        assert_eq!(importer.map(ingest::Importer::id), Some("perfetto"), "{name}");
        let read = read_by(&bytes, false).unwrap();
        assert_eq!((read.stopped.as_ref(), read.late), (None, 0), "{name}");
        let count = |of: fn(&What) -> bool| read.events.iter().filter(|e| of(&e.what)).count();
        let (switches, wakes) = (count(|w| matches!(w, What::Switch(_))), count(|w| matches!(w, What::Wake(_))));
        eprintln!("{name}: {} events, {switches} switches, {wakes} wakes, {:?}", read.events.len(), read.troubles.0);
        all.push((path.to_string_lossy().into_owned(), name, read));
    }
    all
}

/// Perfetto's own test traces, which are kept as text: each is read without trouble, and some are looked at.
#[test]
#[ignore = "needs ../shared, python3 with perfetto"]
fn of_perfettos_own_tests() {
    for path in std::fs::read_dir(AS_TEXT).unwrap().map(|f| f.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = second_reader(&["--binary", &path.to_string_lossy()]);
        let read = read(&bytes).unwrap();
        assert!(read.stopped.is_none() && read.late == 0, "{name}: {:?}", read.stopped);
        assert!(read.troubles.0.is_empty(), "{name}: {:?}", read.troubles.0);
        if name.contains("incremental_counter_sequences") {
            let values = ["0: 100", "50: 150", "100: 160", "150: 165"].map(|v| v.split_once(": ").unwrap());
            let expected = values.map(|(at, v)| format!("{at} cpu-1 MyIncrementalCounter of -1 is {v}"));
            assert_eq!(read.all(), expected, "{name}");
        }
        eprintln!("{name}: {} events", read.events.len());
    }
}

/// What `acceptance/perfetto_text.py` prints.
fn second_reader(arguments: &[&str]) -> Vec<u8> {
    let python = std::env::var("PERFETTO_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let out = Command::new(python).arg(READER).args(arguments).output().unwrap();
    assert!(out.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    out.stdout
}
