//! The verdict on one metric: changed, same or unknown.

use crate::{Outcome, Verdict};
use stats::{Effect, Method, Scale};

/// The chance of calling two equal sides changed.
pub(crate) const LEVEL: f64 = 0.05;

/// Whether the 90 % interval lies within the margin: two one-sided tests at 5 % each (equivalence).
fn is_within(effect: &Effect, margin: f64, of: f64) -> bool {
    effect.narrow.is_some_and(|[low, high]| match effect.scale {
        Scale::Ratio => low >= 1.0 / (1.0 + margin) && high <= 1.0 + margin,
        Scale::Difference => low.abs().max(high.abs()) <= margin * of.abs(),
    })
}

/// Sets the verdict by the p-value, or by the false discovery rate if the metric is one of many.
pub(crate) fn judge(outcome: &mut Outcome, margin: f64, paired: bool) {
    let Some(effect) = outcome.effect else { return };
    let of = outcome.middle[0].unwrap_or_default();
    outcome.at_most = match effect.scale {
        Scale::Ratio => stats::at_most(&effect),
        Scale::Difference if of != 0.0 => effect.narrow.map(|[low, high]| low.abs().max(high.abs()) / of.abs()),
        Scale::Difference => None,
    };
    let chance = outcome.q.or(effect.p);
    outcome.verdict = match chance {
        Some(chance) if chance <= LEVEL => Verdict::Changed,
        _ if is_within(&effect, margin, of) => Verdict::Same,
        _ => Verdict::Unknown,
    };
    if outcome.verdict != Verdict::Unknown {
        return;
    }
    if effect.method == Method::None {
        outcome.reason = Some(if outcome.values.iter().any(|of| of.len() < 2) {
            "one value a side has no interval".to_owned()
        } else {
            "the values of the runs do not vary enough, or are too few, for an interval".to_owned()
        });
        return;
    }
    let known = |side: usize| outcome.values[side].iter().copied().flatten().collect::<Vec<f64>>();
    let margin = match effect.scale {
        Scale::Ratio => margin,
        Scale::Difference => margin * of.abs(),
    };
    if outcome.values.iter().all(|of| of.len() > 1) {
        // 0: settled by itself, but not among all metrics.
        let more = stats::runs_needed(&effect, &known(0), &known(1), paired, margin);
        outcome.runs_more = more.filter(|runs| *runs > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(scale: Scale, narrow: [f64; 2]) -> Effect {
        Effect {
            scale,
            method: Method::RankSum,
            estimate: 1.0,
            interval: None,
            narrow: Some(narrow),
            p: None,
            spread_p: None,
        }
    }

    #[test]
    fn equivalence_is_about_the_whole_interval() {
        assert!(is_within(&effect(Scale::Ratio, [0.97, 1.04]), 0.05, 1.0));
        assert!(!is_within(&effect(Scale::Ratio, [0.97, 1.06]), 0.05, 1.0));
        assert!(is_within(&effect(Scale::Difference, [-4.0, 4.0]), 0.05, 100.0));
        assert!(!is_within(&effect(Scale::Difference, [-6.0, 4.0]), 0.05, 100.0));
    }
}
