//! Points in time: determines their unit if the log does not state it.

use super::columns::{Columns, Unit};
use crate::text::csv::{decimal, median, time};
use model::Ns;

/// The usual rate of QueryPerformanceCounter since Windows 10.
const USUAL_RATE: f64 = 1e7;
/// A rate this close to the usual one is taken for it, since the frames' own times are rounded.
const TOLERANCE: f64 = 1e-3;

/// How a column of points in time is read.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Clock {
    /// A number of units of so many nanoseconds.
    Units(f64),
    /// The local date and time.
    Date,
}

impl Clock {
    /// Reads the time in a cell.
    pub(super) fn read(self, cell: &[u8]) -> Option<Ns> {
        match self {
            // PresentMon 1 can write dates into the column TimeInSeconds.
            Self::Units(_) if memchr::memchr(b':', cell).is_some() => date(cell),
            Self::Units(unit_ns) => time(decimal(cell)?, unit_ns),
            Self::Date => date(cell),
        }
    }
}

/// The unit of the log's points in time, according to its frame times.
pub(super) struct Rate {
    pub(super) clock: Clock,
    /// A warning for the user.
    pub(super) warning: Option<String>,
}

/// Determines the unit. `steps` are pairs of how far the column advanced from one frame to the next, and of that
/// frame's own time in milliseconds.
pub(super) fn rate(unit: Unit, steps: &[(f64, f64)]) -> Rate {
    let ratios = steps.iter().filter(|(step, ms)| *step > 0.0 && *ms > 0.0).map(|(step, ms)| step / ms);
    let measured = median(ratios.collect());
    let known = |unit_ns| Rate { clock: Clock::Units(unit_ns), warning: None };
    match (unit, measured) {
        (Unit::Date, _) => Rate { clock: Clock::Date, warning: None },
        (Unit::Seconds, _) => known(1e9),
        (Unit::Milliseconds, _) => known(1e6),
        // A thousandth of a frame time, the frame time, and its ticks on any machine differ so much that rounding
        // cannot confuse them.
        (Unit::Unknown, Some(ratio)) if ratio < 0.03 => known(1e9),
        (Unit::Unknown, Some(ratio)) if ratio < 30.0 => known(1e6),
        (Unit::Unknown, None) => known(1e6),
        (Unit::Unknown | Unit::Ticks, Some(ratio)) => ticks(ratio * 1000.0),
        (Unit::Ticks, None) => Rate {
            clock: Clock::Units(1e9 / USUAL_RATE),
            warning: Some(
                "The rate of the performance counter is unknown, since there are too few frames. It is read as 10 MHz, \
                 which is usual since Windows 10."
                    .to_owned(),
            ),
        },
    }
}

fn ticks(rate: f64) -> Rate {
    if (rate / USUAL_RATE - 1.0).abs() < TOLERANCE {
        return Rate { clock: Clock::Units(1e9 / USUAL_RATE), warning: None };
    }
    let warning = format!(
        "The rate of the performance counter is estimated from the frame times: {rate:.0} ticks per second. Points \
         in time have that accuracy."
    );
    Rate { clock: Clock::Units(1e9 / rate), warning: Some(warning) }
}

/// The unit and index of the column of frame starts, or of presents if there is none.
pub(super) fn unit(columns: &Columns) -> Option<(Unit, usize)> {
    columns.start_time().or(columns.present_time())
}

/// Parses `2024-1-5 9:05:07.000012300` to a time since 1970, as if it were in UTC.
fn date(cell: &[u8]) -> Option<Ns> {
    let text = std::str::from_utf8(cell).ok()?;
    let (day, clock) = text.trim().split_once([' ', 'T'])?;
    let mut day = day.split('-').map(|n| n.parse::<i64>().ok());
    let (year, month, day) = (day.next()??, day.next()??, day.next()??);
    let mut clock = clock.split(':');
    let (hour, minute): (i64, i64) = (clock.next()?.parse().ok()?, clock.next()?.parse().ok()?);
    let second = time(decimal(clock.next()?.as_bytes())?, 1e9)?;
    let fits = (1970..2200).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..61_000_000_000).contains(&second.0);
    fits.then(|| Ns(((days(year, month, day) * 24 + hour) * 60 + minute) * 60_000_000_000 + second.0))
}

/// Returns the days from 1970 to a day of the Gregorian calendar. Years are counted from March, so that a leap day is
/// the last day of a year.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn dates_are_parsed() {
        let parse = |text: &str| Clock::Date.read(text.as_bytes()).map(|t| t.0);
        assert_eq!(parse("1970-1-1 0:00:00.000000000"), Some(0));
        assert_eq!(parse("1970-3-1 0:00:00.0"), Some(59 * 86_400_000_000_000));
        assert_eq!(parse("2020-04-30 12:00:30.5"), Some(1_588_248_030_500_000_000));
        assert_eq!(parse("2024-2-29 23:59:59.000000100"), Some(1_709_251_199_000_000_100));
        for bad in ["", "2020-04-30", "12:00:30", "2019-13-01 0:00:00", "99999-1-1 0:00:00", "2019-1-1 0:00:-1"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        assert_eq!(Clock::Units(1e9).read(b"1970-1-1 0:00:01.5"), Some(Ns(1_500_000_000)));
    }

    #[test]
    fn frame_times_determine_the_unit() {
        let clock = |unit, step| rate(unit, &[(step, 16.0), (step * 3.0, 16.0), (step, 16.0)]).clock;
        assert_eq!(clock(Unit::Unknown, 0.016), Clock::Units(1e9));
        assert_eq!(clock(Unit::Unknown, 16.0), Clock::Units(1e6));
        assert_eq!(clock(Unit::Unknown, 160_001.0), Clock::Units(100.0));
        assert_eq!(clock(Unit::Ticks, 48_000.0), Clock::Units(1e9 / 3e6));
        let warning = |steps: &[(f64, f64)]| rate(Unit::Ticks, steps).warning;
        assert!(warning(&[(48_000.0, 16.0)]).unwrap().contains("3000000"));
        assert!(warning(&[]).unwrap().contains("10 MHz"));
        assert_eq!(warning(&[(160_000.0, 16.0)]), None);
    }
}
