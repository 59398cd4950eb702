//! A critical thread that shares CPUs with worker threads of the same priority.

use crate::context::{EvidenceRows, RuleContext, add, threads};
use crate::finding::{Claim, Confidence, Finding};
use crate::pools::{Pool, Processes, Programs};
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use crate::slower::Saving;
use crate::speeds::Speeds;
use crate::unmarked::other_program;
use engine::EngineError;
use model::tables::{
    self, critical_by_thread, marks, parallel_regions, priority_residency, ran_instead, ready_wait, slower_cores, waits,
};
use model::words::{ms, percent, plural};
use model::{Fix, Ns, ThreadKey, Tid, pool_name};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const RULE: Rule = Rule {
    id: "critical-thread-same-priority-as-workers",
    about: "the critical thread was queued behind worker threads of the same priority",
    page: Page {
        description: "A thread that makes up most of the critical path, or whose marked frames fill the time, and that was ready while threads of a \
                pool of its process with the same priority ran (of threads with its own name too, if other programs wait for it); or a program whose critical path was ready while threads of another program \
                with the same priority ran.",
        rationale: "The program takes as long as its critical path. The scheduler gives each thread of a priority an equal share, so the \
                  critical thread is queued behind work that is not urgent.",
        certainty: "If only one thread of a program marks stretches of a name, again and again, these are taken to be its frames, and the thread to \
               determine the program's speed. Otherwise the critical path decides. It ends with the thread that ran last in the analysed range (of \
               the recorded program, if known); choose another range (--range) if that is not what matters. Which thread ran instead, and at which \
               priority, is recorded; of a thread with several priorities, the one at which it waited longest counts. Ready time off the critical \
               path is not counted, as other threads were not done then either. Nor is time queued behind threads for which its frames \
               wait even longer. If processes are not recorded, the confidence is low. If the thread had run earlier, another one \
               may have become critical after a part of that: the lower bound is half.",
        fix: "Raise its priority above that of the workers, or lower theirs, which needs no privileges; or start fewer workers.",
        example: "M prepares the next frame and is queued behind W1 and W2 of its own priority for 2 ms.",
    },
    tables: &[
        &tables::CRITICAL_BY_THREAD,
        &tables::RAN_INSTEAD,
        &tables::PRIORITY_RESIDENCY,
        &tables::READY_WAIT,
        &tables::MARKS,
        &tables::SLOWER_CORES,
        &tables::CPU_BURSTS,
        &tables::PARALLEL_REGIONS,
        &tables::WAITS,
        &tables::CRITICAL_PATH,
        &tables::CPUS,
    ],
    thresholds: &[&MIN_PATH, &MIN_FRAMES, &MIN_WORKERS, &MIN_LOST],
    explains: &[],
    worst: Fits::Ready,
    shares_out_work: false,
    check,
};

const MIN_PATH: Threshold = Threshold {
    name: "min_path",
    unit: Unit::Ratio,
    value: 0.5,
    reason: "the thread's own share of the critical path, or of the time in marked frames: with less there is no single thread to prefer",
};

const MIN_FRAMES: Threshold = Threshold {
    name: "min_frames",
    unit: Unit::Count,
    value: 10.0,
    reason: "number of marked stretches of the name: if there are fewer, they are phases of the program, not frames",
};

const MIN_WORKERS: Threshold = Threshold {
    name: "min_workers",
    unit: Unit::Count,
    value: 2.0,
    reason: "number of threads in the pool that the critical thread was queued behind: a single thread may do work that the critical thread needs next",
};

const MIN_LOST: Threshold = Threshold {
    name: "min_share",
    unit: Unit::Ratio,
    value: 0.03,
    reason: "of the analysed time: a run time's own threads (compilers, collectors) take some percent from the thread that they serve",
};

/// By how much the workers' nice value should be higher, and which part of the critical thread's weight that leaves them: 110 of
/// 1024 (`sched_prio_to_weight` in the kernel).
const NICE: i8 = 10;
const LEFT: i64 = 110;
const OF: i64 = 1024;

