//! The invariants of every recording, and their residuals.

use crate::{SpillError, ThreadTotals, Totals};
use model::{CpuState, Ns, ThreadState};

/// A scheduler tick at the slowest usual rate (100 Hz), in ns. The kernel charges running time at ticks and switches, so a charge
/// may include at most this much time from before a stretch.
const TICK_NS: i128 = 10_000_000;

/// An invariant and its residual in a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Law {
    /// The invariant.
    pub what: &'static str,
    /// The residual in ns; 0 if the invariant holds.
    pub residual_ns: i64,
    /// Whether it compares sums made by corewise. Otherwise it compares the kernel's clock with the trace's. These may differ at
    /// each switch by the time between the two readings, which is short on hardware and long on an emulator.
    pub exact: bool,
}

/// All invariants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Laws(pub Vec<Law>);

impl Laws {
    /// Checks the sums of a recording.
    ///
    /// # Errors
    /// The sums of threads cannot be read back ([`crate::Threads::each`]).
    pub fn check(totals: &Totals) -> Result<Self, SpillError> {
        // The sum of the times of a damaged file may exceed 64 bits.
        let wide = |time: Ns| i128::from(time.0);
        let sum = |times: &[Ns]| times.iter().map(|t| wide(*t)).sum::<i128>();
        let [mut instances, mut ran, mut elsewhere, mut charged] = [0i128; 4];
        totals.threads.each(|t: &ThreadTotals| {
            let running = wide(t.time(ThreadState::Running));
            let places = t.by_cpu.iter().map(|(_, n)| wide(*n)).sum::<i128>() + wide(t.nowhere);
            instances = instances.max((sum(&t.states) - wide(t.end - t.begin)).abs());
            ran += running - wide(t.nowhere);
            elsewhere = elsewhere.max((places - running).abs());
            charged = charged.max(wide(t.exec) - wide(t.exec_of) - TICK_NS);
        })?;
        let of_cpus = totals.cpus.iter().map(|c| (sum(&c.states) - wide(totals.end - totals.begin)).abs());
        let cpus = of_cpus.max().unwrap_or(0);
        let busy = totals.cpus.iter().map(|c| wide(c.time(CpuState::Busy))).sum::<i128>();
        let law = |what, residual| Law { what, residual_ns: i64::try_from(residual).unwrap_or(i64::MAX), exact: true };
        Ok(Self(vec![
            law("each thread's states tile its lifetime", instances),
            law("each CPU's busy, idle and unknown time tile the recording", cpus),
            law("the busy time of CPUs equals the running time of threads", (busy - ran).abs()),
            law("each thread's running time is the sum over its CPUs", elsewhere),
            Law { exact: false, ..law("the kernel charged at most the running time plus one tick", charged) },
        ]))
    }

    /// Whether all exact invariants hold.
    #[must_use]
    pub fn all_hold(&self) -> bool {
        self.0.iter().all(|l| l.residual_ns == 0 || !l.exact)
    }
}
