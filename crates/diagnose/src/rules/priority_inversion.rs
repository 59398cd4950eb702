//! High-priority threads that wait for a low-priority one that cannot run.

use super::MIN_SHARE;
use crate::context::{EvidenceRows, RuleContext, add, threads};
use crate::finding::{Confidence, Finding, Severity};
use crate::pools::Processes;
use crate::priorities::NICE_0;
use crate::range::Range;
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use crate::unmarked::interpreter_lock;
use engine::EngineError;
use model::tables::{
    self, lock_holders, periods, priority_inheritance, priority_residency, ready_wait, wait_objects, waits,
};
use model::words::ms;
use model::{Coded, Fix, Ns, ThreadKey, Threads, Tid, WaitKind};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const RULE: Rule = Rule {
    id: "priority-inversion",
    about: "a high-priority thread waited for a lower-priority one, which lacked a CPU meanwhile",
    page: Page {
        description: "Threads that waited for a thread whose priority was always lower (apart from brief moments), and which lacked a CPU meanwhile. \
                Where the lock is recorded, that thread held it, and all the time counts in which it was ready: after another thread had taken its \
                CPU, and after a wakeup. Elsewhere it is a thread of their process that woke them, and only the time counts after another thread had taken its CPU.",
        rationale: "A lock holder runs at its own priority: any thread with a priority between the two can keep the high-priority thread \
                  waiting indefinitely, which priorities are meant to prevent.",
        certainty: "Priorities, and that the low-priority thread was ready during the wait, are recorded. Which thread ran instead is not checked: \
               a higher priority for the holder gains nothing against a thread whose priority is higher still. Recordings by corewise have the lock, and which \
               thread held it. Otherwise, or if the waits do not show a lock (Java, parking_lot), that the wait was for a lock that it held \
               all the time is likely, but not certain: it may have handed over its work late. If it was blocked itself during the wait, it is not \
               likely, and nothing is reported (for example, if a thread waits for its end). A periodic thread's wait is compared with its response times, as it sleeps for the rest of the time. If processes are not recorded, the confidence is low. \
               The estimate takes into account that the holder would still share the CPU at the higher weight, if less, and that a \
               holder that runs when the wait begins gives up its CPU once more. Ready time at a real-time priority \
               lent by a lock does not count. A lent priority that is not real-time has no effect: the holder's share follows its own nice value.",
        fix: "Let the lock lend the priority of the waiting thread to its holder, or do not share a lock between such threads. If it \
               does so already, but without a real-time priority, give the holder the nice value of the thread that waits.",
        example: "L holds a lock and is preempted by M for 10 ms; H has the highest priority and waits for the lock, and so for M.",
    },
    tables: &[
        &tables::WAITS,
        &tables::LOCK_HOLDERS,
        &tables::WAIT_OBJECTS,
        &tables::PRIORITY_RESIDENCY,
        &tables::PRIORITY_INHERITANCE,
        &tables::PERIODS,
        &tables::READY_WAIT,
        &tables::SAMPLES,
    ],
    thresholds: &[&MIN_PART, &MIN_SHARE, &MIN_OF_RESPONSE],
    // A thread that waits for the lock's holder, or is queued behind it, waits for the thread that took the holder's CPU.
    explains: &["low-priority-ran-while-high-was-ready"],
    worst: Fits::WaitedForThread,
    shares_out_work: false,
    check,
};

const MIN_PART: Threshold = Threshold {
    name: "min_part",
    unit: Unit::Ratio,
    value: 0.01,
    reason: "of a thread's running time at a priority: with less, it was its parent's priority until the thread set its own",
};

const MIN_OF_RESPONSE: Threshold = Threshold {
    name: "min_of_response",
    unit: Unit::Ratio,
    value: 0.05,
    reason: "for a periodic thread: of its response times in sum; it is late by this even if it sleeps for most of the time",
};

/// The thread may hold the lock for a part of the wait only (lower bound), or also waits less for the CPU that its holder needs (upper bound).
const RANGE: Range = Range { low: 0.55, high: 1.6 };

