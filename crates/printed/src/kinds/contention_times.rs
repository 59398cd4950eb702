//! Elapsed times of a program alone on its core and with another program on the same core, by one tool or several.

use crate::figure::mean;
use crate::{CheckContext, Figure, Head, Kind, Rule, Sheet, StatementSink};
use std::collections::BTreeSet;

const SLOW_DOWN: Rule = Rule {
    id: "slow_down",
    unit: "ratio",
    formula: "elapsed with a program on the same core / elapsed with the core to itself: for the n-th run of each",
};
const THROUGHPUT: Rule = Rule {
    id: "throughput_of_two",
    unit: "ratio",
    formula: "two programs on one core relative to one at a time: 2 × mean elapsed with the core to itself / mean elapsed with both",
};
const ONE_SLOW_DOWN: Rule = Rule {
    id: "one_slow_down",
    unit: "ratio",
    formula: "the slowdown of a program is the same by each tool's clock, within 5 % of noise",
};
const SAME_CPUS: Rule = Rule {
    id: "same_cpus",
    unit: "",
    formula: "times by two tools are of one machine; with other CPUs (column lp), they may be of another one",
};

/// The difference that runs of one program may have without a cause.
const NOISE: f64 = 0.05;

/// The placements with a shared core, and those with a core of its own.
const SHARED: &[&str] = &["same_core"];
const OWN: &[&str] = &["different_cores", "alone"];

fn list(cpus: &BTreeSet<&str>) -> String {
    let all: Vec<&str> = cpus.iter().copied().collect();
    format!("CPUs {}", all.join(", "))
}

/// See [`Kind::doc`].
pub(crate) struct ContentionTimes;

impl Kind for ContentionTimes {
    fn id(&self) -> &'static str {
        "contention_times"
    }

    fn doc(&self) -> &'static str {
        "elapsed times of one program: method (the tool), placement (alone, different_cores, same_core), real_s, and lp (the CPU)"
    }

    fn matches(&self, head: &Head) -> bool {
        head.has(&["method", "placement", "real_s"])
    }

    fn check(&self, sheet: &Sheet, _: &CheckContext<'_>, out: &mut StatementSink<'_>) {
        let mut first: Option<(&str, Figure, BTreeSet<&str>)> = None;
        for (method, rows) in sheet.groups("method") {
            let times = |at: &[&str]| -> Vec<Figure> {
                let there = rows.iter().filter(|row| at.contains(&sheet.text(**row, "placement")));
                there.filter_map(|row| sheet.figure(*row, "real_s")).collect()
            };
            let (shared, own) = (times(SHARED), times(OWN));
            let (Some(slow), Some(quick)) = (mean(&shared), mean(&own)) else {
                out.not_evaluated(&SLOW_DOWN, method, "times of both placements are required");
                continue;
            };
            for (at, (slow, quick)) in (1..).zip(shared.iter().zip(&own)) {
                out.value(&SLOW_DOWN, format!("{method} {at}"), (*slow / *quick).value);
            }
            out.value(&THROUGHPUT, method, (quick / slow).scaled(2.0).value);
            let all = slow / quick;
            let cpus: BTreeSet<&str> =
                rows.iter().map(|row| sheet.text(*row, "lp")).filter(|lp| !lp.is_empty()).collect();
            match &first {
                None => first = Some((method, all, cpus)),
                Some((other, before, others)) => {
                    let of = format!("{method} against {other}");
                    out.within(&ONE_SLOW_DOWN, &of, all.value, before.value, NOISE * before.value);
                    if !cpus.is_empty() && !others.is_empty() && cpus.is_disjoint(others) {
                        out.not_evaluated(
                            &SAME_CPUS,
                            of,
                            format!("{} and {}: no CPU in common", list(&cpus), list(others)),
                        );
                    }
                }
            }
        }
    }
}
