//! What is shown of a comparison, in which order, and what is summed up.

use super::words::{self, Sense, at_most, clean};
use crate::outcome::{Comparison, ConditionDifference, Outcome, RoleLine, Verdict, Why};
use model::words::{TIE, plural};
use stats::{Method, Scale};

/// Pieces below this share of all pieces' sizes are folded.
const SMALL: f64 = 0.02;

/// The metrics other than the objective by their verdict, each in the order of the comparison.
pub struct Sorted<'a> {
    pub changed: Vec<&'a Outcome>,
    pub same: Vec<&'a Outcome>,
    pub unknown: Vec<&'a Outcome>,
}

impl<'a> Sorted<'a> {
    pub fn of(all: &'a [Outcome]) -> Self {
        let with = |verdict| all.iter().filter(|o| o.verdict == verdict).collect();
        Self { changed: with(Verdict::Changed), same: with(Verdict::Same), unknown: with(Verdict::Unknown) }
    }

    /// The metrics whose only values have no interval and differ, the largest difference first.
    pub fn without_interval(&self) -> Vec<&'a Outcome> {
        /// Smaller differences are not listed.
        const LEAST: f64 = 0.01;
        let size = |outcome: &Outcome| {
            let effect = outcome.effect.filter(|effect| effect.method == Method::None)?;
            let share = match (effect.scale, outcome.middle[0]) {
                (Scale::Ratio, _) => effect.estimate.ln().abs(),
                (Scale::Difference, Some(of)) if of != 0.0 => (effect.estimate / of).abs(),
                // From nothing to something.
                (Scale::Difference, _) if effect.estimate != 0.0 => f64::MAX,
                _ => 0.0,
            };
            (share >= LEAST).then_some(share)
        };
        let single = |outcome: &&&Outcome| outcome.values.iter().all(|of| of.len() == 1);
        let sized = self.unknown.iter().filter(single).filter_map(|outcome| Some((size(outcome)?, *outcome)));
        let mut all: Vec<(f64, &Outcome)> = sized.collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        all.into_iter().map(|(_, outcome)| outcome).collect()
    }

    /// A line about the metrics that did not change.
    pub fn same_line(&self) -> Option<String> {
        if self.same.is_empty() {
            return None;
        }
        let most =
            self.same.iter().filter_map(|o| o.at_most).filter(|share| share.is_finite()).fold(f64::NAN, f64::max);
        let limit = if most.is_nan() { String::new() } else { format!(", no change larger than {}", at_most(most)) };
        Some(format!("Same: {}{limit}.", plural(self.same.len() as u64, "metric")))
    }

    /// A line about the metrics without an answer, and what would settle them.
    pub fn unknown_line(&self) -> Option<String> {
        if self.unknown.is_empty() {
            return None;
        }
        let needs: Vec<usize> = self.unknown.iter().filter_map(|o| o.runs_more).collect();
        let settle = needs.iter().min().zip(needs.iter().max()).map_or_else(String::new, |(least, most)| {
            let of = if needs.len() == self.unknown.len() { String::new() } else { format!(" {} of", needs.len()) };
            let them = if self.unknown.len() == 1 { "it" } else { "them" };
            let runs =
                if least == most { words::more_runs(*most) } else { format!("{least} to {}", words::more_runs(*most)) };
            format!("; about {runs} a side would settle{of} {them}")
        });
        Some(format!("Unknown: {}{settle}.", plural(self.unknown.len() as u64, "metric")))
    }
}

/// The name of a metric with its role: `Worker: ready time`.
pub fn name(outcome: &Outcome) -> String {
    match &outcome.metric.role {
        Some(role) => format!("{}: {}", clean(role), words::title(&outcome.metric)),
        None => words::title(&outcome.metric),
    }
}

/// A part of the change as shown: a piece, or the sum of small ones.
pub struct Part {
    /// What explains it.
    pub title: String,
    /// Its part of the change, ns.
    pub ns: f64,
    /// Its share of the change; `None` if pieces cancel each other out.
    pub share: Option<f64>,
    /// Its 95 % interval, ns.
    pub interval: Option<[f64; 2]>,
    /// Whether its cause is not known.
    pub is_unknown: bool,
}