/// The sum of the response times of each periodic thread.
fn responses(ctx: &RuleContext<'_>) -> Result<BTreeMap<ThreadKey, Ns>, EngineError> {
    let mut responses = BTreeMap::new();
    ctx.each_row(periods::Table, |row| add(&mut responses, row.get(periods::THREAD), row.get(periods::RESPONSE_NS)))?;
    Ok(responses)
}

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    if !ctx.summary().ready_known {
        return Ok(RuleOutcome::MissingData(
            "the source has no wakeups, so it is unknown which thread waited for which".to_owned(),
        ));
    }
    let inherited = inherited(ctx)?;
    let Some(priorities) = priorities(ctx, &inherited)? else {
        return Ok(RuleOutcome::MissingData("the source does not record priorities".to_owned()));
    };
    let processes = Processes::new(ctx)?;
    let with_locks = with_locks(ctx)?;
    // For how long the waker lacked a CPU: by thread; by both, with what the waker ran.
    let (mut waited, mut waker_ready, mut evidence) = (BTreeMap::new(), BTreeMap::new(), EvidenceRows::default());
    ctx.each_row(waits::Table, |row| {
        let (thread, tid, ns, ran) = row.all((
            waits::THREAD,
            waits::TID,
            waits::WAKER_PREEMPTED_NS.or_zero(),
            waits::WAKER_RUNNING_NS.or_zero(),
        ));
        let Some(waker) = row.get(waits::WAKER).filter(|waker| *waker > ThreadKey::IDLE) else { return };
        // Kernel threads wait for work and are not delayed by the thread that brings it: kworkers in a state of their own, I.
        let of_kernel = ctx.is_per_cpu_kthread(thread) || ctx.name(thread).starts_with("irq/");
        let idles = of_kernel || row.get(waits::STATE_LETTER.or_empty()) == "I";
        // A smaller number is a higher priority.
        let lower = priorities.get(&waker).zip(priorities.get(&thread)).is_some_and(|(low, own)| low.0 > own.1);
        // A waker that waited itself did more than lack a CPU: a thread that waits for another's end waits for all that it does.
        let waited_itself = row.get(waits::WAKER_BLOCKED_NS.or_zero()) > Ns::ZERO;
        let is_known = with_locks.contains(&thread);
        if ns > Ns::ZERO && lower && !idles && !waited_itself && !is_known && processes.are_one(thread, waker) {
            add(&mut waited, (thread, tid), ns);
            let sums = waker_ready.entry((thread, waker)).or_insert([Ns::ZERO; 2]);
            *sums = [sums[0] + ns, sums[1] + ran];
            evidence.push(
                ns,
                row,
                &[&waits::WAITS, &waits::BLOCKED_NS, &waits::WAKER_RUNNING_NS, &waits::WAKER_PREEMPTED_NS],
            );
        }
    })?;
    // Where the lock is known, so is its holder: all its ready time delays the thread, also after a wakeup.
    let mut locks = BTreeMap::<(ThreadKey, ThreadKey), String>::new();
    ctx.each_row(lock_holders::Table, |row| {
        let (thread, tid) = row.all((lock_holders::THREAD, lock_holders::TID));
        let Some(holder) = row.get(lock_holders::HOLDER).filter(|_| with_locks.contains(&thread)) else { return };
        let [ready, ran] =
            row.all([lock_holders::HOLDER_READY_NS.or_zero(), lock_holders::HOLDER_RUNNING_NS.or_zero()]);
        let lower = priorities.get(&holder).zip(priorities.get(&thread)).is_some_and(|(low, own)| low.0 > own.1);
        if ready > Ns::ZERO && lower {
            add(&mut waited, (thread, tid), ready);
            let sums = waker_ready.entry((thread, holder)).or_insert([Ns::ZERO; 2]);
            *sums = [sums[0] + ready, sums[1] + ran];
            locks.insert((thread, holder), row.get(lock_holders::KIND).replace('_', " "));
            evidence.push(
                ready,
                row,
                &[
                    &lock_holders::WAITS,
                    &lock_holders::HELD_NS,
                    &lock_holders::HOLDER_RUNNING_NS,
                    &lock_holders::HOLDER_READY_NS,
                ],
            );
        }
    })?;
    for of in of_interpreter(ctx, &processes, &priorities)? {
        add(&mut waited, (of.thread, of.tid), of.ready_ns);
        let sums = waker_ready.entry((of.thread, of.holder)).or_insert([Ns::ZERO; 2]);
        *sums = [sums[0] + of.ready_ns, sums[1] + of.ran_ns];
    }
    // Time at a lent priority does not count: what ran instead had a priority to which the waiting thread would have yielded too.
    for ((thread, waker), [ns, _]) in &mut waker_ready {
        let at_lent_priority = inherited.from(*waker, *thread).map(|lent| lent.effective_ns).sum::<Ns>().min(*ns);
        *ns -= at_lent_priority;
        for (_, ns) in waited.iter_mut().filter(|((key, _), _)| key == thread) {
            *ns -= at_lent_priority;
        }
    }
    waker_ready.retain(|_, [ns, _]| *ns > Ns::ZERO);
    ctx.each_row(priority_inheritance::Table, |row| {
        let (holder, ready) = row.all((priority_inheritance::THREAD, priority_inheritance::READY_NS));
        let donor = row.get(priority_inheritance::DONOR);
        if waker_ready.keys().any(|(thread, waker)| *waker == holder && donor.is_none_or(|donor| donor == *thread)) {
            evidence.push(
                ready,
                row,
                &[
                    &priority_inheritance::OWN_PRIO,
                    &priority_inheritance::INHERITED_PRIO,
                    &priority_inheritance::BOOSTS,
                    &priority_inheritance::BOOSTED_NS,
                    &priority_inheritance::READY_NS,
                ],
            );
        }
    })?;
    let (least, responses) = (ctx.share_ns(&MIN_SHARE).max(Ns(1)), responses(ctx)?);
    let of_response = |thread: &ThreadKey| {
        let response = responses.get(thread).map(|ns| ns.scaled(ctx.threshold(&MIN_OF_RESPONSE)));
        response.unwrap_or(Ns::MAX).max(Ns(1))
    };
    waited.retain(|(thread, _), ns| *ns >= least.min(of_response(thread)));
    // At the higher priority it still shares the CPU, if less.
    let mut left = BTreeMap::new();
    for ((thread, waker), [ns, ran]) in &waker_ready {
        let [own, low] = [thread, waker].map(|key| priorities.get(key).copied().unwrap_or_default());
        let ran = ran.as_f64() / (*ran + *ns).max(Ns(1)).as_f64();
        add(&mut left, *thread, Ns::nearest(ns.as_f64() * remaining_share(own.1, low.0, ran)));
    }
    let saved = |thread: &ThreadKey, ns: Ns| ns - left.get(thread).copied().unwrap_or(Ns::ZERO);
    let claims: Vec<_> = waited.iter().map(|((key, tid), ns)| ctx.claim(*key, *tid, saved(key, *ns))).collect();
    let Some(most) = claims.iter().max_by_key(|c| (c.recoverable_ns, std::cmp::Reverse(c.thread))).cloned() else {
        return Ok(RuleOutcome::Findings(Vec::new()));
    };
    let low = waker_ready.iter().filter(|((thread, _), _)| *thread == most.thread).max_by_key(|(_, [ns, _])| *ns);
    let holder = low.map_or(ThreadKey::IDLE, |((_, waker), _)| *waker);
    let low = ctx.name(holder);
    let own = waited.iter().filter(|((thread, _), _)| *thread == most.thread).map(|(_, own)| *own);
    let longest = own.max().unwrap_or_default();
    let lent = inherited.from(holder, most.thread).find(|lent| !lent.is_real_time());
    let (change, what) = match lent {
        Some(lent) => {
            let holders = Threads { name: low.clone(), tids: vec![lent.tid] };
            let nice =
                priorities.get(&most.thread).map_or(lent.prio, |own| own.0).clamp(NICE.start, NICE.end - 1) - NICE_0;
            let what = format!(
                "Give {low} the nice value of {}: the lock already lends its priority, which has no effect unless it is real-time",
                most.name
            );
            (Fix::Nice { threads: holders, nice: i8::try_from(nice).unwrap_or(0) }, what)
        }
        None => (
            Fix::PriorityInheritance { threads: threads(&claims) },
            format!("Let {low} inherit {}'s priority while {} waits for it", most.name, most.name),
        ),
    };
    let lock = locks.get(&(most.thread, holder));
    let held = match inherited.from(holder, most.thread).next() {
        _ if lock.is_some() => {
            format!("{low} held the lock, as was recorded, and needs it for as long at a higher priority")
        }
        Some(lent) if lent.donor.is_some() => {
            format!("{low} held what {} waited for all the time, as it did whenever it had its priority", most.name)
        }
        _ => format!("{low} held what {} waited for all the time", most.name),
    };
    let (finding, known) = (ctx.finding(claims, change, what), processes.are_recorded());
    Ok(RuleOutcome::Findings(vec![Finding {
        title: format!(
            "{} waited for lower-priority {low}, which {}was ready without a CPU for {} ms of the wait",
            most.name,
            lock.map_or_else(String::new, |kind| format!("held a {kind} that it waited for and ")),
            ms(longest)
        ),
        severity: if longest >= of_response(&most.thread) {
            finding.severity.max(Severity::Medium)
        } else {
            finding.severity
        },
        range_ns: if known { RANGE.of(finding.recoverable_ns) } else { [Ns::ZERO, finding.recoverable_ns] },
        waited_for: waker_ready.keys().map(|(_, waker)| *waker).collect(),
        confidence: if known { Confidence::Medium } else { Confidence::Low },
        evidence: evidence.finish(),
        assumptions: vec![
            format!("{held} (lower bound: {})", if known { "for 55 % of it" } else { "it did not, and may be of another process" }),
            "at the higher priority it would have waited less in proportion to its weight, a factor of 1.25 per nice level, except for a \
             quarter of the waiting in the share of waits at whose start it ran (upper bound: it would also have been done by then)"
                .to_owned(),
        ],
        ..finding
    }]))
}

