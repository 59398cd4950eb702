//! Threads that are woken very often for very little work.

use super::{MIN_PATH_SHARE, SWITCH};
use crate::context::{EvidenceRows, RuleContext, add, threads};
use crate::finding::{Confidence, Finding};
use crate::kernel::KernelTime;
use crate::pools::{Pool, Processes};
use crate::range::Range;
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use crate::timers::timed;
use engine::EngineError;
use model::tables::{self, critical_by_thread, run_lengths, thread_by_cpu, wait_objects, waits, wakers};
use model::words::{grouped, ms, plural, time};
use model::{Coded, Fix, Ns, ThreadKey, Tid, WaitKind, pool_name};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) static RULE: Rule = Rule {
    id: "wakeup-storm",
    about: "threads were woken thousands of times per second by their own process, and ran for a few microseconds each time",
    page: Page {
        description: "Threads of one pool that threads of their own process wake very often, mostly to run for no longer than the switch \
                takes: one wakeup for each small piece of work, or a wakeup of all where one is enough.",
        rationale: "A wakeup costs the waker a system call and the CPU two switches: with little work per wakeup, most of the time is \
                  spent on handing work over, and idle CPUs never enter deep sleep.",
        certainty: "Wakeups and run lengths are known. The cost of a wakeup is assumed. If each piece is needed immediately, for example by a thread \
               that waits for the answer, pieces cannot be batched: of two pools that wake each other, only the excess of one \
               direction counts. No thread is done earlier by more than its process waited for a CPU on the critical path, if the path \
               is its own; the rest is CPU time for others. Wakeups by interrupts and other processes are not counted. If a source does not \
               distinguish them from those of the interrupted thread, a thread that was always woken on the CPU on which its waker ran, on \
               several CPUs, counts as woken by timers.",
        fix: "Hand over several pieces per wakeup; wake one thread (notify_one) instead of all if there is work for one.",
        example: "A wakes B for each line of text: B runs for 5 µs, 20 000 times per second.",
    },
    tables: &[
        &tables::WAKERS,
        &tables::RUN_LENGTHS,
        &tables::THREAD_BY_CPU,
        &tables::CPUS,
        &tables::CRITICAL_BY_THREAD,
        &tables::WAITS,
        &tables::WAIT_OBJECTS,
        &tables::SAMPLES,
    ],
    thresholds: &[&MIN_PER_SECOND, &SHORT_RUN_NS, &MIN_SHORT, &SWITCH, &MIN_PATH_SHARE],
    explains: &[],
    worst: Fits::Nothing,
    shares_out_work: false,
    check,
};

const MIN_PER_SECOND: Threshold = Threshold {
    name: "min_per_second",
    unit: Unit::PerSecond,
    value: 5000.0,
    reason: "of all threads of the pool: 4 % of a CPU at the assumed cost; servers with some thousand requests per second are fine",
};

const SHORT_RUN_NS: Threshold = Threshold {
    name: "short_run_ns",
    unit: Unit::Ns,
    value: 16_000.0,
    reason: "the run length, in the powers of two of run_lengths, below which a switch takes about as long as the run",
};

const MIN_SHORT: Threshold = Threshold {
    name: "min_short",
    unit: Unit::Ratio,
    value: 0.75,
    reason: "share of the runs after a wakeup that are this short: with less, the wakeups bring work",
};

/// Recommended number of pieces per wakeup.
const PIECES: u32 = 8;

/// All threads of a pool.
#[derive(Default)]
struct Storm {
    /// TID and number of wakeups, by thread key.
    woken: BTreeMap<ThreadKey, (Tid, i64)>,
    /// Wakeups by other pools.
    by_pool: BTreeMap<Pool, i64>,
    /// Wakeups that answer one by this pool, or are answered by one.
    answered: i64,
    runs: i64,
    short: i64,
    evidence: EvidenceRows,
    /// If all members are woken where one is enough: their running time.
    herd: Option<Ns>,
    /// Whether processes are recorded; otherwise, the waker may be of another process.
    has_process: bool,
}

impl Storm {
    fn wakeups(&self) -> i64 {
        self.woken.values().fold(0, |sum, (_, wakeups)| sum.saturating_add(*wakeups))
    }

