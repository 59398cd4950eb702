//! Four threads queue for one lock, item by item.
//!
//! The lock is held while an item is made, so that one thread works at a time while the others sleep and wake.
//! Fixed: an item is made before the lock is taken, and only its result is added under the lock.

use pathologies::{Run, lock, thread, work};
use std::sync::Mutex;

const THREADS: u64 = 4;

fn main() {
    let run = Run::from_arguments();
    let each = run.size(7500);
    let sum = Mutex::new(0_u64);
    run.measure(each * THREADS, || {
        std::thread::scope(|s| {
            for _ in 0..THREADS {
                thread(s, "maker", || {
                    for _ in 0..each {
                        if run.fixed {
                            work(100);
                            *lock(&sum) += 1;
                        } else {
                            let mut sum = lock(&sum);
                            work(100);
                            *sum += 1;
                        }
                    }
                });
            }
        });
    });
}