/// The pieces of a change, the largest first; small ones, and those after `max`, are one part at the end.
pub fn parts(why: &Why, max: usize) -> Vec<Part> {
    let mut pieces: Vec<_> = why.pieces.iter().filter(|p| p.ns.is_finite()).collect();
    pieces.sort_by(|a, b| b.ns.abs().total_cmp(&a.ns.abs()));
    let total: f64 = pieces.iter().map(|p| p.ns).sum();
    let sizes: f64 = pieces.iter().map(|p| p.ns.abs()).sum();
    // Shares of a small rest of large pieces would mislead.
    let share = |ns: f64| (total.abs() > sizes / 3.0).then(|| ns / total);
    let large = pieces.iter().take_while(|p| p.ns.abs() >= SMALL * sizes).count().min(max);
    // One small piece needs no other name.
    let large = if pieces.len() == large + 1 { pieces.len() } else { large };
    let mut parts: Vec<Part> = pieces[..large]
        .iter()
        .map(|p| Part {
            title: clean(&p.title),
            ns: p.ns,
            share: share(p.ns),
            interval: p.interval,
            is_unknown: p.cause == "unknown",
        })
        .collect();
    let rest = &pieces[large..];
    if !rest.is_empty() {
        let ns = rest.iter().map(|p| p.ns).sum();
        let title = format!("other ({})", plural(rest.len() as u64, "piece"));
        parts.push(Part { title, ns, share: share(ns), interval: None, is_unknown: false });
    }
    parts
}

/// The roles that only one side has: gone and new.
pub fn gone_and_new(roles: &[RoleLine]) -> [Vec<&RoleLine>; 2] {
    ["only_a", "only_b"].map(|by| roles.iter().filter(|role| role.matched_by == by).collect())
}

/// The conditions that differ: first those that can explain a change.
pub fn conditions(of: &Comparison) -> Vec<&ConditionDifference> {
    let mut all: Vec<_> = of.conditions.iter().collect();
    all.sort_by_key(|condition| !condition.matters);
    all
}

/// The number of runs of both sides: `10 pairs of runs`, `3 and 5 runs`, `1 run a side`.
pub fn runs(of: &Comparison) -> String {
    let [a, b] = [0, 1].map(|side| of.sides[side].runs.len());
    match (of.paired, a == b) {
        (true, _) => format!("{} of runs", plural(a.min(b) as u64, "pair")),
        (false, true) => format!("{} a side", plural(a as u64, "run")),
        (false, false) => format!("{a} and {b}{TIE}runs"),
    }
}

/// How a role was matched, for users.
pub fn matched(by: &str) -> &'static str {
    match by {
        "name" => "by name",
        "wakeups" => "by wakeups: renamed",
        "map" => "as given",
        "only_a" => "gone: only in A",
        "only_b" => "new: only in B",
        _ => "otherwise",
    }
}

/// The first of some items, and how many are left out.
pub fn first<T>(all: &[T], max: usize) -> (&[T], usize) {
    let shown = all.len().min(max);
    (&all[..shown], all.len() - shown)
}

/// The sense of a piece of the change: more time is worse.
pub fn sense(part: &Part) -> Sense {
    match part.ns {
        ns if ns > 0.0 => Sense::Worse,
        ns if ns < 0.0 => Sense::Better,
        _ => Sense::Same,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Piece;

    fn why(ns: &[f64]) -> Why {
        let piece = |ns: &f64| Piece {
            cause: "ready".to_owned(),
            title: format!("{ns}"),
            role: None,
            ns: *ns,
            means: None,
            interval: None,
        };
        Why { line: None, means: [0.0, ns.iter().sum()], pieces: ns.iter().map(piece).collect() }
    }

    #[test]
    fn parts_sum_to_the_change_whatever_is_folded() {
        for (ns, max) in
            [(vec![5.0, -70.0, 100.0, 1.0, 0.5, -0.25], 8), (vec![1.0; 40], 6), (vec![3.0, 1.0], 1), (vec![], 3)]
        {
            let parts = parts(&why(&ns), max);
            assert_eq!(parts.iter().map(|p| p.ns).sum::<f64>(), ns.iter().sum::<f64>(), "{ns:?}");
            assert!(parts.len() <= max + 1, "{ns:?}");
        }
    }

    #[test]
    fn small_pieces_are_folded_but_not_one_alone() {
        let titles = |ns: &[f64]| parts(&why(ns), 9).into_iter().map(|p| p.title.replace(TIE, " ")).collect::<Vec<_>>();
        assert_eq!(titles(&[1.0, 100.0, -50.0, 0.5]), ["100", "-50", "other (2 pieces)"]);
        assert_eq!(titles(&[100.0, 0.5]), ["100", "0.5"]);
    }

    #[test]
    fn pieces_that_cancel_each_other_out_have_no_shares() {
        assert!(parts(&why(&[100.0, -99.0]), 9).iter().all(|p| p.share.is_none()));
        assert_eq!(parts(&why(&[75.0, 25.0]), 9)[0].share, Some(0.75));
    }
}
