//! Two threads with work, both pinned to the same CPU while the other idles.
//!
//! Each computes and then waits a little for its device. Mended, they are pinned to nothing.

use pathologies::{Run, pin, thread, work};
use std::time::Duration;

fn main() {
    let run = Run::from_arguments();
    let frames = run.size(375);
    run.measure(2 * frames, || {
        std::thread::scope(|s| {
            for name in ["render", "simulate"] {
                thread(s, name, || {
                    if !run.mended {
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
