//! How many CPUs ran a thread at the same time, exactly.

use crate::{Analysis, Begins, Context, World};
use model::{CpuState, CpuStretch, Ns, Rows};
use rustc_hash::FxHashMap;

pub(crate) struct Concurrency {
    at: Ns,
    running: i64,
    unknown: i64,
    durations: FxHashMap<(i64, i64), Ns>,
    /// Whether the source records what a CPU runs.
    is_followed: bool,
}

impl Concurrency {
    fn advance(&mut self, to: Ns) {
        if to > self.at {
            let sum = self.durations.entry((self.running, self.unknown)).or_default();
            *sum += to - self.at;
            self.at = to;
        }
    }

    fn count(&mut self, state: CpuState, by: i64) {
        match state {
            CpuState::Busy => self.running += by,
            CpuState::Unknown => self.unknown += by,
            CpuState::Idle => {}
        }
    }
}

impl Analysis for Concurrency {
    fn new(context: &Context<'_>) -> Self {
        let unknown = context.followed.len() as i64;
        Self { at: context.span.start, running: 0, unknown, durations: FxHashMap::default(), is_followed: unknown > 0 }
    }

    fn weight() -> usize {
        3
    }

    fn cpu(&mut self, stretch: &CpuStretch, _: Begins, world: &World) {
        let Some(before) = world.cpu_now(stretch.cpu).filter(|c| c.followed) else { return };
        self.advance(world.now);
        self.count(before.state, -1);
        self.count(stretch.state, 1);
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        self.advance(world.now);
        if !self.is_followed {
            return; // of no CPU is known what it ran
        }
        let mut durations: Vec<_> = self.durations.iter().collect();
        durations.sort_unstable();
        for ((running, unknown), duration) in durations {
            out.row(&[(*running).into(), (*unknown).into(), (*duration).into()]);
        }
    }
}
