//! A thread's CPU time by priority, as shares of all CPU time.

use crate::{CheckContext, Figure, Head, Kind, Rule, Sheet, StatementSink};

const PARTS_OF_WHOLE: Rule = Rule {
    id: "priority_parts_of_whole",
    unit: "%",
    formula: "the shares of all priorities sum to the thread's share of CPU time",
};

const ONE_DIGIT: Rule = Rule {
    id: "priority_sum_if_one_digit_differs",
    unit: "%",
    formula: "the sum of the shares if one digit of one of them is changed; it is unknown which one is wrong",
};

/// See [`Kind::doc`].
pub(crate) struct PriorityShares;

impl Kind for PriorityShares {
    fn id(&self) -> &'static str {
        "priority_shares"
    }

    fn doc(&self) -> &'static str {
        "a thread's CPU time by priority: tid, total_cpu_pct, priority_band, cpu_share_pct"
    }

    fn matches(&self, head: &Head) -> bool {
        head.has(&["tid", "total_cpu_pct", "priority_band", "cpu_share_pct"])
    }

    fn check(&self, sheet: &Sheet, _: &CheckContext<'_>, out: &mut StatementSink<'_>) {
        for (tid, rows) in sheet.groups("tid") {
            let shares: Option<Vec<Figure>> = rows.iter().map(|row| sheet.figure(*row, "cpu_share_pct")).collect();
            let whole = rows.first().and_then(|row| sheet.figure(*row, "total_cpu_pct"));
            let (Some(shares), Some(whole)) = (shares, whole) else {
                out.not_evaluated(&PARTS_OF_WHOLE, tid, "a share is not a number");
                continue;
            };
            let sum: Figure = shares.iter().copied().sum();
            out.equal(&PARTS_OF_WHOLE, tid, sum, whole);
            if (sum.value - whole.value).abs() <= sum.rounding + whole.rounding {
                continue;
            }
            for row in rows {
                let (band, share) = (sheet.text(row, "priority_band"), sheet.text(row, "cpu_share_pct"));
                for (other, by) in one_digit_away(share) {
                    // The sum must match to the last printed digit; otherwise most digits would qualify.
                    if (sum.value + by - whole.value).abs() <= whole.rounding {
                        out.value(&ONE_DIGIT, format!("{tid}: {share} of {band} as {other}"), sum.value + by);
                    }
                }
            }
        }
    }
}

/// The numbers that differ from a printed one in one digit, and the differences.
fn one_digit_away(printed: &str) -> Vec<(String, f64)> {
    let Some(before) = Figure::parse(printed).filter(|_| printed.len() < 16) else { return Vec::new() };
    let digits = printed.char_indices().filter(|(_, c)| c.is_ascii_digit());
    let others = digits.flat_map(|(at, was)| {
        let new = ('0'..='9').filter(move |new| *new != was);
        new.map(move |new| format!("{}{new}{}", &printed[..at], &printed[at + 1..]))
    });
    others.filter_map(|other| Figure::parse(&other).map(|f| (other, f.value - before.value))).collect()
}
