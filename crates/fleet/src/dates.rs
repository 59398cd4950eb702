//! Dates as recorders write them.

/// Nanoseconds of a second.
const SECOND: i64 = 1_000_000_000;
/// Seconds of a day.
const DAY: i64 = 86_400;

/// Reads a time in UTC, such as `2026-11-27 01:52:12 UTC` or `2026-11-27T01:52:12Z`, ns since 1970. `None` for other forms, whose zone is not known.
pub(crate) fn time(text: &str) -> Option<i64> {
    let (day, rest) = (day(text.get(..10)?)?, text.get(10..)?);
    let (clock, zone) = (rest.get(1..9)?, rest.get(9..)?);
    let zone = zone.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    if !rest.starts_with([' ', 'T']) || !matches!(zone.trim(), "UTC" | "Z" | "+00:00") {
        return None;
    }
    let [hours, minutes, seconds] = numbers(clock, ':')?;
    let is_clock = (0..24).contains(&hours) && (0..60).contains(&minutes) && (0..=60).contains(&seconds);
    is_clock.then(|| (day * DAY + hours * 3600 + minutes * 60 + seconds) * SECOND)
}

/// Reads a date, `2026-11-27`: days since 1970.
pub(crate) fn day(text: &str) -> Option<i64> {
    let [year, month, day] = numbers(text, '-')?;
    if text.len() != 10 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years of this calculation begin in March, so that a leap day is the last day of its year.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * month + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    (date(days * DAY * SECOND) == text).then_some(days)
}

fn numbers(text: &str, between: char) -> Option<[i64; 3]> {
    let all: Vec<i64> = text.split(between).map(|part| part.parse().ok()).collect::<Option<_>>()?;
    all.try_into().ok()
}

/// The date of a time in UTC: `2026-11-27`.
pub(crate) fn date(ns: i64) -> String {
    model::words::date(ns).chars().take(10).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_back() {
        for ns in [0, 951_782_400 * SECOND, 1_795_226_645 * SECOND, -86_400 * SECOND] {
            assert_eq!(time(&model::words::date(ns)), Some(ns));
        }
        assert_eq!(time("2026-11-21T02:04:05.123Z"), Some(1_795_226_645 * SECOND));
        for bad in [
            "",
            "2026-02-30 00:00:00 UTC",
            "2026-11-21 02:04:05",
            "Fri Nov 21 02:04:05 2026",
            "2026-11-21 25:00:00 UTC",
        ] {
            assert_eq!(time(bad), None, "{bad}");
        }
        assert_eq!(date(1_795_226_645 * SECOND), "2026-11-21");
    }
}