/// The threads of which it was recorded what they wait for. Threads that wait on words of their own more than on locks (Java, parking_lot) are not
/// among them: their waits do not show the lock.
fn with_locks(ctx: &RuleContext<'_>) -> Result<BTreeSet<ThreadKey>, EngineError> {
    let mut times = BTreeMap::<ThreadKey, [Ns; 2]>::new();
    ctx.each_row(wait_objects::Table, |row| {
        let kind = WaitKind::of_word(row.get(wait_objects::KIND).as_bytes());
        let Some(kind) = kind.filter(|_| row.get(wait_objects::OBJECT).is_some()) else { return };
        let times = times.entry(row.get(wait_objects::THREAD)).or_default();
        if kind == WaitKind::Parker {
            times[1] += row.get(wait_objects::BLOCKED_NS);
        } else if kind.is_lock() || kind == WaitKind::Signal {
            times[0] += row.get(wait_objects::BLOCKED_NS);
        }
    })?;
    Ok(times.into_iter().filter(|(_, [words, parked])| words >= parked).map(|(thread, _)| thread).collect())
}

/// Waits for an interpreter's lock of which the holder lacks a CPU: the timer of the waiting thread ends them again and again, so they have
/// no waker. The holder is the thread of lower priority in its process that was ready for longest.
fn of_interpreter(
    ctx: &RuleContext<'_>,
    processes: &Processes,
    priorities: &Priorities,
) -> Result<Vec<Inversion>, EngineError> {
    let waiting = interpreter_lock::waiting(ctx, processes)?;
    if waiting.is_empty() {
        return Ok(Vec::new());
    }
    let mut holders = BTreeMap::<ThreadKey, (Ns, ThreadKey, Ns)>::new();
    ctx.each_row(ready_wait::Table, |row| {
        let (holder, running) = row.all((ready_wait::THREAD, ready_wait::RUNNING_NS));
        let ready = row.get(ready_wait::READY_NS.or_zero());
        for thread in waiting.keys().filter(|thread| processes.are_one(**thread, holder) && **thread != holder) {
            let lower = priorities.get(&holder).zip(priorities.get(thread)).is_some_and(|(low, own)| low.0 > own.1);
            if lower {
                let longest = holders.entry(*thread).or_default();
                *longest = (*longest).max((ready, holder, running));
            }
        }
    })?;
    let found = waiting.into_iter().filter_map(|(thread, (tid, blocked))| {
        let (ready, holder, running) = holders.get(&thread).copied()?;
        let ready_ns = ready.min(blocked);
        Some(Inversion { thread, tid, holder, ready_ns, ran_ns: running.min(blocked - ready_ns) })
    });
    Ok(found.filter(|of| of.ready_ns > Ns::ZERO).collect())
}

