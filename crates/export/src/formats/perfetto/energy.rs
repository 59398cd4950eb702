//! Energy and temperature with `--redact`: both are averaged, as fine readings show what programs compute.
//!
//! ```text
//!   readings    ├──┼──┼──┼──┼──┼──┼──┼──┼──┼──┼──┼──┼──┤       of a domain
//!   redacted    ├────────────────┼─────────────────────┤       at least a second each; the last has the rest, so that the sum stays
//! ```

use super::kernel::text;
use super::{Job, Pen};
use crate::ExportError;
use model::tables::power_over_time;
use model::{CpuId, EnergyUse, Event, EventKind, MaybeCount, NameId, Ns, Row, Temperature};
use std::collections::BTreeMap;

/// The least time that a redacted reading is about, ns.
const MIN_NS: i64 = 1_000_000_000;

/// What was read and is too short for a redacted reading.
#[derive(Default)]
pub(super) struct Averages {
    /// Whether readings are averaged: for an export that is redacted.
    pub(super) are_made: bool,
    /// The end of the last reading of each domain, by name.
    ends: BTreeMap<String, Ns>,
    /// The readings of each domain as one, and when that ends.
    energy: BTreeMap<NameId, (Ns, EnergyUse)>,
    zones: BTreeMap<NameId, Zone>,
}

/// The readings of a temperature since the last average.
struct Zone {
    since: Ns,
    sum: i64,
    count: i64,
}

impl Averages {
    /// Reads when each domain is read for the last time, for an export that is redacted.
    pub(super) fn new(job: &Job<'_>) -> Result<Self, ExportError> {
        let (mut ends, are_made) = (BTreeMap::new(), job.session.is_redacted());
        if are_made {
            let each = &mut |rows: &[Vec<model::Value>]| {
                for cells in rows {
                    let row = Row::<power_over_time::Table>::new(cells);
                    ends.insert(row.get(power_over_time::DOMAIN).to_owned(), row.get(power_over_time::END_NS));
                }
                Ok(())
            };
            job.session.rows_within("power_over_time", job.options.span, each)?;
        }
        Ok(Self { are_made, ends, ..Self::default() })
    }

    /// Adds a reading of energy or temperature. Returns the redacted reading that it completes.
    pub(super) fn of(&mut self, e: &Event, names: &[Box<str>]) -> Option<EventKind> {
        match e.what {
            EventKind::Energy(used) => self.add(e.at, &used, names).map(EventKind::Energy),
            EventKind::Temperature(read) => self.heat(e.at, read).map(EventKind::Temperature),
            _ => None,
        }
    }

    /// Adds a reading. Returns what was used since the last result, once that is at least a second and another second follows. It is unknown if
    /// a part is.
    fn add(&mut self, at: Ns, used: &EnergyUse, names: &[Box<str>]) -> Option<EnergyUse> {
        let all = match self.energy.remove(&used.domain) {
            None => *used,
            Some((_, before)) => EnergyUse {
                domain: used.domain,
                unknown: if used.unknown == NameId::NONE { before.unknown } else { used.unknown },
                length: before.length + used.length,
                nj: match (before.nj.get(), used.nj.get()) {
                    (Some(a), Some(b)) => MaybeCount::new(a.saturating_add(b)),
                    _ => MaybeCount::UNKNOWN,
                },
                spread_nj: before.spread_nj.saturating_add(used.spread_nj),
            },
        };
        let end = text(names, used.domain).and_then(|name| self.ends.get(name)).copied().unwrap_or(Ns::MAX);
        // The last reading ends at the end; a part of a recording may end within it.
        let follows = end.0.saturating_sub(at.0);
        if all.length.0 >= MIN_NS && (follows <= 0 || follows >= MIN_NS.saturating_add(used.length.0)) {
            return Some(all);
        }
        self.energy.insert(used.domain, (at, all));
        None
    }

    /// Returns what was used since the last results, and when that ends, where it is at least a second.
    fn rest(&mut self) -> Vec<(Ns, EnergyUse)> {
        std::mem::take(&mut self.energy).into_values().filter(|(_, used)| used.length.0 >= MIN_NS).collect()
    }

