//! What is shown of a snapshot: the snapshot, the groups with series of their own, and what must be remembered between readings.

use crate::choice::Choice;
use crate::classes;
use std::collections::BTreeMap;
use watch::Snapshot;
use watch::snapshot::GroupSums;

/// A snapshot, ready to be written in any format.
#[derive(Debug)]
pub(crate) struct View {
    pub snapshot: Snapshot,
    /// The label of each class of cores.
    pub class_names: Vec<String>,
    /// The groups with series of their own, then all others together.
    pub groups: Vec<GroupSums>,
    /// The most groups that can have series of their own.
    pub places: usize,
    /// How often a group lost its series.
    pub replaced: u64,
    /// The time of cores by class: free, one thread busy, several busy, unknown; ns.
    pub cores: Vec<[u64; 4]>,
    /// For each identity of the snapshot, the readings at which it did not hold.
    pub violations: Vec<u64>,
}

/// Remembers what counters need from reading to reading.
#[derive(Debug)]
pub(crate) struct Views {
    choice: Choice,
    cores: Vec<[u64; 4]>,
    violations: BTreeMap<&'static str, u64>,
}

impl Views {
    /// Gives at most `places` groups series of their own.
    pub(crate) fn new(places: usize) -> Self {
        Self { choice: Choice::new(places), cores: Vec::new(), violations: BTreeMap::new() }
    }

    /// Returns what is shown of a snapshot.
    pub(crate) fn of(&mut self, snapshot: Snapshot) -> View {
        let class_names = classes::names(&snapshot.machine);
        self.cores.resize(class_names.len(), [0; 4]);
        let mut cores = vec![[0; 4]; class_names.len()];
        for core in snapshot.cores() {
            if let Some(sums) = cores.get_mut(core.class) {
                let parts = [core.free_ns, core.one_busy_ns, core.several_busy_ns, core.unknown_ns];
                sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
            }
        }
        // Differences of sums that were read one after the other may fall by the time between; a counter must not.
        for (had, now) in self.cores.iter_mut().flatten().zip(cores.iter().flatten()) {
            *had = (*had).max(*now);
        }
        let mut count = |identity: &watch::snapshot::Identity| {
            let violations = self.violations.entry(identity.name).or_default();
            *violations += u64::from(!identity.holds);
            *violations
        };
        let violations = snapshot.identities.iter().map(&mut count).collect();
        let groups = self.choice.choose(&snapshot);
        View {
            class_names,
            groups,
            places: self.choice.places(),
            replaced: self.choice.replaced,
            cores: self.cores.clone(),
            violations,
            snapshot,
        }
    }
}
