//! Work that is handed over in pieces so short that the handing over takes most of the time: chunks-too-small.

use crate::context::{EvidenceRows, RuleContext, add, threads};
use crate::finding::{Confidence, Finding};
use crate::kernel::KernelTime;
use crate::pools::Processes;
use crate::program::Program;
use crate::range::Range;
use crate::unmarked::single_items;
use engine::EngineError;
use model::tables::{critical_by_thread, pools, waits, wakers};
use model::words::{grouped, ms, percent, plural, time};
use model::{Fix, Ns, ThreadKey, pool_name};
use std::collections::{BTreeMap, BTreeSet};

/// A pool of at least this many threads or processes that run for a short time each is one of jobs.
const MIN_JOBS: usize = 100;
/// The mean running time of a job below which starting it costs about as much.
const MAX_JOB_NS: Ns = Ns(5_000_000);

/// The mean time on the critical path between two hand-overs, below which a hand-over costs about as much as the work.
const MAX_TURN_NS: Ns = Ns(250_000);
/// The share of the analysed time that the threads which hand over to each other have on the critical path.
const MIN_PATH: f64 = 0.5;

/// The maximum part of their time on the path in which they wait for a device or a timer.
const MAX_BLOCKED: f64 = 0.2;
/// Between different programs, the minimum share of the samples that hit the kernel, which sends, wakes and switches: a server that works
/// on its requests has less (Redis without pipelining 0.9, PostgreSQL 0.5 to 0.76, a Python server 0.4).
const MIN_KERNEL: f64 = 0.8;
/// Within one program, the minimum part of its time on the path that handing over takes: waking up, waiting for a CPU, and the kernel.
const MIN_OVERHEAD: f64 = 0.5;
/// Of three or more threads of one program that hand over, the one that hands out the pieces takes part in at least this part of the
/// wakeups: those that queue for a lock wake each other.
const MIN_HUB: f64 = 0.9;
/// Waits for each other's messages (epoll_wait, read), relative to those in futex: the locks of their queues.
const MIN_MESSAGES: f64 = 0.2;

/// With pieces several times as large, so much of the time is left.
const LEFT: f64 = 0.1;
const RANGE: Range = Range { low: 0.5, high: 1.2 };

/// Returns the findings whose potential saving is at least `least` ns.
pub(crate) fn find(ctx: &RuleContext<'_>, least: Ns) -> Result<Vec<Finding>, EngineError> {
    let found = match jobs(ctx)? {
        Some(found) => Some(found),
        None => match turns(ctx)? {
            Some(found) => Some(found),
            None => single_items::find(ctx)?,
        },
    };
    Ok(found.into_iter().filter(|finding| finding.recoverable_ns >= least).collect())
}

