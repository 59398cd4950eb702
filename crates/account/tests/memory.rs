//! How much memory many short lives take. Alone in its process, since it counts what is allocated.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking
#![allow(unsafe_code)]

#[path = "../../import/tests/support/allocated.rs"]
mod allocated;

use account::{Accountant, Rules};
use allocated::{NOW, PEAK};
use model::{
    Batch, CpuId, Event, MaybeNs, NameId, Ns, Prio, StackId, Switch, SwitchOut, ThreadState, Tid, Wake, WakeKind, What,
};
use std::sync::atomic::Ordering;

const LIVES: i32 = 300_000;
const MIB: usize = 1 << 20;
/// Each life's time on each CPU that it sees.
const STAY: Ns = Ns(10);

fn event(at: i64, cpu: u32, what: What) -> Event {
    Event { at: Ns(at), offset: 0, cpu: CpuId(cpu), current: Tid::UNKNOWN, what }
}

fn switch(at: i64, cpu: u32, prev: i32, next: i32, out: SwitchOut) -> Event {
    let what = What::Switch(Switch {
        prev: Tid(prev),
        next: Tid(next),
        prev_name: NameId::NONE,
        next_name: NameId::NONE,
        stack: StackId::NONE,
        prev_state: 0,
        prev_prio: Prio::UNKNOWN,
        next_prio: Prio::UNKNOWN,
        out,
        letter: b'X',
        prev_exec: MaybeNs::NONE,
    });
    event(at, cpu, what)
}

fn woken(at: i64, tid: i32, kind: WakeKind) -> Event {
    let (name, target, waker, prio) = (NameId::NONE, None, Tid::UNKNOWN, Prio::UNKNOWN);
    event(at, 0, What::Wake(Wake { tid: Tid(tid), name, kind, target, waker, prio, stamp: Ns(at) }))
}

/// Born, for a while on each of some CPUs, gone.
fn life(tid: i32, mut at: i64, cpus: u32) -> Vec<Event> {
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
fn memory_is_bounded_by_threads_that_live() {
    // As an import accounts, which looks for what can be inferred.
    let rules = || Rules { has_waking: true, has_wakes: true, infer: true, whole: true, ..Rules::default() };
    // Numbers that are not used again, and numbers that soon are.
    for numbers in [LIVES, 50] {
        let before = NOW.load(Ordering::Relaxed);
        PEAK.store(before, Ordering::Relaxed);
        let mut accountant = Accountant::new(rules());
        let cpus_of = |n: i32| if n % 3 == 0 { 6 } else { 1 };
        for n in 0..LIVES {
            let events = life(1 + n % numbers, 1 + i64::from(n) * 100, cpus_of(n));
            accountant.push(&Batch { events, ..Batch::default() }, &mut ());
        }
        // The first is woken again as if it had not exited: it is the same life.
        let end = 1 + i64::from(LIVES) * 100;
        let late = vec![woken(end, 1, WakeKind::Waking), switch(end + 5, 9, 0, 2, SwitchOut::Runnable)];
        accountant.push(&Batch { events: late, ..Batch::default() }, &mut ());
        let totals = accountant.finish(&mut ());
        let mut next = 0;
        totals
            .threads
            .each(|t| {
                assert_eq!(
                    (t.thread.0, t.tid.0, t.life as i32),
                    (i64::from(next) + 1, 1 + next % numbers, next / numbers)
                );
                let cpus: Vec<_> = (0..cpus_of(next)).map(|cpu| (CpuId(cpu), STAY)).collect();
                assert_eq!(t.by_cpu, cpus, "{t:?}");
                let last = next + numbers >= LIVES;
                let ready = if last && next % numbers == 0 { 5 } else { 0 };
                assert_eq!(t.time(ThreadState::Ready), Ns(ready), "{t:?}");
                next += 1;
            })
            .unwrap();
        assert_eq!((next, totals.threads.len()), (LIVES, LIVES as u64));
        let cost = PEAK.load(Ordering::Relaxed) - before;
        // What is known of each number takes a dozen bytes, in a map that doubles.
        let map = 3 * 16 * (numbers as usize).next_power_of_two();
        assert!(cost < 32 * MIB + map, "{} MiB", cost / MIB);
    }
}
