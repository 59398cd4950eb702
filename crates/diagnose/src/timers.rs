//! Detects threads that are woken by timers if the source does not distinguish interrupts from the threads that they interrupt.
//!
//! A timer ends a sleep on the CPU where it began, and the thread that runs there is recorded as the waker. So a pool of sleepers has
//! many wakers, always on the CPUs on which it is woken. A thread that wakes others by a call does so from other CPUs too, or is always
//! the same one.

use crate::context::{RuleContext, add};
use crate::pools::{Pool, Processes};
use engine::EngineError;
use model::tables::{thread_by_cpu, wakers};
use model::{Ns, ThreadKey};
use std::collections::{BTreeMap, BTreeSet};

/// With fewer wakeups, it may be chance that all came from one CPU.
const MIN_WAKINGS: i64 = 1000;
/// One in this many wakeups may come from another CPU, as a thread may be moved while it is woken.
const ONE_FROM_ELSEWHERE: i64 = 1000;
/// The minimum number of wakers with a tenth of the wakeups or more each.
const MIN_WAKERS: usize = 3;
/// The pool spends at least this fraction (1/10) of its running time outside of its most used CPU.
const ONE_RUN_ELSEWHERE: i64 = 10;

/// The sums of a pool.
#[derive(Default)]
struct Woken {
    by_waker: BTreeMap<ThreadKey, i64>,
    same_cpu: i64,
    running: BTreeMap<i64, Ns>,
}

impl Woken {
    fn is_timed(&self) -> bool {
        let all = self.by_waker.values().fold(0_i64, |sum, wakeups| sum.saturating_add(*wakeups));
        let running: Ns = self.running.values().sum();
        let most = self.running.values().max().copied().unwrap_or(Ns::ZERO);
        all >= MIN_WAKINGS
            && all.saturating_sub(self.same_cpu) <= all / ONE_FROM_ELSEWHERE
            && self.by_waker.values().filter(|wakeups| **wakeups >= all / 10).count() >= MIN_WAKERS
            && running - most >= running / ONE_RUN_ELSEWHERE
    }
}

/// Returns the pools that timers wake. Reads `wakers` and `thread_by_cpu`.
pub(crate) fn timed(ctx: &RuleContext<'_>, processes: &Processes) -> Result<BTreeSet<Pool>, EngineError> {
    let mut pools = BTreeMap::<Pool, Woken>::new();
    ctx.each_row(wakers::Table, |row| {
        let (thread, wakeups, same_cpu) = row.all((wakers::THREAD, wakers::WAKINGS, wakers::SAME_CPU));
        let Some(waker) = row.get(wakers::WAKER).filter(|waker| *waker > ThreadKey::IDLE) else { return };
        let pool = pools.entry(processes.pool(ctx, thread)).or_default();
        add(&mut pool.by_waker, waker, wakeups);
        pool.same_cpu = pool.same_cpu.saturating_add(same_cpu);
    })?;
    ctx.each_row(thread_by_cpu::Table, |row| {
        let (thread, cpu, ns) = row.all((thread_by_cpu::THREAD, thread_by_cpu::CPU, thread_by_cpu::RUNNING_NS));
        if let Some(pool) = pools.get_mut(&processes.pool(ctx, thread)) {
            add(&mut pool.running, cpu, ns);
        }
    })?;
    Ok(pools.into_iter().filter(|(_, woken)| woken.is_timed()).map(|(pool, _)| pool).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_timed(wakers: &[i64], same_cpu: i64, running: &[i64]) -> bool {
        let by_waker = (1..).map(ThreadKey).zip(wakers.iter().copied()).collect();
        Woken { by_waker, same_cpu, running: (0..).zip(running.iter().copied().map(Ns)).collect() }.is_timed()
    }

    #[test]
    fn pools_woken_by_many_threads_on_their_own_cpu_are_timed() {
        assert!(is_timed(&[400, 300, 300], 1000, &[9, 1]));
        assert!(is_timed(&[400, 300, 300], 999, &[9, 1]), "one thread was moved");
        assert!(!is_timed(&[400, 300, 300], 998, &[9, 1]), "some wakeups came from other CPUs");
        assert!(!is_timed(&[500, 500], 1000, &[9, 1]), "two may take turns on one CPU");
        assert!(
            !is_timed(&[400, 300, 300], 1000, &[10, 0]),
            "all of them ran on one CPU, so no other result was possible"
        );
        assert!(!is_timed(&[399, 300, 300], 999, &[9, 1]), "too few");
    }
}
