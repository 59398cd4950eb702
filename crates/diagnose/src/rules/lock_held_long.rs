//! Threads that wait for a lock that another thread holds for long.

use super::MIN_SHARE;
use crate::context::{EvidenceRows, RuleContext, threads};
use crate::finding::{Confidence, Finding};
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, lock_holders, wait_objects};
use model::words::{ms, plural, time};
use model::{Fix, Ns, ThreadKey, Tid};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "lock-held-long",
    about: "threads waited for a lock that another thread held for long",
    page: Page {
        description: "Threads that waited for a lock which one thread held for half a millisecond or more at a time: while it worked, slept, read \
                a file or waited for a CPU.",
        rationale: "A thread that waits for a lock is as late as its holder is slow. What the holder does with the lock in its hand, and need not do \
                  there, delays all that wait.",
        certainty: "The holder is the first thread that woke the lock's waiters after the wait began, and the memory of the program named it \
               (glibc, musl's recursive mutexes), or names no thread (Rust). So the holder and what it did are recorded; which part of it needs the \
               lock is unknown. It is assumed that the holder need not wait with the lock held, and needs it for half of the rest. Recordings by \
               corewise have it (x86-64, arm64). Locks whose value does not show that they are locks are not seen: Python's, Java's monitors, Go's, \
               OpenMP's, semaphores. Short holds are reported by lock-convoy and global-lock.",
        fix: "Sleep, read and compute without the lock: prepare the result first, and take the lock only to publish it. Or split the lock.",
        example: "A, a frame loop, waits 22 ms for a mutex, because B, a loader, reads a file while it holds it.",
    },
    tables: &[&tables::LOCK_HOLDERS, &tables::WAIT_OBJECTS],
    thresholds: &[&MIN_HELD_NS, &MIN_SHARE],
    explains: &[],
    worst: Fits::WaitedForThread,
    shares_out_work: false,
    check,
};

const MIN_HELD_NS: Threshold = Threshold {
    name: "min_held_ns",
    unit: Unit::Ns,
    value: 500_000.0,
    reason: "mean time for which the holder held the lock while another thread waited: above the microseconds of a critical section that \
             only changes shared data",
};

/// The part of the holder's other time that needs the lock.
const NEEDED: f64 = 0.5;

/// The waits of a thread for what another thread held.
#[derive(Default)]
struct Waits {
    tid: Tid,
    count: i64,
    held: Ns,
    blocked: Ns,
}

impl Waits {
    fn saving(&self) -> Ns {
        self.blocked + (self.held - self.blocked).scaled(1.0 - NEEDED)
    }
}

