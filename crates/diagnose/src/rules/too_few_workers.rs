//! Work that one thread does alone while CPUs are idle.

use super::MIN_SHARE;
use crate::context::{EvidenceRows, RuleContext, threads};
use crate::finding::{Confidence, Finding};
use crate::pools::Processes;
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use crate::serial::{self, Member, Pool, SERIAL_RANGE, Sharing};
use crate::unmarked::one_request;
use engine::EngineError;
use model::tables::{self, critical_by_thread};
use model::words::{ms, percent};
use model::{Fix, Ns};

pub(super) const RULE: Rule = Rule {
    id: "too-few-workers",
    about: "one thread at a time did the work while CPUs were idle",
    page: Page {
        description: "Threads of the critical path that ran alone in their pool while CPUs were idle, for most of the time: one worker, or \
                processes that are run one after the other. Also the only client of other processes that waits for the answer to each request.",
        rationale: "A program that uses one CPU takes as long on a machine with many. The idle CPUs could do a part of the work.",
        certainty: "It is recorded that CPUs were idle while a single thread ran. Whether its work can be divided is unknown: that of some \
               programs cannot. The estimate spreads it evenly over the idle CPUs. If other threads of the pool ran before, chunks-too-large \
               reports it; if many threads wait for one, single-server does; if threads take turns, global-lock does.",
        fix: "Start as many workers as there are CPUs: a thread-count option (-j, -T, --threads), UV_THREADPOOL_SIZE, GOMAXPROCS, \
              worker_processes.",
        example: "M runs for 9 of 10 ms, and CPU 1 is idle.",
    },
    tables: &[&tables::POOLS, &tables::CRITICAL_BY_THREAD, &tables::WAITS, &tables::READY_WAIT, &tables::CPUS],
    thresholds: &[&MIN_SERIAL, &MIN_CLIENTS, &MIN_SHARE],
    explains: &[],
    worst: Fits::Running,
    shares_out_work: true,
    check,
};

const MIN_SERIAL: Threshold = Threshold {
    name: "min_serial",
    unit: Unit::Ratio,
    value: 0.7,
    reason: "share of the analysed time in which one thread at a time ran on the critical path while CPUs were idle: most programs read their \
             input and write their results serially",
};

/// From this number of threads that wait for one thread, single-server reports it.
pub(super) const MIN_CLIENTS: Threshold = Threshold {
    name: "min_clients",
    unit: Unit::Count,
    value: 3.0,
    reason: "threads that each wait for one thread for half of the time: two may be its reader and its writer",
};

/// A thread with less than this part (1/10) of the serial work of its name is not counted among those that do it.
const NOTABLE: i64 = 10;

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    if !ctx.summary().ready_known {
        return Ok(RuleOutcome::MissingData("the source has no wakeups, so the critical path is unknown".to_owned()));
    }
    let processes = Processes::new(ctx)?;
    let pools: Vec<Pool> =
        Pool::all(ctx, &processes)?.into_iter().filter(|pool| pool.sharing == Sharing::None).collect();
    let serial = pools.iter().fold(Ns::ZERO, |sum, pool| sum + pool.serial());
    let (Some(first), true) = (pools.first(), serial >= ctx.share_ns(&MIN_SERIAL).max(Ns(1))) else {
        return Ok(RuleOutcome::Findings(one_request::find(ctx, &processes)?.into_iter().collect()));
    };
    let most = &first.members[0];
    if serial::clients(ctx, &processes, most.thread)?.len() as f64 >= ctx.threshold(&MIN_CLIENTS) {
        return Ok(RuleOutcome::Findings(Vec::new()));
    }
    let cpus = ctx.cpus()?;
    let saving = |member: &Member| member.saving(f64::INFINITY);
    let recorder = ctx.facts().recorder.map(i64::from);
    let is_recorder = |member: &Member| recorder.is_some() && processes.process(member.thread) == recorder;
    let all = || {
        let members = pools.iter().flat_map(|pool| &pool.members);
        members.filter(|member| member.serial() > Ns::ZERO && !is_recorder(member))
    };
    let saved = all().map(saving).sum::<Ns>();
    if saved < ctx.share_ns(&MIN_SHARE).max(Ns(1)) {
        return Ok(RuleOutcome::Findings(Vec::new()));
    }
    let claims: Vec<_> = all().map(|member| ctx.claim(member.thread, member.tid, saving(member))).collect();
    let mut evidence = EvidenceRows::default();
    ctx.each_row(critical_by_thread::Table, |row| {
        if all().any(|member| member.thread == row.get(critical_by_thread::THREAD)) {
            let ns = row.get(critical_by_thread::PATH_NS);
            evidence.push(ns, row, &[&critical_by_thread::PATH_NS, &critical_by_thread::SHARE]);
        }
    })?;
    let of_first: Vec<_> =
        first.members.iter().map(|member| ctx.claim(member.thread, member.tid, saving(member))).collect();
    let change = Fix::PoolSize { threads: threads(&of_first), size: u32::try_from(cpus).unwrap_or(u32::MAX) };
    let who = match first.members.iter().filter(|member| member.serial() >= first.serial() / NOTABLE).count() {
        0 | 1 => first.name.clone(),
        many => format!("{many} threads named {}, one after the other,", first.name),
    };
    Ok(RuleOutcome::Findings(vec![Finding {
        title: format!(
            "{who} ran alone for {} ms ({} of the time) on the critical path, while {} idle",
            ms(serial),
            percent(serial, ctx.span().len()),
            if cpus == 2 { "the other CPU was" } else { "other CPUs were" }
        ),
        severity: ctx.severity(saved),
        recoverable_ns: saved,
        range_ns: SERIAL_RANGE.of(saved),
        confidence: Confidence::Medium,
        evidence: evidence.finish(),
        assumptions: vec![
            "the work can be divided, and the idle CPUs do an equal part of it (lower bound: half of that is gained)"
                .to_owned(),
            "upper bound: threads also wait less for each other".to_owned(),
        ],
        ..ctx.finding(claims, change, format!("Let more threads or processes do the work of {}", first.name))
    }]))
}