    /// The share of some wakeups that are not requests and answers.
    fn unanswered(&self, wakeups: i64) -> i64 {
        let all = self.wakeups().max(1);
        wakeups - (wakeups as f64 * self.answered as f64 / all as f64) as i64
    }
}

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    if !ctx.summary().ready_known {
        return Ok(RuleOutcome::MissingData("the source has no wakeups".to_owned()));
    }
    let processes = Processes::new(ctx)?;
    let herds = herds(ctx)?;
    let mut storms: BTreeMap<Pool, Storm> = BTreeMap::new();
    ctx.each_row(wakers::Table, |row| {
        let (thread, tid, wakeups) = row.all((wakers::THREAD, wakers::TID, wakers::WAKINGS));
        let pool = processes.pool(ctx, thread);
        let is_own = |waker: &ThreadKey| processes.are_one(*waker, thread) || herds.contains(&pool.1);
        let waker = row.get(wakers::WAKER).filter(|waker| *waker > ThreadKey::IDLE && is_own(waker));
        if waker.is_none_or(|waker| ctx.is_per_cpu_kthread(waker)) || ctx.is_per_cpu_kthread(thread) {
            return;
        }
        let pool = if herds.contains(&pool.1) { (None, pool.1) } else { pool };
        let storm = storms.entry(pool.clone()).or_default();
        let sums = storm.woken.entry(thread).or_insert((tid, 0));
        sums.1 = sums.1.saturating_add(wakeups);
        if let Some(other) = waker.map(|waker| processes.pool(ctx, waker)).filter(|other| *other != pool) {
            add(&mut storm.by_pool, other, wakeups);
        }
        storm.evidence.push(wakeups, row, &[&wakers::WAKINGS, &wakers::READY_NS]);
    })?;
    let answered: Vec<i64> = storms.iter().map(|(pool, storm)| answered(&storms, pool, storm)).collect();
    storms.values_mut().zip(answered).for_each(|(storm, answered)| storm.answered = answered);
    let least = ctx.threshold(&MIN_PER_SECOND) * ctx.span().len().as_f64() / 1e9;
    storms.retain(|_, storm| storm.unanswered(storm.wakeups()) as f64 >= least.max(1.0));
    if storms.is_empty() {
        return Ok(RuleOutcome::Findings(Vec::new()));
    }
    let timed = timed(ctx, &processes)?;
    storms.retain(|pool, _| !timed.contains(pool));
    let (mut runs, mut short) = (BTreeMap::new(), BTreeMap::new());
    ctx.each_row(run_lengths::Table, |row| {
        let (thread, count) = row.all((run_lengths::THREAD, run_lengths::AFTER_WAKE.or_zero()));
        let Some(to) = row.get(run_lengths::TO_NS) else { return };
        add(&mut runs, thread, count);
        if to.as_f64() <= ctx.threshold(&SHORT_RUN_NS) {
            add(&mut short, thread, count);
        }
    })?;
    let mut ran = BTreeMap::new();
    ctx.each_row(thread_by_cpu::Table, |row| {
        add(&mut ran, row.get(thread_by_cpu::THREAD), row.get(thread_by_cpu::RUNNING_NS))
    })?;
    for (pool, storm) in &mut storms {
        if pool.0.is_none() && herds.contains(&pool.1) {
            storm.herd = Some(storm.woken.keys().filter_map(|thread| ran.get(thread)).sum());
        }
        let sum = |sums: &BTreeMap<ThreadKey, i64>| storm.woken.keys().filter_map(|thread| sums.get(thread)).sum();
        (storm.runs, storm.short) = (sum(&runs), sum(&short));
        storm.has_process = processes.are_recorded();
    }
    storms.retain(|_, storm| storm.short as f64 >= ctx.threshold(&MIN_SHORT) * storm.runs.max(1) as f64);
    let cpus = ctx.cpus()?;
    let mut found = Vec::new();
    for (pool, storm) in storms {
        let path = on_path(ctx, &processes, &pool)?;
        found.push(finding(ctx, &pool.1, storm, cpus, path));
    }
    Ok(RuleOutcome::Findings(found))
}

/// Waking a member costs its waker time, too; a member that finds nothing may do other work.
const HERD_RANGE: Range = Range { low: 0.55, high: 1.6 };

