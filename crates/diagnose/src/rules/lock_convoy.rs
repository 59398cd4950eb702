//! Threads that queue for one lock and run one at a time.

use super::{MIN_SHARE, SWITCH};
use crate::context::{EvidenceRows, RuleContext, add, threads};
use crate::finding::{Confidence, Finding};
use crate::pools::{Pool, Processes};
use crate::regions::{Source, by_name, workers};
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use crate::serial::TURNS_RANGE;
use crate::unmarked::{lock_calls, process_lock};
use crate::waits_for::{Longest, WaitsFor};
use engine::EngineError;
use model::tables::{self, parallel_regions, pools, ready_wait, run_lengths, waits};
use model::words::{ms, plural};
use model::{Fix, Ns, ThreadKey, Tid};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const RULE: Rule = Rule {
    id: "lock-convoy",
    about: "threads of one pool, or processes of one name, queued for each other, one after the other, as at a shared lock",
    page: Page {
        description: "Threads of one pool in one process that often block until another of them wakes them, where the waking thread had itself waited \
                in the meantime: they queue and run one at a time. Or processes of one name that are on the critical path for most of the time, and \
                of which most wait for each other meanwhile. Or threads that were sampled in glibc's calls that wait for a lock and wake the next \
                thread, while all CPUs are busy.",
        rationale: "Work shared by several threads is done at the speed of one, and each piece costs two switches: more threads make it \
                  slower. Processes share locks too: a row of a data base, a semaphore, a lock of a file.",
        certainty: "Which thread woke which, and what the waker did meanwhile, is known. That it was a lock is the likely reason, unless a \
               callchain (futex) or what they waited for (a recording by corewise) confirms it. At a barrier, the last thread wakes all others and has not waited itself, so barriers are not \
               reported. Threads that pass on a piece of work in a ring look the same. If they run at the same time at other times, only what ran \
               while others queued counts. A lock that is taken again by the thread that released it, before the woken thread has a CPU \
               (glibc's and Rust's mutex), is recognised by threads that are woken one at a time and find the lock taken, while \
               their waker keeps running. Two threads that wait for each other are reported only if they share parallel regions, and wait \
               several times in each: a request and its answer would be the whole region. Workers that wake each other for work that is already taken look the same, if only one of them runs most of the time. The \
               estimate assumes that the threads' running time could be spread over the CPUs that were idle.",
        fix: "Hold the lock for a shorter time, or split it: one lock per part of the data, or per-thread results that are combined at the \
               end.",
        example: "A, B and C need one lock for 2 ms each: on two CPUs, one runs at a time, and two wait.",
    },
    tables: &[
        &tables::WAITS,
        &tables::READY_WAIT,
        &tables::RUN_LENGTHS,
        &tables::POOLS,
        &tables::CPUS,
        &tables::PARALLEL_REGIONS,
        &tables::MARKS,
        &tables::CRITICAL_BY_THREAD,
        &tables::SAMPLES,
        &tables::WAIT_OBJECTS,
    ],
    thresholds: &[
        &MIN_THREADS,
        &MIN_PER_REGION,
        &MIN_PER_SECOND,
        &MIN_QUEUE,
        &MAX_TOGETHER,
        &MIN_WAITING,
        &MIN_BUSY,
        &MAX_BUSY,
        &MIN_HELD,
        &MIN_SHORT,
        &SHORT_RUN_NS,
        &MIN_BY_OTHERS,
        &MAX_OF_ONE,
        &MAX_HUB,
        &MAX_MESSAGES,
        &SWITCH,
        &MIN_SHARE,
    ],
    explains: &["wakeup-storm", "too-few-workers"],
    worst: Fits::WaitedForThread,
    shares_out_work: false,
    check,
};

const MIN_THREADS: Threshold = Threshold {
    name: "min_threads",
    unit: Unit::Count,
    value: 3.0,
    reason: "if two threads wait for each other, a lock cannot be distinguished from a request and its response, unless they share parallel regions",
};

const MIN_PER_REGION: Threshold = Threshold {
    name: "min_per_region",
    unit: Unit::Count,
    value: 3.0,
    reason: "waits of two threads for each other in each parallel region that they share: at its end, one waits once, and in a request and its \
             answer, each waits once",
};

const MIN_PER_SECOND: Threshold = Threshold {
    name: "min_per_second",
    unit: Unit::PerSecond,
    value: 500.0,
    reason: "waits of all threads together, per second of running one at a time: with one wait in 2 ms or fewer, the lock is held for long, and the holder's work matters",
};

