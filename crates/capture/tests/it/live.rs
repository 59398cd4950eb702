//! Records this machine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod support;

use capture::{CaptureError, Ended, RecordOptions, Recorded, Target, processes, record};
use model::{Event, EventKind, MaybeNs, NameId, Ns, SnapshotState, SwitchOut, Tid, WakeKind};
use std::collections::{BTreeMap, HashSet};
use std::io::{Read, Write};
use std::time::Duration;
use support::{Trace, alone, gettid, read, recorded, recorded_while};

/// Returns the threads of process 1. On some machines their events are hidden while they run.
fn hidden() -> HashSet<i32> {
    let tasks = std::fs::read_dir("/proc/1/task").unwrap();
    tasks.filter_map(|t| t.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// Checks that the chains have no gap: the previous thread may be unknown only if two hidden tasks ran one after the other.
fn check_chains(trace: &Trace) -> usize {
    let hidden = hidden();
    let mut last: BTreeMap<u32, (Ns, Tid)> = BTreeMap::new();
    let mut links = 0;
    for e in &trace.events {
        let EventKind::Switch(s) = e.what else { continue };
        if let Some((at, tid)) = last.insert(e.cpu.0, (e.at, s.next)) {
            assert!(at <= e.at, "events of a CPU are out of order");
            let unknown_prev = hidden.contains(&tid.0) && s.prev == Tid::UNKNOWN;
            assert!(tid == s.prev || unknown_prev, "inconsistent switch: {tid:?} then {e:?}");
            links += 1;
        }
    }
    links
}

/// Checks that threads which the machine hides from tracers have their name and process from /proc.
fn check_names(trace: &Trace) {
    for tid in hidden() {
        let seen =
            |e: &Event| if let EventKind::Snapshot(s) = e.what { Some(s).filter(|s| s.tid.0 == tid) } else { None };
        let named = trace.events.iter().filter_map(seen).any(|s| s.pid.0 == 1 && s.name != NameId::NONE);
        // It is skipped if it runs whenever it is read.
        let waits =
            std::fs::read_to_string(format!("/proc/1/task/{tid}/stat")).is_ok_and(|stat| !stat.contains(") R "));
        assert!(named || !waits, "thread {tid} of process 1 has no name");
    }
}

fn losses(trace: &Trace) -> i64 {
    trace
        .events
        .iter()
        .filter_map(|e| if let EventKind::Loss(l) = e.what { Some(l.events.to_word()) } else { None })
        .sum()
}

fn schedstat(tid: i32) -> i64 {
    let text = std::fs::read_to_string(format!("/proc/self/task/{tid}/schedstat")).unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

#[test]
#[ignore = "needs BPF rights"]
fn a_short_load_is_recorded_completely() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut options = RecordOptions::new(folder.path().join("run.cw"));
    // The recording lasts until the load has ended.
    let over = folder.path().join("over");
    let script = format!("while ! test -e {}; do sleep 0.02; done", over.display());
    options.target = Target::Command(["sh", "-c", &script].map(String::from).to_vec());
    let (send_tid, receive_tid) = std::sync::mpsc::channel();
    let (go, start) = std::sync::mpsc::channel::<()>();
    let (send_end, end) = std::sync::mpsc::channel::<()>();
    // Spins. Its schedstat is read while it is off the CPU, when the kernel's value is exact.
    let spinner = std::thread::spawn(move || {
        send_tid.send(gettid()).unwrap();
        let Ok(()) = start.recv() else { return };
        let until = std::time::Instant::now() + Duration::from_millis(500);
        let mut n = 0u64;
        while std::time::Instant::now() < until {
            n = std::hint::black_box(n + 1);
        }
        send_end.send(()).unwrap();
        start.recv().unwrap();
    });
    let busy = receive_tid.recv().unwrap();
    let (attached, begin_watching) = std::sync::mpsc::channel::<()>();
    let watcher = std::thread::spawn(move || {
        begin_watching.recv().unwrap();
        let before = schedstat(busy);
        go.send(()).unwrap();
        end.recv().unwrap();
        let stat = format!("/proc/self/task/{busy}/stat");
        while !std::fs::read_to_string(&stat).unwrap().contains(") S ") {
            std::thread::sleep(Duration::from_millis(1));
        }
        (go, before, schedstat(busy))
    });
    // Two threads wake each other.
    let (attached_too, begin_pinging) = std::sync::mpsc::channel::<()>();
    let pinger = std::thread::spawn(move || {
        begin_pinging.recv().unwrap();
        let (mut a, mut b) = std::io::pipe().unwrap();
        let (mut c, mut d) = std::io::pipe().unwrap();
        let partner = std::thread::spawn(move || {
            let mut byte = [0];
            while a.read_exact(&mut byte).is_ok() {
                d.write_all(&byte).unwrap();
            }
            gettid()
        });
        let mut byte = [0];
        for _ in 0..2000 {
            b.write_all(&byte).unwrap();
            c.read_exact(&mut byte).unwrap();
        }
        drop(b);
        (gettid(), partner.join().unwrap())
    });
    let ends = std::thread::spawn(move || {
        let results = (watcher.join().unwrap(), pinger.join().unwrap());
        std::fs::write(over, "").unwrap();
        results
    });
    let done = recorded_while(&options, &mut || {
        let _ = (attached.send(()), attached_too.send(()));
    });
    let ((go, before, after), (ping, pong)) = ends.join().unwrap();
    go.send(()).unwrap();
    spinner.join().unwrap();
    assert_eq!(done.ended, Ended::Target);
    let trace = read(&options.dir);
    assert!(trace.bad.0.is_empty(), "{:?}", trace.bad);
    assert_eq!((done.cost.lost, losses(&trace)), (0, 0));
    check_names(&trace);
    assert!(check_chains(&trace) > 0);
    let begin = trace.facts.begin.unwrap();

    // The CPU time that the kernel charged the busy thread.
    let outs: Vec<Ns> = trace
        .events
        .iter()
        .filter_map(|e| match e.what {
            EventKind::Switch(s) if s.prev == Tid(busy) => s.prev_exec.get(),
            _ => None,
        })
        .collect();
    let seen = trace.events.iter().find_map(|e| match e.what {
        EventKind::Snapshot(s) if s.tid == Tid(busy) => Some(s),
        _ => None,
    });
    let seen = seen.unwrap();
    assert_eq!(seen.state, SnapshotState::Blocked);
    let charged = seen.exec.get().unwrap();
    let (ours, kernels) = (outs.last().unwrap().0 - charged.0, after - before);
    if (ours - kernels).abs() * 1000 > kernels {
        let mut last = (Ns(0), charged);
        for e in &trace.events {
            match e.what {
                EventKind::Switch(s) if s.next == Tid(busy) => last.0 = e.at,
                EventKind::Switch(s) if s.prev == Tid(busy) => {
                    let (wall, exec) = (e.at - last.0, s.prev_exec.get().unwrap() - last.1);
                    last.1 = s.prev_exec.get().unwrap();
                    eprintln!("{} cpu{} ran {} charged {} {}", e.at.0, e.cpu.0, wall.0, exec.0, s.state_letter as char);
                }
                EventKind::Snapshot(s) if s.tid == Tid(busy) => eprintln!("{} {s:?}", e.at.0),
                _ => {}
            }
        }
        panic!("{ours} and {kernels}");
    }

    // Every switch-in after a sleep has its waking.
    let mut in_time: Vec<&Event> = trace.events.iter().collect();
    in_time.sort_by_key(|e| e.at);
    for tid in [ping, pong].map(Tid) {
        let (mut asleep, mut woken_early, mut wakings, mut wakeups) = (false, false, 0, 0);
        for e in in_time.iter().filter(|e| e.at > begin) {
            match e.what {
                EventKind::Wake(w) if w.tid == tid && w.kind == WakeKind::Waking => {
                    // If it is not asleep yet, it is woken on its way to sleep.
                    (asleep, woken_early, wakings) = (false, !asleep, wakings + 1);
                }
                EventKind::Wake(w) if w.tid == tid && w.kind == WakeKind::WakeupAtSwitchIn => {
                    assert!(w.stamp <= e.at);
                    wakeups += 1;
                }
                EventKind::Switch(s) if s.prev == tid => {
                    asleep = s.out == SwitchOut::Blocked && !std::mem::take(&mut woken_early);
                }
                EventKind::Switch(s) if s.next == tid => {
                    assert!(!asleep, "no waking of {tid:?} before {e:?}");
                    woken_early = false;
                }
                _ => {}
            }
        }
        // The number depends on how busy the machine is: a thread that is still awake when its answer arrives does not sleep.
        assert!(wakings > 0 && wakeups > 0, "{wakings} wakings, {wakeups} wakeups");
    }
    // A thread that existed at the start has its name.
    let me = std::fs::read_to_string("/proc/self/comm").unwrap();
    let names: HashSet<&str> = trace.names.iter().map(AsRef::as_ref).collect();
    assert!(names.contains(me.trim()), "{me}");
    assert!(trace.events.iter().any(|e| matches!(e.what, EventKind::Steal { .. })));
    assert!(trace.events.iter().any(|e| matches!(e.what, EventKind::Current { .. })));
    assert!(trace.facts.conditions.iter().any(|c| c.name == "kernel_release" && c.start.is_ok() && c.end.is_ok()));
}

#[test]
#[ignore = "needs BPF rights"]
fn a_command_is_followed_to_its_end() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut options = RecordOptions::new(folder.path().join("run.cw"));
    let script = "echo x >/dev/null; (sleep 0.3; exit 5) & exit 3";
    options.target = Target::Command(["sh", "-c", script].map(String::from).to_vec());
    options.irq = true;
    options.only_focus = true;
    let done = recorded(&options);
    assert_eq!((done.exit_code, done.ended), (Some(3), Ended::Target));
    assert!(done.elapsed >= Duration::from_millis(300), "the background child was not waited for");
    let trace = read(&options.dir);
    let focus = trace.facts.focus.unwrap();
    let mut forked = HashSet::from([focus]);
    let mut files = Vec::new();
    for e in &trace.events {
        match e.what {
            EventKind::Fork { parent, tid, .. } if forked.contains(&parent.0) => {
                forked.insert(tid.0);
            }
            EventKind::Exec { tid, file, .. } if forked.contains(&tid.0) => {
                files.push(trace.names[file.0 as usize - 1].to_string());
            }
            _ => {}
        }
    }
    assert!(files.iter().any(|f| f.ends_with("/sh")) && files.iter().any(|f| f.ends_with("/sleep")), "{files:?}");
    assert!(trace.events.iter().any(|e| matches!(e.what, EventKind::Irq { begins: true, .. })));
    let programs = processes(&options.dir).unwrap();
    assert!(programs.iter().any(|p| p.pid == focus && p.build_id.is_some()), "{programs:?}");
    assert!(programs.iter().all(|p| forked.contains(&p.pid)), "a foreign command line was kept");
}

/// The program of a command is known however soon it ends, and not only the recorder's, from which it was forked.
#[test]
#[ignore = "needs BPF rights"]
fn the_program_of_a_short_command_is_known() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut options = RecordOptions::new(folder.path().join("run.cw"));
    options.target = Target::Command(vec!["sleep".into(), "0.02".into()]);
    record_in_thread(&options).unwrap();
    let programs = processes(&options.dir).unwrap();
    let last = programs.iter().rfind(|p| p.command_line == ["sleep", "0.02"]);
    assert!(last.is_some_and(|p| p.exe.is_some() && p.build_id.is_some()), "{programs:?}");
}