/// Many short processes or threads, started one by one.
fn jobs(ctx: &RuleContext<'_>) -> Result<Option<Finding>, EngineError> {
    let (mut by_pool, mut evidence) = (BTreeMap::<String, (usize, Ns)>::new(), EvidenceRows::default());
    let program = Program::new(ctx)?;
    ctx.each_row(pools::Table, |row| {
        let thread = row.get(pools::THREAD);
        if !ctx.is_kernel_thread(thread) && program.is_own(thread) {
            let sums = by_pool.entry(row.get(pools::POOL.or_empty()).to_owned()).or_default();
            *sums = (sums.0 + 1, sums.1 + row.get(pools::RUNNING_NS));
        }
    })?;
    by_pool.retain(|_, (jobs, running)| *jobs >= MIN_JOBS && *running <= MAX_JOB_NS * *jobs as i64);
    let Some((name, (count, running))) = by_pool.iter().max_by_key(|(_, (jobs, _))| *jobs) else { return Ok(None) };
    // The jobs, and those that start and await them.
    let is_job = |thread: ThreadKey| pool_name(&ctx.name(thread)) == name;
    let mut around = BTreeSet::new();
    ctx.each_row(wakers::Table, |row| {
        let (thread, waker) =
            (row.get(wakers::THREAD), row.get(wakers::WAKER).filter(|waker| *waker > ThreadKey::IDLE));
        if let Some(waker) = waker.filter(|waker| is_job(thread) || is_job(*waker)) {
            around.extend([thread, waker]);
        }
    })?;
    let (mut claims, mut on_path) = (Vec::new(), Ns::ZERO);
    ctx.each_row(critical_by_thread::Table, |row| {
        let (thread, ns) = row.all((critical_by_thread::THREAD, critical_by_thread::PATH_NS));
        if around.contains(&thread) && !ctx.is_kernel_thread(thread) {
            on_path += ns;
            claims.push(ctx.claim(thread, row.get(critical_by_thread::TID.or_zero()), ns));
            evidence.push(ns, row, &[&critical_by_thread::PATH_NS, &critical_by_thread::VISITS]);
        }
    })?;
    if on_path.as_f64() < MIN_PATH * ctx.span().len().as_f64() {
        return Ok(None);
    }
    let saved = on_path.scaled(1.0 - LEFT);
    let change = Fix::Chunks {
        region: format!("the work of {name}"),
        chunks: u32::try_from(count / 16 + 1).unwrap_or(u32::MAX),
    };
    let finding = ctx.finding(claims, change, format!("Give each {name} more work: several files or items per start"));
    Ok(Some(Finding {
        title: format!(
            "{} {name} were started, each to run for {} on average: starting them takes longer than their work",
            grouped(*count as i64),
            time(*running / (*count as i64).max(1))
        ),
        severity: ctx.severity(saved),
        recoverable_ns: saved,
        range_ns: RANGE.of(saved),
        confidence: Confidence::Medium,
        evidence: evidence.finish(),
        assumptions: vec![
            "most of the time of such a job is its start, and a job can do the work of several (lower bound: half of that is gained)".to_owned(),
        ],
        ..finding
    }))
}