const MIN_QUEUE: Threshold = Threshold {
    name: "min_queue",
    unit: Unit::Ratio,
    value: 0.25,
    reason: "share of the waiting time in which the waker waited too: half of it if three threads take turns, more with more threads, none at a barrier",
};

const MAX_TOGETHER: Threshold = Threshold {
    name: "max_together",
    unit: Unit::Ratio,
    value: 0.25,
    reason: "share of the waits that were ended together with others: almost none at a lock, except if a woken thread has no CPU \
             before the next one is woken; all at a barrier, half if the lock of a condition variable is queued for afterwards",
};

const MIN_WAITING: Threshold = Threshold {
    name: "min_waiting",
    unit: Unit::Ratio,
    value: 1.0,
    reason: "waiting for each other relative to running one at a time: three threads that take turns wait for two turns and run for one; for two threads, half of it",
};

const MIN_BUSY: Threshold = Threshold {
    name: "min_busy",
    unit: Unit::Ratio,
    value: 0.5,
    reason: "their running time in CPUs, over the whole time or while they queued: threads that are idle for longer wait for work, like those of a server",
};

const MAX_BUSY: Threshold = Threshold {
    name: "max_busy",
    unit: Unit::Ratio,
    value: 1.25,
    reason: "their running time in CPUs, as for min_busy: if more than one of them runs most of the time, the lock is not the limit",
};

const MIN_HELD: Threshold = Threshold {
    name: "min_held",
    unit: Unit::Ratio,
    value: 0.5,
    reason: "for a lock of two threads, or that is taken again immediately: share of the waiting time in which the waker ran, as a lock holder does; 0.97 in the \
             pathology lock_convoy, less if other threads take its CPU",
};

const MIN_SHORT: Threshold = Threshold {
    name: "min_short",
    unit: Unit::Ratio,
    value: 0.75,
    reason: "for a lock that is taken again immediately: share of the runs after a wakeup that are short, because the lock is taken; 0.96 in the pathology lock_convoy",
};

const SHORT_RUN_NS: Threshold = Threshold {
    name: "short_run_ns",
    unit: Unit::Ns,
    value: 16_000.0,
    reason: "the maximum length of the short runs of min_short, in the powers of two of run_lengths: to find the lock taken, spin and wait again took 4 to 8 µs in the pathology lock_convoy",
};

const MIN_BY_OTHERS: Threshold = Threshold {
    name: "min_by_others",
    unit: Unit::Ratio,
    value: 0.25,
    reason: "for the same locks: share of the waits that threads other than the most frequent waker ended, while \
             they kept running; 0.45 to 0.59 in the pathology lock_convoy, where one thread keeps the lock until it no longer needs it \
             and then the next does; zero if one thread hands out work",
};

const MAX_OF_ONE: Threshold = Threshold {
    name: "max_of_one",
    unit: Unit::Ratio,
    value: 0.85,
    reason: "share of the pool's running time that one thread has: with more, it does the work, and the others wait for its results or for work",
};

const MAX_HUB: Threshold = Threshold {
    name: "max_hub",
    unit: Unit::Ratio,
    value: 0.9,
    reason: "share of the waits in which one thread waits or wakes, of three or more: of those that queue for a lock, any may wake any (2/3 of three \
             threads, less of more); one that hands out pieces of work, and gets them back, takes part in all",
};

const MAX_MESSAGES: Threshold = Threshold {
    name: "max_messages",
    unit: Unit::Ratio,
    value: 0.2,
    reason: "waits for each other in system calls that receive messages (epoll_wait, read), relative to those in futex: threads that hand over \
             pieces of work by messages also wait for the locks of their queues",
};

/// All threads of a pool that waited for each other.
#[derive(Default)]
struct Queue {
    /// By thread key: TID, number of waits, time waited.
    by_thread: BTreeMap<ThreadKey, (Tid, i64, Ns)>,
    /// Waiting threads and wakers: a thread that always keeps the lock never waits for it.
    members: BTreeSet<ThreadKey>,
    /// For how long the wakers had waited themselves.
    queued: Ns,
    /// Waits that were ended together with others.
    together: i64,
    /// Waits by waker, if it ran meanwhile as a lock holder does.
    held_by: BTreeMap<ThreadKey, i64>,
    /// Runs after a wakeup, and those of them that were short.
    runs: i64,
    short: i64,
    /// Whether a callchain shows that it is a lock.
    is_known_lock: bool,
    running: Ns,
    /// Of the thread that ran most.
    most_running: Ns,
    /// For how long they ran while a CPU was idle.
    with_idle: Ns,
    /// Waits for each other in other system calls: for messages.
    messages: i64,
    /// Waits by waiting thread and waker.
    by_pair: BTreeMap<[ThreadKey; 2], i64>,
    /// For how long the wakers ran during the waits.
    ran_meanwhile: Ns,
    evidence: EvidenceRows,
}
impl Queue {
    fn waits(&self) -> i64 {
        self.by_thread.values().map(|(_, waits, _)| waits).sum()
    }

