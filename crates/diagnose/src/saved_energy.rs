//! The energy that lost idle time cost, where the energy of packages was measured.
//!
//! No reading shows what an idle state that was not entered would have used. So there is a range: from nothing to all that the packages used
//! at their busiest power for that time. Within it there is an estimate only if the power of the recording varied, because its quietest
//! second then shows what the packages use with less to do.

use crate::context::RuleContext;
use engine::EngineError;
use model::Ns;
use model::tables::{energy, power_over_time};
use serde::Serialize;
use std::collections::BTreeMap;

/// The energy that a fix saves.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SavedEnergy {
    /// The best estimate, J; `None` if the power hardly varied, so that nothing shows what the packages use with less to do.
    pub joules: Option<f64>,
    /// The lower bound, J.
    pub low: f64,
    /// The upper bound, J.
    pub high: f64,
}

impl std::fmt::Display for SavedEnergy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.joules {
            Some(joules) => {
                write!(f, "about {} J ({} to {} J)", figures(joules), figures(self.low), figures(self.high))
            }
            None => write!(f, "at most {} J", figures(self.high)),
        }
    }
}

/// The power of the packages of a machine, W: of all of them.
pub(crate) enum PackagePower {
    /// No package was measured.
    NotMeasured,
    /// They were, without a figure: why.
    NoFigure(String),
    Measured {
        packages: usize,
        mean: f64,
        least: f64,
        most: f64,
        /// The energy of the analysed time, J: not less than it was.
        energy: f64,
    },
}

/// Power that varies by less than this share of its mean does not show what less work would use: readings differ by some percent.
const MIN_VARIATION: f64 = 0.1;

impl PackagePower {
    /// Reads `energy` and `power_over_time`.
    pub(crate) fn new(ctx: &RuleContext<'_>) -> Result<Self, EngineError> {
        let (mut packages, mut why) = (BTreeMap::new(), None);
        ctx.each_row(energy::Table, |row| {
            if row.get(energy::PART.or_empty()) != "package" || row.get(energy::SAME_AS).is_some() {
                return;
            }
            let domain = row.get(energy::DOMAIN);
            match (row.get(energy::WATTS), row.get(energy::HIGH_J)) {
                (Some(watts), Some(high)) => {
                    packages.insert(domain.to_owned(), (watts, watts, watts, high));
                }
                _ => why = Some(format!("{domain}: {}", row.get(energy::DOUBT.or_empty()))),
            }
        })?;
        if let Some(why) = why {
            return Ok(Self::NoFigure(why));
        }
        if packages.is_empty() {
            return Ok(Self::NotMeasured);
        }
        ctx.each_row(power_over_time::Table, |row| {
            let watts = row.get(power_over_time::WATTS);
            if let (Some((_, least, most, _)), Some(watts)) =
                (packages.get_mut(row.get(power_over_time::DOMAIN)), watts)
            {
                (*least, *most) = (least.min(watts), most.max(watts));
            }
        })?;
        let sum = |of: fn(&(f64, f64, f64, f64)) -> f64| packages.values().map(of).sum();
        Ok(Self::Measured {
            packages: packages.len(),
            mean: sum(|of| of.0),
            least: sum(|of| of.1),
            most: sum(|of| of.2),
            energy: sum(|of| of.3),
        })
    }

    /// The energy of lost idle time, of packages or of so many CPUs, and the assumption about it.
    pub(crate) fn saved(&self, lost_ns: Ns, of_cpus: Option<i64>) -> (Option<SavedEnergy>, String) {
        let (packages, mean, least, most, energy) = match self {
            Self::NotMeasured => return (None, "no energy is estimated, as none was measured".to_owned()),
            Self::NoFigure(why) => return (None, format!("no energy is estimated, as there is no figure for {why}")),
            Self::Measured { packages, mean, least, most, energy } => (*packages as f64, *mean, *least, *most, *energy),
        };
        let seconds = lost_ns.as_f64() * 1e-9;
        // A CPU that does not sleep may keep its whole package awake, but its share of the difference is that of one CPU.
        let high = (most / packages * seconds).min(energy);
        let sharers = of_cpus.map_or(packages, |cpus| cpus.max(1) as f64);
        let varies = mean - least >= MIN_VARIATION * mean;
        let joules = varies.then(|| ((mean - least) / sharers * seconds).min(high));
        let bound = format!(
            "energy: an idle package uses at most the power of its busiest second ({} W), so that no more can be saved in this time",
            figures(most / packages)
        );
        let words = if varies {
            let each = if of_cpus.is_some() { "a CPU's share of" } else { "" };
            format!(
                "{bound}; the estimate is {each}{}the difference of the mean power and that of the quietest second ({} and {} W)",
                if each.is_empty() { "" } else { " " },
                figures(mean / packages),
                figures(least / packages)
            )
        } else {
            format!("{bound}; the power hardly varied, so that there is no better estimate")
        };
        (Some(SavedEnergy { joules, low: 0.0, high }), words)
    }
}

/// Two significant figures: the range is wide.
fn figures(value: f64) -> String {
    let places = if value > 0.0 { (1.0 - value.log10().floor()).clamp(0.0, 6.0) as usize } else { 0 };
    format!("{value:.places$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(least: f64, energy: f64) -> PackagePower {
        PackagePower::Measured { packages: 2, mean: 20.0, least, most: 30.0, energy }
    }

    #[test]
    fn the_estimate_is_within_its_range() {
        // Half a second of one of two packages: 15 W at most, 10 - 4 W by the quietest second.
        let (saved, words) = measured(8.0, 1000.0).saved(Ns(500_000_000), None);
        assert_eq!(saved, Some(SavedEnergy { joules: Some(3.0), low: 0.0, high: 7.5 }));
        assert_eq!(saved.unwrap().to_string(), "about 3.0 J (0 to 7.5 J)");
        assert!(words.contains("15 W") && words.contains("10 and 4.0 W"), "{words}");
        // Of one of 8 CPUs, the estimate is an eighth of both packages' difference.
        let (saved, _) = measured(8.0, 1000.0).saved(Ns(500_000_000), Some(8));
        assert_eq!(saved, Some(SavedEnergy { joules: Some(0.75), low: 0.0, high: 7.5 }));
    }

    #[test]
    fn never_more_than_was_used() {
        let (saved, _) = measured(8.0, 2.0).saved(Ns(500_000_000), None);
        assert_eq!(saved, Some(SavedEnergy { joules: Some(2.0), low: 0.0, high: 2.0 }));
    }

    #[test]
    fn without_variation_or_figures_nothing_is_invented() {
        let (saved, _) = measured(19.0, 1000.0).saved(Ns(500_000_000), None);
        assert_eq!(saved.unwrap().to_string(), "at most 7.5 J");
        assert_eq!(PackagePower::NotMeasured.saved(Ns(500_000_000), None).0, None);
        let (saved, words) = PackagePower::NoFigure("package-0: it went back".to_owned()).saved(Ns(1), None);
        assert!(saved.is_none() && words.ends_with("package-0: it went back"), "{words}");
    }
}
