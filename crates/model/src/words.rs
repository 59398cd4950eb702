//! Number formatting for people.

use crate::{Amount, Ns};

/// Formats nanoseconds as milliseconds with three decimals and grouped thousands.
///
/// ```
/// use model::Ns;
/// use model::words::ms;
///
/// assert_eq!(ms(Ns(1_500_000)), "1.500");
/// assert_eq!(ms(Ns(1_234_567_890)), "1\u{a0}234.568", "a no-break space");
/// assert_eq!(ms(Ns(-1)), "0.000", "no negative zero");
/// ```
#[must_use]
pub fn ms(Ns(ns): Ns) -> String {
    let micros = (i128::from(ns).abs() + 500) / 1000;
    let sign = if ns < 0 && micros > 0 { "-" } else { "" };
    format!("{sign}{}.{:03}", grouped((micros / 1000) as i64), micros % 1000)
}

/// Formats a number with grouped thousands.
///
/// ```
/// use model::words::{TIE, grouped};
///
/// assert_eq!(grouped(-999), "-999");
/// assert_eq!(grouped(1_000_000).replace(TIE, " "), "1 000 000");
/// ```
#[must_use]
pub fn grouped(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut out = String::from(if n < 0 { "-" } else { "" });
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(TIE);
        }
        out.push(digit);
    }
    out
}

/// A no-break space, printed as a space: keeps words on one line.
pub const TIE: char = '\u{a0}';

/// Formats a share: `12.3 %`. A share that is not 0 but rounds to 0 is `<0.1 %`.
///
/// ```
/// use model::words::{TIE, percent};
///
/// assert_eq!(percent(1, 3).replace(TIE, " "), "33.3 %");
/// assert_eq!(percent(1, 100_000).replace(TIE, " "), "<0.1 %", "little is not nothing");
/// assert_eq!(percent(0, 0).replace(TIE, " "), "- %", "a share of nothing");
/// ```
#[must_use]
pub fn percent<A: Amount>(part: A, whole: A) -> String {
    format!("{}{TIE}%", share(part, whole))
}

/// Formats a share without the percent sign, for a column.
///
/// ```
/// use model::words::share;
///
/// assert_eq!([share(1, 8), share(1, 100_000), share(0, 8), share(1, 0)], ["12.5", "<0.1", "0.0", "-"]);
/// ```
#[must_use]
pub fn share<A: Amount>(part: A, whole: A) -> String {
    let [part, whole] = [part, whole].map(A::number);
    if whole <= 0 { "-".to_owned() } else { one_decimal(part as f64 * 100.0 / whole as f64) }
}

/// Formats a share of 1, as [`percent`] does.
///
/// ```
/// use model::words::{TIE, percent_of};
///
/// let texts = [0.123, 0.0001, 0.0, 1.0, f64::NAN].map(|of| percent_of(of).replace(TIE, " "));
/// assert_eq!(texts, ["12.3 %", "<0.1 %", "0.0 %", "100.0 %", "- %"]);
/// ```
#[must_use]
pub fn percent_of(share: f64) -> String {
    format!("{}{TIE}%", share_of(share))
}

/// Formats a share of 1 without the percent sign, for a column.
///
/// ```
/// use model::words::share_of;
///
/// assert_eq!([share_of(0.125), share_of(0.0004), share_of(-0.5)], ["12.5", "<0.1", "-50.0"]);
/// ```
#[must_use]
pub fn share_of(share: f64) -> String {
    one_decimal(share * 100.0)
}

/// Little is not nothing.
fn one_decimal(percent: f64) -> String {
    match percent {
        _ if !percent.is_finite() => "-".to_owned(),
        _ if percent > 0.0 && percent < 0.05 => "<0.1".to_owned(),
        _ => format!("{percent:.1}"),
    }
}

/// Returns a text with spaces instead of no-break spaces, for what is not wrapped.
#[must_use]
pub fn untied(text: &str) -> String {
    text.replace(TIE, " ")
}

/// Formats a duration in a suitable unit.
///
/// ```
/// use model::Ns;
/// use model::words::{TIE, time};
///
/// let texts = [999, 1_500, 2_000_000, 3_000_000_000].map(|ns| time(Ns(ns)).replace(TIE, " "));
/// assert_eq!(texts, ["999 ns", "1.5 us", "2.000 ms", "3.000 s"]);
/// ```
#[must_use]
pub fn time(Ns(ns): Ns) -> String {
    match ns {
        ..1_000 => format!("{ns}{TIE}ns"),
        1_000..1_000_000 => format!("{:.1}{TIE}us", ns as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.3}{TIE}ms", ns as f64 / 1e6),
        _ => format!("{:.3}{TIE}s", ns as f64 / 1e9),
    }
}