/// The critical thread.
struct Critical {
    thread: ThreadKey,
    tid: Tid,
    /// The thread's own time on the critical path, or in its frames, ns.
    ns: Ns,
    ready: Ns,
    /// The number and name of its frames, in words.
    frames: Option<String>,
}

/// Finds the thread whose frames fill most of the time.
fn frames(ctx: &RuleContext<'_>, evidence: &mut EvidenceRows) -> Result<Option<Critical>, EngineError> {
    let mut by_name = BTreeMap::<(i64, String), Vec<(Ns, Option<ThreadKey>, i64)>>::new();
    ctx.each_row(marks::Table, |row| {
        let (thread, pid, count, ns) = row.all((marks::THREAD, marks::PID.or_zero(), marks::COUNT, marks::DURATION_NS));
        by_name.entry((pid, row.get(marks::NAME.or_empty()).to_owned())).or_default().push((ns, thread, count));
    })?;
    let fills = |ns: Ns, count: i64| {
        ns.as_f64() >= ctx.threshold(&MIN_PATH) * ctx.span().len().as_f64()
            && count as f64 >= ctx.threshold(&MIN_FRAMES)
    };
    let alone = by_name.into_iter().filter_map(|((_, name), by)| match by[..] {
        [(ns, thread, count)] if fills(ns, count) => Some((ns, thread, count, name)),
        _ => None,
    });
    let Some((ns, thread, count, name)) = alone.max() else { return Ok(None) };
    let frames = Some(format!("{count} marked stretches \"{name}\""));
    ctx.each_row(marks::Table, |row| {
        if (row.get(marks::THREAD), row.get(marks::NAME.or_empty())) == (thread, &*name) {
            evidence.push(ns, row, &[&marks::COUNT, &marks::DURATION_NS]);
        }
    })?;
    let mut critical = None;
    ctx.each_row(ready_wait::Table, |row| {
        let (key, tid, ready) = row.all((ready_wait::THREAD, ready_wait::TID, ready_wait::READY_NS.or_zero()));
        if Some(key) == thread {
            evidence.push(ready, row, &[&ready_wait::READY_NS]);
            critical = Some(Critical { thread: key, tid, ns, ready, frames: frames.clone() });
        }
    })?;
    Ok(critical)
}

/// Finds the thread that makes up most of the critical path. Also sums up each thread's time on the path.
fn on_critical_path(
    ctx: &RuleContext<'_>,
    on_path: &mut BTreeMap<ThreadKey, Ns>,
    evidence: &mut EvidenceRows,
) -> Result<Option<Critical>, EngineError> {
    let mut critical = None;
    ctx.each_row(critical_by_thread::Table, |row| {
        let (thread, ns, ready) =
            row.all((critical_by_thread::THREAD, critical_by_thread::PATH_NS, critical_by_thread::READY_NS));
        add(on_path, thread, ns);
        if ns.as_f64() >= ctx.threshold(&MIN_PATH) * ctx.span().len().as_f64() {
            critical =
                Some(Critical { thread, tid: row.get(critical_by_thread::TID.or_zero()), ns, ready, frames: None });
            evidence.push(ready, row, &[&critical_by_thread::PATH_NS, &critical_by_thread::READY_NS]);
        }
    })?;
    Ok(critical)
}

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    if !ctx.summary().ready_known {
        return Ok(RuleOutcome::MissingData(
            "the source has no wakeups, so it is unknown which thread waited for which".to_owned(),
        ));
    }
    // The priority at which each thread was ready for longest.
    let mut prio = BTreeMap::<ThreadKey, (Ns, i64)>::new();
    ctx.each_row(priority_residency::Table, |row| {
        if let Some(at) = row.get(priority_residency::PRIO) {
            let longest = prio.entry(row.get(priority_residency::THREAD)).or_insert((Ns::MIN, at));
            *longest = (row.get(priority_residency::READY_NS), at).max(*longest);
        }
    })?;
    if prio.is_empty() {
        return Ok(RuleOutcome::MissingData("the source does not record priorities".to_owned()));
    }
    let processes = Processes::new(ctx)?;
    let own = of_one_thread(ctx, &processes, &prio)?;
    let other = other_program::find(ctx, &processes, NICE, [LEFT, OF])?;
    Ok(RuleOutcome::Findings(own.into_iter().chain(other).collect()))
}

