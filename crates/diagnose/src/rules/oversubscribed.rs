//! More threads that want to run than there are CPUs.

use super::{LEAST_SHARE, SWITCH};
use crate::finding::{Confidence, Finding};
use crate::given::{Given, Preempted, Shown, add, threads};
use crate::pools::{Processes, base};
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, cpus, ready_wait, waits};
use model::words::{grouped, ms, plural};
use model::{Fix, Threads};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "oversubscribed",
    about: "many more threads of one name wanted to run than there are CPUs, and took turns",
    page: Page {
        finds: "Threads of one name, but for a number at its end, that wanted to run at once, on average, on more CPUs than there are by \
                some factor; or as many that make steps together, each waiting for the last of them, where that costs.",
        matters: "Busy CPUs are no loss: the work is done as soon as it would be with fewer threads, but for the switching, the caches that \
                  each turn finds cold, and locks whose holder waits for its turn. A thread's own work takes as much longer as there \
                  are threads for a CPU, which matters to whoever waits for it.",
        sure: "How many wanted to run is known. What could be given back is only the switching, by an assumed cost: fewer threads do not \
               make CPUs faster. A build that starts more jobs than CPUs is found, and is low. Where all wait for the last of them, again and \
               again, it is not: then each step switches to every one of them, and would to as many as CPUs only.",
        mend: "Start as many threads as CPUs, or fewer where they share caches or memory bandwidth.",
        example: "Eight workers on two CPUs: 4 want to run on each, and are switched every 4 ms.",
    },
    tables: &[&tables::READY_WAIT, &tables::SWITCH_CAUSES, &tables::WAITS, &tables::CPUS],
    thresholds: &[&LEAST_FOR_EACH_CPU, &LEAST_SHARE, &SWITCH],
    explains: &[],
    look,
};

const LEAST_FOR_EACH_CPU: Threshold = Threshold {
    name: "least_for_each_cpu",
    unit: Unit::Ratio,
    value: 2.0,
    reason: "threads of one name that run or are ready, on average, for each CPU: with two, each waits as long as it runs",
};

/// All threads of a name.
#[derive(Default)]
struct Crowd {
    wanted: i64,
    /// By thread, waits that one of the others ended.
    waits: BTreeMap<i64, i64>,
    /// Of those, by thread, the ones that it ended with more of them, as at a barrier.
    together: BTreeMap<i64, i64>,
    of: Vec<(i64, i64)>,
    shown: Shown,
}

impl Crowd {
    /// Of so many waits for the last of them, those that as many threads as CPUs would not have: each of these waits as often.
    fn spared(&self, waits: i64, cpus: i64) -> i64 {
        (waits as f64 * (1.0 - cpus as f64 / self.of.len().max(1) as f64)) as i64
    }

    /// All waits of steps that they make together: at a barrier that sleeps on a condition variable, its lock is queued for too.
    fn waits(&self) -> i64 {
        let sum = |of: &BTreeMap<i64, i64>| of.values().fold(0_i64, |sum, waits| sum.saturating_add(*waits));
        let (all, together) = (sum(&self.waits), sum(&self.together));
        if together > all / STEPS { all } else { together }
    }

    /// Those of a thread.
    fn waits_of(&self, thread: i64) -> i64 {
        let of = |waits: &BTreeMap<i64, i64>| waits.get(&thread).copied().unwrap_or(0);
        let together = self.together.values().fold(0_i64, |sum, waits| sum.saturating_add(*waits));
        if self.waits() > together { of(&self.waits) } else { of(&self.together) }
    }

    /// What those cost that can be spared: the CPUs switch at the same time, each for its part.
    fn steps_ns(&self, given: &Given<'_>, cpus: i64) -> i64 {
        cost(given, self.spared(self.waits(), cpus)) / cpus.max(1)
    }
}

/// Where one of so many waits among them ends with others, they make steps together: none at a lock, half at a barrier with one.
const STEPS: i64 = 4;

