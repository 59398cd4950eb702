//! Times as users write them.

use model::Ns;

/// Reads a time such as `1.5s`, `20ms`, `300us` or `7ns`, digit by digit: clocks since boot have more digits than a double can hold. `None` if it is not
/// a whole number of nanoseconds, has no unit, or is too large.
///
/// ```
/// use engine::exact_time;
/// use model::Ns;
///
/// assert_eq!(exact_time("1700000000.123456789s"), Some(Ns(1_700_000_000_123_456_789)));
/// assert_eq!(exact_time(".5us"), Some(Ns(500)));
/// for bad in ["5", "-1s", "1.2345us", "1e3s", "9999999999999s", " 1s", "s"] {
///     assert_eq!(exact_time(bad), None, "{bad}");
/// }
/// ```
#[must_use]
pub fn exact_time(text: &str) -> Option<Ns> {
    let split = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(split);
    let places = unit_places(unit)?;
    let (integer, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_number = !(integer.is_empty() && fraction.is_empty())
        && integer.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit())
        && fraction.len() <= places;
    let digits = is_number.then(|| format!("{integer}{fraction:0<places$}"))?;
    digits.parse().ok().map(Ns)
}

/// The decimal places of nanoseconds in a unit of [`exact_time`].
fn unit_places(unit: &str) -> Option<usize> {
    match unit {
        "ns" => Some(0),
        "us" => Some(3),
        "ms" => Some(6),
        "s" => Some(9),
        _ => None,
    }
}
