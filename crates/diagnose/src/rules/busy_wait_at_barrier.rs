//! Threads that busy-wait for the last thread of a parallel region on the CPU that it needs.

use crate::context::{EvidenceRows, RuleContext, add, threads};
use crate::finding::{Claim, Confidence, Finding};
use crate::pools::Processes;
use crate::regions::{MIN_OF_REGIONS, NONE_MARKED, Source, by_name, ready_outside, workers};
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use crate::unmarked::spinning;
use engine::EngineError;
use model::tables::{self, parallel_regions, ran_instead, ready_wait, waits};
use model::words::{ms, percent, plain, plural, short};
use model::{Fix, Ns, Span, ThreadKey};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const RULE: Rule = Rule {
    id: "busy-wait-at-barrier",
    about: "threads that had reached a barrier kept running while the last thread was ready but had no CPU",
    page: Page {
        description: "Parallel regions in which threads that had finished their pieces kept running until the last one was done, while that one was \
                ready but had no CPU.",
        rationale: "To the scheduler, a spinning thread looks busy: it gets its share of CPU time at the cost of the thread that all wait for. With as \
                  many CPUs as threads this only wastes energy. With fewer CPUs, each barrier costs milliseconds of time slices.",
        certainty: "The program marked the stretches, and what threads did after them is recorded. It is an assumption that a thread did nothing \
               useful after its arrival; it may have gone on to other work. The estimate is the minimum of three times: how long the last thread \
               was ready, how long the waiting threads ran, and how much later the last thread arrived than the first, minus the work that was \
               left at that point (with several pieces per thread, the largest piece in progress). Added to it is the time for which a thread \
               that waits for the region was queued behind the spinning threads after the region.",
        fix: "Block at the barrier after a short spin (OMP_WAIT_POLICY=passive, GOMP_SPINCOUNT), or start no more threads than CPUs.",
        example: "A has arrived and spins on CPU 0 for 2 ms, while C, which has not arrived yet, waits for that CPU.",
    },
    tables: &[
        &tables::PARALLEL_REGIONS,
        &tables::MARKS,
        &tables::READY_WAIT,
        &tables::RAN_INSTEAD,
        &tables::WAITS,
        &tables::THREADS,
        &tables::THREAD_STATE,
        &tables::SAMPLES,
        &tables::CPUS,
    ],
    thresholds: &[&MIN_SPINNING, &MIN_OF_REGIONS],
    // The spinning threads hold the CPUs that the critical thread waits for.
    explains: &["critical-thread-same-priority-as-workers"],
    worst: Fits::Running,
    shares_out_work: false,
    check,
};

const MIN_SPINNING: Threshold = Threshold {
    name: "min_spinning",
    unit: Unit::Ratio,
    value: 0.25,
    reason: "share of a region's waiting time for which the waiting threads ran: if four times as many threads as CPUs spin, a quarter of them \
             runs at a time; at barriers that block after a short spin, it is microseconds",
};

/// The largest piece of a region relative to the mean one, once CPUs are free. The largest takes a CPU for about twice as long as
/// the mean. But such regions have more threads than CPUs, so each piece takes longer by its wait for a CPU.
const LARGEST: f64 = 1.5;

/// All regions of a name.
#[derive(Default)]
struct Regions {
    count: u64,
    waiting: Ns,
    ran: Ns,
    /// For how long the last thread was ready while others spun.
    ready: Ns,
    /// How much earlier the last thread would have arrived.
    delayed: Ns,
    /// The regions, in order of time.
    spans: Vec<Span>,
    evidence: EvidenceRows,
}

/// The work that was left when the first thread arrived, if no thread had waited for a CPU. As that thread found no further piece,
/// each of the others was at a random point of its piece: the last of `threads` such pieces ends on average after (`threads` - 1) /
/// (`threads` + 1) of the largest piece. If each thread has one piece, it is unknown how much of it was left.
fn left(threads: i64, stretches: i64, worked: Ns) -> Ns {
    if stretches <= threads {
        return Ns::ZERO;
    }
    let last = (threads - 1) as f64 / (threads + 1) as f64;
    Ns::nearest(LARGEST * worked.as_f64() / stretches as f64 * last)
}

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    let mut has_data = false;
    let regions = by_name(ctx, Source::ByMarks, |sums: &mut Regions, row| {
        let Some(ready) = row.get(parallel_regions::LAST_READY_NS) else { return };
        let ran = row.get(parallel_regions::WAITING_RUNNING_NS);
        has_data = true;
        let [start, end] = row.all([parallel_regions::START_NS, parallel_regions::END_NS]);
        sums.spans.push(Span::new(start, end));
        // Checked per region: in other regions of the name, waiting threads may block, or wait for a last piece.
        if ran.as_f64() < ctx.threshold(&MIN_SPINNING) * row.get(parallel_regions::WAITING_NS).as_f64() {
            return;
        }
        let (threads, stretches, worked, tail) = row.all((
            parallel_regions::THREADS,
            parallel_regions::STRETCHES,
            parallel_regions::WORKED_NS,
            parallel_regions::TAIL_NS,
        ));
        let ready = ran.min(ready);
        let delayed = ready.min((tail - left(threads, stretches, worked)).max(Ns::ZERO));
        sums.count += 1;
        sums.ready += ready;
        sums.waiting += row.get(parallel_regions::WAITING_NS);
        sums.ran += ran;
        sums.delayed += delayed;
        sums.evidence.push(
            delayed,
            row,
            &[
                &parallel_regions::THREADS,
                &parallel_regions::TAIL_NS,
                &parallel_regions::WAITING_NS,
                &parallel_regions::WAITING_RUNNING_NS,
                &parallel_regions::LAST_READY_NS,
            ],
        );
    })?;
    let Some(mut regions) = regions else {
        let (found, any) = spinning::find(ctx, ctx.share_ns(&MIN_OF_REGIONS).max(Ns(1)))?;
        return Ok(if any { RuleOutcome::Findings(found) } else { RuleOutcome::MissingData(NONE_MARKED.to_owned()) });
    };
    if !has_data {
        return Ok(RuleOutcome::MissingData(
            "the source has no wakeups, or does not record which threads set marks".to_owned(),
        ));
    }
    let least = ctx.share_ns(&MIN_OF_REGIONS).max(Ns(1));
    regions.retain(|_, sums| sums.delayed >= least);
    let mut found = Vec::new();
    for ((pid, name), sums) in regions {
        found.push(finding(ctx, pid, &name, sums)?);
    }
    Ok(RuleOutcome::Findings(found))
}

