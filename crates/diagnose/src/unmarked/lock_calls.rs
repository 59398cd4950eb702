//! Threads that spend their time in the slow path of a lock of glibc, while all CPUs are busy: lock-convoy.
//!
//! With free CPUs, the waits for a lock show it. If more threads than CPUs want it, another one runs meanwhile, and what is lost is the CPU time
//! for putting threads to sleep and waking them: samples have it. The lock is that of an allocator, if its functions say so: glibc's arenas
//! have locks of their own (`__lll_lock_wait_private`).

use crate::context::{EvidenceRows, RuleContext, add, threads};
use crate::finding::{Confidence, Finding};
use crate::pools::{Pool, Processes};
use crate::range::Range;
use engine::EngineError;
use model::tables::{pools, samples};
use model::words::{ms, percent, plural, short};
use model::{Fix, Ns, ThreadKey, Tid};
use std::collections::BTreeMap;

/// Functions of glibc (nptl/lowlevellock.c) that wait for a lock, or wake the next thread that does.
const CALLS: [&str; 2] = ["__lll_lock_wait", "__lll_lock_wake"];
/// The same of locks within glibc: of malloc's arenas and of streams.
const PRIVATE: &str = "_private";
/// With fewer samples of them, their share is too uncertain.
const MIN_SAMPLES: i64 = 20;
/// Their share of a process's samples: a lock that is rarely contended has less.
const MIN_SHARE: f64 = 0.1;

/// A lock whose threads fall asleep also makes them wait for its data: up to twice the calls.
const RANGE: Range = Range { low: 0.7, high: 2.1 };

/// The threads of a pool.
#[derive(Default)]
struct Calls {
    all: i64,
    within: i64,
    private: i64,
    /// By thread: TID, and running time.
    threads: BTreeMap<ThreadKey, (Tid, Ns)>,
    evidence: EvidenceRows,
}

/// Returns a finding for each pool that loses at least `least` ns in this way.
pub(crate) fn find(ctx: &RuleContext<'_>, least: Ns) -> Result<Vec<Finding>, EngineError> {
    let processes = Processes::new(ctx)?;
    let mut by_pool = BTreeMap::<Pool, Calls>::new();
    let mut within = BTreeMap::new();
    ctx.each_row(samples::Table, |row| {
        let Some(thread) = row.get(samples::THREAD).filter(|thread| *thread > ThreadKey::IDLE) else { return };
        let of = by_pool.entry(processes.pool(ctx, thread)).or_default();
        of.all = of.all.saturating_add(row.get(samples::SELF_SAMPLES));
        let (function, count) = (row.get(samples::FUNCTION.or_empty()), row.get(samples::TOTAL_SAMPLES));
        if CALLS.iter().any(|call| function.starts_with(call)) {
            of.within = of.within.saturating_add(count);
            of.private = of.private.saturating_add(if function.ends_with(PRIVATE) { count } else { 0 });
            add(&mut within, thread, count);
            of.evidence.push(count, row, &[&samples::SELF_SAMPLES, &samples::TOTAL_SAMPLES]);
        }
    })?;
    by_pool.retain(|_, of| of.within >= MIN_SAMPLES && of.within as f64 >= MIN_SHARE * of.all as f64);
    ctx.each_row(pools::Table, |row| {
        let thread = row.get(pools::THREAD);
        if let (true, Some(of)) = (within.contains_key(&thread), by_pool.get_mut(&processes.pool(ctx, thread))) {
            of.threads.insert(thread, (row.get(pools::TID), row.get(pools::RUNNING_NS)));
        }
    })?;
    let cpus = ctx.cpus()?.max(1);
    Ok(by_pool.into_iter().filter_map(|((_, name), of)| finding(ctx, &name, of, cpus, least)).collect())
}

fn finding(ctx: &RuleContext<'_>, name: &str, of: Calls, cpus: i64, least: Ns) -> Option<Finding> {
    let ran = of.threads.values().map(|(_, ns)| ns).sum::<Ns>();
    let share = of.within as f64 / of.all.max(1) as f64;
    let saved = ran.scaled(share) / cpus.min(of.threads.len() as i64).max(1);
    if of.threads.len() < 2 || saved < least {
        return None;
    }
    let claims: Vec<_> = of.threads.iter().map(|(thread, (tid, _))| ctx.claim(*thread, *tid, saved)).collect();
    let is_private = 2 * of.private > of.within;
    let lock = if is_private { "a lock of the allocator (malloc)" } else { "a lock (pthread_mutex_lock)" };
    let fix = match is_private {
        true => {
            format!("Let {name} use one arena per thread (MALLOC_ARENA_MAX), another allocator, or fewer allocations")
        }
        false => format!("Hold the lock of {name} for a shorter time, or split it"),
    };
    let name = ctx.name_of_all(of.threads.keys().copied(), name);
    let change = Fix::SplitLock { threads: threads(&claims) };
    Some(Finding {
        title: format!(
            "{} named {} waited for {lock}: {} of their samples put threads to sleep or woke them",
            plural(of.threads.len() as u64, "thread"),
            short(&name, 40),
            percent(of.within, of.all)
        ),
        severity: ctx.severity(saved),
        recoverable_ns: saved,
        range_ns: RANGE.of(saved),
        cpu_ns: Some(ran.scaled(share)),
        confidence: Confidence::Medium,
        evidence: of.evidence.finish(),
        assumptions: vec![
            format!(
                "the share of their samples in these calls is that of their {} ms of running, which the CPUs did in parallel (lower bound: some \
                 calls are left)",
                ms(ran)
            ),
            "upper bound: fetching the lock and its data from the other CPU takes as long again".to_owned(),
        ],
        ..ctx.finding(claims, change, fix)
    })
}
