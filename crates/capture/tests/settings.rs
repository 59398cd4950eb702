//! What is told of threads beside their switches: what they are set to, and in whose name they are woken.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use capture::{Backend, RecordOptions};
use model::{NameId, Ns, Tid, WakeKind, What};
use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Write};
use std::time::{Duration, Instant};
use support::{alone, gettid, read, recorded_while, to_cpu};

/// `CLOCK_MONOTONIC`.
fn now() -> Ns {
    let mut at = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it is written to.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut at) };
    Ns(at.tv_sec * 1_000_000_000 + at.tv_nsec)
}

fn spin(ms: u64) {
    let until = Instant::now() + Duration::from_millis(ms);
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

/// The mask is told when it changes; where that cannot be, it is unknown from before the change until it was seen.
#[test]
#[ignore = "needs BPF rights"]
fn settings_are_told() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut options = RecordOptions::new(folder.path().join("run.cw"));
    options.duration = Some(Duration::from_millis(2500));
    let (attached, begin) = std::sync::mpsc::channel::<()>();
    let worker = std::thread::spawn(move || {
        let _ = begin.recv();
        // SAFETY: no pointers; of this thread.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 7) };
        spin(20);
        let before = now();
        to_cpu(0);
        let after = now();
        spin(20);
        let _ = begin.iter().count(); // lives until the recording has ended
        (gettid(), before, after)
    });
    recorded_while(&options, &mut || {
        let _ = attached.send(());
    });
    drop(attached);
    let (tid, before, after) = worker.join().unwrap();
    let tid = Tid(tid);
    let told = read(&options.dir);
    let mut nice: HashMap<Tid, Vec<i8>> = HashMap::new();
    let mut cpus = Vec::new();
    for e in &told.events {
        match e.what {
            What::Priority { tid, nice: n, .. } => nice.entry(tid).or_default().extend(n),
            What::Affinity { tid: t, cpus: c } if t == tid => {
                let list = (c != NameId::NONE).then(|| &*told.names[c.0 as usize - 1]);
                cpus.push((e.at, list));
            }
            _ => {}
        }
    }
    // SAFETY: no memory is involved.
    let ours = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    assert_eq!(nice[&tid].first().map(|n| i32::from(*n)), Some(ours));
    assert_eq!(nice[&tid].last(), Some(&7));
    let change = cpus.iter().position(|(_, list)| *list == Some("0")).unwrap();
    let seen = cpus[change].0;
    let unknown = cpus[..change].last().filter(|(_, list)| list.is_none()).map_or(seen, |(at, _)| *at);
    assert!(unknown <= after && seen >= before, "{before:?} to {after:?}: {cpus:?}");
    // It switches when it has spun, at the latest.
    assert!(seen < after + Ns(1_000_000_000), "{before:?} to {after:?}: {cpus:?}");
    assert!(cpus[change..].iter().all(|(_, list)| *list == Some("0")), "{cpus:?}");
}

#[test]
#[ignore = "needs BPF rights"]
fn whom_an_interrupt_came_upon_woke_nobody() {
    wakers_of_sleepers_and_readers(Backend::Bpf);
}

#[test]
#[ignore = "needs perf events"]
fn nor_by_perf_events() {
    wakers_of_sleepers_and_readers(Backend::Perf);
}

/// A timer that comes upon a thread wakes in nobody's name; who writes to a pipe wakes in its own.
fn wakers_of_sleepers_and_readers(backend: Backend) {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut options = RecordOptions::new(folder.path().join("run.cw"));
    options.backend = backend;
    options.duration = Some(Duration::from_millis(1000));
    let (tell, tids) = std::sync::mpsc::channel();
    let (attached, begun) = std::sync::mpsc::channel::<()>();
    let load = std::thread::spawn(move || {
        let Ok(()) = begun.recv() else { return };
        let until = Instant::now() + Duration::from_millis(600);
        let before_end = move || Instant::now() < until;
        let (mut from, mut to) = std::io::pipe().unwrap();
        let sleeper = std::thread::spawn(move || {
            to_cpu(0);
            while before_end() {
                std::thread::sleep(Duration::from_millis(1));
            }
            gettid()
        });
        let reader = std::thread::spawn(move || {
            let mut byte = [0];
            while from.read_exact(&mut byte).is_ok() {}
            gettid()
        });
        // On the CPU of the sleeper's timer nearly always, and now and then it writes.
        to_cpu(0);
        while before_end() {
            (0..20_000).for_each(|n| _ = std::hint::black_box(n));
            to.write_all(&[0]).unwrap();
        }
        drop(to);
        tell.send((gettid(), sleeper.join().unwrap(), reader.join().unwrap())).unwrap();
    });
    recorded_while(&options, &mut || _ = attached.send(()));
    drop(attached);
    load.join().unwrap();
    let (spinner, sleeper, reader) = tids.recv().unwrap();
    let told = read(&options.dir);
    let wakers = |of: i32| {
        let mut by = BTreeMap::<i32, usize>::new();
        for e in &told.events {
            if let What::Wake(w) = e.what
                && (w.tid, w.kind) == (Tid(of), WakeKind::Waking)
            {
                *by.entry(w.waker.0).or_default() += 1;
            }
        }
        let all: usize = by.values().sum();
        assert!(all >= 10, "{all} wakings");
        move |waker: i32| by.get(&waker).copied().unwrap_or(0) as f64 / all as f64
    };
    let (of_sleeper, of_reader) = (wakers(sleeper), wakers(reader));
    assert!(of_sleeper(0) >= 0.9, "{} in nobody's name, {} in the spinner's", of_sleeper(0), of_sleeper(spinner));
    assert!(of_reader(spinner) >= 0.9, "{} in the writer's name, {} in nobody's", of_reader(spinner), of_reader(0));
}