#[test]
#[ignore = "needs BPF rights"]
fn a_command_that_does_not_exist_is_an_error() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut options = RecordOptions::new(folder.path().join("run.cw"));
    options.target = Target::Command(vec!["/nowhere/nothing".into()]);
    match record_in_thread(&options) {
        Err(CaptureError::Command { command, .. }) => assert_eq!(command, "/nowhere/nothing"),
        other => panic!("{other:?}"),
    }
}

fn record_in_thread(options: &RecordOptions) -> Result<Recorded, CaptureError> {
    std::thread::scope(|s| s.spawn(|| record(options, &mut |_| ())).join().unwrap())
}

#[test]
#[ignore = "needs perf events"]
fn perf_events_record_the_same() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut options = RecordOptions::new(folder.path().join("run.cw"));
    options.target = Target::Command(["sleep", "0.4"].map(String::from).to_vec());
    options.backend = capture::Backend::Perf;
    let done = recorded(&options);
    assert_eq!(done.exit_code, Some(0));
    let trace = read(&options.dir);
    assert!(trace.bad.0.is_empty(), "{:?}", trace.bad);
    let focus = Tid(trace.facts.focus.unwrap());
    // On some machines perf does not deliver the switches of some tasks, so the chains are not checked here.
    assert!(
        trace
            .events
            .iter()
            .any(|e| matches!(e.what, EventKind::Switch(s) if s.prev == focus && s.prev_exec == MaybeNs::NONE))
    );
    assert!(trace.events.iter().any(|e| matches!(e.what, EventKind::Wake(w) if w.tid == focus)));
    assert!(trace.events.iter().any(|e| matches!(e.what, EventKind::Exec { tid, .. } if tid == focus)));
    assert!(trace.events.iter().any(|e| matches!(e.what, EventKind::Exit { tid, .. } if tid == focus)));
    assert!(trace.events.iter().any(|e| matches!(e.what, EventKind::Snapshot(_))));
    assert!(!trace.facts.has_charges && trace.facts.lacks.len() >= 2);
}

