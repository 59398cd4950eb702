//! How long a parallel loop takes on cores of different speeds, by its schedule, its number of chunks and the cost of a chunk.
//!
//! | module | what it does |
//! | --- | --- |
//! | `schedule` | the loop, the schedules, and how each divides the work |
//! | `simulate` | the exact run of a loop: makespan, tail, busy time by core |
//! | `fit` | the speed ratio of two core types and the cost of a chunk, from measured times |
//!
//! Work is in the time that a core of speed 1 needs for it, so work and times have one unit: the caller's (milliseconds,
//! nanoseconds). Speeds are work per time and have no unit.

mod fit;
mod schedule;
mod simulate;

pub use fit::{Cores, Fit, Measured, fit_all, fit_bound_and_free, ideal, least_ratio, makespan_at};
pub use schedule::{Loop, ModelError, Schedule};
pub use simulate::{Core, Run, simulate};
