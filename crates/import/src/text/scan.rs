//! Numbers and words at the begin of a text, each with what follows it.

use model::Ns;

/// Decimal digits that always fit in 64 bits.
const ALWAYS_FITS: usize = 19;

/// What stands behind blanks and tabs.
#[inline]
pub(crate) fn blanks(text: &[u8]) -> &[u8] {
    let at = text.iter().position(|b| !matches!(b, b' ' | b'\t')).unwrap_or(text.len());
    &text[at..]
}

/// A decimal number; `None` where there is none, or one beyond 64 bits.
#[inline]
pub(crate) fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let digit = |b: &u8| Some(u64::from(b.wrapping_sub(b'0'))).filter(|d| *d < 10);
    let (mut value, mut at) = (0_u64, 0);
    while let Some(digit) = text.get(at).and_then(digit) {
        value = value.wrapping_mul(10).wrapping_add(digit);
        at += 1;
    }
    let (digits, rest) = text.split_at(at);
    if at > ALWAYS_FITS {
        let exact = |sum: u64, b: &u8| sum.checked_mul(10)?.checked_add(digit(b)?);
        return Some((digits.iter().try_fold(0, exact)?, rest));
    }
    (at > 0).then_some((value, rest))
}

/// A number as the kernel prints fields: decimal, with a sign or not, or hexadecimal behind `0x`. Numbers that only fit in
/// 64 bits without a sign keep their bits, as in a record.
#[inline]
pub(crate) fn integer(text: &[u8]) -> Option<(i64, &[u8])> {
    match text {
        [b'-', rest @ ..] => number(rest).map(|(value, rest)| (0_i64.wrapping_sub(value as i64), rest)),
        [b'0', b'x', rest @ ..] => hexadecimal(rest).map(|(value, rest)| (value as i64, rest)),
        _ => number(text).map(|(value, rest)| (value as i64, rest)),
    }
}

/// A hexadecimal number of up to 16 digits, without a prefix.
#[inline]
pub(crate) fn hexadecimal(text: &[u8]) -> Option<(u64, &[u8])> {
    let digits = text.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    if digits == 0 || digits > 16 {
        return None;
    }
    let value = text[..digits].iter().fold(0, |sum, b| sum << 4 | u64::from(char::from(*b).to_digit(16).unwrap_or(0)));
    Some((value, &text[digits..]))
}

/// A time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    pub(crate) at: Ns,
    /// Digits behind the point; `None` where there is no point, and the number is one of nanoseconds (or of whatever the
    /// chosen clock counts).
    pub(crate) digits: Option<u8>,
}

/// Three centuries: what follows never overflows.
const MOST_SECONDS: u64 = 9_000_000_000;
/// A smaller bare number counts events, and is no time.
const FEWEST_DIGITS: usize = 6;

/// `seconds.fraction`, exact to the nanosecond.
#[inline]
pub(crate) fn seconds(text: &[u8]) -> Option<(Stamp, &[u8])> {
    const SCALE: [u32; 10] = [1_000_000_000, 100_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];
    let (seconds, rest) = number(text)?;
    let fraction = rest.strip_prefix(b".")?;
    let (value, rest) = number(fraction)?;
    let digits = fraction.len() - rest.len();
    if seconds > MOST_SECONDS || digits > 9 {
        return None;
    }
    let ns = seconds * 1_000_000_000 + value * u64::from(SCALE[digits]);
    Some((Stamp { at: Ns(i64::try_from(ns).ok()?), digits: Some(digits as u8) }, rest))
}

/// The time of a line and the colon behind it: `seconds.fraction:`, or a bare number of some of ftrace's clocks.
#[inline]
pub(crate) fn stamp(text: &[u8]) -> Option<(Stamp, &[u8])> {
    let (stamp, rest) = match seconds(text) {
        Some(found) => found,
        None => {
            let (value, rest) = number(text).filter(|(_, rest)| text.len() - rest.len() >= FEWEST_DIGITS)?;
            let at = Ns(i64::try_from(value).ok().filter(|at| *at <= MOST_SECONDS as i64 * 1_000_000_000)?);
            (Stamp { at, digits: None }, rest)
        }
    };
    let rest = rest.strip_prefix(b":")?;
    rest.first().is_none_or(|b| matches!(b, b' ' | b'\t')).then_some((stamp, rest))
}

/// An event's name without its system, and its arguments: `sched:sched_switch: prev_comm=…`. The name is empty where no
/// colon ends it (the function tracer).
#[inline]
pub(crate) fn event(text: &[u8]) -> (&[u8], &[u8]) {
    let text = blanks(text);
    let end = text.iter().position(|b| matches!(b, b' ' | b'\t')).unwrap_or(text.len());
    let Some(name) = text[..end].strip_suffix(b":") else { return (b"", text) };
    let system = memchr::memrchr(b':', name).map_or(0, |at| at + 1);
    (&name[system..], blanks(&text[end..]))
}

/// Where `what` stands first.
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

/// Where `what` stands last.
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
    fn places() {
        assert_eq!(find(b"a  pid=1 pid=2", b" pid="), Some(2));
        assert_eq!(find_last(b"a pid=1 pid=2", b" pid="), Some(7));
        assert_eq!(find(b"abc", b"abcd"), None);
        assert_eq!(find(b"", b"a"), None);
    }
}
