//! The tails of detected regions, in which all threads but the last wait: static-partition-barrier-tail if the same thread is the last of
//! most regions, as its share of the work is fixed, and chunks-too-large if any thread is.

use crate::context::{EvidenceRows, RuleContext, add};
use crate::finding::{Confidence, Finding};
use crate::range::Range;
use crate::regions::{PIECES, Source, by_name, pieces, workers};
use crate::rule::{Threshold, Unit};
use engine::EngineError;
use model::tables::{parallel_regions, ready_wait};
use model::words::{ms, percent, plain, plural, short};
use model::{Fix, Ns, ThreadKey};
use std::collections::{BTreeMap, BTreeSet};

/// Whose tails to find.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tails {
    /// The same thread is last in most regions.
    OfOneThread,
    /// Any thread is.
    OfAny,
}

/// The minimum loss if there are many regions.
pub(crate) const MIN_OF_DETECTED: Threshold = Threshold {
    name: "min_detected_share",
    unit: Unit::Ratio,
    value: 0.05,
    reason: "of the analysed time, for at least ten regions that are detected, not marked: how many pieces their threads took is unknown. At \
             0.015, 12 of 60 drawn traces without a fault had a finding",
};

/// The same if there are few.
pub(crate) const MIN_OF_FEW: Threshold = Threshold {
    name: "min_few_share",
    unit: Unit::Ratio,
    value: 0.1,
    reason: "the same for fewer than ten regions: each program waits for its last piece once",
};

/// The number of regions from which on they are many.
const MANY: i64 = 10;

/// The tail is shorter with smaller pieces, but not without any.
const RANGE: Range = Range { low: 0.5, high: 1.45 };

/// The detected regions of a name.
#[derive(Default)]
struct Regions {
    count: i64,
    threads: i64,
    best: Ns,
    to: Ns,
    /// By thread: what the regions lose in which it is last.
    last: BTreeMap<ThreadKey, Ns>,
    evidence: EvidenceRows,
}

impl Regions {
    /// Whether one thread is last in so many of them that its share of the work must be fixed.
    fn are_of_one(&self) -> bool {
        let most = self.last.values().max().copied().unwrap_or(Ns::ZERO);
        let usual = 1.5 / self.threads.max(1) as f64;
        self.count < MANY || most.as_f64() >= usual.max(0.5) * self.best.max(Ns(1)).as_f64()
    }
}

/// Returns the findings about these tails; `limits`: [`MIN_OF_DETECTED`] and [`MIN_OF_FEW`].
pub(crate) fn find(ctx: &RuleContext<'_>, tails: Tails, limits: [&Threshold; 2]) -> Result<Vec<Finding>, EngineError> {
    let regions = by_name(ctx, Source::Detected, |sums: &mut Regions, row| {
        let (threads, worked, from, to, ready) = row.all((
            parallel_regions::THREADS,
            parallel_regions::WORKED_NS,
            parallel_regions::RECOVERABLE_FROM_NS,
            parallel_regions::RECOVERABLE_TO_NS,
            parallel_regions::LAST_READY_NS.or_zero(),
        ));
        // As for marked regions: a part of the largest piece is left. The last thread also came late because it waited for a CPU.
        let left = worked / threads.max(1) / PIECES * (threads - 1) / threads.max(1);
        let best = (from - left - ready).max(Ns::ZERO);
        sums.count += 1;
        sums.threads = sums.threads.max(threads);
        sums.best += best;
        sums.to += to;
        add(&mut sums.last, row.get(parallel_regions::LAST_THREAD), best);
        sums.evidence.push(
            best,
            row,
            &[
                &parallel_regions::THREADS,
                &parallel_regions::TAIL_NS,
                &parallel_regions::WAITING_NS,
                &parallel_regions::LAST_READY_NS,
                &parallel_regions::RECOVERABLE_FROM_NS,
            ],
        );
    })?;
    let mut found = Vec::new();
    for ((pid, name), sums) in regions.into_iter().flatten() {
        let least = ctx.share_ns(limits[usize::from(sums.count < MANY)]).max(Ns(1));
        if sums.best >= least && sums.are_of_one() == (tails == Tails::OfOneThread) {
            found.push(finding(ctx, tails, (pid, &name), sums)?);
        }
    }
    Ok(found)
}

fn finding(
    ctx: &RuleContext<'_>,
    tails: Tails,
    (pid, name): (Option<i64>, &str),
    sums: Regions,
) -> Result<Finding, EngineError> {
    let mut claims = workers(ctx, Source::Detected, (pid, name), sums.best)?;
    // The threads of a region may be processes.
    let known: BTreeSet<ThreadKey> = claims.iter().map(|claim| claim.thread).collect();
    ctx.each_row(ready_wait::Table, |row| {
        let (thread, tid) = row.all((ready_wait::THREAD, ready_wait::TID));
        if sums.last.contains_key(&thread) && !known.contains(&thread) {
            claims.push(ctx.claim(thread, tid, sums.best));
        }
    })?;
    let work = format!("the parallel work of {}", short(&plain(name), 40));
    let change = Fix::Chunks { region: work.clone(), chunks: pieces(sums.threads, PIECES) };
    let last = sums.last.iter().max_by_key(|(_, ns)| **ns).map_or_else(String::new, |(thread, _)| ctx.name(*thread));
    let who = match tails {
        Tails::OfOneThread => format!("mostly for the same one ({last})"),
        Tails::OfAny => "each time for another one".to_owned(),
    };
    Ok(Finding {
        title: format!(
            "{} waited for the last one in {} of {work}, {who}: {} ms ({} of the time) lost",
            plural(sums.threads.unsigned_abs(), "thread"),
            plural(sums.count.unsigned_abs(), "region"),
            ms(sums.best),
            percent(sums.best, ctx.span().len())
        ),
        severity: ctx.severity(sums.best),
        recoverable_ns: sums.best,
        range_ns: RANGE.of(sums.best),
        confidence: Confidence::Medium,
        evidence: sums.evidence.finish(),
        assumptions: vec![
            "regions are detected from wakeups and waits, and their threads are equally fast".to_owned(),
            format!(
                "with {PIECES} pieces per thread, half of the largest piece is left at the end for all but the last thread (lower bound: half \
                 of the rest is gained)"
            ),
        ],
        ..ctx.finding(claims, change, format!("Split {work} into more pieces that are distributed dynamically"))
    })
}
