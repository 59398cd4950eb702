//! Points in time: which unit they are told in, where the log does not say.

use super::columns::{Columns, Unit};
use crate::text::csv::{decimal, median, time};
use model::Ns;

/// The usual rate of QueryPerformanceCounter since Windows 10.
const USUAL_RATE: f64 = 1e7;
/// So near to a rate, it is that one: the frames' own times are rounded.
const NEAR: f64 = 1e-3;

/// How a column of points in time is read.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Clock {
    /// A number of units of so many nanoseconds.
    Units(f64),
    /// The local date and time.
    Date,
}

impl Clock {
    /// The time that a cell tells.
    pub(super) fn read(self, cell: &[u8]) -> Option<Ns> {
        match self {
            // PresentMon 1 writes dates into the column TimeInSeconds where that was asked for.
            Self::Units(_) if memchr::memchr(b':', cell).is_some() => date(cell),
            Self::Units(unit_ns) => time(decimal(cell)?, unit_ns),
            Self::Date => date(cell),
        }
    }
}

/// What the log's own frame times say of the unit of its points in time.
pub(super) struct Rate {
    pub(super) clock: Clock,
    /// What the user should know of it.
    pub(super) told: Option<String>,
}

/// `steps`: how far the column went on from a frame to the next, and how many milliseconds that took by the frame's own time.
pub(super) fn rate(unit: Unit, steps: &[(f64, f64)]) -> Rate {
    let ratios = steps.iter().filter(|(step, ms)| *step > 0.0 && *ms > 0.0).map(|(step, ms)| step / ms);
    let measured = median(ratios.collect());
    let sure = |unit_ns| Rate { clock: Clock::Units(unit_ns), told: None };
    match (unit, measured) {
        (Unit::Date, _) => Rate { clock: Clock::Date, told: None },
        (Unit::Seconds, _) => sure(1e9),
        (Unit::Milliseconds, _) => sure(1e6),
        // Between a thousandth of a frame time and the frame time, as between one and the ticks of any machine, lies a gap
        // that no rounding bridges.
        (Unit::Unsure, Some(ratio)) if ratio < 0.03 => sure(1e9),
        (Unit::Unsure, Some(ratio)) if ratio < 30.0 => sure(1e6),
        (Unit::Unsure, None) => sure(1e6),
        (Unit::Unsure | Unit::Ticks, Some(ratio)) => ticks(ratio * 1000.0),
        (Unit::Ticks, None) => Rate {
            clock: Clock::Units(1e9 / USUAL_RATE),
            told: Some(
                "How fast its performance counter runs cannot be told from so few frames: read as 10 MHz, which \
                 is usual since Windows 10."
                    .to_owned(),
            ),
        },
    }
}

fn ticks(rate: f64) -> Rate {
    if (rate / USUAL_RATE - 1.0).abs() < NEAR {
        return Rate { clock: Clock::Units(1e9 / USUAL_RATE), told: None };
    }
    let told = format!(
        "How fast its performance counter runs is estimated from the frames' own times: {rate:.0} ticks a second; points in \
         time are as good as that."
    );
    Rate { clock: Clock::Units(1e9 / rate), told: Some(told) }
}

/// The unit of the column that says when frames began, or of presents where none does.
pub(super) fn unit(columns: &Columns) -> Option<(Unit, usize)> {
    columns.start_time().or(columns.present_time())
}

/// `2024-1-5 9:05:07.000012300`, from 1970 on, as if it were universal time.
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

/// Days since 1970 of a day of the Gregorian calendar: years are counted from March, so that the day of a leap year is the
/// last of one.
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
    fn dates_are_days_of_the_calendar() {
        let of = |text: &str| Clock::Date.read(text.as_bytes()).map(|t| t.0);
        assert_eq!(of("1970-1-1 0:00:00.000000000"), Some(0));
        assert_eq!(of("1970-3-1 0:00:00.0"), Some(59 * 86_400_000_000_000));
        assert_eq!(of("2020-04-30 12:00:30.5"), Some(1_588_248_030_500_000_000));
        assert_eq!(of("2024-2-29 23:59:59.000000100"), Some(1_709_251_199_000_000_100));
        for bad in ["", "2020-04-30", "12:00:30", "2019-13-01 0:00:00", "99999-1-1 0:00:00", "2019-1-1 0:00:-1"] {
            assert_eq!(of(bad), None, "{bad}");
        }
        assert_eq!(Clock::Units(1e9).read(b"1970-1-1 0:00:01.5"), Some(Ns(1_500_000_000)));
    }

    #[test]
    fn the_frames_own_times_tell_the_unit() {
        let of = |unit, step| rate(unit, &[(step, 16.0), (step * 3.0, 16.0), (step, 16.0)]).clock;
        assert_eq!(of(Unit::Unsure, 0.016), Clock::Units(1e9));
        assert_eq!(of(Unit::Unsure, 16.0), Clock::Units(1e6));
        assert_eq!(of(Unit::Unsure, 160_001.0), Clock::Units(100.0));
        assert_eq!(of(Unit::Ticks, 48_000.0), Clock::Units(1e9 / 3e6));
        let told = |steps: &[(f64, f64)]| rate(Unit::Ticks, steps).told;
        assert!(told(&[(48_000.0, 16.0)]).unwrap().contains("3000000"));
        assert!(told(&[]).unwrap().contains("10 MHz"));
        assert_eq!(told(&[(160_000.0, 16.0)]), None);
    }
}
