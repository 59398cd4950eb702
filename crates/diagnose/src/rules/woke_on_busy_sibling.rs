//! Threads that were woken onto a CPU with a busy SMT sibling while a whole core was idle.

use super::{MAX_LOSS, MIN_SHARE, NO_SIBLINGS, SMT_GAIN, gain_words, loss, shares_cores};
use crate::context::{EvidenceRows, RuleContext, threads};
use crate::finding::{Claim, Confidence, Finding};
use crate::rule::{Fits, Page, Rule, RuleOutcome};
use crate::speeds::{Speed, Speeds};
use engine::EngineError;
use model::tables::{self, placement, smt_cores};
use model::words::ms;
use model::{CpuId, Fix, Ns, ThreadKey};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "woke-on-busy-sibling",
    about: "a thread was woken onto a CPU with a busy SMT sibling while a whole core of the same type was idle",
    page: Page {
        description: "Threads that were woken onto a CPU whose SMT sibling was busy while a whole core of the same type, on which they are allowed, was \
                free, and that ran there, with such a core still idle, until they waited again or were moved. A core for which another \
                thread is queued is not free. A thread that was alone on its core when woken, and got a busy sibling later, is not reported; nor \
                is a thread that was woken while no whole core was free, even if one became idle later, as the wakeup did not decide that. Half of \
                such time is included in the estimate of a reported thread, as the same cause keeps it there.",
        rationale: "Two threads on one core share its units and caches: together they do a third more work than one alone, so each is a third \
                  slower than on a core of its own, which was available.",
        certainty: "Which cores were idle and where threads are allowed is known. If affinity was not recorded, such time counts only for the upper \
               bound and never makes a finding more than low. The throughput of two siblings depends on the code: \
               two that wait for memory lose nothing, two that fill a core's units lose half. If the thread did similar work with a busy sibling and \
               alone, its own bursts (table cpu_bursts) show the loss; otherwise it is assumed.",
        fix: "Remove affinities that keep the threads together, or use CPUs of different cores. If the kernel should have chosen the \
               idle core (select_idle_core needs a known shared cache), report it to the kernel developers.",
        example: "B is woken on the sibling of A's CPU, and both run there for 3 ms while the other core is idle.",
    },
    tables: &[&tables::PLACEMENT, &tables::CPU_BURSTS, &tables::SMT_CORES],
    thresholds: &[&SMT_GAIN, &MIN_SHARE],
    explains: &[],
    worst: Fits::Running,
    shares_out_work: false,
    check,
};

/// The share of its time that a thread loses while its SMT sibling is busy.
struct SiblingLoss {
    best: f64,
    max: f64,
    own: Option<Speed>,
}

impl SiblingLoss {
    /// By the thread's own bursts, if possible; else by the threshold `smt_gain`.
    fn of(ctx: &RuleContext<'_>, speeds: &Speeds, thread: ThreadKey) -> Self {
        match speeds.with_busy_sibling(thread) {
            Some(own) => Self { best: 1.0 - own.best, max: (1.0 - own.range[0]).max(MAX_LOSS), own: Some(own) },
            None => {
                let best = loss(ctx.threshold(&SMT_GAIN));
                Self { best, max: ctx.interval(&SMT_GAIN).map_or(MAX_LOSS, |[low, _]| loss(low)), own: None }
            }
        }
    }

    /// The assumptions that it is based on.
    fn words(&self, ctx: &RuleContext<'_>) -> Vec<String> {
        match &self.own {
            Some(own) => vec![format!(
                "its speed while its sibling is busy, relative to alone, is taken from {}, if they did the same work (lower bound: \
                 it loses nothing; upper bound: half)",
                own.words()
            )],
            None => gain_words(ctx).into(),
        }
    }
}

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    match shares_cores(ctx)? {
        None => return Ok(RuleOutcome::MissingData(NO_SIBLINGS.to_owned())),
        Some(false) => return Ok(RuleOutcome::Findings(Vec::new())),
        Some(true) => {}
    }
    if !ctx.summary().ready_known {
        return Ok(RuleOutcome::MissingData(
            "the source has no wakeups, so it is unknown which thread was woken".to_owned(),
        ));
    }
    let (mut claims, mut evidence, mut woken_for, mut upper) =
        (Vec::new(), EvidenceRows::default(), BTreeMap::new(), Ns::ZERO);
    let least = ctx.share_ns(&MIN_SHARE).max(Ns(1));
    let speeds = Speeds::new(ctx)?;
    ctx.each_row(placement::Table, |row| {
        let (thread, tid, known, possible) = row.all((
            placement::THREAD,
            placement::TID,
            placement::WOKEN_SIBLING_LOWER_NS,
            placement::WOKEN_SIBLING_UPPER_NS,
        ));
        if possible < least {
            return;
        }
        let loss = SiblingLoss::of(ctx, &speeds, thread);
        if possible.as_f64() * loss.best >= least.as_f64() {
            // The same cause keeps the thread there when a whole core becomes idle after a wakeup that found none. It is unknown when it
            // would have been moved, so between nothing and all of this time would be saved.
            let [with_sibling, with_sibling_possible] =
                row.all([placement::BUSY_SIBLING_LOWER_NS, placement::BUSY_SIBLING_UPPER_NS]);
            let later = if known > Ns::ZERO { (with_sibling - known).max(Ns::ZERO) / 2 } else { Ns::ZERO };
            claims.push(ctx.claim(thread, tid, (known + later).scaled(loss.best)));
            upper = upper.max(possible.max(with_sibling_possible).scaled(loss.max));
            woken_for.insert(thread, (possible, loss));
            evidence.push(
                possible,
                row,
                &[
                    &placement::WOKEN_SIBLING_LOWER_NS,
                    &placement::WOKEN_SIBLING_UPPER_NS,
                    &placement::BUSY_SIBLING_LOWER_NS,
                    &placement::RUNNING_NS,
                ],
            );
        }
    })?;
    let longest = |c: &&Claim| (woken_for.get(&c.thread).map(|(ns, _)| *ns), std::cmp::Reverse(c.thread));
    let Some(woken) = claims.iter().max_by_key(longest).cloned() else { return Ok(RuleOutcome::Findings(Vec::new())) };
    let Some((ran, loss)) = woken_for.get(&woken.thread) else { return Ok(RuleOutcome::Findings(Vec::new())) };
    let mut cpus = Vec::new();
    ctx.each_row(smt_cores::Table, |row| cpus.extend(u32::try_from(row.get(smt_cores::FIRST_CPU)).ok().map(CpuId)))?;
    let change = Fix::Affinity { threads: threads(std::slice::from_ref(&woken)), cpus };
    let finding = ctx.finding(claims, change, format!("Keep {} to one CPU of each core", woken.name));
    let is_known = finding.recoverable_ns >= least;
    Ok(RuleOutcome::Findings(vec![Finding {
        title: format!(
            "{} was woken onto a CPU with a busy sibling and ran there for up to {} ms while a whole core was idle{}",
            woken.name,
            ms(*ran),
            if is_known { "" } else { ", if its affinity allows that core" }
        ),
        range_ns: [Ns::ZERO, upper],
        confidence: if is_known { Confidence::Medium } else { Confidence::Low },
        evidence: evidence.finish(),
        assumptions: [
            loss.words(ctx),
            vec![
            "half of its other time there while a whole core was idle would have been saved too (lower bound: none; \
             upper bound: all)"
                .to_owned(),
            "the idle core would not have slowed down other threads (its clock, a cold cache)".to_owned(),
            ],
        ]
        .concat(),
        ..finding
    }]))
}
