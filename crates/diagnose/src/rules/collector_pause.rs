//! Pauses of a garbage collector.

use crate::context::{EvidenceRows, RuleContext, threads};
use crate::finding::{Confidence, Finding};
use crate::range::Range;
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, critical_by_thread, pools};
use model::words::{ms, percent};
use model::{COLLECTOR_THREADS, Fix, Ns};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "collector-pause",
    about: "the program waited for its garbage collector",
    page: Page {
        description: "Threads of a garbage collector, by their names, that are on the critical path: all others wait until they are done.",
        rationale: "A collector that stops the program costs its time in full. How often it runs depends on how much of the heap is free.",
        certainty: "The names of the threads are those of the Java virtual machine (VM Thread, GC Thread, G1, ZGC, Shenandoah), of .NET and of \
               Go's and Erlang's run times where these have threads of their own. The VM Thread of Java also does other work for which threads stop. A \
               larger heap does not remove every pause.",
        fix: "Give the collector more memory (java -Xmx, -Xmn), more threads, or choose one that works at the same time as the program.",
        example: "VM Thread runs for 6 of 10 ms while main waits for it.",
    },
    tables: &[&tables::CRITICAL_BY_THREAD, &tables::POOLS],
    thresholds: &[&MIN_PAUSED],
    explains: &["too-few-workers", "single-server"],
    worst: Fits::WaitedForThread,
    shares_out_work: false,
    check,
};

const MIN_PAUSED: Threshold = Threshold {
    name: "min_paused",
    unit: Unit::Ratio,
    value: 0.15,
    reason: "share of the analysed time: a collector that takes less is configured as usual (its throughput goal is 1 to 5 %)",
};

/// The pools of threads that run only while all others stop.
const STOPPING: [&str; 4] = ["VM Thread", "GC Thread", "GC task thread", "ParGC Thread"];

/// What a larger heap leaves of the pauses is not known: a tenth to a half.
const RANGE: Range = Range { low: 0.5, high: 1.4 };
const SAVED: f64 = 0.9;

/// For how long threads ran for which all others stop: the longest of the pools, as its threads run at the same time.
fn stopped(ctx: &RuleContext<'_>) -> Result<Ns, EngineError> {
    let mut by_pool = BTreeMap::<String, (Ns, Ns)>::new();
    ctx.each_row(pools::Table, |row| {
        let pool = row.get(pools::POOL.or_empty());
        if STOPPING.contains(&pool) {
            let [running, together] = row.all([pools::RUNNING_NS, pools::TOGETHER_NS]);
            let sums = by_pool.entry(pool.to_owned()).or_default();
            *sums = (sums.0 + running - together, sums.1.max(together));
        }
    })?;
    Ok(by_pool.into_values().map(|(alone, together)| alone + together).max().unwrap_or(Ns::ZERO))
}

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    if !ctx.summary().ready_known {
        return Ok(RuleOutcome::MissingData("the source has no wakeups, so the critical path is unknown".to_owned()));
    }
    let (mut claims, mut evidence, mut paused) = (Vec::new(), EvidenceRows::default(), Ns::ZERO);
    ctx.each_row(critical_by_thread::Table, |row| {
        let (thread, ns) = row.all((critical_by_thread::THREAD, critical_by_thread::PATH_NS));
        let name = ctx.name(thread);
        if COLLECTOR_THREADS.iter().any(|begin| name.starts_with(begin)) {
            paused += ns;
            claims.push(ctx.claim(thread, row.get(critical_by_thread::TID.or_zero()), ns.scaled(SAVED)));
            evidence.push(
                ns,
                row,
                &[&critical_by_thread::PATH_NS, &critical_by_thread::SHARE, &critical_by_thread::VISITS],
            );
        }
    })?;
    paused = paused.max(stopped(ctx)?);
    let saved = paused.scaled(SAVED);
    if paused < ctx.share_ns(&MIN_PAUSED).max(Ns(1)) {
        return Ok(RuleOutcome::Findings(Vec::new()));
    }
    let change = Fix::Heap { threads: threads(&claims) };
    let finding = ctx.finding(claims, change, "Let the collector run less often".to_owned());
    let first = finding.threads.first().map_or_else(String::new, |claim| claim.name.clone());
    Ok(RuleOutcome::Findings(vec![Finding {
        title: format!(
            "The program waited for its garbage collector ({first}) for {} ms ({} of the time)",
            ms(paused),
            percent(paused, ctx.span().len())
        ),
        severity: ctx.severity(saved),
        recoverable_ns: saved,
        range_ns: RANGE.of(saved),
        confidence: Confidence::Medium,
        evidence: evidence.finish(),
        assumptions: vec![
            "with a larger heap, a tenth of the pauses remains (lower bound: more than half of them; upper bound: none, and memory is used \
             better)"
                .to_owned(),
        ],
        ..finding
    }]))
}
