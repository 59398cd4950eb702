//! Parallel work that takes longer with more threads than with fewer.

use super::MIN_SHARE;
use crate::context::{EvidenceRows, RuleContext, threads};
use crate::finding::{Confidence, Finding};
use crate::regions::{NONE_MARKED, Source, by_name, workers};
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, parallel_regions};
use model::words::{ms, plain, plural, short};
use model::{Amount, Fix, Ns};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "worker-pool-larger-than-useful",
    about: "a parallel region took longer with more threads than with fewer",
    page: Page {
        description: "Parallel regions of one name (stretches that several threads of a process mark at the same time) that were run with different numbers of \
                threads in one recording, took longer with more of them, and whose pieces took longer in total too.",
        rationale: "Threads share CPUs, cores, caches and memory bandwidth. Beyond some number, each thread slows down all others: their pieces take \
                  longer because they wait for a CPU or because each instruction takes more cycles, and the region ends later than with fewer threads. \
                  A game that started 22 workers was slower than with 10.",
        certainty: "How long regions took with how many threads is known. It is an assumption that those of one name are equal work, likely if they \
               were split into equally many pieces. Otherwise more threads may just have been used for more work, and the confidence is \
               low. It is unknown whether a number of threads that did not occur would be better.",
        fix: "Choose the pool size by measurement, not by the number of CPUs: try several sizes and keep the fastest.",
        example: "With 2 threads a step takes 2 ms; with 4 on the same two CPUs 3 ms, and its pieces 12 ms in total instead of 4.",
    },
    tables: &[&tables::PARALLEL_REGIONS, &tables::MARKS, &tables::READY_WAIT],
    thresholds: &[&MIN_REGIONS, &MIN_SLOWER, &MIN_SHARE],
    explains: &[],
    worst: Fits::WaitedForThread,
    shares_out_work: false,
    check,
};

const MIN_REGIONS: Threshold = Threshold {
    name: "min_regions",
    unit: Unit::Count,
    value: 3.0,
    reason: "for each number of threads: the average of fewer is not reliable",
};

const MIN_SLOWER: Threshold = Threshold {
    name: "min_slower",
    unit: Unit::Ratio,
    value: 1.05,
    reason: "average time relative to that with fewer threads; heuristic: runs differ by a few percent anyway",
};

/// All regions of a name that the same number of threads did.
#[derive(Default)]
struct Done {
    count: i64,
    time: Ns,
    fastest: Ns,
    worked: Ns,
    stretches: i64,
}

impl Done {
    fn average(&self, total: impl Amount) -> f64 {
        total.number() as f64 / self.count.max(1) as f64
    }
}

/// All regions of a name, by the number of threads.
#[derive(Default)]
struct Regions {
    by_threads: BTreeMap<i64, Done>,
    evidence: EvidenceRows,
}

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    let regions = by_name(ctx, Source::ByMarks, |sums: &mut Regions, row| {
        let (threads, stretches, start, end, worked) = row.all((
            parallel_regions::THREADS,
            parallel_regions::STRETCHES,
            parallel_regions::START_NS,
            parallel_regions::END_NS,
            parallel_regions::WORKED_NS,
        ));
        let (time, done) = (end - start, sums.by_threads.entry(threads).or_default());
        done.fastest = if done.count == 0 { time } else { done.fastest.min(time) };
        done.count += 1;
        done.time += time;
        done.worked += worked;
        done.stretches = done.stretches.saturating_add(stretches);
        sums.evidence.push(
            time,
            row,
            &[
                &parallel_regions::THREADS,
                &parallel_regions::STRETCHES,
                &parallel_regions::END_NS,
                &parallel_regions::WORKED_NS,
            ],
        );
    })?;
    let Some(regions) = regions else { return Ok(RuleOutcome::MissingData(NONE_MARKED.to_owned())) };
    if regions.values().all(|sums| sums.by_threads.len() < 2) {
        let why =
            "each region always ran with the same number of threads; use a smaller pool for part of the recording";
        return Ok(RuleOutcome::MissingData(why.to_owned()));
    }
    let mut found = Vec::new();
    for ((pid, name), sums) in regions {
        found.extend(finding(ctx, pid, &name, sums)?);
    }
    Ok(RuleOutcome::Findings(found))
}

fn finding(ctx: &RuleContext<'_>, pid: Option<i64>, name: &str, sums: Regions) -> Result<Option<Finding>, EngineError> {
    let enough = |done: &&Done| done.count as f64 >= ctx.threshold(&MIN_REGIONS);
    let known: BTreeMap<i64, &Done> =
        sums.by_threads.iter().map(|(n, done)| (*n, done)).filter(|(_, d)| enough(d)).collect();
    let Some((size, few)) = known.iter().min_by(|a, b| a.1.average(a.1.time).total_cmp(&b.1.average(b.1.time))) else {
        return Ok(None);
    };
    let (least, slower) = (few.average(few.time), ctx.threshold(&MIN_SLOWER));
    let larger = known.range(size + 1..).filter(|(_, done)| {
        done.average(done.time) >= slower * least && done.average(done.worked) > few.average(few.worked)
    });
    // The number of threads with the largest loss, and the loss of all that are too many.
    let (mut most, mut lost, mut upper, mut same_pieces) = (None::<(i64, &Done, Ns)>, Ns::ZERO, Ns::ZERO, true);
    for (threads, done) in larger {
        let own = (done.time - Ns::nearest(least * done.count as f64)).max(Ns::ZERO);
        lost += own;
        upper += (done.time - few.fastest * done.count).max(Ns::ZERO);
        same_pieces &= done.average(done.stretches) == few.average(few.stretches);
        if most.is_none_or(|(.., ns)| ns < own) {
            most = Some((*threads, done, own));
        }
    }
    let Some((many, done, _)) = most.filter(|_| lost >= ctx.share_ns(&MIN_SHARE).max(Ns(1))) else { return Ok(None) };
    let claims = workers(ctx, Source::ByMarks, (pid, name), lost)?;
    let region = short(&plain(name), 40);
    let pool = threads(&claims);
    let what = format!("Run {region} with {size} threads");
    let change = Fix::PoolSize { threads: pool, size: u32::try_from(*size).unwrap_or(u32::MAX) };
    Ok(Some(Finding {
        title: format!(
            "{region} took {} ms on average with {} in {}, and {} ms with {size}: {} ms lost",
            ms(Ns::whole(done.average(done.time))),
            plural(many.unsigned_abs(), "thread"),
            plural(done.count.unsigned_abs(), "region"),
            ms(Ns::whole(least)),
            ms(lost)
        ),
        severity: ctx.severity(lost),
        recoverable_ns: lost,
        range_ns: [Ns::ZERO, upper.max(lost)],
        confidence: if same_pieces { Confidence::Medium } else { Confidence::Low },
        evidence: sums.evidence.finish(),
        assumptions: vec![
            "regions of one name are equal work (lower bound: those with more threads had more to do)".to_owned(),
            format!(
                "with {size} threads, each takes as long as such regions did on average (upper bound: as the fastest of them)"
            ),
        ],
        ..ctx.finding(claims, change, what)
    }))
}
