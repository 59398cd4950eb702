//! A thread that has the larger share of the work that it does together with another one, which waits for it each time:
//! static-partition-barrier-tail.
//!
//! ```text
//!   A   run          │ run          │ run          A never waits: it spins until the next piece of work is given out
//!   B   run │ wait   ▲ run │ wait   ▲ run          A wakes B, which worked with it before
//! ```
//!
//! Such regions are not detected, as no wakeup shows their begin. But the waits are known, and samples tell that both threads do the same work.

use crate::context::{EvidenceRows, RuleContext, add, threads};
use crate::finding::{Confidence, Finding};
use crate::pools::Processes;
use crate::range::Range;
use crate::regions::{PIECES, pieces};
use crate::unmarked::spinning::is_waiting;
use engine::EngineError;
use model::tables::{pools, samples, waits};
use model::words::{ms, percent, plural};
use model::{Fix, Ns, ThreadKey, Tid};
use std::collections::BTreeMap;

/// With fewer waits, the other thread may wait for a result.
const MIN_WAITS: i64 = 8;
/// The thread that is waited for leaves its CPU by itself for less than this part of the waits. (What it did is known of its last stretches only.)
const MAX_NOT_RUNNING: f64 = 0.1;
/// It waits for others of its pool for less than this part of that time: threads that take turns wait for each other, and one that gives out
/// work waits until it is done.
const MAX_REVERSE: f64 = 0.25;
/// The part of its running time for which the thread that waits ran together with the other one: with less, they take turns.
const MIN_TOGETHER: f64 = 0.5;
/// The work of a thread is a function that at least this part of its samples hit, apart from waiting,
const MIN_WORK: f64 = 0.5;
/// and the thread that waits does the same work if this number of its samples hit the function.
const MIN_SAMPLES: i64 = 2;

/// The shorter share cannot always be extended.
const RANGE: Range = Range { low: 0.55, high: 1.5 };

/// A thread's samples, and its row of the table `pools`.
#[derive(Default)]
struct Thread {
    tid: Tid,
    running: Ns,
    together: Ns,
    alone_idle: Ns,
    /// By function and file.
    work: BTreeMap<(String, String), i64>,
    waiting: i64,
}

impl Thread {
    /// The function that does its work, if one does most of it.
    fn function(&self) -> Option<&(String, String)> {
        let all: i64 = self.work.values().sum();
        self.work
            .iter()
            .max_by_key(|(_, count)| **count)
            .filter(|(_, count)| **count as f64 >= MIN_WORK * all as f64)
            .map(|(of, _)| of)
    }

    /// For how long it spun.
    fn spun(&self) -> Ns {
        let all: i64 = self.work.values().sum::<i64>() + self.waiting;
        Ns::whole(self.running.as_f64() * self.waiting as f64 / all.max(1) as f64)
    }
}

/// What threads waited for each other, by the thread that waits and the one that it waits for.
#[derive(Default)]
struct Waits {
    count: i64,
    blocked: Ns,
    running: Ns,
    not_running: Ns,
    evidence: EvidenceRows,
}

/// Returns a finding for each thread that others wait for at least `least` ns too long.
pub(crate) fn find(ctx: &RuleContext<'_>, least: Ns) -> Result<Vec<Finding>, EngineError> {
    let processes = Processes::new(ctx)?;
    let mut all = BTreeMap::<(ThreadKey, ThreadKey), Waits>::new();
    ctx.each_row(waits::Table, |row| {
        let (thread, Some(waker)) = (row.get(waits::THREAD), row.get(waits::WAKER)) else { return };
        let by_lock = matches!(row.get(waits::REASON.or_empty()), "" | "futex");
        if waker > ThreadKey::IDLE && by_lock && processes.pool(ctx, thread) == processes.pool(ctx, waker) {
            let of = all.entry((thread, waker)).or_default();
            let (count, blocked, running) =
                row.all((waits::WAITS, waits::BLOCKED_NS, waits::WAKER_RUNNING_NS.or_zero()));
            of.count = of.count.saturating_add(count);
            of.blocked += blocked;
            of.running += running;
            of.evidence.push(blocked, row, &[&waits::WAITS, &waits::BLOCKED_NS, &waits::WAKER_RUNNING_NS]);
        }
    })?;
    let mut blocked = BTreeMap::new();
    all.iter().for_each(|((thread, _), waits)| add(&mut blocked, *thread, waits.blocked));
    all.retain(|(_, waker), waits| {
        let reverse = blocked.get(waker).copied().unwrap_or(Ns::ZERO);
        waits.count >= MIN_WAITS
            && waits.blocked >= least
            && waits.running >= waits.blocked / 2
            && waits.not_running.as_f64() < MAX_NOT_RUNNING * waits.blocked.as_f64()
            && reverse.as_f64() < MAX_REVERSE * waits.blocked.as_f64()
    });
    if all.is_empty() {
        return Ok(Vec::new());
    }
    let threads = threads_of(ctx)?;
    let found = all.into_iter().filter_map(|(pair, waits)| finding(ctx, pair, &threads, waits, least));
    Ok(found.collect())
}

