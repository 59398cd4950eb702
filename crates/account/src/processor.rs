//! One CPU while it is followed.

use crate::totals::CpuTotals;
use model::{CpuId, CpuState, Ns};

/// Whom a CPU runs, as far as its last switch tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Runs {
    /// Nothing was heard of it yet.
    Untold,
    /// Its idle task.
    Idle,
    /// The life of this index.
    Thread(usize),
    /// One that was over before this CPU was heard of again.
    Gone,
    /// Somebody whom the source does not name.
    Somebody,
}

pub(crate) struct Processor {
    pub(crate) totals: CpuTotals,
    pub(crate) runs: Runs,
    pub(crate) since: Ns,
    /// Whether a switch was recorded on it.
    pub(crate) switched: bool,
    /// The last event since then, of those before any other, that names whom the CPU's last switch brought in.
    pub(crate) lead: Ns,
    /// Where the open stretch's row lies.
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
            broken: 0,
            followed: false,
        };
        Self { totals, runs: Runs::Untold, since: Ns::ZERO, switched: false, lead: Ns::ZERO, place }
    }

    /// The state of a CPU that runs this one, if that is certain.
    pub(crate) fn state_of(runs: Runs, certain: bool) -> CpuState {
        match runs {
            Runs::Idle if certain => CpuState::Idle,
            Runs::Thread(_) if certain => CpuState::Busy,
            _ => CpuState::Unknown,
        }
    }
}
