//! Threads that wait for the last one of a parallel region by running, on the CPU that it needs.

use crate::finding::{Claim, Confidence, Finding};
use crate::given::{Given, Shown, add, threads};
use crate::pools::Processes;
use crate::regions::{LEAST_OF_REGIONS, NONE_MARKED, by_name, ready_outside, workers};
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, parallel_regions, ready_by_thief, ready_wait, waits};
use model::words::{ms, percent, plain, plural, short};
use model::{Fix, Ns, Span};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const RULE: Rule = Rule {
    id: "busy-wait-at-barrier",
    about: "threads that had arrived at a barrier ran on, while the last to arrive was ready and had no CPU",
    page: Page {
        finds: "Parallel regions in which threads that had done their pieces kept running until the last one was done, and that one was ready \
                in its piece.",
        matters: "Who spins while it waits looks busy to the scheduler and gets its share, at the cost of the one that all wait for. With as \
                  many CPUs as threads that only costs energy; with fewer, each barrier takes turns of milliseconds.",
        sure: "The stretches are what the program marked; what threads did then is known. That who ran after its arrival did nothing of use is \
               an assumption: it may have gone on to other work. The estimate is the least of the time for which the last one was ready, \
               that for which those who waited ran, and what the last came later than the first, but for what was still to be done then: where \
               there are several pieces for each thread, the largest of those in hand. And what a thread that waits for the region was ready \
               behind those who spin on when the region was over.",
        mend: "Block at the barrier after a short spin (OMP_WAIT_POLICY=passive, GOMP_SPINCOUNT), or start no more threads than CPUs.",
        example: "A has arrived and spins on CPU 0 for 2 ms, where C, which has yet to arrive, waits for its turn.",
    },
    tables: &[
        &tables::PARALLEL_REGIONS,
        &tables::MARKS,
        &tables::READY_WAIT,
        &tables::READY_BY_THIEF,
        &tables::WAITS,
        &tables::THREADS,
        &tables::THREAD_STATE,
    ],
    thresholds: &[&LEAST_SPINNING, &LEAST_OF_REGIONS],
    // Who spins has the CPUs that the critical thread waits for.
    explains: &["critical-thread-same-priority-as-workers"],
    look,
};

const LEAST_SPINNING: Threshold = Threshold {
    name: "least_spinning",
    unit: Unit::Ratio,
    value: 0.25,
    reason: "part of a region's waiting for which those who waited ran: of four times as many threads as CPUs that spin, a quarter runs at \
             a time; at barriers that block after a short spin, for microseconds of it",
};

/// The largest piece of a region by its mean one, once CPUs are free. The largest takes a CPU for about twice as long as the mean; but
/// while there are more threads than CPUs, which such regions have, a piece takes longer than that by what it waits for its turn.
const LARGEST: f64 = 1.5;

/// All regions of a name.
#[derive(Default)]
struct Regions {
    count: u64,
    waiting: i64,
    ran: i64,
    /// For how long the last was ready while others spun.
    ready: i64,
    /// By how much sooner the last would have arrived.
    held_up: i64,
    /// Of all of them, in order of time.
    spans: Vec<Span>,
    shown: Shown,
}

