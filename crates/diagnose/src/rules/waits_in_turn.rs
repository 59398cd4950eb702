//! Threads that wait for several others, one after another.

use super::MIN_SHARE;
use crate::account::{self, Turns};
use crate::context::{EvidenceRows, RuleContext, threads};
use crate::finding::{Action, Confidence, Finding};
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, waits};
use model::words::{ms, plural};
use model::{Fix, Ns};

pub(super) const RULE: Rule = Rule {
    id: "waits-in-turn",
    about: "a thread waited for several others, one after another, although their work could overlap",
    page: Page {
        description: "Threads on the critical path that waited for two or more others, of different roles, in each period, frame or request, or about as \
                      often for each of them until the end.",
        rationale: "One after another, the waits take the sum of their times. If all requests are sent before the first answer is waited for, they take \
                    as long as the longest.",
        certainty: "For which threads one waited, and in which order, is recorded. Whether one request needs the answer to the former is not: what the thread \
                    does between two waits would show it. So the lower bound is zero, and of the time to the end, where the waits may be steps of the \
                    program, the confidence is low. That there are CPUs for all of their work is assumed.",
        fix: "Send all requests, then wait for the answers: asynchronous calls, a thread for each, or one call that asks for all.",
        example: "A waits 2 ms for B and then 3 ms for C in each request; together they would take 3 ms.",
    },
    tables: &[&tables::WAITS],
    thresholds: &[&MIN_OVERLAP, &MIN_SHARE],
    explains: &[],
    worst: Fits::WaitedForThread,
    shares_out_work: true,
    check,
};

const MIN_OVERLAP: Threshold = Threshold {
    name: "min_overlap",
    unit: Unit::Ratio,
    value: 0.15,
    reason: "of the waits' time: what is saved if they overlap, all but the longest",
};

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    if !ctx.summary().ready_known {
        return Ok(RuleOutcome::MissingData(
            "the source has no wakeups, so it is unknown which thread waited for which".to_owned(),
        ));
    }
    let (least, part) = (ctx.share_ns(&MIN_SHARE).max(Ns(1)), ctx.threshold(&MIN_OVERLAP));
    let is_enough = |of: &Turns| of.saved >= least && of.saved.as_f64() >= part * of.waited.as_f64();
    let all = account::turns(ctx)?.into_iter().filter(is_enough);
    all.map(|of| finding(ctx, &of)).collect::<Result<Vec<_>, _>>().map(RuleOutcome::Findings)
}

fn finding(ctx: &RuleContext<'_>, of: &Turns) -> Result<Finding, EngineError> {
    let (mut tid, mut evidence) = (model::Tid::UNKNOWN, EvidenceRows::default());
    ctx.each_row(waits::Table, |row| {
        if row.get(waits::THREAD) == of.thread {
            tid = row.get(waits::TID);
            if row.get(waits::WAKER).is_some_and(|waker| of.awaited.contains(&waker)) {
                evidence.push(row.get(waits::BLOCKED_NS), row, &[&waits::WAITS, &waits::BLOCKED_NS]);
            }
        }
    })?;
    let claims = vec![ctx.claim(of.thread, tid, of.saved)];
    let requests = u32::try_from(of.awaited.len()).unwrap_or(u32::MAX);
    let change = Fix::InFlight { threads: threads(&claims), requests };
    let name = ctx.name(of.thread);
    let names = of.awaited.iter().map(|thread| ctx.name(*thread)).collect::<Vec<_>>().join(", then ");
    let finding = ctx.finding(claims, change, String::new());
    let [linux, windows] = ["poll(2), epoll(7) or io_uring(7)", "overlapped I/O or WaitForMultipleObjects"]
        .map(|call| format!("send all requests first, then wait for all of them: {call}"));
    Ok(Finding {
        title: format!(
            "{name} waited for {names}, one after another: {} ms in {}, of which the longest waits take {} ms",
            ms(of.waited),
            of.window.map_or_else(|| "all".to_owned(), |word| plural(of.count.unsigned_abs(), word)),
            ms(of.waited - of.saved)
        ),
        range_ns: [Ns::ZERO, of.saved],
        confidence: if of.window.is_some() { Confidence::Medium } else { Confidence::Low },
        waited_for: of.awaited.clone(),
        evidence: evidence.finish(),
        action: Action {
            what: format!("Let {name} send all requests before it waits for the first answer"),
            linux,
            windows,
            ..finding.action
        },
        assumptions: vec![
            "no request needs the answer to a former one (lower bound: each does)".to_owned(),
            "there are CPUs for all of the work, so that all but the longest wait is saved".to_owned(),
        ],
        ..finding
    })
}
