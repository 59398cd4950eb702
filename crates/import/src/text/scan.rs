//! Numbers and words at the start of a text, each returned with the text that follows.

use model::Ns;

/// A decimal number of so many digits always fits in 64 bits.
const SAFE_DIGITS: usize = 19;

/// Skips blanks and tabs.
#[inline]
pub(crate) fn blanks(text: &[u8]) -> &[u8] {
    let at = text.iter().position(|b| !matches!(b, b' ' | b'\t')).unwrap_or(text.len());
    &text[at..]
}

/// Parses a decimal number; `None` if there is none, or if it exceeds 64 bits.
#[inline]
pub(crate) fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let digit = |b: &u8| Some(u64::from(b.wrapping_sub(b'0'))).filter(|d| *d < 10);
    let (mut value, mut at) = (0_u64, 0);
    while let Some(digit) = text.get(at).and_then(digit) {
        value = value.wrapping_mul(10).wrapping_add(digit);
        at += 1;
    }
    let (digits, rest) = text.split_at(at);
    if at > SAFE_DIGITS {
        let exact = |sum: u64, b: &u8| sum.checked_mul(10)?.checked_add(digit(b)?);
        return Some((digits.iter().try_fold(0, exact)?, rest));
    }
    (at > 0).then_some((value, rest))
}

/// Parses a number as the kernel prints fields: decimal with or without a sign, or hexadecimal after `0x`. Numbers that
/// fit in 64 bits only without a sign keep their bits, as in a binary record.
#[inline]
pub(crate) fn integer(text: &[u8]) -> Option<(i64, &[u8])> {
    match text {
        [b'-', rest @ ..] => number(rest).map(|(value, rest)| (0_i64.wrapping_sub(value as i64), rest)),
        [b'0', b'x', rest @ ..] => hexadecimal(rest).map(|(value, rest)| (value as i64, rest)),
        _ => number(text).map(|(value, rest)| (value as i64, rest)),
    }
}

/// Parses a hexadecimal number of up to 16 digits, without a prefix.
#[inline]
pub(crate) fn hexadecimal(text: &[u8]) -> Option<(u64, &[u8])> {
    let digits = text.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    if digits == 0 || digits > 16 {
        return None;
    }
    let value = text[..digits].iter().fold(0, |sum, b| sum << 4 | u64::from(char::from(*b).to_digit(16).unwrap_or(0)));
    Some((value, &text[digits..]))
}

/// A timestamp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    pub(crate) at: Ns,
    /// The number of digits after the decimal point; `None` if there is no point and the number counts nanoseconds (or
    /// the units of the trace's clock).
    pub(crate) digits: Option<u8>,
}

/// About three centuries, so that later calculations never overflow.
const MAX_SECONDS: u64 = 9_000_000_000;
/// A bare number with fewer digits is an event counter, not a time.
const MIN_DIGITS: usize = 6;

/// Parses `seconds.fraction`, exact to the nanosecond.
#[inline]
pub(crate) fn seconds(text: &[u8]) -> Option<(Stamp, &[u8])> {
    const SCALE: [u32; 10] = [1_000_000_000, 100_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];
    let (seconds, rest) = number(text)?;
    let fraction = rest.strip_prefix(b".")?;
    let (value, rest) = number(fraction)?;
    let digits = fraction.len() - rest.len();
    if seconds > MAX_SECONDS || digits > 9 {
        return None;
    }
    let ns = seconds * 1_000_000_000 + value * u64::from(SCALE[digits]);
    Some((Stamp { at: Ns(i64::try_from(ns).ok()?), digits: Some(digits as u8) }, rest))
}

