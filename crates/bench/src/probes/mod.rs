//! The probes: one file and one line in [`PROBES`] each.

mod chunks;
mod lock;
mod memory;
mod migrate;
mod sleep;
mod smt;
mod speed;
pub(crate) mod switch;
mod wake;

use crate::plan::Probe;

/// All probes, in the order in which `corewise bench all` measures.
pub const PROBES: &[&dyn Probe] = &[
    &switch::Switch,
    &migrate::Migrate,
    &wake::Wake,
    &sleep::Sleep,
    &speed::Speed,
    &smt::Smt,
    &chunks::Chunks,
    &lock::Lock,
    &memory::Memory,
];

/// Returns the probe with a name.
#[must_use]
pub fn probe(name: &str) -> Option<&'static dyn Probe> {
    PROBES.iter().copied().find(|probe| probe.name() == name)
}
