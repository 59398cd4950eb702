//! The speed ratio of two core types, the work of a loop and the cost of a chunk, from measured times of several schedules.
//!
//! Slow cores have speed 1 and fast cores speed k, so the work is in time of a slow core.

use crate::{Loop, ModelError, Schedule, simulate};

/// The cores of a loop, by type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cores {
    /// Cores of speed k.
    pub fast: usize,
    /// Cores of speed 1.
    pub slow: usize,
}

impl Cores {
    /// The speeds of all cores at a ratio k, fast cores first.
    #[must_use]
    pub fn speeds(self, ratio: f64) -> Vec<f64> {
        let mut speeds = vec![ratio; self.fast];
        speeds.resize(self.fast + self.slow, 1.0);
        speeds
    }

    fn has_both(self) -> bool {
        self.fast > 0 && self.slow > 0
    }
}

/// A measured time of a schedule.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// The schedule.
    pub schedule: Schedule,
    /// The makespan.
    pub time: f64,
}

/// A model that was fitted to measured times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fit {
    /// The cores.
    pub cores: Cores,
    /// The speed of a fast core relative to a slow one.
    pub ratio: f64,
    /// The work, and the cost of a chunk, in the unit of the times.
    pub of: Loop,
}

impl Fit {
    /// The makespan of a schedule by the model.
    ///
    /// # Errors
    /// The number of chunks is invalid.
    pub fn makespan(&self, schedule: Schedule) -> Result<f64, ModelError> {
        Ok(simulate(&self.cores.speeds(self.ratio), &self.of, schedule)?.makespan)
    }

    /// The largest relative difference from measured times, |model / measured − 1|.
    ///
    /// # Errors
    /// A number of chunks is invalid.
    pub fn worst(&self, measured: &[Measured]) -> Result<f64, ModelError> {
        measured.iter().try_fold(0.0, |worst: f64, m| Ok(worst.max((self.makespan(m.schedule)? / m.time - 1.0).abs())))
    }
}

/// The shortest possible makespan: work / sum of the speeds.
#[must_use]
pub fn ideal(work: f64, speeds: &[f64]) -> f64 {
    work / speeds.iter().sum::<f64>()
}

/// The smallest speed ratio at which the ideal makespan is no longer than a measured time: k = (work / time − slow) / fast. Below 1, any ratio is
/// possible. `None` without fast cores.
#[must_use]
pub fn least_ratio(cores: Cores, work: f64, time: f64) -> Option<f64> {
    (cores.fast > 0 && time > 0.0).then(|| (work / time - cores.slow as f64) / cores.fast as f64)
}

/// The makespan at a speed ratio; a short form for curves.
///
/// # Errors
/// The ratio, the loop or the number of chunks is invalid.
pub fn makespan_at(cores: Cores, ratio: f64, of: &Loop, schedule: Schedule) -> Result<f64, ModelError> {
    Ok(simulate(&cores.speeds(ratio), of, schedule)?.makespan)
}

/// The largest speed ratio that is searched: far above that of any two types of core, so that it limits no fit.
const MAX_RATIO: f64 = 64.0;
/// Halvings of the interval of ratios: to the last digit of a double.
const HALVINGS: usize = 60;

/// Finds speed ratio and work from two times only: of equal blocks with bound threads (`Affinity`), and with free threads (`Static`). The bound
/// loop ends with its slow cores, so work = cores × its time. The ratio is the one at which the simulated `Static` takes the
/// measured time. The cost of a chunk is not known from these and is 0.
///
/// # Errors
/// A time is not above 0, the free time is longer than the bound one, a ratio above 64 would be needed, or a type has no cores.
pub fn fit_bound_and_free(cores: Cores, bound: f64, free: f64) -> Result<Fit, ModelError> {
    if !cores.has_both() {
        return Err(ModelError::Speeds);
    }
    let work = (cores.fast + cores.slow) as f64 * bound;
    let of = Loop { work, chunk_cost: 0.0, move_cost: 0.0 };
    let is_longer = |ratio: f64| Ok::<_, ModelError>(makespan_at(cores, ratio, &of, Schedule::Static)? > free);
    let is_valid = [bound, free].iter().all(|time| time.is_finite() && *time > 0.0) && free <= bound;
    if !is_valid || is_longer(MAX_RATIO)? {
        return Err(ModelError::Times);
    }
    let (mut low, mut high) = (1.0, MAX_RATIO);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if is_longer(middle)? { low = middle } else { high = middle }
    }
    Ok(Fit { cores, ratio: 0.5 * (low + high), of })
}