/// The waits of a thread for a holder, and for how long at most that one was ready and ran meanwhile.
struct Inversion {
    thread: ThreadKey,
    tid: Tid,
    holder: ThreadKey,
    ready_ns: Ns,
    ran_ns: Ns,
}

/// A holder that runs when a thread starts to wait for it has used its time slice at its old weight and owes it to the others, however
/// much it weighs from then on; a ready holder runs immediately. The share of such waits is about the share of time in which the
/// holder has a CPU, and this part of their duration remains: half of them end before the time slice does, and about half of the
/// others is saved (0.2 to 0.3 fits the drawn traces of `crates/faults`).
const OWED_SHARE: f64 = 0.25;

/// The share of a thread's ready time that remains at another thread's priority. `ran` is the share of the time in which it ran. CPU
/// time is shared by weight, a factor of 1.25 per nice level (`sched_prio_to_weight` in the kernel), plus the owed slice; nothing
/// remains if one of the two is a real-time priority, below 100.
fn remaining_share(own: i64, low: i64, ran: f64) -> f64 {
    let both = NICE.contains(&own) && NICE.contains(&low);
    let turns = 1.25_f64.powi(i32::try_from(own.saturating_sub(low)).unwrap_or(i32::MIN));
    if both { (turns + OWED_SHARE * ran).min(1.0) } else { 0.0 }
}

