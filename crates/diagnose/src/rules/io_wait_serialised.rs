//! Threads that read from a device with one request at a time.

use super::{MIN_SHARE, SWITCH};
use crate::context::{EvidenceRows, RuleContext, add, threads};
use crate::finding::{Action, Confidence, Finding};
use crate::pools::{Pool, Processes};
use crate::range::Range;
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use crate::unmarked::waiting_server;
use crate::waits_for::WaitsFor;
use engine::EngineError;
use model::tables::{self, critical_by_thread, ready_wait, waits};
use model::words::{ms, percent, plural, time};
use model::{CallWaits, Fix, Ns, ThreadKey, Tid, WaitKind, call_reads, call_waits};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const RULE: Rule = Rule {
    id: "io-wait-serialised",
    about: "a thread spent much of its time waiting for a device, one request at a time",
    page: Page {
        description: "Threads that spent more time in uninterruptible sleep (state D) than running, in many short waits that interrupts ended: reads \
                from a device, one at a time. The second kind is a server: threads send it requests and wait for the answers, and it waits itself \
                for each request (for time, a file or a device).",
        rationale: "Devices answer several requests in about the time of one. A thread that issues one at a time gets a fraction of the \
                  device's throughput, and the program is as slow as the device.",
        certainty: "Sleep in state D is usually, but not always, a wait for a device. Whether a request depends on the answer to the previous one is \
               unknown, and so is how many the device handles at the same time: it is assumed that two concurrent requests halve the waits and their \
               switches. The severity is more than low only if the system call shows that it was a read, or a write that waits until it is durable \
               (fsync), which several changes can share. A server is known by its requests: a thread ends its \
               wait and waits itself, and the server, after a wait of its own, ends the wait of that thread first. Idle workers ask for nothing, so what \
               gives them work is no server. A server that is never idle gets no wakeups and is not reported. That requests do not depend on each \
               other is assumed.",
        fix: "Read ahead: larger reads, posix_fadvise(2), several concurrent requests (io_uring(7), threads).",
        example: "A reads a file in pieces of 4 KiB in random order: 8 000 waits of 100 µs in a second.",
    },
    tables: &[
        &tables::WAITS,
        &tables::READY_WAIT,
        &tables::CRITICAL_BY_THREAD,
        &tables::WAIT_OBJECTS,
        &tables::SERVED_WAITS,
    ],
    thresholds: &[&MIN_WAITING, &MIN_PER_SECOND, &MIN_SHARE, &MIN_SERVED, &SWITCH],
    explains: &[],
    worst: Fits::WaitedForDevice,
    shares_out_work: false,
    check,
};

const MIN_WAITING: Threshold = Threshold {
    name: "min_waiting",
    unit: Unit::Ratio,
    value: 0.3,
    reason: "of the time in which the thread waits for the device or runs: issuing a request takes some of the running time, too",
};

const MIN_PER_SECOND: Threshold = Threshold {
    name: "min_per_second",
    unit: Unit::PerSecond,
    value: 200.0,
    reason: "waits: with fewer, a wait takes milliseconds, as on a disk that is busy with other requests",
};

const MIN_SERVED: Threshold = Threshold {
    name: "min_served",
    unit: Unit::Count,
    value: 16.0,
    reason: "requests that a server answered: with fewer, they may be those of its start",
};

/// Concurrent requests after the fix.
const IN_FLIGHT: i64 = 2;

/// How many requests a device handles at a time differs, and issuing one takes time, too. With more than two at a time, nearly all of the
/// waiting is saved.
const RANGE: Range = Range { low: 0.7, high: 2.1 };

/// The waits of a thread.
#[derive(Clone, Copy, Default)]
struct Waits {
    tid: Tid,
    count: i64,
    blocked: Ns,
    /// The part of `blocked` that is for reading, according to a callchain.
    read: Ns,
    /// The same for writing to a device and waiting until it is there.
    sync: Ns,
}

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    if !ctx.summary().ready_known {
        return Ok(RuleOutcome::MissingData("the source has no wakeups, so it is unknown when waits ended".to_owned()));
    }
    let processes = Processes::new(ctx)?;
    let servers = waiting_server::find(ctx, &processes, ctx.threshold(&MIN_SERVED))?;
    let known: BTreeSet<ThreadKey> = servers.iter().flat_map(|finding| finding.waited_for.iter().copied()).collect();
    Ok(match of_threads(ctx, &processes, &known)? {
        RuleOutcome::Findings(others) => RuleOutcome::Findings(servers.into_iter().chain(others).collect()),
        _ if !servers.is_empty() => RuleOutcome::Findings(servers),
        other => other,
    })
}

