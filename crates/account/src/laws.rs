//! The laws that hold for every recording, and how far one is from each.

use crate::{ThreadTotals, Totals};
use model::{CpuState, Ns, ThreadState};

/// A scheduler tick at the slowest usual rate (100 Hz), ns: the kernel charges running time at ticks and switches, so a
/// charge may reach back behind the begin of a stretch by no more.
const TICK_NS: i128 = 10_000_000;

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
        // Times of a damaged file may add up to more than 64 bits hold.
        let wide = |time: Ns| i128::from(time.0);
        let sum = |times: &[Ns]| times.iter().map(|t| wide(*t)).sum::<i128>();
        let most = |off: &mut dyn Iterator<Item = i128>| off.map(i128::abs).max().unwrap_or(0);
        let threads = || totals.threads.iter();
        let running = |t: &ThreadTotals| t.time(ThreadState::Running);
        let places = |t: &ThreadTotals| t.by_cpu.iter().map(|(_, n)| wide(*n)).sum::<i128>() + wide(t.nowhere);
        let lives = most(&mut threads().map(|t| sum(&t.states) - wide(t.end - t.begin)));
        let cpus = most(&mut totals.cpus.iter().map(|c| sum(&c.states) - wide(totals.end)));
        let busy = totals.cpus.iter().map(|c| wide(c.time(CpuState::Busy))).sum::<i128>();
        let ran = threads().map(|t| wide(running(t)) - wide(t.nowhere)).sum::<i128>();
        let elsewhere = most(&mut threads().map(|t| places(t) - wide(running(t))));
        let charged = most(&mut threads().map(|t| (wide(t.exec) - wide(t.exec_of) - TICK_NS).max(0)));
        let law = |what, residual| Law { what, residual_ns: i64::try_from(residual).unwrap_or(i64::MAX), exact: true };
        Self(vec![
            law("each thread's states tile its life", lives),
            law("each CPU's busy, idle and unknown tile the recording", cpus),
            law("CPUs' busy time is threads' running time", (busy - ran).abs()),
            law("a thread's running time is its sum over CPUs", elsewhere),
            Law { exact: false, ..law("the kernel charged no more than was run, but for a tick", charged) },
        ])
    }

    /// Whether all exact ones hold.
    #[must_use]
    pub fn hold(&self) -> bool {
        self.0.iter().all(|l| l.residual_ns == 0 || !l.exact)
    }
}
