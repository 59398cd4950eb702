//! From readings of a domain to the energy of the intervals between them.
//!
//! ```text
//!   value  │                ┌──╮ 3
//!          │        ╭───────╯  │               1 the counter wraps: range - before + after, if that is possible in the time
//!          │  ╭─────╯ 2        │    ╭─         2 a counter that did not change: 0 for now; the next change has it all
//!          │──╯                ╰────╯          3 it goes back without being a wrap: unknown, not negative, not counted
//!          └──────────────────────────▶ time
//! ```
//!
//! Several wraps within an interval cannot be seen. So an interval in which more than one wrap was possible at [`Spec::max_power_w`] is
//! unknown, and [`Spec::longest_ns`] is how often a domain must be read so that there is none.

use crate::estimate::Updates;
use crate::source::Value;
use model::{Ns, Span};

/// The power that no domain exceeds, W, unless another one is stated: above the supply of a server with many packages. It separates a counter
/// that wraps from one that goes back.
pub const MAX_POWER_W: f64 = 2000.0;
/// What may be missing of a range because of the step of the counter, as a share.
const RANGE_SLACK: f64 = 1e-6;

/// What a meter must know of a domain.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spec {
    /// The value at which the counter wraps to 0, µJ.
    pub range_uj: Option<f64>,
    /// The power that the domain never exceeds, W.
    pub max_power_w: f64,
    /// The time between two updates of the value, ns, if it was measured.
    pub update_ns: Option<i64>,
}

impl Spec {
    /// Returns the longest time between two readings, ns, so that no wrap is missed: half the time in which the counter can wrap.
    #[must_use]
    pub fn longest_ns(&self) -> Option<i64> {
        self.range_uj.map(|range| (range * 1e3 / self.max_power_w / 2.0) as i64)
    }

    /// The greatest energy of an interval, µJ. A value may be an update older than its reading.
    fn possible_uj(&self, ns: i64) -> f64 {
        (ns as f64 + self.update_ns.unwrap_or(0) as f64) * self.max_power_w * 1e-3
    }
}

/// A reading.
#[derive(Clone, Debug)]
pub struct Reading {
    /// When.
    pub at: Ns,
    /// The value, or why it could not be read.
    pub value: Result<Value, String>,
}

/// Why the energy of an interval is unknown.
#[derive(Clone, PartialEq, Debug)]
pub enum Unknown {
    /// The value could not be read at one of the ends.
    NotRead(String),
    /// The counter went back, and that is no wrap. µJ.
    WentBack(f64, f64),
    /// The counter advanced by more than is possible in the time, µJ.
    Jumped(f64),
    /// The counter could have wrapped several times.
    TooLong,
    /// The value stopped changing.
    Stopped,
    /// A battery was charged.
    Charged,
    /// The reason as a recording has it.
    Recorded(String),
}

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotRead(why) => write!(f, "it could not be read: {why}"),
            Self::WentBack(from, to) => {
                write!(
                    f,
                    "its counter went back from {:.3} to {:.3} J, which is not a wrap-around",
                    from * 1e-6,
                    to * 1e-6
                )
            }
            Self::Jumped(by) => {
                write!(f, "its counter advanced by {:.0} J, more than is possible in the time", by * 1e-6)
            }
            Self::TooLong => f.write_str("its counter may have wrapped several times between two readings"),
            Self::Stopped => f.write_str("its value stopped changing: the domain stopped, or is switched off"),
            Self::Charged => f.write_str("the battery was charged"),
            Self::Recorded(why) => f.write_str(why),
        }
    }
}

/// Energy with its range, µJ.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Energy {
    /// The estimate.
    pub uj: f64,
    /// The least possible.
    pub low: f64,
    /// The greatest possible.
    pub high: f64,
}

impl Energy {
    fn exact(uj: f64) -> Self {
        Self { uj, low: uj, high: uj }
    }
}

/// The time between two readings.
#[derive(Clone, PartialEq, Debug)]
pub struct Interval {
    /// From reading to reading.
    pub span: Span,
    /// What the domain used.
    pub energy: Result<Energy, Unknown>,
}

/// The meter of a domain.
#[derive(Clone, Debug)]
pub struct Meter {
    spec: Spec,
    /// The last reading that has a value.
    last: Option<(Ns, Value)>,
    /// The last attempt to read after it that failed.
    failed: Option<(Ns, String)>,
    /// When the value changed last, by its readings.
    changed: Option<Ns>,
    /// The number of readings that were not the value before.
    changes: u64,
    /// The longest time between two readings with a change, ns.
    longest_gap: i64,
    /// The least change, µJ or µW.
    least_change: Option<f64>,
    wraps: u64,
}

impl Meter {
    /// Begins without a reading.
    #[must_use]
    pub fn new(spec: Spec) -> Self {
        Self { spec, last: None, failed: None, changed: None, changes: 0, longest_gap: 0, least_change: None, wraps: 0 }
    }

    /// What it knows of the domain.
    #[must_use]
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The number of readings at which the value had changed.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// What it knows of the updates of the value.
    #[must_use]
    pub fn updates(&self) -> Updates {
        let (changes, changed, least_change) = (self.changes, self.changed, self.least_change);
        Updates { changes, changed, update_ns: self.update_ns(), least_change }
    }

