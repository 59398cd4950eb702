//! A thread looks every 100 µs whether there is a record, on a machine that is idle otherwise.
//!
//! Fixed: it sleeps until it is notified.

use pathologies::{Run, lock, thread, wait_while, work};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// How often there is a record.
const EVERY: Duration = Duration::from_millis(20);

fn main() {
    let run = Run::from_arguments();
    let records = run.size(150);
    let (queued, signal) = (Mutex::new(0_u64), Condvar::new());
    run.measure(records, || {
        std::thread::scope(|s| {
            thread(s, "reader", || {
                for _ in 0..records {
                    let mut queue = lock(&queued);
                    if run.fixed {
                        queue = wait_while(&signal, queue, |queued| *queued == 0);
                    }
                    while *queue == 0 {
                        drop(queue);
                        std::thread::sleep(Duration::from_micros(100));
                        queue = lock(&queued);
                    }
                    *queue -= 1;
                    drop(queue);
                    work(100);
                }
            });
            thread(s, "source", || {
                for _ in 0..records {
                    std::thread::sleep(EVERY);
                    *lock(&queued) += 1;
                    signal.notify_one();
                }
            });
        });
    });
}
