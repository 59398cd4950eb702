//! Energy and temperature on the trace's clock.
//!
//! ```text
//!   readings      r0 ───────── r1 ───────── r2 ───── × ───── r4      ×: could not be read
//!   events                     ┃ r0 to r1   ┃ r1 to r2        ┃ r2 to r4: a counter has counted meanwhile, a sensor has not (unknown)
//! ```

use crate::{MaybeCount, MaybeNs, NameId, Ns, Span};
use serde::{Deserialize, Serialize};

/// A source of energy and what is known of it, from now on. Its readings follow as [`EnergyUse`]s.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EnergyDomain {
    /// Its name, unique in the machine: `package-0`, `package-0/core`, `BAT0`.
    pub domain: NameId,
    /// What part of the machine it is: `platform`, `package`, `core`, `uncore`, `dram`, `battery`, `sensor` or `other`.
    pub part: NameId,
    /// The domain that contains it; [`NameId::NONE`]: none.
    pub parent: NameId,
    /// The domain that is the same by another reading, never to be summed with it; [`NameId::NONE`]: none.
    pub same_as: NameId,
    /// How it is read, such as `RAPL by powercap`.
    pub source: NameId,
    /// Whether its energy follows from power over time, so that it has no counter.
    pub from_power: bool,
    /// The time between two updates of its value, if it was measured.
    pub update: MaybeNs,
}

/// What a domain used between two readings.
///
/// ```
/// use model::{EnergyUse, MaybeCount, NameId, Ns};
///
/// let used = EnergyUse { domain: NameId(1), unknown: NameId::NONE, length: Ns(100), nj: MaybeCount::new(500), spread_nj: 0 };
/// assert_eq!(used.span(Ns(250)).start, Ns(150));
/// // Unknown energy is not 0.
/// let unknown = EnergyUse { unknown: NameId(2), nj: MaybeCount::UNKNOWN, ..used };
/// assert_eq!(unknown.nj.get(), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EnergyUse {
    /// The domain, as in [`EnergyDomain`].
    pub domain: NameId,
    /// Why the energy is unknown, for users; [`NameId::NONE`] if it is known, or the reason was not recorded.
    pub unknown: NameId,
    /// The time since the reading before.
    pub length: Ns,
    /// Energy, nJ.
    pub nj: MaybeCount,
    /// The energy may be so much less or more, nJ: 0 if it was counted, else the difference of the power at both readings.
    pub spread_nj: i64,
}

impl EnergyUse {
    /// Returns the time between the readings of an event at `at`.
    #[must_use]
    pub fn span(&self, at: Ns) -> Span {
        Span::new(at - self.length, at)
    }
}

/// A reading of a sensor of temperature.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Temperature {
    /// The sensor: the type of a thermal zone, or the chip and the label of hwmon.
    pub zone: NameId,
    /// Thousandths of a degree Celsius.
    pub millicelsius: i32,
}
