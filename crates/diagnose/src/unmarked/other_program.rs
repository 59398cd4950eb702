//! A program whose critical path is queued behind the threads of another program of the same priority:
//! critical-thread-same-priority-as-workers.
//!
//! The path of such a program often passes through many of its threads, none of which makes up most of it.

use crate::context::{EvidenceRows, RuleContext, add, threads};
use crate::finding::{Confidence, Finding};
use crate::pools::Processes;
use crate::priorities;
use crate::range::Range;
use engine::EngineError;
use model::tables::{critical_path, ready_wait, waits};
use model::words::{ms, percent, plural};
use model::{Fix, Ns, ThreadKey, Tid, pool_name};
use std::collections::{BTreeMap, BTreeSet};

/// The share of the analysed time for which the path is queued behind threads of the other program.
const MIN_QUEUED: f64 = 0.1;
/// The other program runs for at least this part of the time on the CPUs together: it is no short job that the program started.
const MIN_RUNNING: f64 = 0.25;
/// With fewer threads, it may do work that the program needs next.
const MIN_THREADS: usize = 2;
/// The part of the path that the other program's own threads may have, relative to what is queued behind them; and for how long the two may
/// wait for each other.
const MAX_OWN: f64 = 0.25;

/// Another chain of threads may take nearly as long (lower bound), and caches are warmer as well (upper bound).
const RANGE: Range = Range { low: 0.5, high: 1.45 };

/// What is queued behind the threads of one name, also of several processes, as those of a batch job are.
#[derive(Default)]
struct Queued {
    /// By thread of the path, ns.
    by_thread: BTreeMap<ThreadKey, Ns>,
    /// By thread that ran instead, ns.
    instead: BTreeMap<ThreadKey, Ns>,
    evidence: EvidenceRows,
}

