//! What the SMT siblings of a CPU did between two readings of its counters.

use crate::World;
use model::{CpuId, CpuState, CpuStretch, Ns};

/// The words for what siblings did.
pub(crate) const SIBLINGS: [&str; 5] = ["idle", "busy", "mixed", "unknown", "none"];
const IDLE: usize = 0;
const BUSY: usize = 1;
const MIXED: usize = 2;
const UNKNOWN: usize = 3;
const NONE: usize = 4;

/// Since when a CPU has been in its state, and in the one before. A busy CPU that changes its thread stays busy.
#[derive(Clone, Copy)]
struct Lasting {
    state: CpuState,
    since: Ns,
    before: CpuState,
    before_since: Ns,
}

/// The states of all CPUs, by their index in [`World::cpus`].
#[derive(Default)]
pub(crate) struct Siblings(Vec<Lasting>);

impl Siblings {
    /// Handles the begin of a CPU's stretch.
    pub(crate) fn cpu(&mut self, stretch: &CpuStretch, world: &World) {
        let Some(place) = world.place(stretch.cpu) else { return };
        if self.0.len() <= place {
            let start = world.cpus.get(place).map_or(stretch.span.start, |cpu| cpu.since);
            let unknown =
                Lasting { state: CpuState::Unknown, since: start, before: CpuState::Unknown, before_since: start };
            self.0.resize(world.cpus.len().max(place + 1), unknown);
        }
        let now = &mut self.0[place];
        if now.state != stretch.state {
            *now =
                Lasting { state: stretch.state, since: stretch.span.start, before: now.state, before_since: now.since };
        }
    }

    /// Returns what the siblings of `cpu` did from `from` to `to` (now), as an index into [`SIBLINGS`].
    pub(crate) fn between(&self, cpu: CpuId, from: Ns, to: Ns, world: &World) -> usize {
        let Some(core) = world.core(cpu) else { return UNKNOWN };
        let own = world.place(cpu);
        let others = core.cpus.iter().filter(|place| Some(**place) != own);
        let mut all: Option<usize> = None;
        for place in others {
            let of = self.0.get(*place).map_or(UNKNOWN, |lasting| lasting.between(from, to));
            all = Some(match (all, of) {
                (Some(BUSY), _) | (_, BUSY) => BUSY,
                (Some(UNKNOWN), _) | (_, UNKNOWN) => UNKNOWN,
                (Some(MIXED), _) | (_, MIXED) => MIXED,
                _ => IDLE,
            });
        }
        all.unwrap_or(NONE)
    }
}

impl Lasting {
    fn between(&self, from: Ns, to: Ns) -> usize {
        let of = |state| match state {
            CpuState::Idle => IDLE,
            CpuState::Busy => BUSY,
            CpuState::Unknown => UNKNOWN,
        };
        if self.since <= from {
            of(self.state)
        } else if self.since >= to && self.before_since <= from {
            // It changed at the end of the interval.
            of(self.before)
        } else if self.state == CpuState::Unknown || self.before == CpuState::Unknown {
            UNKNOWN
        } else {
            MIXED
        }
    }
}
