//! A thread in the background handles one record every 300 µs, on a machine that is idle otherwise.
//!
//! Fixed: it handles 100 records every 30 ms.

use pathologies::{Run, every, nice, thread, work};
use std::time::Duration;

/// The time between two records.
const RECORD: Duration = Duration::from_micros(300);

fn main() {
    let run = Run::from_arguments();
    let batch = if run.fixed { 100 } else { 1 };
    let batches = run.size(100);
    let records = batches * 100;
    run.measure(records, || {
        std::thread::scope(|s| {
            thread(s, "indexer", || {
                nice(10);
                every(RECORD * batch, records / u64::from(batch), Duration::from_nanos(1), || {
                    work(10 * u64::from(batch))
                });
            });
        });
    });
}
