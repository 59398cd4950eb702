//! Whether figures can be true: a part that uses more than its whole, and power above the limit of a domain.

use crate::estimate::Estimate;
use crate::source::{Domain, Part};
use model::ABOVE_TDP;

/// By how much the sum of parts may exceed their whole: the updates of domains are not at the same time.
const PARTS_SLACK: f64 = 0.02;
/// By how much the mean power may exceed the greatest limit that the machine states: limits are regulated, not exact.
const LIMIT_SLACK: f64 = 1.1;

/// Returns a sentence if the power of a domain is above what it can use.
#[must_use]
pub fn power(domain: &Domain, watts: f64, tdp_w: Option<f64>) -> Option<String> {
    let name = &domain.name;
    if let (Some(tdp), Part::Package | Part::Core) = (tdp_w, domain.part)
        && watts > tdp * ABOVE_TDP
    {
        return Some(above_tdp(name, watts, tdp));
    }
    let (limit, file) = domain.limit.as_ref()?;
    let limit = limit * 1e-6;
    (watts > limit * LIMIT_SLACK).then(|| {
        format!("{name}: {watts:.1} W is above its limit of {limit:.1} W ({file}): the unit or the counter is doubtful")
    })
}

/// Returns the sentence for power above the nominal power of a processor.
#[must_use]
pub fn above_tdp(name: &str, watts: f64, tdp: f64) -> String {
    let times = watts / tdp;
    format!(
        "{name}: {watts:.1} W is {times:.1} times the nominal power of {tdp:.0} W: the unit or the counter is doubtful"
    )
}

/// Returns the name of the part or parts, and a sentence, for each whole that uses less than its parts: packages less than their cores and uncore, the platform less than all
/// packages. Memory is not part of a package here: its domain is measured apart.
#[must_use]
pub fn parts(figures: &[(&Domain, &Estimate)]) -> Vec<(String, String)> {
    let mut doubts = Vec::new();
    let mut check = |whole: &str, of_whole: &Estimate, parts: Vec<&(&Domain, &Estimate)>| {
        let sum: f64 = parts.iter().map(|(_, part)| part.low).sum();
        if sum > of_whole.high * (1.0 + PARTS_SLACK) {
            let names: Vec<&str> = parts.iter().map(|(part, _)| part.name.as_str()).collect();
            let names = names.join(" and ");
            let sentence = format!(
                "{names} used at least {sum:.2} J, more than {whole}, which contains it, with {:.2} J: one of them is wrong",
                of_whole.joules
            );
            doubts.push((names, sentence));
        }
    };
    let comparable = |a: &Estimate, b: &Estimate| a.unknown.is_empty() && b.unknown.is_empty();
    for (whole, of_whole) in figures {
        let within = |part: &&(&Domain, &Estimate)| {
            let inside = match whole.part {
                Part::Package => {
                    part.0.parent.as_ref() == Some(&whole.name) && matches!(part.0.part, Part::Core | Part::Uncore)
                }
                Part::Platform => part.0.part == Part::Package,
                _ => false,
            };
            inside && comparable(of_whole, part.1)
        };
        let parts: Vec<&(&Domain, &Estimate)> = figures.iter().filter(within).collect();
        if !parts.is_empty() {
            check(&whole.name, of_whole, parts);
        }
    }
    doubts
}
