//! How long how many CPUs of each core were busy at the same time.

use crate::{Context, CoreNow, World};
use model::{CpuId, CpuState, Ns};

/// When each core last changed. Between two changes all of its CPUs keep their state.
pub(crate) struct CoreClocks {
    since: Vec<Ns>,
}

impl CoreClocks {
    pub(crate) fn new(context: &Context<'_>) -> Self {
        Self { since: vec![context.span.start; World::new(context).cores.len()] }
    }

    /// Handles a change on a CPU. Returns its core and how long the core was in the state that `world` shows.
    pub(crate) fn elapsed(&mut self, cpu: CpuId, world: &World) -> Option<(usize, Ns)> {
        let core = world.cpu_now(cpu)?.core;
        Some((core, self.elapsed_on(core, world)))
    }

    /// Returns the same for every core at the end.
    pub(crate) fn rest(&mut self, world: &World) -> Vec<(usize, Ns)> {
        (0..world.cores.len()).map(|core| (core, self.elapsed_on(core, world))).collect()
    }

    fn elapsed_on(&mut self, core: usize, world: &World) -> Ns {
        let since = std::mem::replace(&mut self.since[core], world.now);
        world.now - since
    }
}

/// The time of one core.
#[derive(Clone, Default)]
pub(crate) struct CoreTime {
    /// By the number of CPUs that were busy.
    pub(crate) busy: Vec<Ns>,
    /// Time in which each CPU was the only busy one.
    pub(crate) alone: Vec<Ns>,
    /// Time in which the state of one CPU or more is unknown.
    pub(crate) unknown: Ns,
}

impl CoreTime {
    pub(crate) fn of(core: &CoreNow) -> Self {
        let cpus = core.cpus.len();
        Self { busy: vec![Ns::ZERO; cpus + 1], alone: vec![Ns::ZERO; cpus], unknown: Ns::ZERO }
    }

    /// Adds time during which `core` was in the state that `world` shows.
    pub(crate) fn add(&mut self, core: usize, elapsed: Ns, world: &World) {
        let core = &world.cores[core];
        if core.unknown > 0 {
            self.unknown += elapsed;
            return;
        }
        self.busy[core.busy] += elapsed;
        if core.busy == 1
            && let Some(one) = core.cpus.iter().position(|c| world.cpus[*c].state == CpuState::Busy)
        {
            self.alone[one] += elapsed;
        }
    }

    /// The time in which the number of busy CPUs is known.
    pub(crate) fn known(&self) -> Ns {
        self.busy.iter().copied().sum()
    }
}

/// Returns the share of a core's capacity in use while `busy` of its `siblings` CPUs run threads. All of them together
/// do `gain` times the work of one alone; a gain below 1 means that one CPU alone uses the full capacity.
#[must_use]
pub fn capacity_used(busy: usize, siblings: usize, gain: f64) -> f64 {
    let gain = gain.max(1.0);
    match busy {
        0 => 0.0,
        _ if busy >= siblings => 1.0,
        _ => (1.0 + (gain - 1.0) * (busy - 1) as f64 / (siblings - 1) as f64) / gain,
    }
}
