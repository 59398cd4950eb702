//! Capability 67: the tail of a barrier, the cores that are idle in it, and the potential saving of smaller chunks.

use crate::support::{self, drawn};
use testkit::figures::{number, table};
use testkit::{Mode, machine};

/// Four threads of equal work on two P and two E cores, pinned: the E cores take the printed 864 ms, and the P cores
/// 358, 1/2.417 of it, which results in the printed 567 ms of the unpinned run (864/k, and the rest of E's part there).
/// The printed times of 4, 16 and 128 chunks lie within the estimate; that of 1024 lies above it, because of the
/// overhead of chunks, which is not in the estimate.
#[test]
fn cap_67_what_chunks_would_recover() {
    let rows = table("openmp_chunks");
    let pinned = rows.iter().find(|row| row["pinned"] == "1").unwrap();
    let (slow, fast) = (number(pinned, "latency_ms") as usize, 358);
    let cpu = |number, core: &str, thread: &str, busy: usize| {
        format!("cpu{number} {core} {}{}\n", format!("{thread} ").repeat(busy), ". ".repeat(slow + 1 - busy))
    };
    let mut text = cpu(0, "P0", "A", fast) + &cpu(1, "P1", "B", fast);
    text += &(cpu(2, "E2", "C", slow) + &cpu(3, "E3", "D", slow));
    let wait = |columns: usize| ". ".repeat(columns - 1);
    text += &format!("mark A(,B(=1,C(=1,D(=1 {}A),B) {}C),D)\n", wait(fast), wait(slow - fast));
    let a = drawn(&text, machine(&text), |whole| whole);
    let of = |col| a.ints("parallel_regions", col)[0];
    let ms = |col| of(col) as f64 / 1e6;
    assert_eq!((of("threads"), of("stretches")), (4, 4));
    assert_eq!((ms("first_arrival_ns"), ms("tail_ns")), (358.0, 506.0));
    assert_eq!((ms("idle_performance_ns"), ms("idle_efficient_ns")), (2.0 * 506.0, 0.0));
    // All at the same time: four parts at 2/358 + 2/864 per millisecond.
    let ideal = ms("end_ns") - ms("recoverable_to_ns");
    assert!((ideal - 4.0 / (2.0 / 358.0 + 2.0 / 864.0)).abs() < 1e-3, "{ideal}");
    let mut seen = Vec::new();
    for row in rows.iter().filter(|row| row["schedule"] == "dynamic") {
        let (chunks, took) = (number(row, "chunks"), number(row, "latency_ms"));
        let max = ideal + ms("slowest_ns") / chunks;
        assert_eq!((ideal..=max).contains(&took), chunks < 1000.0, "{chunks} chunks: {took}, not {ideal}..{max}");
        seen.push(chunks);
    }
    assert_eq!(seen, [4.0, 16.0, 128.0, 1024.0]);
}

/// The invariants of random traces are not vacuous: there are regions of two threads and more, with tails.
#[test]
fn random_traces_have_regions() {
    let [mut regions, mut tails, mut more] = [0; 3];
    for seed in 0..40 {
        let a = support::random(Mode::Whole, seed, 200);
        regions += a.ints("parallel_regions", "threads").len();
        more += a.ints("parallel_regions", "threads").iter().filter(|n| **n > 2).count();
        tails += a.ints("parallel_regions", "tail_ns").iter().filter(|n| **n > 0).count();
    }
    assert!(regions > 20 && tails > 20 && more > 5, "{regions} {tails} {more}");
}
