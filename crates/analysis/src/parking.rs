//! Which CPUs are parked, how many at the same time, and clocks for the mean number: the difference of two readings
//! divided by the time.

use model::{CpuId, Ns};
use std::collections::BTreeMap;

/// The maximum number of distinct CPUs; no kernel has more.
const MAX_CPUS: usize = 1 << 14;

/// The parking of all CPUs, now and in the past: those of the world and other recorded ones, such as CPUs that were
/// parked all of the time.
#[derive(Clone, Debug)]
pub(crate) struct Parking {
    by_cpu: BTreeMap<CpuId, bool>,
    parked: i64,
    /// The number of the world's CPUs without a record yet.
    unknown: i64,
    clocks: Clocks,
    since: Ns,
    /// Since when `parked` is the current number.
    counted: Ns,
    /// Past numbers of parked CPUs and when each ended, without those that were followed by an equal or larger one.
    /// Never longer than the number of CPUs.
    ///
    /// ```text
    ///   parked  5 ▇▇▇▁▁▁▁▁▁          the maximum since any past time is the first entry that ends after it,
    ///           3 ▇▇▇▁▁▁▇▇▇          or the current number
    ///           1 ▇▇▇▇▇▇▇▇▇
    ///                ▲5    ▲ now: 3
    /// ```
    highs: Vec<(i64, Ns)>,
}

/// The parked time and the unknown time, summed over CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Clocks {
    pub(crate) parked: Ns,
    pub(crate) unknown: Ns,
}

impl Clocks {
    /// Returns the advance since an earlier reading.
    pub(crate) fn since(self, then: Self) -> Self {
        Self { parked: self.parked - then.parked, unknown: self.unknown - then.unknown }
    }
}

impl Parking {
    /// Starts with `cpus` CPUs of the world, all without a record.
    pub(crate) fn new(cpus: usize, now: Ns) -> Self {
        let (by_cpu, highs) = (BTreeMap::new(), Vec::new());
        Self { by_cpu, parked: 0, unknown: cpus as i64, clocks: Clocks::default(), since: now, counted: now, highs }
    }

    /// Whether a CPU is parked; `None` if not recorded.
    pub(crate) fn of(&self, cpu: CpuId) -> Option<bool> {
        self.by_cpu.get(&cpu).copied()
    }

    /// Whether the parking of any CPU is recorded.
    pub(crate) fn is_recorded(&self) -> bool {
        !self.by_cpu.is_empty()
    }

    /// Whether another CPU can be added.
    pub(crate) fn has_room(&self) -> bool {
        self.by_cpu.len() < MAX_CPUS
    }

    /// Sets whether a CPU is parked from now on. The CPU may be outside the world.
    pub(crate) fn change(&mut self, cpu: CpuId, of_world: bool, parked: bool, now: Ns) {
        let before = self.of(cpu);
        if before.is_none() && !of_world && !self.has_room() {
            return;
        }
        self.by_cpu.insert(cpu, parked);
        self.clocks = self.read(now);
        self.since = now;
        self.unknown -= i64::from(before.is_none() && of_world);
        let count = self.parked + i64::from(parked) - i64::from(before == Some(true));
        // A state without duration did not exist.
        if count != self.parked && self.counted < now {
            let lower = self.highs.iter().rev().take_while(|(high, _)| *high <= self.parked).count();
            self.highs.truncate(self.highs.len() - lower);
            self.highs.push((self.parked, now));
            self.counted = now;
        }
        self.parked = count;
    }

    /// Reads the clocks.
    pub(crate) fn read(&self, now: Ns) -> Clocks {
        let passed = |cpus: i64| Ns((now - self.since).0.saturating_mul(cpus));
        Clocks { parked: self.clocks.parked + passed(self.parked), unknown: self.clocks.unknown + passed(self.unknown) }
    }

    /// Returns the maximum number of CPUs parked at the same time since an earlier time.
    pub(crate) fn max_since(&self, time: Ns) -> i64 {
        let before = self.highs.iter().find(|(_, until)| *until > time);
        before.map_or(self.parked, |(high, _)| self.parked.max(*high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_since_any_time() {
        let mut parking = Parking::new(9, Ns(0));
        // Each step: the time, and the number of parked CPUs from then on.
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
                let max = (since..=at).map(counts).max().map(i64::from);
                assert_eq!(Some(parking.max_since(Ns(since))), max, "since {since}, at {at}");
            }
            assert!(parking.highs.len() <= 9);
        }
        let sum = (0..60).map(|at| i64::from(counts(at))).sum();
        assert_eq!(parking.read(Ns(60)).parked, Ns(sum));
        assert_eq!(parking.read(Ns(60)).unknown, Ns(4 * 60 + 3 * 10), "2 CPUs are recorded at 0, 3 at 10");
    }

    #[test]
    fn the_number_of_recorded_cpus_is_bounded() {
        let mut parking = Parking::new(1, Ns(0));
        (0..u32::MAX).step_by(1 << 12).for_each(|cpu| parking.change(CpuId(cpu), false, true, Ns(1)));
        assert_eq!(parking.by_cpu.len(), MAX_CPUS);
        parking.change(CpuId(1), true, true, Ns(1));
        assert_eq!((parking.of(CpuId(1)), parking.unknown), (Some(true), 0));
    }
}
