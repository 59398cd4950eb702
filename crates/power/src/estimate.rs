//! From the energy of intervals to the energy of a span of time, with its range.
//!
//! ```text
//!    readings     r0 ─────┬────────┬────────┬───── r1      r0 and r1: just after an update of the value, if the domain has one
//!    span           t0 ════════════════════════ t1         in a short time
//! ```
//!
//! The energy from r0 to t0 and from t1 to r1 is not part of the span. It is taken off at the power of the first and of the last interval.
//! The range has, at both ends: this energy, the time for which the update at the reading is uncertain, and one step of the value.

use crate::meter::{Interval, Unknown};
use model::{Ns, Span};

/// A figure whose range is wider than this share of it on either side is refused.
pub const MAX_UNCERTAIN: f64 = 0.1;
/// A counter that has not changed for this many updates, and for this time, has stopped. ns.
const STOPPED_UPDATES: i64 = 100;
const STOPPED_NS: i64 = 1_000_000_000;
/// The shortest interval whose power counts as the greatest one, in updates: of a shorter one it is mostly error.
pub(crate) const PEAK_UPDATES: i64 = 10;

/// 95 % of a normal distribution are within this many standard deviations; that of a uniform one is its width by the root of 12.
pub(crate) const NORMAL_95: f64 = 1.96;

/// How long before its reading a value may have been updated at both ends, ns. `None`: unknown.
pub type Ends = [Option<i64>; 2];

/// What a domain used in a span.
#[derive(Clone, PartialEq, Debug)]
pub struct Estimate {
    /// Energy, J: of the known time only.
    pub joules: f64,
    /// The least and the greatest energy that agree with the readings, J.
    pub low: f64,
    /// See `low`.
    pub high: f64,
    /// Mean power of the known time, W.
    pub watts: f64,
    /// The time of the span, ns.
    pub whole_ns: i64,
    /// The part of it for which the energy is known, ns.
    pub known_ns: i64,
    /// The times for which it is not, and why.
    pub unknown: Vec<(Span, Unknown)>,
}

/// Why there is no figure.
#[derive(Clone, PartialEq, Debug)]
pub enum Refused {
    /// The span is too short for the updates or the step of the source. ns that would suffice, if known.
    TooShort(Option<i64>),
    /// The value never changed.
    NoChange,
    /// The energy is unknown at all times.
    Unknown(Unknown),
    /// There are no readings.
    NoReadings,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooShort(Some(ns)) => {
                write!(
                    f,
                    "the time is too short for this source: {:.1} s would be needed",
                    (*ns as f64 * 1e-9).max(0.1)
                )
            }
            Self::TooShort(None) => {
                f.write_str("the time is too short for this source, whose updates are farther apart")
            }
            Self::NoChange => {
                f.write_str("its value did not change: switched off, or the time is too short for its step")
            }
            Self::Unknown(why) => write!(f, "{why}"),
            Self::NoReadings => f.write_str("it was not read"),
        }
    }
}

/// What is known of the updates of a domain's value.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Updates {
    /// The number of readings at which the value had changed.
    pub changes: u64,
    /// When it changed last.
    pub changed: Option<Ns>,
    /// The time between two updates, ns.
    pub update_ns: Option<i64>,
    /// The least change between two readings, µJ or µW: not less than the step of the values.
    pub least_change: Option<f64>,
}

