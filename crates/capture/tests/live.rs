//! Records this machine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod support;

use capture::{CaptureError, Ended, RecordOptions, Recorded, Target, processes, record};
use model::{Event, MaybeNs, NameId, Ns, SeenState, SwitchOut, Tid, WakeKind, What};
use std::collections::{BTreeMap, HashSet};
use std::io::{Read, Write};
use std::time::Duration;
use support::{Told, alone, gettid, read, recorded, recorded_while};

/// Threads of process 1 on some machines are never told of while they run (shared/ACCOUNTING.md, chains).
fn hidden() -> HashSet<i32> {
    let tasks = std::fs::read_dir("/proc/1/task").unwrap();
    tasks.filter_map(|t| t.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// The chains are whole: only who left may stay open, where two hidden tasks ran one after the other.
fn check_chains(told: &Told) -> usize {
    let hidden = hidden();
    let mut last: BTreeMap<u32, (Ns, Tid)> = BTreeMap::new();
    let mut links = 0;
    for e in &told.events {
        let What::Switch(s) = e.what else { continue };
        if let Some((at, tid)) = last.insert(e.cpu.0, (e.at, s.next)) {
            assert!(at <= e.at, "disorder on a CPU");
            let open = hidden.contains(&tid.0) && s.prev == Tid::UNKNOWN;
            assert!(tid == s.prev || open, "broken link: {tid:?} then {e:?}");
            links += 1;
        }
    }
    links
}

/// Of threads that the machine hides from tracers, /proc tells names and process.
fn check_names(told: &Told) {
    for tid in hidden() {
        let seen = |e: &Event| if let What::Seen(s) = e.what { Some(s).filter(|s| s.tid.0 == tid) } else { None };
        let named = told.events.iter().filter_map(seen).any(|s| s.pid.0 == 1 && s.name != NameId::NONE);
        // It may run whenever somebody looks.
        let waits =
            std::fs::read_to_string(format!("/proc/1/task/{tid}/stat")).is_ok_and(|stat| !stat.contains(") R "));
        assert!(named || !waits, "thread {tid} of process 1 has no name");
    }
}

fn losses(told: &Told) -> i64 {
    told.events.iter().filter_map(|e| if let What::Loss(l) = e.what { Some(l.events.to_word()) } else { None }).sum()
}

fn schedstat(tid: i32) -> i64 {
    let text = std::fs::read_to_string(format!("/proc/self/task/{tid}/schedstat")).unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

#[test]
#[ignore = "needs BPF rights"]
fn a_short_load_is_told_whole() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut options = RecordOptions::new(folder.path().join("run.cw"));
    // However long the load takes, it is recorded to its end.
    let over = folder.path().join("over");
    let script = format!("while ! test -e {}; do sleep 0.02; done", over.display());
    options.target = Target::Command(["sh", "-c", &script].map(String::from).to_vec());
    let (tell, hear) = std::sync::mpsc::channel();
    let (go, start) = std::sync::mpsc::channel::<()>();
    let (tell_end, end) = std::sync::mpsc::channel::<()>();
    // Spins, and is looked at from outside while it is off the CPU: the kernel's book is exact then.
    let spinner = std::thread::spawn(move || {
        tell.send(gettid()).unwrap();
        let Ok(()) = start.recv() else { return };
        let until = std::time::Instant::now() + Duration::from_millis(500);
        let mut n = 0u64;
        while std::time::Instant::now() < until {
            n = std::hint::black_box(n + 1);
        }
        tell_end.send(()).unwrap();
        start.recv().unwrap();
    });
    let busy = hear.recv().unwrap();
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
        let told = (watcher.join().unwrap(), pinger.join().unwrap());
        std::fs::write(over, "").unwrap();
        told
    });
    let done = recorded_while(&options, &mut || {
        let _ = (attached.send(()), attached_too.send(()));
    });
    let ((go, before, after), (ping, pong)) = ends.join().unwrap();
    go.send(()).unwrap();
    spinner.join().unwrap();
    assert_eq!(done.ended, Ended::Target);
    let told = read(&options.dir);
    assert!(told.bad.0.is_empty(), "{:?}", told.bad);
    assert_eq!((done.cost.lost, losses(&told)), (0, 0));
    check_names(&told);
    assert!(check_chains(&told) > 0);
    let begin = told.facts.begin.unwrap();

    // What the kernel charged the busy thread.
    let outs: Vec<Ns> = told
        .events
        .iter()
        .filter_map(|e| match e.what {
            What::Switch(s) if s.prev == Tid(busy) => s.prev_exec.get(),
            _ => None,
        })
        .collect();
    let seen = told.events.iter().find_map(|e| match e.what {
        What::Seen(s) if s.tid == Tid(busy) => Some(s),
        _ => None,
    });
    let seen = seen.unwrap();
    assert_eq!(seen.state, SeenState::Blocked);
    let charged = seen.exec.get().unwrap();
    let (ours, kernels) = (outs.last().unwrap().0 - charged.0, after - before);
    if (ours - kernels).abs() * 1000 > kernels {
        let mut last = (Ns(0), charged);
        for e in &told.events {
            match e.what {
                What::Switch(s) if s.next == Tid(busy) => last.0 = e.at,
                What::Switch(s) if s.prev == Tid(busy) => {
                    let (wall, exec) = (e.at - last.0, s.prev_exec.get().unwrap() - last.1);
                    last.1 = s.prev_exec.get().unwrap();
                    eprintln!("{} cpu{} ran {} charged {} {}", e.at.0, e.cpu.0, wall.0, exec.0, s.letter as char);
                }
                What::Seen(s) if s.tid == Tid(busy) => eprintln!("{} {s:?}", e.at.0),
                _ => {}
            }
        }
        panic!("{ours} and {kernels}");
    }

    // Every switch-in after a sleep has its waking.
    let mut in_time: Vec<&Event> = told.events.iter().collect();
    in_time.sort_by_key(|e| e.at);
    for tid in [ping, pong].map(Tid) {
        let (mut asleep, mut remembered, mut wakings, mut told_wakeups) = (false, false, 0, 0);
        for e in in_time.iter().filter(|e| e.at > begin) {
            match e.what {
                What::Wake(w) if w.tid == tid && w.kind == WakeKind::Waking => {
                    // Woken on its way to sleep: that counts.
                    (asleep, remembered, wakings) = (false, !asleep, wakings + 1);
                }
                What::Wake(w) if w.tid == tid && w.kind == WakeKind::WakeupTold => {
                    assert!(w.stamp <= e.at);
                    told_wakeups += 1;
                }
                What::Switch(s) if s.prev == tid => {
                    asleep = s.out == SwitchOut::Blocked && !std::mem::take(&mut remembered);
                }
                What::Switch(s) if s.next == tid => {
                    assert!(!asleep, "no waking of {tid:?} before {e:?}");
                    remembered = false;
                }
                _ => {}
            }
        }
        // How often depends on how busy the machine is: one that is still awake when its answer comes does not sleep.
        assert!(wakings > 0 && told_wakeups > 0, "{wakings} wakings, {told_wakeups} wakeups");
    }
    // A thread that was there has its name, its process and its CPUs.
    let me = std::fs::read_to_string("/proc/self/comm").unwrap();
    let names: HashSet<&str> = told.names.iter().map(AsRef::as_ref).collect();
    assert!(names.contains(me.trim()), "{me}");
    assert!(told.events.iter().any(|e| matches!(e.what, What::Steal { .. })));
    assert!(told.events.iter().any(|e| matches!(e.what, What::Current { .. })));
    assert!(told.facts.conditions.iter().any(|c| c.name == "kernel_release" && c.start.is_ok() && c.end.is_ok()));
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
    let told = read(&options.dir);
    let focus = told.facts.focus.unwrap();
    let mut forked = HashSet::from([focus]);
    let mut files = Vec::new();
    for e in &told.events {
        match e.what {
            What::Fork { parent, tid, .. } if forked.contains(&parent.0) => {
                forked.insert(tid.0);
            }
            What::Exec { tid, file, .. } if forked.contains(&tid.0) => {
                files.push(told.names[file.0 as usize - 1].to_string());
            }
            _ => {}
        }
    }
    assert!(files.iter().any(|f| f.ends_with("/sh")) && files.iter().any(|f| f.ends_with("/sleep")), "{files:?}");
    assert!(told.events.iter().any(|e| matches!(e.what, What::Irq { begins: true, .. })));
    let programs = processes(&options.dir).unwrap();
    assert!(programs.iter().any(|p| p.pid == focus && p.build_id.is_some()), "{programs:?}");
    assert!(programs.iter().all(|p| forked.contains(&p.pid)), "a foreign command line was kept");
}

