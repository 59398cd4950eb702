//! Compares the tables of random traces with those of the referee, testdata/referee/oracle.py, to the nanosecond.

use crate::support::{self, Accounted};
use account::Rules;
use model::{Batch, CpuState, EventKind, Table, ThreadState, WakeKind};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use testkit::{ByName, Mode, Random, Replay, perf_script, referee};

/// The number of traces. For more: `COREWISE_REFEREE_TRACES=10000 cargo test -p corewise-account --test it referee`.
fn count() -> u64 {
    std::env::var("COREWISE_REFEREE_TRACES").ok().and_then(|n| n.parse().ok()).unwrap_or(400)
}

#[test]
#[ignore = "needs python3"]
fn tables_equal_those_of_the_referee() {
    let traces: Vec<Random> = (0..count())
        .map(|seed| Random {
            mode: if seed % 3 == 0 { Mode::Whole } else { Mode::Deleted },
            seed,
            steps: 20 + (seed as usize * 7) % 400,
        })
        .filter(|t| t.batch().events.iter().any(|e| matches!(e.what, EventKind::Switch(_) | EventKind::Wake(_))))
        .collect();
    let texts: Vec<String> = traces.iter().map(|t| perf_script::render(&t.batch())).collect();
    let answers = referee::ask(&texts);
    let mut events = 0;
    for (trace, answer) in traces.iter().zip(&answers) {
        let a = ours(trace.batch());
        events += a.totals.events;
        assert_eq!(answer["unparsed"], json!({}), "{trace:?}");
        compare(&a, answer, &format!("{trace:?}"));
    }
    eprintln!("{} traces, {events} events: equal", traces.len());
}

fn ours(batch: Batch) -> Accounted {
    let has = |kind| batch.events.iter().any(|e| matches!(e.what, EventKind::Wake(w) if w.kind == kind));
    let has_waking = has(WakeKind::Waking);
    let rules = Rules { has_waking, has_wakes: has_waking || has(WakeKind::Wakeup), ..Rules::default() };
    support::account(|| Replay::all(batch.clone()).opened(ingest::Facts::default()), rules, false)
}

fn compare(a: &Accounted, answer: &Value, which: &str) {
    let t = &a.totals;
    let length = answer["end_ns"].as_i64().unwrap() - answer["begin_ns"].as_i64().unwrap();
    assert_eq!(t.end.0, length, "length of {which}");
    assert_eq!(json!(t.inconsistent_switches()), answer["broken"], "inconsistent switches of {which}");
    assert_eq!(json!(t.missing_wakeups()), answer["unwoken"], "missing wakeups of {which}");
    assert_eq!(json!(t.cpus.iter().map(|c| c.switches).sum::<u64>()), answer["switches"], "switches of {which}");
    let theirs: BTreeMap<i64, &Value> =
        answer["threads"].as_array().unwrap().iter().map(|t| (t["tid"].as_i64().unwrap(), t)).collect();
    let ours = threads(a);
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>(), "threads of {which}");
    for (tid, row) in &ours {
        let mut their = theirs[tid].clone();
        // The referee also lists CPUs on which a thread ran for no time.
        their["running_ns_by_cpu"].as_object_mut().unwrap().retain(|_, time| *time != 0);
        assert_eq!(*row, their, "thread {tid} of {which}");
    }
    let cpus = t.cpus.iter().filter(|c| c.followed).map(|c| {
        let of = |s| c.time(s).0;
        let row = json!({ "busy_ns": of(CpuState::Busy), "idle_ns": of(CpuState::Idle), "unknown_ns": of(CpuState::Unknown) });
        (c.cpu.0.to_string(), row)
    });
    assert_eq!(Value::Object(cpus.collect()), answer["cpus"], "CPUs of {which}");
    assert_eq!(concurrency(&a.concurrency), answer["concurrency"], "concurrency of {which}");
}

/// The referee has rows by TID, not by instance: the sums, the longest wait and the last name of all instances of a TID.
fn threads(a: &Accounted) -> BTreeMap<i64, Value> {
    let mut instances: BTreeMap<i64, Vec<&account::ThreadTotals>> = BTreeMap::new();
    a.instances.iter().for_each(|t| instances.entry(t.tid.0.into()).or_default().push(t));
    let row = |(tid, instances): (i64, Vec<&account::ThreadTotals>)| {
        let time = |s| instances.iter().map(|t| t.time(s).0).sum::<i64>();
        let count = |f: fn(&account::ThreadTotals) -> u64| instances.iter().map(|t| f(t)).sum::<u64>();
        let mut by_cpu: BTreeMap<String, i64> = BTreeMap::new();
        for (cpu, time) in instances.iter().flat_map(|t| &t.by_cpu).filter(|(_, time)| time.0 > 0) {
            *by_cpu.entry(cpu.0.to_string()).or_default() += time.0;
        }
        let name = instances.iter().rev().find_map(|t| t.name.as_deref()).unwrap_or_default();
        let row = json!({
            "tid": tid,
            "name": name,
            "running_ns": time(ThreadState::Running),
            "ready_ns": time(ThreadState::Ready),
            "blocked_ns": time(ThreadState::Blocked),
            "unknown_ns": time(ThreadState::Unknown),
            "exited_ns": time(ThreadState::Exited),
            "involuntary": count(|t| t.involuntary),
            "voluntary": count(|t| t.voluntary),
            "max_ready_ns": instances.iter().map(|t| t.max_ready.0).max(),
            "migrations": count(|t| t.migrations),
            "unwoken": count(|t| t.missing_wakeups),
            "running_ns_by_cpu": by_cpu,
        });
        (tid, row)
    };
    instances.into_iter().map(row).collect()
}

fn concurrency(table: &Table) -> Value {
    let cell = |row, col| table.int(row, col).unwrap();
    let row = |r| json!({ "running": cell(r, "running"), "unknown": cell(r, "unknown"), "duration_ns": cell(r, "duration_ns") });
    (0..table.rows.len()).map(row).collect()
}
