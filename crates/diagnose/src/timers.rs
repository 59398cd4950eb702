//! Who is woken by timers, where the source does not tell interrupts from whoever they came upon.
//!
//! A timer ends a sleep on the CPU where it began, and whoever runs there then is told to have woken the sleeper. So a pool of
//! sleepers has many wakers, all of them on the CPUs to which they woke, whichever these are. Who wakes by a call does so from
//! other CPUs too, or is always the same one.

use crate::given::{Given, add};
use crate::pools::{Pool, Processes};
use engine::EngineError;
use model::tables::{thread_by_cpu, wakers};
use std::collections::{BTreeMap, BTreeSet};

/// Of fewer wakings it may be chance that all came from one CPU.
const LEAST_WAKINGS: i64 = 1000;
/// One waking of so many may come from another CPU: a thread may be moved as it is woken.
const ONE_FROM_ELSEWHERE: i64 = 1000;
/// So many wakers, at least, have a tenth of the wakings or more each.
const LEAST_WAKERS: usize = 3;
/// Of so many parts of its running time, a pool has one at least outside of the CPU where it has most.
const ONE_RUN_ELSEWHERE: i64 = 10;

/// What is summed of a pool.
#[derive(Default)]
struct Woken {
    by: BTreeMap<i64, i64>,
    same_cpu: i64,
    ran: BTreeMap<i64, i64>,
}

impl Woken {
    fn is_timed(&self) -> bool {
        let sum = |of: &BTreeMap<i64, i64>| of.values().fold(0_i64, |sum, n| sum.saturating_add(*n));
        let (all, ran) = (sum(&self.by), sum(&self.ran));
        let most = self.ran.values().max().copied().unwrap_or(0);
        all >= LEAST_WAKINGS
            && all.saturating_sub(self.same_cpu) <= all / ONE_FROM_ELSEWHERE
            && self.by.values().filter(|wakings| **wakings >= all / 10).count() >= LEAST_WAKERS
            && ran.saturating_sub(most) >= ran / ONE_RUN_ELSEWHERE
    }
}

/// The pools that timers wake. Reads `wakers` and `thread_by_cpu`.
pub(crate) fn timed(given: &Given<'_>, processes: &Processes) -> Result<BTreeSet<Pool>, EngineError> {
    let mut pools = BTreeMap::<Pool, Woken>::new();
    given.each(wakers::Table, |row| {
        let [thread, wakings, same_cpu] = row.all([wakers::THREAD, wakers::WAKINGS, wakers::SAME_CPU]);
        let Some(waker) = row.get(wakers::WAKER).filter(|waker| *waker > 0) else { return };
        let pool = pools.entry(processes.pool(given, thread)).or_default();
        add(&mut pool.by, waker, wakings);
        pool.same_cpu = pool.same_cpu.saturating_add(same_cpu);
    })?;
    given.each(thread_by_cpu::Table, |row| {
        let [thread, cpu, ns] = row.all([thread_by_cpu::THREAD, thread_by_cpu::CPU, thread_by_cpu::RUNNING_NS]);
        if let Some(pool) = pools.get_mut(&processes.pool(given, thread)) {
            add(&mut pool.ran, cpu, ns);
        }
    })?;
    Ok(pools.into_iter().filter(|(_, woken)| woken.is_timed()).map(|(pool, _)| pool).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_timed(by: &[i64], same_cpu: i64, ran: &[i64]) -> bool {
        let keys = |of: &[i64]| (1..).zip(of.iter().copied()).collect();
        Woken { by: keys(by), same_cpu, ran: keys(ran) }.is_timed()
    }

    #[test]
    fn sleepers_are_woken_by_many_always_where_they_slept() {
        assert!(is_timed(&[400, 300, 300], 1000, &[9, 1]));
        assert!(is_timed(&[400, 300, 300], 999, &[9, 1]), "one was moved");
        assert!(!is_timed(&[400, 300, 300], 998, &[9, 1]), "some came from other CPUs");
        assert!(!is_timed(&[500, 500], 1000, &[9, 1]), "two may take turns on one CPU");
        assert!(
            !is_timed(&[400, 300, 300], 1000, &[10, 0]),
            "all of them ran on one CPU, so nothing else was possible"
        );
        assert!(!is_timed(&[399, 300, 300], 999, &[9, 1]), "too few");
    }
}
