//! Energy and temperature as notes. With `--redact`, energy is averaged: fine readings show what programs compute.

use super::bundles::FieldValue::{Int, Text};
use super::kernel::text;
use super::{Options, Pen};
use model::{EnergyUse, Event, EventKind, MaybeCount, NameId, Ns};
use std::collections::BTreeMap;

/// The least time that a redacted reading of energy is about, ns.
const MIN_NS: i64 = 1_000_000_000;

/// The readings of each domain that are too short for a redacted one.
#[derive(Default)]
pub(super) struct Averages(BTreeMap<NameId, EnergyUse>);

impl Averages {
    /// Adds a reading. Returns what was used since the last result, once that is at least a second ago. It is unknown if a part is.
    fn add(&mut self, used: &EnergyUse) -> Option<EnergyUse> {
        let all = match self.0.remove(&used.domain) {
            None => *used,
            Some(before) => EnergyUse {
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
        if all.length.0 >= MIN_NS {
            return Some(all);
        }
        self.0.insert(used.domain, all);
        None
    }
}

impl Pen<'_> {
    /// Writes an event of energy or temperature.
    pub(super) fn energy(&mut self, e: &Event, at: Ns, names: &[Box<str>], options: &Options) {
        let word = |id: NameId| Text(text(names, id).unwrap_or_default());
        match e.what {
            EventKind::EnergyDomain(of) => {
                let fields = [
                    ("domain", word(of.domain)),
                    ("part", word(of.part)),
                    ("parent", word(of.parent)),
                    ("same_as", word(of.same_as)),
                    ("source", word(of.source)),
                    ("from_power", Int(of.from_power.into())),
                    ("update", Int(of.update.get().map_or(-1, |ns| ns.0))),
                ];
                self.bundles.note(e.cpu, at, "corewise_energy_domain", &fields);
            }
            EventKind::Energy(used) => {
                let used = if options.redact { self.averages.add(&used) } else { Some(used) };
                let Some(used) = used else { return };
                let fields = [
                    ("domain", word(used.domain)),
                    ("unknown", word(used.unknown)),
                    ("length", Int(used.length.0)),
                    ("nj", Int(used.nj.to_word())),
                    ("spread_nj", Int(used.spread_nj)),
                ];
                self.bundles.note(e.cpu, at, "corewise_energy", &fields);
            }
            EventKind::Temperature(read) => {
                let fields = [("zone", word(read.zone)), ("mc", Int(read.millicelsius.into()))];
                self.bundles.note(e.cpu, at, "corewise_temperature", &fields);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redacted_energy_is_over_a_second_at_least_and_keeps_its_sum() {
        let mut averages = Averages::default();
        let reading = |ms: i64, nj: i64| EnergyUse {
            domain: NameId(1),
            unknown: NameId::NONE,
            length: Ns(ms * 1_000_000),
            nj: MaybeCount::new(nj),
            spread_nj: 1,
        };
        let out: Vec<EnergyUse> = (0..25).filter_map(|n| averages.add(&reading(100, n))).collect();
        assert_eq!(out.iter().map(|used| used.length.0 / 1_000_000).collect::<Vec<_>>(), [1000, 1000]);
        assert_eq!(out.iter().map(|used| used.nj.get()).collect::<Vec<_>>(), [Some(45), Some(145)]);
        assert_eq!(out[0].spread_nj, 10);
        // A part that is unknown makes all of it unknown, never less energy.
        averages.add(&EnergyUse { unknown: NameId(2), nj: MaybeCount::UNKNOWN, ..reading(100, 0) });
        let last = averages.add(&reading(900, 7)).unwrap();
        assert_eq!((last.nj.get(), last.unknown), (None, NameId(2)));
    }
}
