//! Many threads that wait for one thread.

use super::MIN_SHARE;
use super::too_few_workers::MIN_CLIENTS;
use crate::context::{EvidenceRows, RuleContext, threads};
use crate::finding::{Confidence, Finding};
use crate::pools::Processes;
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use crate::serial::{self, Pool, SERIAL_RANGE};
use engine::EngineError;
use model::tables::{self, waits};
use model::words::{ms, percent, plural};
use model::{Fix, Ns};

pub(super) const RULE: Rule = Rule {
    id: "single-server",
    about: "many threads waited for one thread that was busy all the time, while CPUs were idle",
    page: Page {
        description: "A thread that ran for most of the time, alone in its pool and while CPUs were idle, for which several threads of the same or of \
                other processes waited for at least half of the time each.",
        rationale: "Requests queue for the one thread that serves them. More clients, or more of their threads, only make the queue longer.",
        certainty: "It is recorded which thread woke which, and that CPUs were idle. That the work of the server can be divided is assumed, evenly \
               over the idle CPUs.",
        fix: "Start several instances or workers that share the requests (sharding, SO_REUSEPORT, a pool), or move work from the server to \
              its clients.",
        example: "A, B and C each wait for S, which runs for 9 of 10 ms while CPU 1 is idle.",
    },
    tables: &[&tables::POOLS, &tables::CRITICAL_BY_THREAD, &tables::WAITS, &tables::CPUS],
    thresholds: &[&MIN_BUSY, &MIN_CLIENTS, &MIN_SHARE],
    explains: &[],
    worst: Fits::Running,
    shares_out_work: false,
    check,
};

const MIN_BUSY: Threshold = Threshold {
    name: "min_busy",
    unit: Unit::Ratio,
    value: 0.6,
    reason: "share of the analysed time in which the server ran on the critical path while CPUs were idle",
};

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    if !ctx.summary().ready_known {
        return Ok(RuleOutcome::MissingData(
            "the source has no wakeups, so it is unknown which thread waited for which".to_owned(),
        ));
    }
    let (mut found, processes) = (Vec::new(), Processes::new(ctx)?);
    for pool in Pool::all(ctx, &processes)? {
        let server = &pool.members[0];
        if server.serial() < ctx.share_ns(&MIN_BUSY).max(Ns(1)) {
            continue;
        }
        let clients = serial::clients(ctx, &processes, server.thread)?;
        let saved = server.saving(f64::INFINITY);
        if (clients.len() as f64) < ctx.threshold(&MIN_CLIENTS) || saved < ctx.share_ns(&MIN_SHARE).max(Ns(1)) {
            continue;
        }
        let mut evidence = EvidenceRows::default();
        ctx.each_row(waits::Table, |row| {
            if row.get(waits::WAKER) == Some(server.thread) && clients.contains(&row.get(waits::THREAD)) {
                evidence.push(row.get(waits::BLOCKED_NS), row, &[&waits::WAITS, &waits::BLOCKED_NS]);
            }
        })?;
        let claims = vec![ctx.claim(server.thread, server.tid, saved)];
        let name = ctx.name(server.thread);
        let cpus = ctx.cpus()?;
        let change = Fix::PoolSize { threads: threads(&claims), size: u32::try_from(cpus).unwrap_or(u32::MAX) };
        let finding = ctx.finding(claims, change, format!("Let several threads or processes do the work of {name}"));
        found.push(Finding {
            title: format!(
                "{} waited for {name}, which ran alone for {} ms ({} of the time) while CPUs were idle",
                plural(clients.len() as u64, "thread"),
                ms(server.serial()),
                percent(server.serial(), ctx.span().len())
            ),
            range_ns: SERIAL_RANGE.of(saved),
            confidence: Confidence::Medium,
            evidence: evidence.finish(),
            assumptions: vec![
                "requests can be shared evenly by a server on each CPU that was idle (lower bound: half of that is gained)".to_owned(),
                "upper bound: threads also wait less for each other".to_owned(),
            ],
            ..finding
        });
    }
    Ok(RuleOutcome::Findings(found))
}
