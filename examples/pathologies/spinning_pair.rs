//! A producer and a consumer spin for each other on one CPU.
//!
//! The spinning thread keeps the CPU to the end of its slice while the other one waits for it. The program is pinned to one CPU
//! (for example by `taskset`, or by a library). Fixed: it is not pinned.

use pathologies::{Run, pin, thread, work};
use std::sync::atomic::{AtomicU64, Ordering};

fn main() {
    let run = Run::from_arguments();
    let items = run.size(400);
    if !run.fixed {
        pin(0);
    }
    let (made, used) = (AtomicU64::new(0), AtomicU64::new(0));
    run.measure(items, || {
        std::thread::scope(|s| {
            thread(s, "producer", || {
                for n in 0..items {
                    work(500);
                    made.store(n + 1, Ordering::Release);
                    spin_until(&used, n + 1);
                }
            });
            thread(s, "consumer", || {
                for n in 0..items {
                    spin_until(&made, n + 1);
                    work(500);
                    used.store(n + 1, Ordering::Release);
                }
            });
        });
    });
}

fn spin_until(counter: &AtomicU64, value: u64) {
    while counter.load(Ordering::Acquire) < value {
        std::hint::spin_loop();
    }
}
