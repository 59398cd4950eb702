//! Which findings stand on their own: one fault may satisfy several rules.
//!
//! A finding falls away with another that counts for at least as much ([`Finding::counted_ns`]) where the two claim the same time of the same threads:
//! where, over the threads that both name, the lesser of what the two claim sums to half or more of all that the lesser
//! finding claims, and they overlap in time. It then stands under that one. What claims no time stands alone.
//!
//! Where two rules say the same of one fault, one by its cause and one by what follows from it ([`Rule::explains`]), the cause
//! stands and what follows is under it, though it counts for more, up to [`NEAR`] times as much: what each costs is an estimate.
//! What follows may be told of other threads than the cause, but of the same process and the same time.
//!
//! What is about the program comes first ([`Subject`]); what is about the recording, or what happened around the machine, stands
//! behind it and alone, as no mending of the program takes it away. Of a recording that was made for a process, what others lose
//! stands behind what that one loses, though it counts for more, up to [`NEAR`] times as much.

use crate::finding::{Claim, Finding, Subject};
use crate::pools::Processes;
use crate::rule::Rule;
use crate::rules::RULES;
use std::collections::HashMap;

/// Estimates of what findings cost that differ by no greater factor do not say which of two costs more.
const NEAR: i64 = 2;

/// Puts those that count for most first, of the same those that may give back most, and under each what falls away with it.
pub(crate) fn ranked(mut all: Vec<Finding>, processes: &Processes) -> Vec<Finding> {
    let counts = |f: &Finding| f.counted_ns() / if is_of_others(f, processes) { NEAR } else { 1 };
    all.sort_by_key(|f| (f.of, std::cmp::Reverse((counts(f), f.recoverable_ns, f.severity))));
    let mut stand: Vec<(Finding, HashMap<i64, i64>)> = Vec::new();
    for finding in all {
        let under = stand
            .iter_mut()
            .find(|(greater, claims)| !explains(&finding, greater, processes) && falls_away(&finding, greater, claims));
        match under {
            Some((greater, _)) => greater.also.push(finding),
            None => {
                let claims = finding.threads.iter().map(|c| (c.thread, c.recoverable_ns)).collect();
                stand.push((finding, claims));
            }
        }
    }
    let stand: Vec<Finding> = stand.into_iter().map(|(finding, _)| finding).collect();
    let causes: Vec<_> = stand.iter().map(|of| stand.iter().position(|cause| explains(cause, of, processes))).collect();
    let mut told: Vec<Option<Finding>> = stand.into_iter().map(Some).collect();
    for (at, cause) in causes.iter().enumerate().filter_map(|(at, cause)| Some((at, (*cause)?))) {
        if let Some(mut of) = told[at].take() {
            let also = std::mem::take(&mut of.also);
            // No cause is explained by another, so it is still there.
            told[cause].iter_mut().for_each(|cause| cause.also.extend(std::iter::once(&of).chain(&also).cloned()));
        }
    }
    told.into_iter().flatten().collect()
}

fn falls_away(lesser: &Finding, greater: &Finding, claims: &HashMap<i64, i64>) -> bool {
    let all: i128 = lesser.threads.iter().map(|c| i128::from(c.recoverable_ns)).sum();
    let of_both = |c: &Claim| claims.get(&c.thread).map_or(0, |ns| i128::from(*ns.min(&c.recoverable_ns)));
    let both: i128 = lesser.threads.iter().map(of_both).sum();
    all > 0 && 2 * both >= all && of_program(lesser, greater) && at_once(lesser, greater)
}

/// Whether one is the cause of the other, which counts for little more at most, and half or more of which is of its processes.
fn explains(cause: &Finding, of: &Finding, processes: &Processes) -> bool {
    let rules = RULES.iter().any(|rule: &&Rule| rule.id == cause.rule && rule.explains.contains(&of.rule));
    let same = |a: i64, b: i64| a == b || (processes.are_told() && processes.are_one(a, b));
    rules
        && cause.counted_ns() > 0
        && cause.counted_ns() >= of.counted_ns() / NEAR
        && at_once(cause, of)
        && half_is(of, |claim| cause.threads.iter().any(|own| same(own.thread, claim.thread)))
}

/// Whether it is others that lose the time, not the process that the recording was made for.
fn is_of_others(finding: &Finding, processes: &Processes) -> bool {
    processes.focus().is_some() && !half_is(finding, |claim| processes.is_focus(claim.thread))
}

/// Whether half or more of what it claims is of such threads.
fn half_is(of: &Finding, such: impl Fn(&Claim) -> bool) -> bool {
    let ns = |c: &Claim| i128::from(c.recoverable_ns.max(1));
    let theirs: i128 = of.threads.iter().filter(|c| such(c)).map(ns).sum();
    2 * theirs >= of.threads.iter().map(ns).sum()
}

fn of_program(a: &Finding, b: &Finding) -> bool {
    [a, b].iter().all(|f| f.of == Subject::Program)
}

