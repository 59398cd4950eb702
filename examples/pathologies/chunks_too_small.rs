//! Items of two microseconds are handed to a pool one by one: waking a worker takes longer than its work.
//!
//! Fixed: 500 items are handed over at a time.

use pathologies::{Marks, Run, lock, thread, wait_while, work};
use std::sync::{Condvar, Mutex};

const WORKERS: u64 = 2;
/// Maximum number of queued hand-overs: enough that no worker would wait if wakeups cost nothing.
const SLOTS: u64 = 4;

#[derive(Default)]
struct Queue {
    items: Vec<u64>,
    closed: bool,
}

fn main() {
    let run = Run::from_arguments();
    let items = run.size(600) * 500;
    let chunk = if run.fixed { 500 } else { 1 };
    let (queue, more, room) = (Mutex::new(Queue::default()), Condvar::new(), Condvar::new());
    let marks = Marks::open();
    run.measure(items, || {
        std::thread::scope(|s| {
            for _ in 0..WORKERS {
                thread(s, "worker", || {
                    loop {
                        let mut left = wait_while(&more, lock(&queue), |q| q.items.is_empty() && !q.closed);
                        let Some(n) = left.items.pop() else { break };
                        drop(left);
                        room.notify_one();
                        marks.around("items", || work(2 * n));
                    }
                });
            }
            thread(s, "dispatcher", || {
                for _ in 0..items / chunk {
                    let mut full = wait_while(&room, lock(&queue), |q| q.items.len() as u64 >= SLOTS);
                    full.items.push(chunk);
                    drop(full);
                    more.notify_one();
                }
                lock(&queue).closed = true;
                more.notify_all();
            });
        });
    });
}
