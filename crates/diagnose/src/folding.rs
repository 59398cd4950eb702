//! Ranks findings and nests those that describe the same fault: one fault may satisfy several rules.
//!
//! A finding is resolved by another that counts for at least as much ([`Finding::counted_ns`]) if both claim the same time of the
//! same threads: over the threads that both name, the smaller of the two claims sums to at least half of all that the lesser
//! finding claims, they overlap in time, and they are not about different states of their threads. It is then nested under that one. A finding that claims no time is never nested.
//!
//! If one rule names the cause and another its consequence ([`Rule::explains`]), the consequence is nested under the cause, even if
//! it counts for up to [`COMPARABLE`] times as much, as both costs are estimates. The consequence may name other threads than the
//! cause, but must be of the same process and time.
//!
//! Findings about the program come first ([`Subject`]). Findings about the recording or its conditions follow and are not nested,
//! as no fix of the program resolves them. If the recording was made for one process, findings about other processes rank after its
//! own, even if they count for up to [`COMPARABLE`] times as much.

use crate::finding::{Claim, Finding, Subject};
use crate::pools::Processes;
use crate::rule::Rule;
use crate::rules::RULES;
use model::{Ns, ThreadKey};
use std::collections::HashMap;

/// Estimated costs that differ by at most this factor do not show which of two findings costs more.
const COMPARABLE: i64 = 2;

/// Sorts findings by what they count for, then by their best estimate, and nests those that another one resolves.
pub(crate) fn ranked(mut all: Vec<Finding>, processes: &Processes) -> Vec<Finding> {
    let counts = |f: &Finding| f.counted_ns() / if concerns_other_processes(f, processes) { COMPARABLE } else { 1 };
    all.sort_by_key(|f| (f.subject, std::cmp::Reverse((counts(f), f.recoverable_ns, f.severity))));
    let mut top_level: Vec<(Finding, HashMap<ThreadKey, Ns>)> = Vec::new();
    for finding in all {
        let under = top_level.iter_mut().find(|(greater, claims)| {
            !explains(&finding, greater, processes) && is_resolved_by(&finding, greater, claims)
        });
        match under {
            Some((greater, _)) => greater.also.push(finding),
            None => {
                let claims = finding.threads.iter().map(|c| (c.thread, c.recoverable_ns)).collect();
                top_level.push((finding, claims));
            }
        }
    }
    let top_level: Vec<Finding> = top_level.into_iter().map(|(finding, _)| finding).collect();
    let causes: Vec<_> =
        top_level.iter().map(|of| top_level.iter().position(|cause| explains(cause, of, processes))).collect();
    let mut nested: Vec<Option<Finding>> = top_level.into_iter().map(Some).collect();
    for (at, cause) in causes.iter().enumerate().filter_map(|(at, cause)| Some((at, (*cause)?))) {
        if let Some(mut of) = nested[at].take() {
            let also = std::mem::take(&mut of.also);
            // No cause is explained by another, so it is still there.
            nested[cause].iter_mut().for_each(|cause| cause.also.extend(std::iter::once(&of).chain(&also).cloned()));
        }
    }
    nested.into_iter().flatten().collect()
}

/// Whether the fix of the greater finding also resolves the lesser one.
fn is_resolved_by(lesser: &Finding, greater: &Finding, claims: &HashMap<ThreadKey, Ns>) -> bool {
    let all: i128 = lesser.threads.iter().map(|c| i128::from(c.recoverable_ns.0)).sum();
    let of_both = |c: &Claim| claims.get(&c.thread).map_or(0, |ns| i128::from(ns.min(&c.recoverable_ns).0));
    let both: i128 = lesser.threads.iter().map(of_both).sum();
    all > 0
        && 2 * both >= all
        && are_about_program(lesser, greater)
        && overlap_in_time(lesser, greater)
        && !are_of_other_states(lesser, greater)
}

