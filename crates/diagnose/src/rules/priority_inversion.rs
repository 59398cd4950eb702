//! Threads of high priority that wait for one of low priority that cannot run.

use super::LEAST_SHARE;
use crate::finding::{Confidence, Finding};
use crate::given::{Given, Shown, add, threads};
use crate::pools::Processes;
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use engine::EngineError;
use model::Fix;
use model::tables::{self, priority_residency, waits};
use model::words::ms;
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
               the higher one's weight it takes turns too, if fewer, and one that runs when it is waited for gives its CPU up once more: both is in the estimate. Where the lock lends its priority, the low one has it, and nothing is found.",
        mend: "Let the lock lend the priority of whoever waits to its holder, or do not share a lock between such threads.",
        example: "L holds a lock and is preempted by M for 10 ms; H, which is before both, waits for the lock and so for M.",
    },
    tables: &[&tables::WAITS, &tables::PRIORITY_RESIDENCY],
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
    let Some(priorities) = priorities(given)? else {
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
    let low = low.map_or_else(String::new, |((_, waker), _)| given.name(*waker));
    let own = waited.iter().filter(|((thread, _), _)| *thread == most.thread).map(|(_, own)| *own);
    let [longest, blocked] = own.max().unwrap_or_default();
    let change = Fix::PriorityInheritance { threads: threads(&claims) };
    let finding =
        given.finding(claims, change, format!("Let {low} have {}'s priority while that waits for it", most.name));
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
            format!("{low} held what {} waited for all the while; the lower end: it did not", most.name),
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
    const NICE: std::ops::Range<i64> = 100..140;
    let both = NICE.contains(&own) && NICE.contains(&low);
    let turns = 1.25_f64.powi(i32::try_from(own.saturating_sub(low)).unwrap_or(i32::MIN));
    if both { (turns + OWED * ran).min(1.0) } else { 0.0 }
}

/// The best and the worst priority at which each thread ran or was ready, for more than a moment.
type Priorities = BTreeMap<i64, (i64, i64)>;

/// None: the source tells none at all.
fn priorities(given: &Given<'_>) -> Result<Option<Priorities>, EngineError> {
    let (mut of, least) = (Priorities::new(), given.threshold(&LEAST_PART));
    given.each(priority_residency::Table, |row| {
        let is_moment = row.get(priority_residency::SHARE).is_some_and(|share| share < least);
        if let Some(prio) = row.get(priority_residency::PRIO).filter(|_| !is_moment) {
            let both = of.entry(row.get(priority_residency::THREAD)).or_insert((prio, prio));
            *both = (both.0.min(prio), both.1.max(prio));
        }
    })?;
    Ok(Some(of).filter(|of| !of.is_empty()))
}
