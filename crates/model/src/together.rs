//! What happens at one time, of every kind.

use crate::{Allowed, BlockedAt, CpuStretch, Marked, Move, PowerChange, Setting, ThreadStretch, Throttle};

/// What began up to the same time, of all kinds. Of what falls into one instant, stretches never come in a later part than
/// the rest; else no order is kept. Analyses are told of those that begin at one instant in this order: CPUs', threads', then moves,
/// marks, power, where threads are allowed, who is throttled, where they went to wait, and how they are set.
#[derive(Clone, Copy, Default)]
pub struct Together<'a> {
    /// Threads' stretches.
    pub threads: &'a [ThreadStretch],
    /// CPUs' stretches.
    pub cpus: &'a [CpuStretch],
    /// Ready threads that were moved to another run queue.
    pub moves: &'a [Move],
    /// What programs marked.
    pub marks: &'a [Marked],
    /// CPUs' idle states and frequencies, and whether they are parked.
    pub power: &'a [PowerChange],
    /// Where threads are allowed from now on.
    pub allowed: &'a [Allowed],
    /// Threads that are throttled from now on, or no longer.
    pub throttles: &'a [Throttle],
    /// Where in their code threads went to wait.
    pub blocked: &'a [BlockedAt],
    /// How threads are set to be scheduled.
    pub settings: &'a [Setting],
}
