//! A thread that waits for a read-write lock that readers hold, one or the other of them all the time.

use super::MIN_SHARE;
use crate::context::{EvidenceRows, RuleContext, threads};
use crate::finding::{Confidence, Finding};
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, lock_waits};
use model::words::{ms, plural, time};
use model::{Coded, Fix, Ns, ThreadKey, Tid, WaitKind};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "readers-starve-writer",
    about: "a thread that changes shared data waited for a read-write lock that readers held nearly always",
    page: Page {
        description: "A writer of a read-write lock whose longest wait, while readers held the lock, took ten times as long as the readers wait \
                for the lock on average when the writer holds it.",
        rationale: "A read-write lock lets in readers while another one reads. If their turns overlap, the lock is never free, and the writer \
                  waits until by chance none reads. The more readers there are, the longer.",
        certainty: "That the thread writes is known, as the memory of the lock named it while others waited (glibc). That readers held the lock \
               when it waited follows from the memory, which then names no writer. How long each of them reads is not recorded: it is assumed \
               that a writer that comes next waits for one turn of a reader.",
        fix: "Let the lock prefer writers: PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP with pthread_rwlockattr_setkind_np(3). Or take a \
              mutex, publish copies (RCU), or read for shorter.",
        example: "R and S read a map in turns that overlap; W, which changes it, waits 70 ms for turns of 1 ms.",
    },
    tables: &[&tables::LOCK_WAITS],
    thresholds: &[&MIN_RATIO, &MIN_SHARE],
    explains: &["lock-held-long"],
    worst: Fits::WaitedForThread,
    shares_out_work: false,
    check,
};

const MIN_RATIO: Threshold = Threshold {
    name: "min_ratio",
    unit: Unit::Ratio,
    value: 10.0,
    reason: "the writer's longest wait, relative to a mean wait of the readers: a lock that is fair lets it wait for a turn of each reader",
};

/// A lock in a process.
type Lock = (Option<i64>, String);

/// The waits of a thread for a lock.
#[derive(Default)]
struct Waits {
    tid: Tid,
    count: i64,
    waited: Ns,
    longest: Ns,
    /// The thread that ended most of it.
    released_by: BTreeMap<ThreadKey, Ns>,
    evidence: EvidenceRows,
}

/// A read-write lock.
#[derive(Default)]
struct Sums {
    /// Waits while no writer held it.
    for_readers: BTreeMap<ThreadKey, Waits>,
    /// How often and how long others waited for each writer.
    writers: BTreeMap<ThreadKey, (i64, Ns)>,
}

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    let (mut locks, mut any) = (BTreeMap::<Lock, Sums>::new(), false);
    ctx.each_row(lock_waits::Table, |row| {
        any = true;
        if WaitKind::of_word(row.get(lock_waits::KIND).as_bytes()) != Some(WaitKind::RwLock) {
            return;
        }
        let (thread, waited) = row.all((lock_waits::THREAD, lock_waits::WAITED_NS));
        let lock = locks.entry((row.get(lock_waits::PID), row.get(lock_waits::LOCK).to_owned())).or_default();
        if let Some(writer) = row.get(lock_waits::HOLDER) {
            let (count, sum) = lock.writers.entry(writer).or_default();
            *count += 1;
            *sum += waited;
            return;
        }
        let waits = lock.for_readers.entry(thread).or_default();
        waits.tid = row.get(lock_waits::TID);
        waits.count += 1;
        waits.waited += waited;
        waits.longest = waits.longest.max(waited);
        if let Some(by) = row.get(lock_waits::RELEASED_BY) {
            *waits.released_by.entry(by).or_default() += waited;
        }
        waits.evidence.push(waited, row, &[&lock_waits::WAITED_NS, &lock_waits::KIND, &lock_waits::RELEASED_BY]);
    })?;
    if !any {
        return Ok(RuleOutcome::MissingData("no wait for a lock was recorded".to_owned()));
    }
    let mut found = Vec::new();
    for sums in locks.into_values() {
        let Sums { for_readers, writers } = sums;
        found.extend(for_readers.into_iter().filter_map(|(thread, waits)| {
            let (count, waited) = writers.get(&thread)?;
            finding(ctx, thread, waits, *waited / (*count).max(1))
        }));
    }
    Ok(RuleOutcome::Findings(found))
}

/// `turn`: how long readers wait for the writer on average.
fn finding(ctx: &RuleContext<'_>, thread: ThreadKey, waits: Waits, turn: Ns) -> Option<Finding> {
    let is_long = waits.longest.as_f64() >= ctx.threshold(&MIN_RATIO) * turn.max(Ns(1)).as_f64();
    let saved = waits.waited - turn * waits.count;
    if !is_long || saved < ctx.share_ns(&MIN_SHARE).max(Ns(1)) {
        return None;
    }
    let claims = vec![ctx.claim(thread, waits.tid, saved)];
    let name = ctx.name(thread);
    let reader = waits.released_by.iter().max_by_key(|(_, waited)| **waited).map(|(reader, _)| *reader);
    let readers =
        reader.map_or_else(|| "readers".to_owned(), |reader| format!("{} and other readers", ctx.name(reader)));
    let what = format!("Let the read-write lock prefer {name}, which changes the data");
    let mut finding = ctx.finding(claims.clone(), Fix::SplitLock { threads: threads(&claims) }, what);
    "pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP)"
        .clone_into(&mut finding.action.linux);
    Some(Finding {
        title: format!(
            "{name} waited {} to write while {readers} held a read-write lock, one or the other of them: {} ms in all, {} at most; they wait {} \
             for it on average",
            plural(waits.count.unsigned_abs(), "time"),
            ms(waits.waited),
            time(waits.longest),
            time(turn)
        ),
        range_ns: [saved.scaled(0.5), waits.waited],
        confidence: Confidence::Medium,
        waited_for: reader.into_iter().collect(),
        evidence: waits.evidence.finish(),
        assumptions: vec![
            "each wait then takes as long as the readers wait for the writer (lower bound: half of that is gained; upper bound: no wait)"
                .to_owned(),
        ],
        ..finding
    })
}
