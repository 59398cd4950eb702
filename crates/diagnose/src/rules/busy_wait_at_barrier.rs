//! Threads that wait for the last one of a parallel region by running, on the CPU that it needs.

use crate::finding::{Confidence, Finding};
use crate::given::{Given, Shown, threads};
use crate::regions::{LEAST_OF_REGIONS, NONE_MARKED, by_name, workers};
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use engine::EngineError;
use model::Change;
use model::words::{ms, percent, plain, plural, short};

pub(super) const RULE: Rule = Rule {
    id: "busy-wait-at-barrier",
    about: "threads that had arrived at a barrier ran on, while the last to arrive was ready and had no CPU",
    page: Page {
        finds: "Parallel regions in which threads that had done their pieces kept running until the last one was done, and that one was ready \
                in its piece.",
        matters: "Who spins while it waits looks busy to the scheduler and gets its share, at the cost of the one that all wait for. With as \
                  many CPUs as threads that only costs energy; with fewer, each barrier takes turns of milliseconds.",
        sure: "The stretches are what the program marked; what threads did then is known. That who ran after its arrival did nothing of use is \
               an assumption: it may have gone on to other work. The estimate is the lesser of the time for which the last one was ready and \
               that for which those who waited ran.",
        mend: "Block at the barrier after a short spin (OMP_WAIT_POLICY=passive, GOMP_SPINCOUNT), or start no more threads than CPUs.",
        example: "A has arrived and spins on CPU 0 for 2 ms, where C, which has yet to arrive, waits for its turn.",
    },
    tables: &["parallel_regions", "marks", "ready_wait"],
    thresholds: &[
        Threshold {
            name: "least_spinning",
            unit: Unit::Ratio,
            value: 0.25,
            reason: "part of a region's waiting for which those who waited ran: of four times as many threads as CPUs that spin, a quarter runs at \
                     a time; at barriers that block after a short spin, for microseconds of it",
        },
        LEAST_OF_REGIONS,
    ],
    // Who spins has the CPUs that the critical thread waits for.
    explains: &["critical-thread-same-priority-as-workers"],
    look,
};

/// All regions of a name.
#[derive(Default)]
struct Regions {
    count: u64,
    waiting: i64,
    ran: i64,
    held_up: i64,
    shown: Shown,
}

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    let mut told = false;
    let regions = by_name(given, |of: &mut Regions, row| {
        let (Some(ran), Some(ready)) = (row.int("waiting_running_ns"), row.int("last_ready_ns")) else { return };
        told = true;
        // By itself: in others of the name who waits may block, or wait for a last piece.
        if (ran as f64) < given.threshold("least_spinning") * row.sum("waiting_ns") as f64 {
            return;
        }
        let held_up = ran.min(ready);
        of.count += 1;
        of.waiting = of.waiting.saturating_add(row.sum("waiting_ns"));
        of.ran = of.ran.saturating_add(ran);
        of.held_up = of.held_up.saturating_add(held_up);
        of.shown.push(held_up, row, &["threads", "waiting_ns", "waiting_running_ns", "last_ready_ns"]);
    })?;
    let Some(mut regions) = regions else { return Ok(Looked::Lacks(NONE_MARKED.to_owned())) };
    if !told {
        return Ok(Looked::Lacks("the source has no wakings, or does not tell which threads marked".to_owned()));
    }
    let least = given.share("least_share").max(1);
    regions.retain(|_, of| of.held_up >= least);
    let mut found = Vec::new();
    for ((pid, name), of) in regions {
        found.push(finding(given, pid, &name, of)?);
    }
    Ok(Looked::At(found))
}

fn finding(given: &Given<'_>, pid: Option<i64>, name: &str, of: Regions) -> Result<Finding, EngineError> {
    let claims = workers(given, pid, name, of.held_up)?;
    let mut most = of.held_up;
    given.each("ready_wait", |row| {
        if claims.iter().any(|c| c.thread == row.sum("thread")) {
            most = most.max(row.sum("ready_ns"));
        }
    })?;
    let region = short(&plain(name), 40);
    let change = Change::Block { threads: threads(&claims) };
    Ok(Finding {
        title: format!(
            "In {} of {region} threads that had arrived ran for {} of their waiting, while the last was ready for {} ms",
            plural(of.count, "region"),
            percent(of.ran, of.waiting),
            ms(of.held_up)
        ),
        severity: given.severity(of.held_up),
        recoverable_ns: of.held_up,
        range_ns: [0, most],
        confidence: Confidence::Medium,
        evidence: of.shown.finish(),
        assumptions: vec![
            "who ran after its arrival only waited; the lower end: it did other work that was due; the upper: nobody of them would \
             have waited for a CPU"
                .to_owned(),
            "the last to arrive would have had its CPU at once".to_owned(),
        ],
        ..given.finding(claims, change, format!("Block instead of spinning at the end of {region}"))
    })
}
