//! A thread waits for a lock whose holder has a high nice value and cannot run because of less important threads.
//!
//! `audio` (nice 0) needs the state that `saver` (nice 10) locks while packing it; two threads at nice 0 keep both CPUs busy. Fixed: the
//! saver packs a copy, and holds the lock only while copying.

use pathologies::{Marks, Run, lock, nice, thread, work};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

fn main() {
    let run = Run::from_arguments();
    let periods = run.size(250);
    let (state, over, marks) = (Mutex::new(0_u64), AtomicBool::new(false), Marks::open());
    std::thread::scope(|s| {
        for _ in 0..2 {
            thread(s, "physics", || {
                while !over.load(Relaxed) {
                    work(100);
                }
            });
        }
        thread(s, "saver", || {
            nice(10);
            while !over.load(Relaxed) {
                let copied = lock(&state);
                if run.fixed {
                    drop(copied);
                    work(12_000);
                } else {
                    work(12_000);
                    drop(copied);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        thread(s, "audio", || {
            run.measure(periods, || {
                for _ in 0..periods {
                    marks.around("period", || {
                        *lock(&state) += 1;
                        work(1000);
                    });
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            over.store(true, Relaxed);
        });
    });
}
