//! What threads wait for in futex calls, of locks whose holder is known.

use crate::support::{Over, Trace, alone, gettid, read, recorded_while, until, until_it_waits_in};
use capture::RecordOptions;
use model::{EventKind, FutexWait, Tid, WaitKind};
use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::mpsc::channel;

/// A mutex of the C library.
struct Mutex(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: it is used by the functions of the C library only.
unsafe impl Send for Mutex {}
// SAFETY: as above.
unsafe impl Sync for Mutex {}

impl Mutex {
    fn lock(&self) {
        // SAFETY: it is initialised, and does not move: it is in an `Arc`.
        assert_eq!(unsafe { libc::pthread_mutex_lock(self.0.get()) }, 0);
    }

    fn unlock(&self) {
        // SAFETY: as above, and the calling thread holds it.
        assert_eq!(unsafe { libc::pthread_mutex_unlock(self.0.get()) }, 0);
    }
}

/// The threads and the lock of what happened.
struct Happened {
    holder: i32,
    waiter: i32,
    joiner: i32,
    address: u64,
}

/// A thread waits for a mutex that this thread holds, and then, until it ends, another one for its end.
fn happen() -> Happened {
    let mutex = Arc::new(Mutex(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER)));
    let (send, tid) = channel();
    mutex.lock();
    let waits = Arc::clone(&mutex);
    let of_joiner = send.clone();
    let waiter = std::thread::spawn(move || {
        send.send(gettid()).unwrap();
        waits.lock();
        waits.unlock();
    });
    let waiter_tid = tid.recv().unwrap();
    let joiner = std::thread::spawn(move || {
        of_joiner.send(gettid()).unwrap();
        waiter.join().unwrap();
    });
    let joiner_tid = tid.recv().unwrap();
    until_it_waits_in(waiter_tid, libc::SYS_futex);
    until_it_waits_in(joiner_tid, libc::SYS_futex);
    mutex.unlock();
    joiner.join().unwrap();
    Happened { holder: gettid(), waiter: waiter_tid, joiner: joiner_tid, address: mutex.0.get() as u64 }
}

fn recording(wait_objects: bool) -> (Trace, Happened) {
    let _one = alone();
    let dir = tempfile::tempdir().unwrap();
    let over = dir.path().join("over");
    let options = RecordOptions { target: until(&over), wait_objects, ..RecordOptions::new(dir.path().join("run.cw")) };
    let mut happened = None;
    recorded_while(&options, &mut || {
        let _over = Over(over.clone());
        happened = Some(happen());
    });
    (read(&options.dir), happened.unwrap())
}

fn waits(trace: &Trace, of: i32) -> Vec<FutexWait> {
    let wait = |what: &EventKind| if let EventKind::FutexWait(wait) = what { Some(*wait) } else { None };
    trace.events.iter().filter_map(|e| wait(&e.what)).filter(|wait| wait.tid == Tid(of)).collect()
}

#[test]
#[ignore = "needs BPF rights"]
fn a_wait_names_the_lock_and_its_holder() {
    let (trace, of) = recording(true);
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return assert!(waits(&trace, of.waiter).is_empty());
    }
    let for_mutex = |wait: &&FutexWait| wait.address == of.address;
    let of_waiter = waits(&trace, of.waiter);
    let for_mutex = of_waiter.iter().find(for_mutex).expect("the wait for the mutex is recorded");
    assert_eq!((for_mutex.kind(), for_mutex.owner()), (WaitKind::Mutex, Some(Tid(of.holder))), "{for_mutex:?}");
    let of_joiner = waits(&trace, of.joiner);
    let for_end =
        of_joiner.iter().find(|wait| wait.kind() == WaitKind::Thread).expect("the wait for the end is recorded");
    assert_eq!(for_end.owner(), Some(Tid(of.waiter)), "{for_end:?}");
    let call = trace.events.iter().find_map(|e| match e.what {
        EventKind::WokenByCall { tid, call, .. } if tid == Tid(of.joiner) => Some(call.0 as usize),
        _ => None,
    });
    let name = call.and_then(|id| trace.names.get(id.checked_sub(1)?)).map(AsRef::as_ref);
    assert_eq!(name, Some("exit"), "the kernel wakes the word when the thread ends");
    let woken = |e: &EventKind| matches!(e, EventKind::WokenByCall { tid, .. } if *tid == Tid(of.waiter));
    assert!(!trace.events.iter().any(|e| woken(&e.what)), "the holder wakes the word of the mutex");
}

#[test]
#[ignore = "needs BPF rights"]
fn what_threads_wait_for_can_be_left_out() {
    let (trace, _) = recording(false);
    let of_futexes = |what: &EventKind| matches!(what, EventKind::FutexWait(_) | EventKind::WokenByCall { .. });
    assert!(!trace.events.iter().any(|e| of_futexes(&e.what)));
}
