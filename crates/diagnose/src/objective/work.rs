//! How full the CPUs are with the work of the program.
//!
//! ```text
//!   cpu0   work work work work │        All CPUs together need 3.5 for the work that takes 4: whatever shares it out better saves
//!   cpu1   work work work .    │        0.5 at most.
//! ```
//!
//! It is no limit where much is idle: work that is divided in another way may also become less (caches, smaller dictionaries). Of real programs,
//! a third of it went.

use crate::context::RuleContext;
use crate::finding::Finding;
use crate::program::Program;
use engine::EngineError;
use model::tables::ready_wait;
use model::words::{ms, plural};

/// The CPUs are full if all of them together need the rest of the time for the work of the program: with less than this part idle.
const MAX_IDLE: f64 = 0.1;

/// What the work of the program leaves of the CPUs' time, if they are full.
pub(crate) struct FullCpus {
    cpus: i64,
    /// The time in which all CPUs together can do the work, ns.
    work: i64,
    /// The rest of the analysed time, ns.
    rest: i64,
}

impl FullCpus {
    /// Reads the table `ready_wait`. `None`: they are not full.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub(crate) fn new(ctx: &RuleContext<'_>, program: &Program) -> Result<Option<Self>, EngineError> {
        let (mut running, cpus, span) = (0_i64, ctx.cpus()?.max(1), ctx.span().len().0);
        ctx.each_row(ready_wait::Table, |row| {
            let thread = row.get(ready_wait::THREAD);
            if program.is_own(thread) && !ctx.is_kernel_thread(thread) {
                running = running.saturating_add(row.get(ready_wait::RUNNING_NS));
            }
        })?;
        let work = running / cpus;
        let rest = (span - work).max(0);
        Ok((cpus > 1 && (rest as f64) < MAX_IDLE * span as f64).then_some(Self { cpus, work, rest }))
    }

    /// Limits what a finding saves whose fix only shares out the work better. Returns whether that is less than estimated.
    pub(crate) fn limit(&self, finding: &mut Finding) -> bool {
        let is_less = self.rest < finding.recoverable_ns;
        if finding.range_ns[1] > self.rest {
            finding.assumptions.push(format!(
                "it saves {} ms at most, as the CPUs are full: {} need {} ms for the running time of the program",
                ms(self.rest),
                plural(self.cpus.unsigned_abs(), "CPU"),
                ms(self.work)
            ));
            (finding.recoverable_ns, finding.range_ns) = limited(finding.recoverable_ns, finding.range_ns, self.rest);
        }
        is_less
    }
}

/// The best estimate and the range of a saving of at most `rest`, of which it may be half.
fn limited(best: i64, [low, high]: [i64; 2], rest: i64) -> (i64, [i64; 2]) {
    (best.min(rest), [low.min(rest / 2), high.min(rest)])
}

#[cfg(test)]
mod tests {
    use super::limited;

    #[test]
    fn a_saving_is_at_most_what_the_work_leaves() {
        assert_eq!(limited(60, [30, 90], 50), (50, [25, 50]));
        assert_eq!(limited(60, [20, 90], 70), (60, [20, 70]));
    }
}
