//! All domains of a machine, read together.

use crate::estimate::{Ends, Estimate, Refused, estimate};
use crate::meter::{Interval, MAX_POWER_W, Meter, Reading, Spec};
use crate::source::{Domain, Found, Value};
use crate::total::Total;
use crate::tree::Tree;
use crate::{battery, filtering, hwmon, power_pmu, powercap};
use model::{Ns, Span};
use std::time::Duration;

/// How long the values are watched for the time between their updates: first all often, then seldom those that did not change.
const WATCH_NS: i64 = 30_000_000;
const WATCH_SLOW_NS: i64 = 300_000_000;
const WATCH_PAUSE: Duration = Duration::from_micros(100);
const WATCH_SLOW_PAUSE: Duration = Duration::from_millis(2);
/// How often a value must have changed while it was watched.
const MIN_CHANGES: usize = 3;
/// A reading waits for the next update for this many times the time between two, and not longer than [`MAX_WAIT_NS`].
const WAIT_UPDATES: i64 = 3;
const MAX_WAIT_NS: i64 = 250_000_000;
const MIN_WAIT_NS: i64 = 2_000_000;
/// The pause between two readings while an update is waited for: the precision of the update's time.
const ALIGN_PAUSE: Duration = Duration::from_micros(20);

/// Returns the time, ns: that of the kernel's CLOCK_MONOTONIC.
#[must_use]
pub fn now() -> Ns {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Ns(time.tv_sec * 1_000_000_000 + time.tv_nsec)
}

/// A domain, its meter and what it measured since [`Meters::begin`].
#[derive(Debug)]
pub struct Metered {
    /// The domain.
    pub domain: Domain,
    /// The meter.
    pub meter: Meter,
    /// The intervals between the readings.
    pub intervals: Vec<Interval>,
    /// How many updates were missing while the values were watched: times between changes of more than 1.5 times the median.
    pub missed: usize,
    ends: Ends,
}

impl Metered {
    fn push(&mut self, at: Ns, value: Result<Value, String>) {
        self.intervals.extend(self.meter.push(Reading { at, value }));
    }

    fn read(&self) -> Result<Value, String> {
        self.domain.gauge.read().map_err(|error| error.to_string())
    }

    /// Returns what it used in a span within its readings.
    ///
    /// # Errors
    /// No figure can be given.
    pub fn estimate(&self, span: Span) -> Result<Estimate, Refused> {
        estimate(&self.intervals, span, self.ends, &self.meter.updates(), self.domain.gauge.is_power())
    }
}

/// The domains of a machine.
#[derive(Debug, Default)]
pub struct Meters {
    /// The domains.
    pub domains: Vec<Metered>,
}

/// Finds the sources of a machine.
#[must_use]
pub fn find(tree: &Tree) -> Found {
    let mut found = Found::default();
    powercap::find(tree, &mut found);
    power_pmu::find(tree, &mut found);
    let rapl = !found.domains.is_empty();
    // Parts follow their package.
    let names: Vec<String> = found.domains.iter().map(|domain| domain.name.clone()).collect();
    let whole = |name: &str| names.iter().position(|known| name.split('/').next() == Some(known));
    found.domains.sort_by_key(|domain| whole(&domain.name).unwrap_or(usize::MAX));
    battery::find(tree, &mut found);
    hwmon::find(tree, &mut found);
    if rapl {
        found.notes.extend(filtering::note(tree));
    }
    found
}

impl Meters {
    /// Watches domains for a moment, to learn the time between their updates.
    #[must_use]
    pub fn new(domains: Vec<Domain>) -> Self {
        let mut watched: Vec<Watched> = domains.iter().map(|_| Watched::default()).collect();
        let begin = now();
        for (until, pause) in [(WATCH_NS, WATCH_PAUSE), (WATCH_SLOW_NS, WATCH_SLOW_PAUSE)] {
            let is_due =
                |watched: &Watched, domain: &Domain| watched.changes.len() < MIN_CHANGES && !domain.gauge.is_power();
            let all = until == WATCH_NS;
            while domains.iter().zip(&watched).any(|(d, w)| is_due(w, d) || all && !d.gauge.is_power())
                && (now() - begin).0 < until
            {
                for (domain, watched) in domains.iter().zip(&mut watched) {
                    if !domain.gauge.is_power() && (all || watched.changes.len() < MIN_CHANGES) {
                        watched.look(domain);
                    }
                }
                std::thread::sleep(pause);
            }
        }
        let metered = domains.into_iter().zip(watched).map(|(domain, watched)| {
            let (update_ns, missed) = watched.update();
            let spec = Spec { range_uj: domain.range_uj, max_power_w: MAX_POWER_W, update_ns };
            Metered { domain, meter: Meter::new(spec), intervals: Vec::new(), missed, ends: [None; 2] }
        });
        Self { domains: metered.collect() }
    }

    /// Returns the domains, to add up their energy from now on.
    #[must_use]
    pub fn into_totals(self) -> Vec<Total> {
        self.domains.into_iter().map(|metered| Total::new(metered.domain, *metered.meter.spec())).collect()
    }

    /// Returns the longest time between two readings of all domains, so that no wrap is missed.
    #[must_use]
    pub fn longest(&self) -> Option<Duration> {
        let longest = self.domains.iter().filter_map(|metered| metered.meter.spec().longest_ns()).min()?;
        Some(Duration::from_nanos(longest.max(1).unsigned_abs()))
    }