/// Whether two findings are about different states of their threads, so that they cannot claim the same time: a thread that waits for a CPU does
/// not wait for another thread.
fn are_of_other_states(a: &Finding, b: &Finding) -> bool {
    let state = |of: &Finding| RULES.iter().find(|rule| rule.id == of.rule).and_then(|rule| rule.worst.state());
    state(a).zip(state(b)).is_some_and(|(a, b)| a != b)
}

/// Whether one finding is the cause of the other, at comparable cost, and at least half of the other's claims are of its processes.
fn explains(cause: &Finding, of: &Finding, processes: &Processes) -> bool {
    let rules = RULES.iter().any(|rule: &&Rule| rule.id == cause.rule && rule.explains.contains(&of.rule));
    let same = |a: ThreadKey, b: ThreadKey| a == b || (processes.are_recorded() && processes.are_one(a, b));
    rules
        && cause.counted_ns() > Ns::ZERO
        && cause.counted_ns() >= of.counted_ns() / COMPARABLE
        && overlap_in_time(cause, of)
        && at_least_half(of, |claim| cause.threads.iter().any(|own| same(own.thread, claim.thread)))
}

/// Whether the finding concerns processes other than the recorded one.
fn concerns_other_processes(finding: &Finding, processes: &Processes) -> bool {
    processes.focus().is_some() && !at_least_half(finding, |claim| processes.is_focus(claim.thread))
}

/// Whether at least half of the claimed time belongs to threads that match.
fn at_least_half(of: &Finding, such: impl Fn(&Claim) -> bool) -> bool {
    let ns = |c: &Claim| i128::from(c.recoverable_ns.0.max(1));
    let matching: i128 = of.threads.iter().filter(|c| such(c)).map(ns).sum();
    2 * matching >= of.threads.iter().map(ns).sum()
}

fn are_about_program(a: &Finding, b: &Finding) -> bool {
    [a, b].iter().all(|f| f.subject == Subject::Program)
}

