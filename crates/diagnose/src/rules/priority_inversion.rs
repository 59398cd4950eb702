//! Threads of high priority that wait for one of low priority that cannot run.

use super::LEAST_SHARE;
use crate::finding::{Confidence, Finding};
use crate::given::{Given, Shown, add, threads};
use crate::pools::Processes;
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, priority_inheritance, priority_residency, waits};
use model::words::ms;
use model::{Fix, Threads};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "priority-inversion",
    about: "a thread of high priority was blocked until one of lower priority woke it, which had been preempted meanwhile",
    page: Page {
        finds: "Threads that were blocked until a thread of their process woke them that never had their priority for more than a moment, while that one was ready \
                after another had taken its CPU.",
        matters: "What holds a lock runs at its own priority: whoever is between the two keeps the high one waiting for as long as it likes, \
                  which is what priorities were meant to prevent.",
        sure: "Priorities, and that the low one was preempted within the wait, are known. That the wait was for a lock which it held all \
               the while is likely, not certain: it may have handed over its work late; where it was blocked itself meanwhile, it is not, and \
               nothing is said (as of a wait for its end). While nobody tells processes, it is low. With \
               the higher one's weight it takes turns too, if fewer, and one that runs when it is waited for gives its CPU up once more: both is in the estimate. What the low one was ready for at a real-time priority that a \
               lock lent it does not count. What a lock lends to a thread without a real-time priority changes nothing: its share follows its own nice value.",
        mend: "Let the lock lend the priority of whoever waits to its holder, or do not share a lock between such threads. Where it \
               lends it already, but no real-time one, give the holder the nice value of the thread that waits.",
        example: "L holds a lock and is preempted by M for 10 ms; H, which is before both, waits for the lock and so for M.",
    },
    tables: &[&tables::WAITS, &tables::PRIORITY_RESIDENCY, &tables::PRIORITY_INHERITANCE],
    thresholds: &[&LEAST_PART, &LEAST_SHARE],
    // Whoever waits for the lock's holder, and whoever is before it otherwise, waits for the one that took its CPU.
    explains: &["low-priority-ran-while-high-was-ready"],
    look,
};

