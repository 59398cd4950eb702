//! How full the CPUs are with the work of the program.
//!
//! ```text
//!   cpu0   work work work work │        The work takes 4. If both CPUs share it evenly, it takes 3.5. Sharing it out better saves
//!   cpu1   work work work .    │        0.5 at most.
//! ```
//!
//! This holds only if little is idle. Work that is divided differently may also become less (better use of caches, smaller dictionaries): in two
//! real programs, a third of the running time disappeared with the fix.

use crate::context::RuleContext;
use crate::finding::Finding;
use crate::program::Program;
use engine::EngineError;
use model::Ns;
use model::words::{ms, plural};

/// The CPUs are full if the program leaves less than this part of their time.
const MAX_IDLE: f64 = 0.1;

/// What the work of the program leaves of the CPUs' time, if they are full.
pub(crate) struct FullCpus {
    cpus: i64,
    /// The time in which all CPUs together can do the work, ns.
    work: Ns,
    /// The rest of the analysed time, ns.
    rest: Ns,
}

impl FullCpus {
    /// Reads the table `ready_wait`. `None`: they are not full.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub(crate) fn new(ctx: &RuleContext<'_>, program: &Program) -> Result<Option<Self>, EngineError> {
        let (cpus, span) = (ctx.cpus()?.max(1), ctx.span().len());
        let running = ctx.running_ns(|thread| program.is_own(thread) && !ctx.is_kernel_thread(thread))?;
        let work = running / cpus;
        let rest = (span - work).max(Ns::ZERO);
        Ok((cpus > 1 && rest.as_f64() < MAX_IDLE * span.as_f64()).then_some(Self { cpus, work, rest }))
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
fn limited(best: Ns, [low, high]: [Ns; 2], rest: Ns) -> (Ns, [Ns; 2]) {
    (best.min(rest), [low.min(rest / 2), high.min(rest)])
}

#[cfg(test)]
mod tests {
    use super::{Ns, limited};

    #[test]
    fn a_saving_is_at_most_what_the_work_leaves() {
        assert_eq!(limited(Ns(60), [Ns(30), Ns(90)], Ns(50)), (Ns(50), [Ns(25), Ns(50)]));
        assert_eq!(limited(Ns(60), [Ns(20), Ns(90)], Ns(70)), (Ns(60), [Ns(20), Ns(70)]));
    }
}
