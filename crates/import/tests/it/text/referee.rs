//! Compares the tables of a text with those that the referee makes from the same text.

use crate::text::Read;
use model::{CpuState, ThreadState};
use serde_json::{Value, json};

/// Compares all totals of all threads and CPUs.
pub(crate) fn compare(name: &str, read: &Read, answer: &Value) {
    assert_eq!(answer["unparsed"], json!({}), "the referee could not read all of {name}");
    let totals = totals(read);
    assert_eq!(
        json!([totals.inconsistent_switches(), totals.missing_wakeups()]),
        json!([answer["broken"], answer["unwoken"]]),
        "{name}"
    );
    let theirs = answer["threads"].as_array().unwrap();
    let threads = totals.threads.all().unwrap();
    let mut ours: Vec<_> = threads.iter().map(|t| i64::from(t.tid.0)).collect();
    ours.sort_unstable();
    ours.dedup();
    let known = |tid: &i64| theirs.iter().any(|t| t["tid"].as_i64() == Some(*tid));
    ours.retain(|tid| !known(tid));
    for tid in ours {
        // The thread only occurs in a mark or a fork: the referee reads switches and wakeups.
        let instances = threads.iter().filter(|t| i64::from(t.tid.0) == tid);
        assert!(
            instances.map(|t| t.time(ThreadState::Running).0).sum::<i64>() == 0,
            "{tid} of {name} is unknown to the referee"
        );
    }
    for theirs in theirs {
        let tid = theirs["tid"].as_i64().unwrap();
        let instances: Vec<_> = threads.iter().filter(|t| i64::from(t.tid.0) == tid).collect();
        for state in ThreadState::ALL {
            let column = format!("{}_ns", state.as_str());
            let time = instances.iter().map(|t| t.time(state).0).sum::<i64>();
            assert_eq!(json!(time), theirs[&column], "{column} of {tid} in {name}");
        }
        let counts = [
            instances.iter().map(|t| t.involuntary).sum::<u64>(),
            instances.iter().map(|t| t.voluntary).sum(),
            instances.iter().map(|t| t.migrations).sum(),
        ];
        let their_counts = json!([theirs["involuntary"], theirs["voluntary"], theirs["migrations"]]);
        assert_eq!(json!(counts), their_counts, "counts of {tid} in {name}");
    }
    let followed: Vec<_> = totals.cpus.iter().filter(|c| c.followed).collect();
    assert_eq!(followed.len(), answer["cpus"].as_object().unwrap().len(), "CPUs of {name}");
    for cpu in followed {
        let theirs = &answer["cpus"][cpu.cpu.0.to_string()];
        for state in CpuState::ALL {
            let column = format!("{}_ns", state.as_str());
            assert_eq!(json!(cpu.time(state).0), theirs[&column], "{column} of CPU {} in {name}", cpu.cpu.0);
        }
    }
}

/// Returns the tables; if the text does not state which wakeups were recorded, the rule of docs/accounting.md applies.
pub(crate) fn totals(read: &Read) -> account::Totals {
    let wakes = read.events.iter().filter_map(|e| match e.what {
        model::EventKind::Wake(w) if w.kind != model::WakeKind::New => Some(w.kind),
        _ => None,
    });
    let has_waking =
        read.facts.has_waking.unwrap_or_else(|| wakes.clone().take(10_000).any(|k| k == model::WakeKind::Waking));
    let has_wakes = wakes.clone().next().is_some();
    let online = read.facts.online.clone();
    let rules = account::Rules { has_waking, has_wakes, online, ..account::Rules::default() };
    crate::accounted(rules, &read.events)
}
