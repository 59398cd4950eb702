//! More runnable threads than CPUs.

use super::{MIN_SHARE, SWITCH};
use crate::context::{EvidenceRows, Preempted, RuleContext, add, threads};
use crate::finding::{Confidence, Finding};
use crate::kernel::KernelTime;
use crate::pools::Processes;
use crate::range::Range;
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, cpus, ready_wait, waits};
use model::words::{grouped, ms, plural};
use model::{Fix, Ns, ThreadKey, Threads, Tid, pool_name};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "oversubscribed",
    about: "many more threads of one pool were runnable than there are CPUs",
    page: Page {
        description: "Threads of one pool of which, on average, several times more were runnable than there are CPUs; or as many threads that work in \
                steps, each step waiting for the last of them, if that costs time.",
        rationale: "Busy CPUs are not a loss: the work ends as early as with fewer threads, apart from switches, cold caches after each \
                  switch, and locks whose holder waits for a CPU. But each thread's own work takes longer by the number of threads per \
                  CPU, which matters to any thread that waits for it.",
        certainty: "How many threads were runnable is known. Only the switching can be saved, at an assumed cost: fewer threads do not \
               make CPUs faster. A build that starts more jobs than CPUs is reported with low severity. If all threads repeatedly wait for the \
               last of them, the confidence is higher: each step switches to every thread, and would switch only to as many as there are CPUs.",
        fix: "Start as many threads as CPUs, or fewer if they share caches or memory bandwidth.",
        example: "Eight workers on two CPUs: 4 are runnable on each, with a switch every 4 ms.",
    },
    tables: &[&tables::READY_WAIT, &tables::SWITCH_CAUSES, &tables::WAITS, &tables::CPUS, &tables::SAMPLES],
    thresholds: &[&MIN_FOR_EACH_CPU, &MIN_SHARE, &SWITCH],
    explains: &[],
    worst: Fits::Ready,
    shares_out_work: false,
    check,
};

const MIN_FOR_EACH_CPU: Threshold = Threshold {
    name: "min_for_each_cpu",
    unit: Unit::Ratio,
    value: 2.0,
    reason: "threads of one pool that run or are ready, on average, per CPU: with two, each waits as long as it runs",
};

/// All threads of a pool.
#[derive(Default)]
struct Pool {
    /// Running and waiting for a CPU, ns.
    runnable: Ns,
    running: Ns,
    /// By thread, waits that another thread of the pool ended.
    waits: BTreeMap<ThreadKey, i64>,
    /// By thread, the part of `waits` that ended together with others, as at a barrier.
    together: BTreeMap<ThreadKey, i64>,
    /// Keys and TIDs.
    members: Vec<(ThreadKey, Tid)>,
    evidence: EvidenceRows,
}
impl Pool {
    /// The waits for the last thread that a pool of one thread per CPU would avoid: each of its threads waits as often.
    fn avoided(&self, waits: i64, cpus: i64) -> i64 {
        (waits as f64 * (1.0 - cpus as f64 / self.members.len().max(1) as f64)) as i64
    }

    /// What the steps cost according to samples: the kernel's share of their running time, on CPUs that work in parallel, as far as
    /// fewer threads avoid it.
    fn sampled_ns(&self, kernel: &KernelTime, cpus: i64) -> Option<Ns> {
        let share = kernel.share(self.members.iter().map(|(key, _)| *key))?;
        let avoided = 1.0 - cpus as f64 / self.members.len().max(1) as f64;
        Some(Ns::whole(self.running.as_f64() * share * avoided) / cpus.max(1))
    }

    /// All waits of common steps. At a barrier that sleeps on a condition variable, threads also queue for its lock.
    fn waits(&self) -> i64 {
        let sum = |sums: &BTreeMap<ThreadKey, i64>| sums.values().fold(0_i64, |sum, waits| sum.saturating_add(*waits));
        let (all, together) = (sum(&self.waits), sum(&self.together));
        if together > all / STEPS { all } else { together }
    }

