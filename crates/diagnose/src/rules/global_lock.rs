//! Threads of one process that take turns, as under an interpreter's lock.

use super::MIN_SHARE;
use crate::context::{EvidenceRows, RuleContext, threads};
use crate::finding::{Confidence, Finding};
use crate::pools::Processes;
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use crate::serial::{Member, Pool, Sharing, TURNS_RANGE};
use crate::unmarked::interpreter_lock;
use crate::waits_for::{Longest, WaitsFor};
use engine::EngineError;
use model::tables::{self, pools};
use model::words::{grouped, ms, percent, plural};
use model::{Fix, Ns, ThreadKey};
use std::collections::BTreeSet;

pub(super) const RULE: Rule = Rule {
    id: "global-lock",
    about: "threads of one process took turns while CPUs were idle, as under one lock for everything that they do",
    page: Page {
        description: "Two or more threads of one pool in one process that ran one at a time, in many turns, while CPUs were idle; or that wait \
                for the lock of the Python interpreter, one switch interval (5 ms) at a time.",
        rationale: "Threads that share one lock for all that they do are as fast as one thread, and lose the switches: the interpreter lock of \
                  Python or Ruby, the lock of a table or of an allocator.",
        certainty: "It is recorded that one thread at a time could run, and how often that changed. That a lock is the reason is likely, and certain \
               only if it was recorded what they waited for: threads that hand one piece of work back and forth look the same. lock-convoy reports short turns of three or more threads.",
        fix: "Use processes instead of threads (Python: multiprocessing, ProcessPoolExecutor), release the lock around long work, or split it.",
        example: "A and B take turns of 5 ms, and CPU 1 is idle all the time.",
    },
    tables: &[
        &tables::POOLS,
        &tables::CRITICAL_BY_THREAD,
        &tables::WAITS,
        &tables::SAMPLES,
        &tables::CPUS,
        &tables::WAIT_OBJECTS,
    ],
    thresholds: &[&MIN_SERIAL, &MIN_SHARE],
    explains: &["wakeup-storm", "too-few-workers"],
    worst: Fits::WaitedForThread,
    shares_out_work: false,
    check,
};

const MIN_SERIAL: Threshold = Threshold {
    name: "min_serial",
    unit: Unit::Ratio,
    value: 0.4,
    reason: "share of the analysed time in which the threads ran one at a time while CPUs were idle",
};

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    if !ctx.summary().ready_known {
        return Ok(RuleOutcome::MissingData(
            "the source has no wakeups, so it is unknown which threads could run".to_owned(),
        ));
    }
    let (processes, least) = (Processes::new(ctx)?, ctx.share_ns(&MIN_SHARE).max(Ns(1)));
    // What an interpreter's threads wait for is known more exactly than who takes turns.
    let mut found = interpreter_lock::find(ctx, &processes, least)?;
    let waiting: BTreeSet<ThreadKey> =
        found.iter().flat_map(|finding| &finding.threads).map(|claim| claim.thread).collect();
    let objects = WaitsFor::new(ctx)?;
    for pool in Pool::all(ctx, &processes)? {
        let is_of_one = |member: &&Member| processes.are_one(member.thread, pool.members[0].thread);
        let taking: Vec<_> = pool.working().filter(is_of_one).collect();
        let others = taking.len().saturating_sub(1) as f64;
        let saved = taking.iter().map(|member| member.saving(others)).sum::<Ns>();
        let serial = taking.iter().map(|member| member.serial()).sum::<Ns>();
        if pool.sharing != Sharing::Turns
            || serial < ctx.share_ns(&MIN_SERIAL).max(Ns(1))
            || saved < least
            || taking.iter().any(|member| waiting.contains(&member.thread))
        {
            continue;
        }
        let mut evidence = EvidenceRows::default();
        ctx.each_row(pools::Table, |row| {
            if taking.iter().any(|member| member.thread == row.get(pools::THREAD)) {
                let cells: [&dyn model::AnyColumn<_>; 4] =
                    [&pools::RUNNING_NS, &pools::TOGETHER_NS, &pools::ALONE_NS, &pools::TURNS];
                evidence.push(row.get(pools::ALONE_NS), row, &cells);
            }
        })?;
        // Each of them could be done as much earlier as all are.
        let claims: Vec<_> = taking.iter().map(|member| ctx.claim(member.thread, member.tid, saved)).collect();
        let turns: i64 = taking.iter().map(|member| member.turns).sum();
        let change = Fix::SplitLock { threads: threads(&claims) };
        let name = &pool.name;
        let lock = objects.longest_lock(taking.iter().map(|member| member.thread)).filter(Longest::is_most);
        let finding =
            ctx.finding(claims, change, format!("Let the {name} threads work without a common lock, or use processes"));
        found.push(Finding {
            title: format!(
                "{} named {name} ran one at a time in {} turns, for {} ms ({} of the time) while CPUs were idle{}",
                plural(taking.len() as u64, "thread"),
                grouped(turns),
                ms(serial),
                percent(serial, ctx.span().len()),
                if lock.is_some() { ", and waited most for one lock" } else { "" }
            ),
            range_ns: TURNS_RANGE.of(saved),
            confidence: if lock.is_some() { Confidence::High } else { Confidence::Medium },
            evidence: evidence.finish(),
            assumptions: vec![
                "what they ran one at a time can run at the same time on the idle CPUs (lower bound: 60 % of that is gained)".to_owned(),
                "upper bound: they also lose no time to their turns".to_owned(),
            ],
            ..finding
        });
    }
    Ok(RuleOutcome::Findings(found))
}
