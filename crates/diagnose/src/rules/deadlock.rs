//! Threads that wait for each other's locks.

use crate::context::{EvidenceRows, RuleContext, threads};
use crate::finding::{Confidence, Finding, Severity};
use crate::rule::{Fits, Page, Rule, RuleOutcome};
use engine::EngineError;
use model::tables::{self, deadlocks, wait_objects};
use model::words::{ms, plural};
use model::{Fix, Ns, ThreadKey, Tid};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "deadlock",
    about: "threads wait for locks that each other holds: none of them goes on",
    page: Page {
        description: "Threads that wait for locks until the end of the recording or of their program, each for one that the next of them holds; or a thread that waits \
                for a lock that it holds itself.",
        rationale: "None of them ever goes on. The rest of the program goes on until it needs one of the locks or threads.",
        certainty: "The memory at each lock named its holder when the wait began, and no thread has woken its waiters since, which giving it back \
               would have done. Not seen are locks that store no holder (Rust's standard library, readers of a rwlock, semaphores), waits that began before the recording, and waits with a timeout.",
        fix: "Take the locks in the same order in all threads, or one lock instead of two.",
        example: "A holds lock 1 and waits for lock 2, which B holds, which waits for lock 1.",
    },
    tables: &[&tables::DEADLOCKS, &tables::WAIT_OBJECTS],
    thresholds: &[],
    explains: &["lock-held-long"],
    worst: Fits::Nothing,
    shares_out_work: false,
    check,
};

/// A cycle: each thread, since when it waits, and the thread that it waits for.
#[derive(Default)]
struct Cycle {
    threads: Vec<(ThreadKey, Tid, Ns, Ns, ThreadKey)>,
    evidence: EvidenceRows,
}

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    let mut cycles = BTreeMap::<i64, Cycle>::new();
    ctx.each_row(deadlocks::Table, |row| {
        use deadlocks::*;
        let (cycle, thread, tid, since, waited, holder) = row.all((CYCLE, THREAD, TID, SINCE_NS, WAITED_NS, HOLDER));
        let of = cycles.entry(cycle).or_default();
        of.threads.push((thread, tid, since, waited, holder));
        of.evidence.push(waited, row, &[&SINCE_NS, &LOCK, &HOLDER]);
    })?;
    if cycles.is_empty() {
        let mut recorded = false;
        ctx.each_row(wait_objects::Table, |row| recorded |= row.get(wait_objects::OBJECT).is_some())?;
        if !recorded {
            return Ok(RuleOutcome::MissingData(
                "what threads wait for was not recorded: recordings by corewise on x86-64 and arm64 have it".to_owned(),
            ));
        }
    }
    Ok(RuleOutcome::Findings(cycles.into_values().map(|cycle| finding(ctx, cycle)).collect()))
}

fn finding(ctx: &RuleContext<'_>, cycle: Cycle) -> Finding {
    // They are stuck since the last of them began to wait.
    let stuck = cycle.threads.iter().map(|(.., waited, _)| *waited).min().unwrap_or_default();
    let claims: Vec<_> = cycle.threads.iter().map(|(thread, tid, ..)| ctx.claim(*thread, *tid, stuck)).collect();
    let change = Fix::LockOrder { threads: threads(&claims) };
    let what = match cycle.threads.len() {
        1 => "Do not take a lock again that the thread holds, or make it recursive".to_owned(),
        _ => "Take the locks in the same order in all threads".to_owned(),
    };
    let finding = ctx.finding(claims, change, what);
    let waits = |(thread, _, _, _, holder): &(ThreadKey, Tid, Ns, Ns, ThreadKey)| match thread == holder {
        true => format!("{} waits for a lock that it holds itself", ctx.name(*thread)),
        false => format!("{} waits for a lock that {} holds", ctx.name(*thread), ctx.name(*holder)),
    };
    let all: Vec<String> = cycle.threads.iter().take(3).map(waits).collect();
    let more = cycle.threads.len().saturating_sub(all.len());
    let more = if more > 0 { format!(", and {}", plural(more as u64, "more thread")) } else { String::new() };
    Finding {
        title: format!("Deadlock for the last {} ms: {}{more}", ms(stuck), all.join(", ")),
        severity: Severity::High,
        confidence: Confidence::High,
        range_ns: [stuck, stuck],
        evidence: cycle.evidence.finish(),
        assumptions: vec!["it would have gone on from when the last of them began to wait".to_owned()],
        ..finding
    }
}
