//! Parallel work that takes longer with more threads than it did with fewer.

use super::LEAST_SHARE;
use crate::finding::{Confidence, Finding};
use crate::given::{Given, Shown, threads};
use crate::regions::{NONE_MARKED, by_name, workers};
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use engine::EngineError;
use model::Fix;
use model::tables::{self, parallel_regions};
use model::words::{ms, plain, plural, short};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "worker-pool-larger-than-useful",
    about: "a parallel region took longer with more threads than it did with fewer",
    page: Page {
        finds: "Parallel regions of one name (stretches that several threads of a process mark at once) that were done by different numbers of \
                threads in one recording, took longer with more of them, and in which all pieces together took longer too.",
        matters: "Threads share CPUs, cores, caches and memory bandwidth. Beyond some number each makes all others slower: their pieces take \
                  longer since they wait for a CPU or since each instruction takes more cycles, and the region ends later than with fewer threads. \
                  A game that started 22 workers was slower than with 10.",
        sure: "How long regions took with how many threads is known. That those of one name are equal work is an assumption, likely where they \
               were cut into equally many pieces; else a larger piece of work may just have been given to more threads, and the finding is of low \
               confidence. Which number of threads nobody tried would be best it does not tell.",
        mend: "Size the pool by what is gained, not by the number of CPUs: try several sizes and keep the fastest.",
        example: "With 2 threads a step takes 2 ms; with 4 on the same two CPUs 3 ms, and its pieces 12 ms in all where they took 4.",
    },
    tables: &[&tables::PARALLEL_REGIONS, &tables::MARKS, &tables::READY_WAIT],
    thresholds: &[&LEAST_REGIONS, &LEAST_SLOWER, &LEAST_SHARE],
    explains: &[],
    look,
};

const LEAST_REGIONS: Threshold = Threshold {
    name: "least_regions",
    unit: Unit::Count,
    value: 3.0,
    reason: "with each number of threads: of fewer, an average says little",
};

const LEAST_SLOWER: Threshold = Threshold {
    name: "least_slower",
    unit: Unit::Ratio,
    value: 1.05,
    reason: "average time, by that with fewer threads: a choice; a few percent are what runs differ by anyway",
};

/// All regions of a name that as many threads did.
#[derive(Default)]
struct Done {
    count: i64,
    time: i64,
    fastest: i64,
    worked: i64,
    stretches: i64,
}

impl Done {
    fn average(&self, of: i64) -> f64 {
        of as f64 / self.count.max(1) as f64
    }
}

/// All regions of a name, by the number of threads.
#[derive(Default)]
struct Regions {
    by: BTreeMap<i64, Done>,
    shown: Shown,
}

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    let regions = by_name(given, |of: &mut Regions, row| {
        let [threads, stretches, start, end, worked] = row.all([
            parallel_regions::THREADS,
            parallel_regions::STRETCHES,
            parallel_regions::START_NS,
            parallel_regions::END_NS,
            parallel_regions::WORKED_NS,
        ]);
        let (time, done) = (end.saturating_sub(start), of.by.entry(threads).or_default());
        done.fastest = if done.count == 0 { time } else { done.fastest.min(time) };
        done.count += 1;
        done.time = done.time.saturating_add(time);
        done.worked = done.worked.saturating_add(worked);
        done.stretches = done.stretches.saturating_add(stretches);
        of.shown.push(
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
    let Some(regions) = regions else { return Ok(Looked::Lacks(NONE_MARKED.to_owned())) };
    if regions.values().all(|of| of.by.len() < 2) {
        let why = "each region was done by equally many threads every time: let the pool be smaller for a part of the recording";
        return Ok(Looked::Lacks(why.to_owned()));
    }
    let mut found = Vec::new();
    for ((pid, name), of) in regions {
        found.extend(finding(given, pid, &name, of)?);
    }
    Ok(Looked::At(found))
}

fn finding(given: &Given<'_>, pid: Option<i64>, name: &str, of: Regions) -> Result<Option<Finding>, EngineError> {
    let enough = |done: &&Done| done.count as f64 >= given.threshold(&LEAST_REGIONS);
    let known: BTreeMap<i64, &Done> = of.by.iter().map(|(n, done)| (*n, done)).filter(|(_, d)| enough(d)).collect();
    let Some((size, few)) = known.iter().min_by(|a, b| a.1.average(a.1.time).total_cmp(&b.1.average(b.1.time))) else {
        return Ok(None);
    };
    let (least, slower) = (few.average(few.time), given.threshold(&LEAST_SLOWER));
    let larger = known.range(size + 1..).filter(|(_, done)| {
        done.average(done.time) >= slower * least && done.average(done.worked) > few.average(few.worked)
    });
    // The number of threads with which most is lost, and what is lost with all that are too many.
    let (mut most, mut lost, mut upper, mut as_many) = (None::<(i64, &Done, i64)>, 0_i64, 0_i64, true);
    for (threads, done) in larger {
        let own = done.time.saturating_sub((least * done.count as f64).round() as i64).max(0);
        lost = lost.saturating_add(own);
        upper = upper.saturating_add(done.time.saturating_sub(few.fastest.saturating_mul(done.count)).max(0));
        as_many &= done.average(done.stretches) == few.average(few.stretches);
        if most.is_none_or(|(.., ns)| ns < own) {
            most = Some((*threads, done, own));
        }
    }
    let Some((many, done, _)) = most.filter(|_| lost >= given.share(&LEAST_SHARE).max(1)) else { return Ok(None) };
    let claims = workers(given, pid, name, lost)?;
    let region = short(&plain(name), 40);
    let pool = threads(&claims);
    let what = format!("Do {region} with {size} threads");
    let change = Fix::PoolSize { threads: pool, size: u32::try_from(*size).unwrap_or(u32::MAX) };
    Ok(Some(Finding {
        title: format!(
            "{region} took {} ms on average with {} in {}, and {} ms with {size}: {} ms is lost",
            ms(done.average(done.time) as i64),
            plural(many.unsigned_abs(), "thread"),
            plural(done.count.unsigned_abs(), "region"),
            ms(least as i64),
            ms(lost)
        ),
        severity: given.severity(lost),
        recoverable_ns: lost,
        range_ns: [0, upper.max(lost)],
        confidence: if as_many { Confidence::Medium } else { Confidence::Low },
        evidence: of.shown.finish(),
        assumptions: vec![
            "regions of one name are equal work; the lower end: those with more threads had more to do".to_owned(),
            format!(
                "with {size} threads each takes as long as those did on average; the upper end: as the fastest of them"
            ),
        ],
        ..given.finding(claims, change, what)
    }))
}
