//! How many cores of each type, and how many second siblings, ran a thread at the same time, exactly.

use crate::{Analysis, Begins, Context, CpuNow, World};
use model::{CoreType, CpuState, CpuStretch, Ns, Rows, Value};
use std::collections::BTreeMap;

pub(crate) struct ConcurrencyBands {
    at: Ns,
    counts: Counts,
    durations: BTreeMap<u128, Ns>,
}

/// The counts at one instant.
struct Counts {
    /// The number in each band, the first band in the highest bits.
    now: u128,
    /// The number of busy followed CPUs of each core.
    busy: Vec<usize>,
}

/// The bands of the table.
const BANDS: usize = 7;
const SECOND: usize = 5;
const UNKNOWN: usize = 6;
/// The bits of a band: enough for more CPUs than any machine has.
const BITS: usize = 18;

/// A count of one in a band.
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

impl Counts {
    fn new(context: &Context<'_>, world: &World) -> Self {
        Self { now: one(UNKNOWN) * context.followed.len() as u128, busy: vec![0; world.cores.len()] }
    }

    /// Handles the change of a CPU from its state in the world to another one.
    fn change(&mut self, before: &CpuNow, to: CpuState, world: &World) {
        // The core counts by its first CPU.
        let first = band(world.cpus[world.cores[before.core].cpus[0]].core_type);
        let busy = &mut self.busy[before.core];
        *busy -= usize::from(before.state == CpuState::Busy);
        let counted = |state| match state {
            CpuState::Busy if *busy > 0 => one(SECOND),
            CpuState::Busy => one(first),
            CpuState::Unknown => one(UNKNOWN),
            CpuState::Idle => 0,
        };
        self.now = self.now - counted(before.state) + counted(to);
        *busy += usize::from(to == CpuState::Busy);
    }
}

/// Returns the number in each band.
fn bands(now: u128) -> [i64; BANDS] {
    std::array::from_fn(|band| (now / one(band) % (1 << BITS)) as i64)
}

/// The counts of the table from instant to instant, for drawing.
pub struct BandSteps {
    world: World,
    counts: Counts,
}

impl BandSteps {
    /// Starts before anything is known: all followed CPUs are in the last band.
    #[must_use]
    pub fn new(context: &Context<'_>) -> Self {
        let world = World::new(context);
        Self { counts: Counts::new(context, &world), world }
    }

    /// Handles the begin of a CPU's stretch; stretches of all CPUs come in order of start. When time advances, `each`
    /// gets the start of the last counts and the number in each band, in the order of the table's columns.
    pub fn push(&mut self, stretch: &CpuStretch, each: impl FnMut(Ns, [i64; BANDS])) {
        let Some(place) = self.world.place(stretch.cpu).filter(|place| self.world.cpus[*place].followed) else {
            return;
        };
        // Of several changes at one instant only the result is emitted.
        if stretch.span.start > self.world.now {
            self.emit(each);
            self.world.now = stretch.span.start;
        }
        self.counts.change(&self.world.cpus[place], stretch.state, &self.world);
        self.world.cpus[place].state = stretch.state;
    }

    /// Emits the counts that last to the end.
    pub fn finish(self, each: impl FnMut(Ns, [i64; BANDS])) {
        self.emit(each);
    }

    fn emit(&self, mut each: impl FnMut(Ns, [i64; BANDS])) {
        each(self.world.now, bands(self.counts.now));
    }
}

impl ConcurrencyBands {
    fn advance(&mut self, to: Ns) {
        if to > self.at {
            let sum = self.durations.entry(self.counts.now).or_default();
            *sum += to - self.at;
            self.at = to;
        }
    }
}

impl Analysis for ConcurrencyBands {
    fn new(context: &Context<'_>) -> Self {
        let counts = Counts::new(context, &World::new(context));
        Self { at: context.span.start, counts, durations: BTreeMap::new() }
    }

    fn cpu(&mut self, stretch: &CpuStretch, _: Begins, world: &World) {
        let Some(before) = world.cpu_now(stretch.cpu).filter(|c| c.followed) else { return };
        self.advance(world.now);
        self.counts.change(before, stretch.state, world);
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        self.advance(world.now);
        for (now, duration) in &self.durations {
            let mut row: Vec<Value> = bands(*now).map(Value::from).to_vec();
            row.push((*duration).into());
            out.row(&row);
        }
    }
}