/// The finding about a single critical thread and the pools of its own process. `prio` has, for each thread, the priority at which it was
/// ready for longest, with that time.
fn of_one_thread(
    ctx: &RuleContext<'_>,
    processes: &Processes,
    prio: &BTreeMap<ThreadKey, (Ns, i64)>,
) -> Result<Option<Finding>, EngineError> {
    let (mut evidence, mut on_path) = (EvidenceRows::default(), BTreeMap::new());
    let framed = frames(ctx, &mut evidence)?;
    let critical = match framed {
        Some(framed) => Some(framed),
        None => on_critical_path(ctx, &mut on_path, &mut evidence)?,
    };
    let Some(Critical { thread, tid, ns: path, ready, frames }) = critical else {
        return Ok(None);
    };
    let servers = servers(ctx, processes)?;
    let (mut pools, mut members) = (BTreeMap::<Pool, BTreeMap<(ThreadKey, Tid), Ns>>::new(), BTreeMap::new());
    let mut ready_in_all = Ns::ZERO;
    ctx.each_row(ready_wait::Table, |row| {
        add(&mut members, processes.pool(ctx, row.get(ready_wait::THREAD)), 1);
        if row.get(ready_wait::THREAD) == thread {
            ready_in_all = row.get(ready_wait::READY_NS.or_zero());
        }
    })?;
    ctx.each_row(ran_instead::Table, |row| {
        let (key, ns) = row.all((ran_instead::THREAD, ran_instead::READY_NS));
        let Some(ran_instead) = row
            .get(ran_instead::RAN_INSTEAD)
            .filter(|ran_instead| *ran_instead > ThreadKey::IDLE && *ran_instead != thread && key == thread)
        else {
            return;
        };
        let equal = prio.get(&thread).is_some_and(|(_, own)| row.get(ran_instead::RAN_INSTEAD_PRIO) == Some(*own));
        let pool = processes.pool(ctx, ran_instead);
        // Threads of its own name are its equals, unless other programs wait for it and not for them.
        let serves = servers.contains(&thread) && !servers.contains(&ran_instead);
        let is_other = serves || pool.1 != pool_name(&ctx.name(thread));
        if equal && processes.are_one(thread, ran_instead) && is_other {
            add(pools.entry(pool).or_default(), (ran_instead, row.get(ran_instead::RAN_INSTEAD_TID.or_zero())), ns);
            evidence.push(ns, row, &[&ran_instead::READY_NS]);
        }
    })?;
    let waited = match frames {
        Some(_) => waited_for(ctx, processes, thread)?,
        None => BTreeMap::new(),
    };
    // A pool that is on the path for as long itself has urgent work, and so has one for which the frames wait for longer than they
    // were queued behind it.
    pools.retain(|pool, sums| {
        let theirs: Ns = sums.keys().filter_map(|(ran_instead, _)| on_path.get(ran_instead)).sum();
        let members = members.get(pool).copied().unwrap_or(0) - i64::from(*pool == processes.pool(ctx, thread));
        let waited = waited.get(pool).copied().unwrap_or(Ns::ZERO);
        members as f64 >= ctx.threshold(&MIN_WORKERS) && theirs * 2 <= path && waited <= sums.values().sum()
    });
    let queued_behind = pools.values().flat_map(BTreeMap::values).sum::<Ns>();
    // Time that it waited for the same threads at a higher priority is not a matter of equal priority.
    let at_equal = queued_behind.min(prio.get(&thread).map_or(Ns::ZERO, |(ready, _)| *ready));
    let queued_behind = at_equal.min(ready);
    let most = pools.iter().max_by_key(|(_, sums)| sums.values().sum::<Ns>());
    let (Some(((_, name), workers)), true) = (most, queued_behind >= ctx.share_ns(&MIN_LOST).max(Ns(1))) else {
        return Ok(None);
    };
    // Off the path, the threads that it waits for were not done either: the same share of this time counts as of all its waiting.
    let mut decides = queued_behind;
    ctx.each_row(critical_by_thread::Table, |row| {
        let (key, on_path, ready) =
            row.all((critical_by_thread::THREAD, critical_by_thread::PATH_NS, critical_by_thread::READY_NS));
        if key == thread && on_path.as_f64() >= ctx.threshold(&MIN_PATH) * ctx.span().len().as_f64() {
            let on_path = ready.as_f64() / ready_in_all.max(Ns(1)).as_f64();
            decides = queued_behind.min(Ns::nearest(at_equal.as_f64() * on_path.min(1.0)));
        }
    })?;
    let name_of_workers = ctx.name_of_all(workers.keys().map(|(key, _)| *key), name);
    let workers: Vec<_> = workers.iter().map(|((key, tid), ns)| ctx.claim(*key, *tid, *ns)).collect();
    let change = Fix::Nice { threads: threads(&workers), nice: NICE };
    let mut own = ctx.name(thread);
    let mut name = if own == *name { name.clone() } else { name_of_workers };
    if own == name {
        // Only the numbers distinguish them.
        own = format!("{own} {tid}");
        name = listed(name, &workers);
    }
    // The critical thread shares CPU time with the workers by weight, so its waiting shrinks with their weight.
    let best = decides - Ns::nearest(decides.as_f64() * LEFT as f64 / OF as f64);
    let most = queued_behind.max(best) + additional_bound(ctx, processes, thread)?;
    let rest = rest_of_equals(ctx, processes, thread)?;
    let (best, most) = match rest {
        Some(rest) => (best.min(rest / 2), most.min(rest)),
        None => (best, most),
    };
    let finding = ctx.finding(
        vec![ctx.claim(thread, tid, best)],
        change,
        format!("Prioritise {own} over {name}: lower {name}, or raise {own} with the required privilege"),
    );
    let (share, known) = (percent(path, ctx.span().len()), processes.are_recorded());
    Ok(Some(Finding {
        title: format!(
            "{own}, {}, was ready for {} ms while {} named {name} of the same priority ran",
            match &frames {
                None => format!("which is {share} of the critical path"),
                Some(frames) => format!("whose {frames} fill {share} of the time"),
            },
            ms(queued_behind),
            plural(workers.len() as u64, "thread")
        ),
        range_ns: if known { [best / 2, most.min(best + best / 2)] } else { [Ns::ZERO, most] },
        confidence: if known { Confidence::Medium } else { Confidence::Low },
        evidence: evidence.finish(),
        assumptions: [
            format!(
                "no thread waits for {name} as much as for {own} (lower bound: {name} becomes critical {})",
                if known { "after half of that" } else { "instead" }
            ),
            format!(
                "at a nice value {NICE} above {own}'s, {name} has {LEFT}/{OF} of its weight, and {own} waits for that part of its present waiting time \
                 (upper bound: it never waits for {name}, gets the faster cores of its equals, and the last thread of each parallel \
                 region of its process never waits for a CPU)"
            ),
            "time that it was ready off the critical path saves nothing".to_owned(),
            match frames {
                Some(_) => format!("the program is as fast as {own} completes its marked stretches"),
                None => "the critical path ends with the thread that ran last in this range".to_owned(),
            },
        ]
        .into_iter()
        .chain(rest.map(|rest| {
            format!("other processes of its program do as much work, which has to be done, too: it saves {} ms at most", ms(rest))
        }))
        .collect(),
        ..finding
    }))
}