/// A point of the search: the logarithm of the ratio, and the square root of the cost of the finest schedule's chunks relative to the work.
type Point = [f64; 2];

/// The searched region: ratios to 16, and costs of all chunks together of up to four times the work.
const REGION: Point = [2.772_588_722_239_781, 2.0];
/// The points of the first grid, by axis.
const FIRST: [usize; 2] = [48, 20];
/// The points of each finer grid, by axis and side.
const FINER: i32 = 3;
/// By how much each grid is finer.
const ZOOM: f64 = 0.45;
/// The number of finer grids: the last step is below 1e-6 of the region.
const ZOOMS: usize = 14;

/// Finds speed ratio, work and cost of a chunk from all measured times: those with the least sum of squares of ln(model / measured). The
/// result is in-sample: its residuals say how well the model can describe these times, not how well it predicts others.
///
/// The makespan is homogeneous in work and cost, so for each ratio and cost / work the best work follows from the mean logarithm; the
/// other two are searched on a grid, then on finer ones around the best point (the sum of squares has kinks, where chunks end in
/// another order).
///
/// # Errors
/// There are fewer than three times, one is not above 0, a number of chunks is invalid, or a type has no cores.
pub fn fit_all(cores: Cores, measured: &[Measured]) -> Result<Fit, ModelError> {
    if !cores.has_both() {
        return Err(ModelError::Speeds);
    }
    if measured.len() < 3 || !measured.iter().all(|m| m.time.is_finite() && m.time > 0.0) {
        return Err(ModelError::Times);
    }
    let count = cores.fast + cores.slow;
    let finest = measured.iter().map(|m| m.schedule.max_chunks(count)).max().unwrap_or(count).max(1) as f64;
    let model = |[ratio, cost]: Point, work: f64| Fit {
        cores,
        ratio: ratio.exp(),
        of: Loop { work, chunk_cost: cost * cost * work / finest, move_cost: 0.0 },
    };
    // The sum of squares, and the best work.
    let tried = |at: Point| -> Result<(f64, f64), ModelError> {
        let unit = model(at, 1.0);
        let logs: Vec<f64> = measured
            .iter()
            .map(|m| Ok((m.time / unit.makespan(m.schedule)?).ln()))
            .collect::<Result<_, ModelError>>()?;
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        Ok((logs.iter().map(|log| (log - mean).powi(2)).sum(), mean.exp()))
    };
    let step = [REGION[0] / FIRST[0] as f64, REGION[1] / FIRST[1] as f64];
    let (mut best, mut best_at, mut work) = (f64::INFINITY, [0.0, 0.0], 1.0);
    let mut consider = |at: Point, best_at: &mut Point| -> Result<(), ModelError> {
        let (sum, best_work) = tried(at)?;
        if sum < best {
            (best, *best_at, work) = (sum, at, best_work);
        }
        Ok(())
    };
    for i in 0..=FIRST[0] {
        for j in 0..=FIRST[1] {
            consider([i as f64 * step[0], j as f64 * step[1]], &mut best_at)?;
        }
    }
    let mut size = step;
    for _ in 0..ZOOMS {
        size = size.map(|side| side * ZOOM);
        let centre = best_at;
        for i in -FINER..=FINER {
            for j in -FINER..=FINER {
                let near = |axis: usize, n: i32| (centre[axis] + f64::from(n) * size[axis]).clamp(0.0, REGION[axis]);
                consider([near(0, i), near(1, j)], &mut best_at)?;
            }
        }
    }
    Ok(model(best_at, work))
}
