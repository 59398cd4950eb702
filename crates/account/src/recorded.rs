//! Which CPUs were recorded. A recording may be of some CPUs only (`perf record -C`, `tracing_cpumask`, a file of one CPU, an excerpt).
//!
//! A thread that was woken for a CPU without events may have run there unseen. That a CPU has no event is known at the end of a reading
//! only, so such threads are found in the first reading, and accounted for in a second one.

use crate::totals::CpuTotals;
use model::CpuId;
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// More CPUs than Linux supports, so that a damaged file cannot exhaust memory.
const MAX_NAMED: usize = 1 << 16;

/// What is known of CPUs without events.
#[derive(Debug, Default)]
pub(crate) struct RecordedCpus {
    /// Recorded by the source's own statement.
    stated: FxHashSet<CpuId>,
    /// Not recorded, by an earlier reading.
    unrecorded: Option<FxHashSet<CpuId>>,
    /// Named as a run queue before any event of their own.
    named: BTreeSet<CpuId>,
}

/// Which CPUs were recorded, at the end of a reading. Both lists are sorted.
pub(crate) struct Recorded {
    pub(crate) recorded: Vec<CpuId>,
    pub(crate) unrecorded: Vec<CpuId>,
    /// Whether the states of threads are those of this result.
    pub(crate) complete: bool,
}

impl RecordedCpus {
    pub(crate) fn new(stated: &[CpuId], unrecorded: Option<&[CpuId]>) -> Self {
        Self {
            stated: stated.iter().copied().collect(),
            unrecorded: unrecorded.map(|cpus| cpus.iter().copied().collect()),
            named: BTreeSet::new(),
        }
    }

    /// Takes a CPU without events so far. Returns whether it is recorded; in a first reading, all are.
    #[cold]
    pub(crate) fn name(&mut self, cpu: CpuId) -> bool {
        if cpu == CpuId::UNKNOWN || self.stated.contains(&cpu) {
            return true;
        }
        if self.named.len() < MAX_NAMED {
            self.named.insert(cpu);
        }
        self.unrecorded.as_ref().is_none_or(|cpus| !cpus.contains(&cpu))
    }

    /// Returns the result. `cpus`: all CPUs that have an event or are online.
    pub(crate) fn finish(mut self, cpus: &[CpuTotals]) -> Recorded {
        let mut recorded: BTreeSet<CpuId> = cpus.iter().filter(|c| c.has_events).map(|c| c.cpu).collect();
        recorded.extend(self.stated);
        self.named.retain(|cpu| !recorded.contains(cpu));
        let complete = self.named.is_empty() || self.unrecorded.is_some();
        // Events without CPUs do not show which CPUs had none.
        let of_cpus = !recorded.is_empty();
        let online = cpus.iter().map(|c| c.cpu).filter(|cpu| of_cpus && !recorded.contains(cpu));
        self.named.extend(online);
        Recorded { recorded: recorded.into_iter().collect(), unrecorded: self.named.into_iter().collect(), complete }
    }
}