/// Returns the energy of a span. The intervals are those of the domain, in order; `is_power`: they follow from power, so they have no step.
///
/// # Errors
/// No figure can be given.
pub fn estimate(
    intervals: &[Interval],
    span: Span,
    ends: Ends,
    updates: &Updates,
    is_power: bool,
) -> Result<Estimate, Refused> {
    let (Some(first), Some(last)) = (intervals.first(), intervals.last()) else { return Err(Refused::NoReadings) };
    let stopped = stopped_at(intervals, updates, is_power);
    let is_known = |interval: &&Interval| interval.energy.is_ok() && stopped.is_none_or(|at| interval.span.start < at);
    let (mut low, mut sum, mut high, mut known_ns, mut peak) = (0.0, 0.0, 0.0, 0, 0.0_f64);
    let mut squares = 0.0;
    let least_ns = updates.update_ns.unwrap_or(0).saturating_mul(PEAK_UPDATES);
    for interval in intervals.iter().filter(is_known) {
        let Ok(energy) = &interval.energy else { continue };
        (low, sum, high) = (low + energy.low, sum + energy.uj, high + energy.high);
        squares += (energy.high - energy.low).powi(2);
        known_ns += interval.span.len().0;
        if interval.span.len().0 >= least_ns {
            peak = peak.max(per_ns(energy.high, interval.span));
        }
    }
    if is_power {
        // Between two readings the power may be anywhere between both, each time independently: uniform distributions add up to a normal one.
        let half = NORMAL_95 * (squares / 12.0).sqrt();
        (low, high) = (sum - half, sum + half);
    }
    let unknown = unknown_times(intervals, updates, is_power);
    if known_ns <= 0 {
        return Err(unknown.into_iter().next().map_or(Refused::NoReadings, |(_, why)| Refused::Unknown(why)));
    }
    if updates.changes == 0 && !is_power {
        return Err(Refused::NoChange);
    }
    peak = peak.max(sum / known_ns as f64);
    // What the readings have outside the span.
    let outside = |ns: Ns, interval: &Interval| match &interval.energy {
        Ok(energy) if ns > Ns::ZERO && is_known(&interval) => (ns.0, per_ns(energy.uj, interval.span) * ns.0 as f64),
        _ => (0, 0.0),
    };
    let (head_ns, head) = outside(span.start - first.span.start, first);
    let (tail_ns, tail) = outside(last.span.end - span.end, last);
    let step = if is_power { 0.0 } else { updates.least_change.unwrap_or(0.0) };
    let at_ends: f64 = ends
        .iter()
        .map(|end| match end {
            _ if is_power => 0.0,
            Some(ns) => (*ns as f64 * peak).max(step.min(peak * updates.update_ns.unwrap_or(0) as f64)),
            // The updates are farther apart than could be watched: one update is at least the least change.
            None => step.max(updates.update_ns.unwrap_or(span.len().0) as f64 * peak),
        })
        .sum();
    // Readings next to unknown time are not aligned: each value may be an update old.
    let inner =
        unknown.iter().map(|(at, _)| u32::from(at.start > first.span.start) + u32::from(at.end < last.span.end));
    let at_ends = at_ends + f64::from(inner.sum::<u32>()) * peak * updates.update_ns.unwrap_or(0) as f64;
    let uj = (sum - head - tail).max(0.0);
    let low = (low - peak * (head_ns + tail_ns) as f64 - at_ends).clamp(0.0, uj);
    let high = (high + at_ends).max(uj);
    let known = (known_ns - head_ns - tail_ns).max(1);
    let uncertain = (uj - low).max(high - uj);
    if uncertain > MAX_UNCERTAIN * uj {
        let needed = (uj > 0.0 && !is_power).then(|| (known as f64 * uncertain / (MAX_UNCERTAIN * uj)).ceil() as i64);
        return Err(Refused::TooShort(needed));
    }
    Ok(Estimate {
        joules: uj * 1e-6,
        low: low * 1e-6,
        high: high * 1e-6,
        watts: uj / known as f64 * 1e3,
        whole_ns: span.len().0,
        known_ns: known.min(span.len().0),
        unknown,
    })
}

pub(crate) fn per_ns(uj: f64, span: Span) -> f64 {
    uj / span.len().0.max(1) as f64
}

/// Returns for how long a counter with this time between updates must not change to have stopped, ns.
pub(crate) fn stops_after(update_ns: i64) -> i64 {
    STOPPED_NS.max(update_ns.saturating_mul(STOPPED_UPDATES))
}

/// The last reading before a counter stopped, if its last change is so long ago that it has. It stopped somewhere in the interval in which it
/// changed last, so that interval has only a part of its energy.
fn stopped_at(intervals: &[Interval], updates: &Updates, is_power: bool) -> Option<Ns> {
    // A value that could not be read did not stop changing.
    let end = intervals.iter().rfind(|interval| interval.energy.is_ok())?.span.end;
    let (changed, update) = (updates.changed?, updates.update_ns?);
    if is_power || (end - changed).0 <= stops_after(update) {
        return None;
    }
    let last = intervals.iter().find(|interval| interval.span.end >= changed);
    Some(last.map_or(changed, |interval| interval.span.start))
}

/// Returns the times without energy, those that follow each other for the same reason as one.
#[must_use]
pub fn unknown_times(intervals: &[Interval], updates: &Updates, is_power: bool) -> Vec<(Span, Unknown)> {
    let stopped = stopped_at(intervals, updates, is_power);
    let mut times: Vec<(Span, Unknown)> = Vec::new();
    for interval in intervals {
        let why = match &interval.energy {
            Err(why) => why.clone(),
            Ok(_) if stopped.is_some_and(|at| interval.span.start >= at) => Unknown::Stopped,
            Ok(_) => continue,
        };
        match times.last_mut() {
            Some((span, known)) if span.end == interval.span.start && *known == why => span.end = interval.span.end,
            _ => times.push((interval.span, why)),
        }
    }
    times
}
