//! Numbers and changes in words.

use crate::outcome::{Better, Metric, Outcome, Unit, Verdict};
use model::Ns;
use model::words::{self, TIE, grouped, noun, time};
use stats::{Effect, Method, Scale};

/// The ratio above which a change is written as a factor and not in percent.
pub const FACTOR: f64 = 2.0;

/// Removes what a terminal or a page might interpret: control characters and those that change the direction of text.
/// The space before a percent sign does not break.
pub fn clean(text: &str) -> String {
    let text: String = words::plain(text).chars().map(|c| if turns(c) { '?' } else { c }).collect();
    text.replace(" %", "\u{a0}%").replace(" ×", "\u{a0}×")
}

/// Whether a character changes the direction of the text around it.
fn turns(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns at most `max` characters of cleaned text.
pub fn short(text: &str, max: usize) -> String {
    words::short(&clean(text), max)
}

/// Formats a value with its unit.
pub fn value(unit: Unit, of: f64) -> String {
    if !of.is_finite() {
        return "-".to_owned();
    }
    let sign = if of < 0.0 { "-" } else { "" };
    let size = of.abs();
    match unit {
        Unit::Ns => format!("{sign}{}", time(Ns::nearest(size))),
        Unit::Count | Unit::Other => format!("{sign}{}", number(size)),
        Unit::Ratio => format!("{sign}{:.1}{TIE}%", size * 100.0),
        Unit::Khz if size >= 1e6 => format!("{sign}{:.2}{TIE}GHz", size / 1e6),
        Unit::Khz => format!("{sign}{:.0}{TIE}MHz", size / 1e3),
        Unit::PerSecond => format!("{sign}{}{TIE}per{TIE}s", number(size)),
        Unit::Joule => format!("{sign}{}{TIE}J", number(size)),
    }
}

/// Formats a value that may be unknown.
pub fn value_or_dash(unit: Unit, of: Option<f64>) -> String {
    of.map_or_else(|| "-".to_owned(), |it| value(unit, it))
}

/// Formats a number of 0 or more with about three digits; large ones are whole, or in millions (M), 10⁹ (G) and 10¹² (T).
fn number(of: f64) -> String {
    if let Some((unit, sign)) = [(1e12, 'T'), (1e9, 'G'), (1e6, 'M')].into_iter().find(|(unit, _)| of >= *unit) {
        let many = of / unit;
        return if many < 1e6 { format!("{many:.2}{TIE}{sign}") } else { format!("{of:.2e}") };
    }
    let decimals = match of {
        _ if of >= 100.0 || of == of.round() => return grouped(of.round() as i64),
        _ if of >= 10.0 => 1,
        _ if of >= 1.0 => 2,
        _ => 3,
    };
    format!("{of:.decimals$}")
}

/// Formats a difference in a unit, with its sign.
pub fn signed(unit: Unit, of: f64) -> String {
    let text = match unit {
        // The difference of two percentages is in percentage points.
        Unit::Ratio if of.is_finite() => format!("{:.1}{TIE}points", of * 100.0),
        _ => value(unit, of),
    };
    if of > 0.0 && of.is_finite() { format!("+{text}") } else { text }
}

/// How the numbers of one effect are formatted, so that estimate and interval look alike.
#[derive(Clone, Copy)]
enum Look {
    /// Percent more, with this number of decimals.
    Percent(usize),
    /// A factor, with this number of decimals.
    Factor(usize),
    /// A difference in the unit.
    Difference(Unit),
}

impl Look {
    fn of(metric: &Metric, effect: &Effect) -> Self {
        if effect.scale == Scale::Difference {
            return Self::Difference(metric.unit);
        }
        let percent = ((effect.estimate - 1.0) * 100.0).abs();
        let is_narrow = |limit: f64| effect.interval.is_some_and(|[low, high]| (high - low).abs() < limit);
        match percent {
            _ if effect.estimate > FACTOR => Self::Factor(if is_narrow(0.2) { 2 } else { 1 }),
            _ if percent < 1.0 => Self::Percent(2),
            _ if percent < 10.0 => Self::Percent(1),
            _ => Self::Percent(usize::from(is_narrow(0.1))),
        }
    }

    /// Formats a value with its sign.
    fn signed(self, of: f64) -> String {
        match self {
            _ if !of.is_finite() => "-".to_owned(),
            Self::Percent(_) => {
                let text = self.size(of);
                let zero = !text.contains(|c: char| c.is_ascii_digit() && c != '0');
                let sign = if zero {
                    ""
                } else if of > 1.0 {
                    "+"
                } else {
                    "-"
                };
                format!("{sign}{text}")
            }
            Self::Factor(_) => self.size(of),
            Self::Difference(unit) => signed(unit, of),
        }
    }

    /// Formats the size of a change.
    fn size(self, of: f64) -> String {
        let fixed = |of: f64, decimals: usize| if of < 1e6 { format!("{of:.decimals$}") } else { format!("{of:.1e}") };
        match self {
            Self::Percent(decimals) => fixed(((of - 1.0) * 100.0).abs(), decimals),
            Self::Factor(decimals) => fixed(of, decimals),
            Self::Difference(unit) => signed(unit, of.abs()).trim_start_matches('+').to_owned(),
        }
    }

    /// What follows a value, or both values of an interval.
    fn unit(self) -> String {
        match self {
            Self::Percent(_) => format!("{TIE}%"),
            Self::Factor(_) => format!("{TIE}×"),
            Self::Difference(_) => String::new(),
        }
    }

    /// The value of no change.
    fn none(self) -> f64 {
        if matches!(self, Self::Difference(_)) { 0.0 } else { 1.0 }
    }
}

/// The change with its sign, for a column: `+3.2 %`, `2.9 ×`, `-1.200 ms`.
pub fn estimate(metric: &Metric, effect: &Effect) -> String {
    let look = Look::of(metric, effect);
    if effect.estimate.is_finite() {
        format!("{}{}", look.signed(effect.estimate), look.unit())
    } else {
        "-".to_owned()
    }
}

/// The 95 % interval with signs, for a column: `+2.1 to +4.4 %`.
pub fn interval(metric: &Metric, effect: &Effect) -> Option<String> {
    let look = Look::of(metric, effect);
    let known = effect.interval.filter(|ends| ends.iter().all(|x| x.is_finite()));
    known.map(|[low, high]| format!("{} to {}{}", look.signed(low), look.signed(high), look.unit()))
}

/// The words for less and more of a metric. The time to the end is slower or faster; other times are shorter or longer.
fn directions(metric: &Metric) -> [&'static str; 2] {
    match metric.unit {
        Unit::Ns if metric.id == "elapsed" => ["faster", "slower"],
        Unit::Ns => ["shorter", "longer"],
        Unit::Khz | Unit::PerSecond => ["lower", "higher"],
        _ => ["less", "more"],
    }
}

/// The change of a metric in words: `3.2 % faster (95 % interval 2.1 to 4.4 %)`, `no change larger than 1.2 %` or
/// `unknown: about 6 more runs a side would settle it`. Comparisons begin with it.
#[must_use]
pub fn change_words(outcome: &Outcome) -> String {
    match (outcome.verdict, &outcome.effect) {
        (Verdict::Changed, Some(effect)) => changed(outcome, effect),
        (Verdict::Changed, None) => "changed".to_owned(),
        (Verdict::Same, _) => match outcome.at_most {
            Some(share) if share.is_finite() => format!("no change larger than {}", at_most(share)),
            _ => "no change".to_owned(),
        },
        (Verdict::Unknown, _) => format!("unknown: {}", why_unknown(outcome)),
    }
}

fn changed(outcome: &Outcome, effect: &Effect) -> String {
    let look = Look::of(&outcome.metric, effect);
    let [less, more] = directions(&outcome.metric);
    let word = |of: f64| if of < look.none() { less } else { more };
    let both = match effect.interval {
        Some([low, high]) if word(low) == word(high) => {
            let mut ends = [low, high];
            ends.sort_by(|a, b| (a - look.none()).abs().total_cmp(&(b - look.none()).abs()));
            format!(" (95{TIE}% interval {} to {}{})", look.size(ends[0]), look.size(ends[1]), look.unit())
        }
        _ => interval(&outcome.metric, effect).map_or_else(String::new, |it| format!(" (95{TIE}% interval {it})")),
    };
    format!("{}{} {}{both}", look.size(effect.estimate), look.unit(), word(effect.estimate))
}

/// Why there is no answer, without a full stop.
pub fn why_unknown(outcome: &Outcome) -> String {
    match (outcome.runs_more, &outcome.reason) {
        (Some(runs), _) => format!("about {} a side would settle it", more_runs(runs)),
        (None, Some(reason)) => clean(reason.trim_end_matches('.')),
        (None, None) => "the runs do not suffice".to_owned(),
    }
}

/// A number of additional runs: `6 more runs`.
pub fn more_runs(runs: usize) -> String {
    format!("{}{TIE}more {}", grouped(i64::try_from(runs).unwrap_or(i64::MAX)), noun(runs as u64, "run"))
}

/// Formats a share that is a limit: rounded up, so that the limit holds.
pub fn at_most(share: f64) -> String {
    // The tolerance keeps what was written as 1.2 % from becoming 1.3 %.
    format!("{:.1}{TIE}%", ((share * 1000.0 - 1e-6).ceil() / 10.0).max(0.1))
}

/// Whether a change is better or worse for the user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sense {
    /// Better.
    Better,
    /// Worse.
    Worse,
    /// Changed; neither is better.
    Changed,
    /// No change.
    Same,
    /// Unknown.
    Unknown,
}

