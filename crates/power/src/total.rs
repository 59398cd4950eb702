//! The energy of a domain since a begin, added up reading by reading, for as long as one likes: no interval is kept.
//!
//! ```text
//!   value │          ╭──╮             ╭────────      1 no change yet: the time is not known before the next change
//!         │   ╭──────╯1 │ 2           │              2 it went back: neither energy nor time is known; nothing is taken back
//!         │───╯         ╰─────        │
//!         │                   (gone) 3               3 it was gone: a counter that comes back has counted meanwhile
//!         └──────────────────────────────▶ time
//! ```
//!
//! Energy and known time only grow, and belong together: their quotient is a mean power.

use crate::estimate::{NORMAL_95, PEAK_UPDATES, per_ns, stops_after};
use crate::meter::{Interval, Meter, Reading, Spec, Unknown};
use crate::source::Domain;

/// What a domain has used since [`Total::new`].
#[derive(Clone, PartialEq, Debug)]
pub struct Sum {
    /// Energy of the known time, J.
    pub joules: f64,
    /// The least energy that agrees with the readings, J. Unlike `joules`, it may fall.
    pub low: f64,
    /// The greatest one, J.
    pub high: f64,
    /// The time for which the energy is known, ns.
    pub known_ns: u64,
    /// Why it is not known since the last known reading, or why the last unknown time before it was not.
    pub unknown: Option<Unknown>,
    /// Whether the last reading had a value, and that value changes.
    pub is_live: bool,
}

/// Adds up the energy of a domain.
#[derive(Debug)]
pub struct Total {
    domain: Domain,
    meter: Meter,
    low: f64,
    uj: f64,
    high: f64,
    squares: f64,
    known_ns: i64,
    /// The time since the last change.
    unchanged_ns: i64,
    /// The greatest power, µJ/ns.
    peak: f64,
    /// Readings next to unknown time, each of which may be an update old.
    ends: u32,
    unknown: Option<Unknown>,
    is_live: bool,
}

impl Total {
    /// Begins without a reading.
    #[must_use]
    pub fn new(domain: Domain, spec: Spec) -> Self {
        Self {
            domain,
            meter: Meter::new(spec),
            low: 0.0,
            uj: 0.0,
            high: 0.0,
            squares: 0.0,
            known_ns: 0,
            unchanged_ns: 0,
            peak: 0.0,
            ends: 2,
            unknown: None,
            is_live: false,
        }
    }

    /// Returns the domain.
    #[must_use]
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// Returns how often its counter wrapped.
    #[must_use]
    pub fn wraps(&self) -> u64 {
        self.meter.wraps()
    }

    /// Reads the domain.
    pub fn read(&mut self) {
        let value = self.domain.gauge.read().map_err(|error| error.to_string());
        self.push(Reading { at: crate::now(), value });
    }

    /// Adds a reading, in order of time.
    pub fn push(&mut self, reading: Reading) {
        self.is_live = reading.value.is_ok();
        if let Err(why) = &reading.value {
            self.unknown = Some(Unknown::NotRead(why.clone()));
        }
        if let Some(interval) = self.meter.push(reading) {
            self.add(&interval);
        }
    }

    fn add(&mut self, interval: &Interval) {
        let ns = interval.span.len().0;
        let stops_after = self.meter.update_ns().map_or(i64::MAX, stops_after);
        match &interval.energy {
            Err(why) => {
                (self.unknown, self.unchanged_ns) = (Some(why.clone()), 0);
                self.ends += 2;
            }
            Ok(energy) if energy.high > 0.0 || self.domain.gauge.is_power() => {
                // What was switched off for a while, or has not been updated, used an unknown energy.
                if self.unchanged_ns > stops_after {
                    self.ends += 2;
                } else {
                    self.known_ns += self.unchanged_ns;
                }
                self.unchanged_ns = 0;
                (self.low, self.uj, self.high) = (self.low + energy.low, self.uj + energy.uj, self.high + energy.high);
                self.squares += (energy.high - energy.low).powi(2);
                self.known_ns += ns;
                if ns >= self.meter.update_ns().unwrap_or(0).saturating_mul(PEAK_UPDATES) {
                    self.peak = self.peak.max(per_ns(energy.high, interval.span));
                }
            }
            Ok(_) => {
                self.unchanged_ns += ns;
                if self.unchanged_ns > stops_after {
                    (self.unknown, self.is_live) = (Some(Unknown::Stopped), false);
                }
            }
        }
    }

    /// Returns what was used so far.
    #[must_use]
    pub fn sum(&self) -> Sum {
        let mean = self.uj / self.known_ns.max(1) as f64;
        let (low, high) = if self.domain.gauge.is_power() {
            let half = NORMAL_95 * (self.squares / 12.0).sqrt();
            (self.uj - half, self.uj + half)
        } else {
            let updates = self.meter.updates();
            let update = self.peak.max(mean) * updates.update_ns.unwrap_or(0) as f64;
            let at_ends = f64::from(self.ends) * update.max(updates.least_change.unwrap_or(0.0));
            (self.low - at_ends, self.high + at_ends)
        };
        Sum {
            joules: self.uj * 1e-6,
            low: low.clamp(0.0, self.uj) * 1e-6,
            high: high.max(self.uj) * 1e-6,
            known_ns: self.known_ns.unsigned_abs(),
            unknown: self.unknown.clone(),
            is_live: self.is_live,
        }
    }
}
