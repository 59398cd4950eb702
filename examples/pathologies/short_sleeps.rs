//! Threads that look for news every few microseconds, and keep waking up CPUs on which others compute.
//!
//! Mended, they sleep until they are told.

use pathologies::{Run, lock, thread, wait_while, work};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

const WATCHERS: usize = 4;

fn main() {
    let run = Run::from_arguments();
    let pieces = run.size(950);
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let (over, told, signal) = (AtomicBool::new(false), Mutex::new(false), Condvar::new());
    let left = AtomicUsize::new(workers);
    std::thread::scope(|s| {
        for _ in 0..WATCHERS {
            thread(s, "watcher", || {
                if run.mended {
                    drop(wait_while(&signal, lock(&told), |told| !*told));
                    return;
                }
                // SAFETY: takes numbers only. Else sleeps are lengthened by 50 µs.
                unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
                while !over.load(Relaxed) {
                    std::thread::sleep(Duration::from_micros(40));
                }
            });
        }
        let news = || {
            if left.fetch_sub(1, Relaxed) == 1 {
                over.store(true, Relaxed);
                *lock(&told) = true;
                signal.notify_all();
            }
        };
        run.measure(pieces * workers as u64, || {
            std::thread::scope(|s| {
                for _ in 0..workers {
                    thread(s, "worker", || {
                        (0..pieces).for_each(|_| work(1000));
                        news();
                    });
                }
            });
        });
    });
}
