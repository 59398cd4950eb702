//! Processes of one name that wait for each other, as at a lock that they share: lock-convoy.
//!
//! ```text
//!   A   run, holds the lock ├─ waits for its commit ─┤ releases it
//!   B   │ waits (futex, semop, flock, or for a signal) ├─ runs
//!   C   │ waits ─────────────────────────────────────────────────
//! ```
//!
//! The holder may wait for a device, so the CPUs are no measure of how many could work. What counts is that most processes wait for others of
//! their name, and that the critical path passes through them, one at a time.

use crate::context::{EvidenceRows, RuleContext, add, threads};
use crate::finding::{Confidence, Finding};
use crate::pools::Processes;
use crate::serial::TURNS_RANGE;
use engine::EngineError;
use model::tables::{critical_by_thread, ready_wait, waits};
use model::words::{ms, percent, plural};
use model::{Fix, Ns, ThreadKey, Tid, pool_name};
use std::collections::{BTreeMap, BTreeSet};

/// With fewer processes, a lock cannot be distinguished from a request and its answer.
const MIN_PROCESSES: usize = 3;
/// The minimum number of waits for each other, per second: rarer ones are a start, an end or a barrier.
const MIN_PER_SECOND: f64 = 100.0;
/// The share of the time that a process waits for others, in the mean of all: of three that take turns, each waits for half of it, as being
/// switched to takes time too.
const MIN_WAITING: f64 = 0.4;
/// The share of the critical path that the processes have together.
const MIN_PATH: f64 = 0.6;
/// The share of the waits in which one process waits or wakes: one that hands out work takes part in all.
const MAX_HUB: f64 = 0.9;
/// System calls in which a process waits for a lock of several processes. Data bases sleep in epoll_wait until a signal comes.
const LOCKS: [&str; 8] =
    ["futex", "semop", "semtimedop", "flock", "fcntl", "epoll_wait", "epoll_pwait", "rt_sigtimedwait"];

/// The processes of a name.
#[derive(Default)]
struct Queue {
    /// By thread: TID and time waited.
    waited: BTreeMap<ThreadKey, (Tid, Ns)>,
    /// Waits in which a thread waits or wakes.
    with: BTreeMap<ThreadKey, i64>,
    members: BTreeSet<Option<i64>>,
    waits: i64,
    on_path: Ns,
    evidence: EvidenceRows,
}

impl Queue {
    fn blocked(&self) -> Ns {
        self.waited.values().map(|(_, ns)| ns).sum::<Ns>()
    }
}

/// Returns a finding for each name of which the processes lose at least `least` ns in this way.
pub(crate) fn find(ctx: &RuleContext<'_>, processes: &Processes, least: Ns) -> Result<Vec<Finding>, EngineError> {
    if !processes.are_recorded() {
        return Ok(Vec::new());
    }
    let mut queues = BTreeMap::<String, Queue>::new();
    ctx.each_row(waits::Table, |row| {
        let thread = row.get(waits::THREAD);
        let Some(waker) = row.get(waits::WAKER).filter(|waker| *waker > ThreadKey::IDLE) else { return };
        let (pool, other) = (processes.pool(ctx, thread), processes.pool(ctx, waker));
        let is_lock = LOCKS.contains(&row.get(waits::REASON.or_empty()));
        if pool.1 != other.1 || pool.0 == other.0 || ctx.is_kernel_thread(thread) || !is_lock {
            return;
        }
        let (tid, count, blocked) = row.all((waits::TID, waits::WAITS, waits::BLOCKED_NS));
        let queue = queues.entry(pool.1).or_default();
        let sums = queue.waited.entry(thread).or_insert((tid, Ns::ZERO));
        sums.1 += blocked;
        queue.members.extend([pool.0, other.0]);
        queue.waits = queue.waits.saturating_add(count);
        [thread, waker].into_iter().for_each(|member| add(&mut queue.with, member, count));
        queue.evidence.push(blocked, row, &[&waits::WAITS, &waits::BLOCKED_NS, &waits::WAKER_BLOCKED_NS]);
    })?;
    let span = ctx.span().len().max(Ns(1)).as_f64();
    queues.retain(|_, queue| {
        let hub = queue.with.values().max().copied().unwrap_or(0);
        queue.members.len() >= MIN_PROCESSES
            && queue.waits as f64 >= MIN_PER_SECOND * span / 1e9
            && (hub as f64) < MAX_HUB * queue.waits as f64
    });
    if queues.is_empty() {
        return Ok(Vec::new());
    }
    let (mut path, mut lived) = (Ns::ZERO, BTreeMap::<ThreadKey, Ns>::new());
    ctx.each_row(critical_by_thread::Table, |row| {
        let (thread, ns) = row.all((critical_by_thread::THREAD, critical_by_thread::PATH_NS));
        path += ns;
        if let Some(queue) = queues.get_mut(pool_name(&ctx.name(thread))) {
            queue.on_path += ns;
        }
    })?;
    ctx.each_row(ready_wait::Table, |row| {
        let [running, blocked] = row.all([ready_wait::RUNNING_NS, ready_wait::BLOCKED_NS]);
        let ready = row.get(ready_wait::READY_NS.or_zero());
        lived.insert(row.get(ready_wait::THREAD), (running + ready) + blocked);
    })?;
    queues.retain(|_, queue| {
        let lived = queue.waited.keys().filter_map(|thread| lived.get(thread));
        let lived = lived.sum::<Ns>();
        queue.blocked().as_f64() >= MIN_WAITING * lived.as_f64() && queue.on_path.as_f64() >= MIN_PATH * path.as_f64()
    });
    let cpus = ctx.cpus()?;
    let found = queues.into_iter().map(|(name, queue)| finding(ctx, &name, queue, cpus));
    Ok(found.filter(|finding| finding.recoverable_ns >= least).collect())
}

fn finding(ctx: &RuleContext<'_>, name: &str, queue: Queue, cpus: i64) -> Finding {
    let name = &ctx.name_of_all(queue.waited.keys().copied(), name);
    let parallel = cpus.min(queue.members.len() as i64).max(1);
    let saved = queue.on_path - queue.on_path / parallel;
    let claims: Vec<_> =
        queue.waited.iter().map(|(thread, (tid, own))| ctx.claim(*thread, *tid, saved.min(*own))).collect();
    let change = Fix::SplitLock { threads: threads(&claims) };
    let what = format!("Split the lock that the {name} processes queue for, or hold it for less time");
    Finding {
        title: format!(
            "{} processes named {name} waited {} for each other, {} ms in total; one at a time, they are {} of the critical path",
            queue.members.len(),
            plural(queue.waits.unsigned_abs(), "time"),
            ms(queue.blocked()),
            percent(queue.on_path, ctx.span().len())
        ),
        severity: ctx.severity(saved),
        recoverable_ns: saved,
        range_ns: TURNS_RANGE.of(saved),
        confidence: Confidence::Medium,
        evidence: queue.evidence.finish(),
        assumptions: vec![
            format!(
                "what they do one at a time, waiting for devices included, could be done by {parallel} at a time (lower bound: 60 % of that is gained)"
            ),
            "upper bound: more of them can wait for devices at the same time than there are CPUs".to_owned(),
        ],
        ..ctx.finding(claims, change, what)
    }
}