const LEAST_PART: Threshold = Threshold {
    name: "least_part",
    unit: Unit::Ratio,
    value: 0.01,
    reason: "of a thread's running time at a priority: what it had for less was its parent's, until it set its own",
};

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    if !given.summary().ready_known {
        return Ok(Looked::Lacks("the source has no wakings, so nobody knows who waited for whom".to_owned()));
    }
    let inherited = inherited(given)?;
    let Some(priorities) = priorities(given, &inherited)? else {
        return Ok(Looked::Lacks("the source tells no priorities".to_owned()));
    };
    let processes = Processes::new(given)?;
    // For how long whoever woke a thread lacked a CPU, by thread with its whole wait, by both with what that one ran.
    let (mut waited, mut behind, mut shown) = (BTreeMap::new(), BTreeMap::new(), Shown::default());
    given.each(waits::Table, |row| {
        let [thread, tid, ns, ran, blocked] = row.all([
            waits::THREAD,
            waits::TID,
            waits::WAKER_PREEMPTED_NS.or_zero(),
            waits::WAKER_RUNNING_NS.or_zero(),
            waits::BLOCKED_NS,
        ]);
        let Some(waker) = row.get(waits::WAKER).filter(|waker| *waker > 0) else { return };
        // The kernel's own threads wait for work, and are not held up by who brings it: its workers in a state of their own, I.
        let of_kernel = given.is_of_one_cpu(thread) || given.name(thread).starts_with("irq/");
        let idles = of_kernel || row.get(waits::LETTER.or_empty()) == "I";
        // The smaller number goes first.
        let lower = priorities.get(&waker).zip(priorities.get(&thread)).is_some_and(|(low, own)| low.0 > own.1);
        // Who waited itself meanwhile did more than to lack a CPU: whoever waits for a thread's end waits for all that it does.
        let waited_itself = row.get(waits::WAKER_BLOCKED_NS.or_zero()) > 0;
        if ns > 0 && lower && !idles && !waited_itself && processes.are_one(thread, waker) {
            let of = waited.entry((thread, tid)).or_insert([0_i64; 2]);
            *of = [of[0].saturating_add(ns), of[1].saturating_add(blocked)];
            let of = behind.entry((thread, waker)).or_insert([0_i64; 2]);
            *of = [of[0].saturating_add(ns), of[1].saturating_add(ran)];
            shown.push(
                ns,
                row,
                &[&waits::WAITS, &waits::BLOCKED_NS, &waits::WAKER_RUNNING_NS, &waits::WAKER_PREEMPTED_NS],
            );
        }
    })?;
    // What a lock lent at once is none of it: what ran instead had a priority that the waiting thread would have yielded to, too.
    for ((thread, waker), [ns, _]) in &mut behind {
        let in_time = inherited.from(*waker, *thread).map(|lent| lent.effective_ns).sum::<i64>().min(*ns);
        *ns -= in_time;
        for (_, [ns, _]) in waited.iter_mut().filter(|((of, _), _)| of == thread) {
            *ns = ns.saturating_sub(in_time);
        }
    }
    behind.retain(|_, [ns, _]| *ns > 0);
    given.each(priority_inheritance::Table, |row| {
        let [holder, ready] = row.all([priority_inheritance::THREAD, priority_inheritance::READY_NS.or_zero()]);
        let donor = row.get(priority_inheritance::DONOR);
        if behind.keys().any(|(thread, waker)| *waker == holder && donor.is_none_or(|donor| donor == *thread)) {
            shown.push(
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
    let least = given.share(&LEAST_SHARE).max(1);
    waited.retain(|_, [ns, _]| *ns >= least);
    // With the higher priority it takes turns too, if fewer.
    let mut left = BTreeMap::new();
    for ((thread, waker), [ns, ran]) in &behind {
        let [own, low] = [thread, waker].map(|of| priorities.get(of).copied().unwrap_or_default());
        let ran = *ran as f64 / ran.saturating_add(*ns).max(1) as f64;
        add(&mut left, *thread, (*ns as f64 * left_of_turns(own.1, low.0, ran)).round() as i64);
    }
    let of = |thread: &i64, ns: i64| ns.saturating_sub(left.get(thread).copied().unwrap_or(0));
    let claims: Vec<_> = waited.iter().map(|((key, tid), [ns, _])| given.claim(*key, *tid, of(key, *ns))).collect();
    let Some(most) = claims.iter().max_by_key(|c| (c.recoverable_ns, std::cmp::Reverse(c.thread))).cloned() else {
        return Ok(Looked::At(Vec::new()));
    };
    let low = behind.iter().filter(|((thread, _), _)| *thread == most.thread).max_by_key(|(_, [ns, _])| *ns);
    let holder = low.map_or(0, |((_, waker), _)| *waker);
    let low = given.name(holder);
    let own = waited.iter().filter(|((thread, _), _)| *thread == most.thread).map(|(_, own)| *own);
    let [longest, blocked] = own.max().unwrap_or_default();
    let lent = inherited.from(holder, most.thread).find(|lent| !lent.is_real_time());
    let (change, what) = match lent {
        Some(lent) => {
            let holders = Threads { name: low.clone(), tids: vec![lent.tid] };
            let nice =
                priorities.get(&most.thread).map_or(lent.prio, |own| own.0).clamp(NICE.start, NICE.end - 1) - NICE_0;
            let what = format!(
                "Give {low} the nice value of {}: the lock lends its priority already, which has no effect without a real-time one",
                most.name
            );
            (Fix::Nice { threads: holders, nice: i8::try_from(nice).unwrap_or(0) }, what)
        }
        None => (
            Fix::PriorityInheritance { threads: threads(&claims) },
            format!("Let {low} have {}'s priority while that waits for it", most.name),
        ),
    };
    let held = match inherited.from(holder, most.thread).next() {
        Some(lent) if lent.donor.is_some() => {
            format!("{low} held what {} waited for all the while, as it did whenever it had its priority", most.name)
        }
        _ => format!("{low} held what {} waited for all the while", most.name),
    };
    let finding = given.finding(claims, change, what);
    Ok(Looked::At(vec![Finding {
        title: format!(
            "{} waited for {low}, of lower priority, which was ready but had no CPU for {} ms of it",
            most.name,
            ms(longest)
        ),
        range_ns: [0, blocked.max(finding.recoverable_ns)],
        confidence: if processes.are_told() { Confidence::Medium } else { Confidence::Low },
        evidence: shown.finish(),
        assumptions: vec![
            format!("{held}; the lower end: it did not"),
            "with the higher priority it would have waited less by what that weighs more, a quarter for each nice level, and but for a \
             quarter of its waiting as often as it ran when it was waited for (the upper end: it would have been done by then)"
                .to_owned(),
        ],
        ..finding
    }]))
}

/// A holder that runs when somebody comes to wait for it has had its turn, at the weight that it had, and owes it to the others
/// however much it weighs from then on; one that is ready goes at once. Such waits are about as many as the part of its time in
/// which it has a CPU, and this part of what they take is left: half of them are over before the turn is, and of the others about half is
/// spared (0.2 to 0.3 fits drawn traces of `crates/faults`).
const OWED: f64 = 0.25;

/// What is left of a thread's waiting for its turn when it has another one's priority, of which it ran such a part: turns go by weight,
/// 1.25 times as much a nice level (`sched_prio_to_weight` in the kernel), and it may owe one; nothing where one of the two is
/// a real-time priority, below 100.
fn left_of_turns(own: i64, low: i64, ran: f64) -> f64 {
    let both = NICE.contains(&own) && NICE.contains(&low);
    let turns = 1.25_f64.powi(i32::try_from(own.saturating_sub(low)).unwrap_or(i32::MIN));
    if both { (turns + OWED * ran).min(1.0) } else { 0.0 }
}

/// Priorities of threads that are not of the real-time class, and that of nice 0.
const NICE: std::ops::Range<i64> = 100..140;
const NICE_0: i64 = 120;

/// What locks lent to threads, by thread.
#[derive(Default)]
struct Inherited(BTreeMap<i64, Vec<Lent>>);

struct Lent {
    tid: i64,
    donor: Option<i64>,
    own: i64,
    prio: i64,
    /// For how long the thread was ready at a lent priority that counts.
    effective_ns: i64,
}

impl Lent {
    fn is_real_time(&self) -> bool {
        self.prio < NICE.start
    }
}

impl Inherited {
    /// What this thread lent to the holder of a lock, or what may have been lent by it.
    fn from(&self, holder: i64, donor: i64) -> impl Iterator<Item = &Lent> {
        self.0.get(&holder).into_iter().flatten().filter(move |lent| lent.donor.is_none_or(|of| of == donor))
    }

    /// The own priority of a thread that was lent another.
    fn own(&self, thread: i64) -> Option<i64> {
        self.0.get(&thread).into_iter().flatten().map(|lent| lent.own).min()
    }
}

fn inherited(given: &Given<'_>) -> Result<Inherited, EngineError> {
    let mut inherited = Inherited::default();
    given.each(priority_inheritance::Table, |row| {
        let [tid, own, prio, ready] = row.all([
            priority_inheritance::TID,
            priority_inheritance::OWN_PRIO,
            priority_inheritance::INHERITED_PRIO,
            priority_inheritance::READY_NS.or_zero(),
        ]);
        let mut lent = Lent { tid, donor: row.get(priority_inheritance::DONOR), own, prio, effective_ns: 0 };
        lent.effective_ns = if lent.is_real_time() { ready } else { 0 };
        inherited.0.entry(row.get(priority_inheritance::THREAD)).or_default().push(lent);
    })?;
    Ok(inherited)
}

/// The best and the worst priority at which each thread ran or was ready, for more than a moment.
type Priorities = BTreeMap<i64, (i64, i64)>;

/// Without what locks lent them. None: the source tells none at all.
fn priorities(given: &Given<'_>, inherited: &Inherited) -> Result<Option<Priorities>, EngineError> {
    let (mut of, least) = (Priorities::new(), given.threshold(&LEAST_PART));
    for thread in inherited.0.keys() {
        of.extend(inherited.own(*thread).map(|own| (*thread, (own, own))));
    }
    given.each(priority_residency::Table, |row| {
        let thread = row.get(priority_residency::THREAD);
        let is_moment = row.get(priority_residency::SHARE).is_some_and(|share| share < least);
        let is_own = |prio: i64| inherited.own(thread).is_none_or(|own| prio >= own);
        if let Some(prio) = row.get(priority_residency::PRIO).filter(|prio| !is_moment && is_own(*prio)) {
            let both = of.entry(thread).or_insert((prio, prio));
            *both = (both.0.min(prio), both.1.max(prio));
        }
    })?;
    Ok(Some(of).filter(|of| !of.is_empty()))
}
