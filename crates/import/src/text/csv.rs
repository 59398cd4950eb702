//! Lines of comma-separated values (RFC 4180 without line ends in cells), and the numbers in them.

use model::Ns;

/// The cells of a line, without their quotes; those of a quoted cell in which quotes are doubled keep them so.
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

/// Where a quoted cell ends, behind its last quote; two quotes are one of the cell's own.
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

/// A cell of which a log says that it holds nothing.
pub(crate) fn is_empty(cell: &[u8]) -> bool {
    matches!(cell, b"" | b"NA" | b"-")
}

/// A decimal number; `None` where the cell is none, or none that is finite.
pub(crate) fn decimal(cell: &[u8]) -> Option<f64> {
    std::str::from_utf8(cell).ok()?.parse().ok().filter(|v: &f64| v.is_finite())
}

/// Three years: longer times are none, and what is summed of shorter ones never overflows.
const LONGEST_NS: f64 = 1e17;

/// A number of units of so many nanoseconds, rounded to nanoseconds. A double has 15 digits: of times since a machine's start
/// the last nanoseconds of a year are its last ones.
pub(crate) fn time(value: f64, unit_ns: f64) -> Option<Ns> {
    let ns = (value * unit_ns).round();
    (ns.abs() <= LONGEST_NS).then_some(Ns(ns as i64))
}

/// The middle one; the lower of two.
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
    fn commas_between_quotes_part_nothing() {
        assert_eq!(split("a,b,,c"), ["a", "b", "", "c"]);
        assert_eq!(split("\"A maker Co., Ltd.\",\"x\"\"y,z\", 5 ,"), ["A maker Co., Ltd.", "x\"\"y,z", "5", ""]);
        assert_eq!(split("a,\"never ends, b"), ["a", "\"never ends, b"]);
        assert_eq!(split(""), [""]);
    }

    #[test]
    fn numbers_are_rounded_to_nanoseconds_and_bounded() {
        let of = |text: &str, unit| decimal(text.as_bytes()).and_then(|v| time(v, unit));
        assert_eq!(of("16.12340000000000", 1e6), Some(Ns(16_123_400)));
        assert_eq!(of("0.00412299999999951", 1e9), Some(Ns(4_123_000)));
        assert_eq!(of("-2.345", 1e6), Some(Ns(-2_345_000)));
        assert_eq!(of("1234567.1234567", 1e9), Some(Ns(1_234_567_123_456_700)));
        for bad in ["", "NA", "1e300", "inf", "NaN", "0x10", "1,5", "\u{663}"] {
            assert_eq!(of(bad, 1e9), None, "{bad}");
        }
    }

    #[test]
    fn the_middle_of_a_few() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0]), Some(1.0));
        assert_eq!(median(vec![]), None);
    }
}
