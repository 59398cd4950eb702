//! Parallel regions whose threads get one piece each and wait for the slowest.

use crate::context::{EvidenceRows, RuleContext};
use crate::finding::{Confidence, Finding};
use crate::regions::{MIN_OF_REGIONS, NONE_MARKED, PIECES, Source, by_name, pieces, workers};
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use crate::unmarked::larger_share;
use crate::unmarked::tails::{self, MIN_OF_DETECTED, MIN_OF_FEW, Tails};
use engine::EngineError;
use model::tables::{self, parallel_regions};
use model::words::{ms, percent, plain, plural, short};
use model::{Fix, Ns, Row, Span};

pub(super) const RULE: Rule = Rule {
    id: "static-partition-barrier-tail",
    about: "a parallel region was split into one piece per thread, and all waited for the slowest",
    page: Page {
        description: "Parallel regions (stretches of one name that several threads of a process mark at the same time) with at most one piece per \
                thread, in which threads waited for the last one to arrive. Where nothing is marked: detected regions, and a thread for which another \
                one of its pool waits again and again while it works on, sampled in the same function.",
        rationale: "Equal pieces end at the same time only if all CPUs are equally fast and free: on a machine with unequal \
                  cores, the fast ones wait for the slow ones at every barrier.",
        certainty: "The stretches are what the program marked. One bound of the saving assumes that all threads are equally fast, the other that \
               pieces are equal work. The estimate is the smaller one, minus half of a smaller piece for all threads but the last: with dynamic \
               distribution, ends differ by the largest piece at most (Graham 1969). The cost of distributing pieces is not included.",
        fix: "Split the work into several pieces per thread, and give the next one to the thread that is free.",
        example: "A works for 2 ms and B for 4 ms, each on its half: with dynamic distribution, both would have been done after 3 ms.",
    },
    tables: &[
        &tables::PARALLEL_REGIONS,
        &tables::MARKS,
        &tables::READY_WAIT,
        &tables::WAITS,
        &tables::POOLS,
        &tables::SAMPLES,
    ],
    thresholds: &[&MIN_OF_REGIONS, &MIN_OF_DETECTED, &MIN_OF_FEW, &MAX_PIECES],
    explains: &["too-few-workers"],
    worst: Fits::WaitedForThread,
    shares_out_work: true,
    check,
};

const MAX_PIECES: Threshold = Threshold {
    name: "max_pieces",
    unit: Unit::Ratio,
    value: 1.0,
    reason: "pieces per thread: with more than one, the work was distributed dynamically, and chunks-too-large applies",
};

/// All regions of a name.
#[derive(Default)]
struct Regions {
    count: u64,
    threads: i64,
    best: Ns,
    from: Ns,
    to: Ns,
    spans: Vec<(Ns, Span)>,
    evidence: EvidenceRows,
}

/// The maximum number of spans that are listed.
const SPANS: usize = 8;

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    let mut found = Vec::new();
    let marked = by_name(ctx, Source::ByMarks, |sums: &mut Regions, row| add(ctx, sums, row))?;
    if marked.is_none() && !ctx.summary().ready_known {
        return Ok(RuleOutcome::MissingData(NONE_MARKED.to_owned()));
    }
    let least = ctx.share_ns(&MIN_OF_REGIONS).max(Ns(1));
    let is_marked = marked.is_some();
    for ((pid, name), sums) in marked.into_iter().flatten().filter(|(_, sums)| sums.best >= least) {
        found.push(finding(ctx, (pid, &name), sums)?);
    }
    found.extend(tails::find(ctx, Tails::OfOneThread, [&MIN_OF_DETECTED, &MIN_OF_FEW])?);
    if !is_marked && found.is_empty() {
        found.extend(larger_share::find(ctx, ctx.share_ns(&MIN_OF_DETECTED).max(Ns(1)))?);
    }
    Ok(RuleOutcome::Findings(found))
}

/// Adds a region, if its threads got one piece each.
fn add(ctx: &RuleContext<'_>, sums: &mut Regions, row: &Row<'_, parallel_regions::Table>) {
    let [threads, stretches] = row.all([parallel_regions::THREADS, parallel_regions::STRETCHES]);
    let [worked, from, to, ran, ready] = row.all([
        parallel_regions::WORKED_NS,
        parallel_regions::RECOVERABLE_FROM_NS,
        parallel_regions::RECOVERABLE_TO_NS,
        parallel_regions::WAITING_RUNNING_NS,
        parallel_regions::LAST_READY_NS.or_zero(),
    ]);
    if stretches as f64 > ctx.threshold(&MAX_PIECES) * threads as f64 {
        return;
    }
    // The largest piece is about twice the mean. The first thread to finish waits for a whole one, the last for none, the others
    // for any part of it: half a piece each, for all but the last. With two threads that is half as much as with many.
    let left = worked / threads.max(1) / PIECES * (threads - 1) / threads.max(1);
    sums.count += 1;
    // Smaller pieces do not take a CPU from a thread that spins on it.
    let delayed = ran.min(ready);
    sums.best += (from - left - delayed).max(Ns::ZERO);
    sums.threads = sums.threads.max(threads);
    (sums.from, sums.to) = (sums.from + from, sums.to + to);
    sums.evidence.push(
        from,
        row,
        &[
            &parallel_regions::THREADS,
            &parallel_regions::STRETCHES,
            &parallel_regions::TAIL_NS,
            &parallel_regions::WAITING_NS,
            &parallel_regions::RECOVERABLE_FROM_NS,
            &parallel_regions::RECOVERABLE_TO_NS,
        ],
    );
    sums.spans.push((from, Span::new(row.get(parallel_regions::START_NS), row.get(parallel_regions::END_NS))));
    if sums.spans.len() > 2 * SPANS {
        cut(&mut sums.spans);
    }
}

fn finding(ctx: &RuleContext<'_>, (pid, name): (Option<i64>, &str), mut sums: Regions) -> Result<Finding, EngineError> {
    let claims = workers(ctx, Source::ByMarks, (pid, name), sums.best)?;
    let region = short(&plain(name), 40);
    let chunks = pieces(sums.threads, PIECES);
    let change = Fix::Chunks { region: region.clone(), chunks };
    cut(&mut sums.spans);
    let mut spans: Vec<Span> = sums.spans.into_iter().map(|(_, span)| span).collect();
    spans.sort_by_key(|span| span.start);
    Ok(Finding {
        title: format!(
            "{} waited for the slowest one in {} of {region} (one piece each): {} ms ({} of the time) lost",
            plural(sums.threads.unsigned_abs(), "thread"),
            plural(sums.count, "region"),
            ms(sums.best),
            percent(sums.best, ctx.span().len())
        ),
        severity: ctx.severity(sums.best),
        recoverable_ns: sums.best,
        range_ns: [Ns::ZERO, sums.to],
        confidence: Confidence::Medium,
        spans,
        evidence: sums.evidence.finish(),
        assumptions: vec![
            "pieces can be distributed at no cost".to_owned(),
            "the smaller of two estimates: all threads are equally fast; all pieces are equal work (upper bound: the larger one)"
                .to_owned(),
            format!(
                "with {PIECES} pieces per thread, half of the largest piece, which is twice the mean, is left at the end for all but the last thread (lower bound: one part cannot be split)"
            ),
        ],
        ..ctx.finding(claims, change, format!("Split {region} into more pieces that are distributed dynamically"))
    })
}

/// Keeps the spans with the largest losses.
fn cut(spans: &mut Vec<(Ns, Span)>) {
    spans.sort_by_key(|(ns, _)| std::cmp::Reverse(*ns));
    spans.truncate(SPANS);
}
