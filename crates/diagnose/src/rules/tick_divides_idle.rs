//! Ticks of the scheduler that end stays in idle states.

use crate::context::RuleContext;
use crate::finding::Confidence;
use crate::idleness::{BREAK_EVEN_NS, Cause, LostIdleness, MIN_LOST};
use crate::rule::{Fits, Page, Rule, RuleOutcome};
use engine::EngineError;
use model::tables::{self, idle_residency};
use model::words::{grouped, ms, plural, time};
use model::{Fix, ThreadKey};

pub(super) const RULE: Rule = Rule {
    id: "tick-divides-idle",
    about: "the scheduler's tick woke idle CPUs, so that they could not stay in a deep idle state",
    page: Page {
        description: "Stays of CPUs in idle states that were too short for the deepest one and that would have been long enough without the ticks \
                between them, in which no thread ran (table `lost_idleness`).",
        rationale: "The kernel stops the tick of a CPU that is idle for long. If it expects a short idle period, or may not stop the tick, the tick \
                  wakes the CPU up to a thousand times per second for nothing.",
        certainty: "The stays and the interrupts that ended them are recorded. Why the kernel kept the tick is not. Where the \
               machine's description has no idle states of its own, the break-even time is assumed. Energy is \
               estimated only where that of packages was measured: from nothing to what they used at their busiest power in the lost time.",
        fix: "Boot without nohz=off and highres=off; choose the governor teo, which expects short idle periods less often; and remove what wakes \
              CPUs often, because the governor expects more of it.",
        example: "A CPU is idle for 20 ms, but a tick ends its idle state every millisecond.",
    },
    tables: &[
        &tables::LOST_IDLENESS,
        &tables::IDLE_RESIDENCY,
        &tables::CPUS,
        &tables::ENERGY,
        &tables::POWER_OVER_TIME,
    ],
    thresholds: &[&MIN_LOST, &BREAK_EVEN_NS],
    explains: &[],
    worst: Fits::Nothing,
    shares_out_work: false,
    check,
};

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    let mut has_states = false;
    ctx.each_row(idle_residency::Table, |row| has_states |= row.get(idle_residency::STATE).is_some())?;
    if !has_states {
        return Ok(RuleOutcome::MissingData("the source has no idle states, so what ended them is unknown".to_owned()));
    }
    let lost = LostIdleness::new(ctx, Cause::Tick, false)?;
    let Some(of) = lost.by_thread.get(&ThreadKey::IDLE).copied().filter(|of| of.ns >= ctx.share_ns(&MIN_LOST)) else {
        return Ok(RuleOutcome::Findings(Vec::new()));
    };
    let title = format!(
        "the scheduler's tick woke idle CPUs {} for no thread: {} ms of idleness were lost, in {} stays in idle states shorter \
         than {}",
        plural(of.ended.unsigned_abs(), "time"),
        ms(of.ns),
        grouped(of.short),
        time(lost.counted_at)
    );
    let finding = lost.finding(
        ctx,
        &[(ThreadKey::IDLE, of)],
        |_| Fix::StopTick,
        |_| "Let the kernel stop the tick of idle CPUs".to_owned(),
        Confidence::Medium,
        title,
    );
    Ok(RuleOutcome::Findings(vec![finding]))
}