/// Returns a finding if another program delays the critical path. `left` of `of` remain of the waiting at a nice value that is higher by
/// `nice`.
pub(crate) fn find(
    ctx: &RuleContext<'_>,
    processes: &Processes,
    nice: i8,
    [left, of]: [i64; 2],
) -> Result<Option<Finding>, EngineError> {
    if !processes.are_recorded() {
        return Ok(None);
    }
    let (prio, span) = (priorities::longest(ctx)?, ctx.span().len());
    let (mut queued, mut on_path, mut ready) = (BTreeMap::<_, Queued>::new(), BTreeMap::new(), Ns::ZERO);
    let mut tids = BTreeMap::new();
    let recorder = ctx.facts().recorder.map(i64::from);
    ctx.each_row(critical_path::Table, |row| {
        let (thread, start, end) = row.all((critical_path::THREAD, critical_path::START_NS, critical_path::END_NS));
        let ns = end - start;
        // The path of a command begins in the recorder, which starts it.
        if recorder.is_some() && processes.process(thread) == recorder {
            return;
        }
        if row.get(critical_path::STATE) != "ready" {
            add(&mut on_path, thread, ns);
            return;
        }
        ready += ns;
        let Some(instead) = row.get(critical_path::QUEUED_BEHIND).filter(|instead| *instead > ThreadKey::IDLE) else {
            return;
        };
        let equal = prio.get(&instead).is_some_and(|other| row.get(critical_path::PRIO) == Some(*other));
        // Processes of one name are workers of one program: neither is more urgent.
        let alike = pool_name(&ctx.name(instead)) == pool_name(&ctx.name(thread));
        if equal && !alike && !processes.are_one(instead, thread) && !ctx.is_kernel_thread(instead) {
            let pool = queued.entry(pool_name(&ctx.name(instead)).to_owned()).or_default();
            add(&mut pool.by_thread, thread, ns);
            add(&mut pool.instead, instead, ns);
            tids.insert(thread, row.get(critical_path::TID.or_zero()));
            pool.evidence.push(ns, row, &[&critical_path::STATE, &critical_path::QUEUED_BEHIND]);
        }
    })?;
    let Some((pool, behind)) =
        queued.into_iter().max_by_key(|(_, queued)| queued.by_thread.values().copied().sum::<Ns>())
    else {
        return Ok(None);
    };
    let delayed: Ns = behind.by_thread.values().sum();
    let is_of_pool = |thread: ThreadKey| pool_name(&ctx.name(thread)) == pool;
    let own: Ns = on_path.iter().filter(|(thread, _)| is_of_pool(**thread)).map(|(_, ns)| *ns).sum();
    // Shells and others that only start programs are queued for a moment.
    let is_delayed = |thread: ThreadKey| behind.by_thread.get(&thread).is_some_and(|ns| *ns * 8 >= delayed);
    // A client or a server of the program does a part of its work.
    let mut waited = Ns::ZERO;
    ctx.each_row(waits::Table, |row| {
        let (thread, waker) = (row.get(waits::THREAD), row.get(waits::WAKER).filter(|waker| *waker > ThreadKey::IDLE));
        let is_between = |a: ThreadKey, b: ThreadKey| is_of_pool(a) && is_delayed(b);
        if waker.is_some_and(|waker| is_between(thread, waker) || is_between(waker, thread)) {
            waited += row.get(waits::BLOCKED_NS);
        }
    })?;
    let (mut ran, mut members) = (Ns::ZERO, BTreeMap::new());
    ctx.each_row(ready_wait::Table, |row| {
        let (thread, tid, running) = row.all((ready_wait::THREAD, ready_wait::TID, ready_wait::RUNNING_NS));
        if is_of_pool(thread) {
            ran += running;
            members.insert(thread, tid);
        }
    })?;
    let enough = |ns: Ns, part: f64| ns.as_f64() >= part * span.as_f64();
    if !enough(delayed, MIN_QUEUED)
        || !enough(ran, MIN_RUNNING)
        || members.len() < MIN_THREADS
        || own.as_f64() > MAX_OWN * delayed.as_f64()
        || waited.as_f64() > MAX_OWN * delayed.as_f64()
    {
        return Ok(None);
    }
    // While the other program has the CPUs, the path's threads are queued behind each other as well.
    let lost = delayed.max(ready.min(ran / ctx.cpus()?.max(1)));
    let saved = lost - Ns::nearest(lost.as_f64() * left as f64 / of as f64);
    let part = |ns: Ns| Ns::whole(saved.as_f64() * ns.as_f64() / delayed.max(Ns(1)).as_f64());
    let claims: Vec<_> = behind
        .by_thread
        .iter()
        .map(|(thread, ns)| ctx.claim(*thread, tids.get(thread).copied().unwrap_or(Tid::UNKNOWN), part(*ns)))
        .collect();
    let workers: Vec<_> = behind
        .instead
        .iter()
        .map(|(thread, ns)| ctx.claim(*thread, members.get(thread).copied().unwrap_or(Tid::UNKNOWN), *ns))
        .collect();
    let delayed_names: BTreeSet<_> =
        behind.by_thread.keys().filter(|key| is_delayed(**key)).map(|key| ctx.name(*key)).collect();
    let own = delayed_names.iter().map(|name| pool_name(name)).collect::<BTreeSet<_>>();
    let own = own.into_iter().collect::<Vec<_>>().join(", ");
    let name = &ctx.name_of_all(members.keys().copied(), &pool);
    let change = Fix::Nice { threads: threads(&workers), nice };
    let finding = ctx.finding(claims, change, format!("Prioritise {own} over {name}: start {name} with nice {nice}"));
    Ok(Some(Finding {
        title: format!(
            "{own}, on the critical path, was ready for {} ms ({} of the time) while {} named {name} of another program with the same \
             priority ran",
            ms(delayed),
            percent(delayed, span),
            plural(members.len() as u64, "thread")
        ),
        severity: ctx.severity(saved),
        recoverable_ns: saved,
        range_ns: RANGE.of(saved),
        confidence: Confidence::Medium,
        evidence: behind.evidence.finish(),
        assumptions: vec![
            format!("{own} is more urgent than {name}: the critical path ends with it"),
            format!(
                "threads of the path are queued behind each other only because {name} has CPUs; at a nice value {nice} above {own}'s, {name} has {left}/{of} of its weight, and the path waits for that part of its present waiting \
                 time (lower bound: another chain of threads takes nearly as long)"
            ),
        ],
        ..finding
    }))
}