    /// Adds a temperature. Returns the mean since the last result, once that is at least a second ago.
    fn heat(&mut self, at: Ns, read: Temperature) -> Option<Temperature> {
        let zone = self.zones.entry(read.zone).or_insert(Zone { since: at, sum: 0, count: 0 });
        zone.sum += i64::from(read.millicelsius);
        zone.count += 1;
        if (at - zone.since).0 < MIN_NS {
            return None;
        }
        let mean = (zone.sum as f64 / zone.count as f64).round() as i32;
        *zone = Zone { since: at, sum: 0, count: 0 };
        Some(Temperature { millicelsius: mean, ..read })
    }
}

impl Pen<'_> {
    /// Writes what redacted readings of energy were kept back.
    pub(super) fn energy_rest(&mut self, names: &[Box<str>]) {
        for (at, used) in self.averages.rest() {
            self.note(CpuId::UNKNOWN, self.absolute(at), &EventKind::Energy(used), names);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(ms: i64, nj: i64) -> EnergyUse {
        EnergyUse {
            domain: NameId(1),
            unknown: NameId::NONE,
            length: Ns(ms * 1_000_000),
            nj: MaybeCount::new(nj),
            spread_nj: 1,
        }
    }

    /// Adds readings of 100 ms of a domain whose last reading ends after so many ms. Returns the results as (ms, nJ), those kept back last.
    fn redacted(readings: &[i64], end_ms: i64) -> Vec<(i64, Option<i64>)> {
        let names: Vec<Box<str>> = vec!["pkg".into()];
        let ends = BTreeMap::from([("pkg".to_owned(), Ns(end_ms * 1_000_000))]);
        let mut averages = Averages { ends, ..Averages::default() };
        let at = |n: usize| Ns((n as i64 + 1) * 100_000_000);
        let out = readings.iter().enumerate().filter_map(|(n, nj)| averages.add(at(n), &reading(100, *nj), &names));
        let mut out: Vec<EnergyUse> = out.collect();
        out.extend(averages.rest().into_iter().map(|(_, used)| used));
        out.iter().map(|used| (used.length.0 / 1_000_000, used.nj.get())).collect()
    }

    #[test]
    fn redacted_energy_is_over_a_second_at_least_and_keeps_its_sum() {
        let all: Vec<i64> = (0..25).collect();
        assert_eq!(redacted(&all, 2500), [(1000, Some(45)), (1500, Some(255))]);
        // The part that is exported ends 50 ms before a reading does, or the end is unknown: the rest is still long enough.
        assert_eq!(redacted(&all, 2450), [(1000, Some(45)), (1500, Some(255))]);
        assert_eq!(redacted(&all, 2550), [(1000, Some(45)), (1500, Some(255))]);
        assert_eq!(redacted(&all[..20], 2000), [(2000, Some(190))]);
        assert_eq!(redacted(&all[..21], 2100), [(1000, Some(45)), (1100, Some(165))]);
        // A second cannot be had from less.
        assert_eq!(redacted(&all[..9], 900), []);
    }

    #[test]
    fn redacted_energy_is_unknown_if_a_part_is() {
        let mut averages = Averages::default();
        averages.add(
            Ns(100_000_000),
            &EnergyUse { unknown: NameId(2), nj: MaybeCount::UNKNOWN, ..reading(100, 0) },
            &[],
        );
        let all = averages.add(Ns(1_000_000_000), &reading(900, 7), &[]).unwrap();
        assert_eq!((all.nj.get(), all.unknown), (None, NameId(2)));
    }

    #[test]
    fn redacted_temperatures_are_means_of_a_second_at_least() {
        let read = |zone: u32, millicelsius: i32| Temperature { zone: NameId(zone), millicelsius };
        let mut averages = Averages::default();
        let out: Vec<(i64, i32)> = (0..25)
            .filter_map(|n| Some((n * 100, averages.heat(Ns(n * 100_000_000), read(1, n as i32 * 1000))?.millicelsius)))
            .collect();
        // The means of 0 to 10 and of 11 to 20.
        assert_eq!(out, [(1000, 5000), (2000, 15_500)]);
        assert_eq!(averages.heat(Ns(0), read(2, -7000)), None, "each zone has its own");
        assert_eq!(averages.heat(Ns(1_500_000_000), read(2, -8000)), Some(read(2, -7500)));
    }
}