    /// The waits of one thread.
    fn waits_of(&self, thread: ThreadKey) -> i64 {
        let own = |waits: &BTreeMap<ThreadKey, i64>| waits.get(&thread).copied().unwrap_or(0);
        let together = self.together.values().fold(0_i64, |sum, waits| sum.saturating_add(*waits));
        if self.waits() > together { own(&self.waits) } else { own(&self.together) }
    }

    /// The cost of the avoidable waits. The CPUs switch in parallel, each for its part.
    fn steps_ns(&self, ctx: &RuleContext<'_>, cpus: i64) -> Ns {
        cost(ctx, self.avoided(self.waits(), cpus)) / cpus.max(1)
    }
}

/// If at least one in this many waits ends together with others, the threads work in steps: none at a lock, half at a barrier with one.
const STEPS: i64 = 4;

/// The cost of switching to a thread and back this many times.
fn cost(ctx: &RuleContext<'_>, times: i64) -> Ns {
    Ns::whole(times as f64 * 2.0 * ctx.threshold(&SWITCH))
}

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    if !ctx.summary().ready_known {
        return Ok(RuleOutcome::MissingData(
            "the source has no wakeups, so it is unknown which threads were ready".to_owned(),
        ));
    }
    let mut pools: BTreeMap<String, Pool> = BTreeMap::new();
    let pool_of = |thread: ThreadKey| pool_name(&ctx.name(thread)).to_owned();
    ctx.each_row(ready_wait::Table, |row| {
        let (thread, tid, running, waited) = row.all((
            ready_wait::THREAD,
            ready_wait::TID,
            ready_wait::RUNNING_NS,
            ready_wait::NO_CPU_FREE_NS.or_zero(),
        ));
        let runnable = running + waited;
        let pool = pools.entry(pool_of(thread)).or_default();
        pool.runnable += runnable;
        pool.running += running;
        if runnable > Ns::ZERO {
            pool.members.push((thread, tid));
            pool.evidence.push(waited, row, &[&ready_wait::RUNNING_NS, &ready_wait::NO_CPU_FREE_NS]);
        }
    })?;
    let (mut cpus, mut idle) = (0_i64, Ns::ZERO);
    ctx.each_row(cpus::Table, |row| {
        cpus += 1;
        idle += row.get(cpus::IDLE_NS);
    })?;
    let whole = (ctx.span().len() * cpus).max(Ns(1)).as_f64();
    let least = ctx.threshold(&MIN_FOR_EACH_CPU);
    pools.retain(|_, pool| pool.members.len() as f64 > least.max(1.0) * cpus as f64);
    if pools.is_empty() {
        return Ok(RuleOutcome::Findings(Vec::new()));
    }
    let processes = Processes::new(ctx)?;
    ctx.each_row(waits::Table, |row| {
        let (thread, waits, together) = row.all((waits::THREAD, waits::WAITS, waits::WOKEN_TOGETHER.or_zero()));
        let Some(waker) =
            row.get(waits::WAKER).filter(|waker| *waker > ThreadKey::IDLE && processes.are_one(*waker, thread))
        else {
            return;
        };
        let name = pool_of(thread);
        if let Some(pool) = pools.get_mut(&name).filter(|_| pool_of(waker) == name) {
            add(&mut pool.waits, thread, waits);
            if together > 0 {
                add(&mut pool.together, thread, together);
            }
        }
    })?;
    // Threads released at a barrier queue for the CPUs. Those that get one lock after the other are also woken in quick succession, but
    // most of them sleep.
    let in_steps = |pool: &Pool| {
        pool.runnable.as_f64() > whole
            && pool.together.len() as f64 > least * cpus as f64
            && pool.steps_ns(ctx, cpus) >= ctx.share_ns(&MIN_SHARE).max(Ns(1))
    };
    pools.retain(|_, pool| pool.runnable.as_f64() / whole > least || in_steps(pool));
    let (preempted, kernel) = (ctx.preempted()?, KernelTime::new(ctx)?);
    let found = pools.into_iter().map(|(name, pool)| {
        let sampled = if in_steps(&pool) { pool.sampled_ns(&kernel, cpus) } else { None };
        finding(ctx, &name, pool, (cpus, idle), whole, &preempted, sampled)
    });
    Ok(RuleOutcome::Findings(found.collect()))
}