fn finding(ctx: &RuleContext<'_>, pid: Option<i64>, name: &str, sums: Regions) -> Result<Finding, EngineError> {
    let claims = workers(ctx, Source::ByMarks, (pid, name), sums.delayed)?;
    let mut most = sums.ready;
    ctx.each_row(ready_wait::Table, |row| {
        if claims.iter().any(|c| c.thread == row.get(ready_wait::THREAD)) {
            most = most.max(row.get(ready_wait::READY_NS.or_zero()));
        }
    })?;
    // The thread that continues after the region needs a CPU too, and the spinning threads hold it.
    let after = match continuing_thread(ctx, pid, &claims, sums.count)? {
        Some((thread, queued_behind)) => queued_behind.min(ready_outside(ctx, thread, &sums.spans)?),
        None => Ns::ZERO,
    };
    let best = sums.delayed + after;
    let claims: Vec<Claim> = claims.into_iter().map(|claim| Claim { recoverable_ns: best, ..claim }).collect();
    let region = short(&plain(name), 40);
    let change = Fix::Block { threads: threads(&claims) };
    Ok(Finding {
        title: format!(
            "Threads that had reached the end of {region} kept running for {} of their waiting time in {}, while the last thread was ready for {} ms",
            percent(sums.ran, sums.waiting),
            plural(sums.count, "region"),
            ms(sums.ready)
        ),
        severity: ctx.severity(best),
        recoverable_ns: best,
        range_ns: [Ns::ZERO, most + after],
        confidence: Confidence::Medium,
        evidence: sums.evidence.finish(),
        assumptions: vec![
            "threads that ran after their arrival only waited (lower bound: they did other necessary work; upper bound: none of them would \
             have waited for a CPU)"
                .to_owned(),
            "the last thread would have got its CPU immediately, and with it would have done the work left when the first thread arrived (with \
             several pieces per thread, one and a half times the mean piece)"
                .to_owned(),
            "the thread that continues after the region would also have got a CPU immediately".to_owned(),
        ],
        ..ctx.finding(claims, change, format!("Block instead of spinning at the end of {region}"))
    })
}

/// Finds the thread of the process, other than the workers, that waits for them at least once per region and was queued behind them
/// for longest. Returns its key and that time.
fn continuing_thread(
    ctx: &RuleContext<'_>,
    pid: Option<i64>,
    workers: &[Claim],
    regions: u64,
) -> Result<Option<(ThreadKey, Ns)>, EngineError> {
    let processes = Processes::new(ctx)?;
    let workers: BTreeSet<ThreadKey> = workers.iter().map(|claim| claim.thread).collect();
    let is_other = |thread: ThreadKey| !workers.contains(&thread) && processes.pool(ctx, thread).0 == pid;
    let is_worker = |thread: Option<ThreadKey>| thread.is_some_and(|thread| workers.contains(&thread));
    let (mut waits, mut queued_behind) = (BTreeMap::new(), BTreeMap::new());
    ctx.each_row(waits::Table, |row| {
        if is_other(row.get(waits::THREAD)) && is_worker(row.get(waits::WAKER)) {
            add(&mut waits, row.get(waits::THREAD), row.get(waits::WAITS));
        }
    })?;
    ctx.each_row(ran_instead::Table, |row| {
        if is_other(row.get(ran_instead::THREAD)) && is_worker(row.get(ran_instead::RAN_INSTEAD)) {
            add(&mut queued_behind, row.get(ran_instead::THREAD), row.get(ran_instead::READY_NS));
        }
    })?;
    queued_behind.retain(|thread, _| waits.get(thread).is_some_and(|waits| waits.unsigned_abs() >= regions));
    Ok(queued_behind.into_iter().max_by_key(|(thread, ns)| (*ns, std::cmp::Reverse(*thread))))
}