impl Sense {
    /// The sense of an outcome.
    pub fn of(outcome: &Outcome) -> Self {
        let Some(effect) = outcome.effect.filter(|_| outcome.verdict == Verdict::Changed) else {
            return match outcome.verdict {
                Verdict::Same => Self::Same,
                Verdict::Unknown => Self::Unknown,
                Verdict::Changed => Self::Changed,
            };
        };
        let is_more = effect.estimate > if effect.scale == Scale::Ratio { 1.0 } else { 0.0 };
        match outcome.metric.better {
            Better::Neither => Self::Changed,
            Better::Less => {
                if is_more {
                    Self::Worse
                } else {
                    Self::Better
                }
            }
            Better::More => {
                if is_more {
                    Self::Better
                } else {
                    Self::Worse
                }
            }
        }
    }

    /// The word for users.
    pub fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Changed => "changed",
            Self::Same => "same",
            Self::Unknown => "unknown",
        }
    }

    /// A sign that differs in shape from the others.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Better => "✓",
            Self::Worse => "✗",
            Self::Changed => "≠",
            Self::Same => "=",
            Self::Unknown => "?",
        }
    }
}

/// The name of a metric with its unit of work: `ready time per frame`.
pub fn title(metric: &Metric) -> String {
    match &metric.per {
        Some(per) => format!("{} per {}", clean(&metric.title), clean(per)),
        None => clean(&metric.title),
    }
}

