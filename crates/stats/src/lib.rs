//! Statistics of two sets of runs: exact rank tests, intervals, bootstrap within runs, and the false discovery rate. Pure functions of numbers.
//!
//! | module | what it does |
//! | --- | --- |
//! | `runs` | several runs a side: chooses the method |
//! | `rank_sum`, `signed_rank`, `student`, `smirnov` | the methods |
//! | `series`, `resample`, `block_length` | one run a side: block bootstrap |
//! | `shift` | from a shift of logarithms or values to an [`Effect`]; makes interval and p-value agree |
//! | `plan` | how many runs are still needed, when to stop, the largest change left possible |
//! | `order`, `discovery` | quantiles; false discovery rate |

mod block_length;
mod discovery;
mod order;
mod plan;
mod rank_sum;
mod resample;
mod runs;
mod series;
mod shift;
mod signed_rank;
mod smirnov;
mod student;

pub use block_length::block_length;
pub use discovery::false_discovery;
pub use order::{median, quantile};
pub use plan::{at_most, runs_needed, width_reached};
pub use runs::of_runs;
pub use series::{Statistic, of_series};

use serde::Serialize;

/// How a change is expressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// B divided by A: 1.03 is 3 % more. All values must be above 0.
    Ratio,
    /// B minus A, in the unit of the values.
    Difference,
}

/// How an effect, its interval and its p-value were found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Two independent samples: the Hodges-Lehmann shift, its interval and p-value from the exact distribution of Mann and Whitney's U.
    RankSum,
    /// Pairs: the median of Walsh averages, its interval and p-value from the exact distribution of Wilcoxon's signed rank.
    SignedRank,
    /// Two or three runs a side: Student's t with equal variances, which assumes that runs are normally distributed (on the scale of the effect).
    Student,
    /// One run a side: block bootstrap over the intervals within the runs. Says nothing about variation between runs.
    Blocks,
    /// No interval: one value a side, or values that are all equal.
    None,
}

/// The change from A to B.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Effect {
    /// The scale of the estimate and its intervals.
    pub scale: Scale,
    /// The method.
    pub method: Method,
    /// The estimate.
    pub estimate: f64,
    /// The 95 % interval; `None` if the runs do not suffice for one.
    pub interval: Option<[f64; 2]>,
    /// The 90 % interval: two one-sided tests at 5 % (equivalence). Lies within `interval`.
    pub narrow: Option<[f64; 2]>,
    /// The two-sided p-value of "no shift".
    pub p: Option<f64>,
    /// The p-value of "same distribution" (Kolmogorov and Smirnov), for changes of spread.
    pub spread_p: Option<f64>,
}
