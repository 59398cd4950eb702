//! Records and reads spools, for tests by hand: `rec DIR [--duration S] [--pid PID | -- COMMAND…]`, `rec --read DIR`.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use capture::{RecordOptions, Target};
use ingest::{Anomalies, Reach};
use model::{Batch, EventKind};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.first().map(String::as_str) {
        Some("--read") => words.get(1).ok_or("rec --read DIR".to_owned()).and_then(|d| read(Path::new(d))),
        Some("--doctor") => {
            capture::doctor().iter().for_each(|f| println!("{f:?}"));
            Ok(())
        }
        Some(_) => record(&words),
        None => Err("rec DIR [--irq] [--keep S] [--duration S] [--pid PID | -- COMMAND…], or rec --read DIR".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn record(words: &[String]) -> Result<(), String> {
    let mut options = RecordOptions::new(&words[0]);
    options.arguments = words.to_vec();
    let mut rest = words[1..].iter();
    while let Some(word) = rest.next() {
        let mut seconds = || rest.next().and_then(|s| s.parse().ok()).map(Duration::from_secs_f64);
        match word.as_str() {
            "--irq" => options.irq = true,
            "--only-focus" => options.only_focus = true,
            "--keep" => options.keep = seconds(),
            "--duration" => options.duration = seconds(),
            "--perf" => options.backend = capture::Backend::Perf,
            "--ring" => {
                options.ring_bytes = rest.next().and_then(|s| s.parse::<u32>().ok()).unwrap_or(1) << 20;
            }
            "--pid" => options.target = Target::Pid(rest.next().and_then(|s| s.parse().ok()).unwrap_or(0)),
            "--" => options.target = Target::Command(rest.by_ref().cloned().collect()),
            "--all" => {}
            other => return Err(format!("unknown option {other}")),
        }
    }
    let done = capture::record(&options, &mut |p| eprintln!("{p:?}")).map_err(|e| e.to_string())?;
    eprintln!("{done:#?}");
    Ok(())
}

fn read(dir: &Path) -> Result<(), String> {
    let mut opened = capture::open_spool(dir).map_err(|e| e.to_string())?;
    let facts = &opened.facts;
    println!("begin {:?} online {:?} cost {:?} about {:?}", facts.begin, facts.online, facts.cost, facts.about);
    let (mut counts, mut names) = (BTreeMap::<&str, u64>::new(), 0);
    let mut bad = Anomalies::default();
    let mut running: BTreeMap<u32, i32> = BTreeMap::new();
    let (mut inconsistent, mut disorder, mut last) = (0, 0, BTreeMap::new());
    let mut lost = 0;
    let dump = std::env::var_os("DUMP").is_some();
    let mut batch = Batch::default();
    for stream in &mut opened.streams {
        loop {
            batch.clear();
            let reach = stream.next(&mut batch, &mut bad).map_err(|e| e.to_string())?;
            names += batch.names.len();
            for e in &batch.events {
                let before = last.insert(e.cpu, e.at);
                if dump {
                    println!("{} cpu{} {:?}", e.at.0, e.cpu.0, e.what);
                }
                disorder += u64::from(before.is_some_and(|b| b > e.at));
                let kind = match e.what {
                    EventKind::Switch(s) => {
                        let before = running.insert(e.cpu.0, s.next.0);
                        if before.is_some_and(|t| t != s.prev.0) {
                            inconsistent += 1;
                            println!("inconsistent switch {e:?}: {before:?} was switched in before");
                        }
                        "switch"
                    }
                    EventKind::Wake(w) => match w.kind {
                        model::WakeKind::Waking => "waking",
                        model::WakeKind::Wakeup => "wakeup",
                        model::WakeKind::New => "new",
                        model::WakeKind::WakeupAtSwitchIn => "wakeup at switch-in",
                    },
                    EventKind::Loss(l) => {
                        lost += l.events.get().unwrap_or(0);
                        println!("{l:?}");
                        "loss"
                    }
                    EventKind::Snapshot(_) => "snapshot",
                    EventKind::Fork { .. } => "fork",
                    EventKind::Exec { .. } => "exec",
                    EventKind::Exit { .. } => "exit",
                    EventKind::Name { .. } => "name",
                    EventKind::Priority { .. } => "priority",
                    EventKind::Affinity { .. } => "affinity",
                    EventKind::Cgroup { .. } => "cgroup",
                    EventKind::Inner { .. } => "inner",
                    EventKind::Current { .. } => "current",
                    EventKind::Idle { .. } => "idle",
                    EventKind::Frequency { .. } => "frequency",
                    EventKind::Irq { .. } => "irq",
                    EventKind::Steal { .. } => "steal",
                    EventKind::Clock { .. } => "clock",
                    EventKind::Migrate { .. } => "migrate",
                    _ => "other",
                };
                *counts.entry(kind).or_default() += 1;
            }
            if reach == Reach::End {
                break;
            }
        }
    }
    println!("{counts:?}\nnames {names} inconsistent {inconsistent} disorder {disorder} lost {lost}\n{bad:?}");
    Ok(())
}
