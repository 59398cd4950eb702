//! Threads' settings, and the wakers of threads.

use crate::support::{
    Over, Trace, alone, gettid, now, read, recorded_while, to_cpu, until, until_it_waits_in, wait_once, waits, waits_in,
};
use capture::{Backend, RecordOptions};
use model::{Donor, Event, EventKind, InheritedPriority, NameId, Prio, Tid, WakeKind};
use std::collections::{BTreeMap, HashMap};
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

fn spin(ms: u64) {
    let until = Instant::now() + Duration::from_millis(ms);
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

/// The mask is recorded when it changes, or it is unknown from before the change until the change was seen: when the thread leaves its CPU for
/// the first time after that, at the latest.
#[test]
#[ignore = "needs BPF rights"]
fn settings_are_recorded() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut options = RecordOptions::new(folder.path().join("run.cw"));
    let over = folder.path().join("over");
    options.target = until(&over);
    let (send_tid, tids) = channel();
    let (mut wait, mut go) = std::io::pipe().unwrap();
    let (changed, changes) = channel();
    let worker = std::thread::spawn(move || {
        send_tid.send(gettid()).unwrap();
        wait.read_exact(&mut [0]).unwrap();
        // SAFETY: no pointers; of this thread.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 7) };
        spin(20);
        let before = now();
        to_cpu(0);
        let after = now();
        spin(20);
        changed.send(()).unwrap();
        // It exists until the recording has ended.
        assert_eq!(wait.read(&mut [0]).unwrap(), 0);
        (before, after)
    });
    let tid = tids.recv().unwrap();
    let (attached, begin) = channel::<()>();
    let load = std::thread::spawn(move || {
        let _over = Over(over);
        begin.recv().unwrap();
        go.write_all(&[0]).unwrap();
        changes.recv().unwrap();
        until_it_waits_in(tid, libc::SYS_read);
        (go, now())
    });
    recorded_while(&options, &mut || {
        let _ = attached.send(());
    });
    let (go, left) = load.join().unwrap();
    drop(go);
    let (before, after) = worker.join().unwrap();
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
    assert!(seen <= left, "{before:?} to {after:?}, off its CPU by {left:?}: {cpus:?}");
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

/// How often a writer wakes a reader, and how often a timer wakes a sleeper, at least.
const WAKES: u64 = 50;
/// Wakings when threads begin and end, and when they wait for memory.
const OTHERS: u64 = 10;

/// The threads of [`wakes`].
struct Woken {
    writer: i32,
    sleeper: i32,
    reader: i32,
    /// How often the writer wrote while the reader had left its CPU to read.
    written: u64,
}

/// A thread writes to a pipe that another one reads, each time when that one has left its CPU. In between it computes, on the CPU of a third
/// thread's timer, which so interrupts it.
fn wakes() -> Woken {
    let (mut from, mut to): (PipeReader, PipeWriter) = std::io::pipe().unwrap();
    let (is_over, slept) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let (send_tid, tids) = channel();
        let sleeper = scope.spawn(|| {
            to_cpu(0);
            while !is_over.load(Ordering::Relaxed) {
                let before = waits();
                std::thread::sleep(Duration::from_millis(1));
                slept.fetch_add(waits() - before, Ordering::Relaxed);
            }
            gettid()
        });
        let reader = scope.spawn(move || {
            send_tid.send(gettid()).unwrap();
            let mut byte = [0];
            while from.read_exact(&mut byte).is_ok() {}
        });
        let read_by = tids.recv().unwrap();
        to_cpu(0);
        let mut written = 0;
        while written < WAKES || slept.load(Ordering::Relaxed) < WAKES {
            spin(2);
            if waits_in(read_by, libc::SYS_read) {
                to.write_all(&[0]).unwrap();
                written += 1;
            }
        }
        is_over.store(true, Ordering::Relaxed);
        drop(to);
        reader.join().unwrap();
        Woken { writer: gettid(), sleeper: sleeper.join().unwrap(), reader: read_by, written }
    })
}