/// The most threads whose numbers are listed.
const LISTED: usize = 3;

/// A name with the numbers of its threads: `node 12, 13, 14, …`.
fn listed(name: String, threads: &[Claim]) -> String {
    let mut by_time: Vec<&Claim> = threads.iter().collect();
    by_time.sort_by_key(|claim| std::cmp::Reverse((claim.recoverable_ns, claim.tid)));
    let tids = by_time.iter().take(LISTED).map(|claim| claim.tid.to_string()).collect::<Vec<_>>().join(", ");
    let more = if threads.len() > LISTED { ", …" } else { "" };
    format!("{name} {tids}{more}")
}

/// The part of the time for which a thread of another program waits for a server at least.
const MIN_SERVED: f64 = 0.25;

/// With fewer waits, a thread waits for the end of another program, or for its results.
const MIN_REQUESTS: i64 = 20;

/// The threads that other programs wait for.
fn servers(ctx: &RuleContext<'_>, processes: &Processes) -> Result<BTreeSet<ThreadKey>, EngineError> {
    let (mut servers, least) = (BTreeSet::new(), Ns::whole(MIN_SERVED * ctx.span().len().as_f64()));
    ctx.each_row(waits::Table, |row| {
        let (thread, waker) = (row.get(waits::THREAD), row.get(waits::WAKER).filter(|waker| *waker > ThreadKey::IDLE));
        let often = row.get(waits::WAITS) >= MIN_REQUESTS;
        let long = often && row.get(waits::BLOCKED_NS) >= least && !ctx.is_kernel_thread(thread);
        servers.extend(waker.filter(|waker| long && !processes.are_one(*waker, thread)));
    })?;
    Ok(servers)
}