/// What a thread held, and who waited for it.
#[derive(Default)]
struct Holder {
    tid: Tid,
    longest: Ns,
    /// What it did meanwhile: running, ready, blocked.
    did: [Ns; 3],
    /// What it was blocked in for the longest time, and how long.
    reason: (Ns, String),
    waiters: BTreeMap<ThreadKey, Waits>,
    evidence: EvidenceRows,
}

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    let (mut holders, mut any) = (BTreeMap::<ThreadKey, Holder>::new(), false);
    let least_held = Ns::whole(ctx.threshold(&MIN_HELD_NS));
    ctx.each_row(lock_holders::Table, |row| {
        any = true;
        let Some(holder) = row.get(lock_holders::HOLDER) else { return };
        let (thread, tid, waits) = row.all((lock_holders::THREAD, lock_holders::TID, lock_holders::WAITS));
        let held = row.get(lock_holders::HELD_NS.or_zero());
        if held / waits.max(1) < least_held {
            return;
        }
        let did = [
            lock_holders::HOLDER_RUNNING_NS.or_zero(),
            lock_holders::HOLDER_READY_NS.or_zero(),
            lock_holders::HOLDER_BLOCKED_NS.or_zero(),
        ]
        .map(|column| row.get(column));
        let of = holders.entry(holder).or_default();
        of.tid = row.get(lock_holders::HOLDER_TID).unwrap_or(Tid::UNKNOWN);
        of.longest = of.longest.max(row.get(lock_holders::MAX_HELD_NS.or_zero()));
        for (sum, more) in of.did.iter_mut().zip(did) {
            *sum += more;
        }
        if did[2] > of.reason.0 {
            of.reason = (did[2], row.get(lock_holders::HOLDER_REASON.or_empty()).to_owned());
        }
        let sums = of.waiters.entry(thread).or_default();
        sums.tid = tid;
        sums.count = sums.count.saturating_add(waits);
        sums.held += held;
        sums.blocked += did[2];
        of.evidence.push(
            held,
            row,
            &[
                &lock_holders::WAITS,
                &lock_holders::HELD_NS,
                &lock_holders::HOLDER_BLOCKED_NS,
                &lock_holders::HOLDER_REASON,
            ],
        );
    })?;
    if !any {
        // Without waits for locks, other objects show that they would have been recorded.
        ctx.each_row(wait_objects::Table, |row| any |= row.get(wait_objects::OBJECT).is_some())?;
    }
    if !any {
        return Ok(RuleOutcome::MissingData(
            "what threads wait for was not recorded: recordings by corewise on x86-64 and arm64 have it".to_owned(),
        ));
    }
    let least = ctx.share_ns(&MIN_SHARE).max(Ns(1));
    let found = holders.into_iter().filter_map(|(key, holder)| finding(ctx, key, holder, least));
    Ok(RuleOutcome::Findings(found.collect()))
}

fn finding(ctx: &RuleContext<'_>, key: ThreadKey, holder: Holder, least: Ns) -> Option<Finding> {
    let claims: Vec<_> =
        holder.waiters.iter().map(|(thread, waits)| ctx.claim(*thread, waits.tid, waits.saving())).collect();
    let [running, ready, blocked] = holder.did;
    let is_name_of_waiter = claims.iter().any(|claim| claim.name == ctx.name(key));
    let name = if is_name_of_waiter { format!("{} {}", ctx.name(key), holder.tid) } else { ctx.name(key) };
    let what = match [blocked > running + ready, ready > running] {
        [true, _] => format!("Let {name} give the lock back before it waits"),
        [_, true] => format!(
            "Let {name} run while it holds the lock: raise its priority, or let the lock lend it (PTHREAD_PRIO_INHERIT)"
        ),
        _ => format!("Let {name} hold the lock only while it changes shared data"),
    };
    let change = Fix::SplitLock { threads: threads(&claims) };
    let finding = ctx.finding(claims, change, what);
    let most = finding.threads.first().cloned()?;
    let waits = holder.waiters.get(&most.thread)?;
    if waits.held < least {
        return None;
    }
    let meanwhile = match &holder.reason {
        (_, reason) if blocked > running + ready && !reason.is_empty() => {
            format!("was blocked itself ({reason}) for {} ms of it", ms(blocked))
        }
        _ if blocked > running + ready => format!("was blocked itself for {} ms of it", ms(blocked)),
        _ if ready > running => format!("waited for a CPU for {} ms of it", ms(ready)),
        _ => format!("ran for {} ms of it", ms(running)),
    };
    let others = holder.waiters.len() - 1;
    Some(Finding {
        title: format!(
            "{} waited {} for a lock that {name} held, for {} ms in all and {} at most{}; {name} {meanwhile}",
            most.name,
            plural(waits.count.unsigned_abs(), "time"),
            ms(waits.held),
            time(holder.longest),
            if others > 0 { format!(", as did {}", plural(others as u64, "other thread")) } else { String::new() },
        ),
        range_ns: [waits.blocked.scaled(NEEDED), waits.held],
        confidence: Confidence::Medium,
        waited_for: vec![key],
        evidence: holder.evidence.finish(),
        assumptions: vec![
            format!(
                "{name} (TID {}) need not wait with the lock held, and needs it for half of the time in which it ran or was ready",
                holder.tid
            ),
            "lower bound: half of the time in which it was blocked; upper bound: all of the wait".to_owned(),
        ],
        ..finding
    })
}
