//! What the tables of counters share: sums of counts, their states, and what the SMT siblings did between two readings.

mod at_marks;
mod ratio;
mod siblings;

pub(crate) use at_marks::{AtMark, MarkId, ThreadAtMarks};
pub(crate) use ratio::RatioSums;
pub(crate) use siblings::{SIBLINGS, Siblings};

use model::{CoreType, Counted, CpuId, Ns, TimelineEvent};
use std::collections::BTreeSet;

use crate::{Begins, World};

/// Returns the CPU and the count of an event, if it is a count whose interval lies in the span. One that began before the span is left out:
/// how much of it belongs to the span is unknown.
pub(crate) fn count_of(event: &TimelineEvent, begins: Begins, span_start: Ns) -> Option<(CpuId, Counted)> {
    let model::Change::Counted(cpu, counted) = event.what else { return None };
    (begins == Begins::Here && event.at - counted.length >= span_start).then_some((cpu, counted))
}

/// Returns the core type of a CPU.
pub(crate) fn core_type(cpu: CpuId, world: &World) -> CoreType {
    world.cpu_now(cpu).map_or(CoreType::Uniform, |now| now.core_type)
}

/// Returns the maximum frequency of a CPU in MHz, if it is known.
pub(crate) fn max_mhz(cpu: CpuId, world: &World) -> Option<f64> {
    world.cpu_now(cpu)?.max_khz.map(|khz| f64::from(khz) / 1e3)
}

/// Returns the types of the cores of this machine that run threads, once each.
pub(crate) fn core_types(world: &World) -> BTreeSet<CoreType> {
    world.cpus.iter().map(|cpu| cpu.core_type).collect()
}

/// The sums of a count.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sums {
    pub(crate) count: i64,
    pub(crate) enabled: Ns,
    pub(crate) counted: Ns,
}

impl Sums {
    pub(crate) fn add(&mut self, of: &Counted) {
        self.count = self.count.saturating_add(of.count);
        self.enabled += of.length;
        self.counted += of.running;
    }

    /// The state, as in the table `thread_counters`.
    pub(crate) fn state(&self) -> &'static str {
        if self.counted == Ns::ZERO {
            "not_counted"
        } else if self.counted < self.enabled {
            "multiplexed"
        } else {
            "counted"
        }
    }
}
