//! Threads that wait for the lock of the Python interpreter, a switch interval at a time: global-lock.
//!
//! ```text
//!   A   run (holds the lock) ───────────────────┤ run
//!   B   │ futex, until its timer expires (5 ms) │ asks A to release the lock, waits for it, runs
//! ```
//!
//! A thread of CPython waits on a condition variable for at most the switch interval, and then asks the thread that holds the lock to
//! release it (`take_gil` in Python/ceval_gil.c; `sys.getswitchinterval()`, 5 ms unless set).

use crate::context::{EvidenceRows, RuleContext, add, threads};
use crate::finding::{Confidence, Finding};
use crate::pools::Processes;
use crate::range::Range;
use engine::EngineError;
use model::tables::{pools, samples, waits};
use model::words::{ms, percent, plural, time};
use model::{Fix, Ns, Row, ThreadKey, Tid, pool_name};
use std::collections::{BTreeMap, BTreeSet};

/// The mean of waits that end after the switch interval, ns: the timer is never early, and is late by the time to wake up.
const INTERVAL: std::ops::RangeInclusive<Ns> = Ns(4_900_000)..=Ns(6_500_000);
/// With fewer such waits, several threads wait with this time limit by accident.
const MIN_WAITS: i64 = 20;
/// The waits of all threads, as a share of the analysed time.
const MIN_WAITING: f64 = 0.1;
/// The running time of the process, as a share of the time in which its threads waited: one of them holds the lock.
const MIN_HELD: f64 = 0.3;
/// Threads share work if the second one runs for at least this part of the first one's time. Otherwise, the first one keeps the others waiting.
const SHARED: f64 = 0.33;
/// The mappings with the interpreter.
const INTERPRETERS: [&str; 3] = ["python", "libpython", "pypy"];

const RANGE: Range = Range { low: 0.6, high: 1.7 };

/// The threads of a process.
#[derive(Default)]
struct Process {
    /// By thread: TID, number of waits, time waited.
    waited: BTreeMap<ThreadKey, (Tid, i64, Ns)>,
    running: BTreeMap<ThreadKey, Ns>,
    evidence: EvidenceRows,
}

impl Process {
    fn waits(&self) -> i64 {
        self.waited.values().map(|(_, waits, _)| waits).sum()
    }

    fn blocked(&self) -> Ns {
        self.waited.values().map(|(.., blocked)| blocked).sum()
    }

    fn ran(&self) -> Ns {
        self.running.values().sum()
    }

    /// The time that the program gains without the lock.
    fn saved(&self, cpus: i64) -> Ns {
        let longest = self.waited.values().map(|(.., blocked)| *blocked).max().unwrap_or(Ns::ZERO);
        let others = self.blocked() - longest;
        let mut running: Vec<Ns> = self.running.values().copied().collect();
        running.sort_unstable_by_key(|ns| std::cmp::Reverse(*ns));
        let first = running.first().copied().unwrap_or(Ns::ZERO).as_f64();
        let sharing = running.iter().filter(|ns| ns.as_f64() >= SHARED * first).count() as i64;
        if sharing < 2 {
            return others;
        }
        let all = self.ran();
        others.min(all - all / sharing.min(cpus).max(1))
    }
}

/// The processes of which samples hit an interpreter; `None` if there are no samples.
fn interpreted(ctx: &RuleContext<'_>, processes: &Processes) -> Result<Option<BTreeSet<Option<i64>>>, EngineError> {
    let (mut found, mut any) = (BTreeSet::new(), false);
    ctx.each_row(samples::Table, |row| {
        any = true;
        let file = row.get(samples::FILE.or_empty());
        let name = file.rsplit('/').next().unwrap_or(file);
        if INTERPRETERS.iter().any(|begin| name.starts_with(begin)) {
            found.extend(row.get(samples::THREAD).map(|thread| processes.process(thread)));
        }
    })?;
    Ok(any.then_some(found))
}

/// The threads of which at least a quarter of the waits are for an interpreter's lock, with their TIDs and the time of these waits: the
/// timer that ends them makes no periodic thread.
pub(crate) fn waiting(
    ctx: &RuleContext<'_>,
    processes: &Processes,
) -> Result<BTreeMap<ThreadKey, (Tid, Ns)>, EngineError> {
    let (mut of_lock, mut all) = (BTreeMap::<ThreadKey, (Tid, i64, Ns)>::new(), BTreeMap::new());
    ctx.each_row(waits::Table, |row| {
        let (thread, count, blocked) = row.all((waits::THREAD, waits::WAITS, waits::BLOCKED_NS));
        add(&mut all, thread, count);
        if is_of_lock(row, count, blocked) {
            let sums = of_lock.entry(thread).or_default();
            *sums = (row.get(waits::TID), sums.1.saturating_add(count), sums.2 + blocked);
        }
    })?;
    if of_lock.is_empty() {
        return Ok(BTreeMap::new());
    }
    let interpreted = interpreted(ctx, processes)?;
    of_lock.retain(|thread, (_, count, _)| {
        count.saturating_mul(4) >= all.get(thread).copied().unwrap_or(0)
            && interpreted.as_ref().is_none_or(|some| some.contains(&processes.process(*thread)))
    });
    Ok(of_lock.into_iter().map(|(thread, (tid, _, blocked))| (thread, (tid, blocked))).collect())
}

