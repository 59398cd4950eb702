//! Ticks of the scheduler on a CPU that has only one thread.

use crate::context::{EvidenceRows, RuleContext, add};
use crate::finding::Confidence;
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, interrupts, ready_wait};
use model::words::{ms, plural, time};
use model::{CpuId, Fix, Ns, ThreadKey, Tid};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "tick-interrupts-lone-thread",
    about: "the scheduler's tick interrupted a thread that had its CPU to itself",
    page: Page {
        description: "Threads that ran nearly all the time on one CPU on which nearly nothing else ran, and that the scheduler's tick interrupted \
                nevertheless (table `interrupts`).",
        rationale: "The tick decides whether another thread should run. With one thread, there is nothing to decide: each tick only takes its \
                  time, and delays what the thread does at that moment. A kernel with CONFIG_NO_HZ_FULL can stop it on chosen CPUs.",
        certainty: "The ticks, the threads that they interrupted and the time in the tick's function are recorded; entering and leaving the \
               interrupt and what it removes from caches are not. That no other thread was ready is inferred: on that CPU, the ticks interrupted \
               hardly any other thread. No finding for time below `min_share`, as the fix needs a restart with other kernel parameters.",
        fix: "Start a kernel that has CONFIG_NO_HZ_FULL with nohz_full=CPU, pin the thread to that CPU and keep all others off it.",
        example: "A computes on CPU 1 all the time, alone, and is interrupted 1000 times per second for 6 µs each.",
    },
    tables: &[&tables::INTERRUPTS, &tables::READY_WAIT],
    thresholds: &[&MIN_SHARE, &MIN_ALONE, &MIN_RUNNING, &MIN_PER_SECOND],
    explains: &[],
    worst: Fits::Nothing,
    shares_out_work: false,
    check,
};

const MIN_SHARE: Threshold = Threshold {
    name: "min_share",
    unit: Unit::Ratio,
    value: 0.002,
    reason: "of the analysed time, in the tick's function; heuristic: with less, the fix costs more than it saves. On the virtual machine on \
             which corewise is developed, a tick takes 2.8 µs: 0.07 % at its 250 per second, 0.28 % at 1000",
};

const MIN_ALONE: Threshold = Threshold {
    name: "min_alone",
    unit: Unit::Ratio,
    value: 0.95,
    reason: "the thread's share of the ticks of its CPU, and the CPU's share of the thread's ticks; the rest are threads of the kernel",
};

const MIN_RUNNING: Threshold = Threshold {
    name: "min_running",
    unit: Unit::Ratio,
    value: 0.9,
    reason: "the thread's running time as a share of the analysed time: the kernel stops the tick of a CPU that is idle anyway",
};

const MIN_PER_SECOND: Threshold = Threshold {
    name: "min_per_second",
    unit: Unit::PerSecond,
    value: 50.0,
    reason: "ticks per second of running time: half of the least rate that kernels have (CONFIG_HZ=100); without the tick, one per second is left",
};

/// The names of the tick's timer in the table `interrupts` (kernel/time/tick-sched.c): before Linux 6.9, and since.
const TICKS: [&str; 2] = ["timer tick_sched_timer", "timer tick_nohz_handler"];

#[derive(Clone, Copy, Default)]
struct Ticks {
    count: i64,
    ns: Ns,
}