    /// The number of wraps.
    #[must_use]
    pub fn wraps(&self) -> u64 {
        self.wraps
    }

    /// When the value changed last.
    #[must_use]
    pub fn changed(&self) -> Option<Ns> {
        self.changed
    }

    /// The least change between two readings, µJ or µW: not less than the step of the values.
    #[must_use]
    pub fn least_change(&self) -> Option<f64> {
        self.least_change
    }

    /// The time between two updates, ns: as measured before, or the longest time between two readings with a change.
    #[must_use]
    pub fn update_ns(&self) -> Option<i64> {
        self.spec.update_ns.or((self.changes > 1).then_some(self.longest_gap))
    }

    /// Adds a reading, in order of time, and returns the interval since the one before. A counter that could not be read for a while has
    /// counted meanwhile, so the interval goes back to the last reading that has a value.
    pub fn push(&mut self, reading: Reading) -> Option<Interval> {
        let value = match reading.value {
            Ok(value) => value,
            Err(why) => {
                self.failed = Some((reading.at, why));
                return None;
            }
        };
        let failed = self.failed.take();
        let (at, before) = self.last.replace((reading.at, value))?;
        let span = Span::new(at, reading.at);
        let energy = match (before, failed) {
            // Nothing is known of the power meanwhile.
            (Value::Power(_), Some((_, why))) => Err(Unknown::NotRead(why)),
            _ => self.between(before, value, span),
        };
        Some(Interval { span, energy })
    }

    /// Returns the interval from the last reading that has a value to the last attempt, if that failed. Call it after the last reading.
    pub fn close(&mut self) -> Option<Interval> {
        let (end, why) = self.failed.take()?;
        let (start, _) = self.last.take()?;
        Some(Interval { span: Span::new(start, end), energy: Err(Unknown::NotRead(why)) })
    }

    fn between(&mut self, from: Value, to: Value, span: Span) -> Result<Energy, Unknown> {
        if from != to {
            if let Some(changed) = self.changed {
                self.longest_gap = self.longest_gap.max((span.end - changed).0);
            }
            self.changed = Some(span.end);
            self.changes += 1;
            let change = match (from, to) {
                (Value::Used(a), Value::Used(b))
                | (Value::Left(a), Value::Left(b))
                | (Value::Power(a), Value::Power(b)) => (b - a).abs(),
                (Value::Charge(a, v), Value::Charge(b, _)) => (b - a).abs() * v * UJ_PER_UAH_V,
                _ => 0.0,
            };
            if change > 0.0 {
                self.least_change = Some(self.least_change.map_or(change, |least: f64| least.min(change)));
            }
        }
        match (from, to) {
            (Value::Used(from), Value::Used(to)) => self.used(from, to, span),
            (Value::Left(from), Value::Left(to)) if to > from => Err(Unknown::Charged),
            (Value::Left(from), Value::Left(to)) => self.possible(from - to, span),
            (Value::Charge(from, _), Value::Charge(to, _)) if to > from => Err(Unknown::Charged),
            (Value::Charge(from, volts), Value::Charge(to, volts_then)) => {
                // The charge that left, at the voltage meanwhile. (The difference of charge times voltage would also count the loss of
                // voltage of all the charge that is still there.)
                let uj = |volts: f64| (from - to) * volts * UJ_PER_UAH_V;
                self.possible(uj(f64::midpoint(volts, volts_then)), span)?;
                let (a, b) = (uj(volts), uj(volts_then));
                Ok(Energy { uj: f64::midpoint(a, b), low: a.min(b), high: a.max(b) })
            }
            (Value::Power(from), Value::Power(to)) => {
                // The mean of both ends; between them the power is not known, so the range is that of the ends.
                let seconds = span.len().0 as f64 * 1e-9;
                let (a, b) = (from * seconds, to * seconds);
                Ok(Energy { uj: f64::midpoint(a, b), low: a.min(b), high: a.max(b) })
            }
            _ => Err(Unknown::NotRead("it changed its unit".to_owned())),
        }
    }

    fn used(&mut self, from: f64, to: f64, span: Span) -> Result<Energy, Unknown> {
        if self.spec.longest_ns().is_some_and(|longest| span.len().0 > 2 * longest) {
            return Err(Unknown::TooLong);
        }
        if to >= from {
            return self.possible(to - from, span);
        }
        let Some(range) = self.spec.range_uj.filter(|range| from <= range * (1.0 + RANGE_SLACK)) else {
            return Err(Unknown::WentBack(from, to));
        };
        let wrapped = (range - from).max(0.0) + to;
        if wrapped > self.spec.possible_uj(span.len().0) {
            return Err(Unknown::WentBack(from, to));
        }
        self.wraps += 1;
        Ok(Energy::exact(wrapped))
    }

    fn possible(&self, uj: f64, span: Span) -> Result<Energy, Unknown> {
        // A battery's values may be far apart, after a long time without an update.
        let waited = self.changed.map_or(0, |changed| (span.end - changed).0).max(self.longest_gap).max(span.len().0);
        if uj > self.spec.possible_uj(waited) && self.spec.update_ns.is_some() {
            return Err(Unknown::Jumped(uj));
        }
        Ok(Energy::exact(uj))
    }
}

/// A µAh at 1 V is 3,600 µJ.
const UJ_PER_UAH_V: f64 = 3600.0;
