//! The durations of marked stretches by the number of CPUs that were parked at the time.

use crate::frames::times::Times;
use crate::marked::{Stretch, Tracks};
use crate::{Analysis, Begins, Context, World};
use model::{NameId, Ns, Rows, ThreadKey, TimelineEvent, Value};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The maximum number of different durations over all rows.
const MAX_TIMES: usize = 1 << 18;
/// The minimum number of different durations of a row.
const MIN_TIMES: usize = 64;

#[derive(Default)]
pub(crate) struct FramesParked {
    tracks: Tracks,
    /// The first name number of each text.
    names: FxHashMap<Box<str>, NameId>,
    rows: BTreeMap<Key, Sums>,
    /// The durations of each name, for any number of parked CPUs.
    whole: BTreeMap<NameId, Times>,
    /// The number of different durations in `rows` and `whole`, and the number at which to widen the steps.
    different: usize,
    widen_at: usize,
}

/// A name, and the range of the number of parked CPUs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    name: NameId,
    parked: i64,
    unknown: i64,
}

#[derive(Default)]
struct Sums {
    duration: Ns,
    /// Summed over CPUs.
    parked: Ns,
    max_parked: i64,
    longest: Ns,
    times: Times,
}

/// Returns the mean, rounded to the nearest integer; zero for an empty duration.
fn mean(sum: Ns, over: Ns) -> i64 {
    let (sum, over) = (i128::from(sum.0), i128::from(over.0));
    if over == 0 { 0 } else { ((2 * sum + over) / (2 * over)) as i64 }
}

/// Adds a duration. Returns by how much the number of different durations grew.
fn add(times: &mut Times, took: Ns) -> usize {
    let before = times.different();
    times.add(took);
    times.different() - before
}

impl FramesParked {
    fn name(&mut self, name: NameId, world: &World) -> NameId {
        let Some(text) = world.name(name) else { return NameId::NONE };
        match self.names.get(text) {
            Some(first) => *first,
            None => *self.names.entry(text.into()).or_insert(name),
        }
    }

    fn end(&mut self, stretch: &Stretch, world: &World) {
        let took = stretch.end - stretch.start;
        let name = self.name(stretch.name, world);
        let [parked, unknown] = [stretch.parking.parked, stretch.parking.unknown].map(|sum| mean(sum, took));
        let sums = self.rows.entry(Key { name, parked, unknown }).or_default();
        sums.duration += took;
        sums.parked += stretch.parking.parked;
        sums.max_parked = sums.max_parked.max(world.parking.max_since(stretch.start));
        sums.longest = sums.longest.max(took);
        self.different += add(&mut sums.times, took) + add(self.whole.entry(name).or_default(), took);
        if self.different > self.widen_at.max(MAX_TIMES) {
            let all = self.rows.values_mut().map(|sums| &mut sums.times).chain(self.whole.values_mut());
            let widened = all.map(|times| {
                if times.different() > MIN_TIMES {
                    times.widen();
                }
                times.different()
            });
            self.different = widened.sum();
            // If widening did not help, do not repeat it at every stretch.
            self.widen_at = 2 * self.different;
        }
    }
}

impl Analysis for FramesParked {
    fn new(_: &Context<'_>) -> Self {
        Self::default()
    }

    fn event(&mut self, event: &TimelineEvent, thread: ThreadKey, begins: Begins, world: &World) {
        let Some(mark) = event.mark() else { return };
        if let Some(stretch) = self.tracks.marked(mark, thread, begins, world).filter(|s| s.whole) {
            self.end(&stretch, world);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        if !world.parking.is_recorded() {
            return;
        }
        for (Key { name, parked, unknown }, sums) in &self.rows {
            let budget = self.whole.get(name).and_then(|times| times.budget(world.budget)).unwrap_or_default();
            let frames = sums.times.count as i64;
            let mean_parked =
                if sums.duration > Ns::ZERO { sums.parked.0 as f64 / sums.duration.0 as f64 } else { 0.0 };
            out.row(&[
                world.name(*name).into(),
                (*parked).into(),
                (*unknown).into(),
                frames.into(),
                Value::Float(mean_parked),
                sums.max_parked.into(),
                sums.duration.into(),
                Ns(sums.duration.0 / frames.max(1)).into(),
                sums.times.quantile(950).into(),
                sums.longest.into(),
                budget.into(),
                (sums.times.more_than(budget) as i64).into(),
                sums.times.precision().into(),
            ]);
        }
    }
}
