//! Samples of a thread that computes.

use crate::support::{HANGS, Over, alone, gettid, now, read, recorded_while, switches, until};
use capture::{Backend, RecordOptions, Sampling};
use model::{EventKind, Ns, StackFrame, StackId};
use std::time::Instant;

const HZ: u32 = 997;
/// The sampling interrupts that come while it computes, at least.
const INTERRUPTS: i64 = 200;
/// Between two looks at the clock, a thread that computes is not interrupted for longer.
const GAP: Ns = Ns(300_000);

/// What a thread knows of its computing.
struct Computed {
    tid: i32,
    begin: Ns,
    end: Ns,
    /// How often the sampling clock has ticked while it computed, at least: in each stretch in which it saw the time go on, as often as
    /// whole periods fit into it, but for one.
    interrupts: i64,
    switches: u64,
}

/// Ticks of the sampling clock in a time.
fn ticks(time: Ns) -> i64 {
    time.0 * i64::from(HZ) / 1_000_000_000
}

/// Computes until the sampling clock has ticked so often.
fn compute() -> Computed {
    let (begin, before, hangs) = (now(), switches(), Instant::now() + HANGS);
    let (mut last, mut since, mut interrupts) = (begin, begin, 0);
    loop {
        std::hint::black_box((0..500).fold(0_u64, |sum, n| sum ^ n));
        let at = now();
        let here = (ticks(last - since) - 1).max(0);
        if interrupts + here >= INTERRUPTS {
            let switches = switches() - before;
            return Computed { tid: gettid(), begin, end: at, interrupts: interrupts + here, switches };
        }
        if at - last > GAP {
            (interrupts, since) = (interrupts + here, at);
        }
        last = at;
        assert!(Instant::now() < hangs, "{interrupts} interrupts at least");
    }
}

/// Each sampling interrupt that comes while a thread computes is a sample of it, with its callchain. Every second one may be missing: of others
/// that run for a moment, or late where a virtual machine stalls.
#[test]
#[ignore = "needs BPF rights"]
fn a_thread_that_computes_is_sampled_with_its_callchain() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let over = dir.path().join("over");
    let mut options = RecordOptions::new(dir.path().join("run"));
    (options.backend, options.target) = (Backend::Bpf, until(&over));
    options.sampling = Sampling::Required(HZ);
    let (attached, begin) = std::sync::mpsc::channel::<()>();
    let computes = std::thread::spawn(move || {
        let _over = Over(over);
        begin.recv().unwrap();
        compute()
    });
    recorded_while(&options, &mut || {
        let _ = attached.send(());
    });
    let computed = computes.join().unwrap();
    let trace = read(&options.dir);
    let own = trace.events.iter().filter(|e| (computed.begin..=computed.end).contains(&e.at));
    let own = own.filter_map(|event| match event.what {
        EventKind::CpuSample { tid, stack, .. } if tid.0 == computed.tid => Some(stack),
        _ => None,
    });
    let own: Vec<StackId> = own.collect();
    let wall = ticks(computed.end - computed.begin);
    // Each CPU has a sampling clock of its own, so each switch may add a sample.
    let most = wall + wall / 100 + computed.switches as i64 + 2;
    let count = own.len() as i64;
    assert!(
        (computed.interrupts / 2..=most).contains(&count),
        "{count} samples, not {} to {most}",
        computed.interrupts / 2
    );
    let named = own.iter().filter(|stack| {
        let chain = (stack.0 as usize).checked_sub(1).and_then(|at| trace.stacks.get(at));
        chain.is_some_and(|chain| chain.iter().any(|frame: &StackFrame| !frame.in_kernel() && frame.address > 0))
    });
    assert_eq!(named.count(), own.len(), "each has a callchain in the program");
}
