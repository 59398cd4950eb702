//! Threads poll every few microseconds, and so wake up CPUs on which other threads compute.
//!
//! Fixed: they sleep until they are notified.

use pathologies::{Run, lock, thread, wait_while, work};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

const WATCHERS: usize = 4;

fn main() {
    let run = Run::from_arguments();
    let pieces = run.size(950);
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let (over, notified, signal) = (AtomicBool::new(false), Mutex::new(false), Condvar::new());
    let left = AtomicUsize::new(workers);
    std::thread::scope(|s| {
        for _ in 0..WATCHERS {
            thread(s, "watcher", || {
                if run.fixed {
                    drop(wait_while(&signal, lock(&notified), |notified| !*notified));
                    return;
                }
                // SAFETY: takes numbers only. With the default timer slack, sleeps would be 50 µs longer.
                unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
                while !over.load(Relaxed) {
                    std::thread::sleep(Duration::from_micros(40));
                }
            });
        }
        let finish = || {
            if left.fetch_sub(1, Relaxed) == 1 {
                over.store(true, Relaxed);
                *lock(&notified) = true;
                signal.notify_all();
            }
        };
        run.measure(pieces * workers as u64, || {
            std::thread::scope(|s| {
                for _ in 0..workers {
                    thread(s, "worker", || {
                        (0..pieces).for_each(|_| work(1000));
                        finish();
                    });
                }
            });
        });
    });
}