/// Threads of the critical path that hand over to each other every few microseconds.
fn turns(ctx: &RuleContext<'_>) -> Result<Option<Finding>, EngineError> {
    let (mut on_path, mut visits, mut running, mut blocked, mut latency) =
        (Ns::ZERO, 0_i64, Ns::ZERO, Ns::ZERO, Ns::ZERO);
    let processes = Processes::new(ctx)?;
    let (mut claims, mut evidence, mut names) = (Vec::new(), EvidenceRows::default(), BTreeSet::new());
    let span = ctx.span().len();
    ctx.each_row(critical_by_thread::Table, |row| {
        let (thread, ns, times) =
            row.all((critical_by_thread::THREAD, critical_by_thread::PATH_NS, critical_by_thread::VISITS));
        // Threads that leave the path after a short time.
        if ns < span / 100 || ns > MAX_TURN_NS * times || ctx.is_kernel_thread(thread) {
            return;
        }
        (on_path, visits) = (on_path + ns, visits.saturating_add(times));
        let waiting = row.all([
            critical_by_thread::READY_NS,
            critical_by_thread::WAKEUP_LATENCY_NS,
            critical_by_thread::BLOCKED_NS,
        ]);
        blocked += waiting[2];
        latency = latency + waiting[0] + waiting[1];
        running += ns - waiting.iter().sum::<Ns>();
        names.insert(pool_name(&ctx.name(thread)).to_owned());
        claims.push(ctx.claim(thread, row.get(critical_by_thread::TID.or_zero()), ns));
        evidence.push(ns, row, &[&critical_by_thread::PATH_NS, &critical_by_thread::VISITS]);
    })?;
    let is_device = blocked.as_f64() > MAX_BLOCKED * on_path.as_f64();
    if claims.len() < 2 || is_device || on_path.as_f64() < MIN_PATH * span.as_f64() {
        return Ok(None);
    }
    let kernel = KernelTime::new(ctx)?.share(claims.iter().map(|claim| claim.thread));
    let taking_part: BTreeSet<_> = claims.iter().map(|claim| processes.process(claim.thread)).collect();
    if taking_part.len() < 2 {
        // Threads of one process also hand over at barriers and locks.
        let overhead = latency.as_f64() + kernel.unwrap_or(0.0) * running.as_f64();
        let threads: BTreeSet<ThreadKey> = claims.iter().map(|claim| claim.thread).collect();
        if overhead < MIN_OVERHEAD * on_path.as_f64() || !hand_over(ctx, &threads)? {
            return Ok(None);
        }
    } else if names.len() > 1 && kernel.is_some_and(|share| share < MIN_KERNEL) {
        // A program that hands over pieces to itself prepares them in user mode; what different programs do there is their work.
        return Ok(None);
    }
    let saved = on_path.scaled(1.0 - LEFT);
    let change = Fix::Batch { threads: threads(&claims), pieces: 16 };
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let finding = ctx.finding(claims, change, format!("Let {} hand over several pieces at a time", all.join(" and ")));
    Ok(Some(Finding {
        title: format!(
            "The critical path changed between {} {}, every {} on average: {} of the time",
            all.join(", "),
            plural(visits.unsigned_abs(), "time"),
            time(on_path / visits.max(1)),
            percent(on_path, span)
        ),
        severity: ctx.severity(saved),
        recoverable_ns: saved,
        range_ns: RANGE.of(saved),
        confidence: Confidence::Medium,
        evidence: evidence.finish(),
        assumptions: vec![
            format!(
                "handing over takes most of these {} ms of running, and pieces can be handed over together (lower bound: half of that is gained)",
                ms(running)
            ),
            match kernel {
                Some(share) => {
                    format!("{:.0} % of their samples hit the kernel, which hands the pieces over", 100.0 * share)
                }
                None => "preparing a piece to be handed over takes time as well".to_owned(),
            },
            "no piece depends on the result of the one before".to_owned(),
        ],
        ..finding
    }))
}

/// Whether threads of one process hand over pieces of work: most wakeups are between threads of different names, three or more wake each
/// other only through one of them, or they wait for each other's messages. Those that queue for a lock do none of these.
fn hand_over(ctx: &RuleContext<'_>, threads: &BTreeSet<ThreadKey>) -> Result<bool, EngineError> {
    let (mut with, mut all, mut alike) = (BTreeMap::new(), 0_i64, 0_i64);
    let pool = |thread: ThreadKey| pool_name(&ctx.name(thread)).to_owned();
    ctx.each_row(wakers::Table, |row| {
        let (thread, waker, wakeups) = (row.get(wakers::THREAD), row.get(wakers::WAKER), row.get(wakers::WAKINGS));
        if let Some(waker) = waker.filter(|waker| threads.contains(waker) && threads.contains(&thread)) {
            all = all.saturating_add(wakeups);
            alike = alike.saturating_add(if pool(thread) == pool(waker) { wakeups } else { 0 });
            [thread, waker].into_iter().for_each(|member| add(&mut with, member, wakeups));
        }
    })?;
    let (mut of_lock, mut messages) = (0_i64, 0_i64);
    ctx.each_row(waits::Table, |row| {
        let waker = row.get(waits::WAKER).filter(|waker| threads.contains(waker));
        if waker.is_some() && threads.contains(&row.get(waits::THREAD)) {
            match row.get(waits::REASON.or_empty()) {
                "" => {}
                "futex" => of_lock = of_lock.saturating_add(row.get(waits::WAITS)),
                _ => messages = messages.saturating_add(row.get(waits::WAITS)),
            }
        }
    })?;
    let most = with.values().copied().max().unwrap_or(0);
    let has_hub = with.len() > 2 && most as f64 >= MIN_HUB * all as f64;
    Ok(2 * alike < all || has_hub || (messages > 0 && messages as f64 >= MIN_MESSAGES * of_lock as f64))
}
