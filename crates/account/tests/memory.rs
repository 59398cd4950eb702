//! Memory use with many short-lived threads. The only test in its process, because it counts allocations.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking
#![allow(unsafe_code)]

#[path = "../../import/tests/it/support/allocated.rs"]
mod allocated;

use account::{Accountant, Rules};
use allocated::{NOW, PEAK};
use model::{
    Batch, CpuId, Event, EventKind, MaybeNs, NameId, Ns, Prio, StackId, Switch, SwitchOut, ThreadState, Tid, Wake,
    WakeKind,
};
use std::sync::atomic::Ordering;

const THREADS: i32 = 300_000;
const MIB: usize = 1 << 20;
/// The running time of each thread on each of its CPUs.
const STAY: Ns = Ns(10);

fn event(at: i64, cpu: u32, what: EventKind) -> Event {
    Event { at: Ns(at), offset: 0, cpu: CpuId(cpu), current: Tid::UNKNOWN, what }
}

fn switch(at: i64, cpu: u32, prev: i32, next: i32, out: SwitchOut) -> Event {
    let what = EventKind::Switch(Switch {
        prev: Tid(prev),
        next: Tid(next),
        prev_name: NameId::NONE,
        next_name: NameId::NONE,
        stack: StackId::NONE,
        prev_state: 0,
        prev_prio: Prio::UNKNOWN,
        next_prio: Prio::UNKNOWN,
        out,
        state_letter: b'X',
        prev_exec: MaybeNs::NONE,
    });
    event(at, cpu, what)
}

fn woken(at: i64, tid: i32, kind: WakeKind) -> Event {
    let (name, target, waker, prio) = (NameId::NONE, None, Tid::UNKNOWN, Prio::UNKNOWN);
    event(at, 0, EventKind::Wake(Wake { tid: Tid(tid), name, kind, target, waker, prio, stamp: Ns(at) }))
}

/// Returns the events of a thread that is created, runs on each of some CPUs, and exits.
fn thread_events(tid: i32, mut at: i64, cpus: u32) -> Vec<Event> {
    let mut events = vec![woken(at, tid, WakeKind::New)];
    for cpu in (0..cpus).rev() {
        events.push(switch(at, cpu, 0, tid, SwitchOut::Runnable));
        at += STAY.0;
        let out = if cpu == 0 { SwitchOut::Exited } else { SwitchOut::Preempted };
        events.push(switch(at, cpu, tid, 0, out));
    }
    events
}

#[test]
fn memory_is_bounded_by_live_threads() {
    // The rules of an import, which also infers time.
    let rules = || Rules { has_waking: true, has_wakes: true, infer: true, whole_machine: true, ..Rules::default() };
    // TIDs that are not reused, and TIDs that are reused soon.
    for numbers in [THREADS, 50] {
        let before = NOW.load(Ordering::Relaxed);
        PEAK.store(before, Ordering::Relaxed);
        let mut accountant = Accountant::new(rules());
        let cpus_of = |n: i32| if n % 3 == 0 { 6 } else { 1 };
        for n in 0..THREADS {
            let events = thread_events(1 + n % numbers, 1 + i64::from(n) * 100, cpus_of(n));
            accountant.push(&Batch { events, ..Batch::default() }, &mut ());
        }
        // The first thread is woken after its exit: this is the same instance.
        let end = 1 + i64::from(THREADS) * 100;
        let late = vec![woken(end, 1, WakeKind::Waking), switch(end + 5, 9, 0, 2, SwitchOut::Runnable)];
        accountant.push(&Batch { events: late, ..Batch::default() }, &mut ());
        let totals = accountant.finish(&mut ());
        let mut next = 0;
        totals
            .threads
            .each(|t| {
                assert_eq!(
                    (t.thread.0, t.tid.0, t.instance as i32),
                    (i64::from(next) + 1, 1 + next % numbers, next / numbers)
                );
                let cpus: Vec<_> = (0..cpus_of(next)).map(|cpu| (CpuId(cpu), STAY)).collect();
                assert_eq!(t.by_cpu, cpus, "{t:?}");
                let last = next + numbers >= THREADS;
                let ready = if last && next % numbers == 0 { 5 } else { 0 };
                assert_eq!(t.time(ThreadState::Ready), Ns(ready), "{t:?}");
                next += 1;
            })
            .unwrap();
        assert_eq!((next, totals.threads.len()), (THREADS, THREADS as u64));
        let cost = PEAK.load(Ordering::Relaxed) - before;
        // The map of TIDs has a dozen bytes per entry and grows by doubling.
        let map = 3 * 16 * (numbers as usize).next_power_of_two();
        assert!(cost < 32 * MIB + map, "{} MiB", cost / MIB);
    }
}
