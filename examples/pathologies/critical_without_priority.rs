//! The critical thread has the same priority as four busy workers.
//!
//! A frame is two pieces of computing with a short wait for the device between them. Each time it wakes, the frame's thread is
//! queued behind the workers. Fixed: the workers run at nice 19, and the frame's thread runs as soon as it is woken.

use pathologies::{Marks, Run, nice, thread, work};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

fn main() {
    let run = Run::from_arguments();
    let frames = run.size(400);
    let (over, marks) = (AtomicBool::new(false), Marks::open());
    std::thread::scope(|s| {
        for _ in 0..4 {
            thread(s, "worker", || {
                if run.fixed {
                    nice(19);
                }
                while !over.load(Relaxed) {
                    work(100);
                }
            });
        }
        thread(s, "frame", || {
            run.measure(frames, || {
                for _ in 0..frames {
                    marks.around("frame", || {
                        work(2000);
                        std::thread::sleep(Duration::from_micros(500));
                        work(2000);
                    });
                    std::thread::sleep(Duration::from_micros(500));
                }
            });
            over.store(true, Relaxed);
        });
    });
}
