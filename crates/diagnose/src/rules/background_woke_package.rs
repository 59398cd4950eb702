//! Background threads that wake a package.

use crate::context::RuleContext;
use crate::finding::Confidence;
use crate::idleness::{BREAK_EVEN_NS, Cause, LostIdleness, MIN_LOST};
use crate::priorities::NICE_0;
use crate::rule::{Fits, Page, Rule, RuleOutcome};
use engine::EngineError;
use model::tables::{self, priority_residency};
use model::words::{grouped, ms, plural, time};
use model::{Fix, Ns, ThreadKey, Threads};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "background-woke-package",
    about: "a background thread woke a package again and again, so that it could not stay in a deep idle state",
    page: Page {
        description: "Threads with a nice value above 0 that were alone on a package that was idle otherwise, and without which idle periods of \
                the package that are too short for its deepest idle state would have been long enough (table `lost_idleness`).",
        rationale: "Work in the background is not urgent. If it comes piece by piece, each piece wakes a package with everything that its CPUs \
                  share (caches, memory controller). Done together, the same work leaves the rest of the time idle.",
        certainty: "The priorities and idle periods are recorded. That the work may wait is inferred from the nice value. \
               Where the machine's description has no idle states of its own, the break-even time is assumed. Energy is \
               estimated only where that of packages was measured: from nothing to what they used at their busiest power in the lost time.",
        fix: "Give the thread its work in larger pieces, less often, or when the package is awake anyway.",
        example: "A with nice 10 handles one record every 300 µs while the CPUs are idle.",
    },
    tables: &[
        &tables::LOST_IDLENESS,
        &tables::PRIORITY_RESIDENCY,
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
    if !ctx.summary().ready_known {
        return Ok(RuleOutcome::MissingData(
            "the source has no wakeups, so what ended idle periods is unknown".to_owned(),
        ));
    }
    let lost = LostIdleness::new(ctx, Cause::Thread, true)?;
    let least = ctx.share_ns(&MIN_LOST);
    // Running time with a nice value above 0, and in total.
    let (mut running, mut is_recorded) = (BTreeMap::<ThreadKey, [Ns; 2]>::new(), false);
    ctx.each_row(priority_residency::Table, |row| {
        let Some(prio) = row.get(priority_residency::PRIO) else { return };
        is_recorded = true;
        let (thread, ns) = row.all((priority_residency::THREAD, priority_residency::RUNNING_NS));
        let sums = running.entry(thread).or_default();
        sums[0] += if prio > NICE_0 { ns } else { Ns::ZERO };
        sums[1] += ns;
    })?;
    if !is_recorded {
        return Ok(RuleOutcome::MissingData(
            "the source has no priorities, so background threads are unknown".to_owned(),
        ));
    }
    let is_background = |thread: ThreadKey| running.get(&thread).is_some_and(|[nice, all]| *nice * 2 > *all);
    let threads: Vec<_> = lost
        .by_thread
        .iter()
        .filter(|(thread, of)| of.ns >= least && is_background(**thread) && !ctx.is_kernel_thread(**thread))
        .map(|(thread, of)| (*thread, *of))
        .collect();
    let Some((thread, most)) = threads.iter().max_by_key(|(thread, of)| (of.ns, std::cmp::Reverse(*thread))).copied()
    else {
        return Ok(RuleOutcome::Findings(Vec::new()));
    };
    let (counted_at, scope) = (lost.counted_at, lost.scope());
    let pieces = u32::try_from(most.ended).unwrap_or(u32::MAX).clamp(2, PIECES);
    let others = match threads.len() - 1 {
        0 => String::new(),
        n => format!("; {} in the background did so, too", plural(n as u64, "other thread")),
    };
    let title = format!(
        "{}, in the background, woke the {scope} {} while all else was idle: {} ms of idleness were lost, in {} idle \
         periods shorter than {}{others}",
        ctx.name(thread),
        plural(most.ended.unsigned_abs(), "time"),
        ms(most.ns),
        grouped(most.short),
        time(counted_at)
    );
    let finding = lost.finding(
        ctx,
        &threads,
        |threads: Threads| Fix::Batch { threads, pieces },
        |name| format!("Give {name} its work in larger pieces, less often"),
        Confidence::Medium,
        title,
    );
    Ok(RuleOutcome::Findings(vec![finding]))
}

/// The number of pieces per wakeup to begin with.
const PIECES: u32 = 10;
