//! The times are those of a look at the run queue's CPU and at who is throttled at every instant, and sum to each thread's ready time.

use super::queues;
use super::support::{Analysed, throttled::throttled};
use model::{CpuId, CpuState, Ns, ThreadKey, ThreadState, ThreadStretch};
use proptest::prelude::*;
use std::collections::BTreeMap;
use testkit::ByName;

/// Dynamic priority of who runs on a CPU, where told.
fn prio(a: &Analysed, thread: ThreadKey, cpu: CpuId, time: Ns) -> Option<i64> {
    let runs = |s: &&ThreadStretch| s.thread == thread && s.state == ThreadState::Running && s.cpu == Some(cpu);
    let here = |s: &&ThreadStretch| s.span.start <= time && time < s.span.end;
    let stretch = a.threads.iter().filter(runs).find(here);
    stretch.and_then(|s| s.prio.get()).map(i64::from)
}

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let table = &a.tables["ready_by_thief"];
    if !a.totals.ready_known {
        prop_assert!(table.rows.is_empty());
        return Ok(());
    }
    let mut expected: BTreeMap<_, i64> = BTreeMap::new();
    let cpus = queues::cpus(a);
    for piece in queues::pieces(a) {
        let queue = piece.queue.filter(|q| cpus.contains(q));
        let held = throttled(a, piece.of.thread, piece.span.start) == Some(true);
        let there = queue.and_then(|q| queues::at(a, q, piece.span.start)).filter(|_| !held);
        let prio = there.and_then(|s| prio(a, s.thread, s.cpu, piece.span.start));
        let class = queue.map(|q| i64::from(a.machine.core_class(q)));
        let behind = match there {
            _ if held => "throttled",
            None => "unknown",
            Some(s) if s.state == CpuState::Idle => "idle",
            Some(_) => "thread",
        };
        let key = (piece.of.thread.0, behind.to_owned(), there.map(|s| s.thread.0), prio, class);
        *expected.entry(key).or_default() += piece.span.len().0;
    }
    let mut got = BTreeMap::new();
    for row in 0..table.rows.len() {
        let cell = |col| table.int(row, col);
        let behind = super::support::text(&table.rows[row][table.def.col("behind").unwrap()]);
        let key = (cell("thread").unwrap(), behind, cell("thief"), cell("thief_prio"), cell("core_class"));
        prop_assert!(got.insert(key.clone(), cell("ready_ns").unwrap()).is_none(), "twice: {:?}", key);
    }
    prop_assert_eq!(&got, &expected);
    let sums = a.ints("ready_wait", "thread").into_iter().zip(a.ints("ready_wait", "ready_ns"));
    for (thread, ready) in sums {
        let behind: i64 = got.iter().filter(|(key, _)| key.0 == thread).map(|(_, time)| time).sum();
        prop_assert_eq!(behind, ready);
    }
    // What a quota held it is what the table ready_wait says of that.
    let told = a.tables["ready_wait"].rows.iter().enumerate().filter_map(|(row, _)| {
        let cell = |col| a.tables["ready_wait"].int(row, col);
        Some((cell("thread")?, cell("throttled_ns")?))
    });
    for (thread, throttled) in told {
        let held = got.iter().filter(|(key, _)| key.0 == thread && key.1 == "throttled");
        prop_assert_eq!(held.map(|(_, time)| time).sum::<i64>(), throttled);
    }
    Ok(())
}
