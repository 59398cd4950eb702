//! Each item wakes all 32 waiting threads. One of them gets it, and the others go back to sleep.
//!
//! Fixed: each item wakes one thread.

use pathologies::{Run, lock, thread, wait_while, work};
use std::sync::{Condvar, Mutex};

const THREADS: usize = 32;

#[derive(Default)]
struct Queue {
    items: u64,
    done: u64,
    closed: bool,
}

fn main() {
    let run = Run::from_arguments();
    let items = run.size(15_000);
    let (queue, more, done) = (Mutex::new(Queue::default()), Condvar::new(), Condvar::new());
    std::thread::scope(|s| {
        for _ in 0..THREADS {
            thread(s, "waiter", || {
                loop {
                    let mut q = wait_while(&more, lock(&queue), |q| q.items == 0 && !q.closed);
                    if q.items == 0 {
                        break;
                    }
                    q.items -= 1;
                    drop(q);
                    work(50);
                    lock(&queue).done += 1;
                    done.notify_one();
                }
            });
        }
        run.measure(items, || {
            for n in 0..items {
                lock(&queue).items += 1;
                if run.fixed {
                    more.notify_one()
                } else {
                    more.notify_all()
                }
                drop(wait_while(&done, lock(&queue), |q| q.done <= n));
            }
        });
        lock(&queue).closed = true;
        more.notify_all();
    });
}