/// What was still to be done when the first thread arrived, though nobody had waited for a CPU. It found no further piece, so each of
/// the others was in one, at any point of it: the last of `threads` such is done after all but one of `threads` + 1 parts of
/// the largest piece, in the mean. Where each thread has one piece, nobody knows how much of it was left.
fn left([threads, stretches, worked]: [i64; 3]) -> i64 {
    if stretches <= threads {
        return 0;
    }
    let last = (threads - 1) as f64 / (threads + 1) as f64;
    (LARGEST * worked as f64 / stretches as f64 * last).round() as i64
}

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    let mut told = false;
    let regions = by_name(given, |of: &mut Regions, row| {
        let (Some(ran), Some(ready)) =
            (row.get(parallel_regions::WAITING_RUNNING_NS), row.get(parallel_regions::LAST_READY_NS))
        else {
            return;
        };
        told = true;
        let [start, end] = row.all([parallel_regions::START_NS, parallel_regions::END_NS]);
        of.spans.push(Span::new(Ns(start), Ns(end)));
        // By itself: in others of the name who waits may block, or wait for a last piece.
        if (ran as f64) < given.threshold(&LEAST_SPINNING) * row.get(parallel_regions::WAITING_NS) as f64 {
            return;
        }
        let [threads, stretches, worked, tail] = row.all([
            parallel_regions::THREADS,
            parallel_regions::STRETCHES,
            parallel_regions::WORKED_NS,
            parallel_regions::TAIL_NS,
        ]);
        let ready = ran.min(ready);
        let held_up = ready.min(tail.saturating_sub(left([threads, stretches, worked])).max(0));
        of.count += 1;
        of.ready = of.ready.saturating_add(ready);
        of.waiting = of.waiting.saturating_add(row.get(parallel_regions::WAITING_NS));
        of.ran = of.ran.saturating_add(ran);
        of.held_up = of.held_up.saturating_add(held_up);
        of.shown.push(
            held_up,
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
    let Some(mut regions) = regions else { return Ok(Looked::Lacks(NONE_MARKED.to_owned())) };
    if !told {
        return Ok(Looked::Lacks("the source has no wakings, or does not tell which threads marked".to_owned()));
    }
    let least = given.share(&LEAST_OF_REGIONS).max(1);
    regions.retain(|_, of| of.held_up >= least);
    let mut found = Vec::new();
    for ((pid, name), of) in regions {
        found.push(finding(given, pid, &name, of)?);
    }
    Ok(Looked::At(found))
}

fn finding(given: &Given<'_>, pid: Option<i64>, name: &str, of: Regions) -> Result<Finding, EngineError> {
    let claims = workers(given, pid, name, of.held_up)?;
    let mut most = of.ready;
    given.each(ready_wait::Table, |row| {
        if claims.iter().any(|c| c.thread == row.get(ready_wait::THREAD)) {
            most = most.max(row.get(ready_wait::READY_NS.or_zero()));
        }
    })?;
    // Whoever goes on when all have arrived needs a CPU too, and those who spin have it.
    let after = match goes_on(given, pid, &claims, of.count)? {
        Some((thread, behind)) => behind.min(ready_outside(given, thread, &of.spans)?),
        None => 0,
    };
    let best = of.held_up.saturating_add(after);
    let claims: Vec<Claim> = claims.into_iter().map(|claim| Claim { recoverable_ns: best, ..claim }).collect();
    let region = short(&plain(name), 40);
    let change = Fix::Block { threads: threads(&claims) };
    Ok(Finding {
        title: format!(
            "In {} of {region} threads that had arrived ran for {} of their waiting, while the last was ready for {} ms",
            plural(of.count, "region"),
            percent(of.ran, of.waiting),
            ms(of.ready)
        ),
        severity: given.severity(best),
        recoverable_ns: best,
        range_ns: [0, most.saturating_add(after)],
        confidence: Confidence::Medium,
        evidence: of.shown.finish(),
        assumptions: vec![
            "who ran after its arrival only waited; the lower end: it did other work that was due; the upper: nobody of them would \
             have waited for a CPU"
                .to_owned(),
            "the last to arrive would have had its CPU at once, and with it what was left to do when the first arrived: of several \
             pieces a thread, one and a half times the mean"
                .to_owned(),
            "whoever goes on when all have arrived would have had a CPU at once too".to_owned(),
        ],
        ..given.finding(claims, change, format!("Block instead of spinning at the end of {region}"))
    })
}

/// Who of the process, and of none of the workers, waits for these as often as there are regions, and was ready behind them for longest:
/// for how long.
fn goes_on(
    given: &Given<'_>,
    pid: Option<i64>,
    workers: &[Claim],
    regions: u64,
) -> Result<Option<(i64, i64)>, EngineError> {
    let processes = Processes::new(given)?;
    let workers: BTreeSet<i64> = workers.iter().map(|claim| claim.thread).collect();
    let is_other = |thread: i64| !workers.contains(&thread) && processes.pool(given, thread).0 == pid;
    let is_worker = |thread: Option<i64>| thread.is_some_and(|thread| workers.contains(&thread));
    let (mut waits, mut behind) = (BTreeMap::new(), BTreeMap::new());
    given.each(waits::Table, |row| {
        if is_other(row.get(waits::THREAD)) && is_worker(row.get(waits::WAKER)) {
            add(&mut waits, row.get(waits::THREAD), row.get(waits::WAITS));
        }
    })?;
    given.each(ready_by_thief::Table, |row| {
        if is_other(row.get(ready_by_thief::THREAD)) && is_worker(row.get(ready_by_thief::THIEF)) {
            add(&mut behind, row.get(ready_by_thief::THREAD), row.get(ready_by_thief::READY_NS));
        }
    })?;
    behind.retain(|thread, _| waits.get(thread).is_some_and(|waits| waits.unsigned_abs() >= regions));
    Ok(behind.into_iter().max_by_key(|(thread, ns)| (*ns, std::cmp::Reverse(*thread))))
}
