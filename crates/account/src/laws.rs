//! The laws that hold for every recording, and how far one is from each.

use crate::{SpillError, ThreadTotals, Totals};
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
    ///
    /// # Errors
    /// The threads' sums cannot be read back ([`crate::Threads::each`]).
    pub fn of(totals: &Totals) -> Result<Self, SpillError> {
        // Times of a damaged file may add up to more than 64 bits hold.
        let wide = |time: Ns| i128::from(time.0);
        let sum = |times: &[Ns]| times.iter().map(|t| wide(*t)).sum::<i128>();
        let [mut lives, mut ran, mut elsewhere, mut charged] = [0i128; 4];
        totals.threads.each(|t: &ThreadTotals| {
            let running = wide(t.time(ThreadState::Running));
            let places = t.by_cpu.iter().map(|(_, n)| wide(*n)).sum::<i128>() + wide(t.nowhere);
            lives = lives.max((sum(&t.states) - wide(t.end - t.begin)).abs());
            ran += running - wide(t.nowhere);
            elsewhere = elsewhere.max((places - running).abs());
            charged = charged.max(wide(t.exec) - wide(t.exec_of) - TICK_NS);
        })?;
        let of_cpus = totals.cpus.iter().map(|c| (sum(&c.states) - wide(totals.end - totals.begin)).abs());
        let cpus = of_cpus.max().unwrap_or(0);
        let busy = totals.cpus.iter().map(|c| wide(c.time(CpuState::Busy))).sum::<i128>();
        let law = |what, residual| Law { what, residual_ns: i64::try_from(residual).unwrap_or(i64::MAX), exact: true };
        Ok(Self(vec![
            law("each thread's states tile its life", lives),
            law("each CPU's busy, idle and unknown tile the recording", cpus),
            law("CPUs' busy time is threads' running time", (busy - ran).abs()),
            law("a thread's running time is its sum over CPUs", elsewhere),
            Law { exact: false, ..law("the kernel charged no more than was run, but for a tick", charged) },
        ]))
    }

    /// Whether all exact ones hold.
    #[must_use]
    pub fn hold(&self) -> bool {
        self.0.iter().all(|l| l.residual_ns == 0 || !l.exact)
    }
}