/// Whether the waits of a row last for the switch interval.
fn is_of_lock(row: &Row<'_, waits::Table>, count: i64, blocked: Ns) -> bool {
    let by_timer = row.get(waits::WAKER) == Some(ThreadKey::IDLE) && row.get(waits::REASON.or_empty()) == "futex";
    by_timer && count > 0 && INTERVAL.contains(&(blocked / count))
}

/// Returns a finding for each process that loses at least `least` ns in this way.
pub(crate) fn find(ctx: &RuleContext<'_>, processes: &Processes, least: Ns) -> Result<Vec<Finding>, EngineError> {
    let mut by_process = BTreeMap::<Option<i64>, Process>::new();
    ctx.each_row(waits::Table, |row| {
        let (thread, tid, count, blocked) = row.all((waits::THREAD, waits::TID, waits::WAITS, waits::BLOCKED_NS));
        if is_of_lock(row, count, blocked) {
            let process = by_process.entry(processes.process(thread)).or_default();
            process.waited.insert(thread, (tid, count, blocked));
            process.evidence.push(blocked, row, &[&waits::WAITS, &waits::BLOCKED_NS]);
        }
    })?;
    let enough = ctx.span().len().as_f64() * MIN_WAITING;
    by_process.retain(|_, process| {
        process.waited.len() > 1 && process.waits() >= MIN_WAITS && process.blocked().as_f64() >= enough
    });
    if by_process.is_empty() {
        return Ok(Vec::new());
    }
    ctx.each_row(pools::Table, |row| {
        let thread = row.get(pools::THREAD);
        if let Some(process) = by_process.get_mut(&processes.process(thread)) {
            add(&mut process.running, thread, row.get(pools::RUNNING_NS));
        }
    })?;
    let (interpreted, span, cpus) = (interpreted(ctx, processes)?, ctx.span().len(), ctx.cpus()?);
    by_process.retain(|id, process| {
        let held = process.ran().as_f64() >= MIN_HELD * process.blocked().min(span).as_f64();
        held && interpreted.as_ref().is_none_or(|some| some.contains(id))
    });
    let found = by_process.into_values().map(|process| finding(ctx, process, cpus));
    Ok(found.filter(|finding| finding.recoverable_ns >= least).collect())
}

fn finding(ctx: &RuleContext<'_>, process: Process, cpus: i64) -> Finding {
    let (saved, waits, blocked) = (process.saved(cpus), process.waits(), process.blocked());
    let claims: Vec<_> =
        process.waited.iter().map(|(thread, (tid, _, own))| ctx.claim(*thread, *tid, saved.min(*own))).collect();
    let most = process.running.iter().max_by_key(|(thread, ns)| (**ns, std::cmp::Reverse(**thread)));
    let (first, ran) = most.map_or((ThreadKey::IDLE, Ns::ZERO), |(thread, ns)| (*thread, *ns));
    let names = threads(&claims);
    let name = pool_name(&names.name).to_owned();
    let count = plural(process.waited.len() as u64, "thread");
    let change = Fix::SplitLock { threads: names };
    let what = format!("Let the {name} threads be processes, or release the interpreter's lock around long work");
    Finding {
        title: format!(
            "{count} named {name} waited {} for {} each, {} ms in total, for the interpreter's lock; {} ran for {} of the time",
            plural(waits.unsigned_abs(), "time"),
            time(blocked / waits.max(1)),
            ms(blocked),
            ctx.name(first),
            percent(ran, ctx.span().len()),
        ),
        severity: ctx.severity(saved),
        recoverable_ns: saved,
        range_ns: RANGE.of(saved),
        confidence: Confidence::Medium,
        evidence: process.evidence.finish(),
        assumptions: vec![
            "waits in futex that a timer ends after Python's switch interval (5 ms) are for its lock".to_owned(),
            "processes do not wait for each other, and there is a CPU for each (lower bound: 60 % of that is gained)"
                .to_owned(),
            "upper bound: waits for the lock that a thread ended count as well".to_owned(),
        ],
        ..ctx.finding(claims, change, what)
    }
}
