//! The current state of a CPU.

use crate::totals::CpuTotals;
use model::{CpuId, CpuState, Ns};

/// What a CPU runs according to its last switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Runs {
    /// Unknown: no event so far.
    Unknown,
    /// Its idle task.
    Idle,
    /// The thread instance at this slot.
    Thread(usize),
    /// A thread instance that ended before the next event of this CPU.
    Ended,
    /// A thread that the source does not name.
    Unnamed,
}

pub(crate) struct Processor {
    pub(crate) totals: CpuTotals,
    pub(crate) runs: Runs,
    pub(crate) since: Ns,
    /// Whether a switch was recorded on it.
    pub(crate) switched: bool,
    /// The time of the last event that names the thread that the CPU's last switch brought in, before any event that names another.
    pub(crate) last_named: Ns,
    /// The place of the open stretch's row.
    pub(crate) place: u64,
}

impl Processor {
    pub(crate) fn new(cpu: CpuId, place: u64) -> Self {
        let totals = CpuTotals {
            cpu,
            states: [Ns::ZERO; 3],
            lossy: Ns::ZERO,
            inferred: Ns::ZERO,
            switches: 0,
            inconsistent_switches: 0,
            has_events: false,
            followed: false,
        };
        Self { totals, runs: Runs::Unknown, since: Ns::ZERO, switched: false, last_named: Ns::ZERO, place }
    }

    /// Returns the state of a CPU that runs this, if that is known.
    pub(crate) fn state_of(runs: Runs, is_known: bool) -> CpuState {
        match runs {
            Runs::Idle if is_known => CpuState::Idle,
            Runs::Thread(_) if is_known => CpuState::Busy,
            _ => CpuState::Unknown,
        }
    }
}
