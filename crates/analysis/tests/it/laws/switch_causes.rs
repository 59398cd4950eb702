//! Preemptions and yields equal the ready stretches with these reasons, with what came next. Every end of a running
//! stretch is counted. No more is counted than in stage one.

use super::queues;
use super::support::Analysed;
use model::{CpuState, Ns, Reason, Span, ThreadState, ThreadStretch};
use proptest::prelude::*;
use std::collections::BTreeMap;
use testkit::ByName;

/// What came next on the CPU that a thread left, compared with it, and its key.
fn next(a: &Analysed, ready: &ThreadStretch) -> (Option<&'static str>, Option<i64>) {
    what_followed(a, ready).unwrap_or_default()
}

fn what_followed(a: &Analysed, ready: &ThreadStretch) -> Option<(Option<&'static str>, Option<i64>)> {
    let at = ready.span.start;
    let ran = |s: &&ThreadStretch| s.thread == ready.thread && s.span.end == at && s.state == ThreadState::Running;
    let ran = a.threads.iter().find(ran).filter(|s| s.span.overlap(a.span).is_some()).unwrap_or(ready);
    let next = queues::at(a, ran.cpu?, at).filter(|s| s.span.start == at)?;
    if next.state == CpuState::Idle {
        return Some((Some("idle"), Some(0)));
    }
    if next.state == CpuState::Unknown {
        return None;
    }
    let came = |s: &&ThreadStretch| s.thread == next.thread && s.span.start == at && s.state == ThreadState::Running;
    let came = a.threads.iter().find(came).and_then(|s| s.prio.get());
    let word = match (came, ran.prio.get()) {
        (None, _) | (_, None) => None,
        (came, own) if came < own => Some("higher"),
        (came, own) if came > own => Some("lower"),
        _ => Some("equal"),
    };
    Some((word, Some(next.thread.0)))
}

/// The number of running stretches that ended within the span and before its end.
fn ends(a: &Analysed) -> i64 {
    let running = a.threads.iter().filter(|s| s.state == ThreadState::Running && s.span.overlap(a.span).is_some());
    let goes_on = |of: &ThreadStretch| {
        let next = a.threads.iter().find(|s| s.thread == of.thread && s.span.start == of.span.end);
        next.is_none_or(|s| s.state == ThreadState::Running)
    };
    running.filter(|s| s.span.end < a.span.end && !goes_on(s)).count() as i64
}

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let mut expected: BTreeMap<_, (i64, i64)> = BTreeMap::new();
    for ready in a.threads.iter().filter(|s| s.state == ThreadState::Ready) {
        let cause = match ready.reason {
            Reason::Preempted => "preempted",
            Reason::Yielded => "yielded",
            Reason::Throttled => "throttled",
            Reason::GaveWay => "gave_way",
            Reason::NeverSlept => "woken_before_sleep",
            Reason::LeftRunnable => "unknown",
            _ => continue,
        };
        let here = Span::new(a.span.start.max(Ns(1)), a.span.end);
        if here.start <= ready.span.start && ready.span.start < here.end {
            let sums = expected.entry((ready.thread.0, cause, next(a, ready))).or_default();
            sums.0 += 1;
            sums.1 += ready.span.overlap(a.span).map_or(0, |s| s.len().0);
        }
    }
    let table = &a.tables["switch_causes"];
    let (mut actual, mut all, mut known) = (BTreeMap::new(), 0, 0);
    for row in 0..table.rows.len() {
        let cause = table.text(row, "cause").unwrap();
        let count = table.int(row, "count").unwrap();
        prop_assert!(count > 0);
        all += count;
        known += if cause == "unknown" { 0 } else { count };
        let left = cause == "unknown" && table.text(row, "state_letter") == Some("R");
        known += if left { count } else { 0 };
        if left || !matches!(cause, "unknown" | "blocked" | "exited") {
            let next = (table.text(row, "next"), table.int(row, "preemptor"));
            let key = (table.int(row, "thread").unwrap(), cause, next);
            let ready = table.int(row, "ready_ns").unwrap();
            prop_assert!(actual.insert(key, (count, ready)).is_none(), "twice: {:?}", key);
        }
    }
    prop_assert_eq!(actual, expected);
    prop_assert!(all >= ends(a), "{} stretches ended, {} counted", ends(a), all);
    let counted: u64 = a.totals.threads.all().unwrap().iter().map(|t| t.voluntary + t.involuntary).sum();
    prop_assert!(known as u64 <= counted, "{known} of {counted}");
    Ok(())
}