/// What is sampled in the kernel is not only the cost of the steps, and threads that wait lose time outside it as well.
const SAMPLED: Range = Range { low: 0.6, high: 1.75 };

fn finding(
    ctx: &RuleContext<'_>,
    name: &str,
    pool: Pool,
    (cpus, idle): (i64, Ns),
    whole: f64,
    preempted: &Preempted,
    sampled: Option<Ns>,
) -> Finding {
    let own = |thread: &ThreadKey| {
        let waits = pool.avoided(pool.waits_of(*thread), cpus);
        cost(ctx, preempted.count(*thread).saturating_add(waits))
    };
    let claims: Vec<_> = pool.members.iter().map(|(key, tid)| ctx.claim(*key, *tid, own(key))).collect();
    let name = &*ctx.name_of_all(pool.members.iter().map(|(key, _)| *key), name);
    let times: i64 = pool.members.iter().map(|(key, _)| preempted.count(*key)).sum();
    let (together, avoided) = (pool.waits(), pool.avoided(pool.waits(), cpus));
    let change = Fix::PoolSize {
        threads: Threads { name: name.to_owned(), ..threads(&claims) },
        size: u32::try_from(cpus).unwrap_or(u32::MAX),
    };
    let finding = ctx.finding(claims, change, format!("Start as many {name} as there are CPUs ({cpus})"));
    // The CPUs switch in parallel, each for its part.
    let cpu_ns = sampled.map_or_else(|| cost(ctx, times.saturating_add(avoided)), |ns| ns * cpus);
    let all = cpu_ns / cpus.max(1);
    let switched = match together {
        0 => format!("{} preemptions", grouped(times)),
        _ => format!("{} preemptions and {} waits for each other in steps", grouped(times), grouped(together)),
    };
    // The tables of sums cover the whole recording.
    let idle = if together > 0 && !ctx.is_part() { idle / cpus.max(1) } else { Ns::ZERO };
    let mut assumptions = vec![
        match sampled {
            Some(_) => "the part of their samples that hit the kernel is what the steps cost, and as few threads as CPUs avoid their part of it".to_owned(),
            None => "each preemption, and each wait that fewer threads would avoid, costs two switches (lower bound: nothing; upper bound, if \
                     they work in steps: no CPU would have been idle either while threads were woken one after the other)"
                .to_owned(),
        },
        "fewer threads do the same work; cold caches and locks held by waiting threads are not included".to_owned(),
    ];
    assumptions.extend(sampled.is_none().then(|| ctx.whose(&SWITCH)));
    assumptions.extend(preempted.assumption(pool.members.iter().map(|(key, _)| *key)));
    Finding {
        title: format!(
            "{:.1} threads named {name} were runnable per CPU ({} in total): {switched} took about {} ms",
            pool.runnable.as_f64() / whole,
            plural(cpus.unsigned_abs(), "CPU"),
            ms(all)
        ),
        severity: ctx.severity(all),
        recoverable_ns: all,
        range_ns: if sampled.is_some() { SAMPLED.of(all) } else { [Ns::ZERO, ctx.upper(&SWITCH, all) + idle] },
        cpu_ns: Some(cpu_ns),
        confidence: if avoided > times { Confidence::Medium } else { Confidence::Low },
        evidence: pool.evidence.finish(),
        assumptions,
        ..finding
    }
}