/// The threads that wait for a device one request at a time, without those that are `known` already.
fn of_threads(
    ctx: &RuleContext<'_>,
    processes: &Processes,
    known: &BTreeSet<ThreadKey>,
) -> Result<RuleOutcome, EngineError> {
    let (mut waits, mut evidence) = (BTreeMap::<ThreadKey, Waits>::new(), EvidenceRows::default());
    let [mut any, mut has_states] = [false; 2];
    ctx.each_row(waits::Table, |row| {
        any = true;
        has_states |= !row.get(waits::STATE_LETTER.or_empty()).is_empty();
        let (thread, tid, count, blocked) = row.all((waits::THREAD, waits::TID, waits::WAITS, waits::BLOCKED_NS));
        // If the waker is not marked as an interrupt, it is the thread that was interrupted: one of the same process only by chance.
        let another = |waker| processes.are_recorded() && !processes.are_one(thread, waker);
        let device = row
            .get(waits::WAKER)
            .is_some_and(|waker| waker == ThreadKey::IDLE || ctx.is_per_cpu_kthread(waker) || another(waker));
        let reason = row.get(waits::REASON.or_empty());
        let (read, sync) = (call_reads(reason), call_waits(reason) == Some(CallWaits::Sync));
        if row.get(waits::STATE_LETTER.or_empty()) != "D"
            || !device
            || !(read || sync || reason.is_empty())
            || ctx.is_kernel_thread(thread)
            || known.contains(&thread)
        {
            return;
        }
        let sums = waits.entry(thread).or_default();
        sums.tid = tid;
        sums.count = sums.count.saturating_add(count);
        sums.blocked += blocked;
        sums.read += if read { blocked } else { Ns::ZERO };
        sums.sync += if sync { blocked } else { Ns::ZERO };
        evidence.push(blocked, row, &[&waits::WAITS, &waits::BLOCKED_NS]);
    })?;
    if any && !has_states {
        return Ok(RuleOutcome::MissingData("the source does not record the state in which threads waited".to_owned()));
    }
    let mut ran = BTreeMap::new();
    ctx.each_row(ready_wait::Table, |row| add(&mut ran, row.get(ready_wait::THREAD), row.get(ready_wait::RUNNING_NS)))?;
    let span = ctx.span().len().as_f64();
    let (part, rate) = (ctx.threshold(&MIN_WAITING), ctx.threshold(&MIN_PER_SECOND));
    let least = ctx.share_ns(&MIN_SHARE).max(Ns(1));
    let of_pools = pooled(ctx, processes, &waits)?;
    waits.retain(|thread, sums| {
        let own = (sums.blocked + ran.get(thread).copied().unwrap_or(Ns::ZERO)).as_f64();
        sums.blocked >= least && sums.blocked.as_f64() >= part * own && sums.count as f64 >= rate * span / 1e9
    });
    let alone = waits.values().map(|sums| sums.blocked).max().unwrap_or(Ns::ZERO);
    let enough = |pool: &Pooled| {
        let own = (pool.waits.blocked + pool.running).as_f64();
        pool.waits.blocked > alone.max(least)
            && pool.waits.blocked.as_f64() >= part * own
            && pool.waits.count as f64 >= rate * span / 1e9
    };
    let pool = of_pools.into_iter().filter(enough).max_by_key(|pool| pool.waits.blocked);
    let switching = |sums: &Waits| Ns::whole(sums.count as f64 * 2.0 * ctx.threshold(&SWITCH));
    // Many writes can be made durable by one wait; reads at the same time are limited by the device.
    let saved = |sums: &Waits, ns: Ns| if sums.sync * 2 > sums.blocked { ns } else { ns - ns / IN_FLIGHT };
    let mut cpu_ns = waits.values().fold(Ns::ZERO, |sum, sums| sum + saved(sums, switching(sums)));
    // Threads of a pool that wait in turn are as one thread that waits for all of their time.
    if let Some(pool) = pool {
        waits = pool.tids.iter().map(|(thread, tid)| (*thread, Waits { tid: *tid, ..pool.waits })).collect();
        cpu_ns = saved(&pool.waits, switching(&pool.waits));
    }
    let claims: Vec<_> = waits
        .iter()
        .map(|(key, sums)| ctx.claim(*key, sums.tid, saved(sums, sums.blocked + switching(sums))))
        .collect();
    let change = Fix::InFlight { threads: threads(&claims), requests: IN_FLIGHT as u32 };
    let finding = ctx.finding(claims, change, String::new());
    let first = finding.threads.first().map(|most| (most.name.clone(), waits.get(&most.thread)));
    let Some((name, Some(sums))) = first else { return Ok(RuleOutcome::Findings(Vec::new())) };
    let is_file = |kind| matches!(kind, WaitKind::File | WaitKind::Device);
    let file = WaitsFor::new(ctx)?.longest(finding.threads.iter().map(|claim| claim.thread), is_file, is_file);
    let file = file.filter(|file| file.is_most() && !file.name.is_empty());
    let (is_read, is_sync) = (sums.read * 2 > sums.blocked, sums.sync * 2 > sums.blocked);
    let what = if is_sync {
        format!(
            "Let {name} make several changes durable at a time: commit in larger transactions, or write its log in groups"
        )
    } else {
        format!("Let {name} issue the next request before the previous one is answered")
    };
    let best = finding.recoverable_ns;
    Ok(RuleOutcome::Findings(vec![Finding {
        title: format!(
            "{name} waited {} for a device, {} on average: {} ms in total, {} of the time{}",
            plural(sums.count.unsigned_abs(), "time"),
            time(sums.blocked / sums.count.max(1)),
            ms(sums.blocked),
            percent(sums.blocked, ctx.span().len()),
            file.map_or_else(String::new, |file| format!(", most for {}", file.name))
        ),
        range_ns: if is_read || is_sync {
            RANGE.of(best)
        } else {
            [Ns::ZERO, sums.blocked + ctx.upper(&SWITCH, switching(sums))]
        },
        cpu_ns: Some(cpu_ns),
        confidence: if is_read || is_sync { Confidence::Medium } else { Confidence::Low },
        evidence: evidence.finish(),
        assumptions: vec![
            if is_sync {
                "one wait for the device makes many changes durable".to_owned()
            } else {
                format!("the device handles {IN_FLIGHT} requests in the time of one (upper bound: any number)")
            },
            "each avoided wait also saves two switches".to_owned(),
            ctx.whose(&SWITCH),
            "no request depends on the answer to the previous one (lower bound: each does)".to_owned(),
        ],
        action: Action { what, ..finding.action },
        ..finding
    }]))
}

