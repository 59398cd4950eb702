//! Two busy threads are pinned to the same CPU while the other CPU is idle.
//!
//! Each computes and then waits briefly for its device. Fixed: they are not pinned.

use pathologies::{Run, pin, thread, work};
use std::time::Duration;

fn main() {
    let run = Run::from_arguments();
    let frames = run.size(375);
    run.measure(2 * frames, || {
        std::thread::scope(|s| {
            for name in ["render", "simulate"] {
                thread(s, name, || {
                    if !run.fixed {
                        pin(0);
                    }
                    for _ in 0..frames {
                        work(4000);
                        std::thread::sleep(Duration::from_micros(200));
                    }
                });
            }
        });
    });
}