/// A wakeup by a timer interrupt has no waker; a wakeup by a write to a pipe has the writer as its waker. Both are counts that follow from what
/// the threads do, apart from a few wakings when they begin.
fn wakers_of_sleepers_and_readers(backend: Backend) {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut options = RecordOptions::new(folder.path().join("run.cw"));
    options.backend = backend;
    let over = folder.path().join("over");
    options.target = until(&over);
    let (attached, begun) = channel::<()>();
    let load = std::thread::spawn(move || {
        let _over = Over(over);
        begun.recv().unwrap();
        wakes()
    });
    recorded_while(&options, &mut || _ = attached.send(()));
    let woken = load.join().unwrap();
    let trace = read(&options.dir);
    // Of a waking that the machine hides, the waker is unknown.
    let [by_writer, by_timer, hidden, by_others] = wakers(&trace, woken.reader, woken.writer);
    assert!(by_writer >= woken.written, "{by_writer} of {} writes", woken.written);
    assert!(
        by_timer + hidden + by_others <= OTHERS,
        "{by_timer} without a waker, {hidden} hidden, {by_others} by others"
    );
    let [by_writer, by_timer, hidden, by_others] = wakers(&trace, woken.sleeper, woken.writer);
    assert!(by_timer > OTHERS, "{by_timer} by the timer, {hidden} hidden");
    assert!(by_writer + by_others <= OTHERS, "{by_writer} by the thread that was interrupted, {by_others} by others");
}

/// How often a thread was woken by this one, by an interrupt, by an unknown thread, and by others.
fn wakers(trace: &Trace, of: i32, by: i32) -> [u64; 4] {
    let mut wakers = BTreeMap::<i32, u64>::new();
    for e in &trace.events {
        if let EventKind::Wake(w) = e.what
            && (w.tid, w.kind) == (Tid(of), WakeKind::Waking)
        {
            *wakers.entry(w.waker.0).or_default() += 1;
        }
    }
    let all: u64 = wakers.values().sum();
    let [own, timer, unknown] = [by, 0, Tid::UNKNOWN.0].map(|waker| wakers.get(&waker).copied().unwrap_or(0));
    [own, timer, unknown, all - own - timer - unknown]
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
/// with both threads, when the one begins to wait and when the other one gives the lock away.
#[test]
#[ignore = "needs BPF rights"]
fn the_thread_that_lends_its_priority_is_recorded() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut options = RecordOptions::new(folder.path().join("run.cw"));
    let over = folder.path().join("over");
    options.target = until(&over);
    let (attached, begin) = channel::<()>();
    let load = std::thread::spawn(move || {
        let _over = Over(over);
        begin.recv().unwrap();
        let lock = &Lending::new();
        let (send_tid, tids) = channel();
        let (mut wait, mut go) = std::io::pipe().unwrap();
        std::thread::scope(|s| {
            let holder = s.spawn(move || {
                let waiter = tids.recv().unwrap();
                lock.lock();
                let asked = now();
                go.write_all(&[0]).unwrap();
                until_it_waits_in(waiter, libc::SYS_futex);
                let waits = now();
                // It leaves its CPU while it is boosted, and after.
                wait_once();
                let frees = now();
                lock.unlock();
                let freed = now();
                wait_once();
                (gettid(), [asked, waits], [frees, freed])
            });
            let waiter = s.spawn(move || {
                let param = libc::sched_param { sched_priority: 10 };
                // SAFETY: it outlives the call, which is about this thread.
                let set = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const param) };
                assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
                send_tid.send(gettid()).unwrap();
                wait.read_exact(&mut [0]).unwrap();
                lock.lock();
                lock.unlock();
                gettid()
            });
            let (holder, begins, ends) = holder.join().unwrap();
            (Tid(holder), Tid(waiter.join().unwrap()), [begins, ends])
        })
    });
    recorded_while(&options, &mut || {
        let _ = attached.send(());
    });
    // SAFETY: no memory is involved.
    let usual = Prio::new(120 + unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) } as i16);
    let lent = Prio::new(89);
    let (holder, waiter, times) = load.join().unwrap();
    let trace = read(&options.dir);
    let of_holder = |e: &&Event| matches!(e.what, EventKind::Inherit { tid, .. } if tid == holder);
    let boosts: Vec<&Event> = trace.events.iter().filter(of_holder).collect();
    let whats: Vec<EventKind> = boosts.iter().map(|e| e.what).collect();
    let inherits = |donor, old_prio, prio| EventKind::Inherit {
        tid: holder,
        priority: InheritedPriority { donor, old_prio, prio },
    };
    assert_eq!(whats, [inherits(Donor::Thread(waiter), usual, lent), inherits(Donor::None, lent, usual)]);
    for (boost, [from, to]) in boosts.iter().zip(times) {
        assert!(from <= boost.at && boost.at <= to, "{from:?} to {to:?}: {boost:?}");
    }
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