fn at_once(a: &Finding, b: &Finding) -> bool {
    a.spans.iter().any(|a| b.spans.iter().any(|b| a.overlap(*b).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Action, Confidence, Severity};
    use crate::rules::RULES;
    use model::{Fix, Ns, Span};

    fn finding(rule: &'static str, claims: &[(i64, i64)], span: (i64, i64)) -> Finding {
        let claim = |&(thread, ns): &(i64, i64)| Claim { thread, tid: thread, name: String::new(), recoverable_ns: ns };
        Finding {
            rule,
            of: Subject::Program,
            severity: Severity::Low,
            title: String::new(),
            recoverable_ns: claims.iter().map(|c| c.1).max().unwrap_or(0),
            range_ns: [0, 0],
            cpu_ns: None,
            confidence: Confidence::High,
            threads: claims.iter().map(claim).collect(),
            spans: vec![Span::new(Ns(span.0), Ns(span.1))],
            evidence: Vec::new(),
            action: Action { what: String::new(), linux: String::new(), windows: String::new() },
            change: Fix::Smt { on: true },
            assumptions: Vec::new(),
            also: Vec::new(),
        }
    }

    fn told(all: Vec<Finding>) -> Vec<(&'static str, Vec<&'static str>)> {
        ranked(all, &Processes::default()).iter().map(|f| (f.rule, f.also.iter().map(|a| a.rule).collect())).collect()
    }

    #[test]
    fn the_same_time_of_the_same_threads_is_one_finding() {
        let b = finding("b", &[(1, 6), (2, 4)], (0, 10));
        assert_eq!(told(vec![b, finding("a", &[(1, 9)], (0, 10))]), [("a", vec!["b"])], "6 of its 10 are a's");
    }

    #[test]
    fn other_threads_or_other_times_stand_alone() {
        let a = || finding("a", &[(1, 9)], (0, 10));
        assert_eq!(told(vec![a(), finding("b", &[(2, 8)], (0, 10))]), [("a", vec![]), ("b", vec![])]);
        assert_eq!(told(vec![a(), finding("b", &[(1, 8)], (10, 20))]), [("a", vec![]), ("b", vec![])]);
        assert_eq!(told(vec![a(), finding("b", &[(1, 4), (2, 5)], (0, 9))]), [("a", vec![]), ("b", vec![])], "4 of 9");
        assert_eq!(told(vec![a(), finding("b", &[], (0, 10))]), [("a", vec![]), ("b", vec![])]);
    }

    #[test]
    fn what_may_be_nothing_stands_under_what_is_sure() {
        let a = finding("a", &[(1, 6)], (0, 10));
        let b = Finding { confidence: Confidence::Low, ..finding("b", &[(1, 9)], (0, 10)) };
        assert_eq!(told(vec![b, a]), [("a", vec!["b"])], "b claims more, but its range begins at 0");
    }

    #[test]
    fn a_cause_stands_before_what_follows_from_it() {
        let (cause, follows) = ("pinned-to-one-cpu", "serialised-on-one-cpu");
        let of = |ns| vec![finding(cause, &[(1, ns)], (0, 20)), finding(follows, &[(1, 10)], (0, 20))];
        assert_eq!(told(of(5)), [(cause, vec![follows])], "half as much is enough");
        assert_eq!(told(of(4)), [(follows, vec![cause])], "less explains too little to stand above it");
        let other = finding(follows, &[(2, 10)], (0, 20));
        assert_eq!(
            told(vec![finding(cause, &[(1, 9)], (0, 20)), other]),
            [(follows, vec![]), (cause, vec![])],
            "of another thread, and nobody tells processes"
        );
    }

    #[test]
    fn what_the_recorded_process_loses_stands_first_though_others_lose_little_more() {
        let [own, other] = [|ns| finding("own", &[(1, ns)], (0, 10)), |ns| finding("other", &[(2, ns)], (0, 10))];
        let first = |focus, own, other| {
            let processes = Processes::of([(1, 7), (2, 8)], focus);
            ranked(vec![own, other], &processes)[0].rule
        };
        assert_eq!(first(Some(7), own(6), other(10)), "own");
        assert_eq!(first(Some(7), own(4), other(10)), "other", "more than twice as much");
        assert_eq!(first(Some(9), own(6), other(10)), "other", "both are others");
        assert_eq!(first(None, own(6), other(10)), "other", "made for no process");
    }

    #[test]
    fn causes_and_what_follows_are_rules_and_none_is_both() {
        for cause in RULES.iter().filter(|rule| !rule.explains.is_empty()) {
            for id in cause.explains {
                let of = RULES.iter().find(|rule| rule.id == *id).unwrap_or_else(|| panic!("{}: {id}", cause.id));
                assert!(of.explains.is_empty(), "{id}, which {} explains, explains others", cause.id);
            }
        }
    }

    #[test]
    fn what_no_program_can_mend_stands_last_and_alone() {
        let stolen = Finding { of: Subject::Conditions, ..finding("stolen", &[(1, 9)], (0, 10)) };
        let lost = Finding { of: Subject::Recording, ..finding("lost", &[(1, 9)], (0, 10)) };
        let own = finding("own", &[(1, 2)], (0, 10));
        assert_eq!(told(vec![stolen, lost, own]), [("own", vec![]), ("lost", vec![]), ("stolen", vec![])]);
    }
}
