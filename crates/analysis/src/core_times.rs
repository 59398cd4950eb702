//! For how long how many CPUs of each core were busy at once.

use crate::{Context, CoreNow, World};
use model::{CpuId, CpuState, Ns};

/// When something last happened on each core; between two such moments all of its CPUs stay as they are.
pub(crate) struct CoreClocks {
    since: Vec<Ns>,
}

impl CoreClocks {
    pub(crate) fn new(context: &Context<'_>) -> Self {
        Self { since: vec![context.span.start; World::new(context).cores.len()] }
    }

    /// Where something happens on a CPU: its core, and how long that was as it is in `world`.
    pub(crate) fn elapsed(&mut self, cpu: CpuId, world: &World) -> Option<(usize, Ns)> {
        let core = world.of(cpu)?.core;
        Some((core, self.elapsed_on(core, world)))
    }

    /// The same for every core at the end.
    pub(crate) fn rest(&mut self, world: &World) -> Vec<(usize, Ns)> {
        (0..world.cores.len()).map(|core| (core, self.elapsed_on(core, world))).collect()
    }

    fn elapsed_on(&mut self, core: usize, world: &World) -> Ns {
        let since = std::mem::replace(&mut self.since[core], world.now);
        world.now - since
    }
}

/// A core's time.
#[derive(Clone, Default)]
pub(crate) struct CoreTime {
    /// By how many of its CPUs were busy.
    pub(crate) busy: Vec<Ns>,
    /// Each of its CPUs busy alone.
    pub(crate) alone: Vec<Ns>,
    /// Of one CPU or more nobody can say.
    pub(crate) unknown: Ns,
}

impl CoreTime {
    pub(crate) fn of(core: &CoreNow) -> Self {
        let cpus = core.cpus.len();
        Self { busy: vec![Ns::ZERO; cpus + 1], alone: vec![Ns::ZERO; cpus], unknown: Ns::ZERO }
    }

    /// `core` stayed as it is in `world` for a while.
    pub(crate) fn add(&mut self, core: usize, elapsed: Ns, world: &World) {
        let core = &world.cores[core];
        if core.unknown > 0 {
            self.unknown = self.unknown + elapsed;
            return;
        }
        self.busy[core.busy] = self.busy[core.busy] + elapsed;
        if core.busy == 1
            && let Some(one) = core.cpus.iter().position(|c| world.cpus[*c].state == CpuState::Busy)
        {
            self.alone[one] = self.alone[one] + elapsed;
        }
    }

    /// The time in which it is known how many were busy.
    pub(crate) fn known(&self) -> Ns {
        self.busy.iter().copied().sum()
    }
}

/// The part of a core's capacity that is used while `busy` of its `siblings` CPUs run threads, where all of them together do
/// `gain` times the work of one alone. A gain below 1 says that one alone does all that the core can.
#[must_use]
pub fn capacity_used(busy: usize, siblings: usize, gain: f64) -> f64 {
    let gain = gain.max(1.0);
    match busy {
        0 => 0.0,
        _ if busy >= siblings => 1.0,
        _ => (1.0 + (gain - 1.0) * (busy - 1) as f64 / (siblings - 1) as f64) / gain,
    }
}