/// A thread that has a CPU to itself.
struct Lone {
    thread: ThreadKey,
    tid: Tid,
    cpu: i64,
    ticks: Ticks,
    running: Ns,
}

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    let (mut by, mut tids) = (BTreeMap::<(ThreadKey, i64), Ticks>::new(), BTreeMap::new());
    let (mut of_thread, mut of_cpu) = (BTreeMap::new(), BTreeMap::new());
    let mut has_timers = false;
    ctx.each_row(interrupts::Table, |row| {
        has_timers |= row.get(interrupts::KIND) == "timer";
        if !TICKS.contains(&row.get(interrupts::INTERRUPT)) {
            return;
        }
        let (thread, cpu, count, ns) =
            row.all((interrupts::THREAD, interrupts::CPU, interrupts::COUNT, interrupts::HANDLER_NS));
        tids.insert(thread, row.get(interrupts::TID));
        by.insert((thread, cpu), Ticks { count, ns });
        add(&mut of_thread, thread, count);
        add(&mut of_cpu, cpu, count);
    })?;
    if !has_timers {
        return Ok(RuleOutcome::MissingData(
            "no timer is known to have interrupted a thread: the source may have no timers (`record` has them)"
                .to_owned(),
        ));
    }
    let mut running = BTreeMap::new();
    ctx.each_row(ready_wait::Table, |row| {
        running.insert(row.get(ready_wait::THREAD), row.get(ready_wait::RUNNING_NS));
    })?;
    let (alone, least_running) = (ctx.threshold(&MIN_ALONE), ctx.share_ns(&MIN_RUNNING));
    let is_most = |count: i64, all: Option<&i64>| count as f64 >= alone * all.copied().unwrap_or(0) as f64;
    let mut lone: Vec<Lone> = by
        .into_iter()
        .filter_map(|((thread, cpu), ticks)| {
            let running = running.get(&thread).copied().filter(|ns| *ns >= least_running.max(Ns(1)))?;
            let is_lone = is_most(ticks.count, of_thread.get(&thread)) && is_most(ticks.count, of_cpu.get(&cpu));
            let is_often = ticks.count as f64 >= ctx.threshold(&MIN_PER_SECOND) * running.as_f64() * 1e-9;
            let is_much = ticks.ns >= ctx.share_ns(&MIN_SHARE);
            let tid = tids.get(&thread).copied().unwrap_or(Tid::IDLE);
            (is_lone && is_often && is_much).then_some(Lone { thread, tid, cpu, ticks, running })
        })
        .collect();
    lone.sort_by_key(|of| (std::cmp::Reverse(of.ticks.ns), of.thread));
    let Some(most) = lone.first() else { return Ok(RuleOutcome::Findings(Vec::new())) };
    let mut evidence = EvidenceRows::default();
    ctx.each_row(interrupts::Table, |row| {
        let is_of = |of: &Lone| of.thread == row.get(interrupts::THREAD) && of.cpu == row.get(interrupts::CPU);
        if TICKS.contains(&row.get(interrupts::INTERRUPT)) && lone.iter().any(is_of) {
            evidence.push(row.get(interrupts::HANDLER_NS), row, &[&interrupts::COUNT, &interrupts::HANDLER_NS]);
        }
    })?;
    let claims = lone.iter().map(|of| ctx.claim(of.thread, of.tid, of.ticks.ns)).collect();
    let cpus = lone.iter().filter_map(|of| u32::try_from(of.cpu).ok()).map(CpuId).collect();
    let mut finding =
        ctx.finding(claims, Fix::NoTick { cpus }, "Let the kernel stop the tick of these CPUs".to_owned());
    let others = match lone.len() - 1 {
        0 => String::new(),
        n => format!(", and so {}", plural(n as u64, "other thread")),
    };
    finding.title = format!(
        "the scheduler's tick interrupted {}, alone on CPU {}, {} ({:.0} per second of its running time), for {} each: {} ms{others}",
        ctx.name(most.thread),
        most.cpu,
        plural(most.ticks.count.unsigned_abs(), "time"),
        most.ticks.count as f64 / (most.running.max(Ns(1)).as_f64() * 1e-9),
        time(most.ticks.ns / most.ticks.count.max(1)),
        ms(most.ticks.ns)
    );
    // The entry and exit of the interrupt are not recorded; what they take is seldom more than the function itself.
    finding.range_ns = [finding.recoverable_ns, finding.recoverable_ns * 2];
    finding.confidence = Confidence::Medium;
    finding.evidence = evidence.finish();
    finding.assumptions = vec![
        "one tick per second is left".to_owned(),
        "lower bound and best estimate: the time in the tick's function; upper bound: entering and leaving the interrupt takes as long again"
            .to_owned(),
    ];
    Ok(RuleOutcome::Findings(vec![finding]))
}