/// Parses the timestamp of a line and the colon after it: `seconds.fraction:`, or the bare number of some ftrace
/// clocks.
#[inline]
pub(crate) fn stamp(text: &[u8]) -> Option<(Stamp, &[u8])> {
    let (stamp, rest) = match seconds(text) {
        Some(found) => found,
        None => {
            let (value, rest) = number(text).filter(|(_, rest)| text.len() - rest.len() >= MIN_DIGITS)?;
            let at = Ns(i64::try_from(value).ok().filter(|at| *at <= MAX_SECONDS as i64 * 1_000_000_000)?);
            (Stamp { at, digits: None }, rest)
        }
    };
    let rest = rest.strip_prefix(b":")?;
    rest.first().is_none_or(|b| matches!(b, b' ' | b'\t')).then_some((stamp, rest))
}

/// Splits an event into its name without its subsystem, and its arguments: `sched:sched_switch: prev_comm=…`. The name
/// is empty if no colon ends it (function tracer).
#[inline]
pub(crate) fn event(text: &[u8]) -> (&[u8], &[u8]) {
    let text = blanks(text);
    let end = text.iter().position(|b| matches!(b, b' ' | b'\t')).unwrap_or(text.len());
    let Some(name) = text[..end].strip_suffix(b":") else { return (b"", text) };
    let system = memchr::memrchr(b':', name).map_or(0, |at| at + 1);
    (&name[system..], blanks(&text[end..]))
}

/// Returns the first place of `what`.
#[inline]
pub(crate) fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    let (first, rest) = what.split_first()?;
    let mut from = 0;
    loop {
        let at = from + text.get(from..)?.iter().position(|b| b == first)?;
        if text[at + 1..].starts_with(rest) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// Returns the last place of `what`.
pub(crate) fn find_last(text: &[u8], what: &[u8]) -> Option<usize> {
    memchr::memmem::rfind(text, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(text: &str) -> Option<(i64, Option<u8>)> {
        stamp(text.as_bytes()).map(|(s, _)| (s.at.0, s.digits))
    }

    #[test]
    fn times_are_exact() {
        assert_eq!(ns("2568.581851: x"), Some((2_568_581_851_000, Some(6))));
        assert_eq!(ns("2568.581851001: x"), Some((2_568_581_851_001, Some(9))));
        assert_eq!(ns("0.0:"), Some((0, Some(1))));
        assert_eq!(ns("9000000000.999999999: x"), Some((9_000_000_000_999_999_999, Some(9))));
        assert_eq!(ns("2225260588988: x"), Some((2_225_260_588_988, None)));
        for wrong in
            ["", "1.: x", ".5: x", "1.2 x", "1.2:x", "1.0000000001: x", "99999999999.0: x", "1e3: x", "12345: x"]
        {
            assert_eq!(ns(wrong), None, "{wrong}");
        }
        assert_eq!(ns("99999999999999999999999: x"), None);
    }

    #[test]
    fn numbers_as_the_kernel_prints_them() {
        for (text, value) in
            [("-1", -1), ("003", 3), ("0x100", 256), ("18446744073709551615", -1), ("4294967295", 4_294_967_295)]
        {
            assert_eq!(integer(text.as_bytes()).map(|(v, _)| v), Some(value), "{text}");
        }
        for wrong in ["", "-", "x", "0x", "18446744073709551616", "0x11112222333344445"] {
            assert_eq!(integer(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn names_of_events() {
        for (text, name, arguments) in [
            (" sched_switch:   prev", "sched_switch", "prev"),
            ("sched:sched_switch: a: b", "sched_switch", "a: b"),
            ("0: B|1|x", "0", "B|1|x"),
            ("print:", "print", ""),
            ("sys_close <-call", "", "sys_close <-call"),
        ] {
            assert_eq!(event(text.as_bytes()), (name.as_bytes(), arguments.as_bytes()), "{text}");
        }
    }

    #[test]
    fn first_and_last_places() {
        assert_eq!(find(b"a  pid=1 pid=2", b" pid="), Some(2));
        assert_eq!(find_last(b"a pid=1 pid=2", b" pid="), Some(7));
        assert_eq!(find(b"abc", b"abcd"), None);
        assert_eq!(find(b"", b"a"), None);
    }
}