    /// Begins to measure: reads all domains, each just after an update where it has one within a short time.
    pub fn begin(&mut self) {
        for metered in &mut self.domains {
            metered.intervals.clear();
            metered.meter = Meter::new(*metered.meter.spec());
        }
        self.aligned(0);
    }

    /// Reads all domains.
    pub fn read(&mut self) {
        for metered in &mut self.domains {
            let value = metered.read();
            metered.push(now(), value);
        }
    }

    /// Ends measuring: reads all domains, as [`Self::begin`] does.
    pub fn end(&mut self) {
        self.aligned(1);
        for metered in &mut self.domains {
            metered.intervals.extend(metered.meter.close());
        }
    }

    /// Reads each domain until its value changes. The time of the change is in the middle between the last reading of the old value (from
    /// before it: this thread may be stopped within it) and the first reading of the new one.
    fn aligned(&mut self, end: usize) {
        let begin = now();
        let mut before: Vec<Option<(Ns, Value)>> = Vec::new();
        for metered in &mut self.domains {
            let from = now();
            let value = metered.read();
            if let (Some(_), Ok(value), false) =
                (metered.meter.spec().update_ns, &value, metered.domain.gauge.is_power())
            {
                before.push(Some((from, *value)));
            } else {
                metered.push(now(), value);
                metered.ends[end] = metered.meter.spec().update_ns;
                before.push(None);
            }
        }
        while before.iter().any(Option::is_some) {
            std::thread::sleep(ALIGN_PAUSE);
            for (metered, waiting) in self.domains.iter_mut().zip(&mut before) {
                let Some((seen_at, seen)) = *waiting else { continue };
                let update = metered.meter.spec().update_ns.unwrap_or(0);
                let from = now();
                let value = metered.read();
                let at = now();
                let wait = update.saturating_mul(WAIT_UPDATES).clamp(MIN_WAIT_NS, MAX_WAIT_NS);
                match value {
                    Ok(value) if value == seen && (at - begin).0 < wait => *waiting = Some((from, seen)),
                    Ok(value) if value == seen => {
                        metered.push(at, Ok(value));
                        metered.ends[end] = Some(update);
                        *waiting = None;
                    }
                    Ok(value) => {
                        let half = (at - seen_at).0 / 2;
                        metered.push(Ns(seen_at.0 + half), Ok(value));
                        metered.ends[end] = Some(half);
                        *waiting = None;
                    }
                    Err(why) => {
                        metered.push(at, Err(why));
                        metered.ends[end] = Some(update);
                        *waiting = None;
                    }
                }
            }
        }
    }
}

/// What was seen of a value while it was watched.
#[derive(Default)]
struct Watched {
    last: Option<Value>,
    changes: Vec<Ns>,
}

impl Watched {
    fn look(&mut self, domain: &Domain) {
        let Ok(value) = domain.gauge.read() else { return };
        if self.last.replace(value).is_some_and(|last| last != value) {
            self.changes.push(now());
        }
    }

    /// The median time between updates, ns, and how many were missing.
    fn update(&self) -> (Option<i64>, usize) {
        let mut gaps: Vec<i64> = self.changes.windows(2).map(|pair| (pair[1] - pair[0]).0).collect();
        gaps.sort_unstable();
        let Some(median) = gaps.get(gaps.len() / 2).copied().filter(|_| self.changes.len() >= MIN_CHANGES) else {
            return (None, 0);
        };
        (Some(median), gaps.iter().filter(|gap| **gap * 2 > median * 3).count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is learned while a value is watched follows from the times at which it was seen to have changed: here by hand.
    #[test]
    fn the_time_between_updates_is_the_median_of_the_changes_that_were_seen() {
        let learned = |ms: &[i64]| {
            let changes = ms.iter().map(|ms| Ns(ms * 1_000_000)).collect();
            Watched { last: None, changes }.update()
        };
        assert_eq!(learned(&[]), (None, 0));
        assert_eq!(learned(&[5, 10]), (None, 0), "two changes are too few");
        assert_eq!(learned(&[5, 10, 15, 20]), (Some(5_000_000), 0));
        // 40 ms without a look, then a late one.
        assert_eq!(learned(&[5, 10, 15, 55, 56, 61, 66]), (Some(5_000_000), 1));
    }

    #[test]
    fn a_change_is_seen_at_each_look_that_finds_another_value() {
        let folder = tempfile::tempdir().unwrap();
        let zone = folder.path().join("sys/class/powercap/intel-rapl:0");
        std::fs::create_dir_all(&zone).unwrap();
        std::fs::write(zone.join("name"), "package-0\n").unwrap();
        let energy = |uj: u32| std::fs::write(zone.join("energy_uj"), format!("{uj}\n")).unwrap();
        energy(1);
        let found = find(&Tree::open(folder.path()).unwrap());
        let mut watched = Watched::default();
        for uj in [1, 1, 2, 2, 2, 3] {
            energy(uj);
            let before = (watched.changes.len(), now());
            watched.look(&found.domains[0]);
            let new = &watched.changes[before.0..];
            assert!(new.iter().all(|at| *at >= before.1 && *at <= now()), "{new:?}");
        }
        assert_eq!(watched.changes.len(), 2);
    }
}
