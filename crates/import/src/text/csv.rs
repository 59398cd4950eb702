//! Lines of comma-separated values (RFC 4180 without line breaks in cells), and the numbers in them.

use model::Ns;

/// Splits a line into its cells, without their quotes. Doubled quotes inside a quoted cell are kept doubled.
pub(crate) fn cells<'b>(line: &'b [u8], out: &mut Vec<&'b [u8]>) {
    out.clear();
    let mut rest = line;
    loop {
        let quoted = rest.strip_prefix(b"\"");
        let end = match quoted {
            Some(inside) => 1 + closing(inside),
            None => 0,
        };
        let comma = memchr::memchr(b',', &rest[end..]).map(|at| end + at);
        let cell = rest[..comma.unwrap_or(rest.len())].trim_ascii();
        let bare = cell.strip_prefix(b"\"").and_then(|c| c.strip_suffix(b"\""));
        out.push(bare.unwrap_or(cell));
        match comma {
            Some(at) => rest = &rest[at + 1..],
            None => return,
        }
    }
}

/// Returns where a quoted cell ends, after its closing quote. Two quotes in a row are a literal quote.
fn closing(inside: &[u8]) -> usize {
    let mut at = 0;
    while let Some(quote) = memchr::memchr(b'"', &inside[at..]) {
        at += quote + 1;
        if inside.get(at) != Some(&b'"') {
            return at;
        }
        at += 1;
    }
    inside.len()
}

/// Whether a cell marks a missing value.
pub(crate) fn is_empty(cell: &[u8]) -> bool {
    matches!(cell, b"" | b"NA" | b"-")
}

/// Parses a decimal number; `None` if the cell is not a number or is not finite.
pub(crate) fn decimal(cell: &[u8]) -> Option<f64> {
    std::str::from_utf8(cell).ok()?.parse().ok().filter(|v: &f64| v.is_finite())
}

/// About three years. Longer times are rejected, so that sums of accepted ones never overflow.
const MAX_NS: f64 = 1e17;

/// Converts a number of units of `unit_ns` nanoseconds to a time, rounded to nanoseconds. A double has 15 digits: for
/// times since boot, the last digits of a year-long uptime are the last nanoseconds.
pub(crate) fn time(value: f64, unit_ns: f64) -> Option<Ns> {
    let ns = (value * unit_ns).round();
    (ns.abs() <= MAX_NS).then_some(Ns(ns as i64))
}

/// Returns the median; of an even number of values, the lower middle one.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn split(line: &str) -> Vec<String> {
        let mut out = Vec::new();
        cells(line.as_bytes(), &mut out);
        out.iter().map(|c| String::from_utf8_lossy(c).into_owned()).collect()
    }

    #[test]
    fn commas_inside_quotes_do_not_split_cells() {
        assert_eq!(split("a,b,,c"), ["a", "b", "", "c"]);
        assert_eq!(split("\"A maker Co., Ltd.\",\"x\"\"y,z\", 5 ,"), ["A maker Co., Ltd.", "x\"\"y,z", "5", ""]);
        assert_eq!(split("a,\"never ends, b"), ["a", "\"never ends, b"]);
        assert_eq!(split(""), [""]);
    }

    #[test]
    fn numbers_are_rounded_to_nanoseconds_and_bounded() {
        let parse = |text: &str, unit| decimal(text.as_bytes()).and_then(|v| time(v, unit));
        assert_eq!(parse("16.12340000000000", 1e6), Some(Ns(16_123_400)));
        assert_eq!(parse("0.00412299999999951", 1e9), Some(Ns(4_123_000)));
        assert_eq!(parse("-2.345", 1e6), Some(Ns(-2_345_000)));
        assert_eq!(parse("1234567.1234567", 1e9), Some(Ns(1_234_567_123_456_700)));
        for bad in ["", "NA", "1e300", "inf", "NaN", "0x10", "1,5", "\u{663}"] {
            assert_eq!(parse(bad, 1e9), None, "{bad}");
        }
    }

    #[test]
    fn median_of_a_few_values() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0]), Some(1.0));
        assert_eq!(median(vec![]), None);
    }
}
