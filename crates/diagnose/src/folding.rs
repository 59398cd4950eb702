//! Which findings stand on their own: one fault may satisfy several rules.
//!
//! A finding falls away with another that counts for at least as much ([`Finding::counted_ns`]) where the two claim the same time of the same threads:
//! where, over the threads that both name, the lesser of what the two claim sums to half or more of all that the lesser
//! finding claims, and they overlap in time. It then stands under that one. What claims no time stands alone.

use crate::finding::{Claim, Finding};
use std::collections::HashMap;

/// Puts those that count for most first, of the same those that may give back most, and under each what falls away with it.
pub(crate) fn ranked(mut all: Vec<Finding>) -> Vec<Finding> {
    all.sort_by_key(|f| std::cmp::Reverse((f.counted_ns(), f.recoverable_ns, f.severity)));
    let mut stand: Vec<(Finding, HashMap<i64, i64>)> = Vec::new();
    for finding in all {
        match stand.iter_mut().find(|(greater, claims)| falls_away(&finding, greater, claims)) {
            Some((greater, _)) => greater.also.push(finding),
            None => {
                let claims = finding.threads.iter().map(|c| (c.thread, c.recoverable_ns)).collect();
                stand.push((finding, claims));
            }
        }
    }
    stand.into_iter().map(|(finding, _)| finding).collect()
}

fn falls_away(lesser: &Finding, greater: &Finding, claims: &HashMap<i64, i64>) -> bool {
    let all: i128 = lesser.threads.iter().map(|c| i128::from(c.recoverable_ns)).sum();
    let of_both = |c: &Claim| claims.get(&c.thread).map_or(0, |ns| i128::from(*ns.min(&c.recoverable_ns)));
    let both: i128 = lesser.threads.iter().map(of_both).sum();
    let at_once = lesser.spans.iter().any(|a| greater.spans.iter().any(|b| a.overlap(*b).is_some()));
    all > 0 && 2 * both >= all && at_once
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Action, Confidence, Severity};
    use model::{Change, Ns, Span};

    fn finding(rule: &'static str, claims: &[(i64, i64)], span: (i64, i64)) -> Finding {
        let claim = |&(thread, ns): &(i64, i64)| Claim { thread, tid: thread, name: String::new(), recoverable_ns: ns };
        Finding {
            rule,
            severity: Severity::Low,
            title: String::new(),
            recoverable_ns: claims.iter().map(|c| c.1).max().unwrap_or(0),
            range_ns: [0, 0],
            confidence: Confidence::High,
            threads: claims.iter().map(claim).collect(),
            spans: vec![Span::new(Ns(span.0), Ns(span.1))],
            evidence: Vec::new(),
            action: Action { what: String::new(), linux: String::new(), windows: String::new() },
            change: Change::Smt { on: true },
            assumptions: Vec::new(),
            also: Vec::new(),
        }
    }

    fn told(all: Vec<Finding>) -> Vec<(&'static str, Vec<&'static str>)> {
        ranked(all).iter().map(|f| (f.rule, f.also.iter().map(|a| a.rule).collect())).collect()
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
}