/// Priorities of threads outside the real-time class.
const NICE: std::ops::Range<i64> = 100..140;

/// The priorities that locks lent to threads, by thread.
#[derive(Default)]
struct Inherited(BTreeMap<ThreadKey, Vec<Lent>>);

struct Lent {
    tid: Tid,
    donor: Option<ThreadKey>,
    own: i64,
    prio: i64,
    /// For how long the thread was ready at a lent priority that has an effect.
    effective_ns: Ns,
}

impl Lent {
    fn is_real_time(&self) -> bool {
        self.prio < NICE.start
    }
}

impl Inherited {
    /// The priorities that `donor` lent to the holder of a lock, or may have lent.
    fn from(&self, holder: ThreadKey, donor: ThreadKey) -> impl Iterator<Item = &Lent> {
        self.0.get(&holder).into_iter().flatten().filter(move |lent| lent.donor.is_none_or(|key| key == donor))
    }

    /// The own priority of a thread that was lent another.
    fn own(&self, thread: ThreadKey) -> Option<i64> {
        self.0.get(&thread).into_iter().flatten().map(|lent| lent.own).min()
    }
}

fn inherited(ctx: &RuleContext<'_>) -> Result<Inherited, EngineError> {
    let mut inherited = Inherited::default();
    ctx.each_row(priority_inheritance::Table, |row| {
        let (tid, own, prio, ready) = row.all((
            priority_inheritance::TID,
            priority_inheritance::OWN_PRIO,
            priority_inheritance::INHERITED_PRIO,
            priority_inheritance::READY_NS,
        ));
        let mut lent = Lent { tid, donor: row.get(priority_inheritance::DONOR), own, prio, effective_ns: Ns::ZERO };
        lent.effective_ns = if lent.is_real_time() { ready } else { Ns::ZERO };
        inherited.0.entry(row.get(priority_inheritance::THREAD)).or_default().push(lent);
    })?;
    Ok(inherited)
}

/// The best and worst priority at which each thread ran or was ready for more than a moment.
type Priorities = BTreeMap<ThreadKey, (i64, i64)>;

/// Priorities without those lent by locks; `None` if the source records none at all.
fn priorities(ctx: &RuleContext<'_>, inherited: &Inherited) -> Result<Option<Priorities>, EngineError> {
    let (mut all, least) = (Priorities::new(), ctx.threshold(&MIN_PART));
    for thread in inherited.0.keys() {
        all.extend(inherited.own(*thread).map(|own| (*thread, (own, own))));
    }
    ctx.each_row(priority_residency::Table, |row| {
        let thread = row.get(priority_residency::THREAD);
        let is_moment = row.get(priority_residency::SHARE).is_some_and(|share| share < least);
        let is_own = |prio: i64| inherited.own(thread).is_none_or(|own| prio >= own);
        if let Some(prio) = row.get(priority_residency::PRIO).filter(|prio| !is_moment && is_own(*prio)) {
            let both = all.entry(thread).or_insert((prio, prio));
            *both = (both.0.min(prio), both.1.max(prio));
        }
    })?;
    Ok(Some(all).filter(|all| !all.is_empty()))
}
