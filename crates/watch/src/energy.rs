//! Energy by domain, read at each reading of the sums: no thread, and no reading in between.

use crate::snapshot::{EnergyMethod, EnergySums};
use power::{Meters, Total, Tree};
use std::path::Path;

/// The domains of the machine.
#[derive(Default)]
pub struct Energy {
    totals: Vec<Total>,
    /// What exists and cannot be read, a sentence each.
    pub lacks: Vec<String>,
}

impl Energy {
    /// Finds the domains of a tree of files. Takes up to 0.4 s if there are any, to learn the time between their updates. `/` is this
    /// machine.
    pub fn find(root: &Path) -> Self {
        let tree = match Tree::open(root) {
            Ok(tree) => tree,
            Err(why) => {
                return Self {
                    lacks: vec![format!("Energy is not read: {}: {why}.", root.display())],
                    ..Self::default()
                };
            }
        };
        let mut found = power::find(&tree);
        let lacks = found.lacks.iter().filter(|lack| lack.rights);
        let lacks = lacks.map(|lack| format!("Energy is not read by {}: {}.", lack.source, lack.why)).collect();
        let totals = match found.domains.is_empty() {
            true => Vec::new(),
            false => Meters::new(std::mem::take(&mut found.domains)).into_totals(),
        };
        Self { totals, lacks }
    }

    /// Reads all domains. The first time, it begins.
    pub fn read(&mut self) {
        self.totals.iter_mut().for_each(Total::read);
    }

    /// Returns the sums up to the last reading.
    pub fn sums(&self) -> Vec<EnergySums> {
        self.totals.iter().map(of_total).collect()
    }
}

fn of_total(total: &Total) -> EnergySums {
    let (domain, sum) = (total.domain(), total.sum());
    EnergySums {
        domain: domain.name.clone(),
        part: domain.part.as_str(),
        method: if domain.gauge.is_power() { EnergyMethod::Sampled } else { EnergyMethod::Counted },
        parent: domain.parent.clone(),
        same_as: domain.same_as.clone(),
        joules: sum.joules,
        low_joules: sum.low,
        high_joules: sum.high,
        known_ns: sum.known_ns,
        wraps: total.wraps(),
        is_live: sum.is_live,
        unknown: sum.unknown.map(|why| why.to_string()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs::{create_dir_all, remove_file, write};

    /// A machine with two packages of powercap, whose counters are set.
    struct Machine(tempfile::TempDir);

    impl Machine {
        fn new() -> Self {
            let machine = Self(tempfile::tempdir().unwrap());
            for zone in [0, 1] {
                let folder = machine.zone(zone);
                create_dir_all(&folder).unwrap();
                write(folder.join("name"), format!("package-{zone}\n")).unwrap();
                write(folder.join("max_energy_range_uj"), "262143328850\n").unwrap();
                machine.set(zone, 262_143_000_000);
            }
            machine
        }

        fn zone(&self, zone: u32) -> std::path::PathBuf {
            self.0.path().join(format!("sys/class/powercap/intel-rapl:{zone}"))
        }

        fn set(&self, zone: u32, uj: u64) {
            write(self.zone(zone).join("energy_uj"), format!("{uj}\n")).unwrap();
        }
    }

    #[test]
    fn a_counter_may_wrap_go_back_and_vanish_and_its_joules_never_fall() {
        let machine = Machine::new();
        let mut energy = Energy::find(machine.0.path());
        assert_eq!(energy.lacks, Vec::<String>::new());
        let mut at = |first: Option<u64>, second: u64| -> Vec<(f64, u64, bool, String)> {
            match first {
                Some(uj) => machine.set(0, uj),
                None => remove_file(machine.zone(0).join("energy_uj")).unwrap(),
            }
            machine.set(1, second);
            energy.read();
            let of = |e: EnergySums| (e.joules, e.wraps, e.is_live, e.unknown.unwrap_or_default());
            energy.sums().into_iter().map(of).collect()
        };
        let none = String::new;
        assert_eq!(at(Some(262_143_000_000), 5_000_000), [(0.0, 0, true, none()), (0.0, 0, true, none())]);
        // 328,850 µJ up to the wrap; at most 2 kW are possible.
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert_eq!(at(Some(671_150), 5_250_000), [(1.0, 1, true, none()), (0.25, 0, true, none())]);
        let [first, second] = at(None, 1_000).try_into().unwrap();
        assert_eq!((first.0, first.2), (1.0, false));
        assert!(first.3.contains("could not be read"), "{first:?}");
        assert_eq!((second.0, second.1, second.2), (0.25, 0, true));
        assert!(second.3.contains("went back from 5.250 to 0.001 J"), "{second:?}");
        // It comes back, and has counted meanwhile.
        assert_eq!([0, 1].map(|zone| at(Some(2_671_150), 501_000)[zone].0), [3.0, 0.75]);
    }

    #[test]
    fn a_machine_without_sources_has_no_energy() {
        let folder = tempfile::tempdir().unwrap();
        let mut energy = Energy::find(folder.path());
        energy.read();
        assert_eq!((energy.sums(), energy.lacks), (vec![], vec![]));
        assert!(Energy::find(&folder.path().join("none")).lacks[0].starts_with("Energy is not read: /"));
    }
}
