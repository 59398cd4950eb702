//! A producer and a consumer that spin for each other, and share one CPU.
//!
//! Who spins keeps the CPU to the end of its slice, which is all that the other waits for. The program was held to one CPU
//! (as by `taskset`, or an affinity that a library left behind). Mended, it is not.

use pathologies::{Run, pin, thread, work};
use std::sync::atomic::{AtomicU64, Ordering};

fn main() {
    let run = Run::from_arguments();
    let items = run.size(400);
    if !run.mended {
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