fn threads_of(ctx: &RuleContext<'_>) -> Result<BTreeMap<ThreadKey, Thread>, EngineError> {
    let mut threads = BTreeMap::<ThreadKey, Thread>::new();
    ctx.each_row(pools::Table, |row| {
        let of = threads.entry(row.get(pools::THREAD)).or_default();
        (of.tid, of.running, of.together, of.alone_idle) =
            row.all((pools::TID, pools::RUNNING_NS, pools::TOGETHER_NS, pools::ALONE_IDLE_CPUS_NS));
    })?;
    ctx.each_row(samples::Table, |row| {
        let Some(of) = row.get(samples::THREAD).and_then(|thread| threads.get_mut(&thread)) else { return };
        let (function, file) = (row.get(samples::FUNCTION.or_empty()), row.get(samples::FILE.or_empty()));
        let count = row.get(samples::SELF_SAMPLES);
        if is_waiting(function, file) {
            of.waiting = of.waiting.saturating_add(count);
        } else if !file.starts_with('[') && count > 0 {
            add(&mut of.work, (function.to_owned(), file.to_owned()), count);
        }
    })?;
    Ok(threads)
}

fn finding(
    ctx: &RuleContext<'_>,
    (waiting, last): (ThreadKey, ThreadKey),
    all: &BTreeMap<ThreadKey, Thread>,
    waits: Waits,
    least: Ns,
) -> Option<Finding> {
    let [of_waiting, of_last] = [all.get(&waiting)?, all.get(&last)?];
    let work = of_last.function()?;
    let same = of_waiting.work.get(work).copied().unwrap_or(0);
    if same < MIN_SAMPLES || of_waiting.together.as_f64() < MIN_TOGETHER * of_waiting.running.as_f64() {
        return None;
    }
    // The thread that waits spins before it leaves its CPU.
    let lost = waits.blocked.min(of_last.alone_idle) + of_waiting.spun();
    let left = (of_last.running + of_waiting.running) / 2 / PIECES / 2;
    let saved = (lost / 2) - left;
    if saved < least {
        return None;
    }
    let claims = vec![ctx.claim(last, of_last.tid, saved), ctx.claim(waiting, of_waiting.tid, saved)];
    let name = threads(&claims).name;
    let region = format!("the parallel work of {name}");
    let change = Fix::Chunks { region: region.clone(), chunks: pieces(2, PIECES) };
    let spun = match of_waiting.spun() {
        spun if spun >= least => format!(" and spun for {} ms", ms(spun)),
        _ => String::new(),
    };
    Some(Finding {
        title: format!(
            "{} (TID {}) waited {} for {} (TID {}), which has the larger share of their work: {} ms ({} of the time){spun}, while a CPU was idle",
            ctx.name(waiting),
            of_waiting.tid,
            plural(waits.count.unsigned_abs(), "time"),
            ctx.name(last),
            of_last.tid,
            ms(waits.blocked),
            percent(waits.blocked, ctx.span().len())
        ),
        severity: ctx.severity(saved),
        recoverable_ns: saved,
        range_ns: RANGE.of(saved),
        confidence: Confidence::Medium,
        evidence: waits.evidence.finish(),
        assumptions: vec![
            "both threads were sampled in the same function, so the work of one can be given to the other".to_owned(),
            format!(
                "with {PIECES} pieces per thread, half of a piece is left at the end (lower bound: about half is gained)"
            ),
        ],
        ..ctx.finding(claims, change, format!("Split {region} into more pieces that are distributed dynamically"))
    })
}
