//! The critical thread ran on a slower core while a faster one was idle.

use super::{MIN_PATH_SHARE, MIN_SHARE, ONE_TYPE, has_core_types};
use crate::context::{EvidenceRows, RuleContext, threads};
use crate::finding::{Confidence, Finding};
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use crate::slower::{SLOWER_SPEED, Saving};
use crate::speeds::Speeds;
use engine::EngineError;
use model::tables::{self, critical_by_thread, placement};
use model::words::{ms, percent};
use model::{CoreType, Fix, Ns, ThreadKey};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "critical-thread-on-efficient-core",
    about: "a thread on the critical path ran on a slower core while a faster core was idle",
    page: Page {
        description: "Threads that ran on the critical path on a core of a slower type while a whole core of a faster type was idle, on which they \
                are allowed.",
        rationale: "A slowdown on the critical path delays the end by the same time; a slowdown elsewhere does not. A thread that has run little \
                  so far, or that is woken for short times, looks light to a scheduler that places threads by load.",
        certainty: "Which cores were idle and where the thread is allowed is known. If its affinity was not recorded, such time counts only for the \
               upper bound and never makes a finding more than low. Time on a slower core while the faster ones were busy is not counted: the \
               trace does not show whether their work could have waited. How much slower a core is comes from the kernel's capacities; if \
               these are unknown, from the thread's own bursts on both types (cpu_bursts), then from other threads' bursts, then from an \
               assumed value.",
        fix: "Mark the thread as urgent: a utilisation clamp, a better nice value, or no EcoQoS; remove affinity masks that exclude the faster cores.",
        example: "A runs alone for 4 ms on an efficient core while a performance core is idle.",
    },
    tables: &[&tables::PLACEMENT, &tables::CRITICAL_BY_THREAD, &tables::CPU_BURSTS, &tables::CPUS],
    thresholds: &[&MIN_PATH_SHARE, &MIN_SLOWER_SHARE, &SLOWER_SPEED, &MIN_SHARE],
    explains: &[],
    worst: Fits::RunningSlower,
    shares_out_work: false,
    check,
};

const MIN_SLOWER_SHARE: Threshold = Threshold {
    name: "min_slower_share",
    unit: Unit::Ratio,
    value: 0.1,
    reason: "of the thread's own part of the path: a thread that wakes while the faster cores are busy starts on a slower one and is moved at \
             the next load balancing, some ms after a faster one becomes idle; no setting avoids this small rest",
};

/// How long a thread ran on a slower core while a faster one was idle, ns.
struct Slow {
    known: Ns,
    possible: Ns,
    cost: Option<Ns>,
}

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    if !has_core_types(ctx)? {
        return Ok(RuleOutcome::MissingData(ONE_TYPE.to_owned()));
    }
    if !ctx.summary().ready_known {
        return Ok(RuleOutcome::MissingData(
            "the source has no wakeups, so it is unknown which thread waited for which".to_owned(),
        ));
    }
    let least = ctx.share_ns(&MIN_SHARE).max(Ns(1));
    let (mut slow, mut evidence) = (BTreeMap::new(), EvidenceRows::default());
    ctx.each_row(placement::Table, |row| {
        let (thread, known, possible) =
            row.all((placement::THREAD, placement::SLOWER_CORE_LOWER_NS, placement::SLOWER_CORE_UPPER_NS));
        if possible >= least {
            slow.insert(thread, Slow { known, possible, cost: row.get(placement::COST_LOWER_NS) });
        }
    })?;
    // The critical path of a file requires a pass of its own.
    if slow.is_empty() {
        return Ok(RuleOutcome::Findings(Vec::new()));
    }
    let (mut claims, mut best_of, mut whole) = (Vec::new(), None::<(ThreadKey, Saving, Ns, Ns)>, ctx.span().len());
    whole = whole.max(Ns(1));
    let speeds = Speeds::new(ctx)?;
    ctx.each_row(critical_by_thread::Table, |row| {
        let (thread, tid, path) =
            row.all((critical_by_thread::THREAD, critical_by_thread::TID.or_zero(), critical_by_thread::PATH_NS));
        let Some(Slow { known, possible, cost }) = slow.get(&thread) else { return };
        let there: Ns = row
            .all([
                critical_by_thread::RUNNING_MIDDLE_NS,
                critical_by_thread::RUNNING_EFFICIENT_NS,
                critical_by_thread::RUNNING_LOW_POWER_NS,
            ])
            .iter()
            .sum();
        let (on_path, possible) = (there.min(*known), there.min(*possible));
        let saving = Saving::of(ctx, &speeds, thread, [on_path, possible], cost.map(|cost| (cost, *known)));
        let is_least = |ns: Ns, least: &Threshold, total: Ns| ns.as_f64() >= ctx.threshold(least) * total.as_f64();
        let decides = is_least(path, &MIN_PATH_SHARE, whole) && is_least(possible, &MIN_SLOWER_SHARE, path);
        if !decides || saving.range[1] < least {
            return;
        }
        claims.push(ctx.claim(thread, tid, saving.best));
        evidence.push(
            possible,
            row,
            &[
                &critical_by_thread::PATH_NS,
                &critical_by_thread::RUNNING_MIDDLE_NS,
                &critical_by_thread::RUNNING_EFFICIENT_NS,
                &critical_by_thread::RUNNING_LOW_POWER_NS,
            ],
        );
        if best_of.as_ref().is_none_or(|(_, best, ..)| (best.best, best.range[1]) < (saving.best, saving.range[1])) {
            best_of = Some((thread, saving, path, if on_path > Ns::ZERO { on_path } else { possible }));
        }
    })?;
    let Some((first, saving, path, slower)) = best_of else { return Ok(RuleOutcome::Findings(Vec::new())) };
    let is_known = saving.best >= least;
    let of_first: Vec<_> = claims.iter().filter(|c| c.thread == first).cloned().collect();
    let change = Fix::CoreType { threads: threads(&of_first), prefer: CoreType::Performance };
    let finding = ctx.finding(claims, change, format!("Allow {} to run on the fastest cores", ctx.name(first)));
    Ok(RuleOutcome::Findings(vec![Finding {
        title: format!(
            "{}, which is {} of the critical path, ran for {} ms of it on a slower core while a faster one was idle{}",
            ctx.name(first),
            percent(path, whole),
            ms(slower),
            if is_known { "" } else { ", if its affinity allows that core" }
        ),
        range_ns: saving.range,
        confidence: if is_known { Confidence::High } else { Confidence::Low },
        evidence: evidence.finish(),
        assumptions: vec![
            saving.words(ctx),
            "its time on a slower core while a faster one was idle was on the critical path, as far as the path contains such time"
                .to_owned(),
            "no other path becomes critical before the thread has saved this time".to_owned(),
        ],
        ..finding
    }]))
}