    /// Waits that wakers other than the most frequent one ended, running meanwhile.
    fn by_others(&self) -> i64 {
        let all = self.held_by.values().fold(0_i64, |sum, waits| sum.saturating_add(*waits));
        all - self.held_by.values().max().copied().unwrap_or(0)
    }

    /// Whether the wakers had waited too.
    fn is_passed_on(&self, ctx: &RuleContext<'_>) -> bool {
        self.queued.as_f64() >= ctx.threshold(&MIN_QUEUE) * self.blocked().as_f64() && self.is_one_at_a_time(ctx)
    }

    /// Whether they were woken one at a time. Steps that all of them make together are not a queue, although they queue briefly for
    /// the lock of a condition variable.
    fn is_one_at_a_time(&self, ctx: &RuleContext<'_>) -> bool {
        self.together as f64 <= ctx.threshold(&MAX_TOGETHER) * self.waits() as f64
    }

    /// Whether the wakers kept running, and the woken threads found the lock taken.
    fn is_retaken(&self, ctx: &RuleContext<'_>) -> bool {
        let waits = self.waits() as f64;
        self.ran_meanwhile.as_f64() >= ctx.threshold(&MIN_HELD) * self.blocked().as_f64()
            && self.short as f64 >= ctx.threshold(&MIN_SHORT) * self.runs.max(1) as f64
            && self.is_one_at_a_time(ctx)
            && self.by_others() as f64 >= ctx.threshold(&MIN_BY_OTHERS) * waits
    }

    /// Whether there are two threads, and each waits while the other one runs.
    fn alternates(&self, ctx: &RuleContext<'_>) -> bool {
        self.members.len() == 2
            && self.ran_meanwhile.as_f64() >= ctx.threshold(&MIN_HELD) * self.blocked().as_f64()
            && self.is_one_at_a_time(ctx)
            && self.by_others() as f64 >= ctx.threshold(&MIN_BY_OTHERS) * self.waits() as f64
    }

    /// Whether one thread hands out the work, or does it, or they send each other messages.
    fn has_centre(&self, ctx: &RuleContext<'_>) -> bool {
        let with = |member: &ThreadKey| {
            let pairs = self.by_pair.iter().filter(|(pair, _)| pair.contains(member));
            pairs.fold(0_i64, |sum, (_, waits)| sum.saturating_add(*waits))
        };
        let most = self.members.iter().map(with).max().unwrap_or(0);
        let is_hub = self.members.len() > 2 && most as f64 >= ctx.threshold(&MAX_HUB) * self.waits() as f64;
        let by_messages = self.messages as f64 >= ctx.threshold(&MAX_MESSAGES) * self.waits() as f64;
        is_hub || by_messages || self.most_running.as_f64() >= ctx.threshold(&MAX_OF_ONE) * self.running.as_f64()
    }

    fn blocked(&self) -> Ns {
        self.by_thread.values().map(|(.., blocked)| blocked).sum()
    }

    /// How many of them ran at the same time while the others queued, if all others did.
    fn running_while_queued(&self) -> f64 {
        self.ran_meanwhile.as_f64() * (self.members.len() as f64 - 1.0) / self.blocked().max(Ns(1)).as_f64()
    }

