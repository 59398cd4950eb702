//! Threads of a process that wait for each other when its memory is mapped or read in.

use super::MIN_SHARE;
use crate::context::{EvidenceRows, RuleContext, threads};
use crate::finding::{Confidence, Finding};
use crate::pools::Processes;
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, wait_objects};
use model::words::{ms, percent, plural};
use model::{Coded, Fix, Ns, ThreadKey, Tid, WaitKind};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const RULE: Rule = Rule {
    id: "address-space-lock",
    about: "threads of a process waited for each other while memory was mapped, unmapped or first used",
    page: Page {
        description: "Two or more threads of a process that waited in mmap, munmap, mprotect, madvise or brk, or in a page fault, until another \
                thread of the process woke them.",
        rationale: "A process has one lock for its address space. A thread that maps or unmaps memory takes it alone, and all others wait that \
                  do the same, or that use a page for the first time. Memory that is mapped for each piece of work and unmapped after it makes \
                  threads take turns, though they share nothing.",
        certainty: "That they waited in these calls, and that a thread of their process ended the waits, is recorded. Where the kernel records its \
               locks, it is known to be one; a wait for a device is ended by an interrupt and does not count. How much is saved depends on how \
               seldom memory can be mapped.",
        fix: "Keep memory and use it again: a pool, or an allocator that does not give memory back each time (glibc: M_MMAP_THRESHOLD and \
              M_TRIM_THRESHOLD of mallopt(3), GLIBC_TUNABLES). Map once with MAP_POPULATE, or with large pages. Divide the work between \
              processes.",
        example: "A and B unmap a buffer after each file, and wait for each other for a fifth of the time.",
    },
    tables: &[&tables::WAIT_OBJECTS],
    thresholds: &[&MIN_THREADS, &MIN_SHARE],
    explains: &[],
    worst: Fits::WaitedForThread,
    shares_out_work: false,
    check,
};

const MIN_THREADS: Threshold = Threshold {
    name: "min_threads",
    unit: Unit::Count,
    value: 2.0,
    reason: "threads of a process that waited: with one, the wait was for something else",
};

/// The calls that take the lock, as the table `wait_objects` names them.
const CALLS: [&str; 7] = ["mmap", "munmap", "mprotect", "mremap", "madvise", "brk", "page_fault"];

/// The part of the waits that is saved if memory is mapped seldom.
const SAVED: f64 = 0.75;

/// The waits of a thread.
#[derive(Default)]
struct Waits {
    tid: Tid,
    count: i64,
    waited: Ns,
}

/// The waits of a process's threads.
#[derive(Default)]
struct Process {
    threads: BTreeMap<ThreadKey, Waits>,
    calls: BTreeSet<String>,
    evidence: EvidenceRows,
}

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    let processes = Processes::new(ctx)?;
    let (mut all, mut any) = (BTreeMap::<Option<i64>, Process>::new(), false);
    ctx.each_row(wait_objects::Table, |row| {
        let reason = row.get(wait_objects::REASON.or_empty());
        any |= !reason.is_empty();
        let kind = WaitKind::of_word(row.get(wait_objects::KIND).as_bytes());
        let is_lock = CALLS.contains(&reason) && kind.is_none_or(WaitKind::is_kernel_lock);
        let (thread, blocked) = row.all((wait_objects::THREAD, wait_objects::BLOCKED_NS));
        let released_by = row.get(wait_objects::RELEASED_BY).filter(|by| *by > ThreadKey::IDLE && *by != thread);
        let waited = blocked - row.get(wait_objects::INTERRUPT_NS);
        if !is_lock || waited <= Ns::ZERO || !released_by.is_some_and(|by| processes.are_one(by, thread)) {
            return;
        }
        let process = all.entry(processes.process(thread)).or_default();
        let waits = process.threads.entry(thread).or_default();
        waits.tid = row.get(wait_objects::TID);
        waits.count = waits.count.saturating_add(row.get(wait_objects::WAITS));
        waits.waited += waited;
        process.calls.insert(reason.to_owned());
        process.evidence.push(
            waited,
            row,
            &[&wait_objects::WAITS, &wait_objects::BLOCKED_NS, &wait_objects::INTERRUPT_NS, &wait_objects::RELEASED_BY],
        );
    })?;
    if !any {
        return Ok(RuleOutcome::MissingData(
            "in which calls threads wait was not recorded: recordings by corewise have it".to_owned(),
        ));
    }
    let found = all.into_values().filter_map(|process| finding(ctx, process));
    Ok(RuleOutcome::Findings(found.collect()))
}

fn finding(ctx: &RuleContext<'_>, process: Process) -> Option<Finding> {
    let Process { threads: waits, calls, evidence } = process;
    let most = waits.values().map(|waits| waits.waited).max()?;
    if (waits.len() as f64) < ctx.threshold(&MIN_THREADS) || most < ctx.share_ns(&MIN_SHARE).max(Ns(1)) {
        return None;
    }
    let claims: Vec<_> =
        waits.iter().map(|(thread, waits)| ctx.claim(*thread, waits.tid, waits.waited.scaled(SAVED))).collect();
    let all: Ns = waits.values().map(|waits| waits.waited).sum();
    let count = waits.values().fold(0_i64, |sum, waits| sum.saturating_add(waits.count));
    let name = ctx.name_of_all(waits.keys().copied(), "the process");
    let what = format!("Let the threads of {name} map memory less often, and use it again");
    let mut finding = ctx.finding(claims.clone(), Fix::SplitLock { threads: threads(&claims) }, what);
    "keep memory in a pool; glibc: GLIBC_TUNABLES=glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=1073741824"
        .clone_into(&mut finding.action.linux);
    Some(Finding {
        title: format!(
            "{} of {name} waited {} for the lock of their address space (in {}), for {} ms in all; one of them for {} of the time",
            plural(waits.len() as u64, "thread"),
            plural(count.unsigned_abs(), "time"),
            calls.into_iter().collect::<Vec<_>>().join(", "),
            ms(all),
            percent(most, ctx.span().len())
        ),
        range_ns: [most.scaled(0.5), most],
        confidence: Confidence::Medium,
        evidence: evidence.finish(),
        assumptions: vec![
            "three quarters of the waits are saved if memory is mapped seldom (lower bound: half; upper bound: all)"
                .to_owned(),
        ],
        ..finding
    })
}
