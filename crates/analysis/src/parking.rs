//! Which CPUs are parked, how many at once, and clocks of that: what these advance, divided by the time, is how many there were in
//! the mean.

use model::{CpuId, Ns};
use std::collections::BTreeMap;

/// CPUs that are told apart; no kernel has more.
const MOST_CPUS: usize = 1 << 14;

/// All CPUs, at one instant and until then: those of the world, and others of which somebody told, as those that were parked
/// all of the time.
#[derive(Clone, Debug)]
pub(crate) struct Parking {
    told: BTreeMap<CpuId, bool>,
    parked: i64,
    /// Of so many of the world's CPUs nobody has told yet.
    unknown: i64,
    clocks: Clocks,
    since: Ns,
    /// Since when so many are parked.
    counted: Ns,
    /// How many were parked until when, without those that more or as many were parked at once after: never longer than there
    /// are CPUs.
    ///
    /// ```text
    ///   parked  5 ▇▇▇▁▁▁▁▁▁          the most since any time before now is that of the first that ends behind it,
    ///           3 ▇▇▇▁▁▁▇▇▇          or of now
    ///           1 ▇▇▇▇▇▇▇▇▇
    ///                ▲5    ▲ now: 3
    /// ```
    highs: Vec<(i64, Ns)>,
}

/// Sums over CPUs of how long each was parked, and for how long nobody could say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Clocks {
    pub(crate) parked: Ns,
    pub(crate) unknown: Ns,
}

impl Clocks {
    /// What they advanced since they showed something.
    pub(crate) fn since(self, then: Self) -> Self {
        Self { parked: self.parked - then.parked, unknown: self.unknown - then.unknown }
    }
}

impl Parking {
    /// Of so many CPUs of the world nobody has told anything.
    pub(crate) fn new(cpus: usize, now: Ns) -> Self {
        let (told, highs) = (BTreeMap::new(), Vec::new());
        Self { told, parked: 0, unknown: cpus as i64, clocks: Clocks::default(), since: now, counted: now, highs }
    }

    /// Whether a CPU is parked; `None`: nobody has told.
    pub(crate) fn of(&self, cpu: CpuId) -> Option<bool> {
        self.told.get(&cpu).copied()
    }

    /// Whether anybody told of any CPU.
    pub(crate) fn is_told(&self) -> bool {
        !self.told.is_empty()
    }

    /// Whether more CPUs are told apart than those of which somebody told.
    pub(crate) fn has_room(&self) -> bool {
        self.told.len() < MOST_CPUS
    }

    /// A CPU, of the world or another, is parked from now on, or no longer.
    pub(crate) fn change(&mut self, cpu: CpuId, of_world: bool, parked: bool, now: Ns) {
        let before = self.of(cpu);
        if before.is_none() && !of_world && !self.has_room() {
            return;
        }
        self.told.insert(cpu, parked);
        self.clocks = self.read(now);
        self.since = now;
        self.unknown -= i64::from(before.is_none() && of_world);
        let count = self.parked + i64::from(parked) - i64::from(before == Some(true));
        // What lasted no time was never so.
        if count != self.parked && self.counted < now {
            let lower = self.highs.iter().rev().take_while(|(high, _)| *high <= self.parked).count();
            self.highs.truncate(self.highs.len() - lower);
            self.highs.push((self.parked, now));
            self.counted = now;
        }
        self.parked = count;
    }

    /// What the clocks show.
    pub(crate) fn read(&self, now: Ns) -> Clocks {
        let passed = |cpus: i64| Ns((now - self.since).0.saturating_mul(cpus));
        Clocks { parked: self.clocks.parked + passed(self.parked), unknown: self.clocks.unknown + passed(self.unknown) }
    }

    /// The most that were parked at once since a time, which is not over.
    pub(crate) fn most_since(&self, time: Ns) -> i64 {
        let before = self.highs.iter().find(|(_, until)| *until > time);
        before.map_or(self.parked, |(high, _)| self.parked.max(*high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_since_any_time() {
        let mut parking = Parking::new(9, Ns(0));
        // Each step: when, and how many are parked from then on.
        let steps = [(0, 2), (10, 5), (20, 1), (30, 3), (40, 3), (50, 2)];
        let counts = |at: i64| steps.iter().rev().find(|(from, _)| *from <= at).map_or(0, |(_, n)| *n);
        let mut parked = 0;
        for (at, wanted) in steps {
            while parked != wanted {
                let more = wanted > parked;
                parking.change(CpuId(if more { parked } else { parked - 1 }), true, more, Ns(at));
                parked = if more { parked + 1 } else { parked - 1 };
            }
            for since in 0..at {
                let most = (since..=at).map(counts).max().map(i64::from);
                assert_eq!(Some(parking.most_since(Ns(since))), most, "since {since}, at {at}");
            }
            assert!(parking.highs.len() <= 9);
        }
        let sum = (0..60).map(|at| i64::from(counts(at))).sum();
        assert_eq!(parking.read(Ns(60)).parked, Ns(sum));
        assert_eq!(parking.read(Ns(60)).unknown, Ns(4 * 60 + 3 * 10), "of 2 CPUs it was told at 0, of 3 at 10");
    }

    #[test]
    fn cpus_that_are_told_of_are_bounded() {
        let mut parking = Parking::new(1, Ns(0));
        (0..u32::MAX).step_by(1 << 12).for_each(|cpu| parking.change(CpuId(cpu), false, true, Ns(1)));
        assert_eq!(parking.told.len(), MOST_CPUS);
        parking.change(CpuId(1), true, true, Ns(1));
        assert_eq!((parking.of(CpuId(1)), parking.unknown), (Some(true), 0));
    }
}
