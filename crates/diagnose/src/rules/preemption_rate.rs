//! Threads that are switched out again and again while they could run.

use super::LEAST_SHARE;
use crate::finding::{Confidence, Finding};
use crate::given::{Given, Shown, threads};
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use engine::EngineError;
use model::words::{grouped, ms};
use model::{Change, Policy};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "preemption-rate",
    about: "a thread was preempted so often that switching itself costs it time",
    page: Page {
        finds: "Threads that others preempted more often, in a second of their running time, than turns of a millisecond would.",
        matters: "Each preemption is two switches, and what the thread had in its caches is cold when it comes back. A thread that is \
                  preempted a thousand times a second runs for less than a millisecond at a time.",
        sure: "Switch-outs of a thread that could run are counted; one that yields by itself again and again looks the same. What one costs is assumed, and cold caches come on top: the milliseconds are a floor for \
               programs that need their caches, and too much for those that do not.",
        mend: "Run batch work as such (SCHED_BATCH preempts less), or keep what preempts it on other CPUs.",
        example: "A is preempted 2 000 times in a second of running: 2 000 times two switches are lost.",
    },
    tables: &["switch_causes", "ready_wait"],
    thresholds: &[
        Threshold {
            name: "most_per_second",
            unit: Unit::PerSecond,
            value: 1000.0,
            reason: "of its running time: the kernel's shortest turn is about a millisecond (base_slice is 0.7 ms times 1 + log2 of the CPUs)",
        },
        Threshold { name: "switch_ns", unit: Unit::Ns, value: 4000.0, reason: super::SWITCH },
        LEAST_SHARE,
    ],
    look,
};

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    let mut told = false;
    given.each("switch_causes", |row| told |= row.text("cause") != "unknown")?;
    if !told {
        return Ok(Looked::Lacks("the source does not say what a switch-out meant".to_owned()));
    }
    let preempted = given.preempted()?;
    let (mut claims, mut shown, mut times) = (Vec::new(), Shown::default(), BTreeMap::new());
    let (most, least) = (given.threshold("most_per_second"), given.share("least_share").max(1));
    given.each("ready_wait", |row| {
        let [thread, tid, running] = row.sums(["thread", "tid", "running_ns"]);
        let Some(count) = preempted.get(&thread).copied() else { return };
        let lost = (count as f64 * 2.0 * given.threshold("switch_ns")) as i64;
        // As often as it would be anyway is not too often.
        if count as f64 > most * running as f64 / 1e9 && lost >= least {
            claims.push(given.claim(thread, tid, lost));
            times.insert(thread, (count, running));
            shown.push(lost, row, &["running_count", "running_ns", "ready_preempted_ns"]);
        }
    })?;
    if claims.is_empty() {
        return Ok(Looked::At(Vec::new()));
    }
    let change = Change::Policy { threads: threads(&claims), policy: Policy::Batch };
    let finding = given.finding(claims, change, "Let it run for longer at a time".to_owned());
    let first = finding.threads.first();
    let (count, running) = first.and_then(|c| times.get(&c.thread)).copied().unwrap_or_default();
    Ok(Looked::At(vec![Finding {
        title: format!(
            "{} was preempted {} times in {} ms of running: about {} ms went into switching",
            first.map_or("", |c| c.name.as_str()),
            grouped(count),
            ms(running),
            ms(finding.recoverable_ns)
        ),
        range_ns: [0, finding.recoverable_ns],
        confidence: Confidence::Low,
        evidence: shown.finish(),
        assumptions: vec![
            format!(
                "each preemption costs two switches of {} ns; the lower end: nothing",
                given.threshold("switch_ns")
            ),
            "cold caches come on top".to_owned(),
        ],
        ..finding
    }]))
}
