//! Samples of a thread that computes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod support;

use capture::{Backend, RecordOptions, Sampling};
use model::{EventKind, StackFrame, StackId};
use std::time::{Duration, Instant};
use support::{alone, gettid, read, recorded_while};

const HZ: u32 = 997;
const LENGTH_NS: i64 = 300_000_000;

/// The CPU time of the calling thread, ns.
fn cpu_time() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is written to a valid place.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) }, 0);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

#[test]
#[ignore = "needs BPF rights"]
fn a_thread_that_computes_is_sampled_with_its_callchain() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let mut options = RecordOptions::new(dir.path().join("run"));
    (options.backend, options.duration) = (Backend::Bpf, Some(Duration::from_millis(900)));
    options.sampling = Sampling::Required(HZ);
    let (mut tid, mut wall) = (0, Duration::ZERO);
    recorded_while(&options, &mut || {
        tid = gettid();
        let begin = Instant::now();
        let end = cpu_time() + LENGTH_NS;
        while cpu_time() < end {
            std::hint::black_box((0..10_000).fold(0_u64, |sum, n| sum ^ n));
        }
        wall = begin.elapsed();
    });
    let trace = read(&options.dir);
    let own = trace.events.iter().filter_map(|event| match event.what {
        EventKind::CpuSample { tid: of, stack } if of.0 == tid => Some(stack),
        _ => None,
    });
    let own: Vec<StackId> = own.collect();
    // Time that the hypervisor gave to others is sampled, but no CPU time of the thread. The kernel's clock may be late, and the thread also runs before and after.
    let [least, most] =
        [LENGTH_NS / 2, wall.as_nanos() as i64 + LENGTH_NS / 5].map(|ns| ns * i64::from(HZ) / 1_000_000_000);
    let count = own.len() as i64;
    assert!((least..=most).contains(&count), "{count} samples, not {least} to {most}");
    let named = own.iter().filter(|stack| {
        let chain = (stack.0 as usize).checked_sub(1).and_then(|at| trace.stacks.get(at));
        chain.is_some_and(|chain| chain.iter().any(|frame: &StackFrame| !frame.in_kernel() && frame.address > 0))
    });
    assert_eq!(named.count(), own.len(), "each has a callchain in the program");
}
