//! Workers that spin at a barrier, on the CPU that one of them still needs.
//!
//! Three workers share a step on two CPUs; those that are done spin until the last one is, which meanwhile waits for a CPU.
//! Mended, they sleep at the barrier. (On a machine with more CPUs, there are as many workers more.)

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
                        if run.mended {
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