/// The threads of a pool that wait for devices, as far as the critical path waits with them.
#[derive(Default)]
struct Pooled {
    waits: Waits,
    /// Their running time on the path.
    running: Ns,
    tids: BTreeMap<ThreadKey, Tid>,
}

/// The pools in which several threads wait for a device on the critical path: one at a time, as the path is in one place. A runtime that
/// moves its work from one thread to another after each system call (Go) looks like that.
fn pooled(
    ctx: &RuleContext<'_>,
    processes: &Processes,
    waits: &BTreeMap<ThreadKey, Waits>,
) -> Result<Vec<Pooled>, EngineError> {
    let (mut pools, mut blocked) = (BTreeMap::<Pool, Pooled>::new(), BTreeMap::<Pool, Ns>::new());
    ctx.each_row(critical_by_thread::Table, |row| {
        let thread = row.get(critical_by_thread::THREAD);
        let Some(own) = waits.get(&thread) else { return };
        let key = processes.pool(ctx, thread);
        let waiting = row.all([
            critical_by_thread::READY_NS,
            critical_by_thread::WAKEUP_LATENCY_NS,
            critical_by_thread::BLOCKED_NS,
        ]);
        let pool = pools.entry(key.clone()).or_default();
        pool.tids.insert(thread, own.tid);
        let path = row.get(critical_by_thread::PATH_NS);
        pool.running += path - waiting.iter().sum::<Ns>();
        pool.waits.count = pool.waits.count.saturating_add(own.count);
        pool.waits.blocked += own.blocked;
        pool.waits.read += own.read;
        pool.waits.sync += own.sync;
        add(&mut blocked, key, waiting[2]);
    })?;
    for (key, pool) in &mut pools {
        let on_path = blocked.get(key).copied().unwrap_or(Ns::ZERO).min(pool.waits.blocked);
        let part = on_path.as_f64() / pool.waits.blocked.max(Ns(1)).as_f64();
        let of = pool.waits;
        pool.waits = Waits {
            count: (of.count as f64 * part) as i64,
            blocked: on_path,
            read: of.read.scaled(part),
            sync: of.sync.scaled(part),
            ..of
        };
    }
    Ok(pools.into_values().filter(|pool| pool.tids.len() > 1).collect())
}
