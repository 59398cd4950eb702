//! A job of three large pieces for two threads: during the third piece, one thread has nothing to do.
//!
//! Fixed: the same work is divided into 48 pieces. (In general, the faulty job has one piece more than threads.)

use pathologies::{Marks, Run, lock, thread, work};
use std::sync::Mutex;

/// Units in a piece of the faulty variant.
const PIECE: u64 = 16;

fn main() {
    let run = Run::from_arguments();
    let jobs = run.size(30);
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let units = PIECE * (workers as u64 + 1);
    let piece = if run.fixed { 1 } else { PIECE };
    let marks = Marks::open();
    run.measure(jobs * units, || {
        for _ in 0..jobs {
            let left = Mutex::new(units);
            marks.around("job", || {
                std::thread::scope(|s| {
                    for _ in 0..workers {
                        thread(s, "worker", || {
                            while take(&left, piece) {
                                marks.around("piece", || work(piece * 3000));
                            }
                        });
                    }
                });
            });
        }
    });
}

fn take(left: &Mutex<u64>, piece: u64) -> bool {
    let mut left = lock(left);
    let enough = *left >= piece;
    *left -= if enough { piece } else { 0 };
    enough
}
