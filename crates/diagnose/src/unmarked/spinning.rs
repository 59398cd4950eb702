//! Threads that spin in a run time's wait functions, or in loops with a spin-wait hint, while others of their process wait for a CPU: busy-wait-at-barrier.

use crate::context::{EvidenceRows, RuleContext, add, threads};
use crate::finding::{Confidence, Finding};
use crate::pools::Processes;
use crate::range::Range;
use engine::EngineError;
use model::Fix;
use model::tables::{ready_wait, samples};
use model::words::{ms, percent, plural};
use std::collections::BTreeMap;

/// Libraries of run times in which threads do nothing but wait, by how their file names begin. Their code for sharing out work is short.
const WAITING: [&str; 5] = ["libgomp", "libomp.", "libomp-", "libomp5", "libiomp"];

/// Functions that wait: of run times that do work too, and code with a spin-wait hint.
const FUNCTIONS: [&str; 10] = [
    model::StackFrame::SPIN_WAIT,
    "blas_thread_server",
    "gomp_team_barrier_wait",
    "gomp_barrier_wait",
    "do_spin",
    "__kmp_wait_",
    "__kmp_hyper_barrier",
    "kmp_flag_",
    "pthread_spin_lock",
    "futex_abstimed_spin",
];

/// The kernel's function by which threads spin that offer their CPU to others meanwhile (sched_yield(2)): what it calls waits too.
const YIELD: &str = "__x64_sys_sched_yield";

/// With fewer samples that wait, their share of a process is too uncertain.
const MIN_SAMPLES: i64 = 20;
/// The share of the samples of a process that wait, from which it is reported: a short spin before each wait takes less.
const MIN_SPINNING: f64 = 0.05;
/// The ready time of the process's threads, relative to their spinning, from which the spinning keeps them from running.
const MIN_READY: f64 = 0.25;

const RANGE: Range = Range { low: 0.5, high: 1.45 };

/// The threads of a process.
#[derive(Default)]
struct Process {
    all: i64,
    waiting: BTreeMap<i64, i64>,
    running: i64,
    ready: i64,
    tids: BTreeMap<i64, i64>,
    evidence: EvidenceRows,
}

/// Whether a function does nothing but wait, without leaving its CPU.
pub(crate) fn is_waiting(function: &str, file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    let is_known = WAITING.iter().any(|begin| name.starts_with(begin))
        || FUNCTIONS.iter().any(|begin| function.starts_with(begin));
    // The kernel's functions of these names put threads to sleep.
    is_known || (!file.starts_with('[') && says_that_it_waits(function))
}

/// Whether the name of a program's function says that it waits: one that leaves its CPU for it has no samples.
fn says_that_it_waits(function: &str) -> bool {
    let lower = function.to_ascii_lowercase();
    let word = |word: &str| lower.match_indices(word).any(|(at, _)| !lower[..at].ends_with('a'));
    ["wait", "spin", "barrier", "backoff"].into_iter().any(word)
}

/// Returns a finding for each process that loses at least `least` ns in this way, and whether there are samples at all.
pub(crate) fn find(ctx: &RuleContext<'_>, least: i64) -> Result<(Vec<Finding>, bool), EngineError> {
    let processes = Processes::new(ctx)?;
    let (mut by_process, mut any) = (BTreeMap::<Option<i64>, Process>::new(), false);
    ctx.each_row(samples::Table, |row| {
        any = true;
        let Some(thread) = row.get(samples::THREAD).filter(|thread| *thread > 0) else { return };
        let count = row.get(samples::SELF_SAMPLES);
        let process = by_process.entry(processes.pool(ctx, thread).0).or_default();
        process.all = process.all.saturating_add(count);
        let function = row.get(samples::FUNCTION.or_empty());
        let waiting = match function {
            YIELD => row.get(samples::TOTAL_SAMPLES),
            _ if is_waiting(function, row.get(samples::FILE.or_empty())) => count,
            _ => 0,
        };
        if waiting > 0 {
            add(&mut process.waiting, thread, waiting);
            process.evidence.push(waiting, row, &[&samples::SELF_SAMPLES, &samples::TOTAL_SAMPLES]);
        }
    })?;
    by_process.retain(|_, process| {
        let waiting: i64 = process.waiting.values().sum();
        waiting >= MIN_SAMPLES && waiting as f64 >= MIN_SPINNING * process.all as f64
    });
    ctx.each_row(ready_wait::Table, |row| {
        let thread = row.get(ready_wait::THREAD);
        if let Some(process) = by_process.get_mut(&processes.pool(ctx, thread).0) {
            let [tid, running, ready] =
                row.all([ready_wait::TID, ready_wait::RUNNING_NS, ready_wait::NO_CPU_FREE_NS.or_zero()]);
            process.running = process.running.saturating_add(running);
            process.ready = process.ready.saturating_add(ready);
            process.tids.insert(thread, tid);
        }
    })?;
    let cpus = ctx.cpus()?.max(1);
    let found = by_process.into_values().filter_map(|process| finding(ctx, process, cpus, least));
    Ok((found.collect(), any))
}

fn finding(ctx: &RuleContext<'_>, process: Process, cpus: i64, least: i64) -> Option<Finding> {
    let waiting: i64 = process.waiting.values().sum();
    let share = waiting as f64 / process.all as f64;
    let spun = (process.running as f64 * share) as i64;
    // The CPUs that spin would have run the threads that were ready instead.
    let saved = spun.min(process.ready) / cpus;
    if saved < least || (process.ready as f64) < MIN_READY * spun as f64 {
        return None;
    }
    let claims: Vec<_> = process
        .waiting
        .keys()
        .map(|thread| ctx.claim(*thread, process.tids.get(thread).copied().unwrap_or(-1), saved))
        .collect();
    let change = Fix::Block { threads: threads(&claims) };
    let name = threads(&claims).name;
    Some(Finding {
        title: format!(
            "{} named {name} spent {} of their samples waiting for each other without leaving their CPU, while others of the process were \
             ready for {} ms",
            plural(claims.len() as u64, "thread"),
            percent(waiting, process.all),
            ms(process.ready)
        ),
        severity: ctx.severity(saved),
        recoverable_ns: saved,
        range_ns: RANGE.of(saved),
        cpu_ns: Some(spun),
        confidence: Confidence::Medium,
        evidence: process.evidence.finish(),
        assumptions: vec![
            "the share of samples in code that only waits (functions of run times such as libgomp, loops around the processor's spin-wait hint, \
             sched_yield) is its share of the running time".to_owned(),
            format!("the {cpus} CPUs would have run the ready threads instead (lower bound: half of that is gained)"),
        ],
        ..ctx.finding(claims, change, format!("Block instead of spinning in {name} (OMP_WAIT_POLICY=passive), or start as many threads as CPUs"))
    })
}

#[cfg(test)]
mod tests {
    use super::is_waiting;

    #[test]
    fn functions_of_programs_that_wait_are_known_by_name() {
        for name in ["tMPI_Event_wait", "SpinWait::once", "my_barrier", "[spin-wait]", "blas_thread_server"] {
            assert!(is_waiting(name, "/usr/lib/libx.so"), "{name}");
        }
        assert!(is_waiting("", "/usr/lib/libgomp.so.1.0.0"));
        for (name, file) in [("compute", "/bin/x"), ("await_result", "/bin/x"), ("do_wait", "[kernel]"), ("", "")] {
            assert!(!is_waiting(name, file), "{name}");
        }
    }
}