/// For how long a thread was blocked until a thread of each pool woke it.
fn waited_for(
    ctx: &RuleContext<'_>,
    processes: &Processes,
    thread: ThreadKey,
) -> Result<BTreeMap<Pool, Ns>, EngineError> {
    let mut waited = BTreeMap::new();
    ctx.each_row(waits::Table, |row| {
        if let Some(waker) =
            row.get(waits::WAKER).filter(|waker| *waker > ThreadKey::IDLE && row.get(waits::THREAD) == thread)
        {
            add(&mut waited, processes.pool(ctx, waker), row.get(waits::BLOCKED_NS));
        }
    })?;
    Ok(waited)
}

/// The part of the running time of a thread's process that another process of its program has at least, if they do equal work.
const MIN_EQUAL: f64 = 0.5;

/// What the work of all processes of a program leaves of the CPUs' time, if several do equal work, as the workers of a pool do: the program ends
/// when all of them have done it. `None`: no other process does as much.
fn rest_of_equals(ctx: &RuleContext<'_>, processes: &Processes, thread: ThreadKey) -> Result<Option<Ns>, EngineError> {
    let programs = Programs::new(ctx)?;
    let (program, own) = (programs.of(ctx, thread), processes.process(thread));
    let mut running = BTreeMap::new();
    ctx.each_row(ready_wait::Table, |row| {
        let of = row.get(ready_wait::THREAD);
        if programs.of(ctx, of) == program {
            add(&mut running, processes.process(of), row.get(ready_wait::RUNNING_NS));
        }
    })?;
    let least = MIN_EQUAL * running.get(&own).copied().unwrap_or(Ns::ZERO).as_f64();
    let are_equal = running.iter().any(|(process, ns)| *process != own && ns.as_f64() >= least);
    let work = running.values().sum::<Ns>() / ctx.cpus()?.max(1);
    Ok(are_equal.then(|| (ctx.span().len() - work).max(Ns::ZERO)))
}

/// The additional upper bound of a higher priority: the thread gets the faster cores, and the threads that it wakes get its own CPU, of
/// which they get less while they share it with waiting threads.
fn additional_bound(ctx: &RuleContext<'_>, processes: &Processes, thread: ThreadKey) -> Result<Ns, EngineError> {
    let (speeds, mut most) = (Speeds::new(ctx)?, Ns::ZERO);
    ctx.each_row(slower_cores::Table, |row| {
        if row.get(slower_cores::THREAD) == thread {
            most = Saving::at_most(&speeds, thread, row.get(slower_cores::NONE_NS).max(Ns::ZERO));
        }
    })?;
    let (pid, _) = processes.pool(ctx, thread);
    ctx.each_row(parallel_regions::Table, |row| {
        if row.get(parallel_regions::PID) == pid {
            most += row.get(parallel_regions::LAST_READY_NS.or_zero());
        }
    })?;
    Ok(most)
}
