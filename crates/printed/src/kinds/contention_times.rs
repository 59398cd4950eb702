//! How long a program took alone and beside another one on its core, by one tool or several.

use crate::figure::mean;
use crate::{Figure, Given, Head, Kind, Rule, Sheet, Told};

const SLOW_DOWN: Rule = Rule {
    id: "slow_down",
    unit: "ratio",
    formula: "elapsed beside a program on the same core / elapsed with the core to itself: of the n-th of each",
};
const THROUGHPUT: Rule = Rule {
    id: "throughput_of_two",
    unit: "ratio",
    formula: "two programs on one core, over one at a time: 2 × mean elapsed with the core to itself / mean elapsed beside",
};
const ONE_SLOW_DOWN: Rule = Rule {
    id: "one_slow_down",
    unit: "ratio",
    formula: "one program on one kind of machine is slowed down as much by each tool's clock, within 5 % of noise",
};

/// What runs of one program may differ by without a cause.
const NOISE: f64 = 0.05;

/// Where a core is shared, and where it is not.
const SHARED: &[&str] = &["same_core"];
const OWN: &[&str] = &["different_cores", "alone"];

/// See [`Kind::doc`].
pub(crate) struct ContentionTimes;

impl Kind for ContentionTimes {
    fn id(&self) -> &'static str {
        "contention_times"
    }

    fn doc(&self) -> &'static str {
        "elapsed times of one program: method (the tool), placement (alone, different_cores, same_core), real_s"
    }

    fn knows(&self, head: &Head) -> bool {
        head.has(&["method", "placement", "real_s"])
    }

    fn check(&self, sheet: &Sheet, _: &Given<'_>, told: &mut Told<'_>) {
        let mut first: Option<(&str, Figure)> = None;
        for (method, rows) in sheet.groups("method") {
            let times = |at: &[&str]| -> Vec<Figure> {
                let there = rows.iter().filter(|row| at.contains(&sheet.text(**row, "placement")));
                there.filter_map(|row| sheet.figure(*row, "real_s")).collect()
            };
            let (shared, own) = (times(SHARED), times(OWN));
            let (Some(slow), Some(quick)) = (mean(&shared), mean(&own)) else {
                told.cannot(&SLOW_DOWN, method, "times of both kinds of placement are needed");
                continue;
            };
            for (at, (slow, quick)) in (1..).zip(shared.iter().zip(&own)) {
                told.value(&SLOW_DOWN, format!("{method} {at}"), (*slow / *quick).value);
            }
            told.value(&THROUGHPUT, method, (quick / slow).scaled(2.0).value);
            let all = slow / quick;
            match first {
                None => first = Some((method, all)),
                Some((other, before)) => {
                    let of = format!("{method} against {other}");
                    told.within(&ONE_SLOW_DOWN, of, all.value, before.value, NOISE * before.value);
                }
            }
        }
    }
}
