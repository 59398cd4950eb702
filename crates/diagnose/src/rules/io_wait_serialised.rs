//! Threads that ask a device for one thing, wait, and ask for the next.

use super::{LEAST_SHARE, SWITCH};
use crate::finding::{Confidence, Finding};
use crate::given::{Given, Shown, add, threads};
use crate::pools::Processes;
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use engine::EngineError;
use model::Fix;
use model::tables::{self, ready_wait, waits};
use model::words::{grouped, ms, percent, time};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "io-wait-serialised",
    about: "a thread spent much of its time waiting for a device, for one request after the other",
    page: Page {
        finds: "Threads that were longer than they ran in uninterruptible sleep (state D), very often and shortly, which interrupts ended: reads of a \
                device, one at a time.",
        matters: "Devices answer several requests in about the time of one: who asks for one at a time gets a part of what they can do, and the \
                  time of the program is that of the device.",
        sure: "Sleep in state D is mostly, not always, for a device. Whether the next request depends on the answer to the one before nobody can say, \
               nor how many the device takes at once: with two under way at any time half of the waits are taken to be left, and of their switching. Only where a \
               callchain tells that it was a read is it more than low: who writes to a log must wait.",
        mend: "Read ahead: larger reads, posix_fadvise(2), several requests under way (io_uring(7), threads).",
        example: "A reads a file in pieces of 4 KiB in random order: 8 000 waits of 100 µs in a second.",
    },
    tables: &[&tables::WAITS, &tables::READY_WAIT],
    thresholds: &[&LEAST_WAITING, &LEAST_PER_SECOND, &LEAST_SHARE, &SWITCH],
    explains: &[],
    look,
};

const LEAST_WAITING: Threshold = Threshold {
    name: "least_waiting",
    unit: Unit::Ratio,
    value: 0.5,
    reason: "part of the time in which the thread waits so or runs: with less, what it does itself counts as much",
};

const LEAST_PER_SECOND: Threshold = Threshold {
    name: "least_per_second",
    unit: Unit::PerSecond,
    value: 200.0,
    reason: "waits: with fewer, a wait takes milliseconds, as a disk that is asked much by others does",
};

/// Requests under way at once, after the change.
const AT_ONCE: i64 = 2;

/// The waits of a thread.
#[derive(Default)]
struct Waits {
    tid: i64,
    count: i64,
    blocked: i64,
    /// Those of which a callchain tells that they were for reading.
    read: i64,
}

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    if !given.summary().ready_known {
        return Ok(Looked::Lacks("the source has no wakings, so nobody knows when waits ended".to_owned()));
    }
    let processes = Processes::new(given)?;
    let (mut waits, mut shown) = (BTreeMap::<i64, Waits>::new(), Shown::default());
    let [mut any, mut letters] = [false; 2];
    given.each(waits::Table, |row| {
        any = true;
        letters |= !row.get(waits::LETTER.or_empty()).is_empty();
        let [thread, tid, count, blocked] = row.all([waits::THREAD, waits::TID, waits::WAITS, waits::BLOCKED_NS]);
        // Where nothing tells that it was an interrupt, it is whom that came upon: never one of its own process, if not by chance.
        let another = |waker| processes.are_told() && !processes.are_one(thread, waker);
        let device =
            row.get(waits::WAKER).is_some_and(|waker| waker == 0 || given.is_of_one_cpu(waker) || another(waker));
        let reason = row.get(waits::REASON.or_empty());
        let read = ["read", "pread64", "readv", "preadv", "preadv2"].contains(&reason);
        if row.get(waits::LETTER.or_empty()) != "D"
            || !device
            || !(read || reason.is_empty())
            || given.is_of_one_cpu(thread)
        {
            return;
        }
        let of = waits.entry(thread).or_default();
        of.tid = tid;
        of.count = of.count.saturating_add(count);
        of.blocked = of.blocked.saturating_add(blocked);
        of.read += if read { blocked } else { 0 };
        shown.push(blocked, row, &[&waits::WAITS, &waits::BLOCKED_NS]);
    })?;
    if any && !letters {
        return Ok(Looked::Lacks("the source does not tell in which state threads waited".to_owned()));
    }
    let mut ran = BTreeMap::new();
    given.each(ready_wait::Table, |row| add(&mut ran, row.get(ready_wait::THREAD), row.get(ready_wait::RUNNING_NS)))?;
    let span = given.span().len().0 as f64;
    let (part, rate) = (given.threshold(&LEAST_WAITING), given.threshold(&LEAST_PER_SECOND));
    let least = given.share(&LEAST_SHARE).max(1);
    waits.retain(|thread, of| {
        let own = of.blocked.saturating_add(ran.get(thread).copied().unwrap_or(0)) as f64;
        of.blocked >= least && of.blocked as f64 >= part * own && of.count as f64 >= rate * span / 1e9
    });
    let switching = |of: &Waits| (of.count as f64 * 2.0 * given.threshold(&SWITCH)) as i64;
    let spared = |ns: i64| ns - ns / AT_ONCE;
    let claims: Vec<_> = waits
        .iter()
        .map(|(key, of)| given.claim(*key, of.tid, spared(of.blocked.saturating_add(switching(of)))))
        .collect();
    let cpu_ns = waits.values().fold(0_i64, |sum, of| sum.saturating_add(spared(switching(of))));
    let change = Fix::InFlight { threads: threads(&claims), requests: AT_ONCE as u32 };
    let what = format!("Let {} ask for the next before it has the one before", threads(&claims).name);
    let finding = given.finding(claims, change, what);
    let first = finding.threads.first().map(|most| (most.name.clone(), waits.get(&most.thread)));
    let Some((name, Some(of))) = first else { return Ok(Looked::At(Vec::new())) };
    let certain = 2 * of.read > of.blocked;
    Ok(Looked::At(vec![Finding {
        title: format!(
            "{name} waited {} times for a device, {} on average: {} ms, {} of the time",
            grouped(of.count),
            time(of.blocked / of.count.max(1)),
            ms(of.blocked),
            percent(of.blocked, given.span().len().0)
        ),
        range_ns: [0, of.blocked.saturating_add(switching(of))],
        cpu_ns: Some(cpu_ns),
        confidence: if certain { Confidence::Medium } else { Confidence::Low },
        evidence: shown.finish(),
        assumptions: vec![
            format!("the device does {AT_ONCE} requests in the time of one; the upper end: any number"),
            format!("each wait that is spared costs two switches of {} ns less", given.threshold(&SWITCH)),
            "no request depends on the answer to the one before; the lower end: each does".to_owned(),
        ],
        ..finding
    }]))
}
