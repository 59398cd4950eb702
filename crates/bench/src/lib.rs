//! Measures what a machine's cores cost: moves, siblings, switches, chunks, sleeps, wakeups and speeds.
//!
//! A [`Probe`] plans series of repetitions and the figures that follow from them ([`Plan`]). [`measure`] runs the plan in random order until
//! the intervals are narrow enough, throws disturbed and misplaced repetitions away, and lets a [`Recorder`] verify the placement. The result
//! is a list of [`topology::Cost`], each with its interval and its null control.

mod clock;
mod concurrent;
mod estimate;
mod measure;
mod parallel_loop;
mod plan;
mod probes;
mod recorded;
mod setup;
mod thread;
mod watch;
mod work;

pub use clock::{Delay, now_ns};
pub use estimate::{median_interval, next_interval};
pub use measure::{LEAST_ROUNDS, Measurement, Options, Progress, measure};
pub use plan::{Calculation, Check, CpuUse, Formula, Plan, Probe, Repetition, Series, Step, Sum, Wanted};
pub use probes::{PROBES, probe};
pub use recorded::{Placements, Recorder, Run, Runs, Verified};
pub use setup::{Pair, Setup, Ticks, Unmeasurable, quota};
pub use thread::{Evidence, Gate, Mask, Part, allowed, bind, current_cpu, measured, together};
pub use watch::Watched;
pub use work::{KERNELS, Kernel, Work, Wrong};
