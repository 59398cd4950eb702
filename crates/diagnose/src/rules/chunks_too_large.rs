//! Parallel regions with pieces so large that all threads wait for the last one.

use crate::context::{EvidenceRows, RuleContext};
use crate::finding::{Confidence, Finding};
use crate::regions::{MIN_OF_REGIONS, NONE_MARKED, Source, by_name, pieces, workers};
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use crate::unmarked::last_piece;
use crate::unmarked::tails::{self, MIN_OF_DETECTED, MIN_OF_FEW, Tails};
use engine::EngineError;
use model::tables::{self, parallel_regions};
use model::words::{grouped, ms, percent, plain, plural, short};
use model::{Fix, Ns};

pub(super) const RULE: Rule = Rule {
    id: "chunks-too-large",
    about: "a parallel region was split into few large pieces, and all threads waited for the last piece",
    page: Page {
        description: "Parallel regions with more than one piece per thread, but few, in which threads waited for the last one to arrive.",
        rationale: "With dynamic distribution, fast threads do more pieces, but one thread alone does the last one: the larger it is, the longer all \
                  others wait, especially if a slow core has it.",
        certainty: "The stretches are what the program marked. The bounds of the saving assume that all threads are equally fast, or that all \
               pieces are equal work. The estimate is the smaller one, minus half of a smaller piece that is still waited for. If one \
               piece is much larger than all others, smaller pieces help only if that one can be split.",
        fix: "Split the work into more pieces: about eight or more per thread.",
        example: "Three pieces of 2 ms for two threads: one thread does two of them, the other waits for 2 ms.",
    },
    tables: &[
        &tables::PARALLEL_REGIONS,
        &tables::MARKS,
        &tables::READY_WAIT,
        &tables::POOLS,
        &tables::CRITICAL_BY_THREAD,
        &tables::WAITS,
        &tables::CPUS,
    ],
    thresholds: &[&MAX_PIECES, &MIN_OF_REGIONS, &MIN_OF_DETECTED, &MIN_OF_FEW],
    explains: &["too-few-workers"],
    worst: Fits::Running,
    shares_out_work: true,
    check,
};

const MAX_PIECES: Threshold = Threshold {
    name: "max_pieces",
    unit: Unit::Ratio,
    value: 7.0,
    reason: "per thread: with eight or more, as recommended, the wait for the last piece is about as small as the overhead of finer pieces",
};

/// All regions of a name with few pieces.
#[derive(Default)]
struct Regions {
    count: u64,
    threads: i64,
    pieces: i64,
    max_pieces: i64,
    best: Ns,
    to: Ns,
    evidence: EvidenceRows,
}

/// The recommended factor for the number of pieces.
const FINER: i64 = 4;

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    let regions = by_name(ctx, Source::ByMarks, |sums: &mut Regions, row| {
        let (threads, pieces, worked, from, to) = row.all((
            parallel_regions::THREADS,
            parallel_regions::STRETCHES,
            parallel_regions::WORKED_NS,
            parallel_regions::RECOVERABLE_FROM_NS,
            parallel_regions::RECOVERABLE_TO_NS,
        ));
        // One piece per thread is checked by static-partition-barrier-tail.
        if threads < 1 || pieces <= threads || pieces as f64 > ctx.threshold(&MAX_PIECES) * threads as f64 {
            return;
        }
        sums.count += 1;
        sums.threads = sums.threads.max(threads);
        sums.pieces = sums.pieces.saturating_add(pieces);
        sums.max_pieces = sums.max_pieces.max(pieces);
        // Half of a piece on average: the first thread to finish waits for a whole piece, the last one for none.
        let left = worked / pieces / FINER / 2;
        sums.best += (from - left).max(Ns::ZERO);
        sums.to += to;
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
    })?;
    let least = ctx.share_ns(&MIN_OF_REGIONS).max(Ns(1));
    let Some(regions) = regions else {
        if !ctx.summary().ready_known {
            return Ok(RuleOutcome::MissingData(NONE_MARKED.to_owned()));
        }
        let mut found = last_piece::find(ctx, least)?;
        found.extend(tails::find(ctx, Tails::OfAny, [&MIN_OF_DETECTED, &MIN_OF_FEW])?);
        return Ok(RuleOutcome::Findings(found));
    };
    let mut found = Vec::new();
    for ((pid, name), sums) in regions.into_iter().filter(|(_, sums)| sums.best >= least) {
        found.push(finding(ctx, pid, &name, sums)?);
    }
    Ok(RuleOutcome::Findings(found))
}

fn finding(ctx: &RuleContext<'_>, pid: Option<i64>, name: &str, sums: Regions) -> Result<Finding, EngineError> {
    let claims = workers(ctx, Source::ByMarks, (pid, name), sums.best)?;
    let region = short(&plain(name), 40);
    let change = Fix::Chunks { region: region.clone(), chunks: pieces(sums.max_pieces, FINER) };
    Ok(Finding {
        title: format!(
            "{} waited for the last piece in {} of {region} ({} pieces in total): {} ms ({} of the time) lost",
            plural(sums.threads.unsigned_abs(), "thread"),
            plural(sums.count, "region"),
            grouped(sums.pieces),
            ms(sums.best),
            percent(sums.best, ctx.span().len())
        ),
        severity: ctx.severity(sums.best),
        recoverable_ns: sums.best,
        range_ns: [Ns::ZERO, sums.to],
        confidence: Confidence::Medium,
        evidence: sums.evidence.finish(),
        assumptions: vec![
            format!(
                "with {FINER} times as many pieces, half of such a piece is waited for at the end, and distributing them costs nothing"
            ),
            "the smaller of two estimates: all threads are equally fast; all pieces are equal work (upper bound: the larger one)"
                .to_owned(),
            "lower bound: one piece is larger than all others and cannot be split".to_owned(),
        ],
        ..ctx.finding(claims, change, format!("Split {region} into {FINER} times as many pieces"))
    })
}
