//! 64 threads on two CPUs: in each step, all of them are switched in and wait for each other.
//!
//! Fixed: there are as many threads as CPUs.

use pathologies::{Marks, Run, thread, work};
use std::sync::Barrier;

/// Units of a step, divided among the threads: 6.4 ms of one CPU.
const STEP: u64 = 6400;

fn main() {
    let run = Run::from_arguments();
    let steps = run.size(600);
    let cpus = std::thread::available_parallelism().map_or(2, usize::from);
    let threads = if run.fixed { cpus } else { 32 * cpus };
    let (barrier, marks) = (Barrier::new(threads), Marks::open());
    run.measure(steps, || {
        std::thread::scope(|s| {
            for number in 0..threads {
                let (barrier, marks) = (&barrier, &marks);
                thread(s, &format!("worker {number}"), move || {
                    for _ in 0..steps {
                        work(STEP / threads as u64);
                        if number == 0 {
                            marks.around("barrier", || barrier.wait())
                        } else {
                            barrier.wait()
                        };
                    }
                });
            }
        });
    });
}
