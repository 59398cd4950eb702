//! The laws that hold for every recording, and how far one is from each.

use crate::Totals;
use model::{CpuState, ThreadState};

/// A scheduler tick at the slowest usual rate (100 Hz), ns: the kernel charges running time at ticks and switches, so a
/// charge may reach back behind the begin of a stretch by no more.
const TICK_NS: i64 = 10_000_000;

/// A law and how far the recording is from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Law {
    /// What must hold.
    pub what: &'static str,
    /// By how much it does not, ns; 0 where it holds.
    pub residual_ns: i64,
    /// Whether corewise's own sums are compared. Otherwise it is the kernel's clock against the trace's, which may differ
    /// at each switch by what lies between reading the one and the other: little on a machine, much on an emulated one.
    pub exact: bool,
}

/// All of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Laws(pub Vec<Law>);

impl Laws {
    /// Checks the sums of a recording.
    #[must_use]
    pub fn of(totals: &Totals) -> Self {
        let sum = |times: &[model::Ns]| times.iter().map(|t| t.0).sum::<i64>();
        let lives = totals.threads.iter().map(|t| (sum(&t.states) - (t.end - t.begin).0).abs()).max().unwrap_or(0);
        let cpus = totals.cpus.iter().map(|c| (sum(&c.states) - totals.end.0).abs()).max().unwrap_or(0);
        let running: i64 = totals.threads.iter().map(|t| (t.time(ThreadState::Running) - t.nowhere).0).sum();
        let busy = totals.cpu_time(CpuState::Busy).0;
        let by_cpu = |t: &crate::ThreadTotals| t.by_cpu.iter().map(|(_, n)| n.0).sum::<i64>() + t.nowhere.0;
        let places =
            totals.threads.iter().map(|t| (by_cpu(t) - t.time(ThreadState::Running).0).abs()).max().unwrap_or(0);
        let charged = totals.threads.iter().map(|t| (t.exec - t.exec_of).0 - TICK_NS).max().unwrap_or(0).max(0);
        let law = |what, residual_ns| Law { what, residual_ns, exact: true };
        Self(vec![
            law("each thread's states tile its life", lives),
            law("each CPU's busy, idle and unknown tile the recording", cpus),
            law("CPUs' busy time is threads' running time", (busy - running).abs()),
            law("a thread's running time is its sum over CPUs", places),
            Law { what: "the kernel charged no more than was run, but for a tick", residual_ns: charged, exact: false },
        ])
    }

    /// Whether all exact ones hold.
    #[must_use]
    pub fn hold(&self) -> bool {
        self.0.iter().all(|l| l.residual_ns == 0 || !l.exact)
    }
}