/// How an effect was found: the estimate, and the test if it has a name of its own.
pub fn method(of: Method) -> (&'static str, Option<&'static str>) {
    match of {
        Method::RankSum => ("Hodges-Lehmann shift", Some("exact rank-sum test")),
        Method::SignedRank => ("median of Walsh averages", Some("exact signed-rank test")),
        Method::Student => ("Student's t", None),
        Method::Blocks => ("block bootstrap within the runs", None),
        Method::None => ("no interval", None),
    }
}

/// Formats a p-value with two significant digits.
pub fn p_value(p: f64) -> String {
    match p {
        p if p < 0.0001 => format!("p{TIE}<{TIE}0.0001"),
        p if p < 0.001 => format!("p{TIE}={TIE}{p:.4}"),
        p if p < 0.01 => format!("p{TIE}={TIE}{p:.3}"),
        p => format!("p{TIE}={TIE}{p:.2}"),
    }
}

/// Formats round values of an axis alike: one unit, and the decimals that their distance needs.
pub fn ticks(unit: Unit, of: &[f64]) -> Vec<String> {
    let most = of.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let step = of.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(f64::INFINITY, f64::min);
    let (by, name) = match unit {
        Unit::Ns if most >= 1e9 => (1e9, "s"),
        Unit::Ns if most >= 1e6 => (1e6, "ms"),
        Unit::Ns if most >= 1e3 => (1e3, "us"),
        Unit::Ns => (1.0, "ns"),
        Unit::Ratio => (0.01, "%"),
        _ => return of.iter().map(|x| value(unit, *x)).collect(),
    };
    // Steps are 1, 2 or 5 times a power of ten.
    let decimals = (-(step / by * 1.000_001).log10().floor()).clamp(0.0, 6.0) as usize;
    of.iter().map(|x| format!("{:.decimals$}{TIE}{name}", x / by)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::samples::{effect, outcome};

    fn in_words(unit: Unit, better: Better, scale: Scale, numbers: [f64; 3]) -> String {
        let mut of = outcome("x", unit, better, Some(effect(scale, numbers)));
        of.metric.id = "elapsed".to_owned();
        change_words(&of).replace(TIE, " ")
    }

    #[test]
    fn changes_are_in_plain_words() {
        let time = |numbers| in_words(Unit::Ns, Better::Less, Scale::Ratio, numbers);
        assert_eq!(time([0.968, 0.956, 0.979]), "3.2 % faster (95 % interval 2.1 to 4.4 %)");
        assert_eq!(time([1.032, 1.021, 1.044]), "3.2 % slower (95 % interval 2.1 to 4.4 %)");
        assert_eq!(time([2.999, 2.95, 3.04]), "3.00 × slower (95 % interval 2.95 to 3.04 ×)");
        assert_eq!(time([1.01, 0.99, 1.02]), "1.0 % slower (95 % interval -1.0 to +2.0 %)", "across no change");
        let rate = |numbers| in_words(Unit::PerSecond, Better::More, Scale::Ratio, numbers);
        assert_eq!(rate([1.25, 1.1, 1.4]), "25 % higher (95 % interval 10 to 40 %)");
        let share = |numbers| in_words(Unit::Ratio, Better::Less, Scale::Difference, numbers);
        assert_eq!(share([-0.05, -0.06, -0.04]), "5.0 points less (95 % interval 4.0 points to 6.0 points)");
    }

    #[test]
    fn signs_of_columns() {
        let of = outcome("x", Unit::Ns, Better::Less, None);
        let both = |scale, numbers| {
            let effect = effect(scale, numbers);
            let columns = [estimate(&of.metric, &effect), interval(&of.metric, &effect).unwrap()];
            columns.map(|words| words.replace(TIE, " "))
        };
        assert_eq!(both(Scale::Ratio, [1.032, 0.9, 1.5]), ["+3.2 %", "-10.0 to +50.0 %"]);
        assert_eq!(both(Scale::Ratio, [1.0, 0.9999999, 1.01]), ["0.00 %", "0.00 to +1.00 %"], "no signed zero");
        assert_eq!(both(Scale::Difference, [-1.2e6, -2e6, 500.0]), ["-1.200 ms", "-2.000 ms to +500 ns"]);
        assert_eq!(both(Scale::Ratio, [1e300, 0.5, 1e308]), ["1.0e300 ×", "0.5 to 1.0e308 ×"]);
        assert_eq!(both(Scale::Ratio, [f64::NAN, 0.9, 1.0])[0], "-");
    }

    #[test]
    fn values_have_units() {
        let of = |unit, x| value(unit, x).replace(TIE, " ");
        assert_eq!(of(Unit::Ns, 1.5e6), "1.500 ms");
        assert_eq!(of(Unit::Ns, -1.5e6), "-1.500 ms");
        assert_eq!(of(Unit::Khz, 2.41e6), "2.41 GHz");
        assert_eq!(of(Unit::Ratio, 0.123), "12.3 %");
        assert_eq!(of(Unit::Count, 12_345.6), "12 346");
        assert_eq!(of(Unit::Count, 0.25), "0.250");
        assert_eq!(of(Unit::Count, 41.2e9), "41.20 G");
        assert_eq!(of(Unit::Other, 1e300), "1.00e300");
        assert_eq!(of(Unit::Joule, 12.34), "12.3 J");
        assert_eq!(of(Unit::Other, f64::NAN), "-");
    }

    #[test]
    fn limits_are_rounded_up() {
        assert_eq!(
            [0.0003, 0.012, 0.01201, 0.0].map(|x| at_most(x).replace(TIE, " ")),
            ["0.1 %", "1.2 %", "1.3 %", "0.1 %"]
        );
    }

    #[test]
    fn ticks_have_one_unit_and_no_needless_decimals() {
        let of = |unit, values: &[f64]| ticks(unit, values).join(", ").replace(TIE, " ");
        assert_eq!(of(Unit::Ns, &[0.98e9, 1e9, 1.02e9]), "0.98 s, 1.00 s, 1.02 s");
        assert_eq!(of(Unit::Ns, &[15e6, 20e6]), "15 ms, 20 ms");
        assert_eq!(of(Unit::Ratio, &[0.0, 0.05]), "0 %, 5 %");
    }

    #[test]
    fn text_cannot_steer_a_terminal() {
        assert_eq!(clean("a\u{1b}[2J\u{202e}b\n"), "a?[2J?b?");
        assert_eq!(short("abcdefgh", 4), "abc~");
    }
}