/// By how much a wakeup may be dearer than assumed: on a virtual machine, waking a CPU leaves the guest.
const MAX_FACTOR: i64 = 4;

/// The kernel also does other work for the threads, and pieces that come together are worked on faster.
const SAMPLED: Range = Range { low: 0.55, high: 1.6 };

/// With fewer members, a pool that is woken together is not a herd.
const MIN_HERD: usize = 8;

/// The names of pools of which most wakeups wake many members together, as a connection wakes all processes that wait for the same socket.
/// Who wakes them is another process, too. Where it was recorded what they wait for, only waits for the same object count, and none for a lock: of
/// all that a broadcast wakes, most then wait for the mutex.
fn herds(ctx: &RuleContext<'_>) -> Result<BTreeSet<String>, EngineError> {
    let mut pools = BTreeMap::<String, (BTreeSet<ThreadKey>, i64, i64)>::new();
    ctx.each_row(waits::Table, |row| {
        let thread = row.get(waits::THREAD);
        if ctx.is_kernel_thread(thread) || row.get(waits::WAKER).is_none_or(|waker| waker <= ThreadKey::IDLE) {
            return;
        }
        let sums = pools.entry(pool_name(&ctx.name(thread)).to_owned()).or_default();
        let [waits, together] = row.all([waits::WAITS, waits::WOKEN_TOGETHER.or_zero()]);
        sums.0.insert(thread);
        (sums.1, sums.2) = (sums.1.saturating_add(waits), sums.2.saturating_add(together));
    })?;
    let mut by_object = BTreeMap::<String, (BTreeSet<ThreadKey>, i64, i64)>::new();
    ctx.each_row(wait_objects::Table, |row| {
        let thread = row.get(wait_objects::THREAD);
        let is_lock = WaitKind::of_word(row.get(wait_objects::KIND).as_bytes()).is_some_and(WaitKind::is_lock);
        let by = row.get(wait_objects::RELEASED_BY).is_some_and(|by| by > ThreadKey::IDLE);
        if row.get(wait_objects::OBJECT).is_none() || is_lock || !by || ctx.is_kernel_thread(thread) {
            return;
        }
        let sums = by_object.entry(pool_name(&ctx.name(thread)).to_owned()).or_default();
        let [waits, together] = row.all([wait_objects::WAITS, wait_objects::WOKEN_TOGETHER]);
        sums.0.insert(thread);
        (sums.1, sums.2) = (sums.1.saturating_add(waits), sums.2.saturating_add(together));
    })?;
    pools.extend(by_object);
    pools.retain(|_, (members, waits, together)| members.len() >= MIN_HERD && 4 * *together >= 3 * *waits);
    Ok(pools.into_keys().collect())
}

/// The number of wakeups of a pool that go back and forth: for each pair of pools, the smaller of the two directions.
fn answered(storms: &BTreeMap<Pool, Storm>, pool: &Pool, storm: &Storm) -> i64 {
    let back = |other: &Pool| storms.get(other).and_then(|storm| storm.by_pool.get(pool)).copied().unwrap_or(0);
    storm.by_pool.iter().fold(0, |sum, (other, wakeups)| sum.saturating_add(back(other).min(*wakeups)))
}

/// What the critical path has of the threads of a process.
struct OnPath {
    /// For how long they waited for a CPU on it.
    waited: Ns,
    /// For how long they were in the kernel or waking up on it, if they have samples.
    overhead: Option<Ns>,
}

/// The part of the pool's process in the critical path; `None` if the path is not its own.
fn on_path(ctx: &RuleContext<'_>, processes: &Processes, pool: &Pool) -> Result<Option<OnPath>, EngineError> {
    let (mut on_path, mut waited, mut running, mut latency) = (Ns::ZERO, Ns::ZERO, Ns::ZERO, Ns::ZERO);
    let mut threads = Vec::new();
    ctx.each_row(critical_by_thread::Table, |row| {
        let thread = row.get(critical_by_thread::THREAD);
        if pool.0.is_none() || processes.pool(ctx, thread).0 != pool.0 {
            return;
        }
        let [path, ready, waking, blocked] = row.all([
            critical_by_thread::PATH_NS,
            critical_by_thread::READY_NS,
            critical_by_thread::WAKEUP_LATENCY_NS,
            critical_by_thread::BLOCKED_NS,
        ]);
        on_path += path;
        waited += ready;
        latency += waking;
        running += (path - ready - waking - blocked).max(Ns::ZERO);
        threads.push(thread);
    })?;
    let share = KernelTime::new(ctx)?.share(threads.into_iter());
    let overhead = share.map(|share| running.scaled(share) + latency);
    Ok((on_path >= ctx.share_ns(&MIN_PATH_SHARE).max(Ns(1))).then_some(OnPath { waited, overhead }))
}

