//! Records this machine.

use crate::support::{
    Over, Trace, alone, gettid, now, read, recorded, recorded_while, until, until_it_waits_in, wait_for,
};
use capture::{CaptureError, Ended, RecordOptions, Recorded, Target, processes, record};
use model::{Event, EventKind, MaybeNs, NameId, Ns, SnapshotState, SwitchOut, Tid, WakeKind};
use std::collections::{BTreeMap, HashSet};
use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

/// Checks that the chains have no gap: only the previous thread may be unknown, where the kernel hid more than one switch. Returns how often it
/// is.
fn check_chains(trace: &Trace) -> usize {
    let mut last: BTreeMap<u32, (Ns, Tid)> = BTreeMap::new();
    let (mut links, mut unknown) = (0, 0);
    for e in &trace.events {
        let EventKind::Switch(s) = e.what else { continue };
        if let Some((at, tid)) = last.insert(e.cpu.0, (e.at, s.next)) {
            assert!(at <= e.at, "events of a CPU are out of order");
            assert!(tid == s.prev || s.prev == Tid::UNKNOWN, "inconsistent switch: {tid:?} then {e:?}");
            links += 1;
            unknown += usize::from(tid != s.prev);
        }
    }
    assert!(links > 0);
    unknown
}

/// How many inferred switches have an unknown previous thread, as the recording says.
fn said_unknown(trace: &Trace) -> usize {
    let said = trace.facts.about.iter().find(|(name, _)| name == "switches_inferred_from_next");
    said.map_or(0, |(_, said)| said.split("of which ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap())
}

/// The threads of process 1 with how often each has left its CPU. On some machines their events are hidden while they run.
fn of_process_1() -> BTreeMap<i32, String> {
    let tasks = std::fs::read_dir("/proc/1/task").unwrap();
    let tids = tasks.filter_map(|t| t.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let switches = |tid: i32| {
        let status = std::fs::read_to_string(format!("/proc/1/task/{tid}/status")).ok()?;
        let waits = !status.lines().any(|line| line.starts_with("State:\tR"));
        let of: Vec<&str> = status.lines().filter(|line| line.contains("ctxt_switches")).collect();
        waits.then(|| (tid, of.join(" ")))
    };
    tids.filter_map(switches).collect()
}

/// Checks that threads which the machine hides from tracers have their name and process from /proc. `before`: the threads of process 1 before
/// the recording. Those that have not run since then could be read all the time.
fn check_names(trace: &Trace, before: &BTreeMap<i32, String>) {
    let after = of_process_1();
    for (tid, _) in before.iter().filter(|(tid, switches)| after.get(tid) == Some(switches)) {
        let seen =
            |e: &Event| if let EventKind::Snapshot(s) = e.what { Some(s).filter(|s| s.tid.0 == *tid) } else { None };
        let named = trace.events.iter().filter_map(seen).any(|s| s.pid.0 == 1 && s.name != NameId::NONE);
        assert!(named, "thread {tid} of process 1 has no name");
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

/// Two threads that wake each other. Each waits at least once: its first byte is written when it has left its CPU. Returns their TIDs.
fn ping_pong() -> [i32; 2] {
    let (mut a, mut b) = std::io::pipe().unwrap();
    let (mut c, mut d) = std::io::pipe().unwrap();
    let (ping, (send_pong, pong)) = (gettid(), std::sync::mpsc::channel());
    let partner = std::thread::spawn(move || {
        send_pong.send(gettid()).unwrap();
        let (mut byte, mut is_first) = ([0], true);
        while a.read_exact(&mut byte).is_ok() {
            if std::mem::take(&mut is_first) {
                until_it_waits_in(ping, libc::SYS_read);
            }
            d.write_all(&byte).unwrap();
        }
    });
    let pong = pong.recv().unwrap();
    until_it_waits_in(pong, libc::SYS_read);
    let mut byte = [0];
    for _ in 0..2000 {
        b.write_all(&byte).unwrap();
        c.read_exact(&mut byte).unwrap();
    }
    drop(b);
    partner.join().unwrap();
    [ping, pong]
}

#[test]
#[ignore = "needs BPF rights"]
fn a_short_load_is_recorded_completely() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut options = RecordOptions::new(folder.path().join("run.cw"));
    // The recording lasts until the load has ended.
    let over = folder.path().join("over");
    options.target = until(&over);
    let (send_tid, receive_tid) = std::sync::mpsc::channel();
    // Spins. Its schedstat is read while it is off the CPU, when the kernel's value is exact: it waits in `read` before and after.
    let (mut wait, mut go) = std::io::pipe().unwrap();
    let spinner = std::thread::spawn(move || {
        send_tid.send(gettid()).unwrap();
        wait.read_exact(&mut [0]).unwrap();
        let until = std::time::Instant::now() + Duration::from_millis(500);
        let mut n = 0u64;
        while std::time::Instant::now() < until {
            n = std::hint::black_box(n + 1);
        }
        send_tid.send(0).unwrap();
        wait.read_exact(&mut [0]).unwrap();
    });
    let busy = receive_tid.recv().unwrap();
    until_it_waits_in(busy, libc::SYS_read);
    let before = schedstat(busy);
    let (attached, begin) = std::sync::mpsc::channel::<()>();
    let load = std::thread::spawn(move || {
        let _over = Over(over);
        begin.recv().unwrap();
        go.write_all(&[0]).unwrap();
        let pair = ping_pong();
        receive_tid.recv().unwrap();
        until_it_waits_in(busy, libc::SYS_read);
        (go, pair, schedstat(busy))
    });
    let hidden = of_process_1();
    let done = recorded_while(&options, &mut || {
        let _ = attached.send(());
    });
    let (mut go, pair, after) = load.join().unwrap();
    go.write_all(&[0]).unwrap();
    spinner.join().unwrap();
    assert_eq!(done.ended, Ended::Target);
    let trace = read(&options.dir);
    assert!(trace.bad.0.is_empty(), "{:?}", trace.bad);
    assert_eq!((done.cost.lost, losses(&trace)), (0, 0));
    check_names(&trace, &hidden);
    let unknown = check_chains(&trace);
    assert!(unknown <= said_unknown(&trace), "{unknown} unknown previous threads, said: {}", said_unknown(&trace));
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
    for tid in pair.map(Tid) {
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
                // Not in state D: a device ends that wait by an interrupt, which a hidden task's CPU may take.
                EventKind::Switch(s) if s.prev == tid => {
                    let sleeps = s.out == SwitchOut::Blocked && s.state_letter == b'S';
                    asleep = sleeps && !std::mem::take(&mut woken_early);
                }
                EventKind::Switch(s) if s.next == tid => {
                    assert!(!asleep, "no waking of {tid:?} before {e:?}");
                    woken_early = false;
                }
                _ => {}
            }
        }
        // A thread that is still awake when its answer arrives does not sleep; the first time, each does.
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
    // Its program is read as soon as it runs, which is over when the recorder reports that it has begun.
    let begun = folder.path().join("begun");
    let wait = format!("while ! test -e '{}'; do sleep 0.01; done", begun.display());
    let script = format!("{wait}; echo x >/dev/null; (sleep 0.3; exit 5) & exit 3");
    options.target = Target::Command(["sh", "-c", &script].map(String::from).to_vec());
    options.irq = true;
    options.only_focus = true;
    let done = recorded_while(&options, &mut || std::fs::write(&begun, "").unwrap());
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

/// The program of a command is known although it ends before anything else is read, and not only the recorder's, from which it was forked.
#[test]
#[ignore = "needs BPF rights"]
fn the_program_of_a_short_command_is_known() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut options = RecordOptions::new(folder.path().join("run.cw"));
    let over = folder.path().join("over");
    options.target = until(&over);
    let Target::Command(words) = &options.target else { panic!("{:?}", options.target) };
    let words = words.clone();
    // Called once the command's program was read, and before the recorder's first round.
    recorded_while(&options, &mut || std::fs::write(&over, "").unwrap());
    let programs = processes(&options.dir).unwrap();
    let last = programs.iter().rfind(|p| p.command_line == words);
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

/// The clock at the begin of a segment, as its header has it.
fn segment_began(segment: &Path) -> Ns {
    let bytes = std::fs::read(segment).unwrap();
    Ns(i64::from_ne_bytes(bytes[24..32].try_into().unwrap()))
}

/// The segments of a spool, in order.
fn segments(dir: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir.join(capture::SPOOL)).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = entries.filter(|path| path.extension().is_some_and(|e| e == "seg")).collect();
    all.sort();
    all
}

/// The recording lasts until its first segment has been removed. At any time, what is kept began at least the chosen time before.
#[test]
#[ignore = "needs BPF rights"]
fn a_flight_recorder_keeps_the_last_moments() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut options = RecordOptions::new(folder.path().join("run.cw"));
    let goes_on = folder.path().join("goes-on");
    std::fs::write(&goes_on, "").unwrap();
    let script = format!("while test -e '{}'; do sleep 0.05; done", goes_on.display());
    options.target = Target::Command(["sh", "-c", &script].map(String::from).to_vec());
    options.keep = Some(Duration::from_secs(1));
    let (dir, mut first) = (options.dir.clone(), None);
    let done = recorded_while(&options, &mut || match &first {
        None if capture::has_begun(&dir) => first = segments(&dir).into_iter().next(),
        Some(segment) if !segment.exists() => drop(std::fs::remove_file(&goes_on)),
        _ => {}
    });
    let after = now();
    assert!(first.is_some(), "there was no first segment");
    assert!(done.elapsed >= Duration::from_secs(1), "nothing is removed so soon");
    let kept = segments(&options.dir);
    let began = segment_began(&kept[0]);
    assert!(began + Ns(1_000_000_000) <= after, "{began:?} to {after:?}: {kept:?}");
    let trace = read(&options.dir);
    assert!(trace.bad.0.is_empty(), "{:?}", trace.bad);
    check_chains(&trace);
    assert!(trace.facts.begin.is_some_and(|begin| begin >= began), "{:?}", trace.facts.begin);
    let names = trace.events.iter().filter(|e| matches!(e.what, EventKind::Snapshot(_))).count();
    assert!(names > 10);
}

/// The recorder is killed after it has written to the spool again so many times.
#[test]
#[ignore = "needs BPF rights"]
fn the_spool_of_a_killed_recorder_is_readable() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    // cargo builds a package's examples for its tests, next to their folder.
    let recorder = std::env::current_exe().unwrap().parent().unwrap().with_file_name("examples").join("to_be_killed");
    for (n, times) in [1, 4, 12].into_iter().enumerate() {
        let dir = folder.path().join(n.to_string());
        let mut child = std::process::Command::new(&recorder).arg(&dir).spawn().unwrap();
        wait_for("the start of the recorder", || {
            assert!(child.try_wait().unwrap().is_none(), "the recorder could not start");
            dir.with_extension("attached").exists()
        });
        let bytes = || segments(&dir).iter().map(|segment| segment.metadata().unwrap().len()).sum::<u64>();
        for _ in 0..times {
            let before = bytes();
            wait_for("a write to the spool", || bytes() > before);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let trace = read(&dir);
        check_chains(&trace);
        assert!(trace.facts.begin.is_some(), "killed after {times} writes");
        assert!(trace.facts.about.iter().any(|(k, _)| k == "ended"));
        assert!(trace.events.iter().any(|e| matches!(e.what, EventKind::Switch(_))));
    }
}
