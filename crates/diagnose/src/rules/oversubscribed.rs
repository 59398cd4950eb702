//! More threads that want to run than there are CPUs.

use crate::finding::{Confidence, Finding};
use crate::given::{Given, Shown, threads};
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use engine::EngineError;
use model::Change;
use model::words::{grouped, ms, plural};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "oversubscribed",
    about: "many more threads of one name wanted to run than there are CPUs, and took turns",
    page: Page {
        finds: "Threads of one name that wanted to run at once, on average, on more CPUs than there are by some factor.",
        matters: "Busy CPUs are no loss: the work is done as soon as it would be with fewer threads, but for the switching, the caches that \
                  each turn finds cold, and locks whose holder waits for its turn. A thread's own work takes as much longer as there \
                  are threads for a CPU, which matters to whoever waits for it.",
        sure: "How many wanted to run is known. What could be given back is only the switching, by an assumed cost: fewer threads do not \
               make CPUs faster. A build that starts more jobs than CPUs is found, and is low.",
        mend: "Start as many threads as CPUs, or fewer where they share caches or memory bandwidth.",
        example: "Eight workers on two CPUs: 4 want to run on each, and are switched every 4 ms.",
    },
    tables: &["ready_wait", "switch_causes", "cpus"],
    thresholds: &[
        Threshold {
            name: "least_for_each_cpu",
            unit: Unit::Ratio,
            value: 2.0,
            reason: "threads of one name that run or are ready, on average, for each CPU: with two, each waits as long as it runs",
        },
        Threshold { name: "switch_ns", unit: Unit::Ns, value: 4000.0, reason: super::SWITCH },
    ],
    look,
};

/// All threads of a name.
#[derive(Default)]
struct Pool {
    wanted: i64,
    of: Vec<(i64, i64)>,
    shown: Shown,
}

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    if !given.summary().ready_known {
        return Ok(Looked::Lacks("the source has no wakings, so nobody knows who was ready".to_owned()));
    }
    let mut pools: BTreeMap<String, Pool> = BTreeMap::new();
    given.each("ready_wait", |row| {
        let [thread, tid, running, waited] = row.sums(["thread", "tid", "running_ns", "no_cpu_free_ns"]);
        let wanted = running.saturating_add(waited);
        let pool = pools.entry(given.name(thread)).or_default();
        pool.wanted = pool.wanted.saturating_add(wanted);
        if wanted > 0 {
            pool.of.push((thread, tid));
            pool.shown.push(waited, row, &["running_ns", "no_cpu_free_ns"]);
        }
    })?;
    let mut cpus = 0_i64;
    given.each("cpus", |_| cpus += 1)?;
    let whole = given.span().len().0.saturating_mul(cpus).max(1) as f64;
    let least = given.threshold("least_for_each_cpu");
    pools.retain(|_, pool| pool.of.len() as i64 > cpus && pool.wanted as f64 / whole > least);
    if pools.is_empty() {
        return Ok(Looked::At(Vec::new()));
    }
    let preempted = given.preempted()?;
    let size = u32::try_from(cpus).unwrap_or(u32::MAX);
    let found = pools.into_iter().map(|(name, pool)| {
        let count = |thread: &i64| preempted.get(thread).copied().unwrap_or(0);
        let cost = |times: i64| (times as f64 * 2.0 * given.threshold("switch_ns")) as i64;
        let claims: Vec<_> = pool.of.iter().map(|(key, tid)| given.claim(*key, *tid, cost(count(key)))).collect();
        let times: i64 = pool.of.iter().map(|(key, _)| count(key)).sum();
        let change = Change::PoolSize { threads: threads(&claims), size };
        let finding = given.finding(claims, change, format!("Start as many {name} as there are CPUs, {cpus}"));
        // The CPUs switch at the same time, each for its part.
        let all = cost(times) / cpus.max(1);
        Finding {
            title: format!(
                "{:.1} threads called {name} wanted to run for each of {}: {} preemptions took about {} ms",
                pool.wanted as f64 / whole,
                plural(cpus.unsigned_abs(), "CPU"),
                grouped(times),
                ms(all)
            ),
            severity: given.severity(all),
            recoverable_ns: all,
            range_ns: [0, all],
            confidence: Confidence::Low,
            evidence: pool.shown.finish(),
            assumptions: vec![
                format!(
                    "each preemption costs two switches of {} ns; the lower end: nothing",
                    given.threshold("switch_ns")
                ),
                "fewer threads do the same work; cold caches and locks held by who waits come on top".to_owned(),
            ],
            ..finding
        }
    });
    Ok(Looked::At(found.collect()))
}