fn overlap_in_time(a: &Finding, b: &Finding) -> bool {
    a.spans.iter().any(|a| b.spans.iter().any(|b| a.overlap(*b).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Action, Confidence, Severity};
    use crate::rules::RULES;
    use model::{Fix, Span, Tid};

    fn finding(rule: &'static str, claims: &[(i64, i64)], span: (i64, i64)) -> Finding {
        let claim = |&(thread, ns): &(i64, i64)| Claim {
            thread: ThreadKey(thread),
            tid: Tid::UNKNOWN,
            name: String::new(),
            recoverable_ns: Ns(ns),
        };
        Finding {
            rule,
            subject: Subject::Program,
            severity: Severity::Low,
            title: String::new(),
            recoverable_ns: claims.iter().map(|c| Ns(c.1)).max().unwrap_or_default(),
            delay_ns: Ns::ZERO,
            range_ns: [Ns::ZERO; 2],
            waited_for: Vec::new(),
            cpu_ns: None,
            energy: None,
            confidence: Confidence::High,
            threads: claims.iter().map(claim).collect(),
            spans: vec![Span::new(Ns(span.0), Ns(span.1))],
            worst: Vec::new(),
            evidence: Vec::new(),
            action: Action { what: String::new(), linux: String::new(), windows: String::new(), side_effect: None },
            change: Fix::Smt { on: true },
            assumptions: Vec::new(),
            fixed_tids: Vec::new(),
            tried: None,
            also: Vec::new(),
        }
    }

    fn nested(all: Vec<Finding>) -> Vec<(&'static str, Vec<&'static str>)> {
        ranked(all, &Processes::default()).iter().map(|f| (f.rule, f.also.iter().map(|a| a.rule).collect())).collect()
    }

    #[test]
    fn the_same_time_of_the_same_threads_is_one_finding() {
        let b = finding("b", &[(1, 6), (2, 4)], (0, 10));
        assert_eq!(
            nested(vec![b, finding("a", &[(1, 9)], (0, 10))]),
            [("a", vec!["b"])],
            "6 of b's 10 are claimed by a"
        );
    }

    #[test]
    fn findings_of_other_threads_or_other_times_are_not_nested() {
        let a = || finding("a", &[(1, 9)], (0, 10));
        assert_eq!(nested(vec![a(), finding("b", &[(2, 8)], (0, 10))]), [("a", vec![]), ("b", vec![])]);
        assert_eq!(nested(vec![a(), finding("b", &[(1, 8)], (10, 20))]), [("a", vec![]), ("b", vec![])]);
        assert_eq!(
            nested(vec![a(), finding("b", &[(1, 4), (2, 5)], (0, 9))]),
            [("a", vec![]), ("b", vec![])],
            "4 of 9"
        );
        assert_eq!(nested(vec![a(), finding("b", &[], (0, 10))]), [("a", vec![]), ("b", vec![])]);
    }

    #[test]
    fn a_finding_whose_range_starts_at_zero_is_nested_under_a_certain_one() {
        let a = finding("a", &[(1, 6)], (0, 10));
        let b = Finding { confidence: Confidence::Low, ..finding("b", &[(1, 9)], (0, 10)) };
        assert_eq!(nested(vec![b, a]), [("a", vec!["b"])], "b claims more, but its range begins at 0");
    }

    #[test]
    fn a_consequence_is_nested_under_its_cause() {
        let (cause, follows) = ("pinned-to-one-cpu", "serialised-on-one-cpu");
        let both = |ns| vec![finding(cause, &[(1, ns)], (0, 20)), finding(follows, &[(1, 10)], (0, 20))];
        assert_eq!(nested(both(5)), [(cause, vec![follows])], "half as much is enough");
        assert_eq!(nested(both(4)), [(follows, vec![cause])], "less explains too little");
        let other = finding(follows, &[(2, 10)], (0, 20));
        assert_eq!(
            nested(vec![finding(cause, &[(1, 9)], (0, 20)), other]),
            [(follows, vec![]), (cause, vec![])],
            "of another thread, and processes are not recorded"
        );
    }

    #[test]
    fn findings_of_the_recorded_process_rank_first_if_others_cost_little_more() {
        let [own, other] = [|ns| finding("own", &[(1, ns)], (0, 10)), |ns| finding("other", &[(2, ns)], (0, 10))];
        let first = |focus, own, other| {
            let processes = Processes::of([(1, 7), (2, 8)], focus);
            ranked(vec![own, other], &processes)[0].rule
        };
        assert_eq!(first(Some(7), own(6), other(10)), "own");
        assert_eq!(first(Some(7), own(4), other(10)), "other", "more than twice as much");
        assert_eq!(first(Some(9), own(6), other(10)), "other", "both are others");
        assert_eq!(first(None, own(6), other(10)), "other", "not recorded for one process");
    }

    #[test]
    fn no_rule_is_both_a_cause_and_a_consequence() {
        for cause in RULES.iter().filter(|rule| !rule.explains.is_empty()) {
            for id in cause.explains {
                let of = RULES.iter().find(|rule| rule.id == *id).unwrap_or_else(|| panic!("{}: {id}", cause.id));
                let others = of.explains;
                assert!(
                    others.is_empty(),
                    "{0} explains {id}, and {id} explains {others:?}: only one level is nested. Let {0} explain these, not {id}",
                    cause.id
                );
            }
        }
    }

    #[test]
    fn findings_outside_the_program_come_last_and_are_not_nested() {
        let stolen = Finding { subject: Subject::Conditions, ..finding("stolen", &[(1, 9)], (0, 10)) };
        let lost = Finding { subject: Subject::Recording, ..finding("lost", &[(1, 9)], (0, 10)) };
        let own = finding("own", &[(1, 2)], (0, 10));
        assert_eq!(nested(vec![stolen, lost, own]), [("own", vec![]), ("lost", vec![]), ("stolen", vec![])]);
    }
}