    /// What they ran one at a time: everything if that holds for the whole time, else what ran while others waited.
    fn serial_ns(&self, whole_time: bool) -> Ns {
        if whole_time { self.running } else { self.ran_meanwhile }
    }
}

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    if !ctx.summary().ready_known {
        return Ok(RuleOutcome::MissingData(
            "the source has no wakeups, so it is unknown which thread waited for which".to_owned(),
        ));
    }
    let processes = Processes::new(ctx)?;
    let mut queues: BTreeMap<Pool, Queue> = BTreeMap::new();
    ctx.each_row(waits::Table, |row| {
        let thread = row.get(waits::THREAD);
        let Some(waker) = row.get(waits::WAKER).filter(|waker| *waker > ThreadKey::IDLE) else { return };
        let pool = processes.pool(ctx, thread);
        let reason = Some(row.get(waits::REASON.or_empty())).filter(|reason| !reason.is_empty());
        if processes.pool(ctx, waker) != pool || ctx.is_per_cpu_kthread(thread) {
            return;
        }
        if reason.is_some_and(|reason| reason != "futex") {
            let queue = queues.entry(pool).or_default();
            queue.messages = queue.messages.saturating_add(row.get(waits::WAITS));
            return;
        }
        let (tid, waits, blocked, queued, ran) = row.all((
            waits::TID,
            waits::WAITS,
            waits::BLOCKED_NS,
            waits::WAKER_BLOCKED_NS.or_zero(),
            waits::WAKER_RUNNING_NS.or_zero(),
        ));
        let queue = queues.entry(pool).or_default();
        let sums = queue.by_thread.entry(thread).or_insert((tid, 0, Ns::ZERO));
        *sums = (tid, sums.1.saturating_add(waits), sums.2 + blocked);
        queue.members.extend([thread, waker]);
        add(&mut queue.by_pair, [thread, waker], waits);
        queue.queued += queued;
        queue.ran_meanwhile += ran;
        queue.together = queue.together.saturating_add(row.get(waits::WOKEN_TOGETHER.or_zero()));
        if ran.as_f64() >= ctx.threshold(&MIN_HELD) * blocked.as_f64() {
            add(&mut queue.held_by, waker, waits);
        }
        queue.is_known_lock |= reason.is_some();
        queue.evidence.push(
            blocked,
            row,
            &[
                &waits::WAITS,
                &waits::WOKEN_TOGETHER,
                &waits::BLOCKED_NS,
                &waits::WAKER_RUNNING_NS,
                &waits::WAKER_BLOCKED_NS,
            ],
        );
    })?;
    ctx.each_row(ready_wait::Table, |row| {
        let (thread, running) = row.all((ready_wait::THREAD, ready_wait::RUNNING_NS));
        if let Some(queue) = queues.get_mut(&processes.pool(ctx, thread)) {
            queue.running += running;
            queue.most_running = queue.most_running.max(running);
        }
    })?;
    ctx.each_row(run_lengths::Table, |row| {
        let (thread, runs) = row.all((run_lengths::THREAD, run_lengths::AFTER_WAKE.or_zero()));
        if let (Some(queue), Some(to)) = (queues.get_mut(&processes.pool(ctx, thread)), row.get(run_lengths::TO_NS)) {
            queue.runs = queue.runs.saturating_add(runs);
            queue.short += if to.as_f64() <= ctx.threshold(&SHORT_RUN_NS) { runs } else { 0 };
        }
    })?;
    ctx.each_row(pools::Table, |row| {
        if let Some(queue) = queues.get_mut(&processes.pool(ctx, row.get(pools::THREAD))) {
            queue.with_idle += row.get(pools::WITH_IDLE_NS);
        }
    })?;
    let (cpus, objects) = (ctx.cpus()?, WaitsFor::new(ctx)?);
    let span = ctx.span().len().max(Ns(1)).as_f64();
    let limits = [MIN_THREADS, MIN_PER_SECOND, MIN_WAITING, MIN_BUSY, MAX_BUSY];
    let [members, rate, waiting, least, most] = limits.map(|limit| ctx.threshold(&limit));
    let busy = |running: f64| (least..=most).contains(&running);
    let is_convoy = |queue: &Queue, whole_time: bool| {
        let (blocked, ran) = (queue.blocked().as_f64(), queue.serial_ns(whole_time).as_f64());
        // While one of n threads runs, n - 1 wait.
        let waiting = waiting * ((queue.members.len() as f64 - 1.0) / 2.0).min(1.0);
        queue.waits() as f64 >= rate * ran.min(span) / 1e9
            && (queue.is_passed_on(ctx) || queue.is_retaken(ctx) || queue.alternates(ctx))
            && !queue.has_centre(ctx)
            && blocked >= waiting * ran
            && busy(if whole_time { ran / span } else { queue.running_while_queued() })
    };
    let mut found = Vec::new();
    for (pool, queue) in queues {
        // The whole time first: if it holds, what they ran outside the waits was serial as well.
        let Some(whole_time) = [true, false].into_iter().find(|whole_time| is_convoy(&queue, *whole_time)) else {
            continue;
        };
        if queue.members.len() as f64 >= members || share_regions(ctx, &pool, &queue)? {
            found.extend(finding(ctx, &pool.1, queue, whole_time, cpus, &objects));
        }
    }
    let least = ctx.share_ns(&MIN_SHARE).max(Ns(1));
    if found.is_empty() {
        found = lock_calls::find(ctx, least)?;
    }
    found.extend(process_lock::find(ctx, &processes, least)?);
    Ok(RuleOutcome::Findings(found))
}