/// What it costs to switch to a thread and back so often.
fn cost(given: &Given<'_>, times: i64) -> i64 {
    (times as f64 * 2.0 * given.threshold(&SWITCH)) as i64
}

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    if !given.summary().ready_known {
        return Ok(Looked::Lacks("the source has no wakings, so nobody knows who was ready".to_owned()));
    }
    let mut crowds: BTreeMap<String, Crowd> = BTreeMap::new();
    let called = |thread: i64| base(&given.name(thread)).to_owned();
    given.each(ready_wait::Table, |row| {
        let [thread, tid, running, waited] = row.all([
            ready_wait::THREAD,
            ready_wait::TID,
            ready_wait::RUNNING_NS,
            ready_wait::NO_CPU_FREE_NS.or_zero(),
        ]);
        let wanted = running.saturating_add(waited);
        let crowd = crowds.entry(called(thread)).or_default();
        crowd.wanted = crowd.wanted.saturating_add(wanted);
        if wanted > 0 {
            crowd.of.push((thread, tid));
            crowd.shown.push(waited, row, &[&ready_wait::RUNNING_NS, &ready_wait::NO_CPU_FREE_NS]);
        }
    })?;
    let (mut cpus, mut idle) = (0_i64, 0_i64);
    given.each(cpus::Table, |row| {
        cpus += 1;
        idle = idle.saturating_add(row.get(cpus::IDLE_NS));
    })?;
    let whole = given.span().len().0.saturating_mul(cpus).max(1) as f64;
    let least = given.threshold(&LEAST_FOR_EACH_CPU);
    crowds.retain(|_, crowd| crowd.of.len() as f64 > least.max(1.0) * cpus as f64);
    if crowds.is_empty() {
        return Ok(Looked::At(Vec::new()));
    }
    let processes = Processes::new(given)?;
    given.each(waits::Table, |row| {
        let [thread, waits, together] = row.all([waits::THREAD, waits::WAITS, waits::TOGETHER.or_zero()]);
        let Some(waker) = row.get(waits::WAKER).filter(|waker| *waker > 0 && processes.are_one(*waker, thread)) else {
            return;
        };
        let name = called(thread);
        if let Some(crowd) = crowds.get_mut(&name).filter(|_| called(waker) == name) {
            add(&mut crowd.waits, thread, waits);
            if together > 0 {
                add(&mut crowd.together, thread, together);
            }
        }
    })?;
    let in_steps = |crowd: &Crowd| {
        crowd.together.len() as f64 > least * cpus as f64
            && crowd.steps_ns(given, cpus) >= given.share(&LEAST_SHARE).max(1)
    };
    crowds.retain(|_, crowd| crowd.wanted as f64 / whole > least || in_steps(crowd));
    let preempted = given.preempted()?;
    let found = crowds.into_iter().map(|(name, crowd)| finding(given, &name, crowd, [cpus, idle], whole, &preempted));
    Ok(Looked::At(found.collect()))
}

fn finding(
    given: &Given<'_>,
    name: &str,
    crowd: Crowd,
    [cpus, idle]: [i64; 2],
    whole: f64,
    preempted: &Preempted,
) -> Finding {
    let own = |thread: &i64| {
        let waits = crowd.spared(crowd.waits_of(*thread), cpus);
        cost(given, preempted.of(*thread).saturating_add(waits))
    };
    let claims: Vec<_> = crowd.of.iter().map(|(key, tid)| given.claim(*key, *tid, own(key))).collect();
    let times: i64 = crowd.of.iter().map(|(key, _)| preempted.of(*key)).sum();
    let (together, spared) = (crowd.waits(), crowd.spared(crowd.waits(), cpus));
    let change = Fix::PoolSize {
        threads: Threads { name: name.to_owned(), ..threads(&claims) },
        size: u32::try_from(cpus).unwrap_or(u32::MAX),
    };
    let finding = given.finding(claims, change, format!("Start as many {name} as there are CPUs, {cpus}"));
    // The CPUs switch at the same time, each for its part.
    let cpu_ns = cost(given, times.saturating_add(spared));
    let all = cpu_ns / cpus.max(1);
    let switched = match together {
        0 => format!("{} preemptions", grouped(times)),
        _ => format!("{} preemptions and {} waits for one another in steps", grouped(times), grouped(together)),
    };
    // The tables of sums are of the whole recording.
    let idle = if together > 0 && !given.is_part() { idle / cpus.max(1) } else { 0 };
    let mut assumptions = vec![
        format!(
            "each preemption, and each wait that fewer threads would not have, costs two switches of {} ns; the lower end: \
             nothing; the upper, where they make steps: no CPU would have idled either while one after the other was woken",
            given.threshold(&SWITCH)
        ),
        "fewer threads do the same work; cold caches and locks held by who waits come on top".to_owned(),
    ];
    assumptions.extend(preempted.assumed(crowd.of.iter().map(|(key, _)| *key)));
    Finding {
        title: format!(
            "{:.1} threads called {name} wanted to run for each of {}: {switched} took about {} ms",
            crowd.wanted as f64 / whole,
            plural(cpus.unsigned_abs(), "CPU"),
            ms(all)
        ),
        severity: given.severity(all),
        recoverable_ns: all,
        range_ns: [0, all.saturating_add(idle)],
        cpu_ns: Some(cpu_ns),
        confidence: if spared > times { Confidence::Medium } else { Confidence::Low },
        evidence: crowd.shown.finish(),
        assumptions,
        ..finding
    }
}
