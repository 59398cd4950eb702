//! Measures how long it takes to make all tables of analyses in one pass: `all_tables TRACE…`. A file is read completely for this;
//! the time for opening it is printed too.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use engine::{PassOptions, Session};
use model::tables;
use std::path::Path;
use std::time::Instant;

/// Returns the CPU time in seconds and the peak memory in MB.
fn usage() -> (f64, i64) {
    // SAFETY: an all-zero rusage is a valid one, and the call fills it.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    (seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss / 1024)
}

fn main() {
    for path in std::env::args().skip(1) {
        let (begin, cpu) = (Instant::now(), usage().0);
        let session = Session::open(Path::new(&path), PassOptions { keep: true, ..PassOptions::default() }).unwrap();
        let opened = begin.elapsed();
        let names: Vec<&str> = tables::ALL.iter().filter(|def| Session::is_of_part(def)).map(|def| def.name).collect();
        let rows: usize = session.analyse(&names, None).unwrap().iter().map(|table| table.rows.len()).sum();
        let (after, peak) = usage();
        println!(
            "{path}: {} tables, {rows} rows: {:.2} s, of which opening {:.2} s; {:.2} s of CPU time; peak {peak} MB",
            names.len(),
            begin.elapsed().as_secs_f64(),
            opened.as_secs_f64(),
            after - cpu
        );
    }
}