/// Formats a size in a suitable unit.
///
/// ```
/// use model::words::{TIE, bytes};
///
/// // Units are decimal: 1 kB is 1000 bytes.
/// assert_eq!([999, 1_000, 2_500_000].map(|n| bytes(n).replace(TIE, " ")), ["999 bytes", "1.0 kB", "2.5 MB"]);
/// ```
#[must_use]
pub fn bytes(n: i64) -> String {
    match n {
        ..1_000 => format!("{n}{TIE}bytes"),
        1_000..1_000_000 => format!("{:.1}{TIE}kB", n as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1}{TIE}MB", n as f64 / 1e6),
        _ => format!("{:.2}{TIE}GB", n as f64 / 1e9),
    }
}

/// Formats a time of `CLOCK_REALTIME`, in ns since 1970, as a date.
///
/// ```
/// assert_eq!(model::words::date(1_795_226_645_999_000_000), "2026-11-21 02:04:05 UTC");
/// assert_eq!(model::words::date(-1), "1969-12-31 23:59:59 UTC");
/// assert_eq!(model::words::date(951_782_400_000_000_000), "2000-02-29 00:00:00 UTC");
/// ```
#[must_use]
pub fn date(ns: i64) -> String {
    let seconds = ns.div_euclid(1_000_000_000);
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Years of this calculation begin in March, so that a leap day is the last day of its year. Day 0 is 0000-03-01.
    let day = days + 719_468;
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + 400 * era + i64::from(month < 3);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC", of_day / 3600, of_day / 60 % 60, of_day % 60)
}

/// Formats a count and a noun: `1 thread`, `2 threads`.
///
/// ```
/// use model::words::{TIE, plural};
///
/// let texts = [0, 1, 2_000].map(|n| plural(n, "thread").replace(TIE, " "));
/// assert_eq!(texts, ["0 threads", "1 thread", "2 000 threads"]);
/// assert_eq!(plural(2, "process").replace(TIE, " "), "2 processes");
/// ```
#[must_use]
pub fn plural(n: u64, word: &str) -> String {
    format!("{}{TIE}{}", grouped(n.cast_signed()), noun(n, word))
}

/// A noun for a number: the singular for 1, otherwise the plural.
///
/// ```
/// use model::words::noun;
///
/// assert_eq!([noun(1, "event"), noun(0, "event"), noun(2, "bus")], ["event", "events", "buses"]);
/// ```
#[must_use]
pub fn noun(n: u64, word: &str) -> String {
    let ending = match n {
        1 => "",
        _ if word.ends_with('s') => "es",
        _ => "s",
    };
    format!("{word}{ending}")
}

/// Replaces control characters, which a terminal might interpret or not show.
///
/// ```
/// // A thread may name itself so that a terminal clears the screen.
/// assert_eq!(model::words::plain("a\u{1b}[2J"), "a?[2J");
/// ```
#[must_use]
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Returns at most `max_chars` characters, without control characters.
///
/// ```
/// use model::words::short;
///
/// assert_eq!(short("kworker/u8:2-events", 10), "kworker/u~");
/// assert_eq!(short("redis", 10), "redis");
/// ```
#[must_use]
pub fn short(text: &str, max_chars: usize) -> String {
    let text = plain(text);
    if text.chars().count() <= max_chars {
        return text;
    }
    let mut out: String = text.chars().take(max_chars.saturating_sub(1)).collect();
    out.push('~');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(ms(Ns(1_234_567_890)), "1\u{a0}234.568");
        assert_eq!(ms(Ns(499)), "0.000");
        assert_eq!(ms(Ns(-1_500_000)), "-1.500");
        assert_eq!(grouped(1_000_000), "1\u{a0}000\u{a0}000");
        assert_eq!(grouped(-999), "-999");
        assert_eq!(percent(1, 3), "33.3\u{a0}%");
        assert_eq!(share(1, 100_000), "<0.1");
        assert_eq!(share(0, 5), "0.0");
        assert_eq!(share(5, 0), "-");
        assert_eq!(time(Ns(1_500)), "1.5\u{a0}us");
        assert_eq!(bytes(2_500_000), "2.5\u{a0}MB");
        assert_eq!(plural(1, "thread"), "1\u{a0}thread");
        assert_eq!(short("kworker/u8:2-events", 10), "kworker/u~");
        assert_eq!(plain("a\u{1b}[2J"), "a?[2J");
    }
}