/// Whether the threads of a queue share parallel regions, marked or detected, in which they wait for each other several times.
fn share_regions(ctx: &RuleContext<'_>, (pid, _): &Pool, queue: &Queue) -> Result<bool, EngineError> {
    let least = ctx.threshold(&MIN_PER_REGION);
    for source in [Source::ByMarks, Source::Detected] {
        let regions = by_name(ctx, source, |sums: &mut (i64, Ns), row| {
            let [start, end] = row.all([parallel_regions::START_NS, parallel_regions::END_NS]);
            *sums = (sums.0 + 1, sums.1 + (end - start));
        })?;
        for (of, (count, length)) in regions.into_iter().flatten() {
            // Half of their waiting at least: each of them waits for a part of the region.
            let long = length * queue.members.len() as i64 >= queue.blocked() / 2;
            let several = queue.waits() as f64 >= least * count as f64;
            if of.0 == *pid && long && several {
                let workers = workers(ctx, source, (of.0, &of.1), Ns::ZERO)?;
                if queue.members.iter().all(|member| workers.iter().any(|worker| worker.thread == *member)) {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

fn finding(
    ctx: &RuleContext<'_>,
    name: &str,
    queue: Queue,
    whole_time: bool,
    cpus: i64,
    objects: &WaitsFor,
) -> Option<Finding> {
    let lock = objects.longest_lock(queue.members.iter().copied());
    let name = &ctx.name_of_all(queue.members.iter().copied(), name);
    let parallel = cpus.min(queue.members.len() as i64).max(1);
    // Others cannot do it at the same time on CPUs that are busy.
    let ran = queue.serial_ns(whole_time).min(queue.with_idle);
    let spread = ran - ran / parallel;
    let switching = |waits: i64| Ns::whole(waits as f64 * 2.0 * ctx.threshold(&SWITCH));
    let claim = |(thread, (tid, waits, blocked)): (&ThreadKey, &(Tid, i64, Ns))| {
        ctx.claim(*thread, *tid, spread.max(switching(*waits)).min(*blocked))
    };
    let claims: Vec<_> = queue.by_thread.iter().map(claim).collect();
    let change = Fix::SplitLock { threads: threads(&claims) };
    let (count, waits, blocked) = (queue.members.len() as u64, queue.waits(), queue.blocked());
    let finding = ctx.finding(
        claims,
        change,
        format!("Split the lock that the {name} threads queue for, or hold it for less time"),
    );
    if finding.recoverable_ns < ctx.share_ns(&MIN_SHARE) {
        return None;
    }
    // Where it was recorded what they waited for, that counts.
    let is_known_lock = lock.as_ref().map_or(queue.is_known_lock, Longest::is_most);
    let by_switches = queue.by_thread.values().any(|(_, waits, _)| switching(*waits) > spread);
    Some(Finding {
        title: format!(
            "{} named {name} waited {} for each other, {} ms in total{}, and ran one at a time",
            plural(count, "thread"),
            plural(waits.unsigned_abs(), "time"),
            ms(blocked),
            lock.as_ref().map_or_else(String::new, Longest::words)
        ),
        range_ns: TURNS_RANGE.of(finding.recoverable_ns),
        confidence: if is_known_lock && queue.is_passed_on(ctx) { Confidence::High } else { Confidence::Medium },
        evidence: queue.evidence.finish(),
        assumptions: vec![
            format!(
                "what they ran one at a time, {} ms, while CPUs were idle, could be spread over {}",
                ms(ran),
                plural(parallel.unsigned_abs(), "CPU")
            ),
            "lower bound: 60 % of that is gained; upper bound: they also lose no time to their turns".to_owned(),
        ]
        .into_iter()
        .chain(by_switches.then(|| "a thread loses at least two switches for each wait".to_owned()))
        .chain(by_switches.then(|| ctx.whose(&SWITCH)))
        .collect(),
        ..finding
    })
}