fn finding(ctx: &RuleContext<'_>, name: &str, storm: Storm, cpus: i64, path: Option<OnPath>) -> Finding {
    let waited = path.as_ref().map(|path| path.waited);
    let cost = |wakeups: i64| Ns::whole(storm.unanswered(wakeups) as f64 * 2.0 * ctx.threshold(&SWITCH));
    let saved = |wakeups: i64| cost(wakeups) - cost(wakeups) / i64::from(PIECES);
    let sooner = |ns: Ns| ns.min(waited.unwrap_or(ns));
    let claim = |(thread, (tid, wakeups)): (&ThreadKey, &(Tid, i64))| ctx.claim(*thread, *tid, sooner(saved(*wakeups)));
    let claims: Vec<_> = storm.woken.iter().map(claim).collect();
    let name = &*ctx.name_of_all(storm.woken.keys().copied(), name);
    let change = Fix::Batch { threads: threads(&claims), pieces: PIECES };
    let finding = ctx.finding(claims, change, format!("Wake {name} less often, for more work at a time"));
    // CPUs switch in parallel, each for its part.
    let most = |all: Ns, own: Ns| own.max(all / cpus.max(1));
    let own = storm.woken.values().map(|(_, wakeups)| *wakeups).max().unwrap_or(0);
    let cpu_ns = saved(storm.wakeups());
    let switching = most(cpu_ns, saved(own));
    // All but one of the members that a wakeup wakes find nothing to do.
    let in_vain = |ran: Ns| (ran - ran / storm.woken.len().max(1) as i64) / cpus.max(1);
    // What the wakeups cost on the path, where samples show it.
    let sampled =
        path.and_then(|path| path.overhead).map(|ns| (ns - ns / i64::from(PIECES)).min(switching * MAX_FACTOR));
    let sampled = sampled.filter(|ns| storm.herd.is_none() && *ns > sooner(switching));
    let recoverable = sampled.unwrap_or_else(|| storm.herd.map_or_else(|| sooner(switching), in_vain));
    Finding {
        title: format!(
            "{name} was woken {} by {}, and ran for less than {} in {} of {} runs: about {} ms were lost to switching",
            plural(storm.wakeups().unsigned_abs(), "time"),
            if storm.has_process { "threads of its process" } else { "other threads" },
            time(Ns::whole(ctx.threshold(&SHORT_RUN_NS))),
            grouped(storm.short),
            grouped(storm.runs),
            ms(switching)
        ),
        severity: ctx.severity(recoverable),
        recoverable_ns: recoverable,
        range_ns: match storm.herd {
            _ if sampled.is_some() => SAMPLED.of(recoverable),
            Some(_) => HERD_RANGE.of(recoverable),
            None => [Ns::ZERO, sooner(ctx.upper(&SWITCH, most(cost(storm.wakeups()), cost(own))))],
        },
        cpu_ns: Some(cpu_ns),
        confidence: if storm.has_process { Confidence::Medium } else { Confidence::Low },
        evidence: storm.evidence.finish(),
        assumptions: vec![
            format!(
                "each wakeup costs two switches; a wakeup with {PIECES} pieces costs as much as one with a single piece"
            ),
            ctx.whose(&SWITCH),
            match waited {
                _ if sampled.is_some() => {
                    "most of the time that its process is in the kernel or waking up on the critical path is spent on \
                                           these wakeups (by samples)"
                        .to_owned()
                }
                Some(waited) => format!(
                    "no thread is done earlier by more than the {} ms for which the process waited for a CPU on the critical path \
                     (lower bound: CPUs that become idle instead take as long to wake up)",
                    ms(waited)
                ),
                None => "no thread waits for each piece (lower bound: one does)".to_owned(),
            },
        ],
        ..finding
    }
}
