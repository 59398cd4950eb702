//! Which runs were disturbed, and whether their pair is repeated.

use model::words::{percent_of, untied};
use serde::{Deserialize, Serialize};

/// What took CPU time from a run. It has no durations of the run: a pair is never repeated because of its result.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Disturbance {
    /// The share of the time of all CPUs that the hypervisor gave to others, 0 to 1; `None` if unknown.
    pub steal_share: Option<f64>,
    /// The share of the time of all CPUs in which programs ran that are neither the recorded one nor the recorder, 0 to 1; `None` if
    /// unknown.
    pub other_share: Option<f64>,
    /// The name of the process with the most of `other_share`; empty if unknown.
    pub most_of_other: String,
}

/// The largest shares with which a run is not disturbed.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Limits {
    /// Of the time of all CPUs, given to others by the hypervisor, 0 to 1.
    pub max_steal_share: f64,
    /// Of the time of all CPUs, used by other programs, 0 to 1.
    pub max_other_share: f64,
}

impl Limits {
    /// Returns why a run was disturbed, for users; `None` if it was not. What is unknown disturbs nothing.
    #[must_use]
    pub fn reason(&self, of: &Disturbance) -> Option<String> {
        let over = |share: Option<f64>, max: f64| share.filter(|share| *share > max);
        let mut reasons = Vec::new();
        if let Some(share) = over(of.other_share, self.max_other_share) {
            let most = match of.most_of_other.as_str() {
                "" => String::new(),
                name => format!(", most of it {name}"),
            };
            let (share, max) = (of_cpu_time(share), of_cpu_time(self.max_other_share));
            reasons.push(format!("other programs used {share} of CPU time{most} (limit {max})"));
        }
        if let Some(share) = over(of.steal_share, self.max_steal_share) {
            let (share, max) = (of_cpu_time(share), of_cpu_time(self.max_steal_share));
            reasons.push(format!("the hypervisor took {share} of CPU time (limit {max})"));
        }
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }
}

/// Formats a share for users.
fn of_cpu_time(share: f64) -> String {
    untied(&percent_of(share))
}

/// What happens to a pair that was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// It is compared.
    Keep,
    /// It is recorded again.
    Repeat,
    /// It is compared although it was disturbed, as no repeats are left.
    KeepDisturbed,
}

/// Decides what happens to a pair, from what disturbed its two runs.
#[must_use]
pub fn decide(pair: [&Disturbance; 2], limits: &Limits, repeats_left: usize) -> Decision {
    match (pair.into_iter().any(|of| limits.reason(of).is_some()), repeats_left) {
        (false, _) => Decision::Keep,
        (true, 0) => Decision::KeepDisturbed,
        (true, _) => Decision::Repeat,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: Limits = Limits { max_steal_share: 0.05, max_other_share: 0.1 };

    fn disturbance(steal: f64, other: f64) -> Disturbance {
        Disturbance { steal_share: Some(steal), other_share: Some(other), most_of_other: "yes".to_owned() }
    }

    #[test]
    fn reasons_name_the_share_the_program_and_the_limit() {
        assert_eq!(LIMITS.reason(&disturbance(0.05, 0.1)), None, "the limits themselves are allowed");
        assert_eq!(
            LIMITS.reason(&disturbance(0.0, 0.25)).as_deref(),
            Some("other programs used 25.0 % of CPU time, most of it yes (limit 10.0 %)")
        );
        assert_eq!(
            LIMITS.reason(&disturbance(0.2, 0.25)).as_deref(),
            Some(
                "other programs used 25.0 % of CPU time, most of it yes (limit 10.0 %); the hypervisor took 20.0 % of CPU time (limit 5.0 %)"
            )
        );
        assert_eq!(LIMITS.reason(&Disturbance::default()), None, "nothing is known");
    }

    #[test]
    fn a_disturbed_pair_is_repeated_while_repeats_are_left() {
        let (quiet, busy) = (disturbance(0.0, 0.0), disturbance(0.0, 0.5));
        assert_eq!(decide([&quiet, &quiet], &LIMITS, 3), Decision::Keep);
        assert_eq!(decide([&quiet, &busy], &LIMITS, 3), Decision::Repeat);
        assert_eq!(decide([&busy, &quiet], &LIMITS, 1), Decision::Repeat);
        assert_eq!(decide([&busy, &quiet], &LIMITS, 0), Decision::KeepDisturbed);
    }

    fn share() -> impl Strategy<Value = Option<f64>> {
        prop_oneof![Just(None), (0.0..=1.0_f64).prop_map(Some)]
    }

    proptest! {
        /// A pair is repeated exactly if one of the four shares is above its limit, whichever side it is on.
        #[test]
        fn the_decision_depends_only_on_shares_above_limits(
            shares in [share(), share(), share(), share()], left in 0_usize..5
        ) {
            let [steal_a, other_a, steal_b, other_b] = shares;
            let of = |steal_share, other_share| Disturbance { steal_share, other_share, most_of_other: String::new() };
            let (a, b) = (of(steal_a, other_a), of(steal_b, other_b));
            let is_over = [steal_a, steal_b].iter().flatten().any(|s| *s > 0.05)
                || [other_a, other_b].iter().flatten().any(|s| *s > 0.1);
            let expected = match (is_over, left) {
                (false, _) => Decision::Keep,
                (true, 0) => Decision::KeepDisturbed,
                (true, _) => Decision::Repeat,
            };
            prop_assert_eq!(decide([&a, &b], &LIMITS, left), expected);
            prop_assert_eq!(decide([&b, &a], &LIMITS, left), expected, "the sides are equal");
        }
    }
}
