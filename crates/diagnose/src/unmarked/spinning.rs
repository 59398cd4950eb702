//! Threads that spin in a run time's wait functions, or in loops with a spin-wait hint, while others of their program wait for a CPU: busy-wait-at-barrier.

use crate::context::{EvidenceRows, RuleContext, add, threads};
use crate::finding::{Confidence, Finding};
use crate::pools::Programs;
use crate::range::Range;
use engine::EngineError;
use model::tables::{ready_wait, samples};
use model::words::{ms, percent, plural};
use model::{Fix, Ns, ThreadKey, Tid};
use std::collections::BTreeMap;

/// Libraries of run times in which threads do nothing but wait, by how their file names begin: of OpenMP, and what Open MPI and UCX poll for
/// messages with. Their code for sharing out work is short.
const WAITING: [&str; 9] =
    ["libgomp", "libomp.", "libomp-", "libomp5", "libiomp", "libopen-pal", "mca_btl_", "libucp", "libuct"];

/// Libraries of MPI, which do other work too, apart from functions whose names say that they look for progress.
const PASSING: [&str; 2] = ["libmpi", "mca_"];

/// Functions that wait: of run times that do work too, and code with a spin-wait hint.
const FUNCTIONS: [&str; 11] = [
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
    "sched_yield",
];

/// The kernel's functions by which threads spin that offer their CPU to others meanwhile (sched_yield(2)): what they call waits too. Which one
/// has samples depends on what the compiler inlines; one calls the other.
const YIELD: [&str; 3] = ["__x64_sys_sched_yield", "__arm64_sys_sched_yield", "__do_sys_sched_yield"];

/// With fewer samples that wait, their share of a program is too uncertain.
const MIN_SAMPLES: i64 = 20;
/// The share of the samples of a program that wait, from which it is reported: a short spin before each wait takes less.
const MIN_SPINNING: f64 = 0.05;
/// The ready time of the program's threads, relative to their spinning, from which the spinning keeps them from running.
const MIN_READY: f64 = 0.25;

const RANGE: Range = Range { low: 0.5, high: 1.45 };

/// The threads of a program: of all its processes, as the ranks of MPI wait for each other.
#[derive(Default)]
struct Program {
    all: i64,
    waiting: BTreeMap<ThreadKey, i64>,
    running: Ns,
    ready: Ns,
    tids: BTreeMap<ThreadKey, Tid>,
    evidence: EvidenceRows,
}

/// Whether a function does nothing but wait, without leaving its CPU.
pub(crate) fn is_waiting(function: &str, file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    let is_of = |libraries: &[&str]| libraries.iter().any(|begin| name.starts_with(begin));
    let is_known = is_of(&WAITING)
        || FUNCTIONS.iter().any(|begin| function.starts_with(begin))
        || (is_of(&PASSING) && function.to_ascii_lowercase().contains("progress"));
    // The kernel's functions of these names put threads to sleep.
    is_known || (!file.starts_with('[') && says_that_it_waits(function))
}

/// Whether the name of a program's function says that it waits: one that leaves its CPU for it has no samples.
fn says_that_it_waits(function: &str) -> bool {
    let lower = function.to_ascii_lowercase();
    let word = |word: &str| lower.match_indices(word).any(|(at, _)| !lower[..at].ends_with('a'));
    ["wait", "spin", "barrier", "backoff"].into_iter().any(word)
}

/// Returns a finding for each program that loses at least `least` ns in this way, and whether there are samples at all.
pub(crate) fn find(ctx: &RuleContext<'_>, least: Ns) -> Result<(Vec<Finding>, bool), EngineError> {
    let (programs, mut any) = (Programs::new(ctx)?, false);
    let (mut by_program, mut yields) = (BTreeMap::<String, Program>::new(), BTreeMap::new());
    ctx.each_row(samples::Table, |row| {
        any = true;
        let Some(thread) = row.get(samples::THREAD).filter(|thread| *thread > ThreadKey::IDLE) else { return };
        let count = row.get(samples::SELF_SAMPLES);
        let program = by_program.entry(programs.of(ctx, thread)).or_default();
        program.all = program.all.saturating_add(count);
        let function = row.get(samples::FUNCTION.or_empty());
        let waiting = match function {
            _ if YIELD.contains(&function) => {
                let core = (row.get(samples::CORE_TYPE).to_owned(), row.get(samples::SIBLING).to_owned());
                let most = yields.entry((thread, core)).or_insert(0);
                let more = (row.get(samples::TOTAL_SAMPLES) - *most).max(0);
                *most += more;
                more
            }
            _ if is_waiting(function, row.get(samples::FILE.or_empty())) => count,
            _ => 0,
        };
        if waiting > 0 {
            add(&mut program.waiting, thread, waiting);
            program.evidence.push(waiting, row, &[&samples::SELF_SAMPLES, &samples::TOTAL_SAMPLES]);
        }
    })?;
    by_program.retain(|_, program| {
        let waiting: i64 = program.waiting.values().sum();
        waiting >= MIN_SAMPLES && waiting as f64 >= MIN_SPINNING * program.all as f64
    });
    ctx.each_row(ready_wait::Table, |row| {
        let thread = row.get(ready_wait::THREAD);
        if let Some(program) = by_program.get_mut(&programs.of(ctx, thread)) {
            let (tid, running, ready) =
                row.all((ready_wait::TID, ready_wait::RUNNING_NS, ready_wait::NO_CPU_FREE_NS.or_zero()));
            program.running += running;
            program.ready += ready;
            program.tids.insert(thread, tid);
        }
    })?;
    let cpus = ctx.cpus()?.max(1);
    let found = by_program.into_values().filter_map(|program| finding(ctx, program, cpus, least));
    Ok((found.collect(), any))
}

fn finding(ctx: &RuleContext<'_>, program: Program, cpus: i64, least: Ns) -> Option<Finding> {
    let waiting: i64 = program.waiting.values().sum();
    let share = waiting as f64 / program.all as f64;
    let spun = program.running.scaled(share);
    // The CPUs that spin would have run the threads that were ready instead.
    let saved = spun.min(program.ready) / cpus;
    if saved < least || program.ready.as_f64() < MIN_READY * spun.as_f64() {
        return None;
    }
    let claims: Vec<_> = program
        .waiting
        .keys()
        .map(|thread| ctx.claim(*thread, program.tids.get(thread).copied().unwrap_or(Tid::UNKNOWN), saved))
        .collect();
    let change = Fix::Block { threads: threads(&claims) };
    let name = threads(&claims).name;
    Some(Finding {
        title: format!(
            "{} named {name} spent {} of their samples waiting for each other without leaving their CPU, while others of the program were \
             ready for {} ms",
            plural(claims.len() as u64, "thread"),
            percent(waiting, program.all),
            ms(program.ready)
        ),
        severity: ctx.severity(saved),
        recoverable_ns: saved,
        range_ns: RANGE.of(saved),
        cpu_ns: Some(spun),
        confidence: Confidence::Medium,
        evidence: program.evidence.finish(),
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
        assert!(is_waiting("ompi_coll_libnbc_progress", "/usr/lib/mca_coll_libnbc.so"));
        assert!(!is_waiting("ompi_op_sum", "/usr/lib/libmpi.so.40"));
        for (name, file) in [("compute", "/bin/x"), ("await_result", "/bin/x"), ("do_wait", "[kernel]"), ("", "")] {
            assert!(!is_waiting(name, file), "{name}");
        }
    }
}
