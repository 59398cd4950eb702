//! What binding a command to CPUs did: whether the recordings show it on these CPUs only, and how the time to the end changed.

use super::measured::{Own, own_processes, read_threads};
use super::{Manifest, Side};
use engine::{EngineError, Session};
use model::tables::thread_by_cpu;
use model::{CpuId, Ns};
use stats::{Effect, Scale};

/// A command that ran a larger share of its time on CPUs to which it was not bound was not bound in effect: one percent, less than a difference
/// that a comparison of whole runs finds.
pub const ELSEWHERE_SHARE: f64 = 0.01;

/// Returns the share of the running time of a recorded command and of the processes that it started on other CPUs than `cpus` (in order of
/// their numbers), 0 to 1; `None` if they did not run.
///
/// # Errors
/// The trace cannot be read.
pub fn elsewhere_share(session: &Session, cpus: &[CpuId]) -> Result<Option<f64>, EngineError> {
    let facts = session.facts();
    let Some(focus) = facts.focus.map(i64::from) else { return Ok(None) };
    let threads = read_threads(session)?;
    let own = own_processes(session, &threads, focus, facts.recorder.map(i64::from), Own::Started)?;
    let (mut all, mut elsewhere) = (Ns::ZERO, Ns::ZERO);
    session.each(thread_by_cpu::Table, |row| {
        let thread = threads.get(&row.get(thread_by_cpu::THREAD)).filter(|thread| !thread.is_kernel);
        if !thread.and_then(|thread| thread.pid).is_some_and(|pid| own.contains(&pid)) {
            return;
        }
        let (cpu, ns) = (row.get(thread_by_cpu::CPU), row.get(thread_by_cpu::RUNNING_NS));
        let is_inside = u32::try_from(cpu).is_ok_and(|cpu| cpus.binary_search(&CpuId(cpu)).is_ok());
        all += ns;
        elsewhere += if is_inside { Ns::ZERO } else { ns };
    })?;
    Ok((all > Ns::ZERO).then(|| elsewhere.as_f64() / all.as_f64()))
}

/// What binding did to the time to the end.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Binding {
    /// The time of side B divided by that of side A; `None` if no pair is complete.
    pub effect: Option<Effect>,
    /// For each side, the largest share of its running time that a compared run spent on CPUs to which it was not bound; `None` if the side was
    /// not bound.
    pub elsewhere: [Option<f64>; 2],
}

impl Binding {
    /// Returns it for a list of runs; `None` if its sides do not differ in their CPUs.
    #[must_use]
    pub fn of(manifest: &Manifest) -> Option<Self> {
        manifest.sides.iter().find(|side| side.cores.is_some())?;
        let [a, b] = manifest.wall_ns();
        let pairs = manifest.pairs();
        let elsewhere = Side::BOTH
            .map(|side| pairs.iter().filter_map(|pair| pair.runs[side.index()].elsewhere_share).reduce(f64::max));
        Some(Self { effect: stats::of_runs(&a, &b, true, Scale::Ratio), elsewhere })
    }

    /// Whether a run was on other CPUs for so long that the runs do not show what binding does.
    #[must_use]
    pub fn is_defeated(&self) -> bool {
        self.elsewhere.iter().flatten().any(|share| *share > ELSEWHERE_SHARE)
    }
}