#[test]
fn a_folder_with_files_is_rejected_and_unchanged() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("precious"), "x").unwrap();
    let done = record_in_thread(&RecordOptions::new(folder.path()));
    assert!(matches!(done, Err(CaptureError::Exists(_))), "{done:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
#[ignore = "needs BPF rights"]
fn a_flight_recorder_keeps_the_last_moments() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut options = RecordOptions::new(folder.path().join("run.cw"));
    options.duration = Some(Duration::from_millis(3500));
    options.keep = Some(Duration::from_secs(1));
    recorded(&options);
    let trace = read(&options.dir);
    assert!(trace.bad.0.is_empty(), "{:?}", trace.bad);
    check_chains(&trace);
    let last = trace.events.iter().map(|e| e.at).max().unwrap();
    let kept = last - trace.facts.begin.unwrap();
    assert!(kept >= Ns(900_000_000) && kept < Ns(2_500_000_000), "{kept:?}");
    let names = trace.events.iter().filter(|e| matches!(e.what, EventKind::Snapshot(_))).count();
    assert!(names > 10);
}

#[test]
#[ignore = "needs BPF rights"]
fn the_spool_of_a_killed_recorder_is_readable() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    // cargo builds a package's examples for its tests, next to their folder.
    let recorder = std::env::current_exe().unwrap().parent().unwrap().with_file_name("examples").join("to_be_killed");
    for (n, ms) in [300u64, 700, 1500].into_iter().enumerate() {
        let dir = folder.path().join(n.to_string());
        let mut child = std::process::Command::new(&recorder).arg(&dir).spawn().unwrap();
        while !dir.with_extension("attached").exists() {
            assert!(child.try_wait().unwrap().is_none(), "the recorder could not start");
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(ms));
        child.kill().unwrap();
        child.wait().unwrap();
        let trace = read(&dir);
        check_chains(&trace);
        assert!(trace.facts.begin.is_some(), "killed after {ms} ms");
        assert!(trace.facts.about.iter().any(|(k, _)| k == "ended"));
        assert!(trace.events.iter().any(|e| matches!(e.what, EventKind::Switch(_))));
    }
}
