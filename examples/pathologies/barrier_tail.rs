//! A frame is divided into equal ranges of rows, one for each thread, but the rows have unequal costs: all wait for the last thread.
//!
//! Row n of 32 costs n units of 100 µs, so that the last range has most of the work. Fixed: each thread takes the next remaining row,
//! the most expensive first.

use pathologies::{Marks, Run, thread, work};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const ROWS: u64 = 32;

fn main() {
    let run = Run::from_arguments();
    let frames = run.size(75);
    let workers = std::thread::available_parallelism().map_or(2, |n| n.get().min(ROWS as usize)) as u64;
    let (barrier, next, marks) = (Barrier::new(workers as usize), AtomicU64::new(0), Marks::open());
    run.measure(frames, || {
        std::thread::scope(|s| {
            for number in 0..workers {
                let (barrier, next, marks) = (&barrier, &next, &marks);
                thread(s, &format!("worker {number}"), move || {
                    for frame in 0..frames {
                        if run.fixed {
                            // Numbers increase over all frames, so that they need no reset: in each frame, every thread also takes one
                            // number after the last row.
                            let first = frame * (ROWS + workers);
                            while let Some(row) = Some(next.fetch_add(1, Relaxed) - first).filter(|r| *r < ROWS) {
                                marks.around("rows", || work((ROWS - row) * 100));
                            }
                        } else {
                            let own = ROWS * number / workers..ROWS * (number + 1) / workers;
                            marks.around("rows", || own.for_each(|row| work((row + 1) * 100)));
                        }
                        barrier.wait();
                    }
                });
            }
        });
    });
}
