//! Threads' settings, and the wakers of threads.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use capture::{Backend, RecordOptions};
use model::{Donor, Event, EventKind, InheritedPriority, NameId, Ns, Prio, Tid, WakeKind};
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

/// The mask is recorded when it changes, or it is unknown from before the change until the change was seen.
#[test]
#[ignore = "needs BPF rights"]
fn settings_are_recorded() {
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
        let _ = begin.iter().count(); // runs until the recording has ended
        (gettid(), before, after)
    });
    recorded_while(&options, &mut || {
        let _ = attached.send(());
    });
    drop(attached);
    let (tid, before, after) = worker.join().unwrap();
    let tid = Tid(tid);
    let trace = read(&options.dir);
    let mut nice: HashMap<Tid, Vec<i8>> = HashMap::new();
    let mut cpus = Vec::new();
    for e in &trace.events {
        match e.what {
            EventKind::Priority { tid, nice: n, .. } => nice.entry(tid).or_default().extend(n),
            EventKind::Affinity { tid: t, cpus: c } if t == tid => {
                let list = (c != NameId::NONE).then(|| &*trace.names[c.0 as usize - 1]);
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
    // It switches at the latest when it has stopped spinning.
    assert!(seen < after + Ns(1_000_000_000), "{before:?} to {after:?}: {cpus:?}");
    assert!(cpus[change..].iter().all(|(_, list)| *list == Some("0")), "{cpus:?}");
}

#[test]
#[ignore = "needs BPF rights"]
fn an_interrupted_thread_is_not_the_waker() {
    wakers_of_sleepers_and_readers(Backend::Bpf);
}

#[test]
#[ignore = "needs perf events"]
fn an_interrupted_thread_is_not_the_waker_with_perf_events() {
    wakers_of_sleepers_and_readers(Backend::Perf);
}

/// A wakeup by a timer interrupt has no waker; a wakeup by a write to a pipe has the writer as its waker.
fn wakers_of_sleepers_and_readers(backend: Backend) {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut options = RecordOptions::new(folder.path().join("run.cw"));
    options.backend = backend;
    options.duration = Some(Duration::from_millis(1000));
    let (send_tids, tids) = std::sync::mpsc::channel();
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
        // Runs nearly always on the CPU of the sleeper's timer, and writes from time to time.
        to_cpu(0);
        while before_end() {
            (0..20_000).for_each(|n| _ = std::hint::black_box(n));
            to.write_all(&[0]).unwrap();
        }
        drop(to);
        send_tids.send((gettid(), sleeper.join().unwrap(), reader.join().unwrap())).unwrap();
    });
    recorded_while(&options, &mut || _ = attached.send(()));
    drop(attached);
    load.join().unwrap();
    let (spinner, sleeper, reader) = tids.recv().unwrap();
    let trace = read(&options.dir);
    let wakers = |of: i32| {
        let mut by = BTreeMap::<i32, usize>::new();
        for e in &trace.events {
            if let EventKind::Wake(w) = e.what
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
    assert!(of_sleeper(0) >= 0.9, "{} without a waker, {} by the spinner", of_sleeper(0), of_sleeper(spinner));
    assert!(of_reader(spinner) >= 0.9, "{} by the writer, {} without a waker", of_reader(spinner), of_reader(0));
}

/// A mutex with priority inheritance.
struct Lending(Box<std::cell::UnsafeCell<libc::pthread_mutex_t>>);

// SAFETY: a mutex may be shared between threads.
unsafe impl Sync for Lending {}

impl Lending {
    fn new() -> Self {
        let lock = Self(Box::new(std::cell::UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER)));
        // SAFETY: both outlive the calls, and no thread has the mutex yet.
        let done = unsafe {
            let mut attr: libc::pthread_mutexattr_t = std::mem::zeroed();
            libc::pthread_mutexattr_init(&raw mut attr)
                + libc::pthread_mutexattr_setprotocol(&raw mut attr, libc::PTHREAD_PRIO_INHERIT)
                + libc::pthread_mutex_init(lock.0.get(), &raw const attr)
        };
        assert_eq!(done, 0);
        lock
    }

    fn lock(&self) {
        // SAFETY: it was initialised, and does not move.
        assert_eq!(unsafe { libc::pthread_mutex_lock(self.0.get()) }, 0);
    }

    fn unlock(&self) {
        // SAFETY: by the thread that holds it.
        assert_eq!(unsafe { libc::pthread_mutex_unlock(self.0.get()) }, 0);
    }
}

/// A SCHED_FIFO thread waits for a lock that a thread with the default policy holds: the beginning and the end of the boost are recorded,
/// with both threads.
#[test]
#[ignore = "needs BPF rights"]
fn the_thread_that_lends_its_priority_is_recorded() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut options = RecordOptions::new(folder.path().join("run.cw"));
    options.duration = Some(Duration::from_millis(1000));
    let (attached, begin) = std::sync::mpsc::channel::<()>();
    let load = std::thread::spawn(move || {
        let _ = begin.recv();
        let lock = &Lending::new();
        let (held, go) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|s| {
            let holder = s.spawn(move || {
                lock.lock();
                held.send(()).unwrap();
                spin(50);
                // It leaves its CPU once while it is boosted and once after.
                std::thread::sleep(Duration::from_millis(5));
                lock.unlock();
                std::thread::sleep(Duration::from_millis(5));
                gettid()
            });
            let waiter = s.spawn(move || {
                let param = libc::sched_param { sched_priority: 10 };
                // SAFETY: it outlives the call, which is about this thread.
                let set = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const param) };
                assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
                go.recv().unwrap();
                lock.lock();
                lock.unlock();
                gettid()
            });
            (Tid(holder.join().unwrap()), Tid(waiter.join().unwrap()))
        })
    });
    recorded_while(&options, &mut || {
        let _ = attached.send(());
    });
    // SAFETY: no memory is involved.
    let usual = Prio::new(120 + unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) } as i16);
    let lent = Prio::new(89);
    let (holder, waiter) = load.join().unwrap();
    let trace = read(&options.dir);
    let of_holder = |e: &&Event| matches!(e.what, EventKind::Inherit { tid, .. } if tid == holder);
    let boosts: Vec<&Event> = trace.events.iter().filter(of_holder).collect();
    let whats: Vec<EventKind> = boosts.iter().map(|e| e.what).collect();
    let inherits = |donor, old_prio, prio| EventKind::Inherit {
        tid: holder,
        priority: InheritedPriority { donor, old_prio, prio },
    };
    assert_eq!(whats, [inherits(Donor::Thread(waiter), usual, lent), inherits(Donor::None, lent, usual)]);
    let took = boosts[1].at - boosts[0].at;
    assert!(took > Ns(10_000_000) && took < Ns(1_000_000_000), "{took:?}");
    // Its own priority does not change with the inherited one.
    let own = |e: &Event| match e.what {
        EventKind::SchedAttr { tid, prio, .. } if tid == holder => Some(prio),
        _ => None,
    };
    let other: Vec<Prio> = trace.events.iter().filter_map(own).filter(|prio| *prio != usual).collect();
    assert_eq!(other, []);
    // Its switches have the lent priority during the boost, and its own after it.
    let left_with = |boosted: bool| -> Vec<Prio> {
        let when = |e: &&Event| e.at > boosts[0].at && (e.at < boosts[1].at) == boosted;
        let prio = |e: &Event| match e.what {
            EventKind::Switch(s) if s.prev == holder => Some(s.prev_prio),
            _ => None,
        };
        trace.events.iter().filter(when).filter_map(prio).collect()
    };
    let (boosted, after) = (left_with(true), left_with(false));
    assert!(!boosted.is_empty() && boosted.iter().all(|prio| *prio == lent), "{boosted:?}");
    assert!(!after.is_empty() && after.iter().all(|prio| *prio == usual), "{after:?}");
}