#[test]
#[ignore = "needs BPF rights"]
fn a_command_that_is_not_there_leaves_nothing() {
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
fn perf_events_tell_the_same() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut options = RecordOptions::new(folder.path().join("run.cw"));
    options.target = Target::Command(["sleep", "0.4"].map(String::from).to_vec());
    options.backend = capture::Backend::Perf;
    let done = recorded(&options);
    assert_eq!(done.exit_code, Some(0));
    let told = read(&options.dir);
    assert!(told.bad.0.is_empty(), "{:?}", told.bad);
    let focus = Tid(told.facts.focus.unwrap());
    // Perf does not deliver some tasks' switches on some machines: no check of the chains here.
    assert!(
        told.events
            .iter()
            .any(|e| matches!(e.what, What::Switch(s) if s.prev == focus && s.prev_exec == MaybeNs::NONE))
    );
    assert!(told.events.iter().any(|e| matches!(e.what, What::Wake(w) if w.tid == focus)));
    assert!(told.events.iter().any(|e| matches!(e.what, What::Exec { tid, .. } if tid == focus)));
    assert!(told.events.iter().any(|e| matches!(e.what, What::Exit { tid, .. } if tid == focus)));
    assert!(told.events.iter().any(|e| matches!(e.what, What::Seen(_))));
    assert!(!told.facts.has_charges && told.facts.lacks.len() >= 2);
}

#[test]
fn nothing_is_overwritten() {
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
    let told = read(&options.dir);
    assert!(told.bad.0.is_empty(), "{:?}", told.bad);
    check_chains(&told);
    let last = told.events.iter().map(|e| e.at).max().unwrap();
    let kept = last - told.facts.begin.unwrap();
    assert!(kept >= Ns(900_000_000) && kept < Ns(2_500_000_000), "{kept:?}");
    let names = told.events.iter().filter(|e| matches!(e.what, What::Seen(_))).count();
    assert!(names > 10);
}

#[test]
#[ignore = "needs BPF rights"]
fn kill_the_recorder() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    // cargo builds a package's examples for its tests, beside their folder.
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
        let told = read(&dir);
        check_chains(&told);
        assert!(told.facts.begin.is_some(), "killed after {ms} ms");
        assert!(told.facts.about.iter().any(|(k, _)| k == "ended"));
        assert!(told.events.iter().any(|e| matches!(e.what, What::Switch(_))));
    }
}
