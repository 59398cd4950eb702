//! Workers spin at a barrier, on the CPU that one of them still needs.
//!
//! Three workers share a step on two CPUs. Those that have finished spin until the last one has, which meanwhile waits for a CPU.
//! Fixed: they sleep at the barrier. (In general, there is one worker more than CPUs.)

use pathologies::{Marks, Run, thread, work};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

fn main() {
    let run = Run::from_arguments();
    let steps = run.size(600);
    let workers = std::thread::available_parallelism().map_or(2, usize::from) + 1;
    let (asleep, arrived, marks) = (Barrier::new(workers), AtomicUsize::new(0), Marks::open());
    run.measure(steps, || {
        std::thread::scope(|s| {
            for _ in 0..workers {
                let (asleep, arrived, marks) = (&asleep, &arrived, &marks);
                thread(s, "worker", move || {
                    for step in 1..=steps as usize {
                        marks.around("step", || work(2000));
                        if run.fixed {
                            asleep.wait();
                        } else {
                            arrived.fetch_add(1, Ordering::AcqRel);
                            while arrived.load(Ordering::Acquire) < step * workers {
                                std::hint::spin_loop();
                            }
                        }
                    }
                });
            }
        });
    });
}
