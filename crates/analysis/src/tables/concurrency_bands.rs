//! How many cores of each type, and how many second siblings, ran a thread at once, exactly.

use crate::{Analysis, Begins, Context, World};
use model::{CoreType, CpuState, CpuStretch, Ns, Rows, Value};
use std::collections::BTreeMap;

pub(crate) struct ConcurrencyBands {
    at: Ns,
    /// How many in each band, the first one highest.
    now: u128,
    /// Busy ones among the followed CPUs of each core.
    busy: Vec<usize>,
    durations: BTreeMap<u128, Ns>,
}

const BANDS: usize = 7;
const SECOND: usize = 5;
const UNKNOWN: usize = 6;
/// A band's share of the bits: room for more CPUs than any machine has.
const BITS: usize = 18;

/// One CPU or core of a band.
const fn one(band: usize) -> u128 {
    1 << (BITS * (BANDS - 1 - band))
}

fn band(core_type: CoreType) -> usize {
    match core_type {
        CoreType::Performance => 0,
        CoreType::Middle => 1,
        CoreType::Efficient => 2,
        CoreType::LowPower => 3,
        CoreType::Uniform => 4,
    }
}

impl ConcurrencyBands {
    fn advance(&mut self, to: Ns) {
        if to > self.at {
            let sum = self.durations.entry(self.now).or_default();
            *sum = *sum + (to - self.at);
            self.at = to;
        }
    }
}

impl Analysis for ConcurrencyBands {
    fn new(context: &Context<'_>) -> Self {
        let now = one(UNKNOWN) * context.followed.len() as u128;
        let busy = vec![0; World::new(context).cores.len()];
        Self { at: context.span.start, now, busy, durations: BTreeMap::new() }
    }

    fn cpu(&mut self, stretch: &CpuStretch, _: Begins, world: &World) {
        let Some(before) = world.of(stretch.cpu).filter(|c| c.followed) else { return };
        self.advance(world.now);
        // The first CPU speaks for its core.
        let first = band(world.cpus[world.cores[before.core].cpus[0]].core_type);
        let busy = &mut self.busy[before.core];
        *busy -= usize::from(before.state == CpuState::Busy);
        let counted = |state| match state {
            CpuState::Busy if *busy > 0 => one(SECOND),
            CpuState::Busy => one(first),
            CpuState::Unknown => one(UNKNOWN),
            CpuState::Idle => 0,
        };
        self.now = self.now - counted(before.state) + counted(stretch.state);
        *busy += usize::from(stretch.state == CpuState::Busy);
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        self.advance(world.now);
        for (bands, duration) in &self.durations {
            let count = |band| Value::from((bands / one(band) % (1 << BITS)) as i64);
            let mut row: Vec<Value> = (0..BANDS).map(count).collect();
            row.push((*duration).into());
            out.row(&row);
        }
    }
}
